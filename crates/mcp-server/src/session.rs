//! One client's session: how far its handshake is, what it said about itself, what runs for it.

pub(crate) mod batch;
pub(crate) mod dirty;
pub(crate) mod in_flight;
pub(crate) mod outbox;
pub(crate) mod pending;
pub(crate) mod quota;
pub(crate) mod roots;
pub(crate) mod sink;
pub(crate) mod store;
pub(crate) mod stream;

pub use quota::{Account, SessionOwner};

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};
use refusal::{Code, Refusal};

use crate::limits::Limits;
use crate::random::{random_id, random_key};
use crate::rate_limiter::RateLimiter;
use crate::session::dirty::DirtySessions;
use crate::session::in_flight::{InFlight, RunningRequest};
use crate::session::outbox::Outbox;
use crate::session::pending::Pending;
use crate::session::quota::{AccountQuota, AccountQuotas, Owner};
use crate::session::roots::SessionRoots;
use crate::session::sink::MessageSink;
use crate::session::store::{SessionRecord, Subscription, UnreadMessage};
use crate::session::stream::{Event, EventStream, LogPosition};
use mcp_protocol::{Client, Level, Terms, Version};

/// What is kept for a client that has no stream open for messages it did not ask for.
const UNSOLICITED_EVENTS: usize = 64;
const UNSOLICITED_BYTES: usize = 64 * 1024;

/// How often a store is told that a client was heard of.
const SEEN_EVERY_MS: u64 = 60_000;

/// The log position of a session that is up to date with its server.
const CURRENT: u64 = u64::MAX;

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Nothing was said yet.
    New,
    /// `initialize` was answered.
    Greeted,
    /// The client confirmed.
    Active,
}

// Fulfils 002 Req-Proto-010
//= specs/mcp-server.md#sessions
//# An idle session SHOULD take no more than 2 KB.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: Box<str>,
    pub(crate) in_flight: InFlight<dyn RunningRequest>,
    pub(crate) pending: Pending,
    pub(crate) rate: Option<RateLimiter>,
    pub(crate) owner: Option<Box<str>>,
    /// Who pays for it, and what that account has.
    pub(crate) account: Option<Box<str>>,
    pub(crate) quota: Arc<AccountQuota>,
    /// What it watches: addresses, each with the topic of its news.
    pub(crate) subscriptions: Mutex<BTreeMap<String, String>>,
    /// Whose resources and lists it sees; `None` sees everybody's.
    tenant: Mutex<Option<Box<str>>>,
    pub(crate) roots: SessionRoots,
    home: Home,
    phase: AtomicU8,
    greeting: OnceLock<(Version, Arc<Client>)>,
    log_level: AtomicU8,
    seen_ms: AtomicU64,
    /// When it was last written to its store, and whether it waits to be.
    saved_ms: AtomicU64,
    is_dirty: AtomicBool,
    /// Where it waits; `None` when nothing of it outlives the process.
    dirty: Option<Arc<DirtySessions>>,
    /// Up to where it was told, while it lags behind the server.
    behind: AtomicU64,
    /// The record it last took over.
    rev: AtomicU64,
}

/// Where messages go that no request asked for.
#[derive(Debug)]
enum Home {
    Line(Arc<Outbox>),
    Http(Mutex<Streams>),
}

/// The HTTP streams of a session, kept for a client that comes back.
#[derive(Debug, Default)]
struct Streams {
    next: u64,
    kept: VecDeque<(u64, Arc<EventStream>)>,
    unsolicited: VecDeque<(u64, Arc<EventStream>)>,
}

impl Session {
    pub(crate) fn on_line(outbox: Arc<Outbox>, limits: &Limits) -> Self {
        let quota = Arc::new(AccountQuota::new(limits));
        Self::new(random_id().into(), Home::Line(outbox), quota, limits)
    }

    pub(crate) fn on_http(id: Box<str>, owner: Owner<'_>, quotas: &AccountQuotas, limits: &Limits) -> Self {
        let quota = quotas.of(owner.account, limits);
        let mut session = Self::new(id, Home::Http(Mutex::default()), quota, limits);
        session.owner = owner.id.map(Into::into);
        session.account = owner.account.map(Into::into);
        session
    }

