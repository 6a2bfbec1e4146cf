//! JSON Schema 2020-12, compiled once: checks values, says field by field what is wrong, and straightens out values
//! that clients are known to send as text.
//!
//! The validator is our own, in the order `document` (what references mean), `compile` (from text to `node`s) and `evaluate`:
//! the library we had brought thirty packages along, and its English was the answer a model had to read. `format` is an
//! annotation, as the draft has it, and nothing is ever fetched.

mod compile;
mod document;
mod evaluate;
mod node;
mod number;
mod pattern;
#[cfg(test)]
mod tests;
mod unevaluated;

use refusal::{Code, Fault, Refusal};
use serde_json::{Map, Value};

use evaluate::{Violation, Why};
use node::Node;

/// Faults named in one refusal; the reader corrects these first.
const MAX_FAULTS: usize = 20;
/// A schema deeper than this is no description of arguments but an attack on the compiler.
const MAX_SCHEMA_DEPTH: usize = 64;
const MAX_PROBLEM_CHARS: usize = 200;

/// A compiled schema.
#[derive(Debug)]
pub struct Schema {
    source: Value,
    nodes: Vec<Node>,
}

impl Schema {
    /// Compiles a schema. References may only point into the schema itself: nothing is ever fetched.
    pub fn compile(source: Value) -> Result<Schema, Refusal> {
        let refuse = |problem: String| Refusal::new(Code::InvalidJsonSchema, problem);
        if depth(&source) > MAX_SCHEMA_DEPTH {
            return Err(refuse(format!(
                "the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels"
            )));
        }
        if let Some(address) = foreign_reference(&source) {
            return Err(refuse(format!(
                "the schema refers to {address:?}, which is not part of it"
            )));
        }
        let nodes = compile::compile(&source).map_err(refuse)?;
        Ok(Schema { source, nodes })
    }

    /// The schema as it was given.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Checks a value, and corrects it where a client wrote an object, a number or a truth value as text.
    //= specs/mcp-server.md#tools
    //# Arguments MUST be checked against the tool's input schema before the tool runs.
    pub fn admit(&self, value: &mut Value) -> Result<(), Refusal> {
        if evaluate::fits(&self.nodes, value) {
            return Ok(());
        }
        //= specs/mcp-server.md#tools
        //# A value that was sent as text where the schema wants another type MUST be accepted when its text is JSON of that type.
        let mut corrected = value.clone();
        self.straighten(&mut corrected, &self.source);
        match self.check(&corrected) {
            Ok(()) => *value = corrected,
            // What the client sent is what it should read about, unless straightening brought it closer.
            Err(refusal) => return Err(refusal),
        }
        Ok(())
    }

    /// Checks a value as it is.
    pub fn check(&self, value: &Value) -> Result<(), Refusal> {
        if evaluate::fits(&self.nodes, value) {
            return Ok(());
        }
        let found = evaluate::violations(&self.nodes, value);
        let faults = found.into_iter().map(|one| self.fault(one)).collect();
        match Refusal::of_faults(Code::InvalidParams, faults) {
            Some(refusal) => Err(refusal),
            None => Err(Refusal::new(
                Code::InvalidParams,
                "the value does not fit its schema",
            )),
        }
    }

    /// The required members an object does not have.
    pub fn lacking<'a>(&'a self, value: &'a Map<String, Value>) -> impl Iterator<Item = &'a str> {
        let required = self.source.get("required").and_then(Value::as_array);
        required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|name| !value.contains_key(*name))
    }

    /// Whether nothing is wrong with an object but what it does not have; `refusal` is what checking it said.
    pub fn only_lacks(&self, value: &Map<String, Value>, refusal: &Refusal) -> bool {
        !refusal.faults.is_empty()
            && refusal
                .faults
                .iter()
                .all(|fault| self.lacking(value).any(|name| name == fault.field))
    }

    fn fault(&self, violation: Violation) -> Fault {
        let Violation { field, why, node } = violation;
        let pointer = &self.nodes[node].pointer;
        let name = || field.rsplit(['.', ']']).next().unwrap_or_default();
        let (problem, allowed) = match why {
            Why::Missing => ("is missing".to_owned(), self.wanted_at(pointer, name())),
            Why::Unknown => {
                let known = self.known_at(pointer);
                (unknown(name(), &known), list(&known))
            }
            Why::Breaks(keyword, problem) => (shortened(problem), self.allowed_by(pointer, keyword)),
        };
        let field = if field.is_empty() {
            "arguments".to_owned()
        } else {
            field
        };
        Fault {
            field,
            problem,
            allowed,
        }
    }

    /// The keyword that is not met, with its value: `enum ["a","b"]`, `minimum 1`.
    fn allowed_by(&self, pointer: &str, keyword: &str) -> String {
        let value = self
            .source
            .pointer(pointer)
            .and_then(|schema| schema.get(keyword));
        value
            .map(|value| shortened(format!("{keyword} {value}")))
            .unwrap_or_default()
    }

    /// The type of a member that is missing.
    fn wanted_at(&self, pointer: &str, name: &str) -> String {
        let properties = self
            .source
            .pointer(pointer)
            .and_then(|schema| schema.get("properties"));
        let kind = properties.and_then(|known| known.get(name)?.get("type"));
        kind.map(|kind| format!("type {kind}")).unwrap_or_default()
    }

    /// The names that are known where one is not.
    fn known_at(&self, pointer: &str) -> Vec<&str> {
        let known = self
            .source
            .pointer(pointer)
            .and_then(|schema| schema.get("properties"));
        let known = known.and_then(Value::as_object).into_iter();
        known.flat_map(|known| known.keys().map(String::as_str)).collect()
    }

    fn straighten(&self, value: &mut Value, schema: &Value) {
        let schema = self.resolve(schema);
        if let Value::String(text) = value
            && let Some(parsed) = wanted(schema, text)
        {
            *value = parsed;
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    if let Some(inner) = schema.get("properties").and_then(|p| p.get(name)) {
                        self.straighten(member, inner);
                    }
                }
            }
            Value::Array(items) => {
                if let Some(inner) = schema.get("items") {
                    items.iter_mut().for_each(|item| self.straighten(item, inner));
                }
            }
            _ => {}
        }
    }

    /// Follows a reference into the schema; one step is enough for what generators write.
    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let target = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|r| r.strip_prefix('#'));
        target
            .and_then(|pointer| self.source.pointer(pointer))
            .unwrap_or(schema)
    }
}

