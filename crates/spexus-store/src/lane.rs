//! Lanes: what a writer has for itself. On PostgreSQL a write in one project locks that project and lets writes of other
//! projects go on beside it; a write that concerns the installation, or that cannot say which project it is in, locks
//! everything. SQLite has one writer, so there a lane says nothing.
//!
//! Everybody locks the installation first, so nobody can wait for somebody who waits for them.

use crate::arrival;
use spexus_domain::Uuid;

/// Held shared by who writes in one project, and exclusively by who may write anywhere.
const INSTALLATION_LOCK: i64 = 75_327;

/// The first half of the lock of a project; the second is taken from its id.
const PROJECT_LOCK: i32 = 75_328;

/// Locks everything, until the transaction ends.
pub(crate) const LOCK_INSTALLATION: &str = "SELECT pg_advisory_xact_lock(75327)";

/// Where a write happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Anywhere.
    Installation,
    /// In one project and nowhere else.
    Project(Uuid),
}

impl Lane {
    /// What takes the locks on PostgreSQL, and reads what a write must know once it has them, in one trip.
    //= specs/spexus-store.md#several-processes
    //# Writes of different projects MUST NOT wait for each other on PostgreSQL.
    pub(crate) fn begin(self) -> String {
        let lock = match self {
            Self::Installation => LOCK_INSTALLATION.to_owned(),
            Self::Project(id) => format!(
                "SELECT pg_advisory_xact_lock_shared({INSTALLATION_LOCK}); SELECT pg_advisory_xact_lock({PROJECT_LOCK}, {})",
                short(id)
            ),
        };
        let ledger = match self {
            Self::Installation => String::new(),
            Self::Project(id) => format!("WHERE ledger = '{id}' "),
        };
        // The mark comes after the locks, so that who waits for one holds nobody up who reads.
        format!(
            "{lock}; {}; SELECT v.version, i.shared_rev, c.seq, c.number, c.hash, c.at FROM schema_version v \
             CROSS JOIN installation i LEFT JOIN (SELECT seq, number, hash, at FROM change {ledger}ORDER BY seq DESC LIMIT 1) c ON true",
            arrival::MARK
        )
    }

    /// Which of so many writers it belongs to; the first one writes anywhere.
    pub(crate) fn of(self, writers: usize) -> usize {
        match self {
            Self::Project(id) if writers > 1 => {
                1 + usize::try_from(short(id).unsigned_abs()).unwrap_or(0) % (writers - 1)
            }
            _ => 0,
        }
    }
}

/// A few bytes of an id in which chance is, not time. Projects that share them only wait for each other.
fn short(id: Uuid) -> i32 {
    let bytes = id.into_bytes();
    i32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_always_the_same_writer_and_the_first_one_is_for_none() {
        let projects = (1..200u128).map(|n| Uuid::from_u128(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        for project in projects {
            let lane = Lane::Project(project);
            assert_eq!(lane.of(5), lane.of(5));
            assert!((1..5).contains(&lane.of(5)));
            assert_eq!(lane.of(1), 0);
        }
        assert_eq!(Lane::Installation.of(5), 0);
    }
}
