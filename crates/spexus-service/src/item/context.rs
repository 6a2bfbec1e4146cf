//! Everything somebody needs who works on an item, gathered in one go.

use crate::context::{Context, reading};
use crate::link::GUIDES;
use crate::{Service, evidence};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::change::{Change, FieldChange};
use spexus_domain::comment::Comment;
use spexus_domain::item::Item;
use spexus_domain::item_context::{
    Container, ContextChange, ContextLink, ContextRequest, ContextWish, Criterion, Guidance, ItemContext,
    OpenComment, Part, Purpose, Subject, TARGET_CHARS, line,
};
use spexus_domain::link::{Link, LinkEnd};
use spexus_domain::permission::Operation;
use spexus_domain::query::{ItemFilter, Order, OrderField, Page, PageRequest};
use spexus_domain::{Code, Kind, Refusal, Ruled, Uuid, limits, text};
use spexus_store::links::{End, LinkFilter};
use spexus_store::{Conn, Result, changes, comments, items, leases, links, listing, settings, tree};
use std::collections::HashMap;

/// Rows of each part that are looked at; more are told by their number.
const MAX_ROWS: u32 = 100;
/// The last changes a review is told of.
const MAX_CHANGES: usize = 10;
/// How a value before or after a change begins.
const VALUE_CHARS: usize = 60;
/// The digits of the hash that are shown.
const HASH_DIGITS: usize = 12;

/// The working context of an item.
//= specs/spexus-service.md#working-context
//# The working context of an item MUST be one answer with the item and its revision, what contains it, all acceptance criteria, its
//# links with title and state, open comments, the steering documents of its epic, its siblings, and what changed.
#[boxed]
pub async fn context(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    id: &str,
    request: ContextRequest,
) -> Ruled<ItemContext> {
    let wish = request.understand()?;
    let mut conn = reading(service, caller, Operation::Read).await?;
    let place = Context::of_read(service, &mut conn, caller, project).await?;
    let item = place.item(&mut conn, "id", id, None).await?;
    let mut gathered = gather(&mut conn, caller, &item).await?;
    //= specs/spexus-service.md#working-context
    //# A context MUST tell the code that cites the item, the tests that show it with how they stand, those that did not pass first, and
    //# what evidence is missing.
    //= specs/spexus-service.md#working-context
    //# A context MUST tell which steps of the workflow from here demand evidence, and which.
    let trace = evidence::read_trace(&mut conn, item.clone(), service.store.now()).await?;
    gathered.with_trace(&trace.trace);
    if let (Some(workflow), Some(status)) = (settings::workflow(&mut conn, item.kind).await?, &item.status) {
        gathered.with_demands(&workflow, status);
    }
    let hash = hash_of(&item, wish.purpose, &gathered);
    //= specs/spexus-service.md#working-context
    //# Whoever sends the hash of an earlier context MUST be told only that nothing changed, where nothing did.
    if wish.known.as_ref().is_some_and(|(known, _)| *known == hash) {
        return Ok(ItemContext::unchanged(hash));
    }
    let now = service.store.now();
    let lease = leases::of_item(&mut conn, item.id, now).await?;
    let mut whole = ItemContext {
        hash,
        // It says nothing of the item, and changes with every heartbeat.
        held: lease.map(|lease| lease.line()),
        ..gathered
    };
    whole.changes = changed(&mut conn, &item, &wish).await?;
    Ok(whole.fitted(wish.purpose, wish.max_tokens))
}

/// The revision, and a hash of everything that was gathered for a purpose, whatever of it fits.
fn hash_of(item: &Item, purpose: Purpose, gathered: &ItemContext) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(purpose.name().as_bytes());
    hasher.update(serde_json::to_string(gathered).unwrap_or_default().as_bytes());
    let digits = hasher.finalize().to_hex();
    format!("{}-{}", item.rev, &digits[..HASH_DIGITS])
}

async fn gather(conn: &mut Conn, caller: &Caller, item: &Item) -> Result<ItemContext> {
    let path = tree::path(conn, item.id).await?;
    let above: Vec<&Item> = path.iter().filter(|one| one.id != item.id).collect();
    let mut context = ItemContext {
        unchanged: false,
        item: Some(Subject::of(item)),
        within: above.iter().map(|one| container(one)).collect(),
        ..ItemContext::unchanged(String::new())
    };
    criteria(conn, item, &mut context).await?;
    beside(conn, item, &mut context).await?;
    linked(conn, caller, item, &mut context).await?;
    for about in std::iter::once(item).chain(above.iter().rev().copied()) {
        let page = comments::of_item(conn, about.id, Some(false), &rows()).await?;
        rest(&mut context, Part::Comments, &page, "list_comments", about);
        context.comments.extend(page.data.iter().map(comment));
    }
    if let Some(epic) = path.first().filter(|one| one.kind == Kind::Epic) {
        steering(conn, caller, epic, &mut context).await?;
    }
    Ok(context)
}

