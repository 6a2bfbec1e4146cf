//! Where requirements stood: at a baseline, so that a gate can ask for what is new; and commit after commit, so that people see
//! whether it gets better.

use super::check::{CheckQuery, CheckReport, check_in};
use crate::Service;
use crate::context::{Context, reading};
use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::baseline::Baseline;
use spexus_domain::permission::Operation;
use spexus_domain::trace::{ReviewKind, Rung};
use spexus_domain::{Kind, Refusal, Ruled, Timestamp, Uuid, nearest};
use spexus_store::trace;
use spexus_store::trace_steps::{self, TraceStep};
use spexus_store::{Conn, Result, baselines, trace_whole};
use std::collections::{BTreeMap, HashMap, HashSet};
use utoipa::ToSchema;

/// Where the requirements of a project stood when a baseline was made.
pub(super) struct Past {
    /// Whether that is known: evidence that came from elsewhere brings its states, and not how they came to be.
    is_known: bool,
    there: HashSet<Uuid>,
    stood: HashMap<Uuid, Rung>,
    waived: HashSet<Uuid>,
}

impl Past {
    pub(super) async fn at(conn: &mut Conn, project_id: Uuid, name: &str) -> Result<Self> {
        let baseline = named(conn, project_id, name).await?;
        let steps = trace_steps::until(conn, project_id, baseline.seq).await?;
        let made_at = baseline.created_at;
        let has_evidence = trace_steps::was_pushed_to(conn, project_id, made_at).await?;
        let times = trace_whole::times(conn, project_id, Kind::Requirement).await?;
        let said = trace::reviews(conn, project_id, None).await?;
        Ok(Self {
            is_known: !steps.is_empty() || !has_evidence,
            there: times
                .into_iter()
                .filter(|(_, (created, _))| *created <= made_at)
                .map(|(id, _)| id)
                .collect(),
            stood: steps.into_iter().flat_map(|step| step.moved).collect(),
            waived: said
                .iter()
                .filter(|row| row.kind == ReviewKind::Waived)
                .map(|row| row.item_id)
                .collect(),
        })
    }

    /// Whether a requirement stood below a rung already then. One that was not there, or of which nobody knows, did not; nor did
    /// one that was ever waived, because only its last waiver is kept, and one that ended has to be told.
    //= specs/spexus-service.md#evidence
    //# Against a baseline a check MUST tell every gap that was none when it was made, and MUST leave out those that were, unless
    //# they were waived since.
    pub(super) fn had_gap(&self, item: Uuid, level: Rung) -> bool {
        let stood = self.stood.get(&item).copied().unwrap_or_default();
        self.is_known && self.there.contains(&item) && !self.waived.contains(&item) && stood < level
    }
}

async fn named(conn: &mut Conn, project_id: Uuid, name: &str) -> Result<Baseline> {
    if let Some(found) = baselines::by_name(conn, project_id, name).await? {
        return Ok(found);
    }
    let known = baselines::of_project(conn, project_id).await?;
    let names = known.iter().map(|baseline| baseline.name.as_str());
    Err(nearest::miss("baseline", name, names).into())
}

/// Where the requirements of a project stood at a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TimelinePoint {
    /// The commit that was traced.
    pub commit: String,
    /// When that was reckoned last.
    pub made_at: Timestamp,
    /// How many stood on which rung.
    #[schema(value_type = Object)]
    pub states: BTreeMap<&'static str, usize>,
}

impl TimelinePoint {
    /// How many stood on a rung or above it.
    pub fn reached(&self, level: Rung) -> usize {
        let reached = Rung::ALL.into_iter().filter(|rung| *rung >= level);
        reached.filter_map(|rung| self.states.get(rung.name())).sum()
    }
}

/// A check, and where the requirements it looked at stood before, commit after commit: at last where the check finds them.
//= specs/spexus-service.md#evidence
//# The last point of a timeline MUST have the numbers of the check.
#[boxed]
pub async fn timeline(
    service: &Service,
    caller: &Caller,
    query: &CheckQuery,
) -> Ruled<(CheckReport, Vec<TimelinePoint>)> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, query.project.as_deref()).await?;
    let project_id = context.project()?.id;
    let found = check_in(service, &mut conn, &context, query).await?;
    let steps = trace_steps::until(&mut conn, project_id, i64::MAX)
        .await
        .map_err(Refusal::from)?;
    let counted: HashSet<Uuid> = found.all.iter().map(|row| row.item_id).collect();
    let mut points = replayed(&steps, &counted);
    if let Some(last) = points.last_mut() {
        last.states.clone_from(&found.states);
    }
    Ok((found, points))
}

/// One point for each time another commit was traced.
fn replayed(steps: &[TraceStep], counted: &HashSet<Uuid>) -> Vec<TimelinePoint> {
    let mut counts: BTreeMap<Rung, usize> = BTreeMap::from([(Rung::None, counted.len())]);
    let mut stood: HashMap<Uuid, Rung> = HashMap::new();
    let mut points: Vec<TimelinePoint> = Vec::new();
    for step in steps {
        for (id, rung) in step.moved.iter().filter(|(id, _)| counted.contains(id)) {
            let before = stood.insert(*id, *rung).unwrap_or_default();
            *counts.entry(before).or_default() -= 1;
            *counts.entry(*rung).or_default() += 1;
        }
        let filled = counts.iter().filter(|(_, count)| **count > 0);
        let point = TimelinePoint {
            commit: step.commit.clone(),
            made_at: step.made_at,
            states: filled.map(|(rung, count)| (rung.name(), *count)).collect(),
        };
        match points.last_mut() {
            Some(last) if last.commit == step.commit => *last = point,
            _ => points.push(point),
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moved_is_counted_and_one_commit_is_one_point() {
        let [a, b, gone] = [1, 2, 3].map(Uuid::from_u128);
        let step = |commit: &str, moved: &[(Uuid, Rung)]| TraceStep {
            seq: 1,
            made_at: Timestamp(7),
            commit: commit.to_owned(),
            moved: moved.to_vec(),
        };
        let steps = [
            step("a", &[(a, Rung::Cited), (gone, Rung::Passed)]),
            step("a", &[(a, Rung::Passed)]),
            step("b", &[(a, Rung::Ran), (b, Rung::Executed)]),
        ];
        let points = replayed(&steps, &HashSet::from([a, b]));
        assert_eq!(points.len(), 2);
        assert_eq!(points[0].states, BTreeMap::from([("none", 1), ("passed", 1)]));
        assert_eq!(points[1].states, BTreeMap::from([("ran", 1), ("executed", 1)]));
        assert_eq!(
            (points[0].reached(Rung::Passed), points[1].reached(Rung::Ran)),
            (1, 2)
        );
    }
}
