//! Reviews: asking people and agents about items as they stand, and saying yes or no with a reason.
//!
//! What was said of a review is in the ledger of its project, sealed like everything else there.

use crate::Service;
use crate::account::{self, Rights};
use crate::baseline::{self, DiffQuery};
use crate::context::{Context, check_rev, reading};
use crate::people;
use async_recursion::async_recursion as boxed;
use spexus_domain::account::{Caller, User};
use spexus_domain::attribute::Attributes;
use spexus_domain::baseline::Difference;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::item::Item;
use spexus_domain::limits::{MAX_PAGE_ROWS, MAX_REVIEW_ITEMS, MAX_REVIEWERS};
use spexus_domain::permission::Operation;
use spexus_domain::query::Page;
use spexus_domain::review::{
    NewReview, NewVerdict, Review, ReviewPatch, ReviewState, ReviewedItem, Reviewer, Verdict,
};
use spexus_domain::{Code, Refusal, Ruled, Uuid, text};
use spexus_store::{Conn, Result, Tx, items, reviews};

/// Reviews of one answer: the newest.
const MAX_REVIEWS_TOLD: u32 = 500;

/// Which reviews are wanted.
#[derive(Clone, Debug, Default)]
pub struct ReviewQuery {
    /// The project.
    pub project: Option<String>,
    /// open, approved, rejected or closed; all when left out.
    pub state: Option<String>,
    /// Only those that wait for the caller.
    pub asks_me: bool,
}

/// The reviews of a project, the newest first.
#[boxed]
pub async fn list(service: &Service, caller: &Caller, query: &ReviewQuery) -> Ruled<Page<Review>> {
    let state = match (&query.state, query.asks_me) {
        (Some(name), _) => Some(ReviewState::parse("state", name)?),
        (None, true) => Some(ReviewState::Open),
        (None, false) => None,
    };
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, query.project.as_deref()).await?;
    let whom = query.asks_me.then_some(caller.user_id);
    let project_id = context.project()?.id;
    let found = reviews::of_project(&mut conn, project_id, state, whom, MAX_REVIEWS_TOLD + 1).await?;
    Ok(Page::beginning(found, MAX_REVIEWS_TOLD))
}

/// One review by its number.
#[boxed]
pub async fn get(service: &Service, caller: &Caller, project: Option<&str>, number: i64) -> Ruled<Review> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    Ok(find(&mut conn, &context, number).await?)
}

/// Asks for a review of items, or of everything that differs from a baseline.
#[boxed]
pub async fn create(service: &Service, caller: &Caller, input: NewReview) -> Ruled<Review> {
    let mut input = input;
    if let Some(baseline) = input.baseline.take() {
        let since = since(service, caller, input.project.clone(), baseline).await?;
        input.items.extend(since);
    }
    let project = input.project.clone();
    let place = (project.as_deref(), None);
    let job = service.change_in(caller, Operation::RequestReview, place, move |tx, context| {
        Box::pin(async move {
            let project = context.project()?.clone();
            let mut review = Review {
                id: tx.new_id(),
                project: project.key.clone(),
                number: reviews::next_number(&mut tx.conn, project.id).await?,
                title: text::title("title", &input.title)?,
                description: text::description("description", &input.description)?,
                state: ReviewState::Open,
                created_by: tx.actor().username.clone(),
                creator_id: context.caller.user_id,
                reviewers: Vec::new(),
                items: asked_about(&mut tx.conn, &context, &input.items).await?,
                rev: 1,
                created_at: tx.now(),
                updated_at: tx.now(),
            };
            review.reviewers = asked(&mut tx.conn, &context, &review, &input.reviewers).await?;
            reviews::put(tx, project.id, &review, true).await?;
            record(tx, project.id, None, &review).await?;
            Ok(review)
        })
    });
    job.await
}

/// Changes who is asked and what for, asks again about the items as they are now, or takes the review back.
#[boxed]
pub async fn update(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    number: i64,
    patch: ReviewPatch,
) -> Ruled<Review> {
    let place = (project, None);
    let job = service.change_in(caller, Operation::RequestReview, place, move |tx, context| {
        Box::pin(async move {
            let project_id = context.project()?.id;
            let before = find(&mut tx.conn, &context, number).await?;
            check_rev("this review", before.rev, patch.expect_rev)?;
            before.check_open()?;
            let mut review = before.clone();
            if let Some(title) = &patch.title {
                review.title = text::title("title", title)?;
            }
            if let Some(description) = &patch.description {
                review.description = text::description("description", description)?;
            }
            if let Some(names) = &patch.reviewers {
                review.reviewers = asked(&mut tx.conn, &context, &review, names).await?;
            }
            if patch.ask_again {
                ask_again(&mut tx.conn, &mut review).await?;
            }
            review.settle();
            if patch.close {
                review.state = ReviewState::Closed;
            }
            if review == before {
                return Ok(before);
            }
            keep(tx, project_id, &before, review, patch.ask_again).await
        })
    });
    job.await
}

