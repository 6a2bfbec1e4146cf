//! Plans: a specification as agents and people write it in Markdown, taken apart into epics, stories, criteria and requirements.
//!
//! Headings are containers: the first one sets the level of epics, one level below are stories, below those are requirements
//! or the sections `Acceptance criteria` and `Requirements`. A heading that begins with `Epic:`, `Story:` or `Requirement:`
//! says itself what it is. Lines of a list that oblige something are criteria where they begin with a condition (WHEN, IF,
//! WHILE, WHERE, GIVEN) and requirements otherwise; a section overrules that. Everything else is the text of what it stands
//! below. What makes no sense is told with its line, all of it at once.

use crate::text::{Faults, excerpt};
use crate::{Kind, Refusal, Ruled, limits};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A plan as it is sent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanInput {
    /// The specification, in Markdown.
    pub markdown: String,
    /// The epic or story everything goes into. Without it the first heading is an epic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
    /// The project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Tell what would be made, and make nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// What for; it is kept with the changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
}

/// What came of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct PlanResult {
    /// Whether nothing was made because only a trial was asked for.
    pub dry_run: bool,
    /// What stands in which line, in their order.
    pub items: Vec<PlannedItem>,
}

/// A line and the item made of it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct PlannedItem {
    /// The line it begins in, counting from 1.
    pub line: usize,
    /// Its kind.
    pub kind: Kind,
    /// Its id; in a trial the one it would have now.
    pub id: String,
    /// Its title, or how its text begins.
    pub title: String,
}

/// A piece of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanNode {
    /// The line it begins in, counting from 1.
    pub line: usize,
    /// What it is.
    pub kind: Kind,
    /// Its title; a criterion has none.
    pub title: String,
    /// Its text.
    pub text: String,
    /// What contains it, by its place; none for what goes where the plan goes.
    pub parent: Option<usize>,
    /// The criterion a requirement serves, by its place.
    pub serves: Option<usize>,
}

/// Takes a plan apart; `under` is the kind of what it goes into.
//= specs/spexus-service.md#plans
//# Headings, stories and lines that oblige something MUST become epics, user stories, acceptance criteria and requirements; what
//# makes no sense MUST be refused with its line, all of it at once.
pub fn parse(markdown: &str, under: Option<Kind>) -> Ruled<Vec<PlanNode>> {
    let mut reader = Reader::new(under);
    for (at, line) in markdown.lines().enumerate() {
        reader.line(at + 1, line);
    }
    reader.finish()
}

/// What lines below a heading are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// What they say themselves.
    Any,
    Criteria,
    Requirements,
    /// Nothing: they are text.
    Text,
}

struct Reader {
    nodes: Vec<PlanNode>,
    faults: Faults,
    under: Option<Kind>,
    /// The level of the first heading.
    base: Option<usize>,
    epic: Option<usize>,
    story: Option<usize>,
    requirement: Option<usize>,
    section: Section,
    /// What further text belongs to.
    open: Option<usize>,
    /// Whether the line before was of a list, so that what is indented goes on with it.
    in_list: bool,
    in_code: bool,
    /// Whether something stands below nothing.
    is_misplaced: bool,
}

impl Reader {
    fn new(under: Option<Kind>) -> Self {
        Self {
            nodes: Vec::new(),
            faults: Faults::default(),
            under,
            base: None,
            epic: None,
            story: None,
            requirement: None,
            section: Section::Any,
            open: None,
            in_list: false,
            in_code: false,
            is_misplaced: false,
        }
    }

    fn line(&mut self, at: usize, line: &str) {
        let plain = line.trim();
        if plain.starts_with("```") || plain.starts_with("~~~") {
            self.in_code = !self.in_code;
            return self.text(line);
        }
        if self.in_code {
            return self.text(line);
        }
        if let Some((level, title)) = heading(plain) {
            self.in_list = false;
            return self.heading(at, level, title);
        }
        let indented = line.starts_with("  ") || line.starts_with('\t');
        match listed(plain) {
            Some(words) if !(indented && self.in_list) => self.listed(at, words, line),
            _ if plain.is_empty() => self.text(""),
            _ => {
                if !indented {
                    self.in_list = false;
                    self.open = self.requirement.or(self.story).or(self.epic);
                }
                self.text(if indented { plain } else { line });
            }
        }
    }

    fn heading(&mut self, at: usize, level: usize, title: &str) {
        let base = *self.base.get_or_insert(level);
        let depth = level.saturating_sub(base)
            + match self.under {
                Some(Kind::Epic) => 1,
                Some(Kind::UserStory) => 2,
                _ => 0,
            };
        let (said, title) = said(title);
        if let Some(section) = section(title)
            && said.is_none()
        {
            self.section = section;
            self.open = self.requirement.or(self.story).or(self.epic);
            return;
        }
        let kind = said.unwrap_or(match depth {
            0 => Kind::Epic,
            1 => Kind::UserStory,
            _ => Kind::Requirement,
        });
        self.section = Section::Any;
        match kind {
            Kind::Epic => {
                self.epic = self.add(at, kind, title, None);
                (self.story, self.requirement) = (None, None);
            }
            Kind::UserStory => {
                self.story = self.add(at, kind, title, self.epic);
                self.requirement = None;
            }
            _ => self.requirement = self.add(at, Kind::Requirement, title, self.story),
        }
    }

