//! Asking for a review.

use super::address;
use crate::answer::{Answer, faulty, html, see};
use crate::form::{Faults, Form, Params};
use crate::mark::icon;
use crate::shell::{Crumb, Shell, View};
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::Uuid;
use spexus_domain::permission::Operation;
use spexus_domain::review::NewReview;
use spexus_service::account::user;
use spexus_service::{baseline, consent, review};

/// Names offered for who is asked.
const MAX_CHOICES: usize = 200;

#[derive(Template)]
#[template(path = "review_new.html")]
struct AskPage {
    shell: Shell,
    key: String,
    wanted: Asked,
    baselines: Vec<String>,
    people: Vec<String>,
    once: String,
    faults: Faults,
}

/// What is asked: as the form has it, and as an address can fill it in.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: String,
    /// Ids, separated by commas, spaces or lines.
    #[serde(default)]
    items: String,
    #[serde(default)]
    baseline: String,
    /// Names, separated likewise.
    #[serde(default)]
    reviewers: String,
    /// Makes the same form sent twice one review.
    once: Option<Uuid>,
}

async fn page(visit: &Visit, key: &str, wanted: Asked) -> Answer<AskPage> {
    let project = visit.project(key).await?;
    visit.ask(Operation::RequestReview, &project)?;
    let t = visit.texts();
    let known = baseline::list(visit.service(), &visit.caller, Some(&project.key)).await?;
    let people = user::names(visit.service(), &visit.caller).await?;
    let crumbs = vec![
        Crumb::to(&project.name, format!("/p/{}", project.key)),
        Crumb::to(t.reviews, format!("/p/{}/reviews", project.key)),
        Crumb::here(t.ask_review),
    ];
    let others = people.data.into_iter().map(|one| one.username);
    Ok(AskPage {
        shell: visit
            .shell_in(&project, View::Reviews, t.ask_review)
            .await?
            .crumbs(crumbs),
        baselines: known.data.into_iter().rev().map(|one| one.name).collect(),
        people: others
            .filter(|name| *name != visit.caller.username)
            .take(MAX_CHOICES)
            .collect(),
        once: Uuid::now_v7().to_string(),
        faults: Faults::default(),
        key: project.key,
        wanted,
    })
}

/// The form; an address can fill it in.
pub(crate) async fn form(visit: Visit, Path(key): Path<String>, Params(wanted): Params<Asked>) -> Answer {
    html(&page(&visit, &key, wanted).await?)
}

/// Asks.
pub(crate) async fn create(visit: Visit, Path(key): Path<String>, Form(asked): Form<Asked>) -> Answer {
    let project = visit.project(&key).await?;
    visit.ask(Operation::RequestReview, &project)?;
    let input = NewReview {
        title: asked.title.clone(),
        description: asked.description.clone(),
        items: words(&asked.items),
        baseline: Some(asked.baseline.clone()).filter(|name| !name.is_empty()),
        reviewers: words(&asked.reviewers),
        project: Some(project.key.clone()),
    };
    //= specs/spexus-web.md#documents
    //# A form that was sent twice MUST make one thing.
    if let Some(once) = asked.once
        && !consent::claim(visit.service(), &visit.caller, &format!("form {once}")).await?
    {
        return Ok(see(&format!("/p/{}/reviews", project.key)));
    }
    match review::create(visit.service(), &visit.caller, input).await {
        Ok(made) => Ok(see(&address(&made))),
        Err(refusal) if refusal.faults.is_empty() => Err(refusal.into()),
        Err(refusal) => {
            let again = AskPage {
                faults: Faults::of(&refusal),
                ..page(&visit, &key, asked).await?
            };
            faulty(&again, &refusal)
        }
    }
}

/// What stands between commas, spaces and line breaks.
pub(super) fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| c == ',' || c.is_whitespace());
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
