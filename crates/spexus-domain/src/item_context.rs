//! Everything somebody needs who works on an item, in one answer of a size that is asked for.
//!
//! What does not fit is left out whole, part by part in an order that depends on what the context is for, and each part
//! that was left out says how to get it. Acceptance criteria are never cut: they go as a whole or not at all, after
//! everything else. Only the text of the item itself, the last thing to go, is cut.

mod budget;
mod words;

use crate::attribute::Attributes;
use crate::item::{Item, Priority};
use crate::text::excerpt;
use crate::trace::{ItemTrace, Rung, TestStanding, TraceFlag};
use crate::workflow::Workflow;
use crate::{Code, Kind, Refusal, Ruled, ShownReference, Timestamp, limits, nearest};
use serde::Serialize;
use utoipa::ToSchema;

/// What a context is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To write the code.
    #[default]
    Implement,
    /// To judge the text, or a change of it.
    Review,
    /// To write the tests.
    Test,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Purpose; 3] = [Purpose::Implement, Purpose::Review, Purpose::Test];

    /// As it stands in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Purpose::Implement => "implement",
            Purpose::Review => "review",
            Purpose::Test => "test",
        }
    }

    /// Reads a purpose by name.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        let named = nearest::find(&Purpose::ALL, |purpose| purpose.name(), text).copied();
        named.ok_or_else(|| nearest::miss(field, text, Purpose::ALL.iter().map(|purpose| purpose.name())))
    }

    /// The parts in the order in which they are left out.
    pub const fn order(self) -> [Part; 12] {
        use Part::{
            Changes, Code, Comments, Contains, Criteria, Description, Links, Siblings, Steering, Targets,
            Tests, Texts,
        };
        match self {
            Purpose::Implement => [
                Siblings,
                Changes,
                Contains,
                Steering,
                Targets,
                Texts,
                Comments,
                Links,
                Tests,
                Code,
                Criteria,
                Description,
            ],
            Purpose::Review => [
                Siblings,
                Contains,
                Steering,
                Texts,
                Targets,
                Changes,
                Comments,
                Links,
                Code,
                Tests,
                Criteria,
                Description,
            ],
            Purpose::Test => [
                Siblings,
                Changes,
                Steering,
                Targets,
                Comments,
                Contains,
                Texts,
                Links,
                Code,
                Tests,
                Criteria,
                Description,
            ],
        }
    }
}

/// A part of a context that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Lines of the items beside it.
    Siblings,
    /// What changed.
    Changes,
    /// Lines of what it contains.
    Contains,
    /// The documents that guide its epic.
    Steering,
    /// The first sentences of what it is linked with.
    Targets,
    /// The texts of what contains it.
    Texts,
    /// Open comments.
    Comments,
    /// Links.
    Links,
    /// The code that cites it.
    Code,
    /// The tests that show it.
    Tests,
    /// Acceptance criteria.
    Criteria,
    /// The text of the item.
    Description,
}

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct ContextRequest {
    /// What it is for; `implement` when left out.
    pub purpose: Option<String>,
    /// The tokens the answer may have.
    pub max_tokens: Option<i64>,
    /// The hash of an earlier answer.
    pub if_changed: Option<String>,
}

/// A request, understood.
#[derive(Clone, Debug)]
pub struct ContextWish {
    /// What it is for.
    pub purpose: Purpose,
    /// The tokens the answer may have.
    pub max_tokens: usize,
    /// The hash of an earlier answer, and the revision it was made at.
    pub known: Option<(String, i64)>,
}

impl ContextRequest {
    /// Understands it, or refuses with what is allowed.
    pub fn understand(self) -> Ruled<ContextWish> {
        let purpose = self.purpose.as_deref();
        let purpose = purpose.map_or(Ok(Purpose::default()), |text| Purpose::parse("purpose", text))?;
        let (least, most) = (limits::MIN_CONTEXT_TOKENS, limits::MAX_CONTEXT_TOKENS);
        let max_tokens = match self.max_tokens {
            None => limits::DEFAULT_CONTEXT_TOKENS,
            Some(wanted) => usize::try_from(wanted)
                .ok()
                .filter(|wanted| (least..=most).contains(wanted))
                .ok_or_else(|| {
                    let allowed = format!("{least} to {most}");
                    Refusal::field(Code::InvalidParams, "max_tokens", format!("is {wanted}"), allowed)
                })?,
        };
        let known = match self.if_changed {
            Some(hash) => Some(known(hash)?),
            None => None,
        };
        Ok(ContextWish {
            purpose,
            max_tokens,
            known,
        })
    }
}