    /// A session that was kept elsewhere and comes back. It lags behind until it has caught up.
    pub(crate) fn restored(
        record: SessionRecord,
        owner: Owner<'_>,
        quotas: &AccountQuotas,
        limits: &Limits,
    ) -> Self {
        let mut session = Self::on_http(record.id.into(), owner, quotas, limits);
        session.behind = AtomicU64::new(record.mark);
        session.rev = AtomicU64::new(record.rev);
        session.number_streams_apart();
        for unread in record.unread {
            let position = LogPosition {
                mark: unread.mark,
                replayable: unread.replayable,
            };
            session.notify(unread.message.as_bytes(), position);
        }
        session.belong_to(record.tenant);
        let version = Version::parse(&record.version).unwrap_or(Version::NEWEST_HANDSHAKE);
        let client = Client {
            name: record.client_name,
            version: record.client_version,
            capabilities: record.capabilities,
        };
        session.greet(version, Arc::new(client));
        session.confirm();
        session.log_level.store(record.log_level, Ordering::Release);
        session
    }

    fn new(id: Box<str>, home: Home, quota: Arc<AccountQuota>, limits: &Limits) -> Self {
        Self {
            id,
            in_flight: InFlight::default(),
            pending: Pending::default(),
            rate: RateLimiter::new(limits.max_messages_per_second, limits.message_burst),
            owner: None,
            account: None,
            quota,
            subscriptions: Mutex::default(),
            tenant: Mutex::default(),
            roots: SessionRoots::default(),
            home,
            phase: AtomicU8::new(Phase::New as u8),
            greeting: OnceLock::new(),
            log_level: AtomicU8::new(Level::Info as u8),
            seen_ms: AtomicU64::new(0),
            saved_ms: AtomicU64::new(0),
            is_dirty: AtomicBool::new(false),
            dirty: None,
            behind: AtomicU64::new(CURRENT),
            rev: AtomicU64::new(0),
        }
    }

    /// Where the session waits when its record falls behind.
    pub(crate) fn saved_by(mut self, dirty: Option<&Arc<DirtySessions>>) -> Self {
        self.dirty = dirty.cloned();
        self
    }

    /// What is worth keeping now. The mark is taken before the messages: what is told in between is told twice, and not
    /// never.
    pub(crate) fn record(&self, mark: u64, now_ms: u64) -> Option<SessionRecord> {
        let (version, client) = self.greeting.get()?;
        self.is_dirty.store(false, Ordering::Release);
        self.saved_ms.store(now_ms, Ordering::Release);
        Some(SessionRecord {
            rev: self.rev.load(Ordering::Acquire),
            mark: self.mark(mark),
            unread: self.unread(),
            idle_ms: now_ms.saturating_sub(self.seen_ms()),
            id: self.id.to_string(),
            owner: self.owner.as_deref().map(str::to_owned),
            version: version.name().to_owned(),
            client_name: client.name.clone(),
            client_version: client.version.clone(),
            capabilities: client.capabilities.clone(),
            log_level: self.log_level.load(Ordering::Acquire),
            subscriptions: self
                .lock_subscriptions()
                .iter()
                .map(|(uri, topic)| Subscription {
                    uri: uri.clone(),
                    topic: topic.clone(),
                })
                .collect(),
            tenant: self.tenant().map(String::from),
        })
    }

    /// How far it was told, where its server has come this far.
    pub(crate) fn mark(&self, server: u64) -> u64 {
        server.min(self.behind.load(Ordering::Acquire))
    }

