//! Baselines: naming a position in the history, and telling what changed between two.

use crate::Service;
use crate::context::{Context, reading};
use async_recursion::async_recursion as boxed;
use serde::Deserialize;
use spexus_domain::account::Caller;
use spexus_domain::baseline::{Baseline, ItemDifference, NewBaseline};
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::permission::Operation;
use spexus_domain::query::{Count, Page, PageRequest, bad_cursor};
use spexus_domain::{Code, Refusal, Ruled, Uuid, nearest, text};
use spexus_store::differences::{self, DiffLimits, HistoryRange};
use spexus_store::transfer::Snapshot;
use spexus_store::{Conn, Error, Result, baselines, changes};
use utoipa::IntoParams;

/// The name that stands for the present end of the history.
const NOW: &str = "now";

/// The baselines of a project.
#[boxed]
pub async fn list(service: &Service, caller: &Caller, project: Option<&str>) -> Ruled<Page<Baseline>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    Ok(Page::whole(
        baselines::of_project(&mut conn, context.project()?.id).await?,
    ))
}

/// Names the present end of the history.
#[boxed]
pub async fn create(service: &Service, caller: &Caller, input: NewBaseline) -> Ruled<Baseline> {
    let project = input.project.clone();
    let job = service.change_in(
        caller,
        Operation::CreateBaseline,
        (project.as_deref(), None),
        move |tx, context| {
            Box::pin(async move {
                let project_id = context.project()?.id;
                let name = text::name("name", &input.name)?;
                let description = text::description("description", &input.description)?;
                let taken = baselines::by_name(&mut tx.conn, project_id, &name)
                    .await?
                    .is_some();
                if taken || name == NOW {
                    return Err(Refusal::field(
                        Code::EntityDuplicate,
                        "name",
                        format!("{name:?} is taken"),
                        "another name",
                    )
                    .into());
                }
                let id = tx.new_id();
                baselines::insert(tx, id, project_id, &name, &description).await?;
                let change =
                    NewChange::new(Entity::Baseline, id, &name, Action::Created, 1).in_project(project_id);
                tx.record(change).await?;
                let made = baselines::by_name(&mut tx.conn, project_id, &name).await?;
                made.ok_or_else(|| Error::Broken("a new baseline is gone".into()))
            })
        },
    );
    job.await
}

/// Which two positions are compared, and which page of it is wanted.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// The key of the project; the token's or the default one when left out.
    pub project: Option<String>,
    /// The name of the earlier baseline.
    pub from: String,
    /// The name of the later one; the present when left out.
    pub to: Option<String>,
    /// Rows of the page, 1 to 200.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// `exact` counts to the end whatever it costs.
    #[param(inline)]
    pub count: Option<String>,
}

/// One page of what differs between two baselines, item by item in the order they were made; `now` names the present, and
/// the pages behind the first one mean the present of the first.
#[boxed]
pub async fn difference(
    service: &Service,
    caller: &Caller,
    query: &DiffQuery,
) -> Ruled<Page<ItemDifference>> {
    caller.may(Operation::Read)?;
    let page = PageRequest {
        count: Count::parse(query.count.as_deref())?,
        ..PageRequest::new(query.limit, query.cursor.clone())?
    };
    let mut snapshot = Snapshot::begin(&service.store, caller.user_id).await?;
    let conn = snapshot.conn()?;
    let context = Context::of_read(service, conn, caller, query.project.as_deref()).await?;
    let range = range(conn, context.project()?.id, query).await?;
    let found = differences::page(conn, &range, &page, &DiffLimits::default()).await?;
    snapshot.end().await?;
    Ok(found)
}

async fn range(conn: &mut Conn, project_id: Uuid, query: &DiffQuery) -> Result<HistoryRange> {
    let (from, to) = (query.from.as_str(), query.to.as_deref().unwrap_or(NOW));
    let after = position(conn, project_id, "from", from).await?;
    let mut until = position(conn, project_id, "to", to).await?;
    if let Some(cursor) = &query.cursor {
        let begun = differences::range_of(cursor)?;
        if to == NOW && begun.until <= until {
            until = begun.until;
        }
        let wanted = HistoryRange {
            project_id,
            after,
            until,
        };
        if begun != wanted {
            return Err(bad_cursor().into());
        }
    }
    if after > until {
        let problem = format!("{from:?} is later than {to:?}");
        return Err(Refusal::field(Code::InvalidParams, "from", problem, "the earlier one first").into());
    }
    Ok(HistoryRange {
        project_id,
        after,
        until,
    })
}

async fn position(conn: &mut Conn, project_id: Uuid, field: &str, name: &str) -> Result<i64> {
    if name == NOW {
        return changes::head(conn).await;
    }
    match baselines::by_name(conn, project_id, name).await? {
        Some(baseline) => Ok(baseline.seq),
        None => {
            let known = baselines::of_project(conn, project_id).await?;
            let names = known.iter().map(|baseline| baseline.name.as_str()).chain([NOW]);
            Err(nearest::miss(field, name, names).into())
        }
    }
}
