//! What every table is to an auditor: verified in one way or another, or no evidence, for a reason that is written down.

/// How a table is verified, or why it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A chain of hashes that checkpoints know.
    Chained,
    /// Held against a replay of the history.
    Replayed,
    /// Each row is sealed by the change that wrote it, but for columns that change without a change.
    Sealed(&'static [&'static str]),
    /// Computed again from the others.
    Derived,
    /// No evidence, for this reason.
    Not(&'static str),
}

const STAGED: &str =
    "what an import brings before anybody sees it; what it showed in the end is in the history";

/// Every table, with how it is verified; a table that is not here fails a test.
//= specs/spexus-store.md#history
//# Every table MUST be verified, or be on a list of what is no evidence, with the reason.
pub const EVIDENCE: &[(&str, Evidence)] = &[
    ("change", Evidence::Chained),
    ("audit", Evidence::Chained),
    ("audit_day", Evidence::Chained),
    ("item", Evidence::Replayed),
    ("comment", Evidence::Replayed),
    ("link", Evidence::Replayed),
    ("project", Evidence::Sealed(&[])),
    ("account", Evidence::Sealed(&[])),
    // When a token was used is in the audit trail.
    ("token", Evidence::Sealed(&["last_used_at"])),
    ("member", Evidence::Sealed(&[])),
    ("user_group", Evidence::Sealed(&[])),
    ("group_user", Evidence::Sealed(&[])),
    ("member_group", Evidence::Sealed(&[])),
    ("secret", Evidence::Sealed(&[])),
    ("requirement_type", Evidence::Sealed(&[])),
    ("link_type", Evidence::Sealed(&[])),
    ("workflow", Evidence::Sealed(&[])),
    ("prompt", Evidence::Sealed(&[])),
    ("baseline", Evidence::Sealed(&[])),
    ("former_history", Evidence::Sealed(&[])),
    ("ledger_origin", Evidence::Sealed(&[])),
    ("dropped_segment", Evidence::Sealed(&[])),
    ("root", Evidence::Sealed(&[])),
    ("app", Evidence::Sealed(&[])),
    ("review", Evidence::Sealed(&[])),
    ("review_item", Evidence::Sealed(&[])),
    ("review_person", Evidence::Sealed(&[])),
    ("trace_push", Evidence::Sealed(&[])),
    ("trace_review", Evidence::Sealed(&[])),
    // Its push has the digest of it.
    ("trace_part", Evidence::Derived),
    ("directory", Evidence::Derived),
    ("item_count", Evidence::Derived),
    ("counter", Evidence::Derived),
    ("search_doc", Evidence::Derived),
    (
        "search_form",
        Evidence::Not("words that help with spelling; what is found is read from the items"),
    ),
    (
        "search_text",
        Evidence::Not(
            "the words of the documents; what is found is read from the items, and it can be built anew",
        ),
    ),
    (
        "web_session",
        Evidence::Not("who is signed in at present; logins and logouts are in the audit trail"),
    ),
    (
        "mcp_session",
        Evidence::Not("what clients that are connected have not read yet; it goes with the session"),
    ),
    (
        "lease",
        Evidence::Not("who works on what for the next hours; what they changed is in the history"),
    ),
    (
        "saved_view",
        Evidence::Not("how people like to look at items; what they see is read from the items"),
    ),
    (
        "idempotency",
        Evidence::Not("answers kept for a day for whoever asks twice; what was done is in the history"),
    ),
    (
        "login_failure",
        Evidence::Not("how often somebody failed lately; every failure is in the audit trail"),
    ),
    (
        "login_network",
        Evidence::Not("from where somebody logged in lately; every login is in the audit trail"),
    ),
    (
        "trace_state",
        Evidence::Not("where items stand, made anew from what was pushed; what was pushed is verified"),
    ),
    (
        "trace_step",
        Evidence::Not(
            "where items stood, for the timeline and for comparing with a baseline; what was pushed is verified",
        ),
    ),
    (
        "trace_head",
        Evidence::Not("where to go on from with the next push, made anew from what was pushed"),
    ),
    ("staged_import", Evidence::Not(STAGED)),
    ("staged_item", Evidence::Not(STAGED)),
    ("staged_comment", Evidence::Not(STAGED)),
    ("staged_link", Evidence::Not(STAGED)),
    ("staged_change", Evidence::Not(STAGED)),
    (
        "installation",
        Evidence::Not("a counter by which writers learn that settings changed; the settings are sealed"),
    ),
    (
        "schema_version",
        Evidence::Not("which program made the tables; a program refuses what it does not know"),
    ),
];

/// The tables whose rows are sealed, with the columns that are not.
pub(crate) fn sealed() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    EVIDENCE.iter().filter_map(|(name, evidence)| match evidence {
        Evidence::Sealed(left_out) => Some((*name, *left_out)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::params;
    use crate::{Location, Store, StoreOptions};
    use std::collections::BTreeSet;
    use std::sync::Arc;

    async fn tables(location: Location, sql: &'static str) -> BTreeSet<String> {
        let clock: crate::Clock = Arc::new(|| spexus_domain::Timestamp(0));
        let opened = Store::open(&location, &StoreOptions::default(), clock).await;
        let rows = opened
            .unwrap()
            .0
            .read()
            .await
            .unwrap()
            .all(sql, params![])
            .await
            .unwrap();
        rows.iter().map(|row| row.text("name").unwrap()).collect()
    }

    fn decided(but: &[&str]) -> BTreeSet<String> {
        let names = EVIDENCE.iter().map(|(name, _)| (*name).to_owned());
        names.filter(|name| !but.contains(&name.as_str())).collect()
    }

    //= specs/spexus-store.md#history
    //= type=test
    //# Every table MUST be verified, or be on a list of what is no evidence, with the reason.
    #[tokio::test]
    async fn every_table_is_verified_or_no_evidence_for_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'search_text_%'";
        let found = tables(Location::File(folder.path().join("a.db")), sql).await;
        assert_eq!(found, decided(&[]));
        if let Some(url) = test_support::fresh_database() {
            let sql =
                "SELECT CAST(tablename AS text) AS name FROM pg_tables WHERE schemaname = current_schema()";
            let found = tables(Location::Server(url), sql).await;
            assert_eq!(found, decided(&["search_text"]), "the words are a column there");
        }
    }
}
