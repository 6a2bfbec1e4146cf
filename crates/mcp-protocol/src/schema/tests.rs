//! Schemas as tools and forms have them.

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

/// A schema, what fits it and what does not.
fn check(schema: Value, good: &[Value], bad: &[Value]) {
    let compiled = Schema::compile(schema.clone()).unwrap();
    for value in good {
        assert!(compiled.check(value).is_ok(), "{value} fits {schema}");
    }
    for value in bad {
        let refusal = compiled.check(value).unwrap_err();
        assert!(!refusal.faults.is_empty(), "{value} does not fit {schema}");
    }
}

#[test]
fn plain_keywords_mean_what_the_draft_says() {
    check(json!(true), &[json!(null)], &[]);
    check(json!(false), &[], &[json!(null)]);
    check(
        json!({ "type": "integer" }),
        &[json!(1), json!(1.0)],
        &[json!(1.5), json!("1")],
    );
    check(
        json!({ "type": ["null", "array"] }),
        &[json!(null), json!([])],
        &[json!({}), json!(0)],
    );
    check(
        json!({ "enum": [1, "a", { "b": [2] }] }),
        &[json!(1.0), json!({ "b": [2.0] })],
        &[json!(true), json!("b")],
    );
    check(json!({ "const": 0 }), &[json!(0.0), json!(-0.0)], &[json!(false)]);
    check(
        json!({ "minimum": 1, "maximum": 2 }),
        &[json!(1), json!(2), json!("x")],
        &[json!(0.9), json!(2.1)],
    );
    check(
        json!({ "exclusiveMinimum": 1, "exclusiveMaximum": 2 }),
        &[json!(1.5)],
        &[json!(1), json!(2)],
    );
    check(
        json!({ "multipleOf": 0.01 }),
        &[json!(19.99), json!(0)],
        &[json!(0.001)],
    );
    check(
        json!({ "minLength": 2, "maxLength": 3 }),
        &[json!("яя"), json!("abc"), json!(1)],
        &[json!("я"), json!("abcd")],
    );
    check(
        json!({ "pattern": "^a.c" }),
        &[json!("abcd"), json!(5)],
        &[json!("xabc")],
    );
    check(
        json!({ "minItems": 1, "maxItems": 2, "uniqueItems": true }),
        &[json!([1, 2]), json!({})],
        &[json!([]), json!([1, 2, 3]), json!([1, 1.0])],
    );
    check(
        json!({ "minProperties": 1, "maxProperties": 1 }),
        &[json!({ "a": 1 }), json!([])],
        &[json!({}), json!({ "a": 1, "b": 2 })],
    );
    check(
        json!({ "dependentRequired": { "card": ["address"] } }),
        &[json!({}), json!({ "card": 1, "address": 2 })],
        &[json!({ "card": 1 })],
    );
    check(json!({ "format": "email" }), &[json!("no address")], &[]);
}

#[test]
fn members_and_items_are_ruled_by_the_first_that_speaks_of_them() {
    let members = json!({
        "properties": { "a": { "type": "integer" } },
        "patternProperties": { "^x-": { "type": "string" } },
        "additionalProperties": { "type": "boolean" },
        "propertyNames": { "maxLength": 4 },
    });
    check(
        members,
        &[json!({ "a": 1, "x-b": "t", "c": true }), json!([])],
        &[
            json!({ "a": "1" }),
            json!({ "x-b": 1 }),
            json!({ "c": 1 }),
            json!({ "longer": true }),
        ],
    );
    let items = json!({ "prefixItems": [{ "type": "string" }], "items": { "type": "integer" } });
    check(
        items,
        &[json!([]), json!(["a", 1, 2])],
        &[json!([1]), json!(["a", "b"])],
    );
    let contains = json!({ "contains": { "const": 1 }, "minContains": 2, "maxContains": 3 });
    check(
        contains,
        &[json!([1, 0, 1]), json!("x")],
        &[json!([1]), json!([1, 1, 1, 1])],
    );
    check(
        json!({ "contains": { "const": 1 } }),
        &[json!([0, 1])],
        &[json!([]), json!([0])],
    );
    check(json!({ "contains": true, "minContains": 0 }), &[json!([])], &[]);
}

