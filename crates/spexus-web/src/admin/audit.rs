//! The audit trail: what happened at the door, newest first.

use super::shell;
use crate::answer::{Answer, html};
use crate::form::Params;
use crate::mark::{Markup, person};
use crate::shell::Shell;
use crate::visit::Visit;
use crate::when::when;
use askama::Template;
use serde::Deserialize;
use spexus_domain::Timestamp;
use spexus_domain::audit::{AuditEvent, EventFilter};
use spexus_domain::permission::Operation;
use spexus_domain::query::PageRequest;
use spexus_service::audit;

#[derive(Template)]
#[template(path = "admin_audit.html")]
struct AuditPage {
    shell: Shell,
    events: Vec<(AuditEvent, Markup)>,
    wanted: EventRequest,
    next: Option<String>,
}

/// Which events are wanted.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventRequest {
    #[serde(default)]
    event: String,
    #[serde(default)]
    user: String,
    #[serde(default)]
    since: String,
    cursor: Option<String>,
}

/// A page of it.
pub(crate) async fn page(visit: Visit, Params(wanted): Params<EventRequest>) -> Answer {
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let filter = EventFilter {
        event: given(&wanted.event),
        user: given(&wanted.user),
        since: given(&wanted.since)
            .map(|text| Timestamp::parse("since", &text))
            .transpose()?,
        until: None,
    };
    let part = PageRequest::new(None, wanted.cursor.clone())?;
    let shell = shell(&visit, Operation::Audit, visit.texts().audit_trail)?;
    let found = audit::list(visit.service(), &visit.caller, &filter, part).await?;
    let row = |event: AuditEvent| {
        let at = when(visit.texts(), event.at, visit.now());
        (event, at)
    };
    html(&AuditPage {
        shell,
        events: found.data.into_iter().map(row).collect(),
        next: found.next_cursor,
        wanted,
    })
}
