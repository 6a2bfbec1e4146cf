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

use crate::answer::{self, Outcome, RpcError, SERVER_INFO, Signature};
use crate::cache::ResourceCache;
use crate::cancel::Cancel;
use crate::context::Context;
use crate::elicit::OnElicited;
use crate::guard::Guard;
use crate::hub::Hub;
use crate::prompt::PromptSource;
use crate::registry::Registry;
use crate::resource::ResourceSource;
use crate::seal::Seal;
use crate::session_table::SessionTable;
use crate::settings::{Info, Settings};
use crate::task::Tasks;
use crate::version::Version;

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
    pub(crate) registry: Registry,
    pub(crate) resource_source: Option<Arc<dyn ResourceSource>>,
    pub(crate) prompt_source: Option<Arc<dyn PromptSource>>,
    pub(crate) guard: Option<Arc<dyn Guard>>,
    pub(crate) hub: Hub,
    pub(crate) cache: ResourceCache,
    pub(crate) tasks: Tasks,
    pub(crate) sessions: SessionTable,
    pub(crate) seal: Seal,
    pub(crate) stopping: Cancel,
    pub(crate) on_notification: Option<Hear>,
    pub(crate) on_elicited: Option<Arc<OnElicited>>,
    signature: Signature,
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
        } = parts;
        let own = json!(info);
        let signature = Signature {
            meta_member: format!("\"{SERVER_INFO}\":{own}"),
            info: own,
            cache_ttl_ms: settings.cache_ttl_ms,
            // What a guard shows to one user is not for the others.
            cache_scope: match settings.cache_public && guard.is_none() {
                true => "public",
                false => "private",
            },
        };
        Self {
            registry: Registry::new(settings.limits.page_entries),
            cache: ResourceCache::new(settings.limits.max_cached_bytes),
            tasks: Tasks::default(),
            seal: Seal::new(settings.seal_key.unwrap_or_else(random_key)),
            hub: Hub::default(),
            stopping: Cancel::default(),
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
            signature,
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
                answer::write_result(out, id, outcome, version, &self.signature);
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
        answer::write_error(out, id, &error, version);
        error.status
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
    //= specs/mcp-runtime.md#shutdown
    //# While the server drains, new requests MUST be refused with 1077; running ones MUST be answered, those that outlast the drain limit with 1077.
    pub(crate) async fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.hub.end_listeners();
        let limit = Duration::from_millis(self.settings.limits.drain_timeout_ms);
        if tokio::time::timeout(limit, self.idle()).await.is_err() {
            for session in self.hub.sessions() {
                self.give_up(&session);
            }
        }
        // Streams that only wait for news would keep their connections open for ever.
        for session in self.hub.sessions() {
            session.close_streams();
        }
        self.sessions.save(self).await;
    }

    /// Answers all that still runs for a session with 1077 and stops it.
    pub(crate) fn give_up(&self, session: &crate::session::Session) {
        for call in session.in_flight.claim_all() {
            call.cancel.raise();
            call.hand_over(Err(shutting_down()));
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

    pub(crate) fn check(&self, cx: &Context, access: crate::guard::Access<'_>) -> Result<(), Refusal> {
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

/// 256 bits nobody can guess.
pub(crate) fn random_key() -> [u8; 32] {
    let mut key = [0; 32];
    // Without randomness nothing signed could be trusted; a process in that state must not serve.
    getrandom::fill(&mut key).expect("the operating system has randomness");
    key
}

/// An id nobody can guess: 128 random bits as hex.
pub(crate) fn random_id() -> String {
    random_key()[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
