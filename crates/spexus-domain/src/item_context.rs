//! Everything somebody needs who works on an item, in one answer of a size that is asked for.
//!
//! What does not fit is left out whole, part by part in an order that depends on what the context is for, and each part
//! that was left out says how to get it. Acceptance criteria are never cut: they go as a whole or not at all, after
//! everything else. Only the text of the item itself, the last thing to go, is cut.

use crate::attribute::Attributes;
use crate::item::{Item, Priority};
use crate::text::excerpt;
use crate::{Code, Kind, Reference, Refusal, Ruled, Timestamp, limits, nearest, tokens};
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
    pub const fn order(self) -> [Part; 10] {
        use Part::{
            Changes, Comments, Contains, Criteria, Description, Links, Siblings, Steering, Targets, Texts,
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
    pub reference_id: Reference,
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
            links: Vec::new(),
            comments: Vec::new(),
            steering: Vec::new(),
            contains: Vec::new(),
            siblings: Vec::new(),
            changes: Vec::new(),
            omitted: Vec::new(),
        }
    }

    /// The tokens it has, by our guess.
    pub fn tokens(&self) -> usize {
        cost(self)
    }

    /// Leaves out what does not fit, in the order of the purpose.
    //= specs/spexus-service.md#working-context
    //# A context MUST have no more tokens than asked for: parts MUST be left out in the order of its purpose, and each MUST say how
    //# many there were and how to get them.
    #[must_use]
    pub fn fitted(mut self, purpose: Purpose, max_tokens: usize) -> Self {
        let mut left = self.tokens();
        for part in purpose.order() {
            if left <= max_tokens {
                break;
            }
            let over = left - max_tokens;
            self.leave_out(part, over);
            left = self.tokens();
        }
        // The price of a text is not the sum of those of its pieces.
        while left > max_tokens && self.cut_description(left - max_tokens) {
            left = self.tokens();
        }
        self
    }

    /// Leaves out as much of a part as pays for so many tokens, from its end on.
    fn leave_out(&mut self, part: Part, over: usize) {
        // What is said of it costs, too, unless it is said already.
        let over = over + NOTE_TOKENS;
        let own = self.item.as_ref().map(|item| item.reference_id.to_string());
        let whole = format!(
            "get_context {{id: {}, max_tokens: {}}}",
            own.unwrap_or_default(),
            limits::MAX_CONTEXT_TOKENS
        );
        let above = self
            .within
            .last()
            .map_or_else(String::new, |above| above.id.clone());
        let (count, get) = match part {
            Part::Siblings => (
                drop_last(&mut self.siblings, over),
                format!("get_context {{id: {above}}}"),
            ),
            Part::Changes => (drop_last(&mut self.changes, over), whole),
            Part::Contains => (drop_last(&mut self.contains, over), whole),
            Part::Steering => {
                let ids: Vec<String> = self.steering.iter().map(|one| one.id.clone()).collect();
                let count = drop_last(&mut self.steering, over);
                (count, items(&ids[ids.len() - count..]))
            }
            Part::Targets => {
                let texts = self.links.iter_mut().map(|link| &mut link.says);
                (empty_last(texts, over), whole)
            }
            Part::Texts => {
                let ids: Vec<String> = self.within.iter().map(|one| one.id.clone()).collect();
                // The story is nearer than the epic.
                let texts = self.within.iter_mut().rev().map(|one| &mut one.description);
                let count = empty_last(texts, over);
                (count, items(&ids[..count.min(ids.len())]))
            }
            Part::Comments => (drop_last(&mut self.comments, over), whole),
            Part::Links => (drop_last(&mut self.links, over), whole),
            Part::Criteria => {
                // The one it serves goes last.
                self.criteria.sort_by_key(|one| !one.served);
                let ids: Vec<String> = self.criteria.iter().map(|one| one.id.clone()).collect();
                let count = drop_last(&mut self.criteria, over);
                (count, items(&ids[ids.len() - count..]))
            }
            Part::Description => {
                self.cut_description(over);
                return;
            }
        };
        self.note(part, count, get);
    }

    /// Cuts the text of the item; tells whether there was something to cut.
    fn cut_description(&mut self, over: usize) -> bool {
        let Some(item) = &mut self.item else { return false };
        let all: Vec<char> = item.description.chars().collect();
        let (mut shown, mut saved) = (all.len(), 0);
        // By pieces, because the price of a text is not the sum of those of its characters.
        while saved < over && shown > 0 {
            let from = shown.saturating_sub(CUT_CHARS);
            let piece: String = all[from..shown].iter().collect();
            saved += tokens::estimate(&piece).saturating_sub(1);
            shown = from;
        }
        item.description = all[..shown].iter().collect();
        let get = format!("get_item {{id: {}, offset: {shown}}}", item.reference_id);
        self.note(Part::Description, all.len() - shown, get);
        shown < all.len()
    }

    /// The context as text for people and models. What people wrote is quoted below the name of what it is from.
    pub fn words(&self) -> String {
        let Some(item) = &self.item else {
            return format!("Nothing changed since {}.\n", self.hash);
        };
        let mut text = format!("# {} {} (revision {}", item.reference_id, item.title, item.rev);
        for more in [&item.status, &item.requirement_type].into_iter().flatten() {
            text.push_str(&format!(", {more}"));
        }
        if let Some(priority) = item.priority {
            text.push_str(&format!(", P{}", priority.number()));
        }
        if let Some(assignee) = &item.assignee {
            text.push_str(&format!(", @{assignee}"));
        }
        text.push_str(")\n");
        if let Some(held) = &self.held {
            text.push_str(&format!("Held: {held}\n"));
        }
        quote(&mut text, &item.description);
        for (name, value) in &item.attributes {
            text.push_str(&format!("{name}: {value}\n"));
        }
        let mut section = |title: &str, entries: Vec<(String, &str)>| {
            if !entries.is_empty() {
                text.push_str(&format!("\n## {title}\n"));
            }
            for (line, words) in entries {
                text.push_str(&format!("- {line}\n"));
                quote(&mut text, words);
            }
        };
        let served = |one: &Criterion| if one.served { " (the one it serves)" } else { "" };
        let criteria = self.criteria.iter();
        section(
            "Within",
            self.within
                .iter()
                .map(|one| (one.line.clone(), one.description.as_str()))
                .collect(),
        );
        section(
            "Acceptance criteria",
            criteria
                .map(|one| (format!("{}{}", one.id, served(one)), one.text.as_str()))
                .collect(),
        );
        let suspect = |one: &ContextLink| if one.suspect { " (suspect)" } else { "" };
        let links = self.links.iter();
        section(
            "Links",
            links
                .map(|one| {
                    (
                        format!("{} {}{}", one.reads, one.line, suspect(one)),
                        one.says.as_str(),
                    )
                })
                .collect(),
        );
        let comments = self.comments.iter();
        section(
            "Open comments",
            comments
                .map(|one| (format!("{} on {}", one.by, one.on), one.text.as_str()))
                .collect(),
        );
        let steering = self.steering.iter();
        section(
            "Guidance",
            steering
                .map(|one| (format!("{} {}", one.id, one.title), one.text.as_str()))
                .collect(),
        );
        let lines = |lines: &'_ [String]| lines.iter().map(|line| (line.clone(), "")).collect();
        section("Contains", lines(&self.contains));
        section("Siblings", lines(&self.siblings));
        let change =
            |one: &ContextChange| format!("revision {} by {} at {}: {}", one.rev, one.by, one.at, one.what);
        section(
            "Changes",
            self.changes.iter().map(|one| (change(one), "")).collect(),
        );
        let left_out = |one: &Omitted| format!("{} of {:?}: {}", one.count, one.part, one.get);
        section(
            "Left out",
            self.omitted.iter().map(|one| (left_out(one), "")).collect(),
        );
        text
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

/// What people wrote, so that nobody takes it for words of ours.
fn quote(text: &mut String, words: &str) {
    for line in words.lines() {
        text.push_str("  > ");
        text.push_str(line);
        text.push('\n');
    }
}

/// What a note about a part that was left out costs.
const NOTE_TOKENS: usize = 45;
/// A text is cut by pieces of this length.
const CUT_CHARS: usize = 40;
/// Ids that a note names at most.
const MAX_NAMED_IDS: usize = 5;

fn items(ids: &[String]) -> String {
    let more = if ids.len() > MAX_NAMED_IDS { ", …" } else { "" };
    let named: Vec<&str> = ids.iter().take(MAX_NAMED_IDS).map(String::as_str).collect();
    format!("get_items {{ids: [{}{more}]}}", named.join(", "))
}

fn cost<T: Serialize>(value: &T) -> usize {
    serde_json::to_string(value).map_or(0, |text| tokens::estimate(&text))
}

/// Drops entries from the end until they pay for so many tokens; tells how many.
fn drop_last<T: Serialize>(list: &mut Vec<T>, over: usize) -> usize {
    let (mut saved, mut dropped) = (0, 0);
    while saved < over
        && let Some(last) = list.pop()
    {
        saved += cost(&last).saturating_sub(1);
        dropped += 1;
    }
    dropped
}

/// Empties texts from the last on until they pay for so many tokens; tells how many.
fn empty_last<'a>(texts: impl DoubleEndedIterator<Item = &'a mut String>, over: usize) -> usize {
    let (mut saved, mut emptied) = (0, 0);
    for text in texts.rev().filter(|text| !text.is_empty()) {
        if saved >= over {
            break;
        }
        saved += cost(text).saturating_sub(1);
        text.clear();
        emptied += 1;
    }
    emptied
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> ItemContext {
        let words = "The gate MUST open within a second after the passkey was shown. ";
        let lines = |prefix: &str| {
            (1..30)
                .map(|at| format!("{prefix}-{at:03} [Draft] P2: {words}"))
                .collect()
        };
        ItemContext {
            item: Some(Subject {
                reference_id: Reference::of_kind(Kind::Requirement, 7),
                project: "default".into(),
                kind: Kind::Requirement,
                rev: 3,
                title: "Open the gate".into(),
                description: words.repeat(40),
                status: Some("Draft".into()),
                priority: None,
                requirement_type: None,
                assignee: None,
                attributes: Attributes::new(),
            }),
            within: ["EP-001", "US-001"]
                .map(|id| Container {
                    line: format!("{id}: Gates"),
                    description: words.repeat(10),
                    id: id.to_owned(),
                })
                .to_vec(),
            criteria: (1..6)
                .map(|at| Criterion {
                    id: format!("AC-{at:03}"),
                    served: at == 3,
                    text: words.to_owned(),
                })
                .collect(),
            links: (1..9)
                .map(|at| ContextLink {
                    reads: "depends_on".into(),
                    line: format!("REQ-{at:03} [Active] P1: Locks"),
                    says: words.to_owned(),
                    suspect: false,
                })
                .collect(),
            steering: vec![Guidance {
                id: "STD-001".into(),
                title: "Style".into(),
                text: words.repeat(10),
            }],
            siblings: lines("REQ"),
            unchanged: false,
            ..ItemContext::unchanged("3-abc".into())
        }
    }

    //= specs/spexus-service.md#working-context
    //= type=test
    //# A context MUST have no more tokens than asked for: parts MUST be left out in the order of its purpose, and each MUST say how
    //# many there were and how to get them.
    #[test]
    fn what_does_not_fit_goes_in_the_order_of_the_purpose_and_says_so() {
        let whole = context();
        assert_eq!(whole.clone().fitted(Purpose::Implement, 20_000), whole);
        for purpose in Purpose::ALL {
            for max in [limits::MIN_CONTEXT_TOKENS, 900, 1_500, 2_500, 4_000] {
                let fitted = context().fitted(purpose, max);
                assert!(fitted.tokens() <= max, "{purpose:?} {max}: {}", fitted.tokens());
                let order = purpose.order();
                let place = |part: Part| order.iter().position(|one| *one == part).unwrap();
                let places: Vec<usize> = fitted.omitted.iter().map(|one| place(one.part)).collect();
                assert!(places.is_sorted(), "{purpose:?}: {:?}", fitted.omitted);
                // What is there is there whole.
                for criterion in &fitted.criteria {
                    assert!(whole.criteria.contains(criterion), "{criterion:?}");
                }
            }
        }
        let fitted = context().fitted(Purpose::Implement, 1_500);
        let siblings = &fitted.omitted[0];
        assert_eq!((siblings.part, siblings.count), (Part::Siblings, 29));
        assert_eq!(siblings.get, "get_context {id: US-001}");
        assert_eq!(fitted.criteria.len(), 5, "criteria stay when others can go");
        let least = context().fitted(Purpose::Implement, limits::MIN_CONTEXT_TOKENS);
        let item = least.item.unwrap();
        let last = least.omitted.last().unwrap();
        let shown = item.description.chars().count();
        assert_eq!(last.get, format!("get_item {{id: REQ-007, offset: {shown}}}"));
    }

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
