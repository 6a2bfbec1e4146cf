//! What happens at the door: logins, failures, token use. It stands beside the history, which tells what happened inside.

use crate::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// One thing that happened at the door.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Event {
    /// Its id.
    pub id: Uuid,
    /// When.
    pub at: Timestamp,
    /// What: `login`, `login_failed`, `logout`, `token_used`, `token_refused`, or an `operation` of an agent.
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
}
