//! From lines to rows: a heading or a bullet begins one, and what follows belongs to it.

use super::{BETWEEN, CRITERIA, REQUIREMENTS, unescaped};
use crate::transfer::rows::Row;
use crate::transfer::{Input, broken_file, refused_at};
use spexus_domain::item::Priority;
use spexus_domain::{AnyId, Code, Kind, Refusal, Ruled};
use std::io::BufRead as _;

/// Reads rows one at a time.
pub(super) struct Parser {
    input: Input,
    line: u64,
    /// The row that is still being read, and its text so far.
    open: Option<(Row, Vec<String>)>,
    /// What stories and bullets belong to: the names of the last epic and story.
    epic: Option<String>,
    story: Option<String>,
    /// What bullets are now.
    list: Option<Kind>,
    done: bool,
}

impl Iterator for Parser {
    type Item = Ruled<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            let mut text = Vec::new();
            let read = self.input.read_until(b'\n', &mut text);
            match read {
                Err(error) => {
                    self.done = true;
                    return Some(Err(broken_file(&error)));
                }
                Ok(0) => self.done = true,
                Ok(_) => {
                    self.line += 1;
                    let Ok(text) = String::from_utf8(text) else {
                        self.done = true;
                        let refusal = Refusal::field(
                            Code::InvalidParams,
                            "line",
                            "is not UTF-8 text",
                            "Markdown in UTF-8",
                        );
                        return Some(Err(refused_at(self.line, refusal)));
                    };
                    let line = text.strip_suffix('\n').unwrap_or(&text);
                    match self.take(line.trim_start_matches('\u{feff}')) {
                        Ok(None) => {}
                        Ok(Some(row)) => return Some(Ok(row)),
                        Err(refusal) => return Some(Err(refused_at(self.line, refusal))),
                    }
                }
            }
        }
        let open = self.open.take()?;
        let line = open.0.line;
        Some(close(open).map_err(|refusal| refused_at(line, refusal)))
    }
}

impl Parser {
    pub(super) fn new(input: Input) -> Self {
        Self {
            input,
            line: 0,
            open: None,
            epic: None,
            story: None,
            list: None,
            done: false,
        }
    }

    /// Takes one line; a line that begins something ends what was open.
    fn take(&mut self, line: &str) -> Ruled<Option<Row>> {
        let begun = if let Some(title) = line.strip_prefix("# ") {
            Some(self.chapter(title))
        } else if let Some(title) = line.strip_prefix("## ") {
            Some(self.section(title)?)
        } else if let Some(title) = line.strip_prefix("### ") {
            self.heading(title)?;
            None
        } else if let (Some(kind), Some(text)) = (self.list, line.strip_prefix("- ")) {
            Some(self.bullet(kind, text)?)
        } else {
            self.text(line)?;
            return Ok(None);
        };
        let ended = std::mem::replace(&mut self.open, begun);
        ended.map(close).transpose()
    }

    fn chapter(&mut self, title: &str) -> (Row, Vec<String>) {
        let (reference, title) = named(title);
        let kind = reference
            .as_ref()
            .and_then(AnyId::kind)
            .filter(|kind| *kind == Kind::SteeringDocument);
        let row = self.row(kind.unwrap_or(Kind::Epic), reference, title, None);
        self.epic = Some(row.name.clone());
        (self.story, self.list) = (None, None);
        (row, vec![])
    }

    fn section(&mut self, title: &str) -> Ruled<(Row, Vec<String>)> {
        let Some(epic) = self.epic.clone() else {
            return Err(Refusal::field(
                Code::InvalidParams,
                "heading",
                "a story stands before its epic",
                "`# Epic` first",
            ));
        };
        let (reference, title) = named(title);
        let row = self.row(Kind::UserStory, reference, title, Some(epic));
        self.story = Some(row.name.clone());
        self.list = None;
        Ok((row, vec![]))
    }