/// Arguments as an object, also when the whole object came as text.
pub fn arguments(raw: Option<&str>) -> Result<Map<String, Value>, Refusal> {
    let refuse = |problem: &str| Refusal::field(Code::FieldTypeMismatch, "arguments", problem, "an object");
    let Some(raw) = raw else {
        return Ok(Map::new());
    };
    let value: Value = serde_json::from_str(raw).map_err(|e| refuse(&format!("cannot be read: {e}")))?;
    match value {
        Value::Object(arguments) => Ok(arguments),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            _ => Err(refuse("is text that is not an object")),
        },
        _ => Err(refuse("is not an object")),
    }
}

/// What a text stands for, when the schema wants something else than text and the text is that.
fn wanted(schema: &Value, text: &str) -> Option<Value> {
    let kinds: Vec<&str> = match schema.get("type")? {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    if kinds.contains(&"string") {
        return None;
    }
    let parsed: Value = serde_json::from_str(text.trim()).ok()?;
    let fits = |kind: &&str| match *kind {
        "object" => parsed.is_object(),
        "array" => parsed.is_array(),
        "boolean" => parsed.is_boolean(),
        "integer" => parsed.is_i64() || parsed.is_u64(),
        "number" => parsed.is_number(),
        "null" => parsed.is_null(),
        _ => false,
    };
    kinds.iter().any(fits).then_some(parsed)
}

fn foreign_reference(schema: &Value) -> Option<&str> {
    match schema {
        Value::Object(members) => {
            let own = ["$ref", "$dynamicRef"]
                .iter()
                .filter_map(|k| members.get(*k))
                .filter_map(Value::as_str);
            own.filter(|target| !target.starts_with('#'))
                .chain(members.values().filter_map(foreign_reference))
                .next()
        }
        Value::Array(items) => items.iter().find_map(foreign_reference),
        _ => None,
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

//= specs/mcp-server.md#tools
//# An argument that no tool knows MUST be refused with those that are known and the nearest of them.
/// What is said of a name that is not known: the nearest one that is.
fn unknown(name: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|one| (distance(name, one), *one))
        .filter(|(distance, one)| *distance <= 2.min(one.len() / 2) || is_part(name, one))
        .min();
    match near {
        Some((_, near)) => format!("is not known here; did you mean {near:?}?"),
        None => "is not known here".to_owned(),
    }
}

/// Whether one name is the other with something before or behind it: `id` and `item_id`.
fn is_part(name: &str, other: &str) -> bool {
    let behind = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.ends_with('_'))
            || long.strip_prefix(short).is_some_and(|rest| rest.starts_with('_'))
    };
    behind(name, other) || behind(other, name)
}

/// How many letters differ.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, one) in left.chars().take(MAX_NAME_CHARS).enumerate() {
        let mut before = row[0];
        row[0] = at + 1;
        for (to, other) in right.iter().enumerate() {
            let kept = before + usize::from(one != *other);
            before = row[to + 1];
            row[to + 1] = kept.min(before + 1).min(row[to] + 1);
        }
    }
    row[right.len()]
}

/// Longer names are not compared to their end.
const MAX_NAME_CHARS: usize = 64;

/// Names as they are told.
fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        _ => format!("one of: {}", names.join(", ")),
    }
}

fn shortened(text: String) -> String {
    text.chars().take(MAX_PROBLEM_CHARS).collect()
}
