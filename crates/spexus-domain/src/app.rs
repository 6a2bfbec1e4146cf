//! Apps as the installation knows them: other MCP servers that are part of this one.
//!
//! What an app is made of and where its files are is for those to say who run it; here it is what must be there.

use crate::Timestamp;
use serde::{Deserialize, Serialize};

/// An app that was installed, on whichever machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledApp {
    /// Its name.
    pub name: String,
    /// Another one for each installation of the same app.
    pub installation: String,
    /// The version it says it has.
    pub version: String,
    /// `bundle`, `manifest` or `url`.
    pub source: String,
    /// When it was installed.
    pub installed_at: Timestamp,
}

/// How a change of an app is labelled in the history.
pub const LABEL: &str = "app";
