//! What happens at the door: logins, failures, token use. It stands beside the history, which tells what happened inside.

use crate::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// One thing that happened at the door.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Event)]
pub struct AuditEvent {
    /// Its id.
    pub id: Uuid,
    /// When.
    pub at: Timestamp,
    /// What, such as `login`, `login_failed`, `token_refused`, `rate_limited`, `password_reset`, or an `operation` of an agent.
    pub event: String,
    /// The name given, which need not exist.
    pub username: String,
    /// The token, when one was recognised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<Uuid>,
    /// Where it came from.
    pub address: String,
    /// With which program.
    pub client: String,
    /// What else there is to say.
    pub detail: String,
    /// The account or token it was done to, when it was done to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_id: Option<Uuid>,
    /// The name of that.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// How often it happened; what happens often is folded into one event a second.
    pub times: i64,
}

/// Which events are wanted; what is left out does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// What happened.
    pub event: Option<String>,
    /// Who did it, or whom it was done to.
    pub user: Option<String>,
    /// Not before this time.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
}
