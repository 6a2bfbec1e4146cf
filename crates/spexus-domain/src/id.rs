//! Identity: a UUID for programs, a reference id for people, and either of them wherever an id is asked for.

use crate::{Code, Kind, Refusal, Ruled, decode};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;
use uuid::Uuid;

/// What a reference id begins with for prompts, which are numbered like items.
pub const PROMPT_PREFIX: &str = "PROMPT";

/// `REQ-012`: a prefix and a number, at least three digits wide, growing beyond 999. It names an item within its project, and
/// is what is stored, sealed in ledgers and carried; what answers show instead is a [`ShownReference`].
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

/// What stands before the references of a project that asks for it: `WEB`, of the key `web`. Nothing with all others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectPrefix(Option<Arc<str>>);

impl ProjectPrefix {
    /// The prefix of a project by its key, if its references are shown with one.
    pub fn of(key: Option<&str>) -> Self {
        Self(key.map(|key| key.to_uppercase().into()))
    }

    /// A reference of an item of this project as it is shown.
    //= specs/spexus-service.md#projects
    //# Where a project asks for it, every answer MUST show the references of its items with its key before them, and MUST take them
    //# back in that form.
    pub fn show(&self, reference: Reference) -> ShownReference {
        ShownReference {
            reference,
            project: self.clone(),
        }
    }
}

/// A reference as answers show it: `REQ-012`, or `WEB-REQ-012` where its project asks for the prefix.
///
/// It is a type of its own so that the setting of a project cannot change what is kept: whatever records takes a
/// [`Reference`], which has no prefix that could get into a ledger, and an answer takes this one, which whoever reads
/// rows makes at once with the setting read beside them. So the setting may be switched at any time, and neither a replay nor
/// an export elsewhere can tell. What is to be recorded of an answer says `plain`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShownReference {
    reference: Reference,
    project: ProjectPrefix,
}

impl ShownReference {
    /// The reference itself, which is what is recorded.
    //= specs/spexus-service.md#projects
    //# What is stored, sealed in a ledger or carried in JSON lines MUST be the reference without the prefix, whatever the setting is and
    //# was.
    pub fn plain(&self) -> &Reference {
        &self.reference
    }

    /// The kind of item it names.
    pub fn kind(&self) -> Option<Kind> {
        self.reference.kind()
    }

    /// Its number within the kind.
    pub fn number(&self) -> i64 {
        self.reference.number()
    }

    /// What stands before the references of its project.
    pub fn prefix(&self) -> &ProjectPrefix {
        &self.project
    }

    /// A text that is kept and names this item, with the reference as it is shown.
    pub fn show_in(&self, text: &str) -> String {
        let (plain, shown) = (self.reference.to_string(), self.to_string());
        if self.project.0.is_none() {
            return text.to_owned();
        }
        let belongs = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let (mut out, mut rest) = (String::new(), text);
        while let Some(at) = rest.find(&plain) {
            let (before, behind) = (&rest[..at], &rest[at + plain.len()..]);
            let is_part = before.ends_with(belongs) || behind.starts_with(belongs);
            out.push_str(before);
            out.push_str(if is_part { &plain } else { &shown });
            rest = behind;
        }
        out + rest
    }

    /// What names the item among all projects: with the key of its own before it, unless it says that already.
    pub fn in_project(&self, key: &str) -> String {
        match self.project.0 {
            Some(_) => self.to_string(),
            None => format!("{key}/{}", self.reference),
        }
    }
}

impl From<Reference> for ShownReference {
    /// One that is shown without a prefix.
    fn from(reference: Reference) -> Self {
        ProjectPrefix::default().show(reference)
    }
}

impl fmt::Display for ShownReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(prefix) = &self.project.0 {
            write!(f, "{prefix}-")?;
        }
        self.reference.fmt(f)
    }
}

impl Serialize for ShownReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl utoipa::PartialSchema for ShownReference {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        Reference::schema()
    }
}

impl utoipa::ToSchema for ShownReference {
    fn name() -> std::borrow::Cow<'static, str> {
        Reference::name()
    }
}

/// Shows the references a text of the history names in passing: `REQ-001 blocks app/REQ-002`. `prefix_of` knows the project of
/// a key, and that of the change where there is none.
pub(crate) fn shown_words(text: &str, prefix_of: &impl Fn(Option<&str>) -> ProjectPrefix) -> String {
    let shown = |word: &str| {
        let (key, local) = match word.split_once('/') {
            Some((key, local)) => (Some(key), local),
            None => (None, word),
        };
        let reference =
            Reference::parse(local).filter(|found| found.kind().is_some() && found.to_string() == local);
        let prefix = prefix_of(key);
        match (reference, &prefix.0) {
            (Some(reference), Some(_)) => prefix.show(reference).to_string(),
            _ => word.to_owned(),
        }
    };
    text.split(' ').map(shown).collect::<Vec<_>>().join(" ")
}

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
    /// The kind of item a reference names; `None` for prompts, and for a UUID, which does not say.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Self::Uuid(_) => None,
            Self::Reference { reference, .. } => reference.kind(),
        }
    }

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
    fn a_reference_is_shown_as_its_project_has_it_and_is_the_same_one() {
        let reference = Reference::of_kind(Kind::Requirement, 12);
        let [with, without] = [Some("web-2"), None].map(|key| ProjectPrefix::of(key).show(reference.clone()));
        assert_eq!(
            (with.to_string(), without.to_string()),
            ("WEB-2-REQ-012".to_owned(), "REQ-012".to_owned())
        );
        assert_eq!(serde_json::to_value(&with).unwrap(), "WEB-2-REQ-012");
        assert_eq!((with.plain(), without.plain()), (&reference, &reference));
        let text = "No test claims REQ-012. Mark it `spexus:REQ-012`, not REQ-0121 or APP-REQ-012.";
        let shown =
            "No test claims WEB-2-REQ-012. Mark it `spexus:WEB-2-REQ-012`, not REQ-0121 or APP-REQ-012.";
        assert_eq!(
            (with.show_in(text), without.show_in(text)),
            (shown.to_owned(), text.to_owned())
        );
        for shown in [
            with.to_string(),
            with.in_project("web-2"),
            without.in_project("web-2"),
        ] {
            let read = AnyId::parse("id", &shown).unwrap();
            assert_eq!(read.to_string(), "web-2/REQ-012", "{shown}");
        }
    }

    #[test]
    fn references_in_a_text_of_the_history_are_shown_and_nothing_else_is() {
        let prefix_of =
            |key: Option<&str>| ProjectPrefix::of([None, Some("web")].contains(&key).then_some("web"));
        for (text, shown) in [
            ("REQ-001", "WEB-REQ-001"),
            ("comment on AC-1000", "comment on WEB-AC-1000"),
            ("web/REQ-001 blocks app/REQ-002", "WEB-REQ-001 blocks app/REQ-002"),
            (
                "req-1 REQ-1 PROMPT-001 x/REQ-001 REQ-001, (another project)",
                "req-1 REQ-1 PROMPT-001 x/REQ-001 REQ-001, (another project)",
            ),
            ("", ""),
        ] {
            assert_eq!(shown_words(text, &prefix_of), shown, "{text}");
        }
    }

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
