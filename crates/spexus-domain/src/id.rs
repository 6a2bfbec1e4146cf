//! Identity: a UUID for programs, a reference id for people, and either of them wherever an id is asked for.

use crate::{Code, Kind, Refusal, Ruled, decode};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use uuid::Uuid;

/// What a reference id begins with for prompts, which are numbered like items.
pub const PROMPT_PREFIX: &str = "PROMPT";

/// `REQ-012`: a prefix and a number, at least three digits wide, growing beyond 999.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    prefix: &'static str,
    number: i64,
}

impl Reference {
    /// The reference of the `number`th item of a kind.
    pub fn of_kind(kind: Kind, number: i64) -> Self {
        Self {
            prefix: kind.rules().prefix,
            number,
        }
    }

    /// The reference of the `number`th prompt.
    pub fn of_prompt(number: i64) -> Self {
        Self {
            prefix: PROMPT_PREFIX,
            number,
        }
    }

    /// The kind of item it names; `None` for prompts.
    pub fn kind(&self) -> Option<Kind> {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.rules().prefix == self.prefix)
    }

    /// Its number within the kind.
    pub fn number(&self) -> i64 {
        self.number
    }

    /// Reads `REQ-12`, `req-012` or `Req-0012`; leading zeros and letter case do not matter.
    pub fn parse(text: &str) -> Option<Self> {
        let (prefix, digits) = text.trim().split_once('-')?;
        if digits.is_empty() || digits.len() > 18 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let number = digits.parse().ok().filter(|number| *number > 0)?;
        let prefix = Kind::ALL
            .iter()
            .map(|kind| kind.rules().prefix)
            .chain([PROMPT_PREFIX])
            .find(|known| known.eq_ignore_ascii_case(prefix))?;
        Some(Self { prefix, number })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:03}", self.prefix, self.number)
    }
}

impl Serialize for Reference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            let problem = format!("{text:?} is not a reference id");
            decode::misfit(&problem, "a reference id such as REQ-012")
        })
    }
}

impl utoipa::PartialSchema for Reference {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .examples(["REQ-012"])
            .into()
    }
}

impl utoipa::ToSchema for Reference {}

/// An id as people and programs write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnyId {
    /// A UUID.
    Uuid(Uuid),
    /// A reference id, looked up in the project of the request unless it names one: `web/REQ-012` or `WEB-REQ-012`.
    Reference {
        /// The key of the project, when given.
        project: Option<String>,
        /// The reference itself.
        reference: Reference,
    },
}

impl AnyId {
    /// Reads either form.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        let text = text.trim();
        if let Ok(uuid) = Uuid::try_parse(text) {
            return Ok(Self::Uuid(uuid));
        }
        let (key, local) = match text.split_once('/') {
            Some((key, local)) => (Some(crate::project::key(field, key)?), local),
            None => (None, text),
        };
        match prefixed(local) {
            //= specs/spexus-service.md#projects
            //# A reference id with the key of a project before it, after a slash or a dash and in any letter case, MUST mean that
            //# project's item wherever an id is taken.
            Some((prefix, reference)) if key.is_none() || prefix.is_none() || key == prefix => {
                Ok(Self::Reference {
                    project: prefix.or(key),
                    reference,
                })
            }
            _ => {
                let problem = format!("{:?} is not an id", crate::text::excerpt(text, 60));
                Err(Refusal::field(
                    Code::InvalidParams,
                    field,
                    problem,
                    "a UUID or a reference id such as REQ-012, web/REQ-012 or WEB-REQ-012",
                ))
            }
        }
    }
}

/// A reference id, and the key of the project that stands before it with a dash: `WEB-REQ-012`. Keys have dashes too; what the
/// last two parts are is the reference.
fn prefixed(text: &str) -> Option<(Option<String>, Reference)> {
    if let Some(reference) = Reference::parse(text) {
        return Some((None, reference));
    }
    let text = text.trim();
    let (rest, digits) = text.rsplit_once('-')?;
    let (prefix, of) = rest.rsplit_once('-')?;
    let reference = Reference::parse(&format!("{of}-{digits}")).filter(|found| found.kind().is_some())?;
    let prefix = crate::project::key("id", prefix).ok()?;
    Some((Some(prefix), reference))
}

impl fmt::Display for AnyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(uuid) => uuid.fmt(f),
            Self::Reference {
                project: Some(key),
                reference,
            } => write!(f, "{key}/{reference}"),
            Self::Reference {
                project: None,
                reference,
            } => reference.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_grow_past_999_and_ignore_letter_case() {
        assert_eq!(
            Reference::of_kind(Kind::SteeringDocument, 1000).to_string(),
            "STD-1000"
        );
        assert_eq!(Reference::of_prompt(7).to_string(), "PROMPT-007");
        assert_eq!(Reference::parse("req-12").unwrap().to_string(), "REQ-012");
        assert!(
            Reference::parse("EP-999") < Reference::parse("EP-1000"),
            "ordered by number, not by text"
        );
    }

    #[test]
    fn what_is_no_reference_is_refused_not_guessed() {
        for bad in [
            "",
            "REQ",
            "REQ-",
            "REQ-0",
            "REQ--1",
            "REQ-1x",
            "XX-1",
            "REQ-9999999999999999999",
            "REQ-१",
        ] {
            assert_eq!(Reference::parse(bad), None, "{bad:?}");
        }
        assert!(AnyId::parse("id", "EP-1'; DROP TABLE item").is_err());
    }

    #[test]
    fn any_id_takes_both_forms_and_a_project() {
        assert!(matches!(
            AnyId::parse("id", "0198A1B2-0000-7000-8000-000000000000").unwrap(),
            AnyId::Uuid(_)
        ));
        assert_eq!(AnyId::parse("id", "web/us-3").unwrap().to_string(), "web/US-003");
    }

    //= specs/spexus-service.md#projects
    //= type=test
    //# A reference id with the key of a project before it, after a slash or a dash and in any letter case, MUST mean that
    //# project's item wherever an id is taken.
    #[test]
    fn the_key_of_a_project_may_stand_before_a_reference() {
        for (text, told) in [
            ("WEB-REQ-012", "web/REQ-012"),
            ("web-req-12", "web/REQ-012"),
            (" Web-2-Req-0012 ", "web-2/REQ-012"),
            ("us-EP-1", "us/EP-001"),
            ("req-1-req-2", "req-1/REQ-002"),
            ("web/WEB-REQ-1", "web/REQ-001"),
            ("REQ-1", "REQ-001"),
        ] {
            assert_eq!(AnyId::parse("id", text).unwrap().to_string(), told, "{text}");
        }
        for bad in [
            "-REQ-1",
            "WEB-REQ-",
            "WEB-XX-1",
            "WEB REQ-1",
            "other/WEB-REQ-1",
            "WEB-PROMPT-1",
        ] {
            assert!(AnyId::parse("id", bad).is_err(), "{bad}");
        }
    }
}
