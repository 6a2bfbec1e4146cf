//! The small marks that stand for one fact each, alike on every page: reference, status, priority, person, icon. Markup made
//! here is the only one that templates do not escape.

use crate::asset;
use crate::texts::Texts;
use spexus_domain::Kind;
use spexus_domain::item::Priority;
use std::fmt;

/// Markup that is already safe to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Markup(pub(crate) String);

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl askama::filters::HtmlSafe for Markup {}

/// Text as HTML shows it, also between quotes.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// A picture of the sprite, for eyes only: its words stand beside it.
pub(crate) fn icon(name: &str) -> Markup {
    Markup(format!(
        "<svg class=\"i\" aria-hidden=\"true\"><use href=\"{}#{}\"/></svg>",
        asset::address("icons.svg"),
        escaped(name)
    ))
}

/// The look and the glyph of a status: of the shipped ones their own, of all others that of work under way.
pub(crate) fn status_look(name: &str) -> (&'static str, &'static str) {
    match name {
        "Backlog" => ("backlog", "s-backlog"),
        "Draft" => ("draft", "s-draft"),
        "Active" => ("active", "s-active"),
        "Done" => ("done", "s-done"),
        "Cancelled" => ("cancelled", "s-cancelled"),
        "Obsolete" => ("obsolete", "s-obsolete"),
        _ => ("progress", "s-progress"),
    }
}

/// Glyph and word of a status.
pub(crate) fn status(name: &str) -> Markup {
    let (look, glyph) = status_look(name);
    Markup(format!(
        "<span class=\"st\" data-st=\"{look}\">{}{}</span>",
        icon(glyph),
        escaped(name)
    ))
}

/// The word of a priority.
pub(crate) fn priority_word(t: &Texts, priority: Priority) -> &'static str {
    match priority.number() {
        1 => t.critical,
        2 => t.high,
        3 => t.medium,
        _ => t.low,
    }
}

/// The glyph of a priority, with its word for those who do not see it.
pub(crate) fn priority(t: &Texts, priority: &Priority) -> Markup {
    let (number, word) = (priority.number(), priority_word(t, *priority));
    Markup(format!(
        "<span class=\"pr\" data-p=\"{number}\" title=\"{word}\">{}<span class=\"sr\">{word}</span></span>",
        icon(&format!("p{number}"))
    ))
}

/// A person, by the first letters of the name and the name.
pub(crate) fn person(name: &str) -> Markup {
    Markup(format!(
        "<span class=\"who\">{}{}</span>",
        avatar(name),
        escaped(name)
    ))
}

/// The first letters of a name.
pub(crate) fn avatar(name: &str) -> Markup {
    let mut initials = name.chars().filter(|c| c.is_alphanumeric());
    let first: String = initials.next().into_iter().flat_map(char::to_uppercase).collect();
    let second: String = initials.next().into_iter().collect();
    Markup(format!(
        "<span class=\"av\" aria-hidden=\"true\">{}</span>",
        escaped(&format!("{first}{second}"))
    ))
}

/// The word for a kind of item.
pub(crate) fn kind_word(t: &Texts, kind: Kind) -> &'static str {
    match kind {
        Kind::Epic => t.epic,
        Kind::UserStory => t.user_story,
        Kind::AcceptanceCriterion => t.acceptance_criterion,
        Kind::Requirement => t.requirement,
        Kind::SteeringDocument => t.steering_document,
    }
}

/// The same for several.
pub(crate) fn kinds_word(t: &Texts, kind: Kind) -> &'static str {
    match kind {
        Kind::Epic => t.epics,
        Kind::UserStory => t.user_stories,
        Kind::AcceptanceCriterion => t.acceptance_criteria,
        Kind::Requirement => t.requirements,
        Kind::SteeringDocument => t.steering_documents,
    }
}
