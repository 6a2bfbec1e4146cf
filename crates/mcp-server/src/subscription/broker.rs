//! The subscription broker: who wants to hear of changes, and how they are notified.
//!
//! Handshake sessions hear of every changed list and of the resources they subscribed to. In the stateless era a
//! client holds one request open (`subscriptions/listen`) and hears what it asked for, tagged with that request's id.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use mcp_protocol::{Outcome, notification};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use super::Filter;
use crate::changes::{Change, ChangeSet, List};
use crate::session::in_flight::RunningRequest;
use crate::session::stream::LogPosition;
use crate::session::{Phase, Session};

pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

#[derive(Debug, Default)]
pub(crate) struct Broker {
    sessions: Mutex<HashMap<usize, Weak<Session>>>,
    /// Who watches, by topic.
    subscribers: Mutex<HashMap<String, HashMap<usize, Subscriber>>>,
    listeners: Mutex<Vec<Listener>>,
    /// How far in the history of the server everyone was told.
    mark: AtomicU64,
}

/// The addresses by which somebody watches, by the topics of their changes.
pub(crate) type Topics = HashMap<String, Vec<String>>;

/// A session and the addresses by which it watches one topic.
#[derive(Debug)]
struct Subscriber {
    session: Weak<Session>,
    uris: BTreeSet<String>,
}

#[derive(Debug)]
struct Listener {
    request: Arc<dyn RunningRequest>,
    filter: Filter,
    topics: Topics,
    tenant: Option<String>,
}

impl Broker {
    pub(crate) fn enter(&self, session: &Arc<Session>) {
        lock(&self.sessions).insert(key(session), Arc::downgrade(session));
    }

