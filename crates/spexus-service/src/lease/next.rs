//! What can be begun now, in which order and why: first what was said to be done and fails, last what is shown already.

use crate::Service;
use crate::context::{Context, reading};
use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::item_context::line;
use spexus_domain::lease::{Lease, holds_back};
use spexus_domain::permission::Operation;
use spexus_domain::query::{ItemFilter, Order, OrderField, PageRequest};
use spexus_domain::text::excerpt;
use spexus_domain::trace::{Rung, TraceFlag};
use spexus_domain::workflow::Workflow;
use spexus_domain::{Code, Kind, Refusal, Ruled, Uuid};
use spexus_store::trace::{self, BriefRow};
use spexus_store::{Conn, Result, items, leases, listing, settings, tree};
use std::collections::HashMap;
use utoipa::ToSchema;

/// Items that are looked at to find those that can be begun.
const MAX_CANDIDATES: usize = 400;
/// Items of one page of them.
const PAGE_ROWS: u32 = 100;
/// Items that wait for others, told at most.
const MAX_WAITING: usize = 20;

/// Which work is looked for.
#[derive(Clone, Debug, Default)]
pub struct WorkQuery {
    /// The project.
    pub project: Option<String>,
    /// The kind: requirement when left out.
    pub kind: Option<String>,
    /// Only below this item.
    pub under: Option<String>,
    /// How many at most; 5 when left out.
    pub limit: Option<i64>,
}

/// What can be begun now.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct OfferedWork {
    /// What can be begun, the most urgent first.
    pub ready: Vec<ReadyItem>,
    /// What waits for something else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<WaitingItem>,
    /// Who works on what.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<Lease>,
}

/// Something that can be begun.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ReadyItem {
    /// Its id.
    #[schema(value_type = String)]
    pub id: spexus_domain::ShownReference,
    /// `REQ-012 [Active] P1: Title`.
    pub line: String,
    /// Its revision.
    pub rev: i64,
    /// Why it is ready.
    pub because: String,
}

/// Something that waits.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct WaitingItem {
    /// `REQ-012 [Active] P1: Title`.
    pub line: String,
    /// What for.
    pub because: String,
}

/// What a caller can begin now, and what waits for what.
//= specs/spexus-service.md#leases
//# Work MUST be offered in the order of its priority, with the reason, when its state is open, nobody else holds it, and nothing it
//# depends on holds it back.
//= specs/spexus-service.md#leases
//# Work whose tests fail MUST be offered before all other, and work that is shown already after it, each with where its evidence stands.
#[boxed]
pub async fn next_work(service: &Service, caller: &Caller, query: WorkQuery) -> Ruled<OfferedWork> {
    let limit = query.limit()?;
    let kind = query.kind()?;
    let now = service.store.now();
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, query.project.as_deref()).await?;
    let under = match &query.under {
        Some(id) => Some(context.item(&mut conn, "under", id, None).await?),
        None => None,
    };
    let project_id = match &under {
        Some(item) => item.project_id,
        None => context.project()?.id,
    };
    let held = leases::of_project(&mut conn, project_id, now).await?;
    let workflows = workflows(&mut conn).await?;
    let mut filter = ItemFilter {
        project_id: Some(project_id),
        kinds: vec![kind],
        under: under.map(|item| item.id),
        ..ItemFilter::default()
    };
    let open = workflows.get(&kind).map(|workflow| workflow.statuses.iter());
    let open = open.into_iter().flatten().filter(|status| !status.is_final);
    filter.statuses = open.map(|status| status.name.clone()).collect();
    let mut found = Found {
        caller,
        limit,
        held: &held,
        workflows: &workflows,
        work: OfferedWork {
            ready: Vec::new(),
            waiting: Vec::new(),
            leases: held.clone(),
        },
        shown: Vec::new(),
    };
    let failing = match kind {
        Kind::Requirement => failing_items(&mut conn, project_id, &filter).await?,
        _ => Vec::new(),
    };
    let first: Vec<Uuid> = failing.iter().map(|item| item.id).collect();
    found.judge(&mut conn, project_id, failing).await?;
    let order = Order {
        field: OrderField::Priority,
        descending: false,
    };
    let mut page = PageRequest {
        limit: PAGE_ROWS,
        ..PageRequest::default()
    };
    let mut seen = 0;
    while found.work.ready.len() < limit && seen < MAX_CANDIDATES {
        let rows = listing::items(&mut conn, &filter, order, &page).await?;
        seen += rows.data.len();
        let others = rows.data.into_iter().filter(|item| !first.contains(&item.id));
        found.judge(&mut conn, project_id, others.collect()).await?;
        let Some(next) = rows.next_cursor else { break };
        page.cursor = Some(next);
    }
    Ok(found.finish())
}

