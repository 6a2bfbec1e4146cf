//! What a step of a workflow demands: that an item stands on a rung. Nobody's word is taken for it; where it is missing, the refusal
//! says what is missing and the command that supplies it.

use super::{Rung, TestStanding, TraceFlag, TracedTest};
use crate::{Code, Refusal, Ruled, ShownReference};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The evidence a step demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceDemand {
    /// Every test of it passed.
    Passed,
    /// And ran the code that cites it.
    Executed,
    /// A person stands for it.
    Affirmed,
}

/// Where an item stands that wants to take a step.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// The item, or the requirement below it that stands lowest.
    pub reference: &'a ShownReference,
    /// The key of its project.
    pub project: &'a str,
    /// Its rung.
    pub state: Rung,
    /// What stands beside that.
    pub flags: &'a [TraceFlag],
    /// The weakest link.
    pub weakest: &'a str,
    /// The tests that are known of it.
    pub tests: &'a [TracedTest],
}

impl EvidenceDemand {
    /// All of them, lowest first.
    pub const ALL: [EvidenceDemand; 3] = [
        EvidenceDemand::Passed,
        EvidenceDemand::Executed,
        EvidenceDemand::Affirmed,
    ];

    /// The rung it asks for.
    pub const fn rung(self) -> Rung {
        match self {
            EvidenceDemand::Passed => Rung::Passed,
            EvidenceDemand::Executed => Rung::Executed,
            EvidenceDemand::Affirmed => Rung::Affirmed,
        }
    }

    /// As it stands in JSON.
    pub const fn name(self) -> &'static str {
        self.rung().name()
    }

    /// Reads a demand by name.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        let found = crate::nearest::find(&Self::ALL, |demand| demand.name(), text);
        found
            .copied()
            .ok_or_else(|| crate::nearest::miss(field, text, Self::ALL.iter().map(|demand| demand.name())))
    }

    /// Whether an item may take the step.
    pub fn holds(self, state: Rung, flags: &[TraceFlag]) -> bool {
        state >= self.rung() || flags.contains(&TraceFlag::Waived)
    }

    /// The refusal of a step to a status: where the item stands, what it needs, and what supplies it.
    //= specs/spexus-service.md#rules
    //# A step that demands evidence MUST be refused while an item stands lower, with what is missing and the command that supplies it.
    pub fn refusal(self, to: &str, standing: &Standing) -> Refusal {
        let problem = format!(
            "{to:?} demands evidence {}, and {} is {}",
            self.name(),
            standing.reference,
            standing.state.name()
        );
        let command = self.command(standing);
        let hint = format!("{} Then: `{command}`.", standing.weakest);
        Refusal::field(
            Code::RuleViolated,
            "status",
            problem,
            format!("after `{command}`"),
        )
        .hint(hint.trim_start())
        .fact("evidence_demanded", self.name())
        .fact("evidence_state", standing.state.name())
        .fact("supply", command)
    }

    /// The command that supplies the next rung.
    fn command(self, standing: &Standing) -> String {
        let Standing {
            reference, project, ..
        } = standing;
        if standing.flags.contains(&TraceFlag::Suspect) {
            return format!("spexus trace confirm {reference} --project {project} --why REASON");
        }
        let push = format!("spexus trace push --project {project} --commit $(git rev-parse HEAD)");
        match self {
            _ if standing.state < Rung::Passed => format!("{push} --scan . --junit REPORT"),
            EvidenceDemand::Executed => {
                let bare = standing
                    .tests
                    .iter()
                    .find(|test| test.standing == TestStanding::Passed && !test.executed);
                let test = bare.map_or("TEST", |test| test.name.as_str());
                format!(
                    "{push} --scan . --junit REPORT --lcov '{}=FILE'",
                    test.replace('\'', "'\\''")
                )
            }
            EvidenceDemand::Passed | EvidenceDemand::Affirmed => {
                format!("spexus trace affirm {reference} --project {project} --why REASON")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reference;

    fn refusal(demand: EvidenceDemand, state: Rung, flags: &[TraceFlag]) -> Refusal {
        let reference: ShownReference = Reference::of_kind(crate::Kind::Requirement, 12).into();
        let test = TracedTest {
            name: "login::refuses".into(),
            standing: TestStanding::Passed,
            suite: String::new(),
            commit: String::new(),
            path: String::new(),
            line: 0,
            by: "citation".into(),
            message: String::new(),
            executed: false,
            quote: String::new(),
        };
        let standing = Standing {
            reference: &reference,
            project: "web",
            state,
            flags,
            weakest: "No test claims REQ-012.",
            tests: &[test],
        };
        demand.refusal("Done", &standing)
    }

    #[test]
    fn a_refusal_names_what_is_missing_and_the_command_that_supplies_it() {
        let low = refusal(EvidenceDemand::Passed, Rung::Cited, &[]);
        assert_eq!(
            low.message,
            "status: \"Done\" demands evidence passed, and REQ-012 is cited"
        );
        let push = "spexus trace push --project web --commit $(git rev-parse HEAD) --scan . --junit REPORT";
        assert_eq!(low.hint, format!("No test claims REQ-012. Then: `{push}`."));
        let supply = |refusal: Refusal| {
            refusal
                .facts
                .into_iter()
                .find(|(name, _)| *name == "supply")
                .unwrap()
                .1
        };
        assert_eq!(supply(low), push);
        let executed = supply(refusal(EvidenceDemand::Executed, Rung::Passed, &[]));
        assert_eq!(executed, format!("{push} --lcov 'login::refuses=FILE'"));
        let said = "spexus trace affirm REQ-012 --project web --why REASON";
        assert_eq!(
            supply(refusal(EvidenceDemand::Affirmed, Rung::Executed, &[])),
            said
        );
        let moved = supply(refusal(
            EvidenceDemand::Passed,
            Rung::Claimed,
            &[TraceFlag::Suspect],
        ));
        assert_eq!(moved, said.replace("affirm", "confirm"));
    }

    #[test]
    fn a_step_is_free_from_the_rung_on_and_for_what_is_waived() {
        for demand in EvidenceDemand::ALL {
            assert_eq!(EvidenceDemand::parse("evidence", demand.name()), Ok(demand));
            for rung in Rung::ALL {
                assert_eq!(demand.holds(rung, &[]), rung >= demand.rung());
                assert!(demand.holds(rung, &[TraceFlag::Waived]));
            }
        }
        assert!(EvidenceDemand::parse("evidence", "claimed").is_err());
    }
}