/// Says yes or no to a review one is asked for.
#[boxed]
pub async fn decide(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    number: i64,
    input: NewVerdict,
) -> Ruled<Review> {
    let place = (project, None);
    let job = service.change_in(caller, Operation::Review, place, move |tx, context| {
        Box::pin(async move {
            let project_id = context.project()?.id;
            let before = find(&mut tx.conn, &context, number).await?;
            check_rev("this review", before.rev, input.expect_rev)?;
            let verdict = Verdict::parse("verdict", &input.verdict)?;
            let reason = text::description("reason", input.reason.trim())?;
            let mut review = before.clone();
            let now = tx.now();
            review.decide(context.caller.user_id, (verdict, reason), now)?;
            keep(tx, project_id, &before, review, false).await
        })
    });
    job.await
}

/// Whether an item, as it says now, is in a review that was approved: what a workflow can ask.
//= specs/spexus-service.md#reviews
//# An item MUST count as approved only while it says what it said when an approved review asked about it.
pub(crate) async fn is_approved(conn: &mut Conn, item: &Item) -> Result<bool> {
    reviews::is_approved(conn, item.project_id, item.id, &item.content_hash).await
}

/// What is known of the reviews of an item: the newest of them, and whether one of them approved what it says now.
#[derive(Clone, Debug, Default)]
pub struct ItemReviews {
    /// Number, title, state, and whether the item still says what was asked about.
    pub newest: Vec<(i64, String, ReviewState, bool)>,
    /// Whether what it says now was approved.
    pub is_approved: bool,
}

/// The reviews an item is in.
#[boxed]
pub async fn of_item(service: &Service, caller: &Caller, item: &Item) -> Ruled<ItemReviews> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    caller.may_in(Operation::Read, item.project_id)?;
    Ok(ItemReviews {
        newest: reviews::of_item(&mut conn, item.project_id, item.id, MAX_SHOWN_AT_ITEM).await?,
        is_approved: is_approved(&mut conn, item).await?,
    })
}

/// Reviews shown with an item.
const MAX_SHOWN_AT_ITEM: u32 = 5;

async fn find(conn: &mut Conn, context: &Context, number: i64) -> Result<Review> {
    let project = context.project()?;
    let missing = || {
        let message = format!("there is no review {number} in {}", project.key);
        Refusal::new(Code::ResourceNotFound, message)
    };
    let found = reviews::by_number(conn, project.id, number).await?;
    Ok(found.ok_or_else(missing)?)
}

/// What was added or changed since a baseline.
async fn since(
    service: &Service,
    caller: &Caller,
    project: Option<String>,
    baseline: String,
) -> Ruled<Vec<String>> {
    let query = DiffQuery {
        project,
        from: baseline,
        to: None,
        limit: Some(MAX_PAGE_ROWS),
        cursor: None,
        count: None,
    };
    let found = baseline::difference(service, caller, &query).await?;
    if found.next_cursor.is_some() {
        return Err(too_many("baseline", "more than 200 items differ from it"));
    }
    let stays = found
        .data
        .iter()
        .filter(|one| one.difference != Difference::Removed);
    Ok(stays.map(|one| one.id.to_string()).collect())
}

/// The items a review is about, each once, as they are now.
async fn asked_about(conn: &mut Conn, context: &Context, ids: &[String]) -> Result<Vec<ReviewedItem>> {
    if ids.is_empty() {
        let problem = "there is nothing to review";
        return Err(Refusal::field(Code::InvalidParams, "items", problem, "1 to 200 items").into());
    }
    if ids.len() > MAX_REVIEW_ITEMS {
        return Err(too_many("items", &format!("there are {}", ids.len())).into());
    }
    let project_id = context.project()?.id;
    let mut found: Vec<ReviewedItem> = Vec::new();
    for id in ids {
        let item = context.item_beside(conn, ("items", id), None, project_id).await?;
        if !found.iter().any(|known| known.id == item.id) {
            found.push(reviewed(&item));
        }
    }
    Ok(found)
}

fn too_many(field: &str, problem: &str) -> Refusal {
    let allowed = format!("1 to {MAX_REVIEW_ITEMS} items");
    Refusal::field(Code::InvalidParams, field, problem, allowed)
}

fn reviewed(item: &Item) -> ReviewedItem {
    ReviewedItem {
        id: item.id,
        reference_id: item.reference_id.clone(),
        kind: item.kind,
        title: item.heading(),
        rev: item.rev,
        current_rev: item.rev,
        is_as_asked: true,
        content_hash: item.content_hash.clone(),
    }
}

