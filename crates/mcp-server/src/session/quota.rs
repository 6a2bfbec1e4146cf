//! Account quotas: what one account has of a process, however many tokens, sessions and connections it comes with.
//!
//! Limits per session or per connection are none for somebody who can open as many of them as they like. What can be
//! exhausted for everyone is therefore counted by account.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use refusal::{Code, Refusal};
use tokio::sync::Semaphore;

use crate::limits::Limits;
use crate::session::store::Sharded;

/// Whose session it is: put into a request's extensions by the layer that authenticates.
///
/// A session that was opened with an owner is only served to requests with the same owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOwner(pub String);

/// The account a session is charged to: put into a request's extensions beside the [`SessionOwner`] when several owners, such as the
/// tokens of one user, share what one of them may have. Without it each owner has a share of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account(pub String);

/// The owner of a session, and the account its quota comes out of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Owner<'a> {
    /// The owner of the session; nobody else is served in it.
    pub(crate) id: Option<&'a str>,
    /// The account behind the owner; the owner itself where nobody says otherwise.
    pub(crate) account: Option<&'a str>,
}

impl<'a> Owner<'a> {
    pub(crate) fn of(extensions: &'a http::Extensions) -> Self {
        let id = extensions.get::<SessionOwner>().map(|owner| owner.0.as_str());
        let account = extensions.get::<Account>().map(|account| account.0.as_str());
        Self {
            id,
            account: account.or(id),
        }
    }
}

/// What an account has taken.
#[derive(Debug)]
pub(crate) struct AccountQuota {
    /// Turns of the elements of its arrays.
    pub(crate) batch_permits: Semaphore,
    streams: AtomicUsize,
}

impl AccountQuota {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            batch_permits: Semaphore::new(limits.max_batch_running_per_account.max(1)),
            streams: AtomicUsize::new(0),
        }
    }

    /// A place for one more stream of events.
    //= specs/mcp-server.md#limits
    //# A stream above an account's limit of open streams MUST be refused with 1003, whatever sessions it belongs to.
    pub(crate) fn open_stream(self: &Arc<Self>, limits: &Limits) -> Result<OpenStream, Refusal> {
        let place = OpenStream(self.clone());
        let max = limits.max_streams_per_account;
        if self.streams.fetch_add(1, Ordering::AcqRel) < max {
            return Ok(place);
        }
        let message = format!("this account has {max} streams open already");
        Err(Refusal::new(Code::QueueTenantCapExceeded, message)
            .hint("Close a stream before you open another one."))
    }
}

/// A stream that is open; its place is free when this is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream(Arc<AccountQuota>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The quotas of all accounts that have something now.
#[derive(Debug, Default)]
pub(crate) struct AccountQuotas(Sharded<Weak<AccountQuota>>);

impl AccountQuotas {
    /// The quota of an account; whoever has no account has one of its own.
    pub(crate) fn of(&self, account: Option<&str>, limits: &Limits) -> Arc<AccountQuota> {
        let fresh = || Arc::new(AccountQuota::new(limits));
        let Some(account) = account else {
            return fresh();
        };
        let mut shard = self.0.shard(account);
        if let Some(quota) = shard.get(account).and_then(Weak::upgrade) {
            return quota;
        }
        // The table grows only with accounts that are there: those that left make room before it would.
        if shard.len() == shard.capacity() {
            shard.retain(|_, quota| quota.strong_count() > 0);
        }
        let quota = fresh();
        shard.insert(account.into(), Arc::downgrade(&quota));
        quota
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_one_share_and_others_have_their_own() {
        let (quotas, limits) = (AccountQuotas::default(), Limits::default());
        let anna = quotas.of(Some("anna"), &limits);
        assert!(Arc::ptr_eq(&anna, &quotas.of(Some("anna"), &limits)));
        assert!(!Arc::ptr_eq(&anna, &quotas.of(Some("boris"), &limits)));
        assert!(!Arc::ptr_eq(&quotas.of(None, &limits), &quotas.of(None, &limits)));
    }

    #[test]
    fn a_closed_stream_makes_room_for_another() {
        let limits = Limits {
            max_streams_per_account: 1,
            ..Limits::default()
        };
        let quota = Arc::new(AccountQuota::new(&limits));
        let open = quota.open_stream(&limits).unwrap();
        let refusal = quota.open_stream(&limits).unwrap_err();
        assert_eq!(refusal.code, Code::QueueTenantCapExceeded);
        drop(open);
        assert!(quota.open_stream(&limits).is_ok());
    }

    #[test]
    fn accounts_that_left_are_forgotten() {
        let (quotas, limits) = (AccountQuotas::default(), Limits::default());
        for number in 0..10_000 {
            quotas.of(Some(&format!("account {number}")), &limits);
        }
        let kept: usize = (0..quotas.0.pieces()).map(|piece| quotas.0.at(piece).len()).sum();
        assert!(kept < 1_000, "{kept} of 10,000 that left are kept");
    }
}
