//! Reports over a project or a part of it: how far the work has come, and where the tree has gaps.

use crate::context::{Context, reading};
use crate::{Service, told};
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::report::{self, Analysis, Counts, Gap};
use spexus_domain::{Kind, Ruled, Uuid};
use spexus_store::{Conn, Result, links, report as store, tree};
use std::collections::{BTreeMap, BTreeSet};
use utoipa::ToSchema;

/// How far the work has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StatusReport {
    /// How many items there are.
    pub total_count: i64,
    /// The counts of each kind, by name.
    #[schema(value_type = Object)]
    pub kinds: BTreeMap<&'static str, Counts>,
}

//= specs/spexus-service.md#reports
//# A report of status and of gaps MUST be the same to agents, by REST and on the command line.
/// Counts items by kind, status, type and assignee; of the project, or of one item and what is below it.
pub async fn status(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    under: Option<&str>,
) -> Ruled<StatusReport> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let (project_id, under) = scope(service, &mut conn, caller, project, under)
        .await
        .map_err(told)?;
    let tallies = store::tallies(&mut conn, project_id, under).await.map_err(told)?;
    Ok(StatusReport {
        total_count: tallies.iter().map(|tally| tally.count).sum(),
        kinds: report::counts(&tallies),
    })
}

/// Finds gaps and contradictions; in the project, or in one item and what is below it.
pub async fn analysis(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    under: Option<&str>,
) -> Ruled<Analysis> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let (project_id, under) = scope(service, &mut conn, caller, project, under)
        .await
        .map_err(told)?;
    let mut links = links::of_project(&mut conn, project_id).await.map_err(told)?;
    if let Some(root) = under {
        let below = tree::below(&mut conn, root, u32::MAX, u32::MAX)
            .await
            .map_err(told)?;
        let inside: BTreeSet<_> = below.iter().map(|node| node.item.id).collect();
        links.retain(|link| inside.contains(&link.source.id) || inside.contains(&link.target.id));
    }
    let mut found = Analysis {
        cycles: report::cycles(&links),
        ..Analysis::default()
    };
    let suspect = links.iter().filter(|link| link.suspect);
    found.suspect_links = suspect.map(crate::link::label).collect();
    for (gap, list) in [
        (
            Gap::Childless(Kind::Epic, Kind::UserStory),
            &mut found.epics_without_stories,
        ),
        (
            Gap::Childless(Kind::UserStory, Kind::AcceptanceCriterion),
            &mut found.stories_without_criteria,
        ),
        (
            Gap::Childless(Kind::UserStory, Kind::Requirement),
            &mut found.stories_without_requirements,
        ),
        (Gap::UnservedCriterion, &mut found.criteria_without_requirements),
        (
            Gap::RequirementWithoutCriterion,
            &mut found.requirements_without_criterion,
        ),
        (Gap::UnlinkedRequirement, &mut found.requirements_without_links),
    ] {
        *list = store::gaps(&mut conn, project_id, under, gap)
            .await
            .map_err(told)?;
    }
    Ok(found)
}

/// The project, and the item below which to look when one is named.
async fn scope(
    service: &Service,
    conn: &mut Conn,
    caller: &Caller,
    project: Option<&str>,
    under: Option<&str>,
) -> Result<(Uuid, Option<Uuid>)> {
    let context = Context::of_read(service, conn, caller, project).await?;
    match under {
        None => Ok((context.project.id, None)),
        Some(id) => {
            let root = context.item(conn, "under", id, None).await?;
            Ok((root.project_id, Some(root.id)))
        }
    }
}
