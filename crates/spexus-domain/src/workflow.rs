//! Workflows: which statuses a kind has and which steps between them are allowed. They are data an administrator can
//! change, and they are enforced: nothing moves along a step that is not in the list. A step may demand evidence; then nothing
//! moves along it by anybody's word.

use crate::trace::EvidenceDemand;
use crate::{Code, Kind, Refusal, Ruled, limits, nearest, text::Faults};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The statuses of a kind and the steps between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Workflow {
    /// The kind it governs.
    pub kind: Kind,
    /// The statuses, in the order people see them; the first initial one is where items start.
    pub statuses: Vec<Status>,
    /// The steps allowed.
    pub transitions: Vec<Transition>,
    /// Grows with every change.
    #[serde(default)]
    pub rev: i64,
}

/// One status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// Whether items may start in it.
    #[serde(default)]
    pub initial: bool,
    /// Whether work ends in it.
    #[serde(default, rename = "final")]
    pub is_final: bool,
}

/// One allowed step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Transition {
    /// The status before.
    pub from: String,
    /// The status after.
    pub to: String,
    /// The evidence it takes: passed, executed or affirmed; none when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceDemand>,
}

impl Transition {
    /// Whether it leads from one status to another.
    pub fn joins(&self, from: &str, to: &str) -> bool {
        self.from == from && self.to == to
    }
}

/// A workflow as an administrator sends it; the kind stands in the address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowInput {
    /// The statuses, in the order people see them.
    pub statuses: Vec<Status>,
    /// The steps allowed.
    pub transitions: Vec<Transition>,
    /// The revision this change was made against.
    pub expect_rev: Option<i64>,
}

impl Workflow {
    /// The workflow shipped for a kind; `None` for kinds without a status.
    pub fn shipped(kind: Kind) -> Option<Self> {
        let (statuses, transitions) = match kind {
            Kind::Epic | Kind::UserStory => (WORK_STATUSES.as_slice(), WORK_TRANSITIONS.as_slice()),
            Kind::Requirement => (
                REQUIREMENT_STATUSES.as_slice(),
                REQUIREMENT_TRANSITIONS.as_slice(),
            ),
            Kind::AcceptanceCriterion | Kind::SteeringDocument => return None,
        };
        Some(Self {
            kind,
            statuses: statuses
                .iter()
                .map(|&(name, initial, is_final)| Status {
                    name: name.into(),
                    initial,
                    is_final,
                })
                .collect(),
            transitions: transitions
                .iter()
                .map(|&(from, to)| Transition {
                    from: from.into(),
                    to: to.into(),
                    evidence: None,
                })
                .collect(),
            rev: 1,
        })
    }

    /// Refuses a workflow nothing could live in: no start, unknown names, the same thing twice.
    pub fn check(&self) -> Ruled<()> {
        let mut faults = Faults::default();
        if !(1..=limits::MAX_WORKFLOW_STATUSES).contains(&self.statuses.len()) {
            let allowed = format!("1 to {}", limits::MAX_WORKFLOW_STATUSES);
            faults.add(
                "statuses",
                format!("has {} entries", self.statuses.len()),
                allowed,
            );
        }
        for (at, status) in self.statuses.iter().enumerate() {
            faults.take(crate::text::name(&format!("statuses[{at}].name"), &status.name));
            if nearest::find(&self.statuses[..at], |s| &s.name, &status.name).is_some() {
                faults.add(
                    format!("statuses[{at}].name"),
                    format!("{:?} stands twice", status.name),
                    "each name once",
                );
            }
        }
        if !self.statuses.is_empty() && !self.statuses.iter().any(|status| status.initial) {
            faults.add("statuses", "none is initial", "at least one with `initial: true`");
        }
        for (at, step) in self.transitions.iter().enumerate() {
            for (end, name) in [("from", &step.from), ("to", &step.to)] {
                if !self.statuses.iter().any(|status| status.name == *name) {
                    let known = self.statuses.iter().map(|s| s.name.as_str());
                    faults.take(Err::<(), _>(nearest::miss(
                        &format!("transitions[{at}].{end}"),
                        name,
                        known,
                    )));
                }
            }
            let stands_before = |one: &Transition| one.joins(&step.from, &step.to);
            if step.from == step.to || self.transitions[..at].iter().any(stands_before) {
                faults.add(
                    format!("transitions[{at}]"),
                    "leads nowhere or stands twice",
                    "each step once, to another status",
                );
            }
            let starts_there = |status: &Status| status.initial && status.name == step.to;
            if step.evidence.is_some() && self.statuses.iter().any(starts_there) {
                faults.add(
                    format!("transitions[{at}].evidence"),
                    format!("is for nothing: items may start as {:?}", step.to),
                    "a step to a status that is not initial",
                );
            }
        }
        faults.refuse()
    }

