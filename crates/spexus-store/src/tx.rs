//! A transaction as a job of the writer sees it: a connection, a time, who acts, and the ends of the ledgers.

use crate::arrival;
use crate::engine::{Conn, Engine, Param, params};
use crate::error::{Error, Result};
use crate::lane::Lane;
use crate::ledger_head::{Head, LedgerHead};
use crate::row_digests::{self, Touched};
use crate::search::KnownWords;
use serde_json::Value;
use spexus_domain::Timestamp;
use spexus_domain::account::Caller;
use spexus_domain::change::{Action, Entity, FormerHead, NewChange, Payload, Sealed, ledger_of};
use spexus_domain::told;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
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
    /// The number of the last change when the transaction began.
    base: i64,
    /// What everybody could write to, as this connection last left it.
    left: Option<Shared>,
    /// The same when the transaction began.
    shared: Shared,
    /// Where it may write.
    lane: Lane,
    /// Whether the job tried to write elsewhere.
    has_strayed: bool,
    /// Numbers for changes, taken for many at once.
    numbers: VecDeque<i64>,
    /// The ends of ledgers that were added to, as far as they are known.
    ledgers: HashMap<Uuid, LedgerHead>,
    salts: Salts,
    /// Rows that were written and that the next change will seal.
    pub(crate) touched: Vec<Touched>,
    discarded: bool,
    /// Ids given out so far, by all transactions of this connection.
    ids: AtomicU32,
    pub(crate) words: KnownWords,
    /// Whether what is written is put into the index of search as well; a scratch copy has none.
    pub(crate) is_indexed: bool,
    /// How long a transaction of many steps may take.
    step_limit: Option<Duration>,
}

/// What tells whether anybody wrote what this connection remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shared {
    /// The end of the history: there is one writer at a time, and all it does is there.
    Head(Head),
    /// How often something was changed that every writer remembers.
    Rev(i64),
}

/// Random bytes, fetched for many salts at once.
pub(crate) struct Salts {
    // On the heap: futures that hold a transaction are large enough.
    bytes: Box<[u8; Self::FETCHED]>,
    used: usize,
}

impl Salts {
    const FETCHED: usize = 1_024;
    const LENGTH: usize = 16;

    pub(crate) fn next(&mut self) -> Result<[u8; Self::LENGTH]> {
        if self.used == Self::FETCHED {
            getrandom::fill(&mut self.bytes[..])
                .map_err(|error| Error::Unavailable(format!("there is no randomness: {error}")))?;
            self.used = 0;
        }
        let mut salt = [0; Self::LENGTH];
        let taken = &mut self.bytes[self.used..self.used + Self::LENGTH];
        salt.copy_from_slice(taken);
        taken.fill(0);
        self.used += Self::LENGTH;
        Ok(salt)
    }
}

impl Default for Salts {
    fn default() -> Self {
        Self {
            bytes: Box::new([0; Self::FETCHED]),
            used: Self::FETCHED,
        }
    }
}

/// A change as it will be stored, without what its place in the ledger decides.
#[derive(Clone, Debug)]
pub(crate) struct ToSeal<'a> {
    pub(crate) project_id: Option<Uuid>,
    pub(crate) entity: &'a str,
    pub(crate) entity_id: Uuid,
    pub(crate) item_id: Option<Uuid>,
    pub(crate) other_item_id: Option<Uuid>,
    pub(crate) label: &'a str,
    pub(crate) action: &'a str,
    pub(crate) rev: i64,
    pub(crate) before: &'a str,
    pub(crate) after: &'a str,
}

/// What must be undone beside the database when a job fails.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    head: Head,
    accounts: bool,
}

impl Tx {
    pub(crate) fn new(mut conn: Conn) -> Self {
        conn.enable_settings_cache();
        let actor = Actor {
            user_id: Uuid::nil(),
            username: String::new(),
            token_id: None,
            client: String::new(),
        };
        let head = Head::NONE;
        Self {
            conn,
            now: Timestamp(0),
            actor,
            state: Mark {
                head,
                accounts: false,
            },
            base: 0,
            left: None,
            shared: Shared::Head(head),
            lane: Lane::Installation,
            has_strayed: false,
            numbers: VecDeque::new(),
            ledgers: HashMap::new(),
            salts: Salts::default(),
            touched: Vec::new(),
            discarded: false,
            ids: AtomicU32::new(0),
            words: KnownWords::default(),
            is_indexed: true,
            step_limit: None,
        }
    }

