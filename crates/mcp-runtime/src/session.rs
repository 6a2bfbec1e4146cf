//! One client's session: how far its handshake is, what it said about itself, what runs for it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use refusal::{Code, Refusal};

use crate::client::Client;
use crate::core::{random_id, random_key};
use crate::in_flight::InFlight;
use crate::level::Level;
use crate::outbox::Outbox;
use crate::outlet::Outlet;
use crate::pending::Pending;
use crate::rate::RateLimiter;
use crate::roots::SessionRoots;
use crate::session_store::{SessionRecord, Unread};
use crate::settings::Limits;
use crate::stream::{Event, EventStream, Told};
use crate::unsaved::Unsaved;
use crate::version::Version;

/// What is kept for a client that has no stream open for messages it did not ask for.
const UNASKED_EVENTS: usize = 64;
const UNASKED_BYTES: usize = 64 * 1024;

/// How often a store is told that a client was heard of.
const SEEN_EVERY_MS: u64 = 60_000;

/// The session was told all that its server was.
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

/// The terms one message is served on: decided once, where it enters.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) version: Version,
    pub(crate) client: Arc<Client>,
    /// Log messages from this level on are wanted; `None` wants none.
    pub(crate) log_level: Option<Level>,
}

// Fulfils 002 Req-Proto-010
//= specs/mcp-runtime.md#sessions
//# An idle session SHOULD take no more than 2 KB.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: Box<str>,
    pub(crate) in_flight: InFlight,
    pub(crate) pending: Pending,
    pub(crate) rate: Option<RateLimiter>,
    pub(crate) owner: Option<Box<str>>,
    pub(crate) watched: Mutex<BTreeSet<String>>,
    pub(crate) roots: SessionRoots,
    home: Home,
    phase: AtomicU8,
    greeting: OnceLock<(Version, Arc<Client>)>,
    log_level: AtomicU8,
    seen_ms: AtomicU64,
    /// When it was last written to its store, and whether it waits to be.
    saved_ms: AtomicU64,
    is_unsaved: AtomicBool,
    /// Where it waits; `None` when nothing of it outlives the process.
    unsaved: Option<Arc<Unsaved>>,
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
    unasked: VecDeque<(u64, Arc<EventStream>)>,
}

impl Session {
    pub(crate) fn on_line(outbox: Arc<Outbox>, limits: &Limits) -> Self {
        Self::new(random_id().into(), Home::Line(outbox), limits)
    }

    pub(crate) fn on_http(id: Box<str>, limits: &Limits) -> Self {
        Self::new(id, Home::Http(Mutex::default()), limits)
    }