fn rows() -> PageRequest {
    PageRequest {
        limit: MAX_ROWS,
        ..PageRequest::default()
    }
}

/// Says how many more there are than were looked at.
fn rest<T>(context: &mut ItemContext, part: Part, page: &Page<T>, tool: &str, of: &Item) {
    if page.next_cursor.is_some() {
        let total = usize::try_from(page.total().at_least()).unwrap_or(usize::MAX);
        let more = total.saturating_sub(page.data.len());
        context.note(part, more, format!("{tool} {{id: {}}}", of.reference_id));
    }
}

fn container(item: &Item) -> Container {
    Container {
        line: line(item),
        description: item.description.clone(),
        id: item.reference_id.to_string(),
    }
}

async fn below(conn: &mut Conn, parent: Uuid, kinds: &[Kind]) -> Result<Page<Item>> {
    let filter = ItemFilter {
        parent: Some(parent),
        kinds: kinds.to_vec(),
        ..ItemFilter::default()
    };
    let order = Order {
        field: OrderField::Position,
        descending: false,
    };
    listing::items(conn, &filter, order, &rows()).await
}

/// The criteria of the story that is meant: the item itself, or what contains it.
async fn criteria(conn: &mut Conn, item: &Item, context: &mut ItemContext) -> Result<()> {
    let story = match (item.kind, &item.parent) {
        (Kind::UserStory, _) => item.id,
        (Kind::Requirement, Some(parent)) => parent.id,
        _ => return Ok(()),
    };
    let served = item.acceptance_criterion.as_ref().map(|criterion| criterion.id);
    let page = below(conn, story, &[Kind::AcceptanceCriterion]).await?;
    context.criteria = page
        .data
        .iter()
        .map(|one| Criterion {
            id: one.reference_id.to_string(),
            served: served == Some(one.id),
            text: words(one),
        })
        .collect();
    rest(context, Part::Criteria, &page, "list_acceptance_criteria", item);
    Ok(())
}

/// Title and text of an item that may have either.
fn words(item: &Item) -> String {
    match (item.title.as_str(), item.description.as_str()) {
        ("", text) => text.to_owned(),
        (title, "") => title.to_owned(),
        (title, text) => format!("{title}\n{text}"),
    }
}

/// What stands beside an item and what it contains.
async fn beside(conn: &mut Conn, item: &Item, context: &mut ItemContext) -> Result<()> {
    if let Some(parent) = &item.parent {
        let page = below(conn, parent.id, &[item.kind]).await?;
        let others = page.data.iter().filter(|one| one.id != item.id);
        context.siblings = others.map(line).collect();
        rest(context, Part::Siblings, &page, "get_context", item);
    }
    let page = match item.kind {
        Kind::AcceptanceCriterion => Page::whole(items::pointing_to(conn, item.id).await?),
        // Its criteria are told whole.
        Kind::UserStory => below(conn, item.id, &[Kind::Requirement]).await?,
        Kind::Epic => below(conn, item.id, &[Kind::UserStory]).await?,
        Kind::Requirement | Kind::SteeringDocument => return Ok(()),
    };
    context.contains = page.data.iter().map(line).collect();
    rest(context, Part::Contains, &page, "epic_hierarchy", item);
    Ok(())
}

//= specs/spexus-service.md#projects
//# A link whose other end is in a project the caller may not see MUST be counted, and nothing else of that end shown.
async fn linked(conn: &mut Conn, caller: &Caller, item: &Item, context: &mut ItemContext) -> Result<()> {
    let found = links::of_item(
        conn,
        item.id,
        &LinkFilter::default(),
        caller.visibility(),
        &rows(),
    )
    .await?;
    rest(context, Part::Links, &found.page, "list_relationships", item);
    let links: Vec<&Link> = found
        .page
        .data
        .iter()
        .filter(|link| link.link_type != GUIDES)
        .collect();
    let others: Vec<Uuid> = links.iter().map(|link| other_end(link, item).0.id).collect();
    let others: HashMap<Uuid, Item> = items::by_ids(conn, &others)
        .await?
        .into_iter()
        .map(|other| (other.id, other))
        .collect();
    let shown = |link: &Link| {
        let (end, reads) = other_end(link, item);
        let other = others.get(&end.id)?;
        let elsewhere = match other.project_id == item.project_id {
            true => String::new(),
            false => format!("{}/", other.project),
        };
        Some(ContextLink {
            reads: reads.to_owned(),
            line: format!("{elsewhere}{}", line(other)),
            says: text::excerpt(&other.description, TARGET_CHARS),
            suspect: link.suspect,
        })
    };
    context.links = links.into_iter().filter_map(shown).collect();
    let hidden = usize::try_from(found.hidden_count).unwrap_or(usize::MAX);
    context.note(Part::Links, hidden, "a member of the other project".to_owned());
    Ok(())
}