    /// Forgets a session and all it watches.
    pub(crate) fn leave(&self, session: &Arc<Session>) {
        lock(&self.sessions).remove(&key(session));
        let watched = std::mem::take(&mut *session.lock_subscriptions());
        for (uri, topic) in watched {
            self.unsubscribe(session, &uri, &topic);
        }
    }

    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        lock(&self.sessions).values().filter_map(Weak::upgrade).collect()
    }

    // Fulfils 002 Req-Res-008
    pub(crate) fn subscribe(&self, session: &Arc<Session>, uri: &str, topic: &str) {
        let mut subscribers = lock(&self.subscribers);
        let of_topic = subscribers.entry(topic.to_owned()).or_default();
        let subscriber = of_topic.entry(key(session)).or_insert_with(|| Subscriber {
            session: Arc::downgrade(session),
            uris: BTreeSet::new(),
        });
        subscriber.uris.insert(uri.to_owned());
    }

    pub(crate) fn unsubscribe(&self, session: &Arc<Session>, uri: &str, topic: &str) {
        let mut subscribers = lock(&self.subscribers);
        let Some(of_topic) = subscribers.get_mut(topic) else {
            return;
        };
        if let Some(subscriber) = of_topic.get_mut(&key(session)) {
            subscriber.uris.remove(uri);
            if subscriber.uris.is_empty() {
                of_topic.remove(&key(session));
            }
        }
        if of_topic.is_empty() {
            subscribers.remove(topic);
        }
    }

    /// How many addresses a session watches by subscriptions and listeners, and their bytes.
    pub(crate) fn subscriptions_of(&self, session: &Arc<Session>) -> (usize, usize) {
        let add = |(count, bytes): (usize, usize), uri: &String| (count + 1, bytes + uri.len());
        let subscribed = session.lock_subscriptions().keys().fold((0, 0), add);
        let listeners = lock(&self.listeners);
        let own = listeners
            .iter()
            .filter(|listener| Arc::ptr_eq(listener.request.session(), session));
        own.flat_map(|listener| &listener.filter.resource_subscriptions)
            .fold(subscribed, add)
    }

    /// Whether anyone watches a resource.
    pub(crate) fn has_subscribers(&self) -> bool {
        !lock(&self.subscribers).is_empty()
            || lock(&self.listeners)
                .iter()
                .any(|listener| !listener.topics.is_empty())
    }

    /// Opens a listener: the acknowledgement goes first, before any change can.
    pub(crate) fn listen(
        &self,
        request: Arc<dyn RunningRequest>,
        filter: Filter,
        topics: Topics,
        tenant: Option<String>,
    ) {
        let mut listeners = lock(&self.listeners);
        let params = json!({ "notifications": filter.granted() });
        let acknowledged = tagged(request.id(), "notifications/subscriptions/acknowledged", params);
        request.sink().push(acknowledged);
        listeners.push(Listener {
            request,
            filter,
            topics,
            tenant,
        });
    }

    /// The owners of sessions and listeners.
    pub(crate) fn owners(&self) -> BTreeSet<String> {
        let listening = lock(&self.listeners);
        let listening = listening.iter().map(|listener| listener.request.session());
        let sessions = self.sessions();
        let all = sessions.iter().chain(listening);
        all.filter_map(|session| session.owner.as_deref().map(str::to_owned))
            .collect()
    }

    /// Says whose resources and lists the sessions and listeners of an owner see from now on.
    pub(crate) fn belong_to(&self, owner: &str, tenant: Option<&str>) {
        let is_own = |session: &Session| session.owner.as_deref() == Some(owner);
        for session in self.sessions().iter().filter(|session| is_own(session)) {
            session.belong_to(tenant.map(str::to_owned));
        }
        let mut listeners = lock(&self.listeners);
        for listener in listeners.iter_mut() {
            if is_own(listener.request.session()) {
                listener.tenant = tenant.map(str::to_owned);
            }
        }
    }

    /// Closes the listener of a request, if it has one.
    pub(crate) fn unlisten(&self, request: &dyn RunningRequest) {
        lock(&self.listeners).retain(|listener| !std::ptr::addr_eq(Arc::as_ptr(&listener.request), request));
    }

    /// Ends all listeners: the server stops.
    pub(crate) fn end_listeners(&self) {
        self.end(|_| true);
    }

    /// Ends the listeners of one session: its input ended.
    pub(crate) fn end_listeners_of(&self, session: &Arc<Session>) {
        self.end(|request| Arc::ptr_eq(request.session(), session));
    }

    fn end(&self, which: impl Fn(&dyn RunningRequest) -> bool) {
        let ended: Vec<Listener> = lock(&self.listeners)
            .extract_if(.., |listener| which(&*listener.request))
            .collect();
        for Listener { request, .. } in ended {
            if request.session().in_flight.claim(request.id()).is_some() {
                let meta = json!({ "_meta": { SUBSCRIPTION_ID: id_value(request.id()) } });
                request.end(Ok(Outcome::value(meta)));
            }
        }
    }

    /// How far everyone was told.
    pub(crate) fn mark(&self) -> u64 {
        self.mark.load(Ordering::Acquire)
    }

    /// Sets how far the history had come before anyone was told anything.
    pub(crate) fn begin_at(&self, mark: u64) {
        self.mark.store(mark, Ordering::Release);
    }

    /// Tells everyone concerned of a stretch of the history.
    pub(crate) fn publish(&self, changes: &ChangeSet) {
        for (topic, change, tenant) in &changes.resources {
            self.resource_changed_for(topic, *change, tenant.as_deref(), true);
        }
        for (list, tenant) in &changes.lists {
            self.list_changed_for(*list, tenant.as_deref(), true);
        }
        self.mark.store(changes.up_to, Ordering::Release);
    }

    /// Tells one session what it missed.
    pub(crate) fn replay_missed(&self, session: &Session, changes: &ChangeSet) {
        let position = LogPosition {
            mark: changes.since,
            replayable: true,
        };
        let watched = session.lock_subscriptions().clone();
        let resources: Vec<_> = match changes.everything {
            true => watched.keys().map(|uri| (uri, Change::Updated)).collect(),
            false => {
                let own = session.tenant();
                let changed: HashMap<&str, Change> = changes
                    .resources
                    .iter()
                    .filter(|(_, _, of)| concerns(of.as_deref(), own.as_deref()))
                    .map(|(topic, change, _)| (topic.as_str(), *change))
                    .collect();
                let concerned = watched.iter();
                concerned
                    .filter_map(|(uri, topic)| Some((uri, *changed.get(topic.as_str())?)))
                    .collect()
            }
        };
        for (uri, change) in resources {
            session.notify(&notification(UPDATED, &updated(uri, change)), position);
        }
        let lists: Vec<List> = match changes.everything {
            true => vec![List::Tools, List::Resources, List::Prompts],
            false => {
                let own = changes
                    .lists
                    .iter()
                    .filter(|(_, of)| concerns(of.as_deref(), session.tenant().as_deref()));
                own.map(|(list, _)| *list).collect()
            }
        };
        for list in lists {
            for message in list_messages(list) {
                session.notify(&message, position);
            }
        }
    }

    // Fulfils 003 R3.6, 002 Req-Prompt-007, 002 Req-Proto-013
    /// Tells everyone concerned that a list changed.
    //= specs/mcp-server.md#changes
    //# A change of a list MUST be told to every active session and to every listener that asked for it, and to no other listener.
    pub(crate) fn list_changed(&self, list: List, replayable: bool) {
        self.list_changed_for(list, None, replayable);
    }

    /// Tells of a list that changed for one tenant, or for everybody.
    //= specs/mcp-server.md#changes
    //# A change of one tenant's list MUST NOT be told to another tenant.
    fn list_changed_for(&self, list: List, tenant: Option<&str>, replayable: bool) {
        let method = list_method(list);
        for message in list_messages(list) {
            // No client of MCP expects to hear of the server's roots unless it asked for them.
            self.broadcast_to(&message, replayable, |session| {
                (list != List::Roots || session.roots.is_following())
                    && concerns(tenant, session.tenant().as_deref())
            });
        }
        let wanting = |l: &&Listener| l.filter.wants(list) && concerns(tenant, l.tenant.as_deref());
        for listener in lock(&self.listeners).iter().filter(wanting) {
            let request = &listener.request;
            request.sink().offer(tagged(request.id(), &method, json!({})));
        }
    }

    /// Tells every session that a family of methods came or went.
    pub(crate) fn capability_changed(&self, family: &str) {
        self.broadcast(&capabilities_changed(family), false);
    }

    // Fulfils 002 Req-Res-007
    /// Tells everyone who watches a resource what happened to it.
    //= specs/mcp-server.md#changes
    //# A changed resource MUST be told to every session and listener that watches it, with its address, the time and the kind of change.
    //= specs/mcp-server.md#changes
    //# News of a resource MUST be told under the topic it is watched by, each with the address its watcher wrote.
    pub(crate) fn resource_changed(&self, topic: &str, change: Change, replayable: bool) {
        self.resource_changed_for(topic, change, None, replayable);
    }

    /// Tells of a resource of one tenant, or of everybody's.
    //= specs/mcp-server.md#changes
    //# A change of one tenant's resource MUST NOT be told to a session or listener that does not see that tenant at that time.
    fn resource_changed_for(&self, topic: &str, change: Change, tenant: Option<&str>, replayable: bool) {
        let position = self.position(replayable);
        let watching: Vec<_> = match lock(&self.subscribers).get(topic) {
            Some(subscribers) => subscribers
                .values()
                .filter_map(|one| Some((one.session.upgrade()?, one.uris.clone())))
                .collect(),
            None => Vec::new(),
        };
        for (session, uris) in watching {
            if !concerns(tenant, session.tenant().as_deref()) {
                continue;
            }
            for uri in uris {
                session.notify(&notification(UPDATED, &updated(&uri, change)), position);
            }
        }
        let seeing = |listener: &&Listener| concerns(tenant, listener.tenant.as_deref());
        for listener in lock(&self.listeners).iter().filter(seeing) {
            for uri in listener.topics.get(topic).into_iter().flatten() {
                let request = &listener.request;
                let notice = tagged(request.id(), UPDATED, updated(uri, change));
                request.sink().offer(notice);
            }
        }
    }

    /// The topics below a folder's address that anyone watches.
    pub(crate) fn topics_below(&self, folder: &str) -> BTreeSet<String> {
        let below = |uri: &&String| uri.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        let mut found: BTreeSet<String> = lock(&self.subscribers).keys().filter(below).cloned().collect();
        for listener in lock(&self.listeners).iter() {
            found.extend(listener.topics.keys().filter(below).cloned());
        }
        found
    }

    /// Whether anyone watches this topic.
    pub(crate) fn has_topic(&self, topic: &str) -> bool {
        lock(&self.subscribers).contains_key(topic)
            || lock(&self.listeners).iter().any(|l| l.topics.contains_key(topic))
    }

    /// A notification for every active session.
    pub(crate) fn broadcast(&self, message: &[u8], replayable: bool) {
        self.broadcast_to(message, replayable, |_| true);
    }

    fn broadcast_to(&self, message: &[u8], replayable: bool, which: impl Fn(&Session) -> bool) {
        let position = self.position(replayable);
        for session in self.sessions() {
            if session.phase() == Phase::Active && which(&session) {
                session.notify(message, position);
            }
        }
    }

    fn position(&self, replayable: bool) -> LogPosition {
        LogPosition {
            mark: self.mark(),
            replayable,
        }
    }
}

