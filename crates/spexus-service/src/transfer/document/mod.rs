//! Markdown, for readers: a chapter for each epic, a section for each story, lists of criteria and requirements.
//!
//! ```text
//! # EP-001 Login
//!
//! Status: Backlog · Priority: 2 · Assignee: kim
//!
//! What the epic is about.
//!
//! ## US-001 Log in with a password
//!
//! Status: Draft · Priority: 3
//!
//! ### Acceptance criteria
//!
//! - **AC-001** A wrong password is refused.
//!
//! ### Requirements
//!
//! - **REQ-001 Passwords are hashed**
//!   Status: Draft · Priority: 1 · Type: Functional · Serves: AC-001
//!
//!   The text, indented.
//! ```
//!
//! Steering documents stand behind the epics as chapters of their own. Reading it back, a reference id that exists
//! changes that item, one that does not makes a new one, and a heading or bullet without one makes a new one too. A line
//! of text that would read as a heading is written with a backslash before it.

mod export;
mod import;
mod parse;

pub use export::export;
pub use import::import;

/// The headings above lists.
const CRITERIA: &str = "Acceptance criteria";
const REQUIREMENTS: &str = "Requirements";

/// What joins the facts of an item on one line.
const BETWEEN: &str = " · ";

/// Keeps a line of text from reading as a heading.
fn escaped(line: &str) -> String {
    if line.trim_start_matches('\\').starts_with('#') {
        format!("\\{line}")
    } else {
        line.to_owned()
    }
}

/// The line as it was written.
fn unescaped(line: &str) -> &str {
    match line.strip_prefix('\\') {
        Some(rest) if rest.trim_start_matches('\\').starts_with('#') => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping_is_undone_whatever_the_line() {
        for line in [
            "# a",
            "\\# a",
            "\\\\# a",
            "a # b",
            "\\a",
            "",
            "#",
            "####### seven",
        ] {
            assert_eq!(unescaped(&escaped(line)), line);
            assert!(!escaped(line).starts_with('#'));
        }
    }
}
