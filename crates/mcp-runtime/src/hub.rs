//! Who wants to hear of changes, and how they are told.
//!
//! Handshake sessions hear of every changed list and of the resources they subscribed to. In the stateless era a
//! client holds one request open (`subscriptions/listen`) and hears what it asked for, tagged with that request's id.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::answer::Outcome;
use crate::context::{Call, notification};
use crate::news::News;
use crate::session::{Phase, Session};
use crate::stream::Told;

/// A list that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// The tools.
    Tools,
    /// The resources and their templates.
    Resources,
    /// The prompts.
    Prompts,
    /// The server's roots; told to those who asked for them.
    Roots,
}

impl List {
    const fn name(self) -> &'static str {
        match self {
            List::Tools => "tools",
            List::Resources => "resources",
            List::Prompts => "prompts",
            List::Roots => "roots",
        }
    }
}

/// What happened to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It says something else now.
    Updated,
    /// It is gone.
    Deleted,
}

pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

#[derive(Debug, Default)]
pub(crate) struct Hub {
    sessions: Mutex<HashMap<usize, Weak<Session>>>,
    watchers: Mutex<HashMap<String, HashMap<usize, Weak<Session>>>>,
    listeners: Mutex<Vec<Listener>>,
    /// How far in the history of the server everyone was told.
    mark: AtomicU64,
}

#[derive(Debug)]
struct Listener {
    call: Arc<Call>,
    filter: Filter,
}

/// What a listener asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Filter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    roots_list_changed: bool,
    pub(crate) resource_subscriptions: BTreeSet<String>,
}

impl Filter {
    /// What was granted, in the words it was asked for.
    pub(crate) fn granted(&self) -> Value {
        let mut granted = Map::new();
        for (name, on) in [
            ("toolsListChanged", self.tools_list_changed),
            ("promptsListChanged", self.prompts_list_changed),
            ("resourcesListChanged", self.resources_list_changed),
            ("rootsListChanged", self.roots_list_changed),
        ] {
            if on {
                granted.insert(name.to_owned(), true.into());
            }
        }
        if !self.resource_subscriptions.is_empty() {
            granted.insert(
                "resourceSubscriptions".to_owned(),
                json!(self.resource_subscriptions),
            );
        }
        granted.into()
    }

    fn wants(&self, list: List) -> bool {
        match list {
            List::Tools => self.tools_list_changed,
            List::Resources => self.resources_list_changed,
            List::Prompts => self.prompts_list_changed,
            List::Roots => self.roots_list_changed,
        }
    }
}

impl Hub {
    pub(crate) fn enter(&self, session: &Arc<Session>) {
        lock(&self.sessions).insert(key(session), Arc::downgrade(session));
    }