/// `7-1f0c…`: the revision of the item and the hash of all that was gathered.
fn known(hash: String) -> Ruled<(String, i64)> {
    let rev = hash.split_once('-').and_then(|(rev, _)| rev.parse().ok());
    let problem = || format!("{:?} is not the hash of a context", excerpt(&hash, 60));
    let odd = || {
        Refusal::field(
            Code::InvalidParams,
            "if_changed",
            problem(),
            "the `hash` of an earlier answer",
        )
    };
    let rev = rev.ok_or_else(odd)?;
    Ok((hash, rev))
}

/// Everything somebody needs who works on an item.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ItemContext {
    /// What to send as `if_changed`, to be told when nothing changed.
    pub hash: String,
    /// Whether nothing changed since the hash that was sent; then nothing else is told.
    #[serde(skip_serializing_if = "is_false")]
    pub unchanged: bool,
    /// The item; absent when nothing changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<Subject>,
    /// Who works on it, until when, and what for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// What contains it, from the top down.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<Container>,
    /// The acceptance criteria of its story, each whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Criterion>,
    /// How far it has come to a test that passed; absent where nothing is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceLine>,
    /// The steps from here that take evidence: `Done demands evidence passed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub demands: Vec<String>,
    /// The code that cites it: `src/gate.rs:12-30 open (executed)`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<String>,
    /// The tests that show it, those that did not pass first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<ContextTest>,
    /// What it is linked with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<ContextLink>,
    /// Open comments on it and on what contains it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<OpenComment>,
    /// The documents that guide its epic.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steering: Vec<Guidance>,
    /// What it contains, one line each; for a criterion, the requirements that serve it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contains: Vec<String>,
    /// What stands beside it, one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<String>,
    /// What changed since the hash that was sent; for a review, what changed last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ContextChange>,
    /// What was left out, and how to get it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<Omitted>,
}

/// The item itself.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Subject {
    /// Its id.
    #[schema(value_type = String)]
    pub reference_id: ShownReference,
    /// The key of its project.
    pub project: String,
    /// Its kind.
    pub kind: Kind,
    /// Its revision, for `expect_rev`.
    pub rev: i64,
    /// Its title.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Its text.
    pub description: String,
    /// Where it stands in its workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// 1 critical, 2 high, 3 medium, 4 low.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The name of its requirement type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub requirement_type: Option<String>,
    /// Who works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// What the project adds.
    #[serde(skip_serializing_if = "Attributes::is_empty")]
    #[schema(value_type = Object)]
    pub attributes: Attributes,
}

/// Something that contains the item.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Container {
    /// `US-001 [Draft] P2: Title`.
    pub line: String,
    /// Its text; absent when it was left out.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its id, for what was left out.
    #[serde(skip)]
    pub id: String,
}

/// An acceptance criterion.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Criterion {
    /// Its id.
    pub id: String,
    /// Whether it is the one the item serves.
    #[serde(skip_serializing_if = "is_false")]
    pub served: bool,
    /// What it says.
    pub text: String,
}

/// How far an item has come to a test that passed.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct EvidenceLine {
    /// The rung it stands on.
    pub state: Rung,
    /// What stands beside that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<TraceFlag>,
    /// The weakest link, and what to do about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub weakest: String,
}

/// A test that shows an item.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ContextTest {
    /// Its name, and where it is written.
    pub name: String,
    /// What is known of it now.
    pub standing: TestStanding,
    /// How what it said begins, when it did not pass.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub said: String,
}

/// A link, as it reads from the item.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ContextLink {
    /// `depends_on`, or the name from the other end: `is_required_by`.
    pub reads: String,
    /// `REQ-002 [Active] P1: Title`, with its project where that is another one.
    pub line: String,
    /// How its text begins.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub says: String,
    /// Whether an end changed since somebody confirmed the link.
    #[serde(skip_serializing_if = "is_false")]
    pub suspect: bool,
}

/// An open comment.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct OpenComment {
    /// What it is about.
    pub on: String,
    /// Who wrote it.
    pub by: String,
    /// What it says.
    pub text: String,
}

/// A steering document.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Guidance {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it says.
    pub text: String,
}

/// A change of the item.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ContextChange {
    /// The revision that resulted.
    pub rev: i64,
    /// Who made it.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// What happened: `updated status: "Draft" → "Active"`.
    pub what: String,
}

/// A part that was left out.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Omitted {
    /// Which.
    pub part: Part,
    /// How many of it; of a text, how many characters.
    pub count: usize,
    /// The tool call that gives it.
    pub get: String,
}