impl WorkQuery {
    fn limit(&self) -> Ruled<usize> {
        match self.limit.unwrap_or(5) {
            wanted @ 1..=50 => Ok(wanted as usize),
            odd => {
                let problem = format!("is {odd}");
                Err(Refusal::field(Code::InvalidParams, "limit", problem, "1 to 50"))
            }
        }
    }

    fn kind(&self) -> Ruled<Kind> {
        let kind = match &self.kind {
            None => Kind::Requirement,
            Some(kind) => Kind::parse("kind", kind)?,
        };
        if kind.rules().has_status {
            return Ok(kind);
        }
        let problem = format!("{} has no status", kind.name());
        let allowed = "epic, user_story or requirement";
        Err(Refusal::field(Code::InvalidParams, "kind", problem, allowed))
    }
}

/// The items a filter means of which a test fails, the most urgent first.
async fn failing_items(conn: &mut Conn, project_id: Uuid, filter: &ItemFilter) -> Result<Vec<Item>> {
    let ids = trace::failing(conn, project_id).await?;
    let mut found = Vec::new();
    for item in items::by_ids(conn, &ids).await? {
        if item.deleted_at.is_some() || !filter.admits(&item) {
            continue;
        }
        let is_below = match filter.under {
            Some(under) => tree::path(conn, item.id).await?.iter().any(|one| one.id == under),
            None => true,
        };
        if is_below {
            found.push(item);
        }
    }
    found.sort_by_key(|item| (item.priority.is_none(), item.priority, item.reference_id.number()));
    Ok(found)
}

async fn workflows(conn: &mut Conn) -> Result<HashMap<Kind, Workflow>> {
    let mut all = HashMap::new();
    for kind in Kind::ALL {
        if let Some(workflow) = settings::workflow(conn, kind).await? {
            all.insert(kind, workflow);
        }
    }
    Ok(all)
}

/// What was found so far.
struct Found<'a> {
    caller: &'a Caller,
    limit: usize,
    held: &'a [Lease],
    workflows: &'a HashMap<Kind, Workflow>,
    work: OfferedWork,
    /// What is shown already, for when there is nothing else.
    shown: Vec<ReadyItem>,
}

