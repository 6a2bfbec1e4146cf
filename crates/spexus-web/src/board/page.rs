//! The page of the board.

use crate::answer::{Answer, faulty, html};
use crate::form::{self, Params};
use crate::mark::{avatar, icon, kinds_word, priority, status};
use crate::shell::{Shell, View};
use crate::texts::fill;
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::item::Item;
use spexus_domain::limits::MAX_PAGE_ROWS;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::query::Total;
use spexus_domain::workflow::Workflow;
use spexus_domain::{Kind, Refusal, text};
use spexus_service::item::{self, ItemQuery};
use spexus_service::settings;

/// Cards of one lane at most; the rest is in the table.
const MAX_CARDS: u32 = 50;

/// What a board is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BoardQuery {
    /// The name of a kind that has a status; user stories when left out.
    kind: Option<String>,
    owner: Option<String>,
    under: Option<String>,
    /// The card whose steps are shown.
    step: Option<String>,
}

impl BoardQuery {
    /// The state of a board as a form carries it back; what does not fit is the plain board.
    pub(super) fn carried(text: &str) -> Self {
        form::decoded(text.as_bytes()).unwrap_or_default()
    }

    fn kind(&self) -> Result<Kind, Refusal> {
        match self.kind.as_deref() {
            None | Some("") => Ok(Kind::UserStory),
            Some(name) => Kind::parse("kind", name),
        }
    }

    pub(super) fn stepping(&self, reference: Option<&str>) -> Self {
        Self {
            step: reference.map(str::to_owned),
            ..self.clone()
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = form_urlencoded::Serializer::new(String::new());
        let pairs = [
            ("kind", &self.kind),
            ("owner", &self.owner),
            ("under", &self.under),
            ("step", &self.step),
        ];
        for (name, value) in pairs {
            if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
                text.append_pair(name, value);
            }
        }
        text.finish()
    }

    pub(super) fn address(&self, project: &str) -> String {
        let text = self.text();
        let mark = if text.is_empty() { "" } else { "?" };
        format!("/p/{project}/board{mark}{text}")
    }
}

#[derive(Template)]
#[template(path = "board.html")]
struct BoardPage {
    shell: Shell,
    key: String,
    heading: &'static str,
    kinds: Vec<(Kind, &'static str, bool)>,
    owner: String,
    under: String,
    lanes: Vec<Lane>,
    may_step: bool,
    back: String,
    fault: Option<String>,
}

/// A status with its cards.
struct Lane {
    name: String,
    total: String,
    /// The statuses from which a step leads here.
    from: String,
    cards: Vec<Card>,
    /// Where the rest is; empty when all are shown.
    rest: String,
}

/// An item on the board.
struct Card {
    item: Item,
    step_address: String,
    steps: Option<Vec<Step>>,
}

/// A step from the status of a card.
struct Step {
    to: String,
    /// Why it cannot be taken; empty when it can.
    reason: String,
}

/// The board at `/p/KEY/board`.
pub(crate) async fn page(visit: Visit, Path(key): Path<String>, Params(query): Params<BoardQuery>) -> Answer {
    let project = visit.project(&key).await?;
    html(&made(&visit, project, query, None).await?)
}

/// The board again, with a step that was refused.
pub(super) async fn again(visit: &Visit, project: Project, query: BoardQuery, refusal: &Refusal) -> Answer {
    faulty(&made(visit, project, query, Some(refusal)).await?, refusal)
}

async fn made(
    visit: &Visit,
    project: Project,
    query: BoardQuery,
    refusal: Option<&Refusal>,
) -> Answer<BoardPage> {
    let t = visit.texts();
    let kind = query.kind()?;
    let workflow = settings::workflow(visit.service(), &visit.caller, kind).await?;
    let may_step = visit.caller.may_in(Operation::UpdateItem, project.id).is_ok();
    let statuses = u32::try_from(workflow.statuses.len().max(1)).unwrap_or(u32::MAX);
    let room = (MAX_PAGE_ROWS / statuses).clamp(1, MAX_CARDS);
    let mut lanes = Vec::new();
    for status in &workflow.statuses {
        let wanted = ItemQuery {
            project: Some(project.key.clone()),
            status: Some(status.name.clone()),
            assignee: query.owner.clone().filter(|name| !name.is_empty()),
            under: query.under.clone().filter(|name| !name.is_empty()),
            order_by: Some("priority".to_owned()),
            limit: Some(room),
            ..ItemQuery::default()
        };
        let page = item::list(visit.service(), &visit.caller, Some(kind), &wanted).await?;
        let total = page.total();
        let card = |item: Item| card(&project.key, &query, &workflow, may_step, item);
        lanes.push(Lane {
            name: status.name.clone(),
            total: match total {
                Total::Exact(cards) => text::grouped(cards),
                Total::AtLeast(cards) => fill(t.at_least, &[&text::grouped(cards)]),
            },
            from: leading(&workflow, &status.name),
            rest: match page.next_cursor {
                Some(_) => rest(&project.key, &query, kind, &status.name),
                None => String::new(),
            },
            cards: page.data.into_iter().map(card).collect(),
        });
    }
    let heading = kinds_word(t, kind);
    let with_status = Kind::ALL.into_iter().filter(|kind| kind.rules().has_status);
    Ok(BoardPage {
        shell: visit.shell_in(&project, View::Board, heading).await?,
        kinds: with_status
            .map(|one| (one, kinds_word(t, one), one == kind))
            .collect(),
        heading,
        owner: query.owner.clone().unwrap_or_default(),
        under: query.under.clone().unwrap_or_default(),
        lanes,
        may_step,
        back: query.stepping(None).text(),
        fault: refusal.map(super::step::words),
        key: project.key,
    })
}

fn card(key: &str, query: &BoardQuery, workflow: &Workflow, may_step: bool, item: Item) -> Card {
    let reference = item.reference_id.to_string();
    let is_stepping = may_step && query.step.as_deref() == Some(reference.as_str());
    Card {
        step_address: match may_step {
            true => query.stepping((!is_stepping).then_some(&reference)).address(key),
            false => String::new(),
        },
        steps: is_stepping.then(|| steps(workflow, item.status.as_deref().unwrap_or_default())),
        item,
    }
}

/// Every other status, with the reason where no step leads there.
//= specs/spexus-web.md#tables
//# A step of the workflow that is not allowed MUST say why before it is tried.
fn steps(workflow: &Workflow, from: &str) -> Vec<Step> {
    let others = workflow.statuses.iter().filter(|status| status.name != from);
    others
        .map(|status| Step {
            to: status.name.clone(),
            reason: workflow
                .step(from, &status.name)
                .err()
                .map(|refusal| super::step::words(&refusal))
                .unwrap_or_default(),
        })
        .collect()
}

/// The statuses from which a step leads to one.
fn leading(workflow: &Workflow, to: &str) -> String {
    let steps = workflow.transitions.iter().filter(|step| step.to == to);
    steps.map(|step| step.from.as_str()).collect::<Vec<_>>().join(",")
}

/// The table with the whole lane.
fn rest(key: &str, query: &BoardQuery, kind: Kind, status: &str) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.append_pair("kind", kind.name())
        .append_pair("status", status)
        .append_pair("sort", "priority");
    for (name, value) in [("owner", &query.owner), ("under", &query.under)] {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            text.append_pair(name, value);
        }
    }
    format!("/p/{key}/table?{}", text.finish())
}
