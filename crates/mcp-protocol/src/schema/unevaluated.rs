//! Which members and items a schema has already spoken about, for `unevaluatedProperties` and `unevaluatedItems`.
//!
//! What a branch says counts only if the value fits that branch.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::evaluate::Evaluation;
use super::node::{Keyword, NodeId};

impl Evaluation<'_> {
    /// The members that other keywords of a node have looked at.
    pub(super) fn evaluated_members<'v>(
        &self,
        node: NodeId,
        members: &'v Map<String, Value>,
        value: &Value,
        depth: usize,
    ) -> HashSet<&'v str> {
        let mut known = HashSet::new();
        for keyword in &self.nodes[node].keywords {
            match keyword {
                Keyword::Members(rules) => {
                    let spoken = |name: &&String| {
                        rules.rest.is_some()
                            || rules.named.contains_key(*name)
                            || rules.patterns.iter().any(|(pattern, _)| pattern.matches(name))
                    };
                    known.extend(members.keys().filter(spoken).map(String::as_str));
                }
                _ => {
                    for branch in self.branches(keyword, value, depth) {
                        let all = |keyword: &Keyword| matches!(keyword, Keyword::UnevaluatedMembers(_));
                        if self.nodes[branch].keywords.iter().any(all) {
                            known.extend(members.keys().map(String::as_str));
                        }
                        known.extend(self.evaluated_members(branch, members, value, depth + 1));
                    }
                }
            }
        }
        known
    }

    /// For each item, whether other keywords of a node have looked at it.
    pub(super) fn evaluated_items(
        &self,
        node: NodeId,
        items: &[Value],
        value: &Value,
        depth: usize,
    ) -> Vec<bool> {
        let mut known = vec![false; items.len()];
        for keyword in &self.nodes[node].keywords {
            match keyword {
                Keyword::Items { rest: Some(_), .. } => known.fill(true),
                Keyword::Items { prefix, rest: None } => {
                    known
                        .iter_mut()
                        .take(prefix.len())
                        .for_each(|known| *known = true);
                }
                Keyword::Contains { item, .. } => {
                    for (known, value) in known.iter_mut().zip(items) {
                        *known |= self.holds(*item, value, depth);
                    }
                }
                _ => {
                    for branch in self.branches(keyword, value, depth) {
                        let all = |keyword: &Keyword| matches!(keyword, Keyword::UnevaluatedItems(_));
                        if self.nodes[branch].keywords.iter().any(all) {
                            known.fill(true);
                        }
                        let inner = self.evaluated_items(branch, items, value, depth + 1);
                        known
                            .iter_mut()
                            .zip(inner)
                            .for_each(|(known, inner)| *known |= inner);
                    }
                }
            }
        }
        known
    }

    /// The nodes that count for the same value beside the one a keyword stands in.
    fn branches(&self, keyword: &Keyword, value: &Value, depth: usize) -> Vec<NodeId> {
        let fitting = |node: &NodeId| self.holds(*node, value, depth);
        match keyword {
            Keyword::All(nodes) | Keyword::Any(nodes) | Keyword::One(nodes) => {
                nodes.iter().copied().filter(fitting).collect()
            }
            Keyword::If { condition, .. } => {
                let chosen = self.chosen(keyword, value, depth).into_iter().chain([*condition]);
                chosen.filter(fitting).collect()
            }
            Keyword::DependentSchemas(_) => self.chosen(keyword, value, depth),
            _ => Vec::new(),
        }
    }
}
