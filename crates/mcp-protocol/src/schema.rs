//! JSON Schema 2020-12, compiled once: checks values, says field by field what is wrong, and straightens out values
//! that clients are known to send as text.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, ValidationError, Validator};
use refusal::{Code, Fault, Refusal};
use serde_json::{Map, Value};

/// Faults named in one refusal; the reader corrects these first.
const MAX_FAULTS: usize = 20;
/// A schema deeper than this is no description of arguments but an attack on the compiler.
const MAX_SCHEMA_DEPTH: usize = 64;
const MAX_PROBLEM_CHARS: usize = 200;

/// A compiled schema.
#[derive(Debug)]
pub struct Schema {
    source: Value,
    validator: Validator,
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
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .build(&source)
            .map_err(|e| refuse(format!("the schema cannot be compiled: {e}")))?;
        Ok(Schema { source, validator })
    }

    /// The schema as it was given.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Checks a value, and corrects it where a client wrote an object, a number or a truth value as text.
    //= specs/mcp-server.md#tools
    //# Arguments MUST be checked against the tool's input schema before the tool runs.
    pub fn admit(&self, value: &mut Value) -> Result<(), Refusal> {
        if self.validator.is_valid(value) {
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
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let faults: Vec<Fault> = self
            .validator
            .iter_errors(value)
            .flat_map(|e| self.faults(&e))
            .take(MAX_FAULTS)
            .collect();
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

    fn faults(&self, error: &ValidationError<'_>) -> Vec<Fault> {
        let at = dotted(error.instance_path().as_str());
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                vec![fault(join(&at, name), "is missing", self.allowed_at(&at, name))]
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => unexpected
                .iter()
                .map(|name| fault(join(&at, name), "is not known here", self.known_at(&at)))
                .collect(),
            _ => {
                let problem: String = error.to_string().chars().take(MAX_PROBLEM_CHARS).collect();
                let field = if at.is_empty() { "arguments".to_owned() } else { at };
                vec![fault(field, problem, self.allowed_by(error))]
            }
        }
    }

    /// The keyword that failed, with its value: `enum ["a","b"]`, `minimum 1`.
    fn allowed_by(&self, error: &ValidationError<'_>) -> String {
        let path = error.schema_path().as_str();
        let keyword = path.rsplit('/').next().unwrap_or_default();
        match self.source.pointer(path) {
            Some(value) => format!("{keyword} {value}")
                .chars()
                .take(MAX_PROBLEM_CHARS)
                .collect(),
            None => String::new(),
        }
    }

    fn allowed_at(&self, at: &str, name: &str) -> String {
        let property = at
            .is_empty()
            .then(|| self.source.pointer(&format!("/properties/{name}/type")))
            .flatten();
        property.map(|kind| format!("type {kind}")).unwrap_or_default()
    }

    /// The names that are known where one is not.
    fn known_at(&self, at: &str) -> String {
        let known = self.source.get("properties").filter(|_| at.is_empty());
        let names: Vec<&str> = known
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|known| known.keys().map(String::as_str))
            .collect();
        match names[..] {
            [] => String::new(),
            _ => format!("one of: {}", names.join(", ")),
        }
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

fn fault(field: String, problem: impl Into<String>, allowed: String) -> Fault {
    Fault {
        field,
        problem: problem.into(),
        allowed,
    }
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}

/// `/operations/3/title` as people write it: `operations[3].title`.
fn dotted(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if part.bytes().all(|b| b.is_ascii_digit()) && !part.is_empty() {
            path.push_str(&format!("[{part}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&part);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        let source = json!({
            "type": "object",
            "properties": {
                "title": { "type": "string", "minLength": 1 },
                "priority": { "type": "integer", "minimum": 1, "maximum": 4 },
                "tags": { "type": "array", "items": { "$ref": "#/$defs/tag" } },
                "deep": { "type": "object", "properties": { "on": { "type": "boolean" } } },
            },
            "required": ["title"],
            "additionalProperties": false,
            "$defs": { "tag": { "type": "object", "properties": { "n": { "type": "number" } } } },
        });
        Schema::compile(source).unwrap()
    }

    #[test]
    fn every_wrong_field_is_named_with_what_is_allowed() {
        let refusal = schema()
            .check(&json!({ "priority": 9, "colour": "red", "tags": [5] }))
            .unwrap_err();
        let fields: Vec<&str> = refusal.faults.iter().map(|f| f.field.as_str()).collect();
        for field in ["title", "priority", "colour", "tags[0]"] {
            assert!(fields.contains(&field), "{field} in {fields:?}");
        }
        let priority = refusal.faults.iter().find(|f| f.field == "priority").unwrap();
        assert_eq!(priority.allowed, "maximum 4");
        assert_eq!(refusal.code, Code::InvalidParams);
    }

    #[test]
    fn text_that_stands_for_something_else_is_straightened() {
        let mut value =
            json!({ "title": "5", "priority": "2", "tags": "[{\"n\":\"1.5\"}]", "deep": { "on": "true" } });
        schema().admit(&mut value).unwrap();
        assert_eq!(
            value,
            json!({ "title": "5", "priority": 2, "tags": [{ "n": 1.5 }], "deep": { "on": true } })
        );
        let mut still_wrong = json!({ "title": "x", "priority": "two" });
        assert_eq!(
            schema().admit(&mut still_wrong).unwrap_err().faults[0].field,
            "priority"
        );
    }

    #[test]
    fn schemas_that_reach_outside_or_make_no_sense_are_refused() {
        for source in [
            json!({ "$ref": "http://example.org/schema" }),
            json!({ "properties": { "a": { "$ref": "other.json" } } }),
            json!({ "type": "nonsense" }),
            json!({ "type": "object", "properties": 5 }),
        ] {
            assert_eq!(Schema::compile(source).unwrap_err().code, Code::InvalidJsonSchema);
        }
        let deep = (0..100).fold(json!({}), |inner, _| json!({ "not": inner }));
        assert_eq!(Schema::compile(deep).unwrap_err().code, Code::InvalidJsonSchema);
    }
}