/// Whether what concerns one tenant, or everybody, concerns this one, or somebody who sees all.
fn concerns(whose: Option<&str>, tenants: Option<&str>) -> bool {
    match (whose, tenants) {
        (Some(whose), Some(tenants)) => tenants.split(' ').any(|tenant| tenant == whose),
        _ => true,
    }
}

const UPDATED: &str = "notifications/resources/updated";

fn updated(uri: &str, change: Change) -> Value {
    json!({
        "uri": uri,
        "resource_uri": uri,
        "timestamp": jiff::Timestamp::now().to_string(),
        "change_type": match change { Change::Updated => "updated", Change::Deleted => "deleted" },
    })
}

fn list_method(list: List) -> String {
    format!("notifications/{}/list_changed", list.name())
}

/// A changed list is told in MCP's words and as a change of what the server can do.
fn list_messages(list: List) -> [Vec<u8>; 2] {
    [
        notification(&list_method(list), &json!({})),
        capabilities_changed(list.name()),
    ]
}

fn capabilities_changed(family: &str) -> Vec<u8> {
    let params = json!({ "changed": [family] });
    notification("notifications/capabilities/changed", &params)
}

fn tagged(id: &str, method: &str, mut params: Value) -> Vec<u8> {
    params["_meta"] = json!({ SUBSCRIPTION_ID: id_value(id) });
    notification(method, &params)
}

/// An id as a value, for places where it is data.
pub(crate) fn id_value(id: &str) -> Value {
    serde_json::from_str(id).unwrap_or(Value::Null)
}

fn key(session: &Arc<Session>) -> usize {
    Arc::as_ptr(session) as usize
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