#[test]
fn choices_and_conditions_are_followed() {
    let (text, short) = (json!({ "type": "string" }), json!({ "maxLength": 2 }));
    check(
        json!({ "allOf": [text, short] }),
        &[json!("ab")],
        &[json!("abc"), json!(1)],
    );
    check(
        json!({ "anyOf": [{ "type": "null" }, { "minimum": 2 }] }),
        &[json!(null), json!(3), json!("x")],
        &[json!(1)],
    );
    check(
        json!({ "oneOf": [{ "multipleOf": 2 }, { "multipleOf": 3 }] }),
        &[json!(2), json!(9)],
        &[json!(6), json!(5)],
    );
    check(json!({ "not": { "type": "null" } }), &[json!(1)], &[json!(null)]);
    let condition =
        json!({ "if": { "required": ["a"] }, "then": { "required": ["b"] }, "else": { "required": ["c"] } });
    check(
        condition,
        &[json!({ "a": 1, "b": 1 }), json!({ "c": 1 })],
        &[json!({ "a": 1 }), json!({ "b": 1 })],
    );
    check(
        json!({ "dependentSchemas": { "a": { "required": ["b"] } } }),
        &[json!({}), json!({ "a": 1, "b": 1 })],
        &[json!({ "a": 1 })],
    );
}

#[test]
fn references_lead_where_they_point() {
    let tree = json!({
        "$defs": { "node": { "properties": { "next": { "$ref": "#/$defs/node" } }, "required": ["n"] } },
        "$ref": "#/$defs/node",
    });
    check(
        tree,
        &[json!({ "n": 1, "next": { "n": 2 } })],
        &[json!({ "n": 1, "next": {} }), json!({})],
    );
    let escaped = json!({ "$defs": { "a/b c": { "type": "null" } }, "properties": { "x": { "$ref": "#/$defs/a~1b%20c" } } });
    check(escaped, &[json!({ "x": null })], &[json!({ "x": 1 })]);
    let anchored = json!({ "$ref": "#here", "$defs": { "a": { "$anchor": "here", "type": "null" } } });
    check(anchored, &[json!(null)], &[json!(1)]);
    // A resource of its own is where its references begin; a dynamic one begins further out.
    let inner = json!({
        "type": "object",
        "properties": { "x": { "$id": "https://example.org/inner", "$defs": { "t": { "type": "null" } }, "$ref": "#/$defs/t" } },
    });
    check(inner, &[json!({ "x": null })], &[json!({ "x": 1 })]);
    let dynamic = json!({
        "$dynamicAnchor": "node",
        "type": "object",
        "properties": { "x": { "$id": "https://example.org/list", "$dynamicAnchor": "node", "items": { "$dynamicRef": "#node" } } },
    });
    check(dynamic, &[json!({ "x": [{}] })], &[json!({ "x": [1] })]);
}

#[test]
fn what_no_keyword_has_looked_at_is_left_over() {
    let members = json!({
        "properties": { "a": true },
        "anyOf": [{ "properties": { "b": { "const": 1 } } }, { "properties": { "c": true }, "required": ["c"] }],
        "if": { "required": ["d"] },
        "then": { "properties": { "d": true } },
        "unevaluatedProperties": false,
    });
    check(
        members,
        &[
            json!({ "a": 1 }),
            json!({ "b": 1 }),
            json!({ "c": 1, "b": 2 - 1 }),
            json!({ "d": 1 }),
        ],
        &[json!({ "e": 1 }), json!({ "c": 1, "b": 2 })],
    );
    let items = json!({ "prefixItems": [true], "contains": { "type": "string" }, "unevaluatedItems": { "type": "null" } });
    check(
        items,
        &[json!([1, "a"]), json!([1, "a", null, "b"])],
        &[json!([1, "a", 2])],
    );
    let nested = json!({ "allOf": [{ "properties": { "a": true }, "unevaluatedProperties": true }], "unevaluatedProperties": false });
    check(nested, &[json!({ "a": 1, "b": 2 })], &[]);
}

#[test]
fn what_is_wrong_is_said_in_plain_words() {
    let schema = Schema::compile(json!({
        "properties": {
            "operations": { "items": {
                "properties": { "title": { "maxLength": 2 }, "kind": { "enum": ["a", "b"] } },
                "required": ["title"],
                "additionalProperties": false,
            } },
        },
    }))
    .unwrap();
    let refusal = schema
        .check(&json!({ "operations": [{ "title": "abc" }, { "kind": "c", "colour": 1 }] }))
        .unwrap_err();
    let said: Vec<String> = refusal
        .faults
        .iter()
        .map(|fault| format!("{} | {} | {}", fault.field, fault.problem, fault.allowed))
        .collect();
    assert_eq!(
        said,
        [
            "operations[0].title | has 3 characters, 2 at most | maxLength 2",
            "operations[1].title | is missing | ",
            "operations[1].colour | is not known here | one of: kind, title",
            "operations[1].kind | \"c\" is none of the allowed values | enum [\"a\",\"b\"]",
        ]
    );
}