    /// The status with this name, in any letter case; a miss names the valid ones.
    pub fn status(&self, wanted: &str) -> Ruled<&Status> {
        nearest::find(&self.statuses, |status| &status.name, wanted)
            .ok_or_else(|| nearest::miss("status", wanted, self.statuses.iter().map(|s| s.name.as_str())))
    }

    /// Where an item starts: the wanted status when it is an initial one, else the first initial one.
    pub fn start(&self, wanted: Option<&str>) -> Ruled<String> {
        let initial = || {
            self.statuses
                .iter()
                .filter(|status| status.initial)
                .map(|status| status.name.as_str())
        };
        let Some(wanted) = wanted else {
            let first = initial().next().unwrap_or_default();
            return Ok(first.to_owned());
        };
        let status = self.status(wanted)?;
        if status.initial {
            return Ok(status.name.clone());
        }
        let allowed = format!("one of: {}", initial().collect::<Vec<_>>().join(", "));
        let problem = format!("{} cannot start as {:?}", self.kind.rules().label, status.name);
        Err(Refusal::field(Code::RuleViolated, "status", problem, allowed))
    }

    /// The status after a step, or the refusal that names the steps allowed from here. Staying is always allowed.
    //= specs/spexus-service.md#rules
    //# A status MUST change only along the workflow of the kind.
    pub fn step(&self, from: &str, wanted: &str) -> Ruled<String> {
        let to = self.status(wanted)?;
        if to.name == from || self.transitions.iter().any(|step| step.joins(from, &to.name)) {
            return Ok(to.name.clone());
        }
        let next: Vec<&str> = self
            .transitions
            .iter()
            .filter(|s| s.from == from)
            .map(|s| s.to.as_str())
            .collect();
        let allowed = if next.is_empty() {
            "no step leads on".to_owned()
        } else {
            format!("one of: {}", next.join(", "))
        };
        Err(Refusal::field(
            Code::RuleViolated,
            "status",
            format!("no step leads from {from:?} to {:?}", to.name),
            allowed,
        ))
    }

    /// The evidence that a step takes.
    pub fn demand(&self, from: &str, to: &str) -> Option<EvidenceDemand> {
        let step = self.transitions.iter().find(|step| step.joins(from, to));
        step.and_then(|step| step.evidence)
    }

    /// The steps from a status that take evidence, each with what it takes.
    pub fn demands<'a>(&'a self, from: &'a str) -> impl Iterator<Item = (&'a str, EvidenceDemand)> {
        let steps = self.transitions.iter().filter(move |step| step.from == from);
        steps.filter_map(|step| Some((step.to.as_str(), step.evidence?)))
    }
}

const WORK_STATUSES: [(&str, bool, bool); 5] = [
    ("Backlog", true, false),
    ("Draft", true, false),
    ("In Progress", false, false),
    ("Done", false, true),
    ("Cancelled", false, true),
];

const WORK_TRANSITIONS: [(&str, &str); 10] = [
    ("Backlog", "Draft"),
    ("Backlog", "In Progress"),
    ("Backlog", "Cancelled"),
    ("Draft", "Backlog"),
    ("Draft", "In Progress"),
    ("Draft", "Cancelled"),
    ("In Progress", "Done"),
    ("In Progress", "Cancelled"),
    ("Done", "In Progress"),
    ("Cancelled", "Backlog"),
];

