//! The published revisions of MCP, and what differs between them, as data.
//!
//! A message's version is decided once, where it enters. From then on code asks a [`Version`] what it allows instead
//! of comparing dates, and handlers are not told at all.

use std::fmt;

// Fulfils 003 R2.1, 003 R2.6
/// A published revision of the protocol, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 2024-11-05, the first.
    V2024_11_05,
    /// 2025-03-26: streamable HTTP, annotations, progress messages.
    V2025_03_26,
    /// 2025-06-18: structured output, elicitation, titles.
    V2025_06_18,
    /// 2025-11-25: icons, tasks, argument faults as results.
    V2025_11_25,
    /// 2026-07-28: no handshake; every request says who it is.
    V2026_07_28,
}

/// How a client introduces itself. Outside of this file and the table of methods nobody asks for it: code asks a
/// [`Version`] what it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// Once, with `initialize`; a session remembers it.
    Handshake,
    /// In the `_meta` of every request; nothing is remembered.
    Stateless,
}

impl Version {
    /// Every revision served, oldest first.
    pub const ALL: [Version; 5] = [
        Version::V2024_11_05,
        Version::V2025_03_26,
        Version::V2025_06_18,
        Version::V2025_11_25,
        Version::V2026_07_28,
    ];

    /// The newest revision of the handshake era.
    pub const NEWEST_HANDSHAKE: Version = Version::V2025_11_25;

    /// The revision of the stateless era.
    pub const STATELESS: Version = Version::V2026_07_28;

    /// What a request over HTTP is written in that neither names a revision nor belongs to a session.
    pub const UNNAMED: Version = Version::V2025_03_26;

    /// The date that names it.
    pub const fn name(self) -> &'static str {
        match self {
            Version::V2024_11_05 => "2024-11-05",
            Version::V2025_03_26 => "2025-03-26",
            Version::V2025_06_18 => "2025-06-18",
            Version::V2025_11_25 => "2025-11-25",
            Version::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision with this date.
    pub fn parse(name: &str) -> Option<Version> {
        Self::ALL.into_iter().find(|v| v.name() == name)
    }

    /// Names of all revisions, for answers that list what is supported.
    pub fn names() -> [&'static str; 5] {
        Self::ALL.map(Version::name)
    }

    /// The era it belongs to.
    pub(crate) const fn era(self) -> Era {
        match self {
            Version::V2026_07_28 => Era::Stateless,
            _ => Era::Handshake,
        }
    }

    /// The client introduces itself once, with `initialize`, and the server remembers it: sessions, subscriptions, streams
    /// to come back to.
    pub const fn has_handshake(self) -> bool {
        matches!(self.era(), Era::Handshake)
    }

    /// Every result says what it is, who made it and how long it may be cached.
    pub const fn has_result_meta(self) -> bool {
        matches!(self.era(), Era::Stateless)
    }

    /// Questions to the client are results, and their answers come with the same request sent again.
    pub const fn has_input_rounds(self) -> bool {
        matches!(self.era(), Era::Stateless)
    }

    /// Tasks as an extension (handles, `tasks/update`) instead of those in the core of the protocol (`tasks/result`).
    pub const fn has_task_extension(self) -> bool {
        matches!(self.era(), Era::Stateless)
    }

    /// Tasks in the core of the protocol are negotiated and asked for by `task` in the parameters.
    pub const fn has_core_tasks(self) -> bool {
        matches!(self, Version::V2025_11_25)
    }

    /// Several messages may come as one array.
    pub const fn has_batches(self) -> bool {
        matches!(self, Version::V2024_11_05 | Version::V2025_03_26)
    }

    /// Arguments that do not fit a tool's schema are answered with a result the model can read, not a protocol error.
    pub fn faults_are_results(self) -> bool {
        self >= Version::V2025_11_25
    }

    /// A stream begins with an empty event, so that a client that loses it at once can come back.
    pub fn primes_streams(self) -> bool {
        self >= Version::V2025_11_25
    }

    /// Results of tools may be structured.
    pub fn has_structured_results(self) -> bool {
        self >= Version::V2025_06_18
    }

    /// The client wants to hear when the person is done at a page it was sent to.
    pub fn knows_url_elicitation(self) -> bool {
        self == Version::V2025_11_25
    }

    /// The number for "no such resource", which 2026-07-28 moved.
    pub fn resource_not_found(self) -> i32 {
        match self.era() {
            Era::Handshake => -32002,
            Era::Stateless => -32602,
        }
    }
}

/// The revisions a server offers: some of those this crate speaks, oldest first, and at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedVersions(Vec<Version>);

impl Default for OfferedVersions {
    fn default() -> Self {
        Self(Version::ALL.to_vec())
    }
}

impl OfferedVersions {
    /// The revisions named in a list, separated by commas; `None` when one is unknown or there is none.
    pub fn parse(list: &str) -> Option<Self> {
        let named = list.split(',').map(|name| Version::parse(name.trim()));
        let mut versions = named.collect::<Option<Vec<_>>>()?;
        versions.sort_unstable();
        versions.dedup();
        Some(Self(versions))
    }

    /// The revision with this date, when it is offered.
    pub fn find(&self, name: &str) -> Option<Version> {
        Version::parse(name).filter(|version| self.0.contains(version))
    }

    /// Their dates, for answers that list what is supported.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|version| version.name()).collect()
    }

    /// The newest one that is agreed on in a handshake.
    pub fn newest_handshake(&self) -> Option<Version> {
        let of_handshake = |version: &&Version| version.has_handshake();
        self.0.iter().rev().find(of_handshake).copied()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_is_found_by_its_name_and_ordered_by_date() {
        for version in Version::ALL {
            assert_eq!(Version::parse(version.name()), Some(version));
        }
        assert!(Version::names().windows(2).all(|w| w[0] < w[1]));
        assert_eq!(Version::parse("1999-01-01"), None);
    }

    #[test]
    fn some_revisions_are_offered_and_an_unknown_one_cannot_be() {
        let some = OfferedVersions::parse("2025-06-18, 2025-03-26,2025-06-18").unwrap();
        assert_eq!(some.names(), ["2025-03-26", "2025-06-18"]);
        assert_eq!(some.find("2025-06-18"), Some(Version::V2025_06_18));
        assert_eq!(some.find("2025-11-25"), None);
        assert_eq!(some.newest_handshake(), Some(Version::V2025_06_18));
        let newest = OfferedVersions::parse("2026-07-28").unwrap();
        assert_eq!(newest.newest_handshake(), None);
        assert_eq!(OfferedVersions::default().names(), Version::names());
        for wrong in ["", "2025-06-18,", "2025-06-18,1999-01-01"] {
            assert_eq!(OfferedVersions::parse(wrong), None, "{wrong:?}");
        }
    }
}