#[test]
fn each_rule_that_is_broken_is_named_in_words_of_its_own() {
    for (schema, value, said) in [
        (json!(false), json!(1), "is not allowed here | "),
        (
            json!({ "type": ["null", "object"] }),
            json!(1),
            "1 is not of type \"null\" or \"object\" | type [\"null\",\"object\"]",
        ),
        (json!({ "const": 2 }), json!(1), "1 is not 2 | const 2"),
        (json!({ "minimum": 2 }), json!(1), "1 is less than 2 | minimum 2"),
        (json!({ "maximum": 2 }), json!(3), "3 is more than 2 | maximum 2"),
        (
            json!({ "exclusiveMinimum": 2 }),
            json!(2),
            "2 is not more than 2 | exclusiveMinimum 2",
        ),
        (
            json!({ "exclusiveMaximum": 2 }),
            json!(2),
            "2 is not less than 2 | exclusiveMaximum 2",
        ),
        (
            json!({ "multipleOf": 2 }),
            json!(3),
            "3 is not a multiple of 2 | multipleOf 2",
        ),
        (
            json!({ "minLength": 2 }),
            json!("a"),
            "has 1 characters, 2 at least | minLength 2",
        ),
        (
            json!({ "minItems": 2 }),
            json!([1]),
            "has 1 items, 2 at least | minItems 2",
        ),
        (
            json!({ "maxItems": 0 }),
            json!([1]),
            "has 1 items, 0 at most | maxItems 0",
        ),
        (
            json!({ "minProperties": 2 }),
            json!({ "a": 1 }),
            "has 1 members, 2 at least | minProperties 2",
        ),
        (
            json!({ "maxProperties": 0 }),
            json!({ "a": 1 }),
            "has 1 members, 0 at most | maxProperties 0",
        ),
        (
            json!({ "pattern": "^b" }),
            json!("a"),
            "\"a\" does not match \"^b\" | pattern \"^b\"",
        ),
        (
            json!({ "uniqueItems": true }),
            json!([1, 1]),
            "has the same item twice | uniqueItems true",
        ),
        (
            json!({ "anyOf": [false] }),
            json!(1),
            "1 fits none of the alternatives | anyOf [false]",
        ),
        (
            json!({ "oneOf": [true, true] }),
            json!(1),
            "1 does not fit exactly one of the alternatives | oneOf [true,true]",
        ),
        (
            json!({ "not": true }),
            json!(1),
            "1 is what it must not be | not true",
        ),
        (
            json!({ "contains": false }),
            json!([1]),
            "has too few or too many items of the kind that is wanted | contains false",
        ),
        (
            json!({ "propertyNames": false }),
            json!({ "a": 1 }),
            "has a name that is not allowed | propertyNames false",
        ),
        (
            json!({ "dependentRequired": { "a": ["b"] } }),
            json!({ "a": 1 }),
            "is missing | ",
        ),
    ] {
        let refusal = Schema::compile(schema).unwrap().check(&value).unwrap_err();
        let [fault] = &refusal.faults[..] else {
            panic!("{refusal:?}")
        };
        assert_eq!(format!("{} | {}", fault.problem, fault.allowed), said);
    }
}

#[test]
fn keywords_of_the_wrong_form_are_refused() {
    for source in [
        json!({ "type": ["string", "nonsense"] }),
        json!({ "minLength": -1 }),
        json!({ "minLength": 1.5 }),
        json!({ "minimum": "1" }),
        json!({ "multipleOf": 0 }),
        json!({ "required": "a" }),
        json!({ "required": [1] }),
        json!({ "dependentRequired": { "a": "b" } }),
        json!({ "dependentRequired": [] }),
        json!({ "enum": "a" }),
        json!({ "pattern": "(" }),
        json!({ "patternProperties": { "(": true } }),
        json!({ "anyOf": [] }),
        json!({ "allOf": {} }),
        json!({ "items": [] }),
        json!({ "not": 5 }),
        json!({ "uniqueItems": 1 }),
        json!({ "description": 5 }),
        json!({ "$defs": { "a": 5 } }),
        json!({ "$ref": "#/$defs/a" }),
        json!({ "$ref": "#nowhere" }),
        json!({ "$ref": "#/%zz" }),
        json!(5),
    ] {
        let refusal = Schema::compile(source.clone())
            .map(|_| source.clone())
            .unwrap_err();
        assert_eq!(refusal.code, Code::InvalidJsonSchema, "{source}");
    }
    assert!(Schema::compile(json!({ "minLength": 2.0 })).is_ok());
}