    /// When this job happens.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Who acts.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// A new id, larger than every one given before by this process: a UUID of version 7 whose random part begins with
    /// the microseconds and a count, so that things made in one moment keep the order they were made in.
    pub fn new_id(&self) -> Uuid {
        let micros = u64::try_from(self.now.0).unwrap_or(0);
        let count = self.ids.fetch_add(1, Ordering::Relaxed);
        let random = Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, 0, 0));
        ordered_id(micros, count, random)
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

    /// From here on the job takes many steps, and may take no longer than a transaction of many steps: all other writes wait
    /// for it.
    pub fn takes_many_steps(&mut self) {
        if let Some(limit) = self.step_limit {
            self.conn.end_by(Instant::now() + limit);
        }
    }

    pub(crate) fn set_step_limit(&mut self, limit: Duration) {
        self.step_limit = Some(limit);
    }

    /// Decides whether what the job did is kept, whatever was said before.
    pub(crate) fn decide(&mut self, keep: bool) {
        self.discarded = !keep;
    }

    /// The number of the last change, this job's included.
    pub fn seq(&self) -> i64 {
        self.state.head.seq
    }

    /// The end of a ledger, this job's changes included.
    pub(crate) async fn ledger_head(&mut self, ledger: Uuid) -> Result<LedgerHead> {
        if let Some(head) = self.ledgers.get(&ledger) {
            return Ok(*head);
        }
        let head = LedgerHead::read(&mut self.conn, ledger, i64::MAX).await?;
        self.ledgers.insert(ledger, head);
        Ok(head)
    }

    /// Random bytes for one payload.
    pub(crate) fn new_salt(&mut self) -> Result<[u8; 16]> {
        self.salts.next()
    }

    /// Adds a change to its ledger, in this transaction.
    pub async fn record(&mut self, change: NewChange) -> Result<i64> {
        let row = self.seal_new(change).await?;
        //= specs/spexus-store.md#history
        //# A change and its row in the ledger MUST be committed in one transaction.
        match row.first() {
            Some(Param::Int(None)) => {
                let sql = concat!(
                    insert_change!("coalesce($1, nextval('change_seq_seq'))"),
                    " RETURNING seq"
                );
                self.state.head.seq = self.conn.one(sql, row).await?.int("seq")?;
            }
            _ => drop(self.conn.run(INSERT_CHANGE, row).await?),
        }
        Ok(self.state.head.seq)
    }

    /// Takes numbers for so many changes at once, where they are not simply counted on.
    pub(crate) async fn take_numbers(&mut self, count: usize) -> Result<()> {
        if self.conn.engine() == Engine::Postgres {
            self.numbers = arrival::take(&mut self.conn, count).await?.into();
        }
        Ok(())
    }

    /// The number of the next change; none where it is given out with the row.
    fn next_number(&mut self) -> Option<i64> {
        match self.conn.engine() {
            Engine::Sqlite => Some(self.state.head.seq + 1),
            Engine::Postgres => self.numbers.pop_front(),
        }
    }

    /// Says that something of another project is concerned than the one this job has to itself.
    pub fn concerns(&mut self, project_id: Uuid) -> Result<()> {
        match self.lane {
            Lane::Project(own) if own != project_id => Err(self.stray()),
            _ => Ok(()),
        }
    }

    /// From here on nothing of the job is kept: it is done again where it may write anywhere.
    pub(crate) fn stray(&mut self) -> Error {
        self.has_strayed = true;
        Error::Broken("a write left its project".into())
    }

    /// Whether the job wrote, or wanted to write, what was not its own. What every writer remembers is nobody's own.
    pub(crate) fn take_strayed(&mut self) -> bool {
        let shared = matches!(self.lane, Lane::Project(_)) && self.conn.take_shared_change();
        std::mem::take(&mut self.has_strayed) || shared
    }

    /// Forgets the words that are known to be remembered, because some are not any more; others have to know.
    pub(crate) fn forget_words(&mut self) {
        self.words.forget();
        self.conn.note_shared_change();
    }

    /// The row of a new change at the end of its ledger.
    pub(crate) async fn seal_new(&mut self, change: NewChange) -> Result<Vec<Param>> {
        let mut after = change.after;
        if !self.touched.is_empty()
            && let Some(rows) =
                row_digests::differing(&mut self.conn, std::mem::take(&mut self.touched)).await?
        {
            after.insert(told::ROWS.to_owned(), rows);
        }
        if change.item_id.is_some() {
            let end = self.ledger_head(ledger_of(change.project_id)).await?;
            // The change is told to happen no earlier than the one before it, its rows when this node's clock says.
            if end.at > self.now {
                let now = Value::from(self.now.0);
                if change.action == Action::Created {
                    after.entry(told::CREATED_AT).or_insert_with(|| now.clone());
                }
                after.entry(told::UPDATED_AT).or_insert(now);
            }
        }
        let (before, after) = (Value::Object(change.before), Value::Object(after));
        let (before, after) = (before.to_string(), after.to_string());
        self.seal(&ToSeal {
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
        })
        .await
    }

    /// Moves the end of a ledger on by one change, and gives the row that must be written for it, column by column.
    //= specs/spexus-store.md#history
    //# Each project MUST have a ledger of its own, numbered from 1 without gaps, and what belongs to no project one of the
    //# installation.
    pub(crate) async fn seal(&mut self, change: &ToSeal<'_>) -> Result<Vec<Param>> {
        let ledger = ledger_of(change.project_id);
        let is_of_accounts = ACCOUNTS.iter().any(|entity| entity.name() == change.entity);
        self.concerns(ledger)?;
        if is_of_accounts {
            self.state.accounts = true;
            self.conn.note_shared_change();
        }
        let end = self.ledger_head(ledger).await?;
        let number = self.next_number();
        let salt = self.salts.next()?;
        let payload = Payload {
            username: &self.actor.username,
            client: &self.actor.client,
            label: change.label,
            before: change.before,
            after: change.after,
        };
        let sealed = Sealed {
            ledger,
            number: end.number + 1,
            // Another node's clock may be before ours.
            at: self.now.max(end.at),
            user_id: self.actor.user_id,
            token_id: self.actor.token_id,
            entity: change.entity,
            entity_id: change.entity_id,
            item_id: change.item_id,
            other_item_id: change.other_item_id,
            action: change.action,
            rev: change.rev,
            payload: payload.hash(&salt),
        };
        let head = Head {
            seq: number.unwrap_or(self.state.head.seq),
            hash: sealed.hash(&end.hash),
            at: sealed.at,
        };
        let row = row(number, &sealed, &payload, &salt, head.hash);
        let end = LedgerHead {
            number: sealed.number,
            hash: head.hash,
            at: head.at,
        };
        self.ledgers.insert(ledger, end);
        self.state.head = head;
        Ok(row)
    }

    /// Moves the end of a ledger on by a change that was sealed at another installation, and gives its place among all; none where
    /// it is given out with the row.
    pub(crate) fn go_on_to(&mut self, ledger: Uuid, end: LedgerHead) -> Option<i64> {
        self.ledgers.insert(ledger, end);
        let number = self.next_number();
        self.state.head.seq = number.unwrap_or(self.state.head.seq);
        number
    }

    /// Begins a ledger of another installation, which nothing of is here.
    pub(crate) fn begin_ledger(&mut self, ledger: Uuid, former: FormerHead) {
        self.ledgers.insert(ledger, LedgerHead::genesis(former, ledger));
    }

    pub(crate) fn begin_job(&mut self, actor: Actor, now: Timestamp) {
        self.actor = actor;
        //= specs/spexus-store.md#history
        //# A change MUST NOT be told to have happened before the change in front of it in its ledger, whatever the clocks of the
        //# nodes say.
        self.now = now.max(self.state.head.at);
        self.discarded = false;
        self.has_strayed = false;
        self.touched.clear();
    }

    pub(crate) fn is_discarded(&self) -> bool {
        self.discarded
    }

    /// A transaction of the only writer has begun, behind the end of the history.
    pub(crate) fn begin_behind(&mut self, head: Head) {
        self.begin(head, Shared::Head(head));
    }

    /// A transaction has begun beside others: behind the last change of its project, or of all.
    pub(crate) fn begin_in(&mut self, lane: Lane, head: Head, own: Option<LedgerHead>, shared_rev: i64) {
        self.lane = lane;
        self.begin(head, Shared::Rev(shared_rev));
        // Others add to ledgers whenever this one does not hold them.
        self.ledgers.clear();
        if let (Lane::Project(project), Some(own)) = (lane, own) {
            self.ledgers.insert(project, own);
        }
    }

    fn begin(&mut self, head: Head, shared: Shared) {
        //= specs/spexus-store.md#several-processes
        //# A write MUST see settings and projects as they are, whichever process changed them last.
        // What was read is true until somebody else writes it.
        if self.left != Some(shared) {
            self.conn.forget_settings();
            // They may have forgotten words and added to ledgers as well.
            self.words.forget();
            self.ledgers.clear();
        }
        self.conn.take_shared_change();
        self.shared = shared;
        self.numbers.clear();
        self.base = head.seq;
        self.words.begin();
        self.state = Mark {
            head,
            accounts: false,
        };
    }

    /// What there is to say to other writers before the commit: that something was changed that they remember.
    pub(crate) fn share_change(&mut self) -> bool {
        let changed = self.conn.take_shared_change();
        if let (true, Shared::Rev(rev)) = (changed, &mut self.shared) {
            *rev += 1;
        }
        changed
    }

    pub(crate) fn committed(&mut self) {
        self.words.committed();
        self.left = Some(match self.shared {
            Shared::Head(_) => Shared::Head(self.state.head),
            Shared::Rev(rev) => Shared::Rev(rev),
        });
    }

    /// How often something was changed that every writer remembers, this transaction included.
    pub(crate) fn shared_rev(&self) -> Option<i64> {
        match self.shared {
            Shared::Head(_) => None,
            Shared::Rev(rev) => Some(rev),
        }
    }

    pub(crate) fn head(&self) -> Head {
        self.state.head
    }

    pub(crate) fn base(&self) -> i64 {
        self.base
    }

    pub(crate) fn touched_accounts(&self) -> bool {
        self.state.accounts
    }

    pub(crate) fn mark(&self) -> Mark {
        self.state
    }

    pub(crate) fn reset(&mut self, mark: Mark) {
        self.state = mark;
        self.ledgers.clear();
        self.numbers.clear();
        self.conn.forget_settings();
        self.words.begin();
    }
}

