//! `completion/complete` with a `text` instead of a `ref`: the method, and who asked for what.

use crate::McpOptions;
use crate::audit::{self, AuditEntry};
use mcp_server::{Context, CustomMethod, Server, Stop};
use serde_json::Value;
use spexus_complete::TextCompleter;
use spexus_domain::Ruled;
use spexus_service::Service;
use std::sync::Arc;

/// The method, shared with the completion of arguments.
const METHOD: &str = "completion/complete";
/// What the completion of texts is declared as.
pub(crate) const FAMILY: (&str, &str) = ("completion/text", "1.0.0");

/// Lets the server complete texts.
pub(crate) fn serve(server: &Server, service: &Service, options: &McpOptions) -> Ruled<()> {
    let completer = Arc::new(TextCompleter::new(service, &options.completion)?);
    let service = service.clone();
    server.add_method(CustomMethod::new(METHOD, move |cx, params| {
        let (completer, service) = (completer.clone(), service.clone());
        async move { complete(&completer, &service, &cx, params).await }
    }));
    Ok(())
}

async fn complete(
    completer: &TextCompleter,
    service: &Service,
    cx: &Context,
    params: Value,
) -> Result<Value, Stop> {
    let caller = audit::caller(cx)?;
    let watch = AuditEntry::start(service, &caller, METHOD, "text");
    let completed = completer.complete(cx, &caller, params).await;
    watch.stop(completed.as_ref().map(drop));
    Ok(completed?)
}
