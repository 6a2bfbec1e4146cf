//! Leases: for a while, one agent works on an item, and others can see it. A lease holds off other agents; people may
//! always write, and may take a lease over.

use crate::account::Caller;
use crate::item::Item;
use crate::page_key::PageKey;
use crate::text::{self, excerpt};
use crate::workflow::Workflow;
use crate::{Code, Kind, Refusal, Ruled, ShownReference, Timestamp, limits};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Who works on an item, until when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Lease {
    /// The item.
    #[schema(value_type = String)]
    pub item: ShownReference,
    /// The item, for programs.
    #[serde(skip)]
    pub item_id: Uuid,
    /// The key of its project.
    pub project: String,
    /// The project, for programs.
    #[serde(skip)]
    pub project_id: Uuid,
    /// Whose it is.
    #[serde(skip)]
    pub user_id: Uuid,
    /// The token it was taken with; none where any of the user's will do.
    #[serde(skip)]
    pub token_id: Option<Uuid>,
    /// Who works on it: the user, with the name of the token.
    pub holder: String,
    /// What for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub intent: String,
    /// Since when.
    pub since: Timestamp,
    /// Until when, unless it is claimed again before.
    pub until: Timestamp,
}

impl PageKey for Lease {
    fn page_key(&self) -> String {
        format!("{:020} {}", self.until.0, self.item_id)
    }
}

/// A claim as it is sent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLease {
    /// How long it is to last, 1 to 240; 30 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<i64>,
    /// What for; it is kept with the changes made meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
}

/// What came of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClaimedLease {
    /// The lease.
    pub lease: Lease,
    /// The revision of the item now.
    pub rev: i64,
    /// Who had it before, where a person took it over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_from: Option<String>,
    /// Others who work on items this one is linked with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl NewLease {
    /// How long it is to last, in seconds.
    pub fn seconds(&self) -> Ruled<i64> {
        let most = limits::MAX_LEASE_MINUTES;
        match self.minutes.unwrap_or(limits::DEFAULT_LEASE_MINUTES) {
            minutes if (1..=most).contains(&minutes) => Ok(minutes * 60),
            odd => {
                let problem = format!("is {odd}");
                Err(Refusal::field(
                    Code::InvalidParams,
                    "minutes",
                    problem,
                    format!("1 to {most}"),
                ))
            }
        }
    }

    /// What for.
    pub fn intent(&self) -> Ruled<String> {
        intent(self.intent.as_deref())
    }
}

/// A note of intent, on one line of the length of a title.
pub fn intent(text: Option<&str>) -> Ruled<String> {
    match text.map(str::trim) {
        None | Some("") => Ok(String::new()),
        Some(given) => text::title("intent", given),
    }
}

impl Lease {
    /// Whether it is this caller's: taken with the same token, or by the same person without one.
    pub fn is_of(&self, caller: &Caller) -> bool {
        self.user_id == caller.user_id && (self.token_id.is_none() || self.token_id == caller.token_id)
    }

    /// `ann (laptop) until 2026-…: what for`.
    pub fn line(&self) -> String {
        let intent = match self.intent.as_str() {
            "" => String::new(),
            intent => format!(": {intent}"),
        };
        format!("{} until {}{intent}", self.holder, self.until)
    }

    /// Refuses an agent what somebody else works on.
    //= specs/spexus-service.md#leases
    //# A write by an agent to an item that somebody else holds MUST be refused with who holds it and until when; people MUST be
    //# able to write and to take it over.
    pub fn check(&self, caller: &Caller) -> Ruled<()> {
        if !caller.is_agent || self.is_of(caller) {
            return Ok(());
        }
        let intent = match self.intent.as_str() {
            "" => String::new(),
            intent => format!(" ({})", excerpt(intent, 100)),
        };
        let message = format!(
            "{} works on {} until {}{intent}",
            self.holder, self.item, self.until
        );
        Err(Refusal::new(Code::RuleViolated, message)
            .hint("Work on something else, see next_work, or try again when the lease has run out.")
            .fact("held_by", &self.holder)
            .fact("held_until", self.until))
    }
}

/// Whether what waits for an item still has to wait: work until it is finished, a requirement until it is agreed.
pub fn holds_back(item: &Item, workflow: Option<&Workflow>) -> bool {
    let status = item.status.as_deref().unwrap_or_default();
    let known = workflow.and_then(|workflow| workflow.statuses.iter().find(|one| one.name == status));
    let Some(known) = known else { return false };
    match item.kind {
        Kind::Requirement => known.initial,
        _ => !known.is_final,
    }
}
