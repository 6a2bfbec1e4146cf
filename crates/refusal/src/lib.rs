//! Every "no" the product can say, in one table.
//!
//! A refusal is for someone: a person at a terminal, a script, or a model that wants to try again. So it carries a
//! number that never changes ([`Code`]), a message with the value that caused it, a hint that says what to do next,
//! and, where fields were wrong, one [`Fault`] for each of them. Callers branch on the code; people read the words.
//!
//! The decision that shaped this crate: HTTP statuses and JSON-RPC numbers are columns of the table, not choices made
//! where a refusal is rendered. REST, MCP and the command line therefore cannot disagree about what a refusal means.
//!
//! It knows nothing of requirements, HTTP libraries, JSON or databases, and depends on nothing.

mod table;

pub use table::{Class, Code};

use std::fmt;

/// One refusal, ready to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The row of the table.
    pub code: Code,
    /// What happened, with the value that caused it.
    pub message: String,
    /// What to do next. The table's general hint unless the place that refuses knows better.
    pub hint: String,
    /// The fields at fault, one entry each; empty when no single field is to blame.
    pub faults: Vec<Fault>,
    /// Named facts a program can act on, such as `current_rev` or `retry_after_seconds`.
    pub facts: Vec<(&'static str, String)>,
}

/// One field at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where: `title`, `operations[3].parent`.
    pub field: String,
    /// What was wrong with the value.
    pub problem: String,
    /// What is allowed instead; empty when the problem already says it.
    pub allowed: String,
}