    /// A session that was kept elsewhere and comes back. It lags behind until it has caught up.
    pub(crate) fn restored(record: SessionRecord, limits: &Limits) -> Self {
        let mut session = Self::on_http(record.id.into(), limits);
        session.behind = AtomicU64::new(record.mark);
        session.rev = AtomicU64::new(record.rev);
        session.number_streams_apart();
        for unread in record.unread {
            let told = Told {
                mark: unread.mark,
                again: unread.again,
            };
            session.tell(unread.message.as_bytes(), told);
        }
        session.owner = record.owner.map(Into::into);
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

    fn new(id: Box<str>, home: Home, limits: &Limits) -> Self {
        Self {
            id,
            in_flight: InFlight::default(),
            pending: Pending::default(),
            rate: RateLimiter::new(limits.max_messages_per_second, limits.message_burst),
            owner: None,
            watched: Mutex::default(),
            roots: SessionRoots::default(),
            home,
            phase: AtomicU8::new(Phase::New as u8),
            greeting: OnceLock::new(),
            log_level: AtomicU8::new(Level::Info as u8),
            seen_ms: AtomicU64::new(0),
            saved_ms: AtomicU64::new(0),
            is_unsaved: AtomicBool::new(false),
            unsaved: None,
            behind: AtomicU64::new(CURRENT),
            rev: AtomicU64::new(0),
        }
    }

    /// Where the session waits when its record falls behind.
    pub(crate) fn saved_by(mut self, unsaved: Option<&Arc<Unsaved>>) -> Self {
        self.unsaved = unsaved.cloned();
        self
    }

    /// What is worth keeping now. The mark is taken before the messages: what is told in between is told twice, and not
    /// never.
    pub(crate) fn record(&self, mark: u64, now_ms: u64) -> Option<SessionRecord> {
        let (version, client) = self.greeting.get()?;
        self.is_unsaved.store(false, Ordering::Release);
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
            watched: self.lock_watched().iter().cloned().collect(),
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
        self.note_unsaved();
    }

    /// The record of the session is behind.
    pub(crate) fn note_unsaved(&self) {
        if let Some(unsaved) = &self.unsaved
            && !self.is_unsaved.swap(true, Ordering::AcqRel)
        {
            unsaved.add(self.id.clone());
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
    pub(crate) fn tell(&self, message: &[u8], told: Told) -> bool {
        match &self.home {
            Home::Line(outbox) => {
                let mut line = message.to_vec();
                line.push(b'\n');
                outbox.offer(&line)
            }
            Home::Http(streams) => {
                let stream = lock(streams).unasked().1;
                if !stream.is_read() {
                    self.note_unsaved();
                }
                stream.offer_once(Event {
                    text: message.to_vec().into(),
                    told,
                })
            }
        }
    }

    /// What the client has not read of what it did not ask for.
    fn unread(&self) -> Vec<Unread> {
        let Home::Http(streams) = &self.home else {
            return Vec::new();
        };
        let streams = lock(streams);
        let events = streams.unasked.iter().flat_map(|(_, stream)| stream.unread());
        let unread = |event: Event| Unread {
            message: String::from_utf8_lossy(&event.text).into_owned(),
            mark: event.told.mark,
            again: event.told.again,
        };
        events.map(unread).collect()
    }

    /// Forgets what was not read and can be told again.
    pub(crate) fn forget_unread(&self) {
        if let Home::Http(streams) = &self.home {
            let streams = lock(streams);
            streams
                .unasked
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

    /// The outlet for requests of the server outside any request of the client.
    pub(crate) fn outlet(&self) -> Outlet {
        match &self.home {
            Home::Line(outbox) => Outlet::Line(outbox.clone()),
            Home::Http(streams) => Outlet::Stream(lock(streams).unasked().1),
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
    pub(crate) fn unasked_stream(&self, limits: &Limits) -> (u64, Arc<EventStream>) {
        let Home::Http(streams) = &self.home else {
            return (0, Arc::new(EventStream::for_replay(limits)));
        };
        let mut streams = lock(streams);
        let (number, stream) = streams.unasked();
        if !stream.is_read() {
            return (number, stream);
        }
        let fresh = streams.add_unasked();
        while streams.unasked.len() > limits.max_streams_per_session {
            streams.unasked.pop_back();
        }
        fresh
    }

    /// The stream with this number, for a client that comes back.
    pub(crate) fn stream(&self, number: u64) -> Option<Arc<EventStream>> {
        let Home::Http(streams) = &self.home else {
            return None;
        };
        let streams = lock(streams);
        let mut all = streams.kept.iter().chain(&streams.unasked);
        all.find(|(own, _)| *own == number)
            .map(|(_, stream)| stream.clone())
    }

    /// Ends all streams nobody asked for: the session is over.
    pub(crate) fn close_streams(&self) {
        if let Home::Http(streams) = &self.home {
            lock(streams)
                .unasked
                .iter()
                .for_each(|(_, stream)| stream.close());
        }
    }

    /// True while a client follows the messages it did not ask for.
    pub(crate) fn is_followed(&self) -> bool {
        match &self.home {
            Home::Line(_) => true,
            Home::Http(streams) => lock(streams).unasked.iter().any(|(_, stream)| stream.is_read()),
        }
    }

    pub(crate) fn touch(&self, now_ms: u64) {
        self.seen_ms.store(now_ms, Ordering::Release);
        if now_ms.saturating_sub(self.saved_ms.load(Ordering::Acquire)) >= SEEN_EVERY_MS {
            self.note_unsaved();
        }
    }

    pub(crate) fn seen_ms(&self) -> u64 {
        self.seen_ms.load(Ordering::Acquire)
    }

    pub(crate) fn lock_watched(&self) -> MutexGuard<'_, BTreeSet<String>> {
        lock(&self.watched)
    }

    /// Counts one message against the session's rate.
    pub(crate) fn count(&self) -> Result<(), Refusal> {
        self.rate.as_ref().map_or(Ok(()), RateLimiter::count)
    }

    /// Refuses a request when the session has as many as it may.
    //= specs/mcp-runtime.md#limits
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
    fn unasked(&mut self) -> (u64, Arc<EventStream>) {
        let read = self.unasked.iter().find(|(_, stream)| stream.is_read());
        match read.or(self.unasked.front()) {
            Some(found) => found.clone(),
            None => self.add_unasked(),
        }
    }

    fn add_unasked(&mut self) -> (u64, Arc<EventStream>) {
        self.next += 1;
        let fresh = (
            self.next,
            Arc::new(EventStream::new(UNASKED_EVENTS, UNASKED_BYTES)),
        );
        self.unasked.push_back(fresh.clone());
        fresh
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
