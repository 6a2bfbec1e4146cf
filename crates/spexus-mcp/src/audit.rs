//! Who did what over MCP: one line in the log, one count in the audit trail and one in the metrics for each operation.

use crate::resources;
use crate::visit::Visit;
use mcp_protocol::{Client, Method};
use mcp_server::{Answered, Context, Stop};
use serde_json::Value;
use spexus_domain::account::Caller;
use spexus_domain::{Code, Refusal, Ruled, text};
use spexus_service::{Origin, Service};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

// Fulfils 001 D8, 003 R10.4, 003 R12.3
/// The caller of a request, speaking through the program that introduced itself.
pub(crate) fn caller(cx: &Context) -> Ruled<Caller> {
    Ok(speaking(Visit::of(cx)?.caller(), cx.client()))
}

fn speaking(caller: &Caller, client: &Client) -> Caller {
    if client.name.is_empty() {
        return caller.clone();
    }
    //= specs/spexus-mcp.md#audit
    //# What a client calls itself MUST be kept on one line and short before it is logged or kept.
    let named = Origin {
        address: String::new(),
        client: format!("{} {}", client.name, client.version),
    };
    Caller {
        client: named.clean_client().trim_end().to_owned(),
        ..caller.clone()
    }
}

// Fulfils 001 D10, 003 R12.5
/// Notes what the runtime answered by itself: lists, levels, reads, subscriptions, roots, and what was refused before its
/// handler, down to a greeting that failed.
//= specs/spexus-mcp.md#audit
//# What is answered or refused before a handler runs, a refused `initialize` with what the client called itself included, MUST be noted too.
pub(crate) fn noting(service: &Service) -> impl Fn(&Answered<'_>) + Send + Sync + 'static {
    let service = service.clone();
    move |answered| {
        let Some(visit) = answered.extensions.get::<Visit>() else {
            return;
        };
        let outcome = match (answered.method, answered.refusal) {
            _ if answered.stopped => "stopped",
            (_, Some(refusal)) => refusal.code.name(),
            // Arguments that do not fit are told as a result where the protocol wants it so.
            ("tools/call", None) => Code::InvalidParams.name(),
            (_, None) => "ok",
        };
        let introduced = introduced(answered);
        let client = introduced.as_ref().unwrap_or(answered.client);
        let caller = speaking(visit.caller(), client);
        let (method, name) = (known(answered.method), name_in(answered.params));
        // Of what an app was asked for its own record tells.
        if method == Method::ResourcesRead.name() && name == APP {
            return;
        }
        let entry = AuditEntry::start(&service, &caller, method, &name);
        entry.backdated(answered.took).note(outcome);
    }
}

/// What a client called itself in a greeting that came to nothing.
fn introduced(answered: &Answered<'_>) -> Option<Client> {
    if answered.method != "initialize" {
        return None;
    }
    let params: Value = serde_json::from_str(answered.params?).ok()?;
    let text = |name: &str| params["clientInfo"][name].as_str().unwrap_or_default().to_owned();
    Some(Client {
        name: text("name"),
        version: text("version"),
        ..Client::default()
    })
}

/// The tool, prompt or version a request names, or what its addresses are of; never anything else of it.
fn name_in(params: Option<&str>) -> String {
    let params: Value = params
        .and_then(|params| serde_json::from_str(params).ok())
        .unwrap_or_default();
    let named = ["name", "tool", "protocolVersion", "level"]
        .into_iter()
        .find_map(|field| params[field].as_str());
    if let Some(named) = named {
        return text::excerpt(&named.replace(char::is_control, " "), 100);
    }
    if let Some(uri) = params["uri"].as_str() {
        return form_of(uri).to_owned();
    }
    let watched = params["notifications"]["resourceSubscriptions"].as_array();
    let uris = watched.into_iter().flatten().filter_map(Value::as_str);
    let forms: BTreeSet<&str> = uris.map(form_of).collect();
    text::excerpt(&Vec::from_iter(forms).join(" "), 100)
}

/// What the address of an app is called in the record.
const APP: &str = "app";

/// What an address is of, by a name that is ours.
fn form_of(uri: &str) -> &'static str {
    match uri {
        file if file.starts_with("file:") => "file",
        app if app.starts_with("app:") => APP,
        uri => resources::form_of(uri),
    }
}

/// The method by a name that is ours: what a client made up is no label of a metric.
fn known(method: &str) -> &'static str {
    const ADDED: [&str; 6] = [
        "batch/execute",
        "elicitation/request",
        "sampling/request",
        "roots/list",
        "roots/add",
        "roots/remove",
    ];
    let of_protocol = Method::named(method).map(Method::name);
    let added = || ADDED.into_iter().find(|own| *own == method);
    of_protocol.or_else(added).unwrap_or("other")
}

// Fulfils 003 R12.5
/// The audit entry of an operation under way, written when it ends.
pub(crate) struct AuditEntry<'a> {
    service: Service,
    caller: Caller,
    method: &'static str,
    name: &'a str,
    started: Instant,
    noted: bool,
}

//= specs/spexus-mcp.md#audit
//# An operation that was cancelled or ran out of time MUST be noted as such.
impl Drop for AuditEntry<'_> {
    fn drop(&mut self) {
        if !self.noted {
            self.write_down("stopped");
        }
    }
}

impl<'a> AuditEntry<'a> {
    pub(crate) fn start(service: &Service, caller: &Caller, method: &'static str, name: &'a str) -> Self {
        Self {
            service: service.clone(),
            caller: caller.clone(),
            method,
            name,
            started: Instant::now(),
            noted: false,
        }
    }

    /// The same operation on something of another name.
    pub(crate) fn named(mut self, name: &'a str) -> Self {
        self.name = name;
        self
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
    pub(crate) fn note(mut self, outcome: &'static str) {
        self.write_down(outcome);
    }

    fn write_down(&mut self, outcome: &'static str) {
        self.noted = true;
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
