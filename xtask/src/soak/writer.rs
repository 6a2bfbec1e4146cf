//! A writer: creates epics with and without an idempotency key, changes some of them, and notes what it was told.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::ledger::Ledger;
use crate::http::{Answer, Connection};

/// Between two tries at a server that is down; not a wait for anything that could be an event.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// Where a node is reached, and with what.
pub(super) struct NodeAddress {
    pub(super) address: String,
    pub(super) token: String,
}

/// What the writers are told to do.
#[derive(Default)]
pub(super) struct Orders(AtomicU8);

impl Orders {
    /// Begin nothing new; what was begun with a key is brought to its end.
    pub(super) fn finish(&self) {
        self.0.fetch_max(1, Ordering::Relaxed);
    }

    /// Leave everything as it is: the run is stuck.
    pub(super) fn give_up(&self) {
        self.0.fetch_max(2, Ordering::Relaxed);
    }

    fn may_begin(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn may_go_on(&self) -> bool {
        self.0.load(Ordering::Relaxed) < 2
    }
}

/// Writes until told otherwise.
pub(super) fn write_while(orders: &Orders, number: usize, node: &NodeAddress, ledger: &Ledger) {
    let mut writer = Writer {
        orders,
        node,
        ledger,
        connection: None,
    };
    for turn in 0_usize.. {
        if !orders.may_begin() {
            return;
        }
        let title = format!("soak {number} {turn}");
        match turn % 3 {
            0 => writer.create_once(&title),
            1 => writer.create_until_done(&title),
            _ => writer.create_and_change(&title),
        }
    }
}

struct Writer<'a> {
    orders: &'a Orders,
    node: &'a NodeAddress,
    ledger: &'a Ledger,
    connection: Option<Connection>,
}

impl Writer<'_> {
    /// Without a key nothing may be tried twice: refused means it must not exist, silence means anything.
    fn create_once(&mut self, title: &str) {
        match self.send("POST", "/api/v1/epics", "", &json!({"title": title})) {
            Some(answer) if answer.status == 201 => self.ledger.created(title),
            Some(answer) if outcome_is_unknown(&answer.body) => self.ledger.unanswered(),
            Some(_) => self.ledger.refused_for_good(title),
            None => self.ledger.unanswered(),
        }
    }

    /// With a key the same request is sent until it is acknowledged, and must have happened once.
    fn create_until_done(&mut self, title: &str) {
        self.create_with_key(title);
    }

    /// The revision that was acknowledged must be there at the end.
    fn create_and_change(&mut self, title: &str) {
        let Some(made) = self.create_with_key(title) else {
            return;
        };
        let Some(id) = made["id"].as_str() else { return };
        let path = format!("/api/v1/epics/{id}");
        let (change, condition) = (json!({"priority": 1}), "if-match: \"1\"\r\n");
        match self.send("PATCH", &path, condition, &change) {
            Some(answer) if answer.status == 200 => {
                let rev = answer.body["rev"].as_i64().unwrap_or(0);
                self.ledger.updated(id, rev);
            }
            Some(_) => self.ledger.refused_for_now(),
            None => self.ledger.unanswered(),
        }
    }

    fn create_with_key(&mut self, title: &str) -> Option<Value> {
        let key = format!("idempotency-key: {}\r\n", title.replace(' ', "-"));
        while self.orders.may_go_on() {
            match self.send("POST", "/api/v1/epics", &key, &json!({"title": title})) {
                Some(answer) if matches!(answer.status, 200 | 201) => {
                    self.ledger.created(title);
                    return Some(answer.body);
                }
                Some(_) => self.ledger.refused_for_now(),
                None => self.ledger.unanswered(),
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
        None
    }

    /// `None` when the connection broke after the request may have been read. A server that does not listen has read
    /// nothing, so that is waited for.
    fn send(&mut self, method: &str, path: &str, headers: &str, body: &Value) -> Option<Answer> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let answer = connection
            .exchange(method, path, headers, &body.to_string())
            .ok()?;
        self.connection = Some(connection);
        Some(answer)
    }

    fn connect(&self) -> Option<Connection> {
        while self.orders.may_go_on() {
            if let Ok(connection) = Connection::open(&self.node.address, &self.node.token) {
                return Some(connection);
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
        None
    }
}

/// The server says so when the database was lost between COMMIT and its answer.
fn outcome_is_unknown(body: &Value) -> bool {
    body.to_string().contains(r#""outcome":"unknown""#)
}
