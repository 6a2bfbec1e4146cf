//! Small words to write schemas with: flat objects, short descriptions, nothing that is not needed to choose.

use serde_json::{Map, Value, json};

/// An argument: its name, its schema, and whether it must be given.
pub(crate) struct Field(&'static str, Value, bool);

impl Field {
    /// What it is called.
    pub(crate) fn name(&self) -> &'static str {
        self.0
    }

    /// It must be given.
    pub(crate) fn required(self) -> Self {
        Self(self.0, self.1, true)
    }
}

/// A text.
pub(crate) fn text(name: &'static str, description: &str) -> Field {
    Field(name, described(json!({ "type": "string" }), description), false)
}

/// A whole number.
pub(crate) fn number(name: &'static str, description: &str) -> Field {
    Field(name, described(json!({ "type": "integer" }), description), false)
}

/// A yes or no.
pub(crate) fn flag(name: &'static str, description: &str) -> Field {
    Field(name, described(json!({ "type": "boolean" }), description), false)
}

/// One of a few words.
pub(crate) fn choice(name: &'static str, words: &[&str], description: &str) -> Field {
    Field(
        name,
        described(json!({ "type": "string", "enum": words }), description),
        false,
    )
}

/// Anything with a schema of its own.
pub(crate) fn field(name: &'static str, schema: Value) -> Field {
    Field(name, schema, false)
}

/// A flat object of these arguments and no others.
pub(crate) fn object(fields: impl IntoIterator<Item = Field>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for Field(name, schema, needed) in fields {
        properties.insert(name.to_owned(), schema);
        if needed {
            required.push(name);
        }
    }
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// An answer with these members. None is required: a refusal has an `error` in their place, and clients hold refusals
/// against this schema, too.
pub(crate) fn answer(members: &[(&str, &str)]) -> Value {
    let properties: Map<String, Value> = members
        .iter()
        .map(|(name, kind)| match *name {
            // Null where nobody counted to the end.
            "total_count" => ((*name).to_owned(), json!({ "type": [kind, "null"] })),
            _ => ((*name).to_owned(), json!({ "type": kind })),
        })
        .collect();
    json!({ "type": "object", "properties": properties })
}

fn described(mut schema: Value, description: &str) -> Value {
    if !description.is_empty() {
        schema["description"] = json!(description);
    }
    schema
}
