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

/// How a client introduces itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
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
    pub const fn era(self) -> Era {
        match self {
            Version::V2026_07_28 => Era::Stateless,
            _ => Era::Handshake,
        }
    }

    /// Arguments that do not fit a tool's schema are answered with a result the model can read, not a protocol error.
    pub fn faults_are_results(self) -> bool {
        self >= Version::V2025_11_25
    }

    /// Results of tools may be structured.
    pub(crate) fn has_structured_results(self) -> bool {
        self >= Version::V2025_06_18
    }

    /// The client wants to hear when the person is done at a page it was sent to.
    pub(crate) fn knows_url_elicitation(self) -> bool {
        self == Version::V2025_11_25
    }

    /// The number for "no such resource", which 2026-07-28 moved.
    pub(crate) fn resource_not_found(self) -> i32 {
        match self.era() {
            Era::Handshake => -32002,
            Era::Stateless => -32602,
        }
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
}
