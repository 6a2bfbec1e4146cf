//! A project at a glance: how much there is of what, how far it has come, where it has gaps. An empty one says how to begin.

use crate::answer::{Answer, html, see};
use crate::form::Form;
use crate::mark::{icon, kinds_word, status, status_look};
use crate::shell::{Shell, View};
use crate::texts::Texts;
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::report::{Counts, Section};
use spexus_domain::workflow::Workflow;
use spexus_domain::{Kind, Ruled, Uuid};
use spexus_service::report::{self, GapQuery};
use spexus_service::settings;
use spexus_service::transfer::{Progress, demo};
use std::sync::Arc;

/// Items of the example.
const EXAMPLE_ITEMS: u64 = 120;

#[derive(Template)]
#[template(path = "project.html")]
struct ProjectPage {
    shell: Shell,
    project: Project,
    total: i64,
    kinds: Vec<KindRow>,
    gaps: Vec<Gap>,
    can_create: bool,
    can_fill: bool,
    can_manage: bool,
    once: Uuid,
}

struct KindRow {
    kind: Kind,
    name: &'static str,
    total: i64,
    /// Status, how many, and where its part of the bar begins and how wide it is, in hundredths.
    statuses: Vec<StatusPart>,
}

struct StatusPart {
    name: String,
    count: i64,
    begin: i64,
    width: i64,
    /// The class of its colour.
    look: &'static str,
}

struct Gap {
    section: Section,
    words: &'static str,
    count: i64,
    /// Some of the items, to begin with.
    rows: Vec<String>,
}

/// The project.
pub(crate) async fn page(visit: Visit, Path(key): Path<String>) -> Answer {
    let project = visit.project(&key).await?;
    let found = report::status(visit.service(), &visit.caller, Some(&project.key), None).await?;
    let workflows = settings::workflows(visit.service(), &visit.caller).await?.data;
    let t = visit.texts();
    let row = |kind: Kind| {
        let counts = found.kinds.get(kind.name())?;
        let workflow = workflows.iter().find(|workflow| workflow.kind == kind);
        Some(kind_row(t, kind, counts, workflow))
    };
    html(&ProjectPage {
        shell: visit.shell_in(&project, View::Overview, t.overview).await?,
        total: found.total_count,
        kinds: Kind::ALL.into_iter().filter_map(row).collect(),
        gaps: if found.total_count == 0 {
            Vec::new()
        } else {
            gaps(&visit, &project).await?
        },
        can_create: visit.may(Operation::CreateItem, &project),
        can_fill: visit.may(Operation::CreateItem, &project)
            && visit.caller.may(Operation::ManageUsers).is_ok(),
        can_manage: visit.may(Operation::ManageMembers, &project),
        once: Uuid::now_v7(),
        project,
    })
}

fn kind_row(t: &Texts, kind: Kind, counts: &Counts, workflow: Option<&Workflow>) -> KindRow {
    let (mut statuses, mut begin) = (Vec::new(), 0);
    for known in workflow.into_iter().flat_map(|workflow| &workflow.statuses) {
        let count = counts.by_status.get(&known.name).copied().unwrap_or(0);
        if count == 0 {
            continue;
        }
        let width = count * 10_000 / counts.total.max(1);
        statuses.push(StatusPart {
            look: match status_look(&known.name).0 {
                "done" | "active" => "p",
                "progress" => "a",
                "cancelled" | "obsolete" => "s",
                _ => "off",
            },
            name: known.name.clone(),
            count,
            begin,
            width,
        });
        begin += width;
    }
    KindRow {
        kind,
        name: kinds_word(t, kind),
        total: counts.total,
        statuses,
    }
}

async fn gaps(visit: &Visit, project: &Project) -> Ruled<Vec<Gap>> {
    let query = GapQuery {
        project: Some(project.key.clone()),
        limit: Some(5),
        ..GapQuery::default()
    };
    let found = report::gaps(visit.service(), &visit.caller, &query).await?;
    let gap = |(section, rows): (Section, spexus_domain::query::Page<String>)| Gap {
        words: gap_words(visit.texts(), section),
        section,
        count: rows.total().at_least(),
        rows: rows.data,
    };
    Ok(found
        .sections
        .into_iter()
        .map(gap)
        .filter(|gap| gap.count > 0)
        .collect())
}

fn gap_words(t: &Texts, section: Section) -> &'static str {
    match section {
        Section::EpicsWithoutStories => t.epics_without_stories,
        Section::StoriesWithoutCriteria => t.stories_without_criteria,
        Section::StoriesWithoutRequirements => t.stories_without_requirements,
        Section::CriteriaWithoutRequirements => t.criteria_without_requirements,
        Section::RequirementsWithoutCriterion => t.requirements_without_criterion,
        Section::RequirementsWithoutLinks => t.requirements_without_links,
        Section::SuspectLinks => t.suspect_links,
        Section::Cycles => t.cycles,
    }
}

/// Nothing is asked but the wish.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExampleRequest {}

/// Fills an empty project with the example.
pub(crate) async fn fill_example(
    visit: Visit,
    Path(key): Path<String>,
    Form(ExampleRequest {}): Form<ExampleRequest>,
) -> Answer {
    let project = visit.project(&key).await?;
    visit.ask(Operation::CreateItem, &project)?;
    let known = report::status(visit.service(), &visit.caller, Some(&project.key), None).await?;
    // A second press finds what the first one made.
    if known.total_count == 0 {
        let quiet: Progress = Arc::new(|_| {});
        demo::fill(
            visit.service(),
            &visit.caller,
            Some(&project.key),
            EXAMPLE_ITEMS,
            1,
            quiet,
        )
        .await?;
    }
    Ok(see(&format!("/p/{}", project.key)))
}