/// The other end of a link, and how the link reads from here.
fn other_end<'a>(link: &'a Link, item: &Item) -> (&'a LinkEnd, &'a str) {
    match link.source.id == item.id {
        true => (&link.target, &link.link_type),
        false => (&link.source, &link.inverse),
    }
}

fn comment(comment: &Comment) -> OpenComment {
    OpenComment {
        on: comment.item.to_string(),
        by: comment.author.clone(),
        text: comment.content.clone(),
    }
}

/// The documents an epic follows.
async fn steering(conn: &mut Conn, caller: &Caller, epic: &Item, context: &mut ItemContext) -> Result<()> {
    let filter = LinkFilter {
        link_type: Some(GUIDES.to_owned()),
        end: Some(End::Target),
    };
    let found = links::of_item(conn, epic.id, &filter, caller.visibility(), &rows()).await?;
    rest(
        context,
        Part::Steering,
        &found.page,
        "get_epic_steering_documents",
        epic,
    );
    let ids: Vec<Uuid> = found.page.data.iter().map(|link| link.source.id).collect();
    let documents = items::by_ids(conn, &ids).await?;
    context.steering = documents
        .into_iter()
        .filter(|document| document.deleted_at.is_none())
        .map(|document| Guidance {
            id: document.reference_id.to_string(),
            title: document.title,
            text: document.description,
        })
        .collect();
    Ok(())
}

/// What changed since the revision that is known; for a review without one, what changed last.
async fn changed(conn: &mut Conn, item: &Item, wish: &ContextWish) -> Result<Vec<ContextChange>> {
    let since = match (&wish.known, wish.purpose) {
        (Some((_, rev)), _) => *rev,
        (None, Purpose::Review) => item.rev.saturating_sub(MAX_CHANGES as i64),
        (None, _) => return Ok(Vec::new()),
    };
    let mut found = changes::since_rev(conn, item.id, item.id, since).await?;
    for change in &mut found {
        change.show_references(|_| item.reference_id.prefix().clone());
    }
    Ok(found.iter().map(entry).collect())
}

fn entry(change: &Change) -> ContextChange {
    let fields: Vec<String> = change.fields.iter().map(field).collect();
    ContextChange {
        rev: change.rev,
        by: change.user.clone(),
        at: change.at,
        what: format!("{} {}", change.action.name(), fields.join("; "))
            .trim_end()
            .to_owned(),
    }
}

fn field(field: &FieldChange) -> String {
    let shown = |value: &Option<serde_json::Value>| match value {
        None => "nothing".to_owned(),
        Some(serde_json::Value::String(value)) => format!("{:?}", text::excerpt(value, VALUE_CHARS)),
        Some(value) => text::excerpt(&value.to_string(), VALUE_CHARS),
    };
    format!(
        "{}: {} → {}",
        field.field,
        shown(&field.before),
        shown(&field.after)
    )
}

/// Several items by any ids, in their order.
//= specs/spexus-service.md#working-context
//# Up to 50 items MUST be read by one request, each by any id; one that is not there MUST be refused with its place.
#[boxed]
pub async fn several(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    ids: &[String],
) -> Ruled<Vec<Item>> {
    if !(1..=limits::MAX_ITEMS_AT_ONCE).contains(&ids.len()) {
        let allowed = format!("1 to {}", limits::MAX_ITEMS_AT_ONCE);
        let problem = format!("has {} entries", ids.len());
        return Err(Refusal::field(Code::InvalidParams, "ids", problem, allowed));
    }
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let mut found = Vec::with_capacity(ids.len());
    for (at, id) in ids.iter().enumerate() {
        let place = format!("ids[{at}]");
        let item = context.item(&mut conn, &place, id, None).await;
        found.push(item.map_err(|error| placed(error.into(), &place))?);
    }
    Ok(found)
}

/// A refusal that names which id it is about.
fn placed(refusal: Refusal, place: &str) -> Refusal {
    match refusal.faults.is_empty() {
        true => refusal.inside(place),
        false => refusal,
    }
}
