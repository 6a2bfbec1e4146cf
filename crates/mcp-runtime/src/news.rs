//! What happened in a history that a server follows, for those who watch and for sessions that come back.

use crate::hub::{Change, List};

/// What happened between two places in a history: each address once, each list once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// The place they begin behind.
    pub since: u64,
    /// The place they reach to.
    pub up_to: u64,
    /// The resources that changed.
    pub resources: Vec<(String, Change)>,
    /// The lists that changed.
    pub lists: Vec<List>,
    /// So much happened that everything may have changed; the rest need not be told one by one.
    pub everything: bool,
}
