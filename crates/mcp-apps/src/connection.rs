//! A live connection to an app: a process and its pipes, or an address, and an MCP client on top.

use std::path::Path;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use mcp_client::{CallError, Connection, ConnectionHandler, HttpEndpoint, Initialized, Peer, PoolOptions};
use mcp_server::{Change, Server};
use refusal::{Code, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::install_dir::{AppLocation, AppRecord};
use crate::launch::{Launch, Values};
use crate::listing::{AppListing, ListError};
use crate::names;
use crate::options::AppOptions;
use crate::process::Process;

/// How long a process whose pipes broke may take to show that it ended.
const ENDED_WITHIN: std::time::Duration = std::time::Duration::from_millis(500);

/// Connection to a running app.
pub(crate) struct AppConnection {
    connection: Connection,
    initialized: Initialized,
    process: Option<Process>,
    notifications: Notifications,
}

/// Why there is no connection, for whoever may know: the second part is what the process said last.
pub(crate) struct ConnectError {
    pub(crate) refusal: Refusal,
    pub(crate) last_words: String,
}

impl AppConnection {
    /// Starts an app, shakes hands and asks what it has, within the time limit for a start.
    //= specs/mcp-apps.md#supervision
    //# An app that does not shake hands and list what it has within its time limit MUST be ended.
    pub(crate) async fn open(
        record: &AppRecord,
        files: Option<&Path>,
        options: &AppOptions,
        server: Option<Server>,
    ) -> Result<(Self, AppListing), ConnectError> {
        let notifications = Notifications::new(&record.name, server);
        let connected = connect(record, files, options, &notifications);
        let (connection, mut process) = connected.map_err(|refusal| ConnectError {
            refusal,
            last_words: String::new(),
        })?;
        let limit = options.limits.start_timeout();
        let handshake = async {
            let (name, version) = &options.host;
            let initialized = connection.peer().initialize(name, version).await;
            let initialized = initialized.map_err(|error| no_handshake(&record.name, &error))?;
            let listing = AppListing::ask(connection.peer(), &initialized, options.limits.max_listed).await;
            let listing = listing.map_err(|error| no_listing(&record.name, &error, options))?;
            Ok((initialized, listing))
        };
        let problem = match tokio::time::timeout(limit, handshake).await {
            Ok(Ok((initialized, listing))) => {
                let connection = Self {
                    connection,
                    initialized,
                    process,
                    notifications,
                };
                return Ok((connection, listing));
            }
            // What ended says why, if it ended.
            Ok(Err(refusal)) => match tokio::time::timeout(ENDED_WITHIN, ended(process.as_mut())).await {
                Ok(ending) => not_run(&record.name, &ending),
                Err(_) => refusal,
            },
            Err(_) => {
                let problem = format!(
                    "the app {:?} did not start within {} ms",
                    record.name,
                    limit.as_millis()
                );
                Refusal::new(Code::Timeout, problem)
                    .hint("See what the app says, or raise the time limit for starts.")
            }
        };
        let last_words = process.as_ref().map(Process::last_words).unwrap_or_default();
        if let Some(process) = process {
            process.kill().await;
        }
        Err(ConnectError {
            refusal: problem,
            last_words,
        })
    }

    pub(crate) fn peer(&self) -> &Peer {
        self.connection.peer()
    }

    /// Asks again what the app has.
    pub(crate) async fn list(&self, max: usize) -> Result<AppListing, ListError> {
        AppListing::ask(self.peer(), &self.initialized, max).await
    }

    /// The number of its process.
    pub(crate) fn process_id(&self) -> Option<u32> {
        self.process.as_ref().and_then(Process::id)
    }

    /// What its process said last.
    pub(crate) fn last_words(&self) -> String {
        self.process.as_ref().map(Process::last_words).unwrap_or_default()
    }

    pub(crate) fn notifications(&self) -> &Notifications {
        &self.notifications
    }

    /// Waits until the connection is over, and says why.
    pub(crate) async fn closed(&mut self) -> String {
        tokio::select! {
            ending = ended(self.process.as_mut()) => ending,
            () = self.connection.closed() => "it closed its output".to_owned(),
        }
    }

    /// Asks for a sign of life.
    pub(crate) async fn is_alive(&self, options: &AppOptions) -> bool {
        let ping = self.peer().call::<Value>("ping", json!({}));
        let answered = tokio::time::timeout(options.limits.ping_timeout(), ping).await;
        // Any answer is one, also a refusal.
        matches!(answered, Ok(Ok(_) | Err(CallError::Refused { .. })))
    }

    /// Says goodbye, and sees to it that nothing is left.
    pub(crate) async fn close(mut self, options: &AppOptions) {
        let grace = options.limits.stop_grace();
        let _ = tokio::time::timeout(grace, self.connection.close()).await;
        if let Some(process) = self.process {
            process.end(grace).await;
        }
    }

    /// Ends the app at once.
    pub(crate) async fn kill(self) {
        drop(self.connection);
        if let Some(process) = self.process {
            process.kill().await;
        }
    }
}

fn connect(
    record: &AppRecord,
    files: Option<&Path>,
    options: &AppOptions,
    notifications: &Notifications,
) -> Result<(Connection, Option<Process>), Refusal> {
    let name = &record.name;
    let max = options.limits.max_message_bytes;
    if let AppLocation::Url { url, headers } = &record.location {
        let header = |(name, value): (&String, &String)| {
            Some((
                HeaderName::try_from(name).ok()?,
                HeaderValue::try_from(value).ok()?,
            ))
        };
        let headers: HeaderMap = headers.iter().filter_map(header).collect();
        let address = url
            .parse()
            .map_err(|error| not_started(name, &std::io::Error::other(error)))?;
        let endpoint = HttpEndpoint::new(address, headers, max, PoolOptions::default())
            .map_err(|error| not_started(name, &error))?;
        return Ok((Connection::http(endpoint, notifications.clone()), None));
    }
    let values = Values {
        folder: files,
        passed_on: &options.environment,
        chosen: &record.environment,
        settings: &record.settings,
    };
    let launch = Launch::new(&record.manifest, &values).ok_or_else(|| {
        let allowed = "a command in the manifest, or an address";
        Refusal::field(
            Code::MissingRequiredField,
            "server",
            "the app says not how it is started",
            allowed,
        )
    })?;
    let (process, output, input) =
        Process::start(&launch, &options.limits).map_err(|error| not_started(name, &error))?;
    let connection = Connection::lines(output, input, max, notifications.clone());
    Ok((connection, Some(process)))
}

async fn ended(process: Option<&mut Process>) -> String {
    match process {
        Some(process) => process.ended().await,
        None => std::future::pending().await,
    }
}

fn not_started(app: &str, error: &std::io::Error) -> Refusal {
    let problem = format!("the app {app:?} cannot be started: {}", error.kind());
    Refusal::new(Code::DependencyUnavailable, problem)
        .hint("Check the command of its manifest, and that the program is installed on this machine.")
}

fn not_run(app: &str, ending: &str) -> Refusal {
    Refusal::new(
        Code::DependencyUnavailable,
        format!("the app {app:?} did not start: {ending}"),
    )
    .hint("See what the app says when it is started by hand.")
}

fn no_handshake(app: &str, error: &CallError) -> Refusal {
    let problem: String = format!("the app {app:?} does not speak MCP: {error}")
        .chars()
        .take(300)
        .collect();
    Refusal::new(Code::DependencyUnavailable, problem).hint("Check the command or the address of the app.")
}

fn no_listing(app: &str, error: &ListError, options: &AppOptions) -> Refusal {
    match error {
        ListError::Call(error) => {
            let problem: String = format!("the app {app:?} cannot list what it has: {error}")
                .chars()
                .take(300)
                .collect();
            Refusal::new(Code::DependencyUnavailable, problem)
        }
        ListError::TooMany(what) => Refusal::new(
            Code::QuotaExceeded,
            format!(
                "the app {app:?} has more than {} {what}",
                options.limits.max_listed
            ),
        ),
    }
}

/// Handler of what an app says without being asked. Clones are the same.
#[derive(Clone)]
pub(crate) struct Notifications(Arc<NotificationState>);

struct NotificationState {
    app: String,
    server: Option<Server>,
    lists_changed: Notify,
}

impl Notifications {
    fn new(app: &str, server: Option<Server>) -> Self {
        Self(Arc::new(NotificationState {
            app: app.to_owned(),
            server,
            lists_changed: Notify::new(),
        }))
    }

    /// Waits until the app says that a list of its own changed; several times are one.
    pub(crate) async fn lists_changed(&self) {
        self.0.lists_changed.notified().await;
    }

    fn resource_updated(&self, params: Option<&str>) {
        #[derive(Deserialize)]
        struct Updated {
            uri: String,
        }
        let updated = params.and_then(|params| serde_json::from_str::<Updated>(params).ok());
        let uri = updated.and_then(|updated| names::ours(&self.0.app, &updated.uri));
        if let (Some(server), Some(uri)) = (&self.0.server, uri) {
            server.resource_changed(&uri, Change::Updated);
        }
    }
}

impl ConnectionHandler for Notifications {
    fn handle_notification(&self, method: &str, params: Option<&str>) {
        match method {
            "notifications/tools/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/prompts/list_changed" => self.0.lists_changed.notify_one(),
            "notifications/resources/updated" => self.resource_updated(params),
            _ => {}
        }
    }
}
