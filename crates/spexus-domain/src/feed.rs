//! Changes as feeds tell them.

use crate::change::Change;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// A change in the feed of the whole installation, where the project has to be said.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ArrivedChange {
    /// The project it happened in; none for what belongs to the installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<Uuid>,
    /// The change.
    #[serde(flatten)]
    pub change: Change,
}

impl From<Change> for ArrivedChange {
    fn from(change: Change) -> Self {
        Self {
            project_id: change.project_id,
            change,
        }
    }
}
