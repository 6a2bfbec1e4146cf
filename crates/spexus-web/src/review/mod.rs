//! Reviews: the list of a project, asking for one, and the page where its items are read, commented and decided.

pub(crate) mod ask;
pub(crate) mod decide;
pub(crate) mod list;
pub(crate) mod show;

use crate::mark::Markup;
use crate::texts::Texts;
use spexus_domain::review::{Review, ReviewState, Verdict};

/// The address of a review.
pub(crate) fn address(review: &Review) -> String {
    format!("/p/{}/reviews/{}", review.project, review.number)
}

/// What a review has come to, in words.
pub(crate) fn state_word(t: &Texts, state: ReviewState) -> &'static str {
    match state {
        ReviewState::Open => t.review_open,
        ReviewState::Approved => t.review_approved,
        ReviewState::Rejected => t.review_rejected,
        ReviewState::Closed => t.review_closed,
    }
}

/// What a review has come to, as a mark with its word.
pub(crate) fn state_mark(t: &Texts, state: ReviewState) -> Markup {
    let look = match state {
        ReviewState::Open => "progress",
        ReviewState::Approved => "done",
        ReviewState::Rejected => "cancelled",
        ReviewState::Closed => "obsolete",
    };
    let icon = crate::mark::icon(&format!("s-{look}"));
    Markup(format!(
        "<span class=\"st\" data-st=\"{look}\">{icon}{}</span>",
        state_word(t, state)
    ))
}

/// What somebody said, in a word.
pub(crate) fn verdict_word(t: &Texts, verdict: Option<Verdict>) -> &'static str {
    match verdict {
        None => t.review_asked,
        Some(Verdict::Approved) => t.review_approved,
        Some(Verdict::Rejected) => t.review_rejected,
    }
}
