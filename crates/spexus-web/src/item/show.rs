//! An item with everything that belongs to it.

use super::comments::{Thread, threads};
use super::history::{Happened, summary};
use super::{AddressedItem, At, links};
use crate::answer::{Answer, faulty, html};
use crate::form::Faults;
use crate::mark::{Markup, icon, kind_word, kinds_word, person, priority, priority_word, status};
use crate::markdown;
use crate::review::state_mark;
use crate::shell::{Crumb, Shell, View};
use crate::texts::fill;
use crate::trace::why::{self, WhyPanel};
use crate::visit::Visit;
use crate::when::when;
use askama::Template;
use axum::extract::Path;
use spexus_domain::item::Item;
use spexus_domain::limits::MAX_PAGE_ROWS;
use spexus_domain::link::{Link, LinkEnd};
use spexus_domain::permission::Operation;
use spexus_domain::query::PageRequest;
use spexus_domain::{Kind, Refusal, ShownReference, Uuid};
use spexus_service::{comment, evidence, item, link, review, settings};

/// Links and changes that the page itself shows.
const SHOWN_LINKS: u32 = 100;
const SHOWN_CHANGES: u32 = 8;

#[derive(Template)]
#[template(path = "item.html")]
struct ItemPage {
    shell: Shell,
    path: String,
    item: Item,
    text: Markup,
    made: Markup,
    changed: Markup,
    /// From the top down, without the item.
    above: Vec<Item>,
    attributes: Vec<(String, String)>,
    /// Statuses one step away.
    next_statuses: Vec<String>,
    contained: Vec<Contained>,
    links: Vec<Linked>,
    links_total: i64,
    links_hidden: i64,
    threads: Vec<Thread>,
    comments_total: String,
    open_threads: usize,
    draft: Draft,
    once: String,
    why: Option<WhyPanel>,
    history: Vec<Happened>,
    history_total: String,
    /// Its neighbours among its siblings.
    before: Option<ShownReference>,
    behind: Option<ShownReference>,
    /// The newest reviews it is in: number, title, what they came to.
    reviews: Vec<(i64, String, Markup)>,
    /// Whether a review approved what it says now.
    is_approved: bool,
    can_review: bool,
    can_edit: bool,
    can_link: bool,
    can_confirm: bool,
    can_comment: bool,
    can_delete: bool,
    can_create: bool,
}

/// What an item contains of one kind.
//= specs/spexus-web.md#documents
//# Everything that shows an item as a row or a card MUST name it in `data-ref`.
struct Contained {
    kind: Kind,
    items: Vec<Item>,
    /// How many more there are.
    more: usize,
}

/// A link as it reads from this item.
struct Linked {
    id: Uuid,
    relation: String,
    path: String,
    /// With the project where it is another.
    reference: String,
    title: String,
    suspect: bool,
}

/// A comment that was not taken, to be written again.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) content: String,
    pub(super) parent: Option<Uuid>,
    pub(super) quote: String,
    pub(super) faults: Faults,
}

impl Draft {
    /// Whether it is an answer to this comment.
    fn answers(&self, comment: &Uuid) -> bool {
        self.parent.as_ref() == Some(comment)
    }
}

/// The item at `/p/KEY/REQ-012`.
pub(crate) async fn page(visit: Visit, Path((key, reference)): At) -> Answer {
    let place = AddressedItem::of(&visit, &key, &reference).await?;
    html(&show(&visit, place, Draft::default()).await?)
}

/// The page again, with a comment that was not taken.
pub(super) async fn again(visit: &Visit, place: AddressedItem, draft: Draft, refusal: &Refusal) -> Answer {
    faulty(&show(visit, place, draft).await?, refusal)
}