/// Who is asked: accounts that may review in the project. What those who stay said stays.
async fn asked(
    conn: &mut Conn,
    context: &Context,
    review: &Review,
    names: &[String],
) -> Result<Vec<Reviewer>> {
    if names.is_empty() || names.len() > MAX_REVIEWERS {
        let problem = format!("{} are asked", names.len());
        let allowed = format!("1 to {MAX_REVIEWERS} people or agents");
        return Err(Refusal::field(Code::InvalidParams, "reviewers", problem, allowed).into());
    }
    let project_id = context.project()?.id;
    let mut asked: Vec<Reviewer> = Vec::new();
    for name in names {
        let user = people::find_active(conn, &context.caller, "reviewers", name).await?;
        if asked.iter().any(|known| known.user_id == user.id) {
            continue;
        }
        check_may_review(conn, project_id, review, &user).await?;
        let known = review.reviewers.iter().find(|known| known.user_id == user.id);
        asked.push(known.cloned().unwrap_or(Reviewer {
            username: user.username,
            user_id: user.id,
            verdict: None,
            reason: String::new(),
            decided_at: None,
        }));
    }
    Ok(asked)
}

/// Refuses to ask somebody who could not answer, and who asks.
//= specs/spexus-service.md#reviews
//# Nobody MUST be asked who may not review in the project, and nobody reviews what they ask about themselves.
async fn check_may_review(conn: &mut Conn, project_id: Uuid, review: &Review, user: &User) -> Result<()> {
    let name = text::excerpt(&user.username, 60);
    let rights = Rights::of(conn, user).await?;
    let whoever = account::caller(user, &rights, String::new());
    let problem = if user.id == review.creator_id {
        format!("{name} asks")
    } else if !rights.is_usable || whoever.may_in(Operation::Review, project_id).is_err() {
        format!("{name} may not review in this project")
    } else {
        return Ok(());
    };
    let allowed = "somebody else who is at least a reviewer in the project";
    Err(Refusal::field(Code::RuleViolated, "reviewers", problem, allowed).into())
}

/// Forgets what was said, and asks about the items as they are now.
async fn ask_again(conn: &mut Conn, review: &mut Review) -> Result<()> {
    for asked in &mut review.items {
        let now = items::by_id(conn, asked.id)
            .await?
            .filter(|item| item.deleted_at.is_none());
        match now {
            Some(item) => *asked = reviewed(&item),
            None => {
                let message = format!("{} was deleted", asked.reference_id);
                let refusal = Refusal::new(Code::RuleViolated, message);
                return Err(refusal.hint("Restore it, or ask for a review without it.").into());
            }
        }
    }
    for person in &mut review.reviewers {
        (person.verdict, person.decided_at) = (None, None);
        person.reason.clear();
    }
    Ok(())
}

async fn keep(
    tx: &mut Tx,
    project_id: Uuid,
    before: &Review,
    mut review: Review,
    has_new_items: bool,
) -> Result<Review> {
    review.rev += 1;
    review.updated_at = tx.now();
    reviews::put(tx, project_id, &review, has_new_items).await?;
    record(tx, project_id, Some(before), &review).await?;
    Ok(review)
}

//= specs/spexus-service.md#reviews
//# What is asked and what is said MUST be in the ledger of the project, with who, when and why.
async fn record(tx: &mut Tx, project_id: Uuid, before: Option<&Review>, after: &Review) -> Result<()> {
    let action = match before {
        None => Action::Created,
        Some(_) => Action::Updated,
    };
    let change = NewChange::new(Entity::Review, after.id, after.label(), action, after.rev);
    let change = change
        .in_project(project_id)
        .fields(before.map(fields), fields(after));
    tx.record(change).await.map(drop)
}

/// What the history says of a review.
fn fields(review: &Review) -> Attributes {
    let item = |item: &ReviewedItem| format!("{} revision {}", item.reference_id.plain(), item.rev);
    let items: Vec<String> = review.items.iter().map(item).collect();
    let mut fields = Attributes::from_iter([
        ("title".to_owned(), review.title.clone().into()),
        ("state".to_owned(), review.state.name().into()),
        ("items".to_owned(), items.join("; ").into()),
    ]);
    if !review.description.is_empty() {
        fields.insert("description".to_owned(), review.description.clone().into());
    }
    for person in &review.reviewers {
        let verdict = person.verdict.map_or("asked", Verdict::name);
        let said = match person.reason.is_empty() {
            true => verdict.to_owned(),
            false => format!("{verdict}: {}", person.reason),
        };
        fields.insert(format!("verdict of {}", person.username), said.into());
    }
    fields
}
