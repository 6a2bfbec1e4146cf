//! Who did what over MCP: one line in the log, one count in the audit trail and one in the metrics for each operation.

use crate::visit::Visit;
use mcp_runtime::{Context, Stop};
use spexus_domain::account::Caller;
use spexus_domain::{Refusal, Ruled};
use spexus_service::{Origin, Service};
use std::time::{Duration, Instant};

// Fulfils 001 D8, 003 R10.4, 003 R12.3
/// The caller of a request, speaking through the program that introduced itself.
pub(crate) fn caller(cx: &Context) -> Ruled<Caller> {
    let caller = Visit::of(cx)?.caller();
    let client = cx.client();
    if client.name.is_empty() {
        return Ok(caller.clone());
    }
    //= specs/spexus-mcp.md#audit
    //# What a client calls itself MUST be kept on one line and short before it is logged or kept.
    let named = Origin {
        address: String::new(),
        client: format!("{} {}", client.name, client.version),
    };
    Ok(Caller {
        client: named.clean_client().trim_end().to_owned(),
        ..caller.clone()
    })
}

// Fulfils 003 R12.5
/// An operation under way.
pub(crate) struct Watch<'a> {
    service: Service,
    caller: Caller,
    method: &'static str,
    name: &'a str,
    started: Instant,
}

impl<'a> Watch<'a> {
    pub(crate) fn start(service: &Service, caller: &Caller, method: &'static str, name: &'a str) -> Self {
        Self {
            service: service.clone(),
            caller: caller.clone(),
            method,
            name,
            started: Instant::now(),
        }
    }

    /// The same operation on something of another name.
    pub(crate) fn named(self, name: &'a str) -> Self {
        Self { name, ..self }
    }

    /// The operation began this long ago.
    pub(crate) fn backdated(mut self, took: Duration) -> Self {
        self.started = self.started.checked_sub(took).unwrap_or(self.started);
        self
    }

    /// The operation is over.
    //= specs/spexus-mcp.md#audit
    //# Every operation MUST be noted with the user, the token, the client and its outcome.
    pub(crate) fn stop(self, outcome: Result<(), &Refusal>) {
        self.note(outcome.map_or_else(|refusal| refusal.code.name(), |()| "ok"));
    }

    /// The operation is over for now: with a result, a refusal, or a question the client comes back with.
    pub(crate) fn pause(self, outcome: Result<(), &Stop>) {
        match outcome {
            Ok(()) => self.stop(Ok(())),
            Err(Stop::Refused(refusal)) => self.stop(Err(refusal)),
            Err(Stop::Error(error)) => self.stop(Err(&error.refusal)),
            Err(Stop::Input(_)) => self.note("asked"),
        }
    }

    /// Writes down what became of it.
    pub(crate) fn note(self, outcome: &'static str) {
        let seconds = self.started.elapsed().as_secs_f64();
        let (method, name) = (self.method, self.name);
        spexus_service::audit::note_operation(&self.service, &self.caller, method, name, outcome);
        metrics::counter!("spexus_mcp_operations_total", "method" => method, "outcome" => outcome)
            .increment(1);
        metrics::histogram!("spexus_mcp_operation_seconds", "method" => method).record(seconds);
        //= specs/spexus-mcp.md#answers
        //# No answer and no log line MUST hold a token, a path of the host or the text of a statement.
        // The token by its id, the resource by its form; never an argument.
        tracing::info!(
            user = self.caller.username,
            token = self.caller.token_id.map(tracing::field::display),
            client = self.caller.client,
            method,
            name,
            outcome,
            milliseconds = seconds * 1_000.0,
            "served"
        );
    }
}
