//! What can be configured, and what holds when nobody says anything.

use mcp_apps::AppLimits;
use spexus_http::{HttpOptions, McpOptions};
use spexus_service::ServiceOptions;

/// Everything that can be configured.
#[derive(Clone)]
pub(crate) struct Settings {
    /// The database, as it was written.
    pub(crate) database: String,
    /// The address to serve on.
    pub(crate) listen: String,
    /// The files to serve HTTPS with.
    pub(crate) tls: TlsFiles,
    /// Whether other machines may be served in clear.
    pub(crate) insecure_plain: bool,
    /// How the HTTP surface works.
    pub(crate) http: HttpOptions,
    /// How the MCP server works, over HTTP and over stdio.
    pub(crate) mcp: McpOptions,
    /// How the service and the store work.
    pub(crate) service: ServiceOptions,
    /// How apps work.
    pub(crate) apps: AppSettings,
    /// How checkpoints are made.
    pub(crate) audit: AuditSettings,
    /// Which log lines are written.
    pub(crate) log_level: String,
    /// How they are written.
    pub(crate) log_format: LogFormat,
    /// Where spans are sent; nowhere when empty.
    pub(crate) otlp_endpoint: String,
}

/// Where the certificate and its key are; both empty to serve in clear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The file with the certificate.
    pub(crate) cert: String,
    /// The file with its key.
    pub(crate) key: String,
}

/// What can be configured of checkpoints.
#[derive(Clone, Debug)]
pub(crate) struct AuditSettings {
    /// The file with the key they are signed with; none are made when empty.
    pub(crate) key_file: String,
    /// The command of a key store that signs them instead, and its arguments.
    pub(crate) key_command: Vec<String>,
    /// The file they are added to.
    pub(crate) checkpoint_file: String,
    /// The command they are given to, and its arguments.
    pub(crate) checkpoint_command: Vec<String>,
    /// How long such a command may take.
    pub(crate) max_command_ms: u64,
    /// How often one is made.
    pub(crate) checkpoint_minutes: u32,
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self {
            key_file: String::new(),
            key_command: vec![],
            checkpoint_file: String::new(),
            checkpoint_command: vec![],
            max_command_ms: 10_000,
            checkpoint_minutes: 60,
        }
    }
}

/// What can be configured of apps.
#[derive(Clone, Debug, Default)]
pub(crate) struct AppSettings {
    /// Where they are kept; the platform's own place when empty.
    pub(crate) folder: String,
    /// Whether administrators may install them over MCP.
    pub(crate) install_over_mcp: bool,
    /// Apps, separated by commas, that are believed when they say that a tool only reads.
    pub(crate) trusted_readers: String,
    /// Where their limits are.
    pub(crate) limits: AppLimits,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// As text on a terminal, else as JSON.
    Auto,
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// One setting.
pub(crate) struct Setting {
    /// Its name in the file; a dot stands for a table.
    pub(crate) name: &'static str,
    /// What it is for.
    pub(crate) doc: &'static str,
    /// What is allowed.
    pub(crate) allowed: &'static str,
    /// Whether its value is never shown, and never taken from a flag, where other users of the machine could see it.
    pub(crate) secret: bool,
    /// Reads a value; `false` when it is not allowed.
    pub(crate) put: fn(&mut Settings, &str) -> bool,
    /// Writes the value as it would be read.
    pub(crate) get: fn(&Settings) -> String,
}

impl Setting {
    /// The variable that sets it.
    pub(crate) fn variable(&self) -> String {
        format!("SPEXUS_{}", self.name.replace('.', "_").to_uppercase())
    }

    /// The flag that sets it, without dashes.
    pub(crate) fn flag(&self) -> String {
        self.name.replace(['.', '_'], "-")
    }
}

impl Settings {
    /// What holds when nobody says anything.
    pub(crate) fn new(default_database: String) -> Self {
        Self {
            database: default_database,
            listen: "127.0.0.1:8080".into(),
            tls: TlsFiles::default(),
            insecure_plain: false,
            http: HttpOptions::default(),
            mcp: McpOptions::default(),
            service: ServiceOptions::default(),
            apps: AppSettings::default(),
            audit: AuditSettings::default(),
            log_level: "info".into(),
            log_format: LogFormat::Auto,
            otlp_endpoint: String::new(),
        }
    }
}
