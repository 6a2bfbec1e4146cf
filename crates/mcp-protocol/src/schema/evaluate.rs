//! Values against nodes: does it fit, and if not, where and why.

use std::cell::Cell;
use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use super::node::{Bound, Keyword, Members, Node, NodeId, Size, Type};
use super::{MAX_FAULTS, number};

/// Schemas and values within each other that are followed.
const MAX_DEPTH: usize = 512;
/// Schemas that are looked at in all: choices within choices multiply.
const MAX_VISITS: u32 = 4_000_000;

/// One thing that is wrong with a value.
#[derive(Debug)]
pub(super) struct Violation {
    /// Where, as people write it: `operations[3].title`; empty for the value itself.
    pub(super) field: String,
    pub(super) why: Why,
    /// The node that says so.
    pub(super) node: NodeId,
}

#[derive(Debug)]
pub(super) enum Why {
    /// The field is missing.
    Missing,
    /// The field is none that is known there.
    Unknown,
    /// A keyword is not met; in words.
    Breaks(&'static str, String),
}

/// Whether a value fits.
pub(super) fn fits(nodes: &[Node], value: &Value) -> bool {
    let evaluation = Evaluation::new(nodes);
    evaluation.holds(0, value, 0) && !evaluation.exhausted.get()
}

/// What is wrong with a value, nothing when it fits.
pub(super) fn violations(nodes: &[Node], value: &Value) -> Vec<Violation> {
    let mut found = Some(Vec::new());
    let evaluation = Evaluation::new(nodes);
    evaluation.visit(0, value, &At::ROOT, 0, &mut found);
    if evaluation.exhausted.get() {
        let problem = || "is too much to be checked".to_owned();
        At::ROOT.breaks(0, "", problem, &mut found);
    }
    found.unwrap_or_default()
}

pub(super) struct Evaluation<'n> {
    pub(super) nodes: &'n [Node],
    visits: Cell<u32>,
    /// Whether a limit was met. Then nothing is known, whatever a `not` made of it.
    exhausted: Cell<bool>,
}

/// A place in the value, as a list from the inside out.
pub(super) struct At<'a> {
    outer: Option<&'a At<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Member(&'a str),
    Item(usize),
}

/// Where violations go; nowhere when only the verdict counts, which then ends at the first.
type Found = Option<Vec<Violation>>;

impl<'n> Evaluation<'n> {
    fn new(nodes: &'n [Node]) -> Self {
        Self {
            nodes,
            visits: Cell::new(0),
            exhausted: Cell::new(false),
        }
    }

    /// Whether a value fits a node.
    pub(super) fn holds(&self, node: NodeId, value: &Value, depth: usize) -> bool {
        self.visit(node, value, &At::ROOT, depth + 1, &mut None)
    }

    fn visit(&self, id: NodeId, value: &Value, at: &At<'_>, depth: usize, found: &mut Found) -> bool {
        self.visits.set(self.visits.get() + 1);
        if depth > MAX_DEPTH || self.visits.get() > MAX_VISITS {
            self.exhausted.set(true);
            return false;
        }
        let mut good = true;
        for keyword in &self.nodes[id].keywords {
            if !self.keyword(id, keyword, value, at, depth, found) {
                good = false;
                if found.is_none() {
                    break;
                }
            }
        }
        good
    }