#[test]
fn a_schema_that_would_never_end_is_refused_and_one_that_multiplies_is_given_up() {
    for source in [
        json!({ "$ref": "#" }),
        json!({ "anyOf": [{ "not": { "$ref": "#" } }] }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
        json!({ "allOf": [{ "$ref": "#" }] }),
        json!({ "oneOf": [{ "$ref": "#" }] }),
        json!({ "if": { "$ref": "#" } }),
        json!({ "if": true, "then": { "$ref": "#" } }),
        json!({ "if": true, "else": { "$ref": "#" } }),
        json!({ "dependentSchemas": { "a": { "$ref": "#" } } }),
    ] {
        assert!(Schema::compile(source.clone()).is_err(), "{source}");
    }
    let chain = |length: usize, step: fn(&str) -> Value, first: fn(&str) -> Value| {
        let mut defs: Map<String, Value> = (0..length)
            .map(|n| (format!("a{n}"), step(&format!("#/$defs/a{}", n + 1))))
            .collect();
        defs.insert(format!("a{length}"), json!({ "type": "null" }));
        let mut source = first("#/$defs/a0");
        source["$defs"] = defs.into();
        Schema::compile(source)
    };
    let reference = |next: &str| json!({ "$ref": next });
    // The first and the last are links too.
    assert!(chain(63, reference, reference).is_err());
    assert!(
        chain(62, reference, reference)
            .unwrap()
            .check(&json!(null))
            .is_ok()
    );
    let twice = |next: &str| json!({ "allOf": [{ "$ref": next }, { "$ref": next }] });
    let not = |next: &str| json!({ "not": { "$ref": next } });
    for first in [reference, not] {
        let refusal = chain(29, twice, first).unwrap().check(&json!(null)).unwrap_err();
        assert_eq!(refusal.faults[0].problem, "is too much to be checked");
    }
    let item =
        json!({ "$ref": "#/$defs/item", "$defs": { "item": { "items": { "$ref": "#/$defs/item" } } } });
    let items = json!({ "items": { "$ref": "#" } });
    let members = json!({ "additionalProperties": { "$ref": "#" } });
    let named = json!({ "properties": { "a": { "$ref": "#" } } });
    // A level of the value is two of schemas: what is said of an item or a member, and what that refers to.
    for (schema, wrap) in [
        (item, (|inner| json!([inner])) as fn(Value) -> Value),
        (items, |inner| json!([inner])),
        (members, |inner| json!({ "a": inner })),
        (named, |inner| json!({ "a": inner })),
    ] {
        let nested = Schema::compile(schema).unwrap();
        let deep = |levels: usize| (0..levels).fold(json!(0), |inner, _| wrap(inner));
        assert!(nested.check(&deep(255)).is_ok(), "{nested:?}");
        assert!(nested.check(&deep(256)).is_err(), "{nested:?}");
    }
}

#[test]
fn what_is_wrong_many_times_is_said_a_few_times() {
    let schema = Schema::compile(json!({ "items": { "type": "string" } })).unwrap();
    let many: Value = (0..10_000).collect();
    assert_eq!(schema.check(&many).unwrap_err().faults.len(), MAX_FAULTS);
}

//= specs/mcp-server.md#tools
//= type=test
//# An argument that no tool knows MUST be refused with those that are known and the nearest of them.
#[test]
fn a_name_that_is_not_known_is_told_the_nearest() {
    let properties = json!({ "title": {}, "epic_id": {}, "expect_rev": {} });
    let schema = Schema::compile(json!({ "properties": properties, "additionalProperties": false })).unwrap();
    for (name, near) in [
        ("titel", "title"),
        ("id", "epic_id"),
        ("rev", "expect_rev"),
        ("expect_revision", ""),
        ("colour", ""),
        (&"é".repeat(100_000), ""),
    ] {
        let refusal = schema.check(&json!({ name: 1 })).unwrap_err();
        let fault = &refusal.faults[0];
        let said = match near {
            "" => "is not known here".to_owned(),
            near => format!("is not known here; did you mean {near:?}?"),
        };
        assert_eq!(fault.problem, said);
        assert_eq!(fault.allowed, "one of: epic_id, expect_rev, title");
    }
}
