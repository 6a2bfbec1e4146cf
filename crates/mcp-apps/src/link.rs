//! A live connection to an app: a process and its pipes, or an address, and the SDK's client on top.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use mcp_server::{Change, Server};
use refusal::{Code, Refusal};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, Implementation, PingRequest, ProgressNotificationParam,
    ProgressToken, ResourceUpdatedNotificationParam,
};
use rmcp::service::{
    NotificationContext, Peer, RoleClient, RunningService, RunningServiceCancellationToken, ServiceError,
    ServiceExt as _,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, service::ClientInitializeError};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use crate::catalogue::{Catalogue, Unlisted};
use crate::launch::{Launch, Values};
use crate::names;
use crate::options::AppOptions;
use crate::process::Process;
use crate::shelf::{Place, Record};
use crate::web::Web;

/// How long a process whose pipes broke may take to show that it ended.
const ENDED_WITHIN: std::time::Duration = std::time::Duration::from_millis(500);
/// Progress that waits to be passed on; more is dropped, for the next one says more.
const MAX_WAITING_PROGRESS: usize = 16;

/// See the module.
pub(crate) struct Link {
    peer: Peer<RoleClient>,
    /// Ends the SDK's loop.
    goodbye: RunningServiceCancellationToken,
    /// Done when that loop is.
    ended: Listening,
    process: Option<Process>,
    ear: Ear,
}

/// Why there is no connection, for whoever may know: the second part is what the process said last.
pub(crate) struct NotLinked {
    pub(crate) refusal: Refusal,
    pub(crate) last_words: String,
}