async fn show(visit: &Visit, place: AddressedItem, draft: Draft) -> Answer<ItemPage> {
    let (service, caller, t) = (visit.service(), &visit.caller, visit.texts());
    let (of, id) = (Some(place.project.key.as_str()), place.item.id.to_string());
    let mut above = item::path(service, caller, of, &id).await?.data;
    above.pop();
    let part = |rows: u32| PageRequest::new(Some(rows), None);
    let links = link::list(service, caller, of, None, &id, None, part(SHOWN_LINKS)?).await?;
    let comments = comment::list(service, caller, of, None, &id, None, part(MAX_PAGE_ROWS)?).await?;
    let history = item::history(service, caller, of, None, &id, part(SHOWN_CHANGES)?).await?;
    let traced = evidence::trace(service, caller, of, None, &id).await?;
    let comments_total = comments.total().to_string();
    let threads = threads(visit, &place.project, comments.data);
    let [before, behind] = item::beside(service, caller, &place.item).await?;
    let reviews = review::of_item(service, caller, &place.item).await?;
    let title = format!("{} {}", place.item.reference_id, place.item.heading());
    let crumbs = crumbs(&place, &above);
    Ok(ItemPage {
        shell: visit
            .shell_in(&place.project, View::Inside, title)
            .await?
            .crumbs(crumbs),
        path: place.path(),
        text: markdown::rendered(&place.item.description),
        made: when(t, place.item.created_at, visit.now()),
        changed: when(t, place.item.updated_at, visit.now()),
        attributes: attributes(&place.item),
        next_statuses: next_statuses(visit, &place.item).await?,
        contained: contained(visit, &place).await?,
        links_total: links.total_count,
        links_hidden: links.hidden_count,
        links: links
            .data
            .into_iter()
            .map(|link| linked(link, &place.item))
            .collect(),
        comments_total,
        open_threads: threads
            .iter()
            .filter(|thread| !thread.first.comment.resolved)
            .count(),
        threads,
        draft,
        once: Uuid::now_v7().to_string(),
        why: why::panel(t, place.item.kind, &traced),
        history_total: history.total().to_string(),
        history: history
            .data
            .iter()
            .map(|change| summary(t, change, visit.now()))
            .collect(),
        before,
        behind,
        is_approved: reviews.is_approved,
        reviews: reviews
            .newest
            .into_iter()
            .map(|(number, title, state, _)| (number, title, state_mark(t, state)))
            .collect(),
        can_review: place.may(visit, Operation::RequestReview),
        can_edit: place.may(visit, Operation::UpdateItem),
        can_link: place.may(visit, Operation::Link),
        can_confirm: place.may(visit, Operation::ConfirmLink),
        can_comment: place.may(visit, Operation::Comment),
        can_delete: place.may(visit, Operation::DeleteItem),
        can_create: place.may(visit, Operation::CreateItem),
        above,
        item: place.item,
    })
}

fn crumbs(place: &AddressedItem, above: &[Item]) -> Vec<Crumb> {
    let mut crumbs = vec![Crumb::to(
        &place.project.name,
        format!("/p/{}", place.project.key),
    )];
    crumbs.extend(
        above
            .iter()
            .map(|step| Crumb::to(step.reference_id.to_string(), super::address(step))),
    );
    crumbs.push(Crumb::here(place.item.reference_id.to_string()));
    crumbs
}

fn attributes(item: &Item) -> Vec<(String, String)> {
    item.attributes
        .iter()
        .map(|(name, value)| (name.clone(), super::fields::shown(value)))
        .collect()
}

async fn next_statuses(visit: &Visit, item: &Item) -> Answer<Vec<String>> {
    let Some(from) = &item.status else {
        return Ok(Vec::new());
    };
    let workflow = settings::workflow(visit.service(), &visit.caller, item.kind).await?;
    let steps = workflow.transitions.into_iter().filter(|step| step.from == *from);
    Ok(steps.map(|step| step.to).collect())
}

//= specs/spexus-web.md#documents
//# Every page MUST show at most 200 rows at a time, however many there are.
async fn contained(visit: &Visit, place: &AddressedItem) -> Answer<Vec<Contained>> {
    let mut contained = Vec::new();
    let kinds: Vec<Kind> = place.item.kind.children().collect();
    let rows = MAX_PAGE_ROWS / u32::try_from(kinds.len().max(1)).unwrap_or(1);
    for kind in kinds {
        let part = PageRequest::new(Some(rows), None)?;
        let (of, id) = (Some(place.project.key.as_str()), place.item.id.to_string());
        let found = item::children(visit.service(), &visit.caller, of, None, &id, vec![kind], part).await?;
        let total = usize::try_from(found.total().at_least()).unwrap_or(0);
        contained.push(Contained {
            kind,
            more: total.saturating_sub(found.data.len()),
            items: found.data,
        });
    }
    Ok(contained)
}

fn linked(link: Link, item: &Item) -> Linked {
    let starts_here = link.source.id == item.id;
    let (name, end): (&str, &LinkEnd) = match starts_here {
        true => (&link.link_type, &link.target),
        false => (&link.inverse, &link.source),
    };
    let away = end.project_id != item.project_id;
    Linked {
        id: link.id,
        relation: links::words(name),
        path: format!("/p/{}/{}", end.project, end.reference_id),
        reference: match away {
            true => format!("{}/{}", end.project, end.reference_id),
            false => end.reference_id.to_string(),
        },
        title: end.title.clone(),
        suspect: link.suspect,
    }
}