const REQUIREMENT_STATUSES: [(&str, bool, bool); 3] = [
    ("Draft", true, false),
    ("Active", false, false),
    ("Obsolete", false, true),
];

const REQUIREMENT_TRANSITIONS: [(&str, &str); 4] = [
    ("Draft", "Active"),
    ("Draft", "Obsolete"),
    ("Active", "Obsolete"),
    ("Obsolete", "Active"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn epic() -> Workflow {
        Workflow::shipped(Kind::Epic).unwrap()
    }

    #[test]
    fn shipped_workflows_are_sound() {
        for kind in Kind::ALL {
            assert_eq!(
                Workflow::shipped(kind).is_some(),
                kind.rules().has_status,
                "{kind:?}"
            );
            assert_eq!(Workflow::shipped(kind).map_or(Ok(()), |w| w.check()), Ok(()));
        }
    }

    #[test]
    fn only_listed_steps_are_taken() {
        assert_eq!(epic().step("Backlog", "in progress").unwrap(), "In Progress");
        assert_eq!(epic().step("Done", "Done").unwrap(), "Done");
        let refusal = epic().step("Backlog", "Done").unwrap_err();
        assert_eq!(
            refusal.message,
            "status: no step leads from \"Backlog\" to \"Done\""
        );
        assert_eq!(refusal.faults[0].allowed, "one of: Draft, In Progress, Cancelled");
    }

    #[test]
    fn items_start_in_an_initial_status() {
        assert_eq!(epic().start(None).unwrap(), "Backlog");
        assert_eq!(epic().start(Some("draft")).unwrap(), "Draft");
        assert_eq!(epic().start(Some("Done")).unwrap_err().code, Code::RuleViolated);
        assert_eq!(
            epic().start(Some("Dnoe")).unwrap_err().hint,
            "Did you mean \"Done\"?"
        );
    }

    #[test]
    fn a_broken_workflow_is_refused_with_every_fault() {
        let mut broken = epic();
        broken
            .statuses
            .iter_mut()
            .for_each(|status| status.initial = false);
        broken.transitions.push(Transition {
            from: "Backlog".into(),
            to: "Nowhere".into(),
            evidence: None,
        });
        let fields: Vec<String> = broken
            .check()
            .unwrap_err()
            .faults
            .into_iter()
            .map(|f| f.field)
            .collect();
        assert_eq!(fields, ["statuses", "transitions[10].to"]);
    }

    #[test]
    fn a_step_demands_evidence_and_stands_once() {
        let mut workflow = epic();
        let text = r#"{"from": "In Progress", "to": "Done", "evidence": "executed"}"#;
        let demanding: Transition = serde_json::from_str(text).unwrap();
        let fields = |workflow: &Workflow| -> Vec<String> {
            let faults = workflow.check().err().map(|refusal| refusal.faults);
            faults.into_iter().flatten().map(|fault| fault.field).collect()
        };
        workflow.transitions.push(demanding.clone());
        assert_eq!(
            fields(&workflow),
            ["transitions[10]"],
            "once without and once with evidence is twice"
        );
        workflow
            .transitions
            .retain(|step| *step == demanding || !step.joins("In Progress", "Done"));
        assert_eq!(fields(&workflow), Vec::<String>::new());
        assert_eq!(
            workflow.demand("In Progress", "Done"),
            Some(EvidenceDemand::Executed)
        );
        assert_eq!(workflow.demands("In Progress").count(), 1);
        assert_eq!(workflow.demand("In Progress", "Cancelled"), None);
        workflow.transitions[9].to = "Draft".into();
        assert_eq!(
            fields(&workflow),
            ["transitions[9].evidence"],
            "nothing holds back what may start there"
        );
        assert!(serde_json::from_str::<Transition>(&text.replace("executed", "claimed")).is_err());
    }
}
