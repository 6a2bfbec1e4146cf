//! A cell of the matrix: the links of two items, to be made, confirmed and ended.

use super::query::{MatrixQuery, SERVES, relations};
use crate::answer::{Answer, faulty, html, see};
use crate::form::{Form, Params, decoded};
use crate::mark::{icon, status};
use crate::shell::{Crumb, Shell, View};
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::item::{Item, ItemPatch};
use spexus_domain::link::{Link, NewLink};
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::{Code, Refusal, Uuid, nearest};
use spexus_service::{item, link, network, settings};

/// Which cell is looked at, and what is done there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CellQuery {
    #[serde(default)]
    row: String,
    #[serde(default)]
    column: String,
    /// The relation the matrix shows.
    #[serde(default)]
    link: String,
    /// The state of the matrix to come back to.
    #[serde(default)]
    back: String,
    /// `add`, `confirm` or `remove`.
    #[serde(default, rename = "do")]
    action: String,
    /// The link that is confirmed or ended.
    #[serde(default)]
    id: String,
    /// The revision of the row, where the relation is kept in the row.
    #[serde(default)]
    rev: String,
}

impl CellQuery {
    /// The matrix the cell is of.
    fn matrix(&self, project: &str) -> String {
        let back: MatrixQuery = decoded(self.back.as_bytes()).unwrap_or_default();
        back.tidy().address(project)
    }
}

#[derive(Template)]
#[template(path = "matrix_cell.html")]
struct CellPage {
    shell: Shell,
    key: String,
    query: CellQuery,
    row: Item,
    column: Option<Item>,
    links: Vec<Link>,
    serves: bool,
    relations: Vec<(String, bool)>,
    may_link: bool,
    may_confirm: bool,
    leave: String,
    fault: Option<String>,
}

/// The cell.
pub(crate) async fn page(visit: Visit, Path(key): Path<String>, Params(query): Params<CellQuery>) -> Answer {
    let project = visit.project(&key).await?;
    html(&made(&visit, project, query, None).await?)
}

async fn made(
    visit: &Visit,
    project: Project,
    query: CellQuery,
    refusal: Option<&Refusal>,
) -> Answer<CellPage> {
    let t = visit.texts();
    let of = Some(project.key.as_str());
    let (service, caller) = (visit.service(), &visit.caller);
    let row = item::get(service, caller, of, None, &query.row).await?;
    let column = match query.column.trim() {
        "" => None,
        name => Some(end(visit, &project, name).await),
    };
    // A column that was mistyped is told beside the field.
    let column = match (column, refusal) {
        (Some(Err(_)), Some(_)) | (None, _) => None,
        (Some(found), _) => Some(found?),
    };
    let mut links = network::links_of(service, caller, of, &[row.id], None)
        .await?
        .links;
    links.retain(|link| {
        column
            .as_ref()
            .is_some_and(|column| [link.source.id, link.target.id].contains(&column.id))
    });
    let types = settings::link_types(service, caller).await?.data;
    let names = match &column {
        Some(column) => relations(&types, row.kind, column.kind),
        None => types
            .iter()
            .flat_map(|known| [known.name.clone(), known.inverse.clone()])
            .collect(),
    };
    let mut names: Vec<String> = names;
    names.dedup();
    if query.link == SERVES && !names.contains(&query.link) {
        names.insert(0, SERVES.to_owned());
    }
    let title = match &column {
        Some(column) => format!("{} – {}", row.reference_id, column.reference_id),
        None => row.reference_id.to_string(),
    };
    let leave = query.matrix(&project.key);
    let shell = visit
        .shell_in(&project, View::Matrix, title.clone())
        .await?
        .crumbs(vec![
            Crumb::to(&project.name, format!("/p/{}", project.key)),
            Crumb::to(t.matrix, leave.clone()),
            Crumb::here(title),
        ]);
    let served = row.acceptance_criterion.as_ref().map(|criterion| criterion.id);
    Ok(CellPage {
        shell,
        serves: served.is_some() && served == column.as_ref().map(|column| column.id),
        relations: names
            .into_iter()
            .map(|name| (name.clone(), name == query.link))
            .collect(),
        may_link: caller.may_in(Operation::Link, project.id).is_ok(),
        may_confirm: caller.may_in(Operation::ConfirmLink, project.id).is_ok(),
        leave,
        fault: refusal.map(|refusal| refusal.message.clone()),
        key: project.key,
        row,
        column,
        links,
        query,
    })
}

/// An item of this project, or of the one that stands before its reference.
async fn end(visit: &Visit, project: &Project, reference: &str) -> Result<Item, Refusal> {
    let of = (!reference.contains('/')).then_some(project.key.as_str());
    item::get(visit.service(), &visit.caller, of, None, reference).await
}

/// Does what a button of the cell says.
pub(crate) async fn change(visit: Visit, Path(key): Path<String>, Form(input): Form<CellQuery>) -> Answer {
    let project = visit.project(&key).await?;
    match done(&visit, &project, &input).await {
        Ok(()) => Ok(see(&input.matrix(&project.key))),
        Err(refusal) if refusal.code == Code::AuthzForbidden => Err(refusal.into()),
        Err(refusal) => {
            let page = made(&visit, project, input, Some(&refusal)).await?;
            faulty(&page, &refusal)
        }
    }
}

async fn done(visit: &Visit, project: &Project, input: &CellQuery) -> Result<(), Refusal> {
    let (service, caller) = (visit.service(), &visit.caller);
    let id = || {
        Uuid::try_parse(&input.id)
            .map_err(|_| Refusal::field(Code::InvalidParams, "id", "is no link", "the id of a link"))
    };
    match (input.action.as_str(), input.link.as_str()) {
        ("add", SERVES) => serve(visit, project, input, Some(input.column.clone())).await,
        ("remove", _) if input.id == SERVES => serve(visit, project, input, None).await,
        ("add", name) => {
            let new = NewLink {
                source: end(visit, project, &input.row).await?.id.to_string(),
                target: end(visit, project, input.column.trim()).await?.id.to_string(),
                link_type: name.to_owned(),
            };
            link::create(service, caller, None, new).await.map(drop)
        }
        ("confirm", _) => link::confirm(service, caller, id()?).await.map(drop),
        ("remove", _) => link::delete(service, caller, id()?).await.map(drop),
        (other, _) => Err(nearest::miss("do", other, ["add", "confirm", "remove"])),
    }
}

/// Lets a requirement serve a criterion, or none.
async fn serve(
    visit: &Visit,
    project: &Project,
    input: &CellQuery,
    criterion: Option<String>,
) -> Result<(), Refusal> {
    let patch = ItemPatch {
        acceptance_criterion: Some(criterion),
        expect_rev: input.rev.parse().ok(),
        ..ItemPatch::default()
    };
    let of = Some(project.key.as_str());
    item::update(visit.service(), &visit.caller, of, None, &input.row, patch)
        .await
        .map(drop)
}
