//! What holding the present state against the history found.

use serde::Serialize;
use spexus_domain::Uuid;

/// Differences that are told; the rest is counted.
const MAX_TOLD: usize = 20;

/// What comparing found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StateVerdict {
    /// Items, comments, links and rows of small tables that were compared.
    pub compared: i64,
    /// How many of them are not what the history made of them.
    pub differing: i64,
    /// The first of those.
    pub differences: Vec<StateFault>,
}

/// Something that is not what the history made of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StateFault {
    /// What it is: `item`, `comment`, `link`, or the table.
    pub entity: String,
    /// Its id.
    pub id: Uuid,
    /// What people call it, as the history has it.
    pub label: String,
    /// What is wrong.
    pub problem: String,
}

impl StateVerdict {
    pub(crate) fn note(&mut self, entity: &str, id: Uuid, label: &str, problem: impl Into<String>) {
        self.add(StateFault {
            entity: entity.to_owned(),
            id,
            label: label.to_owned(),
            problem: problem.into(),
        });
    }

    pub(crate) fn add(&mut self, fault: StateFault) {
        self.differing += 1;
        if self.differences.len() < MAX_TOLD {
            self.differences.push(fault);
        }
    }

    /// Puts what was found behind this in its place behind it.
    pub(crate) fn append(&mut self, next: Self) {
        self.compared += next.compared;
        let told = next.differences.len();
        for fault in next.differences {
            self.add(fault);
        }
        self.differing += next.differing - told as i64;
    }
}