    fn listed(&mut self, at: usize, words: &str, line: &str) {
        let is_condition = CONDITIONS.iter().any(|word| begins_with(words, word));
        let obliges = words
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| OBLIGATIONS.contains(&word));
        let kind = match self.section {
            Section::Criteria => Some(Kind::AcceptanceCriterion),
            Section::Requirements => Some(Kind::Requirement),
            Section::Text => None,
            Section::Any if !obliges => None,
            Section::Any if is_condition => Some(Kind::AcceptanceCriterion),
            Section::Any => Some(Kind::Requirement),
        };
        let Some(kind) = kind else {
            self.open = self.requirement.or(self.story).or(self.epic);
            return self.text(line);
        };
        self.in_list = true;
        let words = words.trim_start_matches("[ ] ").trim_start_matches("[x] ");
        let made = self.add(at, kind, words, self.story);
        if let (Kind::AcceptanceCriterion, Some(made), Some(of)) = (kind, made, self.requirement) {
            self.nodes[of].serves.get_or_insert(made);
        }
        self.open = made;
    }

    fn add(&mut self, line: usize, kind: Kind, words: &str, parent: Option<usize>) -> Option<usize> {
        let needed = kind.rules().parent;
        if needed.is_some() && parent.is_none() && self.under != needed {
            let wanted = needed.map_or("", |kind| kind.rules().label);
            let problem = format!(
                "line {line}: {} has no {wanted} above it: {:?}",
                kind.rules().label,
                excerpt(words, 60)
            );
            self.faults.add(
                "markdown",
                problem,
                format!("a heading for the {wanted}, or `under`"),
            );
            self.is_misplaced = true;
            return None;
        }
        let is_long = words.chars().count() > limits::MAX_TITLE_CHARS;
        let (title, text) = match kind {
            Kind::AcceptanceCriterion => (String::new(), words.to_owned()),
            _ if is_long => (excerpt(words, limits::MAX_TITLE_CHARS), words.to_owned()),
            _ => (words.to_owned(), String::new()),
        };
        self.nodes.push(PlanNode {
            line,
            kind,
            title,
            text,
            parent,
            serves: None,
        });
        self.open = Some(self.nodes.len() - 1);
        self.open
    }

    fn text(&mut self, line: &str) {
        let Some(open) = self.open else { return };
        let text = &mut self.nodes[open].text;
        if text.is_empty() && line.trim().is_empty() {
            return;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(line);
    }

    fn finish(mut self) -> Ruled<Vec<PlanNode>> {
        for node in &mut self.nodes {
            node.text.truncate(node.text.trim_end().len());
            if node.text.chars().count() > limits::MAX_DESCRIPTION_CHARS {
                let problem = format!("line {}: its text is too long", node.line);
                self.faults.add(
                    "markdown",
                    problem,
                    format!("up to {} characters", limits::MAX_DESCRIPTION_CHARS),
                );
            }
        }
        if self.nodes.is_empty() && !self.is_misplaced {
            self.faults.add(
                "markdown",
                "there is no heading and no obligation in it",
                "# Epic, ## Story, - WHEN … THEN … SHALL …",
            );
        }
        if self.nodes.len() > limits::MAX_BATCH_OPERATIONS {
            let problem = format!("makes {} items", self.nodes.len());
            self.faults.add(
                "markdown",
                problem,
                format!("up to {}; import the rest after it", limits::MAX_BATCH_OPERATIONS),
            );
        }
        self.faults
            .refuse()
            .map_err(|refusal: Refusal| refusal.hint("Nothing was made. Lines count from 1."))?;
        Ok(self.nodes)
    }
}

/// Words a criterion begins with.
const CONDITIONS: [&str; 10] = [
    "WHEN",
    "IF",
    "WHILE",
    "WHERE",
    "GIVEN",
    "КОГДА",
    "ЕСЛИ",
    "ПОКА",
    "ГДЕ",
    "ДАНО",
];
/// Words that oblige.
const OBLIGATIONS: [&str; 9] = [
    "SHALL",
    "MUST",
    "SHOULD",
    "MAY",
    "ДОЛЖЕН",
    "ДОЛЖНА",
    "ДОЛЖНО",
    "ДОЛЖНЫ",
    "THEN",
];

/// Whether a text begins with a word, in any letter case.
fn begins_with(text: &str, word: &str) -> bool {
    let first = text
        .split(|c: char| !c.is_alphanumeric())
        .find(|one| !one.is_empty());
    first.is_some_and(|first| first.to_uppercase() == word)
}

/// `## Title` with its level.
fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let is_one = (1..=6).contains(&level) && title.starts_with([' ', '\t']);
    is_one.then(|| (level, title.trim().trim_end_matches('#').trim_end()))
}