    fn heading(&mut self, title: &str) -> Ruled<()> {
        self.list = match title.trim() {
            title if title.eq_ignore_ascii_case(CRITERIA) => Some(Kind::AcceptanceCriterion),
            title if title.eq_ignore_ascii_case(REQUIREMENTS) => Some(Kind::Requirement),
            other => {
                let problem = format!("{other:?} is not a list this program knows");
                let allowed =
                    format!("### {CRITERIA} or ### {REQUIREMENTS}; a backslash before # makes it text");
                return Err(Refusal::field(Code::InvalidParams, "heading", problem, allowed));
            }
        };
        if self.story.is_none() {
            return Err(Refusal::field(
                Code::InvalidParams,
                "heading",
                "a list stands outside of a story",
                "`## Story` first",
            ));
        }
        Ok(())
    }

    fn bullet(&mut self, kind: Kind, text: &str) -> Ruled<(Row, Vec<String>)> {
        let (reference, title, text) = bold(text);
        // A plain bullet is the title of a requirement, but the text of a criterion.
        let (title, text) = match (title, kind) {
            (None, Kind::Requirement) if reference.is_none() => (text, None),
            (title, _) => (title, text.filter(|text| !text.is_empty())),
        };
        let row = self.row(kind, reference, title.unwrap_or_default(), self.story.clone());
        Ok((row, text.into_iter().map(str::to_owned).collect()))
    }

    fn row(&self, kind: Kind, reference: Option<AnyId>, title: &str, parent: Option<String>) -> Row {
        // What has no reference gets a name nobody would write, so that what it contains can point to it.
        let name = reference.map_or_else(
            || format!("line {}", self.line),
            |reference| reference.to_string(),
        );
        let mut row = Row {
            line: self.line,
            name,
            kind: Some(kind),
            parent,
            ..Row::default()
        };
        row.patch.title = Some(title.trim().to_owned()).filter(|title| !title.is_empty());
        row
    }

    fn text(&mut self, line: &str) -> Ruled<()> {
        match &mut self.open {
            Some((_, lines)) if self.list.is_some() => {
                lines.push(line.strip_prefix("  ").unwrap_or(line).to_owned());
                Ok(())
            }
            Some((_, lines)) => {
                lines.push(unescaped(line).to_owned());
                Ok(())
            }
            None if line.trim().is_empty() || line.starts_with("<!--") => Ok(()),
            None => Err(Refusal::field(
                Code::InvalidParams,
                "text",
                "stands before the first heading",
                "`# Epic` first",
            )),
        }
    }
}

/// A reference id at the beginning of a title, be it with the key of a project before it, and the rest.
fn named(title: &str) -> (Option<AnyId>, &str) {
    let title = title.trim();
    let (first, rest) = title.split_once(' ').unwrap_or((title, ""));
    match reference(first) {
        Some(reference) => (Some(reference), rest),
        None => (None, title),
    }
}

fn reference(word: &str) -> Option<AnyId> {
    let found = AnyId::parse("reference_id", word).ok();
    found.filter(|id| id.kind().is_some())
}

/// The parts of a bullet: reference, title, and the text beside them.
fn bold(text: &str) -> (Option<AnyId>, Option<&str>, Option<&str>) {
    let Some(inner) = text.strip_prefix("**") else {
        return (None, None, Some(text));
    };
    if let Some((first, rest)) = inner.split_once("**")
        && let Some(reference) = reference(first)
    {
        return (
            Some(reference),
            None,
            Some(rest.strip_prefix(' ').unwrap_or(rest)),
        );
    }
    match inner.trim_end().strip_suffix("**") {
        Some(title) => {
            let (reference, title) = named(title);
            (reference, Some(title), None)
        }
        None => (None, None, Some(text)),
    }
}

