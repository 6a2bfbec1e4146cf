//! A refusal as programs read it: the one error envelope of REST and of the command line's `--json`.

use serde::Serialize;
use spexus_domain::Refusal;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ErrorEnvelope {
    /// What was refused, and why.
    pub error: ErrorBody,
}

/// What was refused, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ErrorBody {
    /// The number of the refusal; it never changes its meaning.
    pub code: u16,
    /// Its name.
    pub name: &'static str,
    /// What happened, with the value that caused it.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// The fields at fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldFault>,
    /// Facts a program can act on, such as `current_rev` or `retry_after_seconds`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<&'static str, String>,
    /// Under which id the server's log speaks of this request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// One field at fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FieldFault {
    /// Which.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
    /// What is allowed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub allowed: String,
}

impl From<Refusal> for ErrorEnvelope {
    fn from(refusal: Refusal) -> Self {
        let fields = refusal.faults.into_iter();
        let error = ErrorBody {
            code: refusal.code.number(),
            name: refusal.code.name(),
            message: refusal.message,
            hint: refusal.hint,
            fields: fields
                .map(|f| FieldFault {
                    field: f.field,
                    problem: f.problem,
                    allowed: f.allowed,
                })
                .collect(),
            facts: refusal.facts.into_iter().collect(),
            request_id: None,
        };
        Self { error }
    }
}
