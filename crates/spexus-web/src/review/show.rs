//! One review: who is asked, what they said, and its items with their texts and threads.

use super::{address, state_mark, verdict_word};
use crate::answer::{Answer, faulty, html};
use crate::form::{Faults, Params};
use crate::item::comments::{Thread, threads};
use crate::mark::{Markup, icon, kind_word, person};
use crate::markdown;
use crate::shell::{Crumb, Shell, View};
use crate::texts::fill;
use crate::visit::Visit;
use crate::when::when;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::query::PageRequest;
use spexus_domain::review::{Review, ReviewState, ReviewedItem};
use spexus_domain::{Refusal, Uuid};
use spexus_service::{comment, item, review};

/// Items shown with their texts on one page.
const SHOWN_ITEMS: usize = 20;

/// Comments shown of an item: the open ones.
const SHOWN_COMMENTS: u32 = 50;

#[derive(Template)]
#[template(path = "review.html")]
struct ReviewPage {
    shell: Shell,
    review: Review,
    path: String,
    state: Markup,
    question: Markup,
    asked: Markup,
    people: Vec<Person>,
    parts: Vec<Part>,
    changed: usize,
    page: usize,
    pages: usize,
    may_decide: bool,
    may_manage: bool,
    can_comment: bool,
    once: String,
    reason: String,
    faults: Faults,
}

/// Somebody who is asked.
struct Person {
    name: String,
    verdict: &'static str,
    reason: String,
    at: Option<Markup>,
}

/// An item with its text and what is open about it.
struct Part {
    item: ReviewedItem,
    path: String,
    /// Nothing where it was deleted.
    text: Option<Markup>,
    threads: Vec<Thread>,
}

/// Which items are shown, counting pages from 1.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ItemsRequest {
    page: Option<usize>,
}

/// The page.
//= specs/spexus-web.md#reviews
//# A review MUST show its items with their texts and open threads, and MUST be decided and commented on its own page.
pub(crate) async fn page(
    visit: Visit,
    Path((key, number)): Path<(String, i64)>,
    Params(wanted): Params<ItemsRequest>,
) -> Answer {
    html(&read(&visit, &key, number, wanted.page.unwrap_or(1)).await?)
}

/// The page again, with what was not taken.
pub(super) async fn again(
    visit: &Visit,
    key: &str,
    number: i64,
    reason: String,
    refusal: &Refusal,
) -> Answer {
    let page = ReviewPage {
        reason,
        faults: Faults::of(refusal),
        ..read(visit, key, number, 1).await?
    };
    faulty(&page, refusal)
}

async fn read(visit: &Visit, key: &str, number: i64, page: usize) -> Answer<ReviewPage> {
    let project = visit.project(key).await?;
    let t = visit.texts();
    let found = review::get(visit.service(), &visit.caller, Some(&project.key), number).await?;
    let pages = found.items.len().div_ceil(SHOWN_ITEMS).max(1);
    let page = page.clamp(1, pages);
    let mut parts = Vec::new();
    for item in found
        .items
        .iter()
        .skip((page - 1) * SHOWN_ITEMS)
        .take(SHOWN_ITEMS)
    {
        parts.push(part(visit, &project, item.clone()).await?);
    }
    let is_asked = found
        .reviewers
        .iter()
        .any(|one| one.user_id == visit.caller.user_id);
    let is_over = found.state == ReviewState::Closed;
    let people = found.reviewers.iter().map(|one| Person {
        name: one.username.clone(),
        verdict: verdict_word(t, one.verdict),
        reason: one.reason.clone(),
        at: one.decided_at.map(|at| when(t, at, visit.now())),
    });
    let crumbs = vec![
        Crumb::to(&project.name, format!("/p/{}", project.key)),
        Crumb::to(t.reviews, format!("/p/{}/reviews", project.key)),
        Crumb::here(found.number.to_string()),
    ];
    Ok(ReviewPage {
        shell: visit
            .shell_in(&project, View::Reviews, found.title.clone())
            .await?
            .crumbs(crumbs),
        path: address(&found),
        state: state_mark(t, found.state),
        question: markdown::rendered(&found.description),
        asked: when(t, found.created_at, visit.now()),
        people: people.collect(),
        changed: found.items.iter().filter(|item| !item.is_as_asked).count(),
        parts,
        page,
        pages,
        may_decide: is_asked && !is_over && visit.may(Operation::Review, &project),
        may_manage: !is_over && visit.may(Operation::RequestReview, &project),
        can_comment: visit.may(Operation::Comment, &project),
        once: Uuid::now_v7().to_string(),
        reason: String::new(),
        faults: Faults::default(),
        review: found,
    })
}

async fn part(visit: &Visit, project: &Project, asked: ReviewedItem) -> Answer<Part> {
    let (service, caller) = (visit.service(), &visit.caller);
    let (of, id) = (Some(project.key.as_str()), asked.id.to_string());
    let path = format!("/p/{}/{}", project.key, asked.reference_id);
    let Ok(item) = item::get(service, caller, of, None, &id).await else {
        return Ok(Part {
            item: asked,
            path,
            text: None,
            threads: Vec::new(),
        });
    };
    let open = PageRequest::new(Some(SHOWN_COMMENTS), None)?;
    let said = comment::list(service, caller, of, None, &id, Some(false), open).await?;
    Ok(Part {
        item: asked,
        path,
        text: Some(markdown::rendered(&item.description)),
        threads: threads(visit, project, said.data),
    })
}