/// Ends a row: its facts, if the first line of its text holds them, and the rest as its description.
fn close((mut row, mut lines): (Row, Vec<String>)) -> Ruled<Row> {
    let first = lines.iter().position(|line| !line.trim().is_empty());
    if let Some(at) = first
        && row.kind != Some(Kind::AcceptanceCriterion)
        && take_facts(&mut row, &lines[at])?
    {
        lines.drain(..=at);
    }
    while lines.first().is_some_and(|line| line.trim().is_empty()) {
        lines.remove(0);
    }
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    row.patch.description = Some(lines.join("\n"));
    Ok(row)
}

/// Reads `Status: Draft · Priority: 2`; false when the line is something else.
fn take_facts(row: &mut Row, line: &str) -> Ruled<bool> {
    let facts: Option<Vec<(&str, &str)>> = line
        .trim()
        .split(BETWEEN)
        .map(|fact| fact.split_once(": "))
        .collect();
    let known = ["Status", "Priority", "Type", "Serves", "Assignee"];
    let Some(facts) = facts.filter(|facts| facts.iter().all(|(name, _)| known.contains(name))) else {
        return Ok(false);
    };
    for (name, value) in facts {
        let value = value.trim().to_owned();
        match name {
            "Status" => row.patch.status = Some(value),
            "Priority" => row.patch.priority = Some(Priority::parse("priority", &value)?),
            "Type" => row.patch.requirement_type = Some(value),
            "Serves" => row.patch.acceptance_criterion = Some(Some(value)),
            _ => row.patch.assignee = Some(Some(value)),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Vec<Ruled<Row>> {
        Parser::new(Box::new(std::io::Cursor::new(text.to_owned().into_bytes()))).collect()
    }

    #[test]
    fn headings_and_bullets_become_rows() {
        let text = "# EP-001 Login\n\nStatus: Backlog · Priority: 2\n\nOne.\n\\# not a heading\n\n## Log in\n\n\
                    ### Acceptance criteria\n\n- **AC-001** First line.\n  Second line.\n- It is fast.\n\n\
                    ### Requirements\n\n- **REQ-001 Hash**\n  Status: Draft · Serves: AC-001\n\n  Text.\n- Plain title\n";
        let rows: Vec<Row> = parse(text).into_iter().map(Result::unwrap).collect();
        let shown: Vec<String> = rows
            .iter()
            .map(|row| {
                let (title, text) = (
                    row.patch.title.as_deref().unwrap_or("-"),
                    row.patch.description.as_deref().unwrap_or("-"),
                );
                format!(
                    "{} {} in {:?}: {title} | {text}",
                    row.line,
                    row.name,
                    row.parent.as_deref().unwrap_or("-")
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "1 EP-001 in \"-\": Login | One.\n# not a heading",
                "8 line 8 in \"EP-001\": Log in | ",
                "12 AC-001 in \"line 8\": - | First line.\nSecond line.",
                "14 line 14 in \"line 8\": - | It is fast.",
                "18 REQ-001 in \"line 8\": Hash | Text.",
                "22 line 22 in \"line 8\": Plain title | ",
            ]
        );
        assert_eq!(rows[4].patch.acceptance_criterion, Some(Some("AC-001".into())));
    }

    #[test]
    fn what_is_out_of_place_is_told_with_its_line() {
        let message = |text: &str| parse(text).into_iter().find_map(Result::err).unwrap().message;
        assert_eq!(message("text\n"), "line 1: text: stands before the first heading");
        assert_eq!(
            message("## Story\n"),
            "line 1: heading: a story stands before its epic"
        );
        assert_eq!(
            message("# E\n### Requirements\n"),
            "line 2: heading: a list stands outside of a story"
        );
        assert_eq!(
            message("# E\n## S\n### Notes\n"),
            "line 3: heading: \"Notes\" is not a list this program knows"
        );
        assert_eq!(
            message("# E\nPriority: 9\n"),
            "line 1: priority: \"9\" is not a priority"
        );
    }
}
