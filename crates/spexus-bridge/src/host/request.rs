//! What becomes of a request: answered here, refused here, or carried to the backend.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use mcp_protocol::envelope::Request;
use mcp_protocol::{RpcError, Version};
use mcp_server::lines::Ended;
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use tokio::time::Instant;

use super::Bridge;
use crate::call::{Errand, Patience};
use crate::catalogue::{KEY, Known, Tools};
use crate::flights::{Flight, Sink};
use crate::link::{Closed, Greeting};
use crate::text::{Glance, META_CAPABILITIES, header_text, introduced, stateless_version};
use crate::vitals::Vitals;
use crate::{answer, listen};

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

impl Bridge {
    pub(super) async fn request(
        self: &Arc<Self>,
        text: &str,
        request: &Request<'_>,
        sink: Sink,
    ) -> Option<Ended> {
        Vitals::count(&self.vitals.requests);
        let stateless = stateless_version(request.params);
        let is_stateless =
            stateless.is_some() || matches!(&*request.method, "server/discover" | "subscriptions/listen");
        //= specs/spexus-bridge.md#lifecycle
        //# A version that is not among the configured ones MUST be treated like one nobody knows.
        let named = stateless.as_deref().unwrap_or(Version::V2026_07_28.name());
        if is_stateless && self.settings.versions.find(named).is_none() {
            self.refuse(request.id, self.not_offered(named), &sink).await;
            return None;
        }
        //= specs/spexus-bridge.md#lifecycle
        //# `initialize`, `ping` and `shutdown` MUST be answered by the bridge itself.
        match request.method.as_ref() {
            "ping" if !is_stateless => {
                self.deliver(&sink, Some(&answer::result(request.id, "{}"))).await;
                return None;
            }
            "shutdown" if matches!(sink, Sink::Line) => {
                self.deliver(&sink, Some(&answer::result(request.id, "{}"))).await;
                return Some(Ended::InPeace);
            }
            "initialize" if !is_stateless => return self.initialize(request, sink).await,
            _ => {}
        }
        //= specs/spexus-bridge.md#lifecycle
        //# Before `initialize` every other request of the handshake era MUST be refused with 1076.
        if !is_stateless && self.link.version().is_none() {
            let refusal = Refusal::new(Code::ServerUninitialized, "this session was not initialized yet");
            self.refuse(request.id, refusal.into(), &sink).await;
            return None;
        }
        if let Some(flight) = self.admit(text, request, &sink, is_stateless).await {
            let job = Job {
                bridge: self.clone(),
                flight,
                text: text.to_owned(),
                stateless: is_stateless
                    .then(|| stateless.unwrap_or_else(|| Version::V2026_07_28.name().to_owned())),
            };
            tokio::spawn(job.run());
        }
        None
    }

    /// The error for a version that is not offered without a handshake.
    fn not_offered(&self, version: &str) -> RpcError {
        let message = format!("version {version:?} is not supported");
        RpcError::numbered(-32022, Refusal::new(Code::InvalidProtocolVersion, message))
            .with("supported", self.settings.versions.names())
            .with("requested", version)
    }

    async fn refuse(&self, id: &str, error: RpcError, sink: &Sink) {
        self.deliver(sink, Some(&error.answer(id, self.version()))).await;
    }

    // Fulfils 003 R15.5, 003 R15.8
    /// A place among the requests under way; a host that asks for too much waits a little, and is then refused.
    async fn admit(
        &self,
        text: &str,
        request: &Request<'_>,
        sink: &Sink,
        stateless: bool,
    ) -> Option<Arc<Flight>> {
        let limits = &self.settings.limits;
        if self.flights.len() >= limits.max_in_flight {
            let wait = Duration::from_millis(limits.admission_wait_ms);
            let _ = tokio::time::timeout(wait, self.flights.below(limits.max_in_flight)).await;
        }
        //= specs/spexus-bridge.md#limits
        //# Requests beyond the limit of running ones MUST be refused with 1001, and beyond the limit of their bytes with 1002.
        if self.flights.len() >= limits.max_in_flight {
            let refusal = Refusal::new(
                Code::QueueCapExceeded,
                format!("{} requests are running", limits.max_in_flight),
            );
            self.refuse(request.id, refusal.into(), sink).await;
            return None;
        }
        if self.flights.bytes() + text.len() > limits.max_in_flight_bytes {
            let refusal = Refusal::new(
                Code::QueueByteCapExceeded,
                "the running requests hold too many bytes",
            );
            self.refuse(request.id, refusal.into(), sink).await;
            return None;
        }
        let listens = request.method == "subscriptions/listen";
        let flight = Flight::new(request.id, sink.clone(), listens, !stateless, text.len());
        if !self.flights.enter(&flight) {
            let error = RpcError::invalid("a request with this `id` is being served");
            self.refuse(request.id, error, sink).await;
            return None;
        }
        Some(flight)
    }

