//! A transaction as a job of the writer sees it: a connection, a time, who acts, and the end of the chain.

use crate::chain::Head;
use crate::engine::{Conn, params};
use crate::error::Result;
use spexus_domain::Timestamp;
use spexus_domain::account::Caller;
use spexus_domain::change::{Entity, NewChange, Sealed};
use uuid::Uuid;

/// Who makes a change, as the history will tell it.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The user.
    pub user_id: Uuid,
    /// The user's name today.
    pub username: String,
    /// The token used, if one was.
    pub token_id: Option<Uuid>,
    /// The program that spoke for the user.
    pub client: String,
}

impl From<&Caller> for Actor {
    fn from(caller: &Caller) -> Self {
        Self {
            user_id: caller.user_id,
            username: caller.username.clone(),
            token_id: caller.token_id,
            client: caller.client.clone(),
        }
    }
}

/// A running transaction.
pub struct Tx {
    /// The connection; every read function of the store works on it too.
    pub conn: Conn,
    now: Timestamp,
    actor: Actor,
    state: Mark,
    discarded: bool,
}

/// What must be undone beside the database when a job fails.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    head: Head,
    accounts: bool,
}

impl Tx {
    pub(crate) fn new(conn: Conn, now: Timestamp) -> Self {
        let actor = Actor {
            user_id: Uuid::nil(),
            username: String::new(),
            token_id: None,
            client: String::new(),
        };
        let head = Head {
            seq: 0,
            hash: spexus_domain::change::GENESIS,
        };
        Self {
            conn,
            now,
            actor,
            state: Mark {
                head,
                accounts: false,
            },
            discarded: false,
        }
    }

    /// When this transaction happens.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Who acts.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// A new id, ordered by time.
    pub fn new_id(&self) -> Uuid {
        let micros = u64::try_from(self.now.0).unwrap_or(0);
        let nanos = u32::try_from(micros % 1_000_000).unwrap_or(0) * 1_000;
        Uuid::new_v7(uuid::Timestamp::from_unix(
            uuid::NoContext,
            micros / 1_000_000,
            nanos,
        ))
    }

    /// Goes on as another user, for the setup that makes the first one.
    pub fn act_as(&mut self, user_id: Uuid, username: &str) {
        self.actor.user_id = user_id;
        self.actor.username = username.to_owned();
    }

    /// Lets the job answer while nothing of it is kept: a trial.
    pub fn discard(&mut self) {
        self.discarded = true;
    }

    /// The number of the last change, this job's included.
    pub fn seq(&self) -> i64 {
        self.state.head.seq
    }

    /// The hash of the last change, this job's included.
    pub fn chain_hash(&self) -> [u8; 32] {
        self.state.head.hash
    }

    /// Adds a change to the chain, in this transaction.
    pub async fn record(&mut self, change: NewChange) -> Result<i64> {
        let before = serde_json::Value::Object(change.before).to_string();
        let after = serde_json::Value::Object(change.after).to_string();
        let sealed = Sealed {
            seq: self.state.head.seq + 1,
            at: self.now,
            user_id: self.actor.user_id,
            username: &self.actor.username,
            token_id: self.actor.token_id,
            client: &self.actor.client,
            project_id: change.project_id,
            entity: change.entity.name(),
            entity_id: change.entity_id,
            item_id: change.item_id,
            other_item_id: change.other_item_id,
            label: &change.label,
            action: change.action.name(),
            rev: change.rev,
            before: &before,
            after: &after,
        };
        let head = Head {
            seq: sealed.seq,
            hash: sealed.hash(&self.state.head.hash),
        };
        let values = params![
            sealed.seq,
            sealed.at,
            sealed.user_id,
            sealed.username,
            sealed.token_id,
            sealed.client,
            sealed.project_id,
            sealed.entity,
            sealed.entity_id,
            sealed.item_id,
            sealed.other_item_id,
            sealed.label,
            sealed.action,
            sealed.rev,
            sealed.before,
            sealed.after,
            head.hash,
        ];
        self.conn.run(INSERT_CHANGE, values).await?;
        self.state.accounts |= matches!(change.entity, Entity::User | Entity::Token | Entity::Project);
        self.state.head = head;
        Ok(head.seq)
    }

    pub(crate) fn begin_job(&mut self, actor: Actor) {
        self.actor = actor;
        self.discarded = false;
    }

    pub(crate) fn is_discarded(&self) -> bool {
        self.discarded
    }

    pub(crate) fn set_head(&mut self, head: Head) {
        self.state = Mark {
            head,
            accounts: false,
        };
    }

    pub(crate) fn head(&self) -> Head {
        self.state.head
    }

    pub(crate) fn touched_accounts(&self) -> bool {
        self.state.accounts
    }

    pub(crate) fn mark(&self) -> Mark {
        self.state
    }

    pub(crate) fn reset(&mut self, mark: Mark) {
        self.state = mark;
    }
}

const INSERT_CHANGE: &str = "INSERT INTO change (seq, at, user_id, username, token_id, client, project_id, entity, entity_id, \
     item_id, other_item_id, label, action, rev, before, after, hash) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";