/// Version 7: 48 bits of milliseconds, then 12 bits of which the microseconds fill 10, then 62 bits of which the count
/// fills 22 and chance the rest.
fn ordered_id(micros: u64, count: u32, random: Uuid) -> Uuid {
    let millis = (micros / 1_000) & 0xffff_ffff_ffff;
    let fraction = (micros % 1_000) << 2;
    let low = random.as_u64_pair().1 & 0xff_ffff_ffff;
    let high = (millis << 16) | 0x7000 | fraction;
    let low = (0b10 << 62) | (u64::from(count & 0x3f_ffff) << 40) | low;
    Uuid::from_u64_pair(high, low)
}

/// What accounts and what they may do are made of.
const ACCOUNTS: [Entity; 5] = [
    Entity::User,
    Entity::Token,
    Entity::Project,
    Entity::Member,
    Entity::Group,
];

macro_rules! insert_change {
    ($seq:literal) => {
        concat!(
            "INSERT INTO change (seq, ledger, number, at, user_id, username, token_id, client, entity, entity_id, ",
            "item_id, other_item_id, label, action, rev, before, after, salt, payload_hash, hash) VALUES (",
            $seq,
            ", $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)"
        )
    };
}
use insert_change;

/// Writes a change whose number is known.
pub(crate) const INSERT_CHANGE: &str = insert_change!("$1");

