//! The server's own state, shared by all connections.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::cancel::CancellationToken;
use crate::random::{now_ms, random_id, random_key};
use crate::resource_cache::ResourceCache;
use crate::server::answered::OnAnswered;
use crate::server::answered::OnElicited;
use crate::server::capabilities::Capabilities;
use crate::server::context::Context;
use crate::server::guard::Guard;
use crate::server::nonce::NonceStore;
use crate::server::overrun::NewClaim;
use crate::server::prompt::PromptSource;
use crate::server::registry::Registry;
use crate::server::resource::ResourceSource;
use crate::server::session_table::SessionTable;
use crate::session::quota::AccountQuotas;
use crate::settings::{Info, Settings};
use crate::subscription::Broker;
use crate::task::Tasks;
use mcp_protocol::{InputRounds, Outcome, ResultMeta, RpcError, Signer, Version};

/// Where the instructions of a server come from.
#[derive(Clone, Default)]
pub enum Instructions {
    /// There are none.
    #[default]
    None,
    /// Always the same.
    Fixed(String),
    /// Made anew for every client that says hello.
    Made(Arc<dyn Fn(Context) -> BoxFuture<'static, String> + Send + Sync>),
}

/// Hears notifications by method and parameters.
pub(crate) type Hear = Arc<dyn Fn(Context, &str, Value) + Send + Sync>;

pub(crate) struct Core {
    pub(crate) info: Info,
    pub(crate) settings: Settings,
    pub(crate) instructions: Instructions,
    pub(crate) capabilities: Capabilities,
    pub(crate) registry: Registry,
    pub(crate) resource_source: Option<Arc<dyn ResourceSource>>,
    pub(crate) prompt_source: Option<Arc<dyn PromptSource>>,
    pub(crate) guard: Option<Arc<dyn Guard>>,
    pub(crate) broker: Broker,
    pub(crate) cache: ResourceCache,
    pub(crate) tasks: Tasks,
    pub(crate) sessions: SessionTable,
    pub(crate) quotas: AccountQuotas,
    pub(crate) signer: Signer,
    pub(crate) stopping: CancellationToken,
    pub(crate) on_notification: Option<Hear>,
    pub(crate) on_elicited: Option<Arc<OnElicited>>,
    pub(crate) on_answered: Option<Arc<OnAnswered>>,
    pub(crate) nonces: Arc<dyn NonceStore>,
    pub(crate) new_claim: Option<Box<NewClaim>>,
    result_meta: ResultMeta,
    draining: AtomicBool,
    in_flight: AtomicUsize,
    fewer: Notify,
    started: Instant,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

/// The parts of a core a builder gathers.
pub(crate) struct Parts {
    pub(crate) info: Info,
    pub(crate) settings: Settings,
    pub(crate) instructions: Instructions,
    pub(crate) resource_source: Option<Arc<dyn ResourceSource>>,
    pub(crate) prompt_source: Option<Arc<dyn PromptSource>>,
    pub(crate) guard: Option<Arc<dyn Guard>>,
    pub(crate) sessions: SessionTable,
    pub(crate) on_notification: Option<Hear>,
    pub(crate) on_elicited: Option<Arc<OnElicited>>,
    pub(crate) on_answered: Option<Arc<OnAnswered>>,
    pub(crate) nonces: Arc<dyn NonceStore>,
    pub(crate) new_claim: Option<Box<NewClaim>>,
}

impl Core {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts {
            info,
            settings,
            instructions,
            resource_source,
            prompt_source,
            guard,
            sessions,
            on_notification,
            on_elicited,
            on_answered,
            nonces,
            new_claim,
        } = parts;
        // What a guard shows to one user is not for the others.
        let is_public = settings.cache_public && guard.is_none();
        let result_meta = ResultMeta::new(json!(info), settings.cache_ttl_ms, is_public);
        Self {
            capabilities: Capabilities::new(&settings),
            registry: Registry::new(settings.limits.page_entries),
            cache: ResourceCache::new(settings.limits.max_cached_bytes),
            tasks: Tasks::default(),
            signer: Signer::new(settings.signing_key.unwrap_or_else(random_key)),
            broker: Broker::default(),
            quotas: AccountQuotas::default(),
            stopping: CancellationToken::default(),
            draining: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            fewer: Notify::new(),
            started: Instant::now(),
            info,
            settings,
            instructions,
            resource_source,
            prompt_source,
            guard,
            sessions,
            on_notification,
            on_elicited,
            on_answered,
            nonces,
            new_claim,
            result_meta,
        }
    }