/// How what a test said begins.
const SAID_CHARS: usize = 300;

/// How the text of a linked item begins.
pub const TARGET_CHARS: usize = 160;

impl Subject {
    /// The item as it stands.
    pub fn of(item: &Item) -> Self {
        Self {
            reference_id: item.reference_id.clone(),
            project: item.project.clone(),
            kind: item.kind,
            rev: item.rev,
            title: item.title.clone(),
            description: item.description.clone(),
            status: item.status.clone(),
            priority: item.priority,
            requirement_type: item.requirement_type.clone(),
            assignee: item.assignee.as_ref().map(|person| person.username.clone()),
            attributes: item.attributes.clone(),
        }
    }
}

/// `REQ-012 [Draft] P2 @ann: Title`.
pub fn line(item: &Item) -> String {
    let mut line = item.reference_id.to_string();
    if let Some(status) = &item.status {
        line.push_str(&format!(" [{status}]"));
    }
    if let Some(priority) = item.priority {
        line.push_str(&format!(" P{}", priority.number()));
    }
    if let Some(assignee) = &item.assignee {
        line.push_str(&format!(" @{}", assignee.username));
    }
    format!(
        "{line}: {}",
        excerpt(&item.heading(), limits::MAX_LINE_TITLE_CHARS)
    )
}

impl ItemContext {
    /// What is told when nothing changed.
    pub fn unchanged(hash: String) -> Self {
        Self {
            hash,
            unchanged: true,
            item: None,
            held: None,
            within: Vec::new(),
            criteria: Vec::new(),
            evidence: None,
            demands: Vec::new(),
            code: Vec::new(),
            tests: Vec::new(),
            links: Vec::new(),
            comments: Vec::new(),
            steering: Vec::new(),
            contains: Vec::new(),
            siblings: Vec::new(),
            changes: Vec::new(),
            omitted: Vec::new(),
        }
    }

    /// Tells where the item stands, and what that rests on.
    pub fn with_trace(&mut self, trace: &ItemTrace) {
        if trace.state == Rung::None && trace.tests.is_empty() && trace.spans.is_empty() {
            return;
        }
        self.evidence = Some(EvidenceLine {
            state: trace.state,
            flags: trace.flags.clone(),
            weakest: trace.weakest.clone(),
        });
        let spans = trace.spans.iter().map(|span| {
            let symbol = if span.symbol.is_empty() { "" } else { " " };
            let executed = if span.executed { " (executed)" } else { "" };
            let (path, line, end) = (&span.path, span.line, span.end_line);
            format!("{path}:{line}-{end}{symbol}{}{executed}", span.symbol)
        });
        self.code = spans.collect();
        let tests = trace.tests.iter().map(|test| ContextTest {
            name: match test.path.as_str() {
                "" => test.name.clone(),
                path => format!("{} ({path}:{})", test.name, test.line),
            },
            standing: test.standing,
            said: excerpt(&test.message, SAID_CHARS),
        });
        self.tests = tests.collect();
    }

    /// Tells the steps from here that take evidence.
    pub fn with_demands(&mut self, workflow: &Workflow, status: &str) {
        let demands = workflow.demands(status);
        let words = demands.map(|(to, demand)| format!("{to} demands evidence {}", demand.name()));
        self.demands = words.collect();
    }

    /// Says that something was left out.
    pub fn note(&mut self, part: Part, count: usize, get: String) {
        if count == 0 {
            return;
        }
        match self.omitted.iter_mut().find(|known| known.part == part) {
            Some(known) => {
                known.count += count;
                known.get = get;
            }
            None => self.omitted.push(Omitted { part, count, get }),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_understood_or_told_what_is_allowed() {
        let wish = |purpose: &str, max_tokens, hash: Option<&str>| {
            let request = ContextRequest {
                purpose: Some(purpose.into()),
                max_tokens,
                if_changed: hash.map(str::to_owned),
            };
            request.understand()
        };
        assert_eq!(wish("Review", None, Some("4-ab")).unwrap().known.unwrap().1, 4);
        assert_eq!(wish("tst", None, None).unwrap_err().faults[0].field, "purpose");
        for odd in [0, -1, 100_000_000] {
            let refusal = wish("test", Some(odd), None).unwrap_err();
            assert_eq!(refusal.faults[0].field, "max_tokens");
        }
        assert_eq!(
            wish("test", None, Some("abc")).unwrap_err().faults[0].field,
            "if_changed"
        );
    }
}