    fn keyword(
        &self,
        id: NodeId,
        keyword: &Keyword,
        value: &Value,
        at: &At<'_>,
        depth: usize,
        found: &mut Found,
    ) -> bool {
        match (keyword, value) {
            (Keyword::All(nodes), _) => every(nodes, found, |node, found| {
                self.visit(*node, value, at, depth + 1, found)
            }),
            (Keyword::If { .. } | Keyword::DependentSchemas(_), _) => {
                every(&self.chosen(keyword, value, depth), found, |node, found| {
                    self.visit(*node, value, at, depth + 1, found)
                })
            }
            (Keyword::Required(names), Value::Object(members)) => every(names, found, |name, found| {
                members.contains_key(name) || at.member(name).lacks(id, found)
            }),
            (Keyword::DependentRequired(lists), Value::Object(members)) => {
                let asking = lists.iter().filter(|(name, _)| members.contains_key(*name));
                every(asking.flat_map(|(_, names)| names), found, |name, found| {
                    members.contains_key(name) || at.member(name).lacks(id, found)
                })
            }
            (Keyword::Members(rules), Value::Object(members)) => {
                self.members(id, rules, members, at, depth, found)
            }
            (Keyword::PropertyNames(node), Value::Object(members)) => {
                every(members, found, |(name, _), found| {
                    let name_fits = self.holds(*node, &Value::String(name.clone()), depth);
                    let problem = || "has a name that is not allowed".to_owned();
                    name_fits || at.member(name).breaks(id, keyword.name(), problem, found)
                })
            }
            (Keyword::UnevaluatedMembers(node), Value::Object(members)) => {
                let known = self.evaluated_members(id, members, value, depth);
                let rest = members.iter().filter(|(name, _)| !known.contains(name.as_str()));
                every(rest, found, |(name, member), found| {
                    self.member(id, *node, &at.member(name), member, depth, found)
                })
            }
            (Keyword::Items { prefix, rest }, Value::Array(items)) => {
                let nodes = prefix.iter().copied().map(Some).chain(std::iter::repeat(*rest));
                every(
                    items.iter().enumerate().zip(nodes),
                    found,
                    |((index, item), node), found| {
                        node.is_none_or(|node| self.visit(node, item, &at.item(index), depth + 1, found))
                    },
                )
            }
            (Keyword::UnevaluatedItems(node), Value::Array(items)) => {
                let known = self.evaluated_items(id, items, value, depth);
                let rest = items.iter().enumerate().filter(|(index, _)| !known[*index]);
                every(rest, found, |(index, item), found| {
                    self.visit(*node, item, &at.item(index), depth + 1, found)
                })
            }
            _ => {
                self.met(keyword, value, depth)
                    || at.breaks(id, keyword.name(), || problem(keyword, value), found)
            }
        }
    }

    /// Whether a keyword is met that says nothing about parts of the value.
    fn met(&self, keyword: &Keyword, value: &Value, depth: usize) -> bool {
        match (keyword, value) {
            (Keyword::Never, _) => false,
            (Keyword::Type(types), _) => types.iter().any(|kind| is_of(*kind, value)),
            (Keyword::Enum(values), _) => values.iter().any(|known| number::are_equal(known, value)),
            (Keyword::Const(known), _) => number::are_equal(known, value),
            (Keyword::Bound(bound, limit), Value::Number(number)) => is_within(number, *bound, limit),
            (Keyword::MultipleOf(of), Value::Number(number)) => number::is_multiple(number, of),
            (Keyword::Size(size, limit), _) => {
                measured(*size, value).is_none_or(|count| has_size(count, *size, *limit))
            }
            (Keyword::Pattern(pattern), Value::String(text)) => pattern.matches(text),
            (Keyword::UniqueItems, Value::Array(items)) => are_unique(items),
            (Keyword::Any(nodes), _) => nodes.iter().any(|node| self.holds(*node, value, depth)),
            (Keyword::One(nodes), _) => {
                let mut fitting = nodes.iter().filter(|node| self.holds(**node, value, depth));
                fitting.next().is_some() && fitting.next().is_none()
            }
            (Keyword::Not(node), _) => !self.holds(*node, value, depth),
            (Keyword::Contains { item, least, most }, Value::Array(items)) => {
                let fitting = items.iter().filter(|value| self.holds(*item, value, depth));
                let count = fitting.count() as u64;
                count >= *least && most.is_none_or(|most| count <= most)
            }
            _ => true,
        }
    }

