//! What a decoder complains of, in the words of our refusals: the field, what is wrong with it, and what is allowed. The
//! names of our types stay inside.

use crate::{Code, Refusal, text};

/// A refusal from the path a decoder was at and its sentence.
//= specs/spexus-http.md#refusals
//# Input that does not fit MUST be refused with the name of the field and what is allowed.
pub fn refusal(path: &str, sentence: &str) -> Refusal {
    let (complaint, place) = match sentence.rsplit_once(" at line ") {
        Some((complaint, place)) if place.contains(" column ") => (complaint, place),
        _ => (sentence, ""),
    };
    let (problem, expected) = complaint.split_once(", expected ").unwrap_or((complaint, ""));
    // A field that is missing, unknown or given twice is named in the sentence, not in the path.
    let quoted = problem.split('`').nth(1).unwrap_or_default();
    let (code, problem, allowed, named) = match problem {
        _ if problem.starts_with("missing field") => (
            Code::MissingRequiredField,
            "is missing".to_owned(),
            "a value".to_owned(),
            quoted,
        ),
        //= specs/spexus-http.md#refusals
        //# An unknown field of a body and an unknown parameter of a query MUST be refused, not ignored.
        _ if problem.starts_with("unknown field") => (
            Code::InvalidParams,
            "is not a field here".to_owned(),
            plain(expected),
            quoted,
        ),
        _ if problem.starts_with("duplicate field") => (
            Code::InvalidParams,
            "is given twice".to_owned(),
            "one value".to_owned(),
            quoted,
        ),
        _ => {
            let (problem, allowed) = value(problem, expected);
            (Code::InvalidParams, problem, allowed, "")
        }
    };
    let path = path.trim_matches('.');
    let field = match (path, named) {
        ("", "") => "body",
        ("", named) => named,
        (path, "") => path,
        (path, named) if path == named || path.ends_with(&format!(".{named}")) => path,
        (path, named) => &format!("{path}.{named}"),
    };
    let refusal = Refusal::field(
        code,
        text::excerpt(field, 100),
        text::excerpt(&problem, 200),
        allowed,
    );
    match place {
        "" => refusal,
        place => refusal.fact("place", format!("line {place}")),
    }
}

/// What is wrong with a value, and what would be right.
fn value(problem: &str, expected: &str) -> (String, String) {
    match problem {
        "invalid digit found in string"
        | "number too large to fit in target type"
        | "number too small to fit in target type"
        | "cannot parse integer from empty string" => (
            "is not a number that fits".to_owned(),
            "a whole number".to_owned(),
        ),
        _ if problem.starts_with("UUID parsing failed") => ("is not a UUID".to_owned(), "a UUID".to_owned()),
        "provided string was not `true` or `false`" => {
            ("is not a truth value".to_owned(), "true or false".to_owned())
        }
        _ => match problem.split_once(": ") {
            Some(("invalid type", given)) => (format!("is of the wrong type: {given}"), plain(expected)),
            Some(("invalid value", given)) => (format!("does not fit: {given}"), plain(expected)),
            _ => match problem.split_once("; allowed: ") {
                Some((problem, allowed)) => (problem.to_owned(), allowed.to_owned()),
                None => (problem.replace('`', "\""), plain(expected)),
            },
        },
    }
}

/// What a decoder expects, without the words of our language.
fn plain(expected: &str) -> String {
    match expected {
        "a sequence" => "a list".to_owned(),
        "a map" => "an object".to_owned(),
        "i64" | "u64" | "u32" | "usize" | "u8" => "a whole number".to_owned(),
        _ if expected.starts_with("struct ") => "an object".to_owned(),
        _ => text::excerpt(&expected.replace('`', ""), 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, sentence: &str, expect: [&str; 3]) {
        let refusal = refusal(path, sentence);
        let fault = &refusal.faults[0];
        assert_eq!(
            [&fault.field, &fault.problem, &fault.allowed],
            expect,
            "{sentence}"
        );
    }

    #[test]
    fn a_complaint_names_the_field_and_what_is_allowed() {
        check(
            ".",
            "missing field `name` at line 1 column 2",
            ["name", "is missing", "a value"],
        );
        check(
            "anchor",
            "unknown field `colour`, expected `quote` or `start` at line 1 column 9",
            ["anchor.colour", "is not a field here", "quote or start"],
        );
        check(
            ".",
            "duplicate field `title` at line 1 column 9",
            ["title", "is given twice", "one value"],
        );
        check(
            "title",
            "invalid type: integer `5`, expected a string at line 1 column 9",
            ["title", "is of the wrong type: integer `5`", "a string"],
        );
        check(
            ".",
            "invalid type: string \"a\", expected struct NewItem at line 1 column 3",
            ["body", "is of the wrong type: string \"a\"", "an object"],
        );
        check(
            "limit",
            "invalid digit found in string",
            ["limit", "is not a number that fits", "a whole number"],
        );
        check(
            "priority",
            "\"9\" is not a priority; allowed: 1 to 4 at line 1 column 9",
            ["priority", "\"9\" is not a priority", "1 to 4"],
        );
    }
}
