//! The live sessions of HTTP clients, and how they come back from where they are kept.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use refusal::{Code, Refusal};

use crate::index_key::IndexKey;
use crate::random::random_id;
use crate::server::Server;
use crate::server::core::Core;
use crate::session::Session;
use crate::session::dirty::DirtySessions;
use crate::session::quota::Owner;
use crate::session::store::{SessionEdit, SessionRecord, SessionStore, Sharded, Subscription};
use mcp_protocol::RpcError;

/// Records written at once.
const MAX_SAVED: usize = 256;

pub(crate) struct SessionTable {
    live: Sharded<Arc<Session>>,
    count: AtomicUsize,
    /// The ids of the live sessions of each owner, and of each account.
    by_owner: Sharded<Vec<Box<str>>>,
    by_account: Sharded<Vec<Box<str>>>,
    /// The piece that is swept next.
    sweep_cursor: AtomicUsize,
    store: Arc<dyn SessionStore>,
    /// Sessions whose record is behind; none are where nothing outlives the process.
    dirty: Option<Arc<DirtySessions>>,
    is_saving: AtomicBool,
}

impl SessionTable {
    pub(crate) fn new(store: Arc<dyn SessionStore>) -> Self {
        Self {
            live: Sharded::default(),
            count: AtomicUsize::new(0),
            by_owner: Sharded::default(),
            by_account: Sharded::default(),
            sweep_cursor: AtomicUsize::new(0),
            dirty: store.outlives().then(Arc::default),
            is_saving: AtomicBool::new(false),
            store,
        }
    }

    /// Whether sessions outlive the process.
    pub(crate) fn outlive(&self) -> bool {
        self.dirty.is_some()
    }

    /// A new session with an id nobody can guess.
    pub(crate) async fn open(&self, core: &Arc<Core>, owner: Owner<'_>) -> Result<Arc<Session>, Refusal> {
        self.sweep_some(core);
        let limits = &core.settings.limits;
        if self.len() >= limits.max_sessions {
            self.make_room(core, owner).await?;
        }
        let session = Session::on_http(random_id().into(), owner, &core.quotas, limits);
        Ok(self.enter(core, session.saved_by(self.dirty.as_ref())).0)
    }

    /// Makes room in a full table at the cost of whoever has most of it.
    //= specs/mcp-server.md#sessions
    //# When as many sessions are open as there may be, a session of the account with the most MUST give way to one of an account with fewer,
    //# and an account that has the most itself MUST be refused with 1003.
    async fn make_room(&self, core: &Core, owner: Owner<'_>) -> Result<(), Refusal> {
        let all = (0..self.by_account.pieces()).filter_map(|piece| {
            let shard = self.by_account.at(piece);
            let most = shard.iter().max_by_key(|(_, ids)| ids.len());
            most.map(|(account, ids)| (ids.len(), account.0.clone()))
        });
        let (most, account) = all.max().unwrap_or_default();
        let own = owner.account.map(|account| count(&self.by_account, account));
        let fewer = own.is_some_and(|own| own < most);
        match self.oldest(&self.by_account, &account, "").filter(|_| fewer) {
            Some(oldest) => {
                // What is kept elsewhere may come back when there is room again.
                self.end_idle(core, &oldest).await;
                Ok(())
            }
            None if own.is_some_and(|own| own > 1) => Err(Refusal::new(
                Code::QueueTenantCapExceeded,
                format!(
                    "{} sessions are open, and this account has most of them",
                    self.len()
                ),
            )
            .hint("End a session of this account before you open another one.")),
            None => Err(Refusal::new(
                Code::ResourceExhausted,
                format!("{} sessions are open already", self.len()),
            )),
        }
    }

    // Fulfils 002 Req-Perf-002
    /// The session with this id, when it is alive or kept, and the caller's own.
    //= specs/mcp-server.md#sessions
    //# A session MUST be found in constant time, and one that is kept by a store MUST be served again after a restart.
    pub(crate) async fn find(
        &self,
        core: &Arc<Core>,
        id: &str,
        owner: Owner<'_>,
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
        //= specs/mcp-server.md#sessions
        //# A session MUST NOT be served to anyone but its owner.
        match session.filter(|session| session.owner.as_deref() == owner.id) {
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
        let Some(dirty) = &self.dirty else { return };
        let ids = dirty.take();
        for ids in ids.chunks(MAX_SAVED) {
            let sessions = ids
                .iter()
                .filter_map(|id| self.live.shard(id).get(&**id).cloned());
            let sessions: Vec<_> = sessions.collect();
            let records: Vec<_> = sessions.iter().filter_map(|s| self.record(core, s)).collect();
            if let Err(refusal) = self.store.save(records).await {
                tracing::warn!(%refusal, "sessions could not be written");
                sessions.iter().for_each(|session| session.mark_dirty());
            }
        }
    }

    /// Lets a client go on behind a mark it has seen on a stream that is not here.
    //= specs/mcp-server.md#sessions
    //# A client that comes back with the id of an event of another process MUST be told what happened after it.
    pub(crate) async fn resume(&self, core: &Core, session: &Session, mark: u64) -> Result<(), Refusal> {
        let watches = !session.lock_subscriptions().is_empty();
        let changes = self.store.missed(mark, watches).await?;
        session.forget_unread();
        core.broker.replay_missed(session, &changes);
        Ok(())
    }

    /// Another node wrote to a session; `None` means that it ended.
    //= specs/mcp-server.md#sessions
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
        session.record(core.broker.mark(), core.uptime_ms())
    }

