//! Levels of log messages, as RFC 5424 orders them.

/// How grave a log message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Details for developers.
    Debug,
    /// The normal course of things.
    Info,
    /// Normal but worth knowing.
    Notice,
    /// Something may be wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// A part is broken.
    Critical,
    /// Somebody must act.
    Alert,
    /// Nothing works.
    Emergency,
}

impl Level {
    const ALL: [Level; 8] = [
        Level::Debug,
        Level::Info,
        Level::Notice,
        Level::Warning,
        Level::Error,
        Level::Critical,
        Level::Alert,
        Level::Emergency,
    ];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Notice => "notice",
            Level::Warning => "warning",
            Level::Error => "error",
            Level::Critical => "critical",
            Level::Alert => "alert",
            Level::Emergency => "emergency",
        }
    }

    /// The level with this name.
    pub fn parse(name: &str) -> Option<Level> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The level with this number, from 0 (debug).
    pub fn from_number(number: u8) -> Option<Level> {
        Self::ALL.get(usize::from(number)).copied()
    }
}
