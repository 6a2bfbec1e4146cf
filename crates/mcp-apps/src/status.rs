//! What each running server makes of each app, kept beside the apps for commands of other processes to read; and what
//! a server that was killed left behind.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::install_dir::{InstallDir, write_private};
use crate::process::{Signal, runs, tell_group};

/// Status of an app in one running server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AppStatus {
    /// The app.
    pub app: String,
    /// The process of the server.
    pub server: u32,
    /// `starting`, `running`, `backing-off`, `failed` or `stopped`.
    pub state: String,
    /// What is wrong, if anything is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// What the app wrote last to its error output before it ended.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_words: String,
    /// The process of the app, when it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// When that process was started, in the kernel's own count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_started: Option<u64>,
    /// How often the app was started again.
    pub restarts: u64,
    /// Since when it is like this.
    pub since: String,
}

impl AppStatus {
    pub(crate) fn new(app: &str) -> Self {
        Self {
            app: app.to_owned(),
            server: std::process::id(),
            ..Self::default()
        }
    }

    /// Writes what is known now in the place of what was.
    pub(crate) fn keep(&mut self, install_dir: &InstallDir) {
        self.since = jiff::Timestamp::now().to_string();
        self.process_started = self.process.and_then(started);
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        if let Err(error) = write_private(&self.path(install_dir), &text) {
            tracing::debug!(app = self.app, %error, "the state of the app could not be kept");
        }
    }

    pub(crate) fn forget(&self, install_dir: &InstallDir) {
        // It may never have been written.
        let _ = std::fs::remove_file(self.path(install_dir));
    }

    fn path(&self, install_dir: &InstallDir) -> PathBuf {
        install_dir
            .statuses()
            .join(format!("{}.{}.json", self.app, self.server))
    }
}

/// What the servers say that run now.
pub(crate) fn all(install_dir: &InstallDir) -> Vec<AppStatus> {
    let mut found: Vec<AppStatus> = read(install_dir)
        .into_iter()
        .filter(|status| runs(status.server))
        .collect();
    found.sort_by(|a, b| (&a.app, a.server).cmp(&(&b.app, b.server)));
    found
}

/// Ends what servers left behind that were killed, and forgets what they said.
//= specs/mcp-apps.md#supervision
//# Processes of apps that a killed server left behind MUST be ended by the next server that starts with the same folder.
pub(crate) fn clean_up(install_dir: &InstallDir) {
    for status in read(install_dir)
        .into_iter()
        .filter(|status| !runs(status.server))
    {
        // Numbers are used again: only the very process that was started then may be ended.
        let same =
            status.process_started.is_some() && status.process.and_then(started) == status.process_started;
        if let (true, Some(group)) = (same, status.process) {
            tracing::warn!(
                app = status.app,
                process = group,
                "an app of a killed server still ran; it is ended"
            );
            tell_group(group, Signal::Kill);
        }
        status.forget(install_dir);
    }
}

fn read(install_dir: &InstallDir) -> Vec<AppStatus> {
    let Ok(entries) = std::fs::read_dir(install_dir.statuses()) else {
        return Vec::new();
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let json = paths.filter(|path| path.extension().is_some_and(|kind| kind == "json"));
    json.filter_map(|path| serde_json::from_slice(&std::fs::read(path).ok()?).ok())
        .collect()
}

/// When a process was started: the 22nd field of its line in `/proc`, the 20th after the name in brackets.
fn started(process: u32) -> Option<u64> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = line.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}