    /// A session as it was kept, told what it missed since.
    //= specs/mcp-server.md#sessions
    //# A session that comes back MUST have its subscriptions, its level of log messages and the messages its client has not read,
    //# and MUST be told what happened while it lived nowhere.
    async fn restore(
        &self,
        core: &Arc<Core>,
        id: &str,
        owner: Owner<'_>,
    ) -> Result<Option<Arc<Session>>, Refusal> {
        let found = self.store.get(id).await?;
        let Some(record) = found.filter(|record| record.owner.as_deref() == owner.id) else {
            return Ok(None);
        };
        let (mark, watched) = (record.mark, record.subscriptions.clone());
        let restored = Session::restored(record, owner, &core.quotas, &core.settings.limits);
        let restored = restored.saved_by(self.dirty.as_ref());
        let pairs = watched.iter().map(|one| (one.uri.clone(), one.topic.clone()));
        restored.lock_subscriptions().extend(pairs);
        let (session, is_new) = self.enter(core, restored);
        // Who comes while another brings it back is served, and told together with the other.
        if !is_new {
            return Ok(Some(session));
        }
        for Subscription { uri, topic } in &watched {
            core.broker.subscribe(&session, uri, topic);
            look_again(core, uri);
        }
        match self.store.missed(mark, !watched.is_empty()).await {
            Ok(changes) => {
                core.broker.replay_missed(&session, &changes);
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
        self.start_write_behind(core);
        session.touch(core.uptime_ms());
        let session = Arc::new(session);
        {
            let mut shard = self.live.shard(&session.id);
            if let Some(known) = shard.get(&*session.id) {
                return (known.clone(), false);
            }
            shard.insert(IndexKey(session.id.clone()), session.clone());
        }
        for (list, key) in self.lists(&session) {
            let mut shard = list.shard(key);
            shard.entry(key.into()).or_default().push(session.id.clone());
        }
        self.count.fetch_add(1, Ordering::AcqRel);
        core.broker.enter(&session);
        (session, true)
    }

    fn drop_live(&self, core: &Core, session: &Arc<Session>) {
        if self.live.shard(&session.id).remove(&*session.id).is_some() {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
        for (list, key) in self.lists(session) {
            let mut shard = list.shard(key);
            if let Some(ids) = shard.get_mut(key) {
                ids.retain(|id| *id != session.id);
                if ids.is_empty() {
                    shard.remove(key);
                }
            }
        }
        session.close_streams();
        core.broker.leave(session);
        for call in session.in_flight.claim_all() {
            call.end(Err(ended_under()));
        }
    }

    /// The session that has to give way to a new one of the same owner, when there are too many.
    //= specs/mcp-server.md#sessions
    //# An owner MUST NOT have more sessions than the limit, and an account not more than its own; the one unheard of for longest MUST end.
    fn one_too_many(&self, core: &Core, new: &Session) -> Option<Arc<Session>> {
        let limits = &core.settings.limits;
        let max = [limits.max_sessions_per_owner, limits.max_sessions_per_account];
        let mut crowded = self.lists(new).zip(max);
        crowded.find_map(|((list, key), max)| {
            let is_crowded = count(list, key) > max;
            is_crowded.then(|| self.oldest(list, key, &new.id)).flatten()
        })
    }

    /// The lists a session stands in, each with its key there.
    fn lists<'a>(
        &'a self,
        session: &'a Session,
    ) -> impl Iterator<Item = (&'a Sharded<Vec<Box<str>>>, &'a str)> {
        let owned = session.owner.as_deref().map(|owner| (&self.by_owner, owner));
        let paid = session
            .account
            .as_deref()
            .map(|account| (&self.by_account, account));
        owned.into_iter().chain(paid)
    }

    /// Of the sessions in a list the one unheard of for longest, but not this one; one that is followed comes last.
    fn oldest(&self, list: &Sharded<Vec<Box<str>>>, key: &str, but: &str) -> Option<Arc<Session>> {
        let ids = list.shard(key).get(key).cloned()?;
        let others = ids.iter().filter(|id| &***id != but);
        let live = others.filter_map(|id| self.live.shard(id).get(&**id).cloned());
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
        let piece = self.sweep_cursor.fetch_add(1, Ordering::Relaxed) % self.live.pieces();
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
    fn start_write_behind(&self, core: &Arc<Core>) {
        if let Some(dirty) = &self.dirty
            && !self.is_saving.swap(true, Ordering::AcqRel)
        {
            let pause = Duration::from_millis(core.settings.limits.session_save_ms);
            tokio::spawn(write_behind(Arc::downgrade(core), dirty.clone(), pause));
        }
    }
}

fn count(list: &Sharded<Vec<Box<str>>>, key: &str) -> usize {
    list.shard(key).get(key).map_or(0, Vec::len)
}

/// Makes a live session ask for what its record does, unless it has seen a later one.
fn adopt(core: &Arc<Core>, session: &Arc<Session>, record: &SessionRecord) {
    let mut watched = session.lock_subscriptions();
    if !session.moves_to(record.rev) {
        return;
    }
    session.set_log_number(record.log_level);
    let kept = |uri: &String, topic: &String| {
        let mut wanted = record.subscriptions.iter();
        wanted.any(|one| one.uri == *uri && one.topic == *topic)
    };
    let gone: Vec<_> = watched.extract_if(.., |uri, topic| !kept(uri, topic)).collect();
    let added = record.subscriptions.iter();
    let added: Vec<_> = added
        .filter(|one| watched.insert(one.uri.clone(), one.topic.clone()).is_none())
        .collect();
    // As long as nobody else can: who watches is what was read last.
    for (uri, topic) in &gone {
        core.broker.unsubscribe(session, uri, topic);
    }
    for one in &added {
        core.broker.subscribe(session, &one.uri, &one.topic);
    }
    drop(watched);
    for one in added {
        look_again(core, &one.uri);
    }
}

/// Saves what has gathered, a while after there is something, until the server is gone.
async fn write_behind(core: Weak<Core>, dirty: Arc<DirtySessions>, pause: Duration) {
    loop {
        dirty.wait().await;
        if core.strong_count() == 0 {
            return;
        }
        tokio::time::sleep(pause).await;
        let Some(core) = core.upgrade() else { return };
        core.sessions.save(&core).await;
    }
}

impl Drop for SessionTable {
    fn drop(&mut self) {
        if let Some(dirty) = &self.dirty {
            dirty.wake();
        }
    }
}

/// What a running request is told whose session ends. Not status 404: that would tell its client to send it again.
//= specs/mcp-server.md#sessions
//# A request that runs when its session ends MUST be stopped and answered with 1016.
fn ended_under() -> RpcError {
    let refusal = Refusal::new(Code::SessionInvalid, "the session ended while this request ran")
        .hint("Open a new session, and look what was done before you ask again.");
    RpcError::from(refusal).with_status(200)
}

fn look_again(core: &Arc<Core>, uri: &str) {
    if let Some(source) = &core.resource_source {
        source.resubscribe(&Server(core.clone()), uri);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index_key::counting;
    use crate::settings::Info;

    /// Entries touched by finding each of some sessions spread over all.
    async fn touched_by_finding(sessions: usize, finds: usize) -> usize {
        let server = Server::builder(Info::new("test", "1.0.0")).build();
        let core = &server.0;
        let opened: Vec<_> = (0..sessions)
            .map(|_| {
                let limits = &core.settings.limits;
                let session = Session::on_http(random_id().into(), Owner::default(), &core.quotas, limits);
                core.sessions.enter(core, session).0
            })
            .collect();
        assert_eq!(core.sessions.len(), sessions);
        counting::take();
        for at in 0..finds {
            let wanted = &opened[at * 7_919 % sessions];
            let found = core
                .sessions
                .find(core, &wanted.id, Owner::default())
                .await
                .unwrap();
            assert!(Arc::ptr_eq(&found, wanted));
        }
        counting::take()
    }

    // proves 002 Req-Perf-002
    //= specs/mcp-server.md#sessions
    //= type=test
    //# A session MUST be found in constant time, and one that is kept by a store MUST be served again after a restart.
    #[tokio::test]
    async fn finding_a_session_touches_as_many_entries_among_100_000_as_among_10() {
        const FINDS: usize = 1_000;
        // Ids that share a tag of the hash cost a comparison more; in most tables no two of ten do.
        let mut least = usize::MAX;
        for _ in 0..20 {
            least = least.min(touched_by_finding(10, FINDS).await);
        }
        assert_eq!(least, FINDS, "one for each look-up among 10 sessions");
        let touched = touched_by_finding(100_000, FINDS).await;
        assert!(
            (FINDS..FINDS + FINDS / 4).contains(&touched),
            "{FINDS} look-ups among 100,000 sessions touched {touched} entries"
        );
    }
}
