//! The live sessions of HTTP clients, and how they come back from where they are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use refusal::{Code, Refusal};

use crate::answer::RpcError;
use crate::core::{Core, random_id};
use crate::server::Server;
use crate::session::Session;
use crate::session_store::{SessionEdit, SessionRecord, SessionStore, Sharded};
use crate::unsaved::{Unsaved, save_always};

/// Records written at once.
const MAX_SAVED: usize = 256;

pub(crate) struct SessionTable {
    live: Sharded<Arc<Session>>,
    count: AtomicUsize,
    /// The ids of the live sessions of each owner.
    owned: Sharded<Vec<Box<str>>>,
    /// The piece that is swept next.
    broom: AtomicUsize,
    store: Arc<dyn SessionStore>,
    /// Sessions whose record is behind; none are where nothing outlives the process.
    unsaved: Option<Arc<Unsaved>>,
    is_saving: AtomicBool,
}

impl SessionTable {
    pub(crate) fn new(store: Arc<dyn SessionStore>) -> Self {
        Self {
            live: Sharded::default(),
            count: AtomicUsize::new(0),
            owned: Sharded::default(),
            broom: AtomicUsize::new(0),
            unsaved: store.outlives().then(Arc::default),
            is_saving: AtomicBool::new(false),
            store,
        }
    }

    /// Whether sessions outlive the process.
    pub(crate) fn outlive(&self) -> bool {
        self.unsaved.is_some()
    }

    /// A new session with an id nobody can guess.
    pub(crate) fn open(&self, core: &Arc<Core>, owner: Option<&str>) -> Result<Arc<Session>, Refusal> {
        self.sweep_some(core);
        let limits = &core.settings.limits;
        if self.len() >= limits.max_sessions {
            return Err(Refusal::new(
                Code::ResourceExhausted,
                format!("{} sessions are open already", self.len()),
            ));
        }
        let mut session = Session::on_http(random_id().into(), limits).saved_by(self.unsaved.as_ref());
        session.owner = owner.map(Into::into);
        Ok(self.enter(core, session).0)
    }