impl Link {
    /// Starts an app, shakes hands and asks what it has, within the time limit for a start.
    //= specs/mcp-apps.md#supervision
    //# An app that does not shake hands and list what it has within its time limit MUST be ended.
    pub(crate) async fn open(
        record: &Record,
        files: Option<&std::path::Path>,
        options: &AppOptions,
        server: Option<Server>,
    ) -> Result<(Self, Catalogue), NotLinked> {
        let ear = Ear::new(&record.name, options, server);
        let (transport, mut process) = match dial(record, files, options) {
            Ok(dialed) => dialed,
            Err(refusal) => {
                return Err(NotLinked {
                    refusal,
                    last_words: String::new(),
                });
            }
        };
        let limit = options.limits.start_timeout();
        let handshake = async {
            let service = match transport {
                Dialed::Pipes(pipes) => ear.clone().serve(pipes).await,
                Dialed::Web(web) => ear.clone().serve(web).await,
            };
            let service = service.map_err(|error| unlinked(&record.name, &error))?;
            let catalogue = Catalogue::ask(service.peer(), options.limits.max_listed).await;
            let catalogue = catalogue.map_err(|error| unlisted(&record.name, &error, options))?;
            Ok((service, catalogue))
        };
        let problem = match tokio::time::timeout(limit, handshake).await {
            Ok(Ok((service, catalogue))) => return Ok((Self::new(service, process, ear), catalogue)),
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
        Err(NotLinked {
            refusal: problem,
            last_words,
        })
    }

    fn new(service: RunningService<RoleClient, Ear>, process: Option<Process>, ear: Ear) -> Self {
        Self {
            peer: service.peer().clone(),
            goodbye: service.cancellation_token(),
            ended: Listening(tokio::spawn(service.waiting().map(drop))),
            process,
            ear,
        }
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    /// The number of its process.
    pub(crate) fn process_id(&self) -> Option<u32> {
        self.process.as_ref().and_then(Process::id)
    }

    /// What its process said last.
    pub(crate) fn last_words(&self) -> String {
        self.process.as_ref().map(Process::last_words).unwrap_or_default()
    }

    pub(crate) fn ear(&self) -> &Ear {
        &self.ear
    }

    /// Waits until the connection is over, and says why.
    pub(crate) async fn over(&mut self) -> String {
        tokio::select! {
            ending = ended(self.process.as_mut()) => ending,
            _ = &mut self.ended.0 => "it closed its output".to_owned(),
        }
    }

    /// Asks for a sign of life.
    pub(crate) async fn lives(&self, options: &AppOptions) -> bool {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answered =
            tokio::time::timeout(options.limits.ping_timeout(), self.peer().send_request(ping)).await;
        // Any answer is one, also a refusal.
        matches!(answered, Ok(Ok(_) | Err(ServiceError::McpError(_))))
    }

    /// Says goodbye, and sees to it that nothing is left.
    pub(crate) async fn close(mut self, options: &AppOptions) {
        let grace = options.limits.stop_grace();
        // Closes the app's input.
        self.goodbye.cancel();
        let _ = tokio::time::timeout(grace, &mut self.ended.0).await;
        if let Some(process) = self.process {
            process.end(grace).await;
        }
    }

    /// Ends the app at once.
    pub(crate) async fn kill(self) {
        self.goodbye.cancel();
        if let Some(process) = self.process {
            process.kill().await;
        }
    }
}

/// The task the SDK's loop is waited for in; dropped, both end.
struct Listening(JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

enum Dialed {
    Pipes(AsyncRwTransport<RoleClient, tokio::process::ChildStdout, tokio::process::ChildStdin>),
    Web(StreamableHttpClientTransport<Web>),
}

fn dial(
    record: &Record,
    files: Option<&std::path::Path>,
    options: &AppOptions,
) -> Result<(Dialed, Option<Process>), Refusal> {
    let name = &record.name;
    let max = options.limits.max_message_bytes;
    if let Place::Url { url, headers } = &record.place {
        let web = Web::new(max).map_err(|error| not_started(name, &error))?;
        let custom = headers
            .iter()
            .filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)));
        let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
            .custom_headers(custom.collect())
            .max_sse_event_size(max);
        return Ok((
            Dialed::Web(StreamableHttpClientTransport::with_client(web, config)),
            None,
        ));
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
    let pipes = AsyncRwTransport::new(output, input).with_max_line_length(max);
    Ok((Dialed::Pipes(pipes), Some(process)))
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

fn unlinked(app: &str, error: &ClientInitializeError) -> Refusal {
    let why = match error {
        ClientInitializeError::TransportError { error, .. } => error.error.to_string(),
        other => other.to_string(),
    };
    let problem: String = format!("the app {app:?} does not speak MCP: {why}")
        .chars()
        .take(300)
        .collect();
    Refusal::new(Code::DependencyUnavailable, problem).hint("Check the command or the address of the app.")
}

fn unlisted(app: &str, error: &Unlisted, options: &AppOptions) -> Refusal {
    match error {
        Unlisted::Broken(error) => {
            let problem: String = format!("the app {app:?} cannot list what it has: {error}")
                .chars()
                .take(300)
                .collect();
            Refusal::new(Code::DependencyUnavailable, problem)
        }
        Unlisted::TooMany(what) => Refusal::new(
            Code::QuotaExceeded,
            format!(
                "the app {app:?} has more than {} {what}",
                options.limits.max_listed
            ),
        ),
    }
}

/// Hears what an app says without being asked.
#[derive(Clone)]
pub(crate) struct Ear(Arc<Heard>);

struct Heard {
    app: String,
    host: (String, String),
    server: Option<Server>,
    lists_changed: Notify,
    progress: Mutex<HashMap<ProgressToken, mpsc::Sender<ProgressNotificationParam>>>,
}

impl Ear {
    fn new(app: &str, options: &AppOptions, server: Option<Server>) -> Self {
        Self(Arc::new(Heard {
            app: app.to_owned(),
            host: options.host.clone(),
            server,
            lists_changed: Notify::new(),
            progress: Mutex::default(),
        }))
    }

    /// Waits until the app says that a list of its own changed; several times are one.
    pub(crate) async fn lists_changed(&self) {
        self.0.lists_changed.notified().await;
    }

    /// The progress of one request, until the value is dropped.
    pub(crate) fn follow(&self, token: ProgressToken) -> Progress {
        let (sender, receiver) = mpsc::channel(MAX_WAITING_PROGRESS);
        self.progress().insert(token.clone(), sender);
        Progress {
            ear: self.clone(),
            token,
            receiver,
        }
    }

    fn progress(&self) -> MutexGuard<'_, HashMap<ProgressToken, mpsc::Sender<ProgressNotificationParam>>> {
        self.0.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The progress of one request.
pub(crate) struct Progress {
    ear: Ear,
    token: ProgressToken,
    receiver: mpsc::Receiver<ProgressNotificationParam>,
}

impl Progress {
    pub(crate) async fn next(&mut self) -> ProgressNotificationParam {
        match self.receiver.recv().await {
            Some(progress) => progress,
            // The sender stands in the ear as long as this value lives.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.ear.progress().remove(&self.token);
    }
}

impl ClientHandler for Ear {
    fn get_info(&self) -> ClientConfig {
        let (name, version) = &self.0.host;
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new(name.clone(), version.clone()),
        )
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        if let Some(sender) = self.progress().get(&params.progress_token) {
            let _ = sender.try_send(params);
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.lists_changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.lists_changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.lists_changed.notify_one();
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        if let (Some(server), Some(uri)) = (&self.0.server, names::ours(&self.0.app, &params.uri)) {
            server.resource_changed(&uri, Change::Updated);
        }
    }
}