    // Fulfils 003 R1.4, 003 R2.2, 003 R2.3, 003 R2.5, 003 R2.7
    async fn initialize(self: &Arc<Self>, request: &Request<'_>, sink: Sink) -> Option<Ended> {
        if !matches!(sink, Sink::Line) {
            let error = RpcError::invalid("`initialize` cannot be part of a batch");
            self.refuse(request.id, error, &sink).await;
            return None;
        }
        if self.link.version().is_some() {
            self.refuse(
                request.id,
                RpcError::invalid("this session is initialized already"),
                &sink,
            )
            .await;
            return None;
        }
        let params: Value = request
            .params
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let Some(asked) = params["protocolVersion"].as_str() else {
            let refusal = Refusal::field(
                Code::MissingRequiredField,
                "protocolVersion",
                "is missing",
                "a version",
            );
            self.refuse(request.id, refusal.into(), &sink).await;
            return None;
        };
        let versions = &self.settings.versions;
        let agreed = match versions.find(asked) {
            Some(version) if version.has_handshake() => Some(version),
            // A version without a handshake cannot be agreed on in one.
            Some(_) => versions.newest_handshake(),
            None => None,
        };
        let version = match agreed {
            Some(version) => version,
            //= specs/spexus-bridge.md#lifecycle
            //# An `initialize` that asks for an unknown version MUST be refused with `-32602` and the supported versions, and the process MUST then exit with 76.
            None => {
                tracing::error!(asked, "the host asks for a version nobody speaks");
                self.refuse(request.id, RpcError::unknown_version(asked, versions), &sink)
                    .await;
                return Some(Ended::VersionRefused);
            }
        };
        self.link.greet(Greeting {
            version,
            params: request.params.unwrap_or("{}").to_owned(),
        });
        let flight = Flight::new(request.id, sink, false, false, 0);
        if self.flights.enter(&flight) {
            let bridge = self.clone();
            tokio::spawn(async move {
                let answer = bridge.hello(&flight.id, version).await;
                bridge.land(&flight, Some(&answer)).await;
            });
        }
        None
    }