    /// The nodes a condition makes count for a value.
    pub(super) fn chosen(&self, keyword: &Keyword, value: &Value, depth: usize) -> Vec<NodeId> {
        match keyword {
            Keyword::If {
                condition,
                then,
                otherwise,
            } => {
                let holds = self.holds(*condition, value, depth);
                let chosen = if holds { then } else { otherwise };
                chosen.iter().copied().collect()
            }
            Keyword::DependentSchemas(nodes) => {
                let present = |name: &String| value.get(name).is_some();
                let chosen = nodes.iter().filter(|(name, _)| present(name));
                chosen.map(|(_, node)| *node).collect()
            }
            _ => Vec::new(),
        }
    }

    fn members(
        &self,
        id: NodeId,
        rules: &Members,
        members: &Map<String, Value>,
        at: &At<'_>,
        depth: usize,
        found: &mut Found,
    ) -> bool {
        every(members, found, |(name, member), found| {
            let at = at.member(name);
            let matching = rules.patterns.iter().filter(|(pattern, _)| pattern.matches(name));
            let nodes = rules
                .named
                .get(name)
                .into_iter()
                .chain(matching.map(|(_, node)| node));
            let mut spoken_of = false;
            let good = every(nodes, found, |node, found| {
                spoken_of = true;
                self.visit(*node, member, &at, depth + 1, found)
            });
            match rules.rest {
                Some(rest) if !spoken_of => self.member(id, rest, &at, member, depth, found),
                _ => good,
            }
        })
    }

    /// A member that is not named: where no such may be, that is what is wrong with it.
    fn member(
        &self,
        id: NodeId,
        node: NodeId,
        at: &At<'_>,
        member: &Value,
        depth: usize,
        found: &mut Found,
    ) -> bool {
        match self.nodes[node].keywords[..] {
            [Keyword::Never] => at.add(id, Why::Unknown, found),
            _ => self.visit(node, member, at, depth + 1, found),
        }
    }
}

/// Whether all hold; all are looked at when violations are collected.
fn every<T>(
    all: impl IntoIterator<Item = T>,
    found: &mut Found,
    mut holds: impl FnMut(T, &mut Found) -> bool,
) -> bool {
    let mut good = true;
    for one in all {
        if !holds(one, found) {
            good = false;
            if found.is_none() {
                break;
            }
        }
    }
    good
}

impl<'a> At<'a> {
    const ROOT: At<'static> = At {
        outer: None,
        step: Step::Root,
    };

    fn member(&'a self, name: &'a str) -> At<'a> {
        At {
            outer: Some(self),
            step: Step::Member(name),
        }
    }

    fn item(&'a self, index: usize) -> At<'a> {
        At {
            outer: Some(self),
            step: Step::Item(index),
        }
    }

    fn lacks(&self, node: NodeId, found: &mut Found) -> bool {
        self.add(node, Why::Missing, found)
    }

    fn breaks(
        &self,
        node: NodeId,
        keyword: &'static str,
        problem: impl FnOnce() -> String,
        found: &mut Found,
    ) -> bool {
        if has_room(found) {
            self.add(node, Why::Breaks(keyword, problem()), found);
        }
        false
    }

    /// Always false: the value does not fit.
    fn add(&self, node: NodeId, why: Why, found: &mut Found) -> bool {
        if has_room(found)
            && let Some(found) = found
        {
            let mut field = String::new();
            self.write(&mut field);
            found.push(Violation { field, why, node });
        }
        false
    }

    fn write(&self, field: &mut String) {
        if let Some(outer) = self.outer {
            outer.write(field);
        }
        match self.step {
            Step::Root => {}
            Step::Item(index) => field.push_str(&format!("[{index}]")),
            Step::Member(name) if field.is_empty() => field.push_str(name),
            Step::Member(name) => {
                field.push('.');
                field.push_str(name);
            }
        }
    }
}

/// Whether another violation would be read; beyond that many, only the verdict counts.
fn has_room(found: &Found) -> bool {
    found.as_ref().is_some_and(|found| found.len() < MAX_FAULTS)
}

