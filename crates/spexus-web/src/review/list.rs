//! The reviews of a project.

use super::{address, state_mark, state_word};
use crate::answer::{Answer, html};
use crate::form::Params;
use crate::mark::{Markup, icon, person};
use crate::shell::{Shell, View};
use crate::visit::Visit;
use crate::when::when;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::permission::Operation;
use spexus_domain::query::PageRequest;
use spexus_domain::review::{Review, ReviewState};
use spexus_service::review::{self, ReviewQuery};

/// Reviews of one page.
const SHOWN_ROWS: u32 = 50;

#[derive(Template)]
#[template(path = "reviews.html")]
struct ReviewsPage {
    shell: Shell,
    key: String,
    states: Vec<(&'static str, &'static str, bool)>,
    rows: Vec<Row>,
    total: String,
    next: Option<String>,
    can_ask: bool,
    shows_all: bool,
}

/// One review in a list.
pub(crate) struct Row {
    pub(crate) path: String,
    pub(crate) state: Markup,
    pub(crate) asked: Markup,
    pub(crate) said: usize,
    pub(crate) review: Review,
}

impl Row {
    pub(crate) fn of(visit: &Visit, review: Review) -> Self {
        let said = review.reviewers.iter().filter(|one| one.verdict.is_some());
        Self {
            path: address(&review),
            state: state_mark(visit.texts(), review.state),
            asked: when(visit.texts(), review.created_at, visit.now()),
            said: said.count(),
            review,
        }
    }
}

/// Which reviews are shown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReviewsRequest {
    state: Option<String>,
    cursor: Option<String>,
}

/// The list.
pub(crate) async fn page(
    visit: Visit,
    Path(key): Path<String>,
    Params(wanted): Params<ReviewsRequest>,
) -> Answer {
    let project = visit.project(&key).await?;
    let t = visit.texts();
    let query = ReviewQuery {
        project: Some(project.key.clone()),
        state: wanted.state.clone(),
        asks_me: false,
    };
    let found = review::list(visit.service(), &visit.caller, &query).await?;
    let found = found.part(&PageRequest::new(Some(SHOWN_ROWS), wanted.cursor)?);
    let state = |state: ReviewState| {
        let is_chosen = wanted.state.as_deref() == Some(state.name());
        (state.name(), state_word(t, state), is_chosen)
    };
    let next = found.next_cursor.as_deref().map(|cursor| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("cursor", cursor);
        if let Some(state) = &wanted.state {
            query.append_pair("state", state);
        }
        format!("/p/{}/reviews?{}", project.key, query.finish())
    });
    html(&ReviewsPage {
        shell: visit.shell_in(&project, View::Reviews, t.reviews).await?,
        states: ReviewState::ALL.map(state).to_vec(),
        total: found.total().to_string(),
        next,
        shows_all: wanted.state.is_none(),
        rows: found.data.into_iter().map(|one| Row::of(&visit, one)).collect(),
        can_ask: visit.may(Operation::RequestReview, &project),
        key: project.key,
    })
}