    /// The answer to `initialize`: the backend's own words where it is there, ours where it is not.
    async fn hello(&self, id: &str, version: Version) -> Vec<u8> {
        let limit = Duration::from_millis(self.settings.limits.greeting_timeout_ms)
            .min(self.settings.request_timeout);
        let hello = tokio::time::timeout(limit, self.link.hello(&self.backend)).await;
        let said = match hello {
            Ok(Ok(said)) => said,
            Ok(Err(Closed::Refused(_, Some(error)))) => {
                self.link.ungreet();
                return answer::error(id, &error);
            }
            Ok(Err(Closed::Refused(status, None))) => {
                self.link.ungreet();
                return RpcError::from(answer::odd(status)).answer(id, version);
            }
            //= specs/spexus-bridge.md#lifecycle
            //# `initialize` MUST be answered also while the backend cannot be reached.
            Ok(Err(Closed::Fault(_) | Closed::NoGreeting)) | Err(_) => {
                tracing::warn!(request = %id, "the backend does not answer; greeting the host without it");
                self.alone.store(true, Ordering::Relaxed);
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

/// A request on its way.
struct Job {
    bridge: Arc<Bridge>,
    flight: Arc<Flight>,
    text: String,
    /// The version, for requests of the stateless era.
    stateless: Option<String>,
}

/// What the bridge knows after looking at a call.
enum Looked {
    /// To be carried, with this body.
    Carry { body: Bytes, repeatable: bool },
    /// Its arguments cannot be right.
    Wrong(Refusal),
}

impl Job {
    async fn run(self) {
        let (bridge, flight) = (&self.bridge, &self.flight);
        let deadline = Instant::now() + bridge.settings.request_timeout;
        let mut place = None;
        let work = async {
            // What only listens holds its connection beside the places.
            if !flight.listens {
                match bridge.place(deadline).await {
                    Ok(found) => place = found,
                    Err(refusal) => return Some(RpcError::from(refusal).answer(&flight.id, self.version())),
                }
            }
            let answer = self.work(deadline).await;
            //= specs/spexus-bridge.md#lifecycle
            //# The bridge MUST introduce itself with the same configured name, title and version in both eras.
            match self.stateless {
                Some(_) => answer.map(|answer| introduced(answer, &bridge.introduction)),
                None => answer,
            }
        };
        let answer = tokio::select! {
            answer = work => answer,
            () = flight.cancelled() => return,
        };
        bridge.land(flight, answer.as_deref()).await;
        drop(place);
    }

    async fn work(&self, deadline: Instant) -> Option<Vec<u8>> {
        let Ok(mcp_protocol::envelope::Message::Request(request)) =
            mcp_protocol::envelope::message(&self.text)
        else {
            return None;
        };
        let glance = Glance::at(request.params);
        let (mut body, mut repeatable, mut extra) = (
            Bytes::copy_from_slice(self.text.as_bytes()),
            REPEATABLE.contains(&&*request.method),
            Vec::new(),
        );
        if request.method == "tools/call"
            && let Some(tools) = self
                .bridge
                .catalogue
                .tools(&self.bridge.backend, &self.bridge.settings.version)
                .await
        {
            match self.look(&request, &glance, tools, &mut extra).await {
                Looked::Carry {
                    body: new,
                    repeatable: safe,
                } => (body, repeatable) = (new, safe),
                Looked::Wrong(refusal) => {
                    return Some(answer::arguments(request.id, refusal, self.version()));
                }
            }
        }
        let errand = Errand {
            id: request.id.into(),
            method: request.method.to_string(),
            body,
            headers: self.headers(&request, &glance, extra),
            repeatable,
            asked: Patience::default(),
        };
        if self.flight.listens {
            return Some(listen::listen(&self.bridge, &errand, request.params).await);
        }
        let carried = self.bridge.carry(&errand, deadline).await;
        match carried {
            Ok(answer) => {
                self.learn(&request, &glance, answer.as_deref());
                answer
            }
            Err(refusal) => {
                Vitals::count(&self.bridge.vitals.failures);
                tracing::error!(request = %errand.id, method = %errand.method, refusal = refusal.code.number(), "{}", refusal.message);
                Some(self.bridge.refused(&errand, refusal))
            }
        }
    }

    fn version(&self) -> Version {
        match &self.stateless {
            Some(_) => Version::V2026_07_28,
            None => self.bridge.version(),
        }
    }

    /// Whether the host can show a question of the backend to its person.
    fn host_can_ask(&self, request: &Request<'_>) -> bool {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let declared = match &self.stateless {
            Some(_) => read(request.params.unwrap_or("{}"))["_meta"][META_CAPABILITIES].take(),
            None => read(&self.bridge.link.greeting())["capabilities"].take(),
        };
        declared.get("elicitation").is_some()
    }

    // Fulfils 003 R6.3, 003 R6.10, 003 R13.6
    /// Holds a call against what is known of its tool, and gives it a key when the tool takes one.
    //= specs/spexus-bridge.md#calling-the-backend
    //# Arguments MUST be checked against the tool's schema before the backend is called, and every wrong field MUST be named.
    async fn look(
        &self,
        request: &Request<'_>,
        glance: &Glance<'_>,
        tools: Arc<Tools>,
        extra: &mut Vec<(String, String)>,
    ) -> Looked {
        let plain = |repeatable| Looked::Carry {
            body: Bytes::copy_from_slice(self.text.as_bytes()),
            repeatable,
        };
        let Some(name) = glance.tool_name() else {
            return plain(false);
        };
        let mut arguments = match glance
            .arguments
            .map(|raw| serde_json::from_str::<Value>(raw.get()))
        {
            None => json!({}),
            Some(Ok(Value::Object(arguments))) => Value::Object(arguments),
            // The backend knows how to read arguments that came as text, and how to refuse the rest.
            Some(_) => return plain(tools.get(name).is_some_and(Known::repeatable)),
        };
        let given = arguments.clone();
        let mut tools = tools;
        let fresh = Duration::from_millis(self.bridge.settings.limits.catalogue_fresh_ms);
        let mut checked = check(&tools, name, &mut arguments);
        // Before the host is refused, what it is held against must be what the backend has now.
        if (checked.is_err() || tools.get(name).is_none()) && tools.is_older_than(fresh) {
            let bridge = &self.bridge;
            if let Some(now) = bridge
                .catalogue
                .read(&bridge.backend, &bridge.settings.version)
                .await
            {
                tools = now;
                arguments = given;
                checked = check(&tools, name, &mut arguments);
            }
        }
        //= specs/spexus-bridge.md#calling-the-backend
        //# A call that only lacks arguments MUST be carried when the host can ask its person for them.
        if let Err(refusal) = checked
            && !(self.host_can_ask(request) && only_lacks(&tools, name, &arguments, &refusal))
        {
            return Looked::Wrong(refusal);
        }
        let Some(tool) = tools.get(name) else {
            return plain(false);
        };
        for (header, argument) in tool.header_arguments() {
            match arguments.get(&argument) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) => extra.push((header, text.clone())),
                Some(other) => extra.push((header, other.to_string())),
            }
        }
        if tool.repeatable() || !tool.takes_key() {
            return plain(tool.repeatable());
        }
        //= specs/spexus-bridge.md#faults
        //# A call that makes something MUST carry a key by which the backend makes it once, however often it is sent.
        if arguments.get(KEY).is_some() {
            return plain(true);
        }
        arguments[KEY] = self.bridge.next_key().into();
        match with_arguments(request, arguments) {
            Some(body) => Looked::Carry {
                body,
                repeatable: true,
            },
            None => plain(false),
        }
    }

    /// The headers a request of the stateless era must carry.
    fn headers(
        &self,
        request: &Request<'_>,
        glance: &Glance<'_>,
        extra: Vec<(String, String)>,
    ) -> Option<HeaderMap> {
        let version = self.stateless.as_ref()?;
        let mut headers = HeaderMap::new();
        let mut put = |name: &str, text: &str| {
            let name = HeaderName::try_from(name).ok();
            let value = HeaderValue::from_str(&header_text(text)).ok();
            headers.extend(name.zip(value));
        };
        put("mcp-protocol-version", version);
        put("mcp-method", &request.method);
        let named = match request.method.as_ref() {
            "tools/call" | "prompts/get" => glance.name.as_deref(),
            "resources/read" => glance.uri.as_deref(),
            method if method.starts_with("tasks/") => glance.task_id.as_deref(),
            _ => None,
        };
        if let Some(name) = named {
            put("mcp-name", name);
        }
        for (name, value) in extra {
            put(&name, &value);
        }
        Some(headers)
    }

    /// Remembers what a new session must be told again.
    fn learn(&self, request: &Request<'_>, glance: &Glance<'_>, answer: Option<&[u8]>) {
        let succeeded = |answer: &[u8]| {
            let text = std::str::from_utf8(answer).unwrap_or_default();
            let message = mcp_protocol::envelope::message(text);
            matches!(message, Ok(mcp_protocol::envelope::Message::Response(response)) if response.outcome.is_ok())
        };
        let link = &self.bridge.link;
        match (request.method.as_ref(), glance.uri.as_deref()) {
            ("resources/subscribe", Some(uri)) if answer.is_some_and(succeeded) => link.watch(uri),
            ("resources/unsubscribe", Some(uri)) if answer.is_some_and(succeeded) => link.unwatch(uri),
            ("logging/setLevel", _) if answer.is_some_and(succeeded) => {
                link.set_level(request.params.unwrap_or("{}"))
            }
            _ => {}
        }
    }
}

fn check(tools: &Tools, name: &str, arguments: &mut Value) -> Result<(), Refusal> {
    match tools.get(name).and_then(Known::schema) {
        Some(schema) => schema.admit(arguments),
        None => Ok(()),
    }
}

fn only_lacks(tools: &Tools, name: &str, arguments: &Value, refusal: &Refusal) -> bool {
    match (tools.get(name).and_then(Known::schema), arguments) {
        (Some(schema), Value::Object(given)) => schema.only_lacks(given, refusal),
        _ => false,
    }
}

/// The request with other arguments.
fn with_arguments(request: &Request<'_>, arguments: Value) -> Option<Bytes> {
    let mut params: Value = serde_json::from_str(request.params?).ok()?;
    params["arguments"] = arguments;
    let method = &request.method;
    Some(
        format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#,
            request.id
        )
        .into(),
    )
}
