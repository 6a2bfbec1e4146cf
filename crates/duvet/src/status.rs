//! How far a requirement is fulfilled, from the bytes of it that citations cover.

use crate::citation::Kind;
use crate::interval::IntervalSet;
use serde::{Deserialize, Serialize};

/// Bytes of one requirement, by what covers them. The names are those of the version 1 report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Bytes of the requirement.
    pub spec: usize,
    /// Covered by neither implementation, implication, test nor exception.
    pub incomplete: usize,
    /// Covered by implementations.
    pub citation: usize,
    /// Covered by implications.
    pub implication: usize,
    /// Covered by tests.
    pub test: usize,
    /// Covered by exceptions.
    pub exception: usize,
    /// Covered by todos.
    pub todo: usize,
    /// Annotations that share a byte with the requirement, in order.
    pub related: Vec<u32>,
}

/// What people call the state, in the public tool's own order of deciding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Cited and tested as a whole, or implied.
    Complete,
    /// Excused as a whole.
    Exception,
    /// Cited as a whole, not tested as a whole.
    MissingTest,
    /// Tested as a whole, not cited as a whole.
    MissingCitation,
    /// Only planned.
    NotStarted,
    /// Nothing at all.
    Unknown,
    /// Some of it.
    Partial,
}

impl State {
    /// Every state, best first.
    pub const ALL: [State; 7] = [
        State::Complete,
        State::Exception,
        State::MissingTest,
        State::MissingCitation,
        State::Partial,
        State::NotStarted,
        State::Unknown,
    ];

    /// The word in machine outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Exception => "exception",
            Self::MissingTest => "missing_test",
            Self::MissingCitation => "missing_citation",
            Self::NotStarted => "not_started",
            Self::Unknown => "unknown",
            Self::Partial => "partial",
        }
    }

    /// The words for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Exception => "exception",
            Self::MissingTest => "missing test",
            Self::MissingCitation => "missing citation",
            Self::NotStarted => "not started",
            Self::Unknown => "uncited",
            Self::Partial => "partial",
        }
    }
}

/// The machine status of document 004.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Some of it, or cited without a test.
    PartiallyImplemented,
    /// Nothing, or only planned.
    NotStarted,
    /// Complete or excused.
    FullyImplemented,
}

impl Status {
    /// The word in machine outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::PartiallyImplemented => "partially_implemented",
            Self::NotStarted => "not_started",
            Self::FullyImplemented => "fully_implemented",
        }
    }
}

impl Coverage {
    /// Coverage of one requirement by the annotations of its section.
    pub fn of<'a>(
        requirement: &IntervalSet,
        others: impl IntoIterator<Item = (u32, Kind, &'a IntervalSet)>,
    ) -> Self {
        let mut by_kind: [Vec<&IntervalSet>; 6] = Default::default();
        let mut related = Vec::new();
        for (id, kind, set) in others {
            if kind != Kind::Spec && requirement.touches(set) {
                by_kind[kind as usize].push(set);
                related.push(id);
            }
        }
        let union = |kinds: &[Kind]| {
            let sets = kinds.iter().flat_map(|kind| &by_kind[*kind as usize]);
            requirement.overlap(&IntervalSet::of(
                sets.flat_map(|set| set.within_bounds_of(requirement)),
            ))
        };
        let spec = requirement.len();
        let done = union(&[
            Kind::Implementation,
            Kind::Implication,
            Kind::Test,
            Kind::Exception,
        ]);
        Self {
            spec,
            incomplete: spec - done,
            citation: union(&[Kind::Implementation]),
            implication: union(&[Kind::Implication]),
            test: union(&[Kind::Test]),
            exception: union(&[Kind::Exception]),
            todo: union(&[Kind::Todo]),
            related,
        }
    }

