//! Baselines: names for positions in the history of a project, and what differs between two of them.

use crate::answer::{Answer, faulty, html, see};
use crate::form::{Faults, Form, Params};
use crate::item::history::{Field, told_field};
use crate::mark::{Markup, icon, kind_word, person};
use crate::shell::{Crumb, Shell, View};
use crate::texts::fill;
use crate::visit::Visit;
use crate::when::when;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::baseline::{Baseline, Difference, ItemDifference, NewBaseline};
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_service::baseline::{self, DiffQuery};

/// Differences of one page.
const SHOWN_ROWS: u32 = 100;

#[derive(Template)]
#[template(path = "baselines.html")]
struct BaselinesPage {
    shell: Shell,
    project: Project,
    baselines: Vec<(Baseline, Markup)>,
    can_make: bool,
    name: String,
    description: String,
    faults: Faults,
}

async fn page(visit: &Visit, key: &str) -> Answer<BaselinesPage> {
    let project = visit.project(key).await?;
    let found = baseline::list(visit.service(), &visit.caller, Some(&project.key)).await?;
    let row = |baseline: Baseline| {
        let made = when(visit.texts(), baseline.created_at, visit.now());
        (baseline, made)
    };
    Ok(BaselinesPage {
        shell: visit
            .shell_in(&project, View::Baselines, visit.texts().baselines)
            .await?,
        baselines: found.data.into_iter().rev().map(row).collect(),
        can_make: visit.may(Operation::CreateBaseline, &project),
        project,
        name: String::new(),
        description: String::new(),
        faults: Faults::default(),
    })
}

/// The list.
pub(crate) async fn list(visit: Visit, Path(key): Path<String>) -> Answer {
    html(&page(&visit, &key).await?)
}

/// What a baseline is called and stands for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
}

/// Names the present.
pub(crate) async fn create(visit: Visit, Path(key): Path<String>, Form(named): Form<Named>) -> Answer {
    let input = NewBaseline {
        name: named.name.clone(),
        description: named.description.clone(),
        project: Some(key.clone()),
    };
    match baseline::create(visit.service(), &visit.caller, input).await {
        Ok(made) => Ok(see(&format!("/p/{}/baselines", made.project))),
        Err(refusal) if refusal.faults.is_empty() => Err(refusal.into()),
        Err(refusal) => {
            let again = BaselinesPage {
                name: named.name,
                description: named.description,
                faults: Faults::of(&refusal),
                ..page(&visit, &key).await?
            };
            faulty(&again, &refusal)
        }
    }
}

#[derive(Template)]
#[template(path = "baseline_compare.html")]
struct ComparePage {
    shell: Shell,
    project: Project,
    baselines: Vec<Baseline>,
    from: String,
    to: String,
    rows: Vec<Row>,
    total: String,
    next: Option<String>,
}

/// What became of one item.
struct Row {
    item: ItemDifference,
    fields: Vec<Field>,
}

/// Which two are compared.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pair {
    from: String,
    to: Option<String>,
    cursor: Option<String>,
}

/// Two positions side by side, item by item.
pub(crate) async fn compare(visit: Visit, Path(key): Path<String>, Params(pair): Params<Pair>) -> Answer {
    let project = visit.project(&key).await?;
    let t = visit.texts();
    let query = DiffQuery {
        project: Some(project.key.clone()),
        from: pair.from.clone(),
        to: pair.to.clone(),
        limit: Some(SHOWN_ROWS),
        cursor: pair.cursor,
        count: None,
    };
    let found = baseline::difference(visit.service(), &visit.caller, &query).await?;
    let known = baseline::list(visit.service(), &visit.caller, Some(&project.key)).await?;
    let crumbs = vec![
        Crumb::to(&project.name, format!("/p/{}", project.key)),
        Crumb::to(t.baselines, format!("/p/{}/baselines", project.key)),
        Crumb::here(pair.from.as_str()),
    ];
    let row = |item: ItemDifference| Row {
        fields: match item.difference {
            Difference::Changed => item.fields.iter().map(|field| told_field(t, field)).collect(),
            Difference::Added | Difference::Removed => Vec::new(),
        },
        item,
    };
    html(&ComparePage {
        shell: visit
            .shell_in(&project, View::Baselines, t.compare)
            .await?
            .crumbs(crumbs),
        project,
        baselines: known.data,
        from: pair.from,
        to: pair.to.unwrap_or_else(|| "now".to_owned()),
        total: found.total().to_string(),
        rows: found.data.into_iter().map(row).collect(),
        next: found.next_cursor,
    })
}

impl Row {
    fn word(&self, t: &crate::texts::Texts) -> &'static str {
        match self.item.difference {
            Difference::Added => t.added,
            Difference::Removed => t.removed,
            Difference::Changed => t.changed_word,
        }
    }
}
