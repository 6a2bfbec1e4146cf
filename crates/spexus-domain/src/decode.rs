//! Decoding of input: JSON bodies, JSON values and query parameters into the types of this product, or one refusal that
//! names every field at fault, what is wrong with it and what is allowed.
//!
//! Good input is decoded once, by plain serde. Only what does not fit is read a second time, by a deserializer of our own
//! (`reader`) whose errors are values (`fault`): serde tells it what a type asked for through the data model, so
//! nobody has to read serde's sentences. Each fault is noted and passed over, and the input is read again, until all that
//! is wrong with it is known.

mod fault;
mod reader;
mod tree;

use crate::{Code, Fault, Refusal, Ruled, Uuid, text};
use fault::{DecodeError, Problem};
use reader::{Known, Reader};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Unexpected};
use serde_json::Value;
use serde_json::error::Category;
use std::borrow::Cow;
use tree::Tree;

/// Faults that are told of one input at most.
const MAX_FAULTS: usize = 20;

/// Decodes a JSON document.
pub fn json<T: DeserializeOwned>(document: &[u8]) -> Ruled<T> {
    let error = match serde_json::from_slice(document) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let tree: Tree<'_> = match error.classify() {
        Category::Data => serde_json::from_slice(document).map_err(|error| not_json(&error))?,
        Category::Syntax | Category::Eof | Category::Io => return Err(not_json(&error)),
    };
    let refusal = diagnose::<T>(&tree, &error);
    Err(refusal.fact(
        "place",
        format!("line {} column {}", error.line(), error.column()),
    ))
}

/// Decodes a JSON value.
pub fn value<T: DeserializeOwned>(value: &Value) -> Ruled<T> {
    T::deserialize(value).map_err(|error| diagnose::<T>(&Tree::from(value), &error))
}

/// Decodes names and values that are all text, such as the parameters of a query. A number or a truth value is read from
/// its text; nothing is not a number.
pub fn pairs<'a, T: DeserializeOwned>(pairs: impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)>) -> Ruled<T> {
    let tree = Tree::Object(pairs.map(|(name, value)| (name, Tree::Word(value))).collect());
    let known = Known::default();
    T::deserialize(Reader::new(&tree, &known)).map_err(|error| diagnose::<T>(&tree, &error))
}

/// Decodes a UUID from its text, with a fault of its own.
pub fn uuid<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Uuid>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    Uuid::try_parse(&text).map(Some).map_err(|_| {
        let problem = format!("{:?} is not a UUID", text::excerpt(&text, 60));
        misfit(&problem, "a UUID")
    })
}

/// The error of a type that reads its value from text: what is wrong with the value, and what is allowed.
pub(crate) fn misfit<E: serde::de::Error>(problem: &str, allowed: &str) -> E {
    E::invalid_value(Unexpected::Other(problem), &allowed)
}

/// Everything that is wrong with an input that did not fit.
//= specs/spexus-http.md#refusals
//# Input that does not fit MUST be refused with the name of the field and what is allowed.
fn diagnose<T: DeserializeOwned>(tree: &Tree<'_>, error: &dyn std::error::Error) -> Refusal {
    let mut known = Known::default();
    let mut found: Vec<DecodeError> = Vec::new();
    while found.len() < MAX_FAULTS {
        let Err(error) = T::deserialize(Reader::new(tree, &known)) else {
            break;
        };
        let is_new = known.note(&error);
        // What stands in for a field that is wrong may not suit the type; then there is no more to be learnt.
        if found.is_empty() || is_new {
            found.push(error);
        }
        if !is_new {
            break;
        }
    }
    let is_missing = |error: &DecodeError| matches!(error.problem, Problem::Missing(_));
    let code = match found.iter().all(is_missing) {
        true => Code::MissingRequiredField,
        false => Code::InvalidParams,
    };
    let faults: Vec<Fault> = found.iter().map(DecodeError::to_fault).collect();
    Refusal::of_faults(code, faults).unwrap_or_else(|| {
        let sentence = text::excerpt(&error.to_string(), 300);
        Refusal::new(Code::InvalidParams, format!("the input does not fit: {sentence}"))
    })
}

fn not_json(error: &serde_json::Error) -> Refusal {
    let sentence = text::excerpt(&error.to_string(), 300);
    Refusal::new(Code::InvalidParams, format!("the body is not JSON: {sentence}"))
}

#[cfg(test)]
mod tests;
