//! Reports: how far the work has come, and where a tree has gaps.

use crate::link::Link;
use crate::{Kind, Reference};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use utoipa::ToSchema;

/// How many items have the same kind, status, type and assignee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Their kind.
    pub kind: Kind,
    /// Their status.
    pub status: Option<String>,
    /// Their requirement type.
    pub requirement_type: Option<String>,
    /// Who works on them.
    pub assignee: Option<String>,
    /// How many.
    pub count: i64,
}

/// The counts of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Counts {
    /// How many there are.
    pub total: i64,
    /// By status.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_status: BTreeMap<String, i64>,
    /// By requirement type.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_type: BTreeMap<String, i64>,
    /// By assignee; `none` for those nobody works on.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_assignee: BTreeMap<String, i64>,
}

/// Adds tallies up, kind by kind.
pub fn counts(tallies: &[Tally]) -> BTreeMap<&'static str, Counts> {
    let mut kinds: BTreeMap<&'static str, Counts> = BTreeMap::new();
    for tally in tallies {
        let rules = tally.kind.rules();
        let counts = kinds.entry(tally.kind.name()).or_default();
        counts.total += tally.count;
        let mut add = |map: fn(&mut Counts) -> &mut BTreeMap<String, i64>, name: &str| {
            *map(counts).entry(name.to_owned()).or_default() += tally.count;
        };
        if let Some(status) = &tally.status {
            add(|counts| &mut counts.by_status, status);
        }
        if let Some(name) = &tally.requirement_type {
            add(|counts| &mut counts.by_type, name);
        }
        if rules.has_assignee {
            add(
                |counts| &mut counts.by_assignee,
                tally.assignee.as_deref().unwrap_or("none"),
            );
        }
    }
    kinds
}

/// What an item can lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// A container without a child of this kind.
    Childless(Kind, Kind),
    /// A criterion no requirement serves.
    UnservedCriterion,
    /// A requirement without any link.
    UnlinkedRequirement,
    /// A requirement that serves no criterion.
    RequirementWithoutCriterion,
}

/// Where a tree has gaps and contradictions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Analysis {
    /// Epics that hold no story.
    pub epics_without_stories: Vec<Reference>,
    /// Stories nobody can tell are done.
    pub stories_without_criteria: Vec<Reference>,
    /// Stories that ask for nothing.
    pub stories_without_requirements: Vec<Reference>,
    /// Criteria no requirement serves.
    pub criteria_without_requirements: Vec<Reference>,
    /// Requirements that serve no criterion.
    pub requirements_without_criterion: Vec<Reference>,
    /// Requirements without any link.
    pub requirements_without_links: Vec<Reference>,
    /// Links an end of which changed since they were confirmed.
    pub suspect_links: Vec<String>,
    /// Links of one type that lead back to where they began.
    pub cycles: Vec<String>,
}

/// Links that lead back to where they began, one sentence for each circle, found by following links of one type.
pub fn cycles(links: &[Link]) -> Vec<String> {
    let mut by_type: BTreeMap<&str, BTreeMap<&Reference, Vec<&Reference>>> = BTreeMap::new();
    for link in links.iter().filter(|link| link.link_type != link.inverse) {
        let from = by_type.entry(&link.link_type).or_default();
        from.entry(&link.source.reference_id)
            .or_default()
            .push(&link.target.reference_id);
    }
    let mut found = Vec::new();
    for (name, graph) in by_type {
        found.extend(circles(&graph).into_iter().map(|circle| {
            let names: Vec<String> = circle.iter().map(ToString::to_string).collect();
            format!("{name}: {}", names.join(" → "))
        }));
    }
    found
}

/// One circle for each place where a walk meets its own path. Walks are kept on a list, not on the stack: chains may be
/// long.
fn circles<'a>(graph: &BTreeMap<&'a Reference, Vec<&'a Reference>>) -> Vec<Vec<&'a Reference>> {
    let (mut done, mut found) = (BTreeSet::new(), Vec::new());
    for &start in graph.keys() {
        let mut path: Vec<(&Reference, usize)> = vec![(start, 0)];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let following = graph.get(node).and_then(|targets| targets.get(*next)).copied();
            *next += 1;
            match following {
                None => {
                    done.insert(node);
                    path.pop();
                }
                Some(target) => match path.iter().position(|(on_path, _)| *on_path == target) {
                    Some(at) => {
                        let mut circle: Vec<&Reference> = path[at..].iter().map(|(node, _)| *node).collect();
                        circle.push(target);
                        found.push(circle);
                    }
                    None if done.contains(target) => {}
                    None => path.push((target, 0)),
                },
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::LinkEnd;
    use crate::{Timestamp, Uuid};

    fn link(name: &str, source: u64, target: u64) -> Link {
        let end = |number| LinkEnd {
            id: Uuid::nil(),
            reference_id: Reference::of_kind(Kind::Requirement, number),
            kind: Kind::Requirement,
            title: String::new(),
        };
        Link {
            id: Uuid::nil(),
            link_type: name.into(),
            inverse: format!("{name}_inverse"),
            source: end(i64::try_from(source).unwrap()),
            target: end(i64::try_from(target).unwrap()),
            suspect: false,
            created_by: "ann".into(),
            created_at: Timestamp(0),
        }
    }

    #[test]
    fn circles_are_told_once_and_chains_are_none() {
        let links = [
            link("blocks", 1, 2),
            link("blocks", 2, 3),
            link("blocks", 3, 1),
            link("refines", 1, 2),
            link("blocks", 4, 1),
        ];
        assert_eq!(cycles(&links), ["blocks: REQ-001 → REQ-002 → REQ-003 → REQ-001"]);
        assert!(cycles(&links[3..]).is_empty());
    }

    #[test]
    fn tallies_add_up_by_kind() {
        let row = |status: &str, assignee: Option<&str>, count| Tally {
            kind: Kind::Epic,
            status: Some(status.into()),
            requirement_type: None,
            assignee: assignee.map(Into::into),
            count,
        };
        let found = counts(&[row("Draft", None, 2), row("Done", Some("ann"), 3)]);
        let epics = &found["epic"];
        assert_eq!(
            (epics.total, epics.by_status["Done"], epics.by_assignee["none"]),
            (5, 3, 2)
        );
    }
}
