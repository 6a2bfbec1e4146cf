//! What becomes of a request: answered here, refused here, or forwarded to the backend.

use std::sync::Arc;
use std::time::Duration;

use mcp_protocol::envelope::{self, Message, Request};
use mcp_protocol::{RpcCode, RpcError, Version};
use mcp_server::lines::{Batch, Ended, Identified as _, LineEnd as _};
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::bridge::{Bridge, HostEnd};
use crate::forward::{DeadlineExtension, RetryableRequest};
use crate::in_flight::InFlightRequest;
use crate::message::{HostRequest, Params, stateless_version, with_server_info};
use crate::session::{Handshake, SessionError};
use crate::stats::Stats;
use crate::tool_call::{self, Checked};
use crate::{answer, subscription};

/// How much of a foreign word a line of the log holds.
const MAX_LOGGED_CHARS: usize = 100;

/// Requests that change nothing, or nothing twice.
const REPEATABLE: &[&str] = &[
    "completion/complete",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/get",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "roots/list",
    "sampling/request",
    "server/discover",
    "tasks/cancel",
    "tasks/get",
    "tasks/list",
    "tasks/result",
    "tools/list",
];

impl HostEnd {
    /// Takes a request: answered into `out`, or in flight.
    pub(crate) async fn request(
        &self,
        text: &str,
        request: &Request<'_>,
        batch: Option<&Arc<Batch>>,
        out: &mut Vec<u8>,
    ) -> Option<Ended> {
        let bridge = &self.0;
        Stats::count(&bridge.stats.requests);
        let stateless = stateless_version(request.params);
        let is_stateless =
            stateless.is_some() || matches!(&*request.method, "server/discover" | "subscriptions/listen");
        //= specs/spexus-bridge.md#lifecycle
        //# A version that is not among the configured ones MUST be treated like one nobody knows.
        let named = stateless.as_deref().unwrap_or(Version::STATELESS.name());
        if is_stateless && bridge.settings.versions.find(named).is_none() {
            self.refuse(request.id, self.not_offered(named), out);
            return None;
        }
        //= specs/spexus-bridge.md#lifecycle
        //# `initialize`, `ping` and `shutdown` MUST be answered by the bridge itself.
        match request.method.as_ref() {
            "ping" if !is_stateless => {
                out.extend(answer::result(request.id, "{}"));
                return None;
            }
            "shutdown" if batch.is_none() => {
                out.extend(answer::result(request.id, "{}"));
                return Some(Ended::InPeace);
            }
            "initialize" if !is_stateless => return self.initialize(request, batch, out),
            _ => {}
        }
        //= specs/spexus-bridge.md#lifecycle
        //# Before `initialize` every other request of the handshake era MUST be refused with 1076.
        if !is_stateless && bridge.session.version().is_none() {
            self.refuse(request.id, answer::uninitialized().into(), out);
            return None;
        }
        match self.admit(text, request, batch, is_stateless).await {
            Ok(in_flight) => {
                let stateless = is_stateless.then(|| named.to_owned());
                let forwarding = Forwarding {
                    bridge: bridge.clone(),
                    in_flight,
                    request: HostRequest::new(text, request, stateless),
                };
                tokio::spawn(forwarding.run());
            }
            Err(error) => self.refuse(request.id, error, out),
        }
        None
    }

    /// The error for a version that is not offered without a handshake.
    fn not_offered(&self, version: &str) -> RpcError {
        let message = format!("version {version:?} is not supported");
        RpcError::numbered(
            RpcCode::UnsupportedVersion,
            Refusal::new(Code::InvalidProtocolVersion, message),
        )
        .with("supported", self.0.settings.versions.names())
        .with("requested", version)
    }

    // Fulfils 003 R15.5, 003 R15.8
    /// Admits a request to those in flight; a host that asks for too much waits a little, and is then refused.
    async fn admit(
        &self,
        text: &str,
        request: &Request<'_>,
        batch: Option<&Arc<Batch>>,
        stateless: bool,
    ) -> Result<Arc<InFlightRequest>, RpcError> {
        let (limits, running) = (&self.0.settings.limits, &self.0.in_flight);
        if running.len() >= limits.max_in_flight {
            let wait = Duration::from_millis(limits.admission_wait_ms);
            let _ = tokio::time::timeout(wait, running.below(limits.max_in_flight)).await;
        }
        //= specs/spexus-bridge.md#limits
        //# Requests beyond the limit of running ones MUST be refused with 1001, and beyond the limit of their bytes with 1002.
        if running.len() >= limits.max_in_flight {
            let message = format!("{} requests are running", limits.max_in_flight);
            return Err(Refusal::new(Code::QueueCapExceeded, message).into());
        }
        if running.bytes() + text.len() > limits.max_in_flight_bytes {
            let message = "the running requests hold too many bytes";
            return Err(Refusal::new(Code::QueueByteCapExceeded, message).into());
        }
        let listens = request.method == "subscriptions/listen";
        let in_flight = InFlightRequest::new(request.id, batch, listens, !stateless, text.len());
        if !running.enter(in_flight.clone()) {
            return Err(taken_id());
        }
        batch.into_iter().for_each(|batch| batch.expect());
        Ok(in_flight)
    }

