use super::*;
use crate::comment::NewComment;
use crate::item::{ItemPatch, NewItem};
use crate::link::{LinkType, NewLink};
use serde_json::json;

fn faults<T: DeserializeOwned>(document: &str) -> Vec<[String; 3]> {
    let refusal = json::<T>(document.as_bytes()).err().expect("it does not fit");
    let fault = |fault: Fault| [fault.field, fault.problem, fault.allowed];
    refusal.faults.into_iter().map(fault).collect()
}

fn check<T: DeserializeOwned>(document: &str, expect: &[[&str; 3]]) {
    assert_eq!(faults::<T>(document), expect, "{document}");
}

const NEW_COMMENT: &str = "one of content, parent_comment_id, parent_id, anchor";

#[test]
fn what_is_wrong_with_one_field_is_told_with_its_path_and_what_is_allowed() {
    check::<NewLink>(
        r#"{"source":"REQ-1","target":"REQ-2"}"#,
        &[["type", "is missing", "a value"]],
    );
    check::<NewComment>(
        r#"{"content":"a","anchor":{"quote":"q","colour":1}}"#,
        &[["anchor.colour", "is not a field here", "quote or start"]],
    );
    check::<NewItem>(
        r#"{"title":"a","titel":"b"}"#,
        &[[
            "titel",
            "is not a field here; did you mean title?",
            &faults::<NewItem>(r#"{"x":1}"#)[0][2],
        ]],
    );
    check::<NewItem>(
        r#"{"title":"a","title":"b"}"#,
        &[["title", "is given twice", "one value"]],
    );
    check::<NewItem>(
        r#"{"parent":"EP-1","epic_id":"EP-2"}"#,
        &[["parent", "is given twice", "one value"]],
    );
    check::<NewItem>(
        r#"{"title":5}"#,
        &[["title", "is of the wrong type: the number 5", "a string"]],
    );
    check::<NewItem>(
        r#""a""#,
        &[["body", "is of the wrong type: the text \"a\"", "an object"]],
    );
    check::<NewItem>(
        r#"{"priority":9}"#,
        &[[
            "priority",
            "\"9\" is not a priority",
            "1 (critical), 2 (high), 3 (medium) or 4 (low)",
        ]],
    );
    check::<NewComment>(
        r#"{"content":"a","parent_id":"x"}"#,
        &[["parent_id", "\"x\" is not a UUID", "a UUID"]],
    );
    check::<NewComment>(
        r#"{"content":"a","anchor":{"quote":"q","start":-1}}"#,
        &[[
            "anchor.start",
            "does not fit: the number -1",
            "a whole number, 0 or more",
        ]],
    );
    check::<ItemPatch>(
        r#"{"expect_rev":1.5}"#,
        &[[
            "expect_rev",
            "is of the wrong type: the number 1.5",
            "a whole number",
        ]],
    );
    check::<LinkType>(
        r#"{"name":"a","inverse":"b","sources":["epic","requirment"]}"#,
        &[[
            "sources[1]",
            "\"requirment\" is not known; did you mean requirement?",
            "one of epic, user_story, acceptance_criterion, requirement, steering_document",
        ]],
    );
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    check::<NewComment>(
        r#"{"anchor":{"quote":7,"start":"x","colour":1},"shout":true,"parent_id":"x"}"#,
        &[
            ["anchor.quote", "is of the wrong type: the number 7", "a string"],
            [
                "anchor.start",
                "is of the wrong type: the text \"x\"",
                "a whole number, 0 or more",
            ],
            ["anchor.colour", "is not a field here", "quote or start"],
            ["shout", "is not a field here", NEW_COMMENT],
            ["parent_id", "\"x\" is not a UUID", "a UUID"],
            ["content", "is missing", "a value"],
        ],
    );
    check::<NewLink>(
        "{}",
        &[
            ["source", "is missing", "a value"],
            ["target", "is missing", "a value"],
            ["type", "is missing", "a value"],
        ],
    );
}

#[test]
fn the_code_says_whether_anything_but_missing_fields_is_wrong() {
    let code = |document: &str| json::<NewLink>(document.as_bytes()).unwrap_err().code;
    assert_eq!(code("{}"), Code::MissingRequiredField);
    assert_eq!(code(r#"{"source":1}"#), Code::InvalidParams);
    assert_eq!(code("{"), Code::InvalidParams);
}

#[test]
fn a_document_tells_the_line_of_its_first_fault() {
    let refusal = json::<NewItem>(b"{\n  \"title\": 5}").unwrap_err();
    let (name, place) = &refusal.facts[0];
    assert!(
        *name == "place" && place.starts_with("line 2 column 1"),
        "{place}"
    );
}

#[test]
fn a_value_is_told_like_a_document() {
    let refusal = value::<NewItem>(&json!({"title": [], "x": 1})).unwrap_err();
    let told: Vec<&str> = refusal.faults.iter().map(|fault| fault.field.as_str()).collect();
    assert_eq!(told, ["title", "x"]);
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    limit: Option<u32>,
    since: Option<i64>,
    #[serde(default)]
    force: bool,
    name: Option<String>,
}

fn query(given: &[(&'static str, &'static str)]) -> Ruled<Query> {
    pairs(
        given
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into())),
    )
}

#[test]
fn words_of_a_query_are_read_as_what_is_asked_for() {
    let read = query(&[("limit", "20"), ("since", "-3"), ("force", "true"), ("name", "")]).unwrap();
    let expect = Query {
        limit: Some(20),
        since: Some(-3),
        force: true,
        name: Some(String::new()),
    };
    assert_eq!(read, expect);
}

#[test]
fn words_of_a_query_that_do_not_fit_are_told_one_by_one() {
    let refusal = query(&[
        ("limit", ""),
        ("since", "9223372036854775808"),
        ("force", "yes"),
        ("nmae", "x"),
    ]);
    let told: Vec<String> = refusal
        .unwrap_err()
        .faults
        .into_iter()
        .map(|fault| format!("{}: {} ({})", fault.field, fault.problem, fault.allowed))
        .collect();
    assert_eq!(
        told,
        [
            "limit: \"\" is not a whole number (a whole number)",
            "since: does not fit: the number 9223372036854775808 (a whole number)",
            "force: \"yes\" is not a truth value (true or false)",
            "nmae: is not a field here; did you mean name? (one of limit, since, force, name)",
        ]
    );
}

proptest::proptest! {
    /// Whatever is sent, plain serde and the reader that tells what is wrong agree on what fits.
    #[test]
    fn both_ways_of_reading_agree(text in "[\\[\\]{}:,\"a-z0-9]{0,24}", fields in 0..4_usize) {
        let names = ["title", "priority", "attributes", "type"];
        let document = format!("{{{}}}", names[..fields].iter().map(|name| format!("\"{name}\":{text}")).collect::<Vec<_>>().join(","));
        if let Ok(tree) = serde_json::from_str::<Tree<'_>>(&document) {
            let known = Known::default();
            let typed = NewItem::deserialize(Reader::new(&tree, &known));
            proptest::prop_assert_eq!(typed.is_ok(), serde_json::from_str::<NewItem>(&document).is_ok());
        }
    }
}