/// What stands behind the sign of a list.
fn listed(line: &str) -> Option<&str> {
    let behind = line
        .strip_prefix("- ")
        .or_else(|| line.strip_prefix("* "))
        .or_else(|| line.strip_prefix("+ "));
    let numbered = || {
        let (number, rest) = line.split_once(['.', ')'])?;
        let is_number = !number.is_empty() && number.len() <= 4 && number.chars().all(|c| c.is_ascii_digit());
        rest.strip_prefix(' ').filter(|_| is_number)
    };
    behind
        .or_else(numbered)
        .map(str::trim)
        .filter(|words| !words.is_empty())
}

/// What a heading says it is, and the rest: `Story 3: Title`.
fn said(title: &str) -> (Option<Kind>, &str) {
    for (name, kind) in [
        ("epic", Kind::Epic),
        ("user story", Kind::UserStory),
        ("story", Kind::UserStory),
        ("requirement", Kind::Requirement),
    ] {
        let Some(head) = title
            .get(..name.len())
            .filter(|head| head.eq_ignore_ascii_case(name))
        else {
            continue;
        };
        let rest = title[head.len()..].trim_start();
        let rest = rest
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
            .trim_start();
        if let Some(rest) = rest.strip_prefix([':', '—', '–', '-'])
            && !rest.trim().is_empty()
        {
            return (Some(kind), rest.trim());
        }
    }
    (None, title)
}

/// The section a heading begins.
fn section(title: &str) -> Option<Section> {
    match title.trim_end_matches(':').to_lowercase().as_str() {
        "acceptance criteria" | "criteria" | "критерии приёмки" | "критерии приемки" => {
            Some(Section::Criteria)
        }
        "requirements" | "functional requirements" | "требования" => Some(Section::Requirements),
        "introduction" | "overview" | "notes" | "background" | "description" => Some(Section::Text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `line kind title | text ^parent =serves` of every node.
    fn check(markdown: &str, under: Option<Kind>, expect: &[&str]) {
        let nodes = parse(markdown, under).unwrap();
        let shown = |node: &PlanNode| {
            let parent = node
                .parent
                .map_or(String::new(), |at| format!(" ^{}", nodes[at].line));
            let serves = node
                .serves
                .map_or(String::new(), |at| format!(" ={}", nodes[at].line));
            format!(
                "{} {} {}|{}{parent}{serves}",
                node.line,
                node.kind.rules().prefix,
                node.title,
                node.text
            )
        };
        assert_eq!(nodes.iter().map(shown).collect::<Vec<_>>(), expect);
    }

    //= specs/spexus-service.md#plans
    //= type=test
    //# Headings, stories and lines that oblige something MUST become epics, user stories, acceptance criteria and requirements; what
    //# makes no sense MUST be refused with its line, all of it at once.
    #[test]
    fn a_plan_is_taken_apart() {
        check(
            "# Gates\nWhy they are.\n\n## Open by key\nAs a guest.\n\n- WHEN the key fits THEN the gate SHALL open\n  within a second.\n- The gate MUST log it.\n- merely a note\n",
            None,
            &[
                "1 EP Gates|Why they are.",
                "4 US Open by key|As a guest.\n\n- merely a note ^1",
                "7 AC |WHEN the key fits THEN the gate SHALL open\nwithin a second. ^4",
                "9 REQ The gate MUST log it.| ^4",
            ],
        );
        check(
            "## Epic: Doors\n### Story 1: In\n#### Close\nSoon.\n1. WHEN it rains THEN it SHALL close\n#### Acceptance criteria\n- It closes\n#### Requirements\n- Of steel\n",
            None,
            &[
                "1 EP Doors|",
                "2 US In| ^1",
                "3 REQ Close|Soon. ^2 =5",
                "5 AC |WHEN it rains THEN it SHALL close ^2",
                "7 AC |It closes ^2",
                "9 REQ Of steel| ^2",
            ],
        );
        check(
            "# In\n- It MUST open\n",
            Some(Kind::Epic),
            &["1 US In|", "2 REQ It MUST open| ^1"],
        );
        check(
            "- It MUST open\n",
            Some(Kind::UserStory),
            &["1 REQ It MUST open|"],
        );
        check(
            "# A\n```\n# no heading\n- no MUST\n```\n",
            None,
            &["1 EP A|```\n# no heading\n- no MUST\n```"],
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_every_line() {
        let refusal = parse("- It MUST open\n\n- WHEN it rains THEN it SHALL close\n", None).unwrap_err();
        let lines: Vec<&str> = refusal.faults.iter().map(|fault| &fault.problem[..7]).collect();
        assert_eq!(lines, ["line 1:", "line 3:"]);
        assert!(parse("", None).is_err() && parse("only words", None).is_err());
        let many = format!("# E\n## S\n{}", "- It MUST open\n".repeat(499));
        assert!(parse(&many, None).unwrap_err().faults[0].problem.contains("501"));
    }
}