impl Refusal {
    /// A refusal with the table's general hint.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let hint = code.hint().to_owned();
        Self {
            code,
            message: message.into(),
            hint,
            faults: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// A refusal of one field: the message names it too, so that it can be read without the details.
    pub fn field(
        code: Code,
        field: impl Into<String>,
        problem: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        let fault = Fault {
            field: field.into(),
            problem: problem.into(),
            allowed: allowed.into(),
        };
        let message = format!("{}: {}", fault.field, fault.problem);
        Self {
            faults: vec![fault],
            ..Self::new(code, message)
        }
    }

    /// One refusal for all faults found in one input; `None` when there are none.
    pub fn of_faults(code: Code, faults: Vec<Fault>) -> Option<Self> {
        let first = faults.first()?;
        let message = match faults.len() {
            1 => format!("{}: {}", first.field, first.problem),
            n => format!(
                "{n} fields were refused; the first is {}: {}",
                first.field, first.problem
            ),
        };
        Some(Self {
            faults,
            ..Self::new(code, message)
        })
    }

    /// Replaces the general hint by one that fits the case.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Adds a named fact for programs.
    #[must_use]
    pub fn fact(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.facts.push((name, value.to_string()));
        self
    }

    /// Calls a field by the name the sender knows, where several names reach the same place.
    #[must_use]
    pub fn naming(mut self, inner: &str, known: &str) -> Self {
        for fault in self.faults.iter_mut().filter(|fault| fault.field == inner) {
            fault.field = known.to_owned();
        }
        if let Some(rest) = self.message.strip_prefix(inner)
            && rest.starts_with(':')
        {
            self.message = format!("{known}{rest}");
        }
        self
    }

    /// Prefixes every field at fault, for input that is part of a larger one: `operations[3].` + `title`.
    #[must_use]
    pub fn inside(mut self, prefix: &str) -> Self {
        for fault in &mut self.faults {
            fault.field.insert_str(0, prefix);
        }
        if self.faults.is_empty() {
            let problem = self.message.clone();
            let field = prefix.trim_end_matches('.').to_owned();
            self.faults.push(Fault {
                field,
                problem,
                allowed: String::new(),
            });
        }
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({} {})",
            self.message,
            self.code.number(),
            self.code.name()
        )
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_ascending_and_found_again() {
        let numbers: Vec<u16> = Code::ALL.iter().map(|c| c.number()).collect();
        assert!(
            numbers.windows(2).all(|w| w[0] < w[1]),
            "the table is sorted and has no number twice: {numbers:?}"
        );
        for code in Code::ALL {
            assert_eq!(Code::from_number(code.number()), Some(*code));
        }
        assert_eq!(Code::from_number(1000), None);
    }

    #[test]
    fn every_row_is_complete_and_consistent() {
        for code in Code::ALL {
            assert!(
                code.hint().ends_with('.'),
                "{} has a hint that is a sentence",
                code.name()
            );
            assert!((400..=599).contains(&code.http_status()), "{}", code.name());
            let rpc = code.json_rpc();
            let standard = [-32600, -32602, -32603, -32002];
            assert!(
                rpc == i32::from(code.number()) || standard.contains(&rpc),
                "{} → {rpc}",
                code.name()
            );
        }
    }

    #[test]
    fn several_faults_become_one_refusal_that_names_the_first() {
        let fault = |field: &str| Fault {
            field: field.into(),
            problem: "is empty".into(),
            allowed: String::new(),
        };
        let refusal =
            Refusal::of_faults(Code::InvalidParams, vec![fault("title"), fault("priority")]).unwrap();
        assert_eq!(
            refusal.message,
            "2 fields were refused; the first is title: is empty"
        );
        assert_eq!(refusal.faults, [fault("title"), fault("priority")]);
        assert_eq!(
            refusal.to_string(),
            format!("{} (1021 INVALID_PARAMS)", refusal.message)
        );
        assert_eq!(Refusal::of_faults(Code::InvalidParams, vec![]), None);
    }

    #[test]
    fn a_refusal_inside_a_larger_input_says_where() {
        let inner = Refusal::field(Code::InvalidParams, "title", "is empty", "1 to 500 characters");
        assert_eq!(
            inner.inside("operations[3].").faults[0].field,
            "operations[3].title"
        );
        let whole = Refusal::new(Code::ResourceNotFound, "no item REQ-9").inside("operations[1].");
        assert_eq!(whole.faults[0].field, "operations[1]");
    }

    #[test]
    fn a_refusal_says_what_is_known_of_the_case() {
        let refusal = Refusal::field(Code::InvalidParams, "title", "is empty", "1 to 500 characters");
        assert_eq!(refusal.message, "title: is empty");
        assert_eq!(
            refusal.hint,
            Code::InvalidParams.hint(),
            "the table's hint unless another fits"
        );
        assert_eq!(refusal.faults[0].allowed, "1 to 500 characters");
        let better = refusal.hint("Give it a title.").fact("current_rev", 9);
        assert_eq!(better.hint, "Give it a title.");
        assert_eq!(better.facts, [("current_rev", "9".to_owned())]);
        assert_eq!(better.faults.len(), 1, "and nothing else is lost");
    }

    #[test]
    fn a_field_is_called_by_the_name_the_sender_knows() {
        let refusal =
            Refusal::field(Code::InvalidParams, "text", "is empty", "").naming("text", "description");
        assert_eq!(refusal.message, "description: is empty");
        assert_eq!(refusal.faults[0].field, "description");
        let other =
            Refusal::field(Code::InvalidParams, "textual", "is empty", "").naming("text", "description");
        assert_eq!(
            (other.message.as_str(), other.faults[0].field.as_str()),
            ("textual: is empty", "textual")
        );
    }

    #[test]
    fn some_codes_are_special_cases_of_invalid_parameters() {
        let special = |code: &&Code| code.is_invalid_params();
        let codes: Vec<u16> = Code::ALL
            .iter()
            .filter(special)
            .map(|code| code.number())
            .collect();
        assert_eq!(codes, [1021, 1022, 1023, 1027, 1028, 1029, 1048, 1050]);
        assert_eq!(Code::StaleRevision.number(), 1053);
        assert_eq!(Code::StaleRevision.http_status(), 412);
        assert_eq!(Code::ResourceNotFound.class(), Class::Entity);
    }
}
