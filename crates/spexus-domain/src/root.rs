//! Roots that administrators added: folders of the server's machine whose files agents may read.
//!
//! Whether a folder exists and may be opened is for those to say who can look; here it is a name for something kept.

use serde::{Deserialize, Serialize};

/// A folder that was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedRoot {
    /// Its canonical `file:` address.
    pub uri: String,
    /// Its name for people.
    pub name: String,
    /// What is in it; may be empty.
    pub description: String,
}

/// How a change of a root is labelled in the history.
pub const LABEL: &str = "root";