    /// True for a connection that is its own session.
    pub(crate) fn is_line(&self) -> bool {
        matches!(self.home, Home::Line(_))
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::New,
            1 => Phase::Greeted,
            _ => Phase::Active,
        }
    }

    /// Remembers what `initialize` agreed on; false when it did so before.
    pub(crate) fn greet(&self, version: Version, client: Arc<Client>) -> bool {
        let first = self.greeting.set((version, client)).is_ok();
        if first {
            self.phase.store(Phase::Greeted as u8, Ordering::Release);
        }
        first
    }

    pub(crate) fn confirm(&self) {
        if self.phase() == Phase::Greeted {
            self.phase.store(Phase::Active as u8, Ordering::Release);
        }
    }

    pub(crate) fn set_log_level(&self, level: Level) {
        self.log_level.store(level as u8, Ordering::Release);
    }

    /// Takes over what another node was told by the client.
    pub(crate) fn set_log_number(&self, level: u8) {
        self.log_level.store(level, Ordering::Release);
    }

    /// Goes on to a later record; false when it has seen that one, or a later.
    pub(crate) fn moves_to(&self, rev: u64) -> bool {
        self.rev.fetch_max(rev, Ordering::AcqRel) < rev
    }

    /// The session was told all that happened.
    pub(crate) fn caught_up(&self) {
        self.behind.store(CURRENT, Ordering::Release);
        self.mark_dirty();
    }

    /// The record of the session is behind.
    pub(crate) fn mark_dirty(&self) {
        if let Some(dirty) = &self.dirty
            && !self.is_dirty.swap(true, Ordering::AcqRel)
        {
            dirty.add(self.id.clone());
        }
    }

    /// The terms of the handshake; before it, those of the newest handshake version.
    pub(crate) fn terms(&self) -> Terms {
        let (version, client) = match self.greeting.get() {
            Some((version, client)) => (*version, client.clone()),
            None => (Version::NEWEST_HANDSHAKE, Arc::default()),
        };
        Terms {
            version,
            client,
            log_level: Level::from_number(self.log_level.load(Ordering::Acquire)),
        }
    }

    pub(crate) fn version(&self) -> Version {
        self.greeting
            .get()
            .map_or(Version::NEWEST_HANDSHAKE, |(version, _)| *version)
    }

    /// A message that no request asked for. It is lost when the client reads nothing.
    pub(crate) fn notify(&self, message: &[u8], position: LogPosition) -> bool {
        match &self.home {
            Home::Line(outbox) => outbox.offer(message),
            Home::Http(streams) => {
                let stream = lock(streams).unsolicited().1;
                if !stream.is_read() {
                    self.mark_dirty();
                }
                stream.offer_once(Event {
                    text: message.to_vec().into(),
                    position,
                })
            }
        }
    }

    /// What the client has not read of what it did not ask for.
    fn unread(&self) -> Vec<UnreadMessage> {
        let Home::Http(streams) = &self.home else {
            return Vec::new();
        };
        let streams = lock(streams);
        let events = streams.unsolicited.iter().flat_map(|(_, stream)| stream.unread());
        let unread = |event: Event| UnreadMessage {
            message: String::from_utf8_lossy(&event.text).into_owned(),
            mark: event.position.mark,
            replayable: event.position.replayable,
        };
        events.map(unread).collect()
    }

    /// Forgets what was not read and can be told again.
    pub(crate) fn forget_unread(&self) {
        if let Home::Http(streams) = &self.home {
            let streams = lock(streams);
            streams
                .unsolicited
                .iter()
                .for_each(|(_, stream)| stream.forget_unread());
        }
    }

    /// Begins to number streams where no other node and no earlier process did: a number a client brings back is
    /// either ours or nobody's.
    fn number_streams_apart(&mut self) {
        if let Home::Http(streams) = &self.home {
            let key = random_key();
            let start = u32::from_be_bytes([key[0], key[1], key[2], key[3]]);
            lock(streams).next = u64::from(start) << 16;
        }
    }

    /// The sink for requests of the server outside any request of the client.
    pub(crate) fn sink(&self) -> MessageSink {
        match &self.home {
            Home::Line(outbox) => MessageSink::Line(outbox.clone()),
            Home::Http(streams) => MessageSink::Stream(lock(streams).unsolicited().1),
        }
    }

    /// A stream of this session gets a number and is kept until newer ones push it out.
    pub(crate) fn keep_stream(&self, stream: &Arc<EventStream>, limits: &Limits) -> u64 {
        let Home::Http(streams) = &self.home else { return 0 };
        let mut streams = lock(streams);
        streams.next += 1;
        let number = streams.next;
        streams.kept.push_back((number, stream.clone()));
        if streams.kept.len() > limits.max_streams_per_session {
            streams.kept.pop_front();
        }
        number
    }

    /// The stream for messages nobody asked for that no reader follows yet; a second reader gets one of its own.
    pub(crate) fn unsolicited_stream(&self, limits: &Limits) -> (u64, Arc<EventStream>) {
        let Home::Http(streams) = &self.home else {
            return (0, Arc::new(EventStream::for_replay(limits)));
        };
        let mut streams = lock(streams);
        let (number, stream) = streams.unsolicited();
        if !stream.is_read() {
            return (number, stream);
        }
        let fresh = streams.add_unsolicited();
        while streams.unsolicited.len() > limits.max_streams_per_session {
            streams.unsolicited.pop_back();
        }
        fresh
    }

    /// The stream with this number, for a client that comes back.
    pub(crate) fn stream(&self, number: u64) -> Option<Arc<EventStream>> {
        let Home::Http(streams) = &self.home else {
            return None;
        };
        let streams = lock(streams);
        let mut all = streams.kept.iter().chain(&streams.unsolicited);
        all.find(|(own, _)| *own == number)
            .map(|(_, stream)| stream.clone())
    }

    /// Ends all streams nobody asked for: the session is over.
    pub(crate) fn close_streams(&self) {
        if let Home::Http(streams) = &self.home {
            lock(streams)
                .unsolicited
                .iter()
                .for_each(|(_, stream)| stream.close());
        }
    }

    /// True while a client follows the messages it did not ask for.
    pub(crate) fn is_followed(&self) -> bool {
        match &self.home {
            Home::Line(_) => true,
            Home::Http(streams) => lock(streams)
                .unsolicited
                .iter()
                .any(|(_, stream)| stream.is_read()),
        }
    }

    pub(crate) fn touch(&self, now_ms: u64) {
        self.seen_ms.store(now_ms, Ordering::Release);
        if now_ms.saturating_sub(self.saved_ms.load(Ordering::Acquire)) >= SEEN_EVERY_MS {
            self.mark_dirty();
        }
    }

    pub(crate) fn seen_ms(&self) -> u64 {
        self.seen_ms.load(Ordering::Acquire)
    }

    /// Says whose resources and lists the session sees from now on.
    pub(crate) fn belong_to(&self, tenant: Option<String>) {
        let tenant = tenant.map(Into::into);
        let before = std::mem::replace(&mut *lock(&self.tenant), tenant.clone());
        if before != tenant {
            self.mark_dirty();
        }
    }

    pub(crate) fn tenant(&self) -> Option<Box<str>> {
        lock(&self.tenant).clone()
    }

    pub(crate) fn lock_subscriptions(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        lock(&self.subscriptions)
    }

    /// Counts one message against the session's rate.
    pub(crate) fn count(&self) -> Result<(), Refusal> {
        self.rate.as_ref().map_or(Ok(()), RateLimiter::count)
    }

    /// Refuses a request when the session has as many as it may.
    //= specs/mcp-server.md#limits
    //# A request above a session's limit of running requests MUST be refused with 1060, above its limit of bytes with 1002.
    pub(crate) fn admit(&self, weight: usize, limits: &Limits) -> Result<(), Refusal> {
        let running = self.in_flight.len();
        if running >= limits.max_in_flight_per_session {
            return Err(Refusal::new(
                Code::ConcurrentLimitExceeded,
                format!("{running} requests of this session are running already"),
            ));
        }
        let held = self.in_flight.bytes();
        if held + weight > limits.max_in_flight_bytes_per_session {
            return Err(Refusal::new(
                Code::QueueByteCapExceeded,
                format!("the running requests of this session hold {held} bytes already"),
            ));
        }
        Ok(())
    }
}

impl Streams {
    /// The stream messages go to: one that is read, else the oldest; made when there is none.
    fn unsolicited(&mut self) -> (u64, Arc<EventStream>) {
        let read = self.unsolicited.iter().find(|(_, stream)| stream.is_read());
        match read.or(self.unsolicited.front()) {
            Some(found) => found.clone(),
            None => self.add_unsolicited(),
        }
    }

    fn add_unsolicited(&mut self) -> (u64, Arc<EventStream>) {
        self.next += 1;
        let fresh = (
            self.next,
            Arc::new(EventStream::new(UNSOLICITED_EVENTS, UNSOLICITED_BYTES)),
        );
        self.unsolicited.push_back(fresh.clone());
        fresh
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
