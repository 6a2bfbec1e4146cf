//! Reports: how far the work has come, and where a tree has gaps.

use crate::query::Page;
use crate::{Kind, Ruled, nearest};
use serde::{Deserialize, Serialize};
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

/// One sort of gap or contradiction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// Epics that hold no story.
    EpicsWithoutStories,
    /// Stories nobody can tell are done.
    StoriesWithoutCriteria,
    /// Stories that ask for nothing.
    StoriesWithoutRequirements,
    /// Criteria no requirement serves.
    CriteriaWithoutRequirements,
    /// Requirements that serve no criterion.
    RequirementsWithoutCriterion,
    /// Requirements without any link.
    RequirementsWithoutLinks,
    /// Links an end of which changed since they were confirmed.
    SuspectLinks,
    /// Links of one type that lead back to where they began.
    Cycles,
}

impl Section {
    /// All of them.
    pub const ALL: [Section; 8] = [
        Section::EpicsWithoutStories,
        Section::StoriesWithoutCriteria,
        Section::StoriesWithoutRequirements,
        Section::CriteriaWithoutRequirements,
        Section::RequirementsWithoutCriterion,
        Section::RequirementsWithoutLinks,
        Section::SuspectLinks,
        Section::Cycles,
    ];

    /// As it stands in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Section::EpicsWithoutStories => "epics_without_stories",
            Section::StoriesWithoutCriteria => "stories_without_criteria",
            Section::StoriesWithoutRequirements => "stories_without_requirements",
            Section::CriteriaWithoutRequirements => "criteria_without_requirements",
            Section::RequirementsWithoutCriterion => "requirements_without_criterion",
            Section::RequirementsWithoutLinks => "requirements_without_links",
            Section::SuspectLinks => "suspect_links",
            Section::Cycles => "cycles",
        }
    }

    /// Reads a name.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        nearest::find(&Self::ALL, |known| known.name(), text)
            .copied()
            .ok_or_else(|| nearest::miss(field, text, Self::ALL.map(Self::name)))
    }
}

/// Where a tree has gaps and contradictions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct GapReport {
    /// How many findings there are in the sections shown.
    pub total_count: i64,
    /// Each section by name: how many it has, a page of them, and where the page ended.
    #[schema(value_type = BTreeMap<String, Page<String>>)]
    pub sections: BTreeMap<Section, Page<String>>,
}

/// Places of a circle that are named; a longer one tells how many more there are.
pub const MAX_CIRCLE_NAMES: usize = 20;

/// Links that lead back to where they began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circle<N> {
    /// Where it leads, from its beginning; at most [`MAX_CIRCLE_NAMES`].
    pub nodes: Vec<N>,
    /// How many places it has.
    pub length: usize,
}

/// One circle for each place where a walk along links meets its own path, in time linear in the links. Walks are kept
/// on a list, not on the stack: chains may be long.
pub fn circles<N: Copy + Ord>(links: impl IntoIterator<Item = (N, N)>) -> Vec<Circle<N>> {
    let mut graph: BTreeMap<N, Vec<N>> = BTreeMap::new();
    for (source, target) in links {
        graph.entry(source).or_default().push(target);
    }
    let (mut done, mut found) = (BTreeSet::new(), Vec::new());
    for &start in graph.keys() {
        if done.contains(&start) {
            continue;
        }
        let mut path: Vec<(N, usize)> = vec![(start, 0)];
        let mut places = BTreeMap::from([(start, 0)]);
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let following = graph.get(&node).and_then(|targets| targets.get(*next)).copied();
            *next += 1;
            match following {
                None => {
                    done.insert(node);
                    places.remove(&node);
                    path.pop();
                }
                Some(target) => match places.get(&target) {
                    Some(&at) => {
                        let nodes = path[at..].iter().take(MAX_CIRCLE_NAMES);
                        found.push(Circle {
                            nodes: nodes.map(|(node, _)| *node).collect(),
                            length: path.len() - at,
                        });
                    }
                    None if done.contains(&target) => {}
                    None => {
                        places.insert(target, path.len());
                        path.push((target, 0));
                    }
                },
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_told_once_and_chains_are_none() {
        let circle = |nodes: &[u32]| Circle {
            nodes: nodes.to_vec(),
            length: nodes.len(),
        };
        assert_eq!(circles([(1, 2), (2, 3), (3, 1), (4, 1)]), [circle(&[1, 2, 3])]);
        assert_eq!(circles([(1, 2), (1, 3), (2, 3)]), []);
        assert_eq!(circles([(1, 1)]), [circle(&[1])]);
    }

    #[test]
    fn a_long_chain_costs_a_step_a_link_and_a_long_circle_names_its_beginning() {
        let chain = (0..200_000_u32).map(|node| (node, node + 1));
        assert_eq!(circles(chain.clone()), []);
        let closed = circles(chain.chain([(200_000, 0)]));
        assert_eq!((closed.len(), closed[0].length), (1, 200_001));
        assert_eq!(closed[0].nodes.len(), MAX_CIRCLE_NAMES);
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
