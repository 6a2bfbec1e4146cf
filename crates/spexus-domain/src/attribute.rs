//! Attributes: fields a project adds to its items. Its schema is a short list of rules rather than a JSON Schema,
//! because a list can be shown as a form and read by a person.

use crate::{Kind, Ruled, limits, text::Faults};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The attributes of one item.
pub type Attributes = Map<String, Value>;

/// What one attribute may hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AttributeRule {
    /// Its name.
    pub name: String,
    /// What kind of value it holds.
    #[serde(rename = "type")]
    pub value_type: AttributeType,
    /// The values allowed, for `choice`.
    #[serde(default)]
    pub options: Vec<String>,
    /// The kinds of items that have it; empty means all.
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// Whether items must have it.
    #[serde(default)]
    pub required: bool,
}

/// The kind of value an attribute holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttributeType {
    /// Any text.
    Text,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// One of the options.
    Choice,
}

/// Refuses a schema that contradicts itself.
pub fn check_rules(rules: &[AttributeRule]) -> Ruled<()> {
    let mut faults = Faults::default();
    if rules.len() > limits::MAX_ATTRIBUTES {
        faults.add(
            "attributes",
            format!("has {} rules", rules.len()),
            format!("at most {}", limits::MAX_ATTRIBUTES),
        );
    }
    for (at, rule) in rules.iter().enumerate() {
        faults.take(crate::text::name(&format!("attributes[{at}].name"), &rule.name));
        if rules[..at].iter().any(|earlier| earlier.name == rule.name) {
            faults.add(
                format!("attributes[{at}].name"),
                format!("{:?} stands twice", rule.name),
                "each name once",
            );
        }
        if (rule.value_type == AttributeType::Choice) == rule.options.is_empty() {
            faults.add(
                format!("attributes[{at}].options"),
                "do not fit the type",
                "options for `choice`, none otherwise",
            );
        }
    }
    faults.refuse()
}

/// Refuses attributes that do not fit the project's rules; with no rules at all, any flat values are welcome.
pub fn check(rules: &[AttributeRule], kind: Kind, attributes: &Attributes) -> Ruled<()> {
    let mut faults = Faults::default();
    if attributes.len() > limits::MAX_ATTRIBUTES {
        faults.add(
            "attributes",
            format!("has {} entries", attributes.len()),
            format!("at most {}", limits::MAX_ATTRIBUTES),
        );
    }
    for (name, value) in attributes {
        check_value(rules, kind, name, value, &mut faults);
    }
    for rule in rules
        .iter()
        .filter(|rule| rule.required && applies(rule, kind) && !attributes.contains_key(&rule.name))
    {
        faults.add(
            format!("attributes.{}", rule.name),
            "is missing",
            "a value; the project requires it",
        );
    }
    faults.refuse()
}

fn check_value(rules: &[AttributeRule], kind: Kind, name: &str, value: &Value, faults: &mut Faults) {
    let field = format!("attributes.{}", crate::text::excerpt(name, 60));
    faults.take(crate::text::name(&field, name));
    if let Value::String(text) = value {
        let chars = text.chars().count();
        if chars > limits::MAX_ATTRIBUTE_CHARS || text.contains('\0') {
            faults.add(
                &field,
                format!("has {chars} characters or a NUL"),
                format!("at most {}", limits::MAX_ATTRIBUTE_CHARS),
            );
        }
    }
    if rules.is_empty() {
        if value.is_array() || value.is_object() || value.is_null() {
            faults.add(&field, "is not a plain value", "text, a number, true or false");
        }
        return;
    }
    let Some(rule) = rules.iter().find(|rule| rule.name == name && applies(rule, kind)) else {
        let known: Vec<&str> = rules
            .iter()
            .filter(|rule| applies(rule, kind))
            .map(|rule| rule.name.as_str())
            .collect();
        let allowed = match known[..] {
            [] => "no attributes: this project has none for this kind".to_owned(),
            _ => format!("one of: {}", known.join(", ")),
        };
        return faults.add(&field, "is not known in this project", allowed);
    };
    let (fits, allowed) = match rule.value_type {
        AttributeType::Text => (value.is_string(), "text".to_owned()),
        AttributeType::Number => (value.is_number(), "a number".to_owned()),
        AttributeType::Boolean => (value.is_boolean(), "true or false".to_owned()),
        AttributeType::Choice => {
            let known = value
                .as_str()
                .is_some_and(|text| rule.options.iter().any(|option| option == text));
            (known, format!("one of: {}", rule.options.join(", ")))
        }
    };
    if !fits {
        faults.add(
            &field,
            format!("{} does not fit", crate::text::excerpt(&value.to_string(), 60)),
            allowed,
        );
    }
}

fn applies(rule: &AttributeRule, kind: Kind) -> bool {
    rule.kinds.is_empty() || rule.kinds.contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rules() -> Vec<AttributeRule> {
        serde_json::from_value(json!([
            {"name": "team", "type": "choice", "options": ["red", "blue"], "required": true},
            {"name": "points", "type": "number", "kinds": ["user_story"]},
        ]))
        .unwrap()
    }

    fn faults(kind: Kind, attributes: Value) -> Vec<String> {
        match check(&rules(), kind, attributes.as_object().unwrap()) {
            Ok(()) => vec![],
            Err(refusal) => refusal.faults.into_iter().map(|fault| fault.field).collect(),
        }
    }

    #[test]
    fn values_must_fit_the_projects_rules() {
        assert!(faults(Kind::UserStory, json!({"team": "red", "points": 3})).is_empty());
        assert_eq!(
            faults(Kind::UserStory, json!({"team": "green", "points": "3"})),
            ["attributes.points", "attributes.team"]
        );
        assert_eq!(
            faults(Kind::Epic, json!({"points": 3})),
            ["attributes.points", "attributes.team"]
        );
    }

    #[test]
    fn without_rules_any_plain_value_goes() {
        assert!(check(&[], Kind::Epic, json!({"x": 1, "y": "z"}).as_object().unwrap()).is_ok());
        assert!(check(&[], Kind::Epic, json!({"x": {"deep": 1}}).as_object().unwrap()).is_err());
    }

    #[test]
    fn a_schema_that_contradicts_itself_is_refused() {
        let twice = vec![rules()[0].clone(), rules()[0].clone()];
        assert!(check_rules(&twice).is_err());
        assert!(check_rules(&rules()).is_ok());
    }
}