    /// Forgets a session and all it watches.
    pub(crate) fn leave(&self, session: &Arc<Session>) {
        lock(&self.sessions).remove(&key(session));
        let watched = std::mem::take(&mut *session.lock_watched());
        for uri in watched {
            self.unwatch(session, &uri);
        }
    }

    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        lock(&self.sessions).values().filter_map(Weak::upgrade).collect()
    }

    // Fulfils 002 Req-Res-008
    pub(crate) fn watch(&self, session: &Arc<Session>, uri: &str) {
        let mut watchers = lock(&self.watchers);
        watchers
            .entry(uri.to_owned())
            .or_default()
            .insert(key(session), Arc::downgrade(session));
    }

    pub(crate) fn unwatch(&self, session: &Arc<Session>, uri: &str) {
        let mut watchers = lock(&self.watchers);
        if let Some(of_uri) = watchers.get_mut(uri) {
            of_uri.remove(&key(session));
            if of_uri.is_empty() {
                watchers.remove(uri);
            }
        }
    }

    /// Whether anyone watches a resource.
    pub(crate) fn is_watched(&self) -> bool {
        !lock(&self.watchers).is_empty()
            || lock(&self.listeners)
                .iter()
                .any(|listener| !listener.filter.resource_subscriptions.is_empty())
    }

    /// Opens a listener: the acknowledgement goes first, before any change can.
    pub(crate) fn listen(&self, call: &Arc<Call>, filter: Filter) {
        let mut listeners = lock(&self.listeners);
        let params = json!({ "notifications": filter.granted() });
        call.outlet
            .push(tagged(call, "notifications/subscriptions/acknowledged", params));
        listeners.push(Listener {
            call: call.clone(),
            filter,
        });
    }

    pub(crate) fn unlisten(&self, call: &Arc<Call>) {
        lock(&self.listeners).retain(|listener| !Arc::ptr_eq(&listener.call, call));
    }

    /// Ends all listeners: the server stops.
    pub(crate) fn end_listeners(&self) {
        self.end(|_| true);
    }

    /// Ends the listeners of one session: its input ended.
    pub(crate) fn end_listeners_of(&self, session: &Arc<Session>) {
        self.end(|call| Arc::ptr_eq(&call.session, session));
    }

    fn end(&self, which: impl Fn(&Call) -> bool) {
        let ended: Vec<Listener> = lock(&self.listeners)
            .extract_if(.., |listener| which(&listener.call))
            .collect();
        for Listener { call, .. } in ended {
            if call.session.in_flight.claim(&call.id).is_some() {
                call.cancel.raise();
                let meta = json!({ "_meta": { SUBSCRIPTION_ID: id_value(&call.id) } });
                call.hand_over(Ok(Outcome::value(meta)));
            }
        }
    }

    /// How far everyone was told.
    pub(crate) fn mark(&self) -> u64 {
        self.mark.load(Ordering::Acquire)
    }

    /// Sets how far the history had come before anyone was told anything.
    pub(crate) fn begin(&self, mark: u64) {
        self.mark.store(mark, Ordering::Release);
    }

    /// Tells everyone concerned of a stretch of the history.
    pub(crate) fn tell(&self, news: &News) {
        for (uri, change) in &news.resources {
            self.resource_changed(uri, *change, true);
        }
        for list in &news.lists {
            self.list_changed(*list, true);
        }
        self.mark.store(news.up_to, Ordering::Release);
    }

    /// Tells one session what it missed.
    pub(crate) fn tell_missed(&self, session: &Session, news: &News) {
        let told = Told {
            mark: news.since,
            again: true,
        };
        let watched = session.lock_watched().clone();
        let resources: Vec<_> = match news.everything {
            true => watched.iter().map(|uri| (uri, Change::Updated)).collect(),
            false => news
                .resources
                .iter()
                .filter(|(uri, _)| watched.contains(uri))
                .map(|(uri, change)| (uri, *change))
                .collect(),
        };
        for (uri, change) in resources {
            session.tell(&notification(UPDATED, &updated(uri, change)), told);
        }
        let every = [List::Tools, List::Resources, List::Prompts];
        let lists = if news.everything { &every[..] } else { &news.lists };
        for list in lists {
            for message in list_messages(*list) {
                session.tell(&message, told);
            }
        }
    }

    // Fulfils 003 R3.6, 002 Req-Prompt-007, 002 Req-Proto-013
    /// Tells everyone concerned that a list changed.
    //= specs/mcp-runtime.md#changes
    //# A change of a list MUST be told to every active session and to every listener that asked for it, and to no other listener.
    pub(crate) fn list_changed(&self, list: List, again: bool) {
        let method = list_method(list);
        for message in list_messages(list) {
            // No client of MCP expects to hear of the server's roots unless it asked for them.
            self.tell_those(&message, again, |session| {
                list != List::Roots || session.roots.is_following()
            });
        }
        for listener in lock(&self.listeners).iter().filter(|l| l.filter.wants(list)) {
            listener
                .call
                .outlet
                .offer(tagged(&listener.call, &method, json!({})));
        }
    }

    // Fulfils 002 Req-Res-007
    /// Tells everyone who watches a resource what happened to it.
    //= specs/mcp-runtime.md#changes
    //# A changed resource MUST be told to every session and listener that watches it, with its address, the time and the kind of change.
    pub(crate) fn resource_changed(&self, uri: &str, change: Change, again: bool) {
        let params = updated(uri, change);
        let message = notification(UPDATED, &params);
        let told = self.told(again);
        let watching: Vec<_> = match lock(&self.watchers).get(uri) {
            Some(sessions) => sessions.values().filter_map(Weak::upgrade).collect(),
            None => Vec::new(),
        };
        for session in watching {
            session.tell(&message, told);
        }
        for listener in lock(&self.listeners)
            .iter()
            .filter(|l| l.filter.resource_subscriptions.contains(uri))
        {
            listener
                .call
                .outlet
                .offer(tagged(&listener.call, UPDATED, params.clone()));
        }
    }

    /// The addresses below a folder's that anyone watches.
    pub(crate) fn watched_below(&self, folder: &str) -> BTreeSet<String> {
        let below = |uri: &&String| uri.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        let mut found: BTreeSet<String> = lock(&self.watchers).keys().filter(below).cloned().collect();
        for listener in lock(&self.listeners).iter() {
            found.extend(
                listener
                    .filter
                    .resource_subscriptions
                    .iter()
                    .filter(below)
                    .cloned(),
            );
        }
        found
    }

    /// Whether anyone watches this address.
    pub(crate) fn watches(&self, uri: &str) -> bool {
        lock(&self.watchers).contains_key(uri)
            || lock(&self.listeners)
                .iter()
                .any(|l| l.filter.resource_subscriptions.contains(uri))
    }

    /// A notification for every active session.
    pub(crate) fn tell_sessions(&self, message: &[u8], again: bool) {
        self.tell_those(message, again, |_| true);
    }

    fn tell_those(&self, message: &[u8], again: bool, which: impl Fn(&Session) -> bool) {
        let told = self.told(again);
        for session in self.sessions() {
            if session.phase() == Phase::Active && which(&session) {
                session.tell(message, told);
            }
        }
    }

    fn told(&self, again: bool) -> Told {
        Told {
            mark: self.mark(),
            again,
        }
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
    let capabilities = json!({ "changed": [list.name()] });
    [
        notification(&list_method(list), &json!({})),
        notification("notifications/capabilities/changed", &capabilities),
    ]
}

fn tagged(call: &Call, method: &str, mut params: Value) -> Vec<u8> {
    params["_meta"] = json!({ SUBSCRIPTION_ID: id_value(&call.id) });
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
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
