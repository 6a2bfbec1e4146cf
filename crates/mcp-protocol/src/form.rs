//! What may be asked of a person: a flat form of texts, numbers, yes or no, and choices. Hosts draw it as it stands, so
//! anything deeper is refused before it is sent.

use refusal::{Code, Refusal};
use serde_json::{Map, Value, json};

use crate::schema::Schema;

/// Fields on one form; more is a questionnaire nobody fills in.
const MAX_FIELDS: usize = 32;
/// The field that holds the answer when a question asks for one value.
const SINGLE: &str = "value";

/// A form whose schema was looked at.
#[derive(Debug)]
pub struct Form {
    schema: Schema,
    /// Whether the question was for one value, which was put on a form for it.
    is_single: bool,
}

impl Form {
    /// Takes a schema of an object with flat members, or of one value.
    pub fn new(schema: &Value) -> Result<Form, Refusal> {
        let is_single =
            schema.get("type").is_some_and(|kind| kind != "object") || schema.get("enum").is_some();
        let schema = match is_single {
            true => json!({ "type": "object", "properties": { SINGLE: schema }, "required": [SINGLE] }),
            false => schema.clone(),
        };
        let Some(Value::Object(fields)) = schema.get("properties") else {
            return Err(unfit("schema", "has no fields"));
        };
        if fields.is_empty() || fields.len() > MAX_FIELDS {
            return Err(unfit("schema", format!("has {} fields", fields.len())));
        }
        for (name, field) in fields {
            if !is_flat(field) {
                return Err(unfit(
                    &format!("schema.properties.{name}"),
                    "is nothing a form can show",
                ));
            }
        }
        let schema = Schema::compile(schema)?;
        Ok(Form { schema, is_single })
    }

    /// As it goes to the client.
    pub fn source(&self) -> &Value {
        self.schema.source()
    }

    /// The answer, when it fits; numbers and truth values may come as text.
    //= specs/mcp-server.md#elicitation
    //# An answer MUST be checked against the form before anyone else sees it.
    pub fn read(&self, content: Option<&Value>) -> Result<Map<String, Value>, Refusal> {
        let mut content = content.cloned().unwrap_or_else(|| json!({}));
        self.schema.admit(&mut content)?;
        match content {
            Value::Object(fields) => Ok(fields),
            _ => Ok(Map::new()),
        }
    }

    /// The one value that was asked for; `None` when it was a form.
    pub fn single<'a>(&self, fields: &'a Map<String, Value>) -> Option<&'a Value> {
        fields.get(SINGLE).filter(|_| self.is_single)
    }
}

/// What every revision of MCP allows on a form: a text, a number, yes or no, one of several, some of several.
pub fn is_flat(field: &Value) -> bool {
    match field.get("type").and_then(Value::as_str) {
        Some("string" | "number" | "integer" | "boolean") => true,
        Some("array") => field.get("items").is_some_and(|items| {
            items.get("enum").is_some() || items.get("anyOf").is_some() || items.get("oneOf").is_some()
        }),
        Some(_) => false,
        None => field.get("enum").is_some() || field.get("oneOf").is_some(),
    }
}

fn unfit(field: &str, problem: impl Into<String>) -> Refusal {
    let allowed = format!(
        "an object of 1 to {MAX_FIELDS} texts, numbers, truth values or choices, or one of these by itself"
    );
    Refusal::field(Code::InvalidJsonSchema, field, problem, allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_gets_a_form_of_its_own() {
        let form = Form::new(&json!({ "type": "integer", "minimum": 1 })).unwrap();
        assert_eq!(form.source()["required"], json!([SINGLE]));
        let fields = form.read(Some(&json!({ "value": "7" }))).unwrap();
        assert_eq!(form.single(&fields), Some(&json!(7)));
        assert_eq!(form.read(None).unwrap_err().faults[0].field, "value");
        let choice = Form::new(&json!({ "enum": ["a", "b"] })).unwrap();
        assert!(choice.read(Some(&json!({ "value": "c" }))).is_err());
    }

    #[test]
    fn what_no_host_can_draw_is_refused_with_its_place() {
        let deep = json!({ "type": "object", "properties": { "a": { "type": "object", "properties": {} } } });
        let list = json!({ "type": "object", "properties": { "a": { "type": "array", "items": { "type": "string" } } } });
        for schema in [deep, list] {
            let refusal = Form::new(&schema).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidJsonSchema);
            assert_eq!(refusal.faults[0].field, "schema.properties.a");
        }
        let many: Map<String, Value> = (0..=MAX_FIELDS)
            .map(|n| (n.to_string(), json!({ "type": "string" })))
            .collect();
        for schema in [
            json!({}),
            json!({ "type": "object" }),
            json!({ "type": "object", "properties": many }),
            json!(5),
        ] {
            assert_eq!(
                Form::new(&schema).unwrap_err().code,
                Code::InvalidJsonSchema,
                "{schema}"
            );
        }
        let flat = json!({ "type": "object", "properties": {
            "a": { "type": "array", "items": { "enum": ["x", "y"] } }, "b": { "type": "boolean" }, "c": { "oneOf": [{ "const": 1 }] },
        } });
        assert!(Form::new(&flat).is_ok());
    }
}
