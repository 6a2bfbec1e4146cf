//! The live sessions of HTTP clients, and how they come back from where they are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use refusal::{Code, Refusal};

use crate::core::{Core, random_id};
use crate::session::Session;
use crate::session_store::{SessionStore, Sharded};

pub(crate) struct SessionTable {
    live: Sharded<Arc<Session>>,
    count: AtomicUsize,
    /// The piece that is swept next.
    broom: AtomicUsize,
    store: Arc<dyn SessionStore>,
}

impl SessionTable {
    pub(crate) fn new(store: Arc<dyn SessionStore>) -> Self {
        Self {
            live: Sharded::default(),
            count: AtomicUsize::new(0),
            broom: AtomicUsize::new(0),
            store,
        }
    }

    /// A new session with an id nobody can guess.
    pub(crate) fn open(&self, core: &Core, owner: Option<&str>) -> Result<Arc<Session>, Refusal> {
        self.sweep_some(core);
        let limits = &core.settings.limits;
        if self.len() >= limits.max_sessions {
            return Err(Refusal::new(
                Code::ResourceExhausted,
                format!("{} sessions are open already", self.len()),
            ));
        }
        let mut session = Session::on_http(random_id().into(), limits);
        session.owner = owner.map(Into::into);
        let session = Arc::new(session);
        self.enter(core, &session);
        Ok(session)
    }

    // Fulfils 002 Req-Perf-002
    /// The session with this id, when it is alive or kept, and the caller's own.
    //= specs/mcp-runtime.md#sessions
    //# A session MUST be found in constant time, and one that is kept by a store MUST be served again after a restart.
    pub(crate) async fn find(
        &self,
        core: &Core,
        id: &str,
        owner: Option<&str>,
    ) -> Result<Arc<Session>, Refusal> {
        let live = self.live.shard(id).get(id).cloned();
        let session = match live {
            Some(session) if self.is_idle(core, &session) => {
                self.close(core, &session).await;
                None
            }
            Some(session) => Some(session),
            None => self.restore(core, id).await?,
        };
        //= specs/mcp-runtime.md#sessions
        //# A session MUST NOT be served to anyone but its owner.
        match session.filter(|session| session.owner.as_deref() == owner) {
            Some(session) => {
                session.touch(core.uptime_ms());
                Ok(session)
            }
            None => Err(Refusal::new(Code::SessionInvalid, "there is no such session")),
        }
    }

    /// Keeps what is worth keeping of a session.
    pub(crate) async fn keep(&self, session: &Session) -> Result<(), Refusal> {
        match session.record() {
            Some(record) => self.store.put(record).await,
            None => Ok(()),
        }
    }

    pub(crate) async fn close(&self, core: &Core, session: &Arc<Session>) {
        self.drop_live(core, session);
        if let Err(refusal) = self.store.remove(&session.id).await {
            tracing::warn!(%refusal, "a closed session could not be forgotten");
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    async fn restore(&self, core: &Core, id: &str) -> Result<Option<Arc<Session>>, Refusal> {
        let Some(record) = self.store.get(id).await? else {
            return Ok(None);
        };
        let watched = record.watched.clone();
        let session = Arc::new(Session::restored(record, &core.settings.limits));
        for uri in watched {
            core.hub.watch(&session, &uri);
            session.lock_watched().insert(uri);
        }
        self.enter(core, &session);
        Ok(Some(session))
    }

    fn enter(&self, core: &Core, session: &Arc<Session>) {
        session.touch(core.uptime_ms());
        if self
            .live
            .shard(&session.id)
            .insert(session.id.clone(), session.clone())
            .is_none()
        {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
        core.hub.enter(session);
    }

    fn drop_live(&self, core: &Core, session: &Arc<Session>) {
        if self.live.shard(&session.id).remove(&session.id).is_some() {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
        session.close_streams();
        core.hub.leave(session);
        for call in session.in_flight.claim_all() {
            call.abandon();
        }
    }

    fn is_idle(&self, core: &Core, session: &Session) -> bool {
        let idle = core.uptime_ms().saturating_sub(session.seen_ms());
        idle > core.settings.limits.session_idle_ms && session.in_flight.len() == 0 && !session.is_followed()
    }

    /// Each opened session pays for looking through one piece of the table.
    fn sweep_some(&self, core: &Core) {
        let piece = self.broom.fetch_add(1, Ordering::Relaxed) % self.live.pieces();
        let idle: Vec<_> = self
            .live
            .at(piece)
            .values()
            .filter(|s| self.is_idle(core, s))
            .cloned()
            .collect();
        for session in idle {
            self.drop_live(core, &session);
            let (store, id) = (self.store.clone(), session.id.clone());
            tokio::spawn(async move { store.remove(&id).await });
        }
    }
}