    // Fulfils 001 D10, 003 R1.4, 003 R2.2, 003 R2.3, 003 R2.5, 003 R2.7
    fn initialize(
        &self,
        request: &Request<'_>,
        batch: Option<&Arc<Batch>>,
        out: &mut Vec<u8>,
    ) -> Option<Ended> {
        let bridge = &self.0;
        if batch.is_some() {
            let error = RpcError::invalid("`initialize` cannot be part of a batch");
            self.refuse(request.id, error, out);
            return None;
        }
        if bridge.session.version().is_some() {
            let error = RpcError::invalid("this session is initialized already");
            self.refuse(request.id, error, out);
            return None;
        }
        let params: Value = request
            .params
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let client = client_of(&params);
        let Some(asked) = params["protocolVersion"].as_str() else {
            tracing::error!(client, "the host asks for no version");
            let refusal = Refusal::field(
                Code::MissingRequiredField,
                "protocolVersion",
                "is missing",
                "a version",
            );
            let error = RpcError::from(refusal).with("code", "MALFORMED_REQUEST");
            self.refuse(request.id, error, out);
            return None;
        };
        let versions = &bridge.settings.versions;
        let agreed = match versions.find(asked) {
            Some(version) if version.has_handshake() => Some(version),
            // A version without a handshake cannot be agreed on in one.
            Some(_) => versions.newest_handshake(),
            None => None,
        };
        //= specs/spexus-bridge.md#lifecycle
        //# An `initialize` that asks for an unknown version MUST be refused with `-32602` and the supported versions, and the process MUST then exit with 76.
        let Some(version) = agreed else {
            let version = loggable(asked);
            tracing::error!(client, version, "the host asks for a version nobody speaks");
            self.refuse(request.id, RpcError::unknown_version(asked, versions), out);
            return Some(Ended::VersionRefused);
        };
        let in_flight = InFlightRequest::new(request.id, None, false, false, 0);
        if !bridge.in_flight.enter(in_flight.clone()) {
            self.refuse(request.id, taken_id(), out);
            return None;
        }
        bridge.session.agree(Handshake {
            version,
            params: request.params.unwrap_or("{}").to_owned(),
        });
        let bridge = bridge.clone();
        tokio::spawn(async move {
            let answer = bridge.initialized(in_flight.id(), version).await;
            bridge.finish(&in_flight, answer).await;
        });
        None
    }
}

impl Bridge {
    /// The answer to `initialize`: the backend's own words where it is there, ours where it is not.
    async fn initialized(&self, id: &str, version: Version) -> Vec<u8> {
        let limit = Duration::from_millis(self.settings.limits.initialize_timeout_ms)
            .min(self.settings.request_timeout);
        let initialize = self.session.initialize(&self.backend.endpoint);
        let said = match tokio::time::timeout(limit, initialize).await {
            Ok(Ok(said)) => said,
            Ok(Err(SessionError::Refused(_, Some(error)))) => {
                self.session.reset();
                return answer::error(id, &error);
            }
            Ok(Err(SessionError::Refused(status, None))) => {
                self.session.reset();
                return RpcError::from(answer::not_mcp(status)).answer(id, version);
            }
            //= specs/spexus-bridge.md#lifecycle
            //# `initialize` MUST be answered also while the backend cannot be reached.
            Ok(Err(SessionError::Send(_) | SessionError::NoHandshake)) | Err(_) => {
                tracing::warn!(request = %id, "the backend does not answer; greeting the host without it");
                self.initialized_alone();
                Value::Null
            }
        };
        answer::result(id, &self.introduction(&said, version).to_string())
    }