    // Fulfils 002 Req-Perf-002
    /// The session with this id, when it is alive or kept, and the caller's own.
    //= specs/mcp-runtime.md#sessions
    //# A session MUST be found in constant time, and one that is kept by a store MUST be served again after a restart.
    pub(crate) async fn find(
        &self,
        core: &Arc<Core>,
        id: &str,
        owner: Option<&str>,
    ) -> Result<Arc<Session>, Refusal> {
        let live = self.live.shard(id).get(id).cloned();
        let session = match live {
            Some(session) if self.is_idle(core, &session) => {
                self.end_idle(core, &session).await;
                self.restore(core, id, owner).await?
            }
            Some(session) => Some(session),
            None => self.restore(core, id, owner).await?,
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

    /// Keeps a session that was just opened.
    pub(crate) async fn add(&self, core: &Arc<Core>, session: &Session) -> Result<(), Refusal> {
        let Some(record) = self.record(core, session) else {
            return Ok(());
        };
        let limit = core.settings.limits.max_sessions_per_owner;
        for ended in self.store.add(record, limit).await? {
            self.written(core, &ended, None);
        }
        while let Some(oldest) = self.one_too_many(core, session) {
            self.close(core, &oldest).await;
        }
        Ok(())
    }

    /// Keeps what a client asked of its session, on top of what it asked other processes for.
    pub(crate) async fn edit(
        &self,
        core: &Arc<Core>,
        session: &Arc<Session>,
        edit: SessionEdit,
    ) -> Result<(), Refusal> {
        if let Some(record) = self.store.edit(&session.id, edit).await? {
            adopt(core, session, &record);
        }
        Ok(())
    }

    /// Writes the records that are behind. What cannot be written now waits for the next time.
    pub(crate) async fn save(&self, core: &Core) {
        let Some(unsaved) = &self.unsaved else { return };
        let ids = unsaved.take();
        for ids in ids.chunks(MAX_SAVED) {
            let sessions = ids.iter().filter_map(|id| self.live.shard(id).get(id).cloned());
            let sessions: Vec<_> = sessions.collect();
            let records: Vec<_> = sessions.iter().filter_map(|s| self.record(core, s)).collect();
            if let Err(refusal) = self.store.save(records).await {
                tracing::warn!(%refusal, "sessions could not be written");
                sessions.iter().for_each(|session| session.note_unsaved());
            }
        }
    }

    /// Lets a client go on behind a mark it has seen on a stream that is not here.
    //= specs/mcp-runtime.md#sessions
    //# A client that comes back with the id of an event of another process MUST be told what happened after it.
    pub(crate) async fn resume(&self, core: &Core, session: &Session, mark: u64) -> Result<(), Refusal> {
        let watches = !session.lock_watched().is_empty();
        let news = self.store.missed(mark, watches).await?;
        session.forget_unread();
        core.hub.tell_missed(session, &news);
        Ok(())
    }

    /// Another node wrote to a session; `None` means that it ended.
    //= specs/mcp-runtime.md#sessions
    //# What another process changed of a session MUST hold here, too, and a session that ended there MUST end here.
    pub(crate) fn written(&self, core: &Arc<Core>, id: &str, record: Option<SessionRecord>) {
        let Some(session) = self.live.shard(id).get(id).cloned() else {
            return;
        };
        match record {
            Some(record) => adopt(core, &session, &record),
            None => self.drop_live(core, &session),
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

    fn record(&self, core: &Core, session: &Session) -> Option<SessionRecord> {
        session.record(core.hub.mark(), core.uptime_ms())
    }

    /// A session as it was kept, told what it missed since.
    //= specs/mcp-runtime.md#sessions
    //# A session that comes back MUST have its subscriptions, its level of log messages and the messages its client has not read,
    //# and MUST be told what happened while it lived nowhere.
    async fn restore(
        &self,
        core: &Arc<Core>,
        id: &str,
        owner: Option<&str>,
    ) -> Result<Option<Arc<Session>>, Refusal> {
        let found = self.store.get(id).await?;
        let Some(record) = found.filter(|record| record.owner.as_deref() == owner) else {
            return Ok(None);
        };
        let (mark, watched) = (record.mark, record.watched.clone());
        let restored = Session::restored(record, &core.settings.limits).saved_by(self.unsaved.as_ref());
        restored.lock_watched().extend(watched.iter().cloned());
        let (session, is_new) = self.enter(core, restored);
        // Who comes while another brings it back is served, and told together with the other.
        if !is_new {
            return Ok(Some(session));
        }
        for uri in &watched {
            core.hub.watch(&session, uri);
            look_again(core, uri);
        }
        match self.store.missed(mark, !watched.is_empty()).await {
            Ok(news) => {
                core.hub.tell_missed(&session, &news);
                session.caught_up();
                Ok(Some(session))
            }
            Err(refusal) => {
                self.drop_live(core, &session);
                Err(refusal)
            }
        }
    }

    /// Lets a session live; one with the same id that lives already stays.
    fn enter(&self, core: &Arc<Core>, session: Session) -> (Arc<Session>, bool) {
        self.save_from_now_on(core);
        session.touch(core.uptime_ms());
        let session = Arc::new(session);
        {
            let mut shard = self.live.shard(&session.id);
            if let Some(known) = shard.get(&session.id) {
                return (known.clone(), false);
            }
            shard.insert(session.id.clone(), session.clone());
        }
        if let Some(owner) = &session.owner {
            let mut owned = self.owned.shard(owner);
            owned.entry(owner.clone()).or_default().push(session.id.clone());
        }
        self.count.fetch_add(1, Ordering::AcqRel);
        core.hub.enter(&session);
        (session, true)
    }

    fn drop_live(&self, core: &Core, session: &Arc<Session>) {
        if self.live.shard(&session.id).remove(&session.id).is_some() {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
        if let Some(owner) = &session.owner {
            let mut owned = self.owned.shard(owner);
            if let Some(ids) = owned.get_mut(owner) {
                ids.retain(|id| *id != session.id);
                if ids.is_empty() {
                    owned.remove(owner);
                }
            }
        }
        session.close_streams();
        core.hub.leave(session);
        for call in session.in_flight.claim_all() {
            call.end(ended_under());
        }
    }

    /// The session that has to give way to a new one of the same owner, when there are too many.
    //= specs/mcp-runtime.md#sessions
    //# An owner MUST NOT have more sessions than the limit; the one unheard of for longest MUST end.
    fn one_too_many(&self, core: &Core, new: &Session) -> Option<Arc<Session>> {
        let owner = new.owner.as_deref()?;
        let ids = self.owned.shard(owner).get(owner).cloned()?;
        if ids.len() <= core.settings.limits.max_sessions_per_owner {
            return None;
        }
        let others = ids.iter().filter(|id| **id != new.id);
        let live = others.filter_map(|id| self.live.shard(id).get(id).cloned());
        live.min_by_key(|session| (session.is_followed(), session.seen_ms()))
    }

    fn is_idle(&self, core: &Core, session: &Session) -> bool {
        let idle = core.uptime_ms().saturating_sub(session.seen_ms());
        idle > core.settings.limits.session_idle_ms && session.in_flight.len() == 0 && !session.is_followed()
    }

    /// Where other processes may have heard of the client since, the store decides whether its session is over.
    async fn end_idle(&self, core: &Core, session: &Arc<Session>) {
        match self.outlive() {
            true => self.drop_live(core, session),
            false => self.close(core, session).await,
        }
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
            if !self.outlive() {
                self.forget(&session);
            }
        }
    }

    /// Removes a session from its store while nobody waits.
    fn forget(&self, session: &Session) {
        let (store, id) = (self.store.clone(), session.id.clone());
        tokio::spawn(async move { store.remove(&id).await });
    }

    /// Starts the task that saves, once, where there is something to outlive the process.
    fn save_from_now_on(&self, core: &Arc<Core>) {
        if let Some(unsaved) = &self.unsaved
            && !self.is_saving.swap(true, Ordering::AcqRel)
        {
            let pause = Duration::from_millis(core.settings.limits.session_save_ms);
            tokio::spawn(save_always(Arc::downgrade(core), unsaved.clone(), pause));
        }
    }
}

/// Makes a live session ask for what its record does, unless it has seen a later one.
fn adopt(core: &Arc<Core>, session: &Arc<Session>, record: &SessionRecord) {
    let mut watched = session.lock_watched();
    if !session.moves_to(record.rev) {
        return;
    }
    session.set_log_number(record.log_level);
    let gone: Vec<_> = watched
        .extract_if(.., |uri| !record.watched.contains(uri))
        .collect();
    let added = record.watched.iter();
    let added: Vec<_> = added.filter(|uri| watched.insert((*uri).clone())).collect();
    // As long as nobody else can: who watches is what was read last.
    for uri in &gone {
        core.hub.unwatch(session, uri);
    }
    for uri in &added {
        core.hub.watch(session, uri);
    }
    drop(watched);
    for uri in added {
        look_again(core, uri);
    }
}

impl Drop for SessionTable {
    fn drop(&mut self) {
        if let Some(unsaved) = &self.unsaved {
            unsaved.wake();
        }
    }
}

/// What a running request is told whose session ends. Not status 404: that would tell its client to send it again.
//= specs/mcp-runtime.md#sessions
//# A request that runs when its session ends MUST be stopped and answered with 1016.
fn ended_under() -> RpcError {
    let refusal = Refusal::new(Code::SessionInvalid, "the session ended while this request ran")
        .hint("Open a new session, and look what was done before you ask again.");
    RpcError::from(refusal).status(200)
}

fn look_again(core: &Arc<Core>, uri: &str) {
    if let Some(source) = &core.resource_source {
        source.watch_again(&Server(core.clone()), uri);
    }
}