impl Found<'_> {
    fn finish(mut self) -> OfferedWork {
        let room = self.limit.saturating_sub(self.work.ready.len());
        self.work.ready.extend(self.shown.into_iter().take(room));
        self.work
    }

    async fn judge(&mut self, conn: &mut Conn, project_id: Uuid, candidates: Vec<Item>) -> Result<()> {
        let ids: Vec<Uuid> = candidates.iter().map(|item| item.id).collect();
        let waits = leases::dependencies(conn, &ids).await?;
        let others: Vec<Uuid> = waits.iter().map(|(_, other)| *other).collect();
        let parents = candidates
            .iter()
            .filter_map(|item| Some(item.parent.as_ref()?.id));
        let all: Vec<Uuid> = others.iter().copied().chain(parents).collect();
        let known: HashMap<Uuid, Item> = items::by_ids(conn, &all)
            .await?
            .into_iter()
            .map(|item| (item.id, item))
            .collect();
        let evidence = trace::brief_among(conn, project_id, &ids).await?;
        let evidence: HashMap<Uuid, BriefRow> = evidence.into_iter().map(|row| (row.item_id, row)).collect();
        for item in candidates {
            if self.work.ready.len() == self.limit {
                break;
            }
            let standing = evidence.get(&item.id);
            self.judge_one(item, standing, &waits, &known);
        }
        Ok(())
    }

    fn judge_one(
        &mut self,
        item: Item,
        evidence: Option<&BriefRow>,
        waits: &[(Uuid, Uuid)],
        known: &HashMap<Uuid, Item>,
    ) {
        let parent = item.parent.as_ref().and_then(|parent| known.get(&parent.id));
        // What is below something finished or given up is no work.
        if parent.is_some_and(|parent| self.is_over(parent)) {
            return;
        }
        let lease = self.held.iter().find(|lease| lease.item_id == item.id);
        let mut reasons = Vec::new();
        if let Some(lease) = lease.filter(|lease| !lease.is_of(self.caller)) {
            reasons.push(format!("{} works on it until {}", lease.holder, lease.until));
        }
        let all = waits.iter().filter(|(waiting, _)| *waiting == item.id);
        let mut settled = 0;
        for (_, other) in all {
            match known
                .get(other)
                .filter(|other| self.caller.sees(other.project_id))
            {
                Some(other)
                    if other.deleted_at.is_none() && holds_back(other, self.workflows.get(&other.kind)) =>
                {
                    let elsewhere = match other.project_id == item.project_id {
                        true => String::new(),
                        false => format!("{}/", other.project),
                    };
                    reasons.push(format!("it waits for {elsewhere}{}", line(other)));
                }
                _ => settled += 1,
            }
        }
        if !reasons.is_empty() {
            if self.work.waiting.len() < MAX_WAITING {
                self.work.waiting.push(WaitingItem {
                    line: line(&item),
                    because: reasons.join("; "),
                });
            }
            return;
        }
        let mut because = match settled {
            0 => "it depends on nothing".to_owned(),
            settled => format!("all {settled} it depends on are settled"),
        };
        if lease.is_some() {
            because.push_str("; you hold it");
        }
        if item
            .assignee
            .as_ref()
            .is_some_and(|person| person.id == self.caller.user_id)
        {
            because.push_str("; it is assigned to you");
        }
        if let Some(parent) = parent {
            because.push_str(&format!("; in {}", line(parent)));
        }
        if let Some(words) = evidence.and_then(|row| standing(row, &item)) {
            because = format!("{words}; {because}");
        }
        let list = match evidence.is_some_and(is_shown) {
            true => &mut self.shown,
            false => &mut self.work.ready,
        };
        list.push(ReadyItem {
            line: line(&item),
            rev: item.rev,
            because,
            id: item.reference_id,
        });
    }

    fn is_over(&self, item: &Item) -> bool {
        let workflow = self.workflows.get(&item.kind);
        let status = item.status.as_deref().unwrap_or_default();
        workflow.is_some_and(|workflow| {
            workflow
                .statuses
                .iter()
                .any(|one| one.name == status && one.is_final)
        })
    }
}

/// Whether the tests of an item show it as it is: little is left to do.
fn is_shown(row: &BriefRow) -> bool {
    row.state >= Rung::Passed && !row.is_moved
}

/// Where the evidence of an item stands, in words; nothing where nothing is known.
fn standing(row: &BriefRow, item: &Item) -> Option<String> {
    let weakest = excerpt(&item.reference_id.show_in(&row.weakest), MAX_WEAKEST_CHARS);
    match row.state {
        Rung::None => None,
        _ if row.flags.contains(&TraceFlag::Failed) => Some(format!("a test of it fails: {weakest}")),
        _ if row.is_moved => Some("its text changed since its tests ran".to_owned()),
        state if is_shown(row) => Some(format!("its evidence is {} already", state.name())),
        state => Some(format!("its evidence is {}: {weakest}", state.name())),
    }
}

/// Characters of a weakest link.
const MAX_WEAKEST_CHARS: usize = 160;
