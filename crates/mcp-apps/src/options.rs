//! What can be decided about apps, and where their limits are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use mcp_client::Backoff;
use mcp_server::BreakerSettings;

/// Everything that is decided before apps are started.
#[derive(Clone, Debug)]
pub struct AppOptions {
    /// Where installed apps are kept.
    pub folder: PathBuf,
    /// The variables every app gets, beside those its manifest and its installation name. Nothing else of the server's
    /// own environment reaches an app.
    pub environment: BTreeMap<String, String>,
    /// Whether `apps/install` and `apps/uninstall` are served: whoever installs an app chooses a program to run here.
    pub install_over_mcp: bool,
    /// Names of tools and prompts that belong to the server itself.
    pub reserved: BTreeSet<String>,
    /// The server's name and version, as apps are told. Metrics, `_meta` keys and hints begin with the name.
    pub host: (String, String),
    /// Apps whose word is taken for it that a tool only reads; the tools of all others count as writing.
    pub trusted_readers: BTreeSet<String>,
    /// The counter of restarts among the server's metrics.
    pub restarts_metric: String,
    /// The key under which a tool's `_meta` names its app.
    pub meta_key: String,
    /// What to do instead, for whoever may not install apps over MCP.
    pub no_install_hint: String,
    /// Where the limits are.
    pub limits: AppLimits,
}

/// The variables of a server's environment that its apps may see, when the server passes them on.
pub const PASSED_ON: [&str; 8] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ", "USER", "SHELL"];

impl AppOptions {
    /// The usual limits, with apps kept in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            environment: BTreeMap::new(),
            install_over_mcp: false,
            reserved: BTreeSet::new(),
            host: ("mcp-apps".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            trusted_readers: BTreeSet::new(),
            restarts_metric: "mcp_app_restarts_total".to_owned(),
            meta_key: "mcp-apps/app".to_owned(),
            no_install_hint: "Let an administrator set apps.install_over_mcp.".to_owned(),
            limits: AppLimits::default(),
        }
    }
}

/// Every limit, with its unit in its name.
#[derive(Clone, Debug)]
pub struct AppLimits {
    /// Apps installed at once.
    pub max_apps: usize,
    /// The largest bundle.
    pub max_bundle_bytes: u64,
    /// The largest sum of what a bundle holds.
    pub max_unpacked_bytes: u64,
    /// Files in a bundle.
    pub max_bundle_entries: usize,
    /// How many times larger than its packed form a file of a bundle may be.
    pub max_compression_ratio: u64,
    /// Tools, resources, templates and prompts of one app, each.
    pub max_listed: usize,
    /// The largest message of an app.
    pub max_message_bytes: usize,
    /// How long an app may take to start, shake hands and list what it has.
    pub start_timeout_ms: u64,
    /// How long an app may take to answer a call.
    pub call_timeout_ms: u64,
    /// How long an app that was late may take to give a sign of life.
    pub ping_timeout_ms: u64,
    /// How long an app may take to end by itself.
    pub stop_grace_ms: u64,
    /// The pause before an app is started again; each further one is twice as long.
    pub first_pause_ms: u64,
    /// The longest such pause.
    pub longest_pause_ms: u64,
    /// The longest such pause once somebody called the app in it.
    pub longest_asked_pause_ms: u64,
    /// How long an app must run before its past failures are forgotten.
    pub steady_after_ms: u64,
    /// Memory an app may use for its data; 0 means no limit. Each of its processes counts for itself.
    pub max_memory_bytes: u64,
    /// Processor time one process of an app may use in its life; 0 means no limit.
    pub max_cpu_seconds: u64,
    /// When calls to an app are refused for a while.
    pub breaker: BreakerSettings,
}

impl Default for AppLimits {
    fn default() -> Self {
        Self {
            max_apps: 50,
            max_bundle_bytes: 100 << 20,
            max_unpacked_bytes: 512 << 20,
            max_bundle_entries: 20_000,
            max_compression_ratio: 200,
            max_listed: 10_000,
            max_message_bytes: 16 << 20,
            start_timeout_ms: 20_000,
            call_timeout_ms: 20_000,
            ping_timeout_ms: 5_000,
            stop_grace_ms: 2_000,
            first_pause_ms: 250,
            longest_pause_ms: 60_000,
            longest_asked_pause_ms: 4_000,
            steady_after_ms: 10_000,
            max_memory_bytes: 2 << 30,
            max_cpu_seconds: 0,
            breaker: BreakerSettings::default(),
        }
    }
}

impl AppLimits {
    /// The backoff between two starts of an app that ends.
    pub(crate) fn restart_backoff(&self) -> Backoff {
        Backoff {
            first_ms: self.first_pause_ms,
            max_ms: self.longest_pause_ms,
        }
    }

    pub(crate) fn start_timeout(&self) -> Duration {
        Duration::from_millis(self.start_timeout_ms)
    }

    pub(crate) fn call_timeout(&self) -> Duration {
        Duration::from_millis(self.call_timeout_ms)
    }

    pub(crate) fn ping_timeout(&self) -> Duration {
        Duration::from_millis(self.ping_timeout_ms)
    }

    pub(crate) fn stop_grace(&self) -> Duration {
        Duration::from_millis(self.stop_grace_ms)
    }
}
