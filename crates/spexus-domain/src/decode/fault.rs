//! What can be wrong with an input, as values.

use crate::{Fault, nearest, text};
use serde::de::{Expected, Unexpected};
use std::fmt::{self, Display};

/// One fault and where it is.
#[derive(Debug)]
pub(crate) struct DecodeError {
    /// Where; `None` until the reader that was asked adds it.
    pub(crate) path: Option<String>,
    /// Which member of the object at the path it is about, where it is about one.
    pub(crate) member: Option<usize>,
    /// Whether it is about what stood in for a value whose fault was known already.
    pub(crate) is_of_stand_in: bool,
    pub(crate) problem: Problem,
}

/// What is wrong.
#[derive(Debug)]
pub(crate) enum Problem {
    /// A field that must be there is not.
    Missing(&'static str),
    /// A member no field is called by.
    Unknown {
        name: String,
        fields: &'static [&'static str],
    },
    /// A field that is there twice, maybe by two of its names.
    Twice(&'static str),
    /// A name that is not among those of a list.
    NotOneOf {
        given: String,
        allowed: &'static [&'static str],
    },
    /// Anything else that is wrong with a value.
    Value { problem: String, allowed: String },
}

impl DecodeError {
    pub(crate) fn value(problem: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self::new(Problem::Value {
            problem: problem.into(),
            allowed: allowed.into(),
        })
    }

    fn new(problem: Problem) -> Self {
        Self {
            path: None,
            member: None,
            is_of_stand_in: false,
            problem,
        }
    }

    /// The same, at a path, unless it has one.
    pub(crate) fn at(mut self, is_of_stand_in: bool, path: impl FnOnce() -> String) -> Self {
        if self.path.is_none() {
            self.path = Some(path());
            self.is_of_stand_in = is_of_stand_in;
        }
        self
    }

    /// The same, about a member of the object that is read, unless it is about something inside.
    pub(crate) fn of_member(mut self, member: Option<usize>) -> Self {
        if self.path.is_none() {
            self.member = member;
        }
        self
    }

    /// The name of the field at fault.
    fn field(&self) -> String {
        let path = self.path.as_deref().unwrap_or_default();
        let named = match &self.problem {
            Problem::Missing(name) | Problem::Twice(name) => *name,
            Problem::Unknown { name, .. } => name.as_str(),
            Problem::NotOneOf { .. } | Problem::Value { .. } => "",
        };
        match (path, named) {
            ("", "") => "body".to_owned(),
            ("", named) => named.to_owned(),
            (path, "") => path.to_owned(),
            (path, named) => format!("{path}.{named}"),
        }
    }

    pub(crate) fn to_fault(&self) -> Fault {
        let (problem, allowed) = match &self.problem {
            Problem::Missing(_) => ("is missing".to_owned(), "a value".to_owned()),
            //= specs/spexus-http.md#refusals
            //# An unknown field of a body and an unknown parameter of a query MUST be refused, not ignored.
            Problem::Unknown { name, fields } => {
                let problem = match nearest::closest(name, fields) {
                    Some(near) => format!("is not a field here; did you mean {near}?"),
                    None => "is not a field here".to_owned(),
                };
                (problem, one_of(fields))
            }
            Problem::Twice(_) => ("is given twice".to_owned(), "one value".to_owned()),
            Problem::NotOneOf { given, allowed } => {
                let shown = text::excerpt(given, 60);
                let problem = match nearest::closest(given, allowed) {
                    Some(near) => format!("{shown:?} is not known; did you mean {near}?"),
                    None => format!("{shown:?} is not known"),
                };
                (problem, one_of(allowed))
            }
            Problem::Value { problem, allowed } => (problem.clone(), allowed.clone()),
        };
        Fault {
            field: text::excerpt(&self.field(), 100),
            problem: text::excerpt(&problem, 200),
            allowed: text::excerpt(&allowed, 1_000),
        }
    }
}

fn one_of(names: &[&str]) -> String {
    match names {
        [] => "no fields".to_owned(),
        [one] => (*one).to_owned(),
        [one, other] => format!("{one} or {other}"),
        names => format!("one of {}", names.join(", ")),
    }
}

/// A value as people would say it.
pub(crate) fn spoken(given: &Unexpected<'_>) -> String {
    match given {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(number) => format!("the number {number}"),
        Unexpected::Signed(number) => format!("the number {number}"),
        Unexpected::Float(number) => format!("the number {number}"),
        Unexpected::Str(given) => format!("the text {:?}", text::excerpt(given, 60)),
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map | Unexpected::StructVariant => "an object".to_owned(),
        other => other.to_string(),
    }
}

impl Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = self.to_fault();
        write!(f, "{}: {}", fault.field, fault.problem)
    }
}

impl std::error::Error for DecodeError {}

impl serde::de::Error for DecodeError {
    fn custom<T: Display>(message: T) -> Self {
        Self::value(message.to_string(), "")
    }

    fn invalid_type(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::value(
            format!("is of the wrong type: {}", spoken(&given)),
            expected.to_string(),
        )
    }

    fn invalid_value(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let problem = match given {
            // A type of ours says in its own words what is wrong.
            Unexpected::Other(problem) => problem.to_owned(),
            given => format!("does not fit: {}", spoken(&given)),
        };
        Self::value(problem, expected.to_string())
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::value(format!("has {length} members"), expected.to_string())
    }

    fn unknown_variant(given: &str, allowed: &'static [&'static str]) -> Self {
        Self::new(Problem::NotOneOf {
            given: given.to_owned(),
            allowed,
        })
    }

    fn unknown_field(name: &str, fields: &'static [&'static str]) -> Self {
        Self::new(Problem::Unknown {
            name: name.to_owned(),
            fields,
        })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(Problem::Missing(field))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(Problem::Twice(field))
    }
}
