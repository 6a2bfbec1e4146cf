//! A working context as text.

use super::{ContextChange, ContextLink, Criterion, ItemContext, Omitted};

impl ItemContext {
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
        if let Some(evidence) = &self.evidence {
            let stands = format!("{}. {}", evidence.state.name(), evidence.weakest);
            section("Evidence", vec![(stands.trim_end().to_owned(), "")]);
        }
        section(
            "Next steps",
            self.demands.iter().map(|line| (line.clone(), "")).collect(),
        );
        section("Code", self.code.iter().map(|line| (line.clone(), "")).collect());
        let tests = self.tests.iter();
        section(
            "Tests",
            tests
                .map(|one| (format!("{} {:?}", one.name, one.standing), one.said.as_str()))
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
}

/// What people wrote, so that nobody takes it for words of ours.
fn quote(text: &mut String, words: &str) {
    for line in words.lines() {
        text.push_str("  > ");
        text.push_str(line);
        text.push('\n');
    }
}
