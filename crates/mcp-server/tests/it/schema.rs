//! Our validator of JSON Schema beside another one, on schemas and values that chance has made.

use mcp_protocol::Schema;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

fn leaf() -> impl Strategy<Value = Value> {
    select(vec![
        json!(null),
        json!(true),
        json!(false),
        json!(-1),
        json!(0),
        json!(1),
        json!(1.0),
        json!(2.5),
        json!(6),
        json!(""),
        json!("a"),
        json!("ab"),
        json!("яя"),
    ])
}

fn name() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "x-c"])
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn plain() -> impl Strategy<Value = Value> {
    let fixed = select(vec![
        json!(true),
        json!(false),
        json!({}),
        json!({ "type": "integer" }),
        json!({ "type": ["string", "null"] }),
        json!({ "type": "object" }),
        json!({ "type": "array" }),
        json!({ "minimum": 1 }),
        json!({ "maximum": 1, "exclusiveMinimum": -1 }),
        json!({ "multipleOf": 2.5 }),
        json!({ "minLength": 1, "maxLength": 1 }),
        json!({ "pattern": "^a" }),
        json!({ "minItems": 1, "uniqueItems": true }),
        json!({ "maxItems": 1 }),
        json!({ "minProperties": 1, "maxProperties": 1 }),
        json!({ "required": ["a"] }),
        json!({ "dependentRequired": { "a": ["b"] } }),
        json!({ "$ref": "#/$defs/some" }),
    ]);
    let given = prop_oneof![
        leaf().prop_map(|value| json!({ "const": value })),
        prop::collection::vec(value(), 1..3).prop_map(|values| json!({ "enum": values })),
    ];
    prop_oneof![3 => fixed, 1 => given]
}

fn schema() -> impl Strategy<Value = Value> {
    plain().prop_recursive(3, 16, 3, |inner| {
        let one = select(vec![
            "not",
            "items",
            "contains",
            "additionalProperties",
            "propertyNames",
            "unevaluatedItems",
            "unevaluatedProperties",
        ]);
        let several = select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]);
        let named = select(vec!["properties", "patternProperties", "dependentSchemas"]);
        let keyword = prop_oneof![
            (one, inner.clone()).prop_map(|(keyword, inner)| json!({ keyword: inner })),
            (several, prop::collection::vec(inner.clone(), 1..3))
                .prop_map(|(keyword, inner)| json!({ keyword: inner })),
            (named, name(), inner.clone())
                .prop_map(|(keyword, name, inner)| json!({ keyword: { name: inner } })),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| json!({ "if": a, "then": b, "else": c })),
        ];
        prop::collection::vec(keyword, 1..4).prop_map(|keywords| {
            let members = keywords.into_iter().filter_map(|keyword| match keyword {
                Value::Object(members) => Some(members),
                _ => None,
            });
            Value::Object(members.flatten().collect())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_fits_ours_fits_theirs(schema in schema(), some in plain(), values in prop::collection::vec(value(), 1..6)) {
        let mut whole = json!({ "allOf": [schema] });
        whole["$defs"] = json!({ "some": some });
        // A definition that is a reference to itself is refused by us and not looked at here.
        prop_assume!(whole["$defs"]["some"].get("$ref").is_none());
        let theirs = jsonschema::draft202012::new(&whole).unwrap();
        let ours = Schema::compile(whole.clone()).unwrap();
        for value in values {
            prop_assert_eq!(ours.check(&value).is_ok(), theirs.is_valid(&value), "{} {}", whole, value);
        }
    }
}