/// A row of the table `change`, in the order of its columns.
pub(crate) fn row(
    seq: Option<i64>,
    sealed: &Sealed<'_>,
    payload: &Payload<'_>,
    salt: &[u8],
    hash: [u8; 32],
) -> Vec<Param> {
    params![
        seq,
        sealed.ledger,
        sealed.number,
        sealed.at,
        sealed.user_id,
        payload.username,
        sealed.token_id,
        payload.client,
        sealed.entity,
        sealed.entity_id,
        sealed.item_id,
        sealed.other_item_id,
        payload.label,
        sealed.action,
        sealed.rev,
        payload.before,
        payload.after,
        salt.to_vec(),
        sealed.payload,
        hash,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ordered_by_time_and_then_by_count() {
        let chance = |n: u64| Uuid::from_u64_pair(n, n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let made = [
            ordered_id(1_700_000_000_000_000, 7, chance(9)),
            ordered_id(1_700_000_000_000_000, 8, chance(1)),
            ordered_id(1_700_000_000_000_001, 0, chance(5)),
            ordered_id(1_700_000_000_001_000, 0, chance(2)),
        ];
        assert!(made.is_sorted(), "{made:?}");
        for id in made {
            assert_eq!(
                (id.get_version_num(), id.get_variant()),
                (7, uuid::Variant::RFC4122)
            );
        }
    }
}