    // Fulfils 000 R2.1, 000 R2.2, 000 R2.5, 003 R11.4, 003 R11.5, 002 Req-Proto-001
    /// A whole answer, and the HTTP status where one is prescribed.
    pub(crate) fn render(
        &self,
        id: &str,
        outcome: Result<Outcome, RpcError>,
        version: Version,
    ) -> (Vec<u8>, Option<u16>) {
        let mut out = Vec::with_capacity(256);
        let status = self.render_into(&mut out, id, outcome, version);
        (out, status)
    }

    pub(crate) fn render_into(
        &self,
        out: &mut Vec<u8>,
        id: &str,
        outcome: Result<Outcome, RpcError>,
        version: Version,
    ) -> Option<u16> {
        let start = out.len();
        let error = match outcome {
            Ok(outcome) => {
                mcp_protocol::write_result(out, id, outcome, version, &self.result_meta);
                let size = out.len() - start;
                if size <= self.settings.limits.max_answer_bytes {
                    return None;
                }
                out.truncate(start);
                RpcError::from(Refusal::new(
                    Code::MessageTooLarge,
                    format!("the answer would have {size} bytes, more than one message may have"),
                ))
            }
            Err(error) => error,
        };
        mcp_protocol::write_error(out, id, &error, version);
        error.http_status
    }

    /// The signed state of a request that has to come back with answers.
    pub(crate) fn sign_rounds(&self, rounds: &mut InputRounds) -> Option<String> {
        let keep_ms = i64::try_from(self.settings.limits.question_ttl_ms).unwrap_or(i64::MAX);
        rounds.sign(&self.signer, random_id(), now_ms().saturating_add(keep_ms))
    }

    pub(crate) fn entered(&self) {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn left(&self) {
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
        self.fewer.notify_waiters();
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    // Fulfils 002 Req-Proto-015
    /// Refuses new requests, lets running ones finish in time, and answers those that do not.
    //= specs/mcp-server.md#shutdown
    //# While the server drains, new requests MUST be refused with 1077; running ones MUST be answered, those that outlast the drain limit with 1077.
    pub(crate) async fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.broker.end_listeners();
        let limit = Duration::from_millis(self.settings.limits.drain_timeout_ms);
        if tokio::time::timeout(limit, self.idle()).await.is_err() {
            for session in self.broker.sessions() {
                self.give_up(&session);
            }
        }
        // Streams that only wait for news would keep their connections open for ever.
        for session in self.broker.sessions() {
            session.close_streams();
        }
        self.sessions.save(self).await;
    }

    /// Answers all that still runs for a session with 1077 and stops it.
    pub(crate) fn give_up(&self, session: &crate::session::Session) {
        for call in session.in_flight.claim_all() {
            call.end(Err(shutting_down()));
        }
    }

    async fn idle(&self) {
        loop {
            let mut fewer = pin!(self.fewer.notified());
            fewer.as_mut().enable();
            if self.in_flight() == 0 {
                return;
            }
            fewer.await;
        }
    }

    pub(crate) fn check(
        &self,
        cx: &Context,
        access: crate::server::guard::Access<'_>,
    ) -> Result<(), Refusal> {
        self.guard
            .as_ref()
            .map_or(Ok(()), |guard| guard.check(cx, access))
    }

    pub(crate) fn uptime_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

pub(crate) fn shutting_down() -> RpcError {
    Refusal::new(Code::ServerShuttingDown, "the server is stopping").into()
}