    /// Coverage of a title of so many bytes by citations that quote nothing.
    pub(crate) fn of_title<'a>(length: usize, references: impl IntoIterator<Item = &'a (u32, Kind)>) -> Self {
        let mut coverage = Self {
            spec: length,
            incomplete: length,
            ..Self::default()
        };
        for (id, kind) in references {
            let covered = match kind {
                Kind::Spec => continue,
                Kind::Implementation => &mut coverage.citation,
                Kind::Implication => &mut coverage.implication,
                Kind::Test => &mut coverage.test,
                Kind::Exception => &mut coverage.exception,
                Kind::Todo => &mut coverage.todo,
            };
            *covered = length;
            if *kind != Kind::Todo {
                coverage.incomplete = 0;
            }
            coverage.related.push(*id);
        }
        coverage
    }

    /// The state for people.
    //= specs/duvet.md#status
    //# A requirement that is cited as a whole but not tested as a whole MUST be told apart from one that is tested
    //# but not cited.
    pub fn state(&self) -> State {
        let whole = |bytes: usize| bytes == self.spec;
        match self {
            _ if self.spec == 0 => State::Unknown,
            c if (whole(c.citation) && whole(c.test)) || whole(c.implication) => State::Complete,
            c if whole(c.exception) => State::Exception,
            c if whole(c.citation) => State::MissingTest,
            c if whole(c.test) => State::MissingCitation,
            c if c.todo > 0 => State::NotStarted,
            c if whole(c.incomplete) => State::Unknown,
            _ => State::Partial,
        }
    }

    /// The machine status.
    pub fn status(&self) -> Status {
        let done = self.citation + self.implication + self.test + self.exception;
        match self.state() {
            State::Complete | State::Exception => Status::FullyImplemented,
            _ if done == 0 => Status::NotStarted,
            _ => Status::PartiallyImplemented,
        }
    }

    /// The label of `get_requirement_status`.
    pub fn label(&self) -> &'static str {
        match (self.state(), self.status()) {
            (State::Complete, _) => "done",
            (State::Exception, _) => "excused",
            (State::MissingTest, _) => "needs tests",
            (_, Status::NotStarted) => "not started",
            _ => "in progress",
        }
    }

    /// Whether no annotation of any kind touches the requirement.
    pub fn is_uncited(&self) -> bool {
        self.related.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Span;

    fn set(start: usize, end: usize) -> IntervalSet {
        IntervalSet::of([Span::new(start, end)])
    }

    fn check(annotations: &[(Kind, usize, usize)], state: State, status: Status, label: &str) {
        let sets: Vec<_> = annotations
            .iter()
            .map(|&(kind, a, b)| (kind, set(a, b)))
            .collect();
        let others = sets
            .iter()
            .enumerate()
            .map(|(id, (kind, set))| (id as u32, *kind, set));
        let coverage = Coverage::of(&set(10, 20), others);
        assert_eq!(
            (coverage.state(), coverage.status(), coverage.label()),
            (state, status, label),
            "{annotations:?}"
        );
    }

    //= specs/duvet.md#status
    //= type=test
    //# A requirement that is cited as a whole but not tested as a whole MUST be told apart from one that is tested
    //# but not cited.
    #[test]
    fn states_follow_the_covered_bytes() {
        use Kind::*;
        use Status::*;
        check(&[], State::Unknown, NotStarted, "not started");
        check(&[(Todo, 0, 30)], State::NotStarted, NotStarted, "not started");
        check(
            &[(Implementation, 0, 30), (Test, 10, 20)],
            State::Complete,
            FullyImplemented,
            "done",
        );
        check(
            &[(Implementation, 10, 15), (Implementation, 15, 20), (Test, 5, 20)],
            State::Complete,
            FullyImplemented,
            "done",
        );
        check(
            &[(Implication, 10, 20)],
            State::Complete,
            FullyImplemented,
            "done",
        );
        check(
            &[(Exception, 10, 20)],
            State::Exception,
            FullyImplemented,
            "excused",
        );
        check(
            &[(Implementation, 10, 20)],
            State::MissingTest,
            PartiallyImplemented,
            "needs tests",
        );
        check(
            &[(Implementation, 10, 20), (Test, 10, 19)],
            State::MissingTest,
            PartiallyImplemented,
            "needs tests",
        );
        check(
            &[(Test, 10, 20)],
            State::MissingCitation,
            PartiallyImplemented,
            "in progress",
        );
        check(
            &[(Implementation, 10, 12)],
            State::Partial,
            PartiallyImplemented,
            "in progress",
        );
        check(
            &[(Implementation, 10, 12), (Todo, 12, 20)],
            State::NotStarted,
            PartiallyImplemented,
            "in progress",
        );
        check(
            &[(Implementation, 20, 30), (Spec, 10, 20)],
            State::Unknown,
            NotStarted,
            "not started",
        );
    }

    #[test]
    fn bytes_covered_twice_count_once() {
        let sets = [set(10, 15), set(12, 18)];
        let others = sets
            .iter()
            .enumerate()
            .map(|(id, set)| (id as u32, Kind::Test, set));
        let coverage = Coverage::of(&set(10, 20), others);
        assert_eq!(
            (coverage.test, coverage.incomplete, coverage.related),
            (8, 2, vec![0, 1])
        );
    }
}
