//! What the writers were told: the side of the story that the database is held against.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use parking_lot::{Condvar, Mutex, MutexGuard};

/// Everything that was answered, shared by all writers.
#[derive(Default)]
pub(super) struct Ledger {
    answers: Mutex<Answers>,
    more: Condvar,
}

/// What was answered to whom.
#[derive(Clone, Default)]
pub(super) struct Answers {
    /// Titles whose creation was acknowledged.
    pub(super) created: BTreeSet<String>,
    /// Titles whose creation was refused for good: they must not exist.
    pub(super) refused: BTreeSet<String>,
    /// The last revision of an item that was acknowledged to have been written, by the item's id.
    pub(super) revisions: BTreeMap<String, i64>,
    /// Acknowledged writes of any kind.
    pub(super) acknowledged: usize,
    /// Refused writes of any kind.
    pub(super) refusals: usize,
    /// Writes whose connection broke before the answer.
    pub(super) unanswered: usize,
    /// The longest time in which nobody was acknowledged anything.
    pub(super) longest_pause: Duration,
    /// The fault that came before it.
    pub(super) paused_by: &'static str,
    last: Option<Instant>,
    last_fault: &'static str,
}

impl Ledger {
    /// A fault is inflicted now.
    pub(super) fn struck(&self, fault: &'static str) {
        self.lock().last_fault = fault;
    }

    pub(super) fn created(&self, title: &str) {
        let mut answers = self.lock();
        answers.created.insert(title.to_owned());
        self.count(&mut answers);
    }

    pub(super) fn updated(&self, id: &str, rev: i64) {
        let mut answers = self.lock();
        answers.revisions.insert(id.to_owned(), rev);
        self.count(&mut answers);
    }

    /// A creation that was refused and is not tried again.
    pub(super) fn refused_for_good(&self, title: &str) {
        let mut answers = self.lock();
        answers.refused.insert(title.to_owned());
        answers.refusals += 1;
        self.more.notify_all();
    }

    /// A refusal after which the same write is tried again.
    pub(super) fn refused_for_now(&self) {
        self.lock().refusals += 1;
        self.more.notify_all();
    }

    pub(super) fn unanswered(&self) {
        self.lock().unanswered += 1;
    }

    pub(super) fn acknowledged(&self) -> usize {
        self.lock().acknowledged
    }

    pub(super) fn answers(&self) -> Answers {
        self.lock().clone()
    }

    /// Waits until so many more writes were acknowledged.
    pub(super) fn wait_for_more(&self, count: usize, patience: Duration) -> Result<()> {
        let mut answers = self.lock();
        let wanted = answers.acknowledged + count;
        let is_short = |answers: &mut Answers| answers.acknowledged < wanted;
        let waited = self.more.wait_while_for(&mut answers, is_short, patience);
        if waited.timed_out() {
            bail!(
                "stuck: {} of {wanted} writes acknowledged, {} refused, {} unanswered, after {} s",
                answers.acknowledged,
                answers.refusals,
                answers.unanswered,
                patience.as_secs()
            );
        }
        Ok(())
    }

    /// Waits until a write was refused; where files have room to reuse, that may never come.
    pub(super) fn wait_for_refusal(&self, patience: Duration) {
        let mut answers = self.lock();
        let before = answers.refusals;
        let nobody_was = |answers: &mut Answers| answers.refusals == before;
        let _ = self.more.wait_while_for(&mut answers, nobody_was, patience);
    }

    fn count(&self, answers: &mut Answers) {
        let now = Instant::now();
        if let Some(last) = answers.last.replace(now) {
            let pause = now - last;
            if pause > answers.longest_pause {
                answers.longest_pause = pause;
                answers.paused_by = answers.last_fault;
            }
        }
        answers.acknowledged += 1;
        self.more.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock()
    }
}
