//! Comments on an item: threads, and what can be done with each.

use super::show::{self, Draft};
use super::{AddressedItem, At, AtId};
use crate::answer::{Answer, own_path, see};
use crate::form::{Faults, Form};
use crate::mark::Markup;
use crate::markdown;
use crate::visit::Visit;
use crate::when::when;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::Uuid;
use spexus_domain::comment::{Comment, CommentPatch, NewAnchor, NewComment};
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_service::{comment, consent};

/// A comment and what answers it.
pub(crate) struct Thread {
    pub(crate) first: Shown,
    pub(crate) answers: Vec<Shown>,
}

/// A comment as it is shown, with what the reader may do with it.
pub(crate) struct Shown {
    pub(crate) comment: Comment,
    pub(crate) text: Markup,
    pub(crate) written: Markup,
    pub(crate) can_edit: bool,
    pub(crate) can_resolve: bool,
}

/// Comments in threads: each answer with the comment that began its thread.
pub(crate) fn threads(visit: &Visit, project: &Project, comments: Vec<Comment>) -> Vec<Thread> {
    let mut threads: Vec<Thread> = Vec::new();
    for comment in comments {
        let answered = comment.parent_id;
        let shown = shown(visit, project, comment);
        let of = |thread: &&mut Thread| {
            let mut all = std::iter::once(&thread.first).chain(&thread.answers);
            all.any(|known| Some(known.comment.id) == answered)
        };
        match threads.iter_mut().find(of) {
            Some(thread) => thread.answers.push(shown),
            None => threads.push(Thread {
                first: shown,
                answers: Vec::new(),
            }),
        }
    }
    threads
}

fn shown(visit: &Visit, project: &Project, comment: Comment) -> Shown {
    let own = comment.author_id == visit.caller.user_id && visit.may(Operation::Comment, project);
    Shown {
        text: markdown::rendered(&comment.content),
        written: when(visit.texts(), comment.created_at, visit.now()),
        can_edit: own || visit.may(Operation::ModerateComment, project),
        can_resolve: own || visit.may(Operation::ResolveComment, project),
        comment,
    }
}

/// What is written.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    #[serde(default)]
    content: String,
    /// The comment that is answered.
    parent: Option<Uuid>,
    /// The words it is about.
    #[serde(default)]
    quote: String,
    /// Makes the same form sent twice one comment.
    once: Uuid,
    /// The page of this server it was written on, where that is another.
    #[serde(default)]
    back: String,
}

/// Writes a comment or an answer.
pub(crate) async fn create(visit: Visit, Path((key, reference)): At, Form(written): Form<Written>) -> Answer {
    let place = AddressedItem::of(&visit, &key, &reference).await?;
    visit.ask(Operation::Comment, &place.project)?;
    let anchor = Some(written.quote.clone()).filter(|quote| !quote.is_empty());
    let input = NewComment {
        content: written.content.clone(),
        parent_id: written.parent,
        anchor: anchor.map(|quote| NewAnchor { quote, start: None }),
    };
    let (of, id) = (Some(place.project.key.as_str()), place.item.id.to_string());
    //= specs/spexus-web.md#documents
    //# A form that was sent twice MUST make one thing.
    let first = consent::claim(visit.service(), &visit.caller, &format!("form {}", written.once)).await?;
    let made = match first {
        true => comment::create(visit.service(), &visit.caller, of, None, &id, input)
            .await
            .map(drop),
        false => Ok(()),
    };
    match made {
        Ok(()) if !written.back.is_empty() => Ok(see(own_path(&written.back))),
        Ok(()) => Ok(see(&format!("{}#comments", place.path()))),
        Err(refusal) if refusal.faults.is_empty() => Err(refusal.into()),
        Err(refusal) => {
            let draft = Draft {
                content: written.content,
                parent: written.parent,
                quote: written.quote,
                faults: Faults::of(&refusal),
            };
            show::again(&visit, place, draft, &refusal).await
        }
    }
}

/// What a comment is to say instead.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edited {
    content: String,
    rev: i64,
}

/// Changes what a comment says.
pub(crate) async fn edit(
    visit: Visit,
    Path((key, reference, id)): AtId,
    Form(edited): Form<Edited>,
) -> Answer {
    let patch = CommentPatch {
        content: Some(edited.content),
        expect_rev: Some(edited.rev),
        ..CommentPatch::default()
    };
    comment::update(visit.service(), &visit.caller, id, patch).await?;
    Ok(see(&format!("/p/{key}/{reference}#comments")))
}

/// Whether a thread is to be settled.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settled {
    resolved: bool,
}

/// Settles a thread or opens it again.
pub(crate) async fn settle(
    visit: Visit,
    Path((key, reference, id)): AtId,
    Form(settled): Form<Settled>,
) -> Answer {
    let patch = CommentPatch {
        resolved: Some(settled.resolved),
        ..CommentPatch::default()
    };
    comment::update(visit.service(), &visit.caller, id, patch).await?;
    Ok(see(&format!("/p/{key}/{reference}#comments")))
}

/// Removes a comment.
pub(crate) async fn remove(visit: Visit, Path((key, reference, id)): AtId) -> Answer {
    comment::delete(visit.service(), &visit.caller, id).await?;
    Ok(see(&format!("/p/{key}/{reference}#comments")))
}