    // Fulfils 003 R1.5, 003 R2.4, 003 R3.5
    /// Who the bridge is, and what can be done through it.
    fn introduction(&self, said: &Value, version: Version) -> Value {
        let ours = json!({
            "tools": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true },
            "prompts": { "listChanged": true },
            "logging": {},
            "completions": {},
        });
        let later = "The requirements server cannot be reached at the moment. Tools, resources and prompts are there as soon as it is back.";
        json!({
            "protocolVersion": version.name(),
            "capabilities": said.get("capabilities").unwrap_or(&ours),
            "serverInfo": self.settings.introduction(),
            "instructions": said.get("instructions").and_then(Value::as_str).unwrap_or(if said.is_null() { later } else { "" }),
        })
    }
}

/// The error for an id that another request in flight has.
fn taken_id() -> RpcError {
    RpcError::invalid("a request with this `id` is being served")
}

/// What a host calls itself, which is whatever it wrote.
fn client_of(params: &Value) -> String {
    let text = |name: &str| params["clientInfo"][name].as_str().unwrap_or_default();
    let client = format!("{} {}", text("name"), text("version"));
    loggable(client.trim())
}

/// A foreign word as it may stand in a line of a log.
fn loggable(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(MAX_LOGGED_CHARS).map(plain).collect()
}

/// A request of the host being forwarded.
struct Forwarding {
    bridge: Arc<Bridge>,
    in_flight: Arc<InFlightRequest>,
    request: HostRequest,
}

impl Forwarding {
    async fn run(self) {
        let (bridge, in_flight) = (&self.bridge, &self.in_flight);
        let deadline = Instant::now() + bridge.settings.request_timeout;
        let mut permit = None;
        let forwarding = async {
            // What only listens holds its connection beside the permits.
            if !in_flight.listens {
                match bridge.permit(deadline).await {
                    Ok(granted) => permit = granted,
                    Err(refusal) => return RpcError::from(refusal).answer(in_flight.id(), self.version()),
                }
            }
            let answer = self.answer(deadline).await;
            //= specs/spexus-bridge.md#lifecycle
            //# The bridge MUST introduce itself with the same configured name, title and version in both eras.
            match self.request.stateless {
                Some(_) => with_server_info(answer, &bridge.server_info),
                None => answer,
            }
        };
        let answer = tokio::select! {
            answer = forwarding => answer,
            () = in_flight.cancelled() => return,
        };
        bridge.finish(in_flight, answer).await;
        drop(permit);
    }

    async fn answer(&self, deadline: Instant) -> Vec<u8> {
        let (bridge, request) = (&self.bridge, &self.request);
        let params = Params::read(request.params());
        let checked = match &*request.method {
            "tools/call" => match tool_call::check(bridge, request, &params).await {
                Ok(checked) => checked,
                Err(refusal) => return answer::arguments(&request.id, refusal, self.version()),
            },
            method => Checked {
                body: request.body(),
                repeatable: REPEATABLE.contains(&method),
                headers: Vec::new(),
            },
        };
        let retryable = RetryableRequest {
            id: &request.id,
            method: &request.method,
            body: checked.body,
            headers: tool_call::stateless_headers(request, &params, checked.headers),
            repeatable: checked.repeatable,
            extension: DeadlineExtension::default(),
        };
        if self.in_flight.listens {
            return subscription::listen(bridge, &retryable, request.params()).await;
        }
        match bridge.forward(&retryable, deadline).await {
            Ok(answer) => {
                self.remember(&params, &answer);
                answer
            }
            Err(refusal) => {
                Stats::count(&bridge.stats.failures);
                tracing::error!(request = %request.id, method = %request.method, refusal = refusal.code.number(), "{}", refusal.message);
                bridge.refused(&retryable, refusal)
            }
        }
    }

    fn version(&self) -> Version {
        match &self.request.stateless {
            Some(_) => Version::STATELESS,
            None => self.bridge.version(),
        }
    }

    /// Remembers what a new session must be told again.
    fn remember(&self, params: &Params<'_>, answer: &[u8]) {
        let succeeded = || {
            let text = std::str::from_utf8(answer).unwrap_or_default();
            matches!(envelope::message(text), Ok(Message::Response(response)) if response.outcome.is_ok())
        };
        let session = &self.bridge.session;
        match (&*self.request.method, params.uri.as_deref()) {
            ("resources/subscribe", Some(uri)) if succeeded() => session.subscribed(uri),
            ("resources/unsubscribe", Some(uri)) if succeeded() => session.unsubscribed(uri),
            ("logging/setLevel", _) if succeeded() => {
                session.set_log_level(self.request.params().unwrap_or("{}"));
            }
            _ => {}
        }
    }
}