fn is_of(kind: Type, value: &Value) -> bool {
    match (kind, value) {
        (Type::Null, Value::Null)
        | (Type::Boolean, Value::Bool(_))
        | (Type::Number, Value::Number(_))
        | (Type::String, Value::String(_))
        | (Type::Array, Value::Array(_))
        | (Type::Object, Value::Object(_)) => true,
        (Type::Integer, Value::Number(number)) => number::is_integer(number),
        _ => false,
    }
}

fn is_within(number: &Number, bound: Bound, limit: &Number) -> bool {
    let order = number::compare(number, limit);
    match bound {
        Bound::Minimum => order.is_ge(),
        Bound::Maximum => order.is_le(),
        Bound::ExclusiveMinimum => order.is_gt(),
        Bound::ExclusiveMaximum => order.is_lt(),
    }
}

/// The size a keyword speaks of; `None` for a value it says nothing about.
fn measured(size: Size, value: &Value) -> Option<u64> {
    let count = match (size, value) {
        (Size::MinLength | Size::MaxLength, Value::String(text)) => text.chars().count(),
        (Size::MinItems | Size::MaxItems, Value::Array(items)) => items.len(),
        (Size::MinProperties | Size::MaxProperties, Value::Object(members)) => members.len(),
        _ => return None,
    };
    Some(count as u64)
}

fn has_size(count: u64, size: Size, limit: u64) -> bool {
    match size {
        Size::MinLength | Size::MinItems | Size::MinProperties => count >= limit,
        Size::MaxLength | Size::MaxItems | Size::MaxProperties => count <= limit,
    }
}

fn are_unique(items: &[Value]) -> bool {
    let mut seen = HashSet::with_capacity(items.len());
    items.iter().all(|item| {
        let mut text = String::new();
        number::canonical(item, &mut text);
        seen.insert(text)
    })
}

/// What is wrong, in words.
fn problem(keyword: &Keyword, value: &Value) -> String {
    match keyword {
        Keyword::Never => "is not allowed here".to_owned(),
        Keyword::Type(types) => {
            let names: Vec<String> = types.iter().map(|kind| format!("{:?}", kind.name())).collect();
            format!("{value} is not of type {}", names.join(" or "))
        }
        Keyword::Enum(_) => format!("{value} is none of the allowed values"),
        Keyword::Const(known) => format!("{value} is not {known}"),
        Keyword::Bound(Bound::Minimum, limit) => format!("{value} is less than {limit}"),
        Keyword::Bound(Bound::Maximum, limit) => format!("{value} is more than {limit}"),
        Keyword::Bound(Bound::ExclusiveMinimum, limit) => format!("{value} is not more than {limit}"),
        Keyword::Bound(Bound::ExclusiveMaximum, limit) => format!("{value} is not less than {limit}"),
        Keyword::MultipleOf(of) => format!("{value} is not a multiple of {of}"),
        Keyword::Size(size, limit) => {
            let count = measured(*size, value).unwrap_or_default();
            let (what, side) = match size {
                Size::MinLength => ("characters", "at least"),
                Size::MaxLength => ("characters", "at most"),
                Size::MinItems => ("items", "at least"),
                Size::MaxItems => ("items", "at most"),
                Size::MinProperties => ("members", "at least"),
                Size::MaxProperties => ("members", "at most"),
            };
            format!("has {count} {what}, {limit} {side}")
        }
        Keyword::Pattern(pattern) => format!("{value} does not match {:?}", pattern.source()),
        Keyword::UniqueItems => "has the same item twice".to_owned(),
        Keyword::Any(_) => format!("{value} fits none of the alternatives"),
        Keyword::One(_) => format!("{value} does not fit exactly one of the alternatives"),
        Keyword::Not(_) => format!("{value} is what it must not be"),
        Keyword::Contains { .. } => "has too few or too many items of the kind that is wanted".to_owned(),
        _ => "does not fit".to_owned(),
    }
}
