//! Other MCP servers as apps of this one: installed, supervised, fused, and listed under their own names.
//!
//! An app is a manifest (the `manifest.json` of an MCPB bundle) and a program, or an address. Its tools, resources and
//! prompts become those of the server it is installed in: `<app>_<tool>`, `app://<app>/…`. Whoever calls them cannot tell
//! them from the server's own, except that they may fail.
//!
//! The decision that shaped this crate: **an app is expected to misbehave.** It crashes, hangs, floods, lies about what
//! it has, and leaves processes behind. So each app has one task that starts it, watches it and starts it
//! again; each call to it has a time limit and a fuse of its own; and the only thing two apps share is the folder they are
//! kept in. The lists a client sees come from what an app had when it was last seen, so they are complete
//! from the first moment, and a call to an app that is still starting waits for it.
//!
//! The second decision: **the programs are a folder.** An app comes and goes by one rename. A command in another process
//! changes the folder, and running servers notice; installing over MCP does the same. Who installed what is the server's to
//! record ([`HostPolicy`]), so that a node without the files knows what it lacks.
//!
//! What the crate refuses to know: requirements, users (the server answers for them, see [`HostPolicy`]), and the environment
//! of the process (it is told what to pass on, see [`AppOptions`]).

mod app;
mod bundle;
mod connection;
mod forward;
mod install;
mod install_dir;
mod launch;
mod listing;
mod manifest;
mod methods;
mod names;
mod options;
mod policy;
mod process;
mod status;
mod supervisor;
mod surface;

pub use install::{AppSource, InstallRequest, install, installed, remove, statuses};
pub use install_dir::{AppLocation, AppRecord};
pub use listing::{
    AppListing, ListedArgument, ListedHints, ListedPrompt, ListedResource, ListedTemplate, ListedTool,
};
pub use manifest::{
    CommandSection, DeclaredName, Family, Manifest, PlatformOverride, ServerKind, ServerSection, UserSetting,
};
pub use methods::ABSENT;
pub use options::{AppLimits, AppOptions, PASSED_ON};
pub use policy::{AppOperation, HostPolicy, RecordedApp};
pub use status::AppStatus;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcp_server::{Context, Server};
use notify::Watcher as _;
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use tokio::sync::{Mutex, Notify, oneshot};
use tokio::task::JoinHandle;

use crate::app::App;
use crate::install_dir::InstallDir;
use crate::supervisor::Supervisor;
use crate::surface::Surface;

/// Changes of the folder that come within this time are one.
const DEBOUNCE: Duration = Duration::from_millis(50);

/// The apps of a server, running. Clones are the same; call [`close`](Apps::close) before the end.
#[derive(Clone)]
pub struct Apps(Arc<Inner>);

struct Inner {
    server: Server,
    policy: Arc<dyn HostPolicy>,
    options: Arc<AppOptions>,
    install_dir: InstallDir,
    running: Mutex<BTreeMap<String, Running>>,
    /// Held so that the folder is watched.
    file_watcher: parking_lot::Mutex<Option<(notify::RecommendedWatcher, JoinHandle<()>)>>,
}

/// An app somebody looks after.
struct Running {
    id: String,
    app: Arc<App>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// An installed app as it stands in lists.
#[derive(Clone, Debug)]
pub struct ListedApp {
    /// Its name.
    pub name: String,
    /// What is known about it.
    pub record: AppRecord,
    /// `starting`, `running`, `backing-off`, `failed` or `stopped`.
    pub state: &'static str,
    /// What is wrong, if anything is.
    pub problem: Option<String>,
}

impl ListedApp {
    // Fulfils 002 Req-App-002
    /// As `apps/list` tells it.
    //= specs/mcp-apps.md#methods
    //# Nothing that was decided for an app at its installation MUST be told over MCP: no command, variable, setting, header or path.
    pub fn to_value(&self) -> Value {
        let manifest = &self.record.manifest;
        let mut value = json!({
            "name": self.name,
            "title": manifest.display_name.as_ref().unwrap_or(&self.record.listing.title),
            "version": manifest.version,
            "description": manifest.description,
            "capabilities": self.record.listing.capabilities(&self.name),
            "source": self.record.location.name(),
            "installed_at": self.record.installed_at,
            "state": self.state,
        });
        if let Some(problem) = &self.problem {
            value["problem"] = json!(problem);
        }
        value
    }
}

impl Apps {
    /// Starts every installed app, serves `apps/*`, and follows the folder from now on. Needs a running tokio.
    //= specs/mcp-apps.md#supervision
    //# Every installed app MUST be started with the server.
    pub async fn start(
        server: &Server,
        policy: impl HostPolicy,
        options: AppOptions,
    ) -> Result<Self, Refusal> {
        let install_dir = InstallDir::open(&options.folder)?;
        status::clean_up(&install_dir);
        let apps = Self(Arc::new(Inner {
            server: server.clone(),
            policy: Arc::new(policy),
            options: Arc::new(options),
            install_dir,
            running: Mutex::default(),
            file_watcher: parking_lot::Mutex::default(),
        }));
        for method in methods::all(&apps) {
            server.add_method(method);
        }
        apps.follow()?;
        apps.reconcile().await?;
        Ok(apps)
    }

    /// Every installed app, and the state it is in.
    pub fn list(&self) -> Result<Vec<ListedApp>, Refusal> {
        let records = self.0.install_dir.all()?;
        // Whoever changes the folder right now is told of in a moment.
        let running = self.0.running.try_lock().ok();
        let listed = |record: AppRecord| {
            let phase = running
                .as_ref()
                .and_then(|running| Some(running.get(&record.name)?.app.phase()));
            ListedApp {
                name: record.name.clone(),
                state: phase.as_ref().map_or("starting", app::Phase::name),
                problem: phase
                    .as_ref()
                    .and_then(|phase| phase.problem())
                    .map(str::to_owned),
                record,
            }
        };
        Ok(records.into_iter().map(listed).collect())
    }

    /// Installs an app and starts it.
    pub async fn install(&self, request: InstallRequest) -> Result<ListedApp, Refusal> {
        let record = install::install(&self.0.options, request).await?;
        self.reconcile().await?;
        let listed = self
            .list()?
            .into_iter()
            .find(|listed| listed.record.id == record.id);
        listed.ok_or_else(|| install_dir::missing(&record.name))
    }

    /// Removes an app, and ends it.
    /// Gives what was known of it, if that could still be read.
    pub async fn uninstall(&self, name: &str) -> Result<Option<AppRecord>, Refusal> {
        let record = self.0.install_dir.remove(name)?;
        self.reconcile().await?;
        Ok(record)
    }

    /// Ends all apps and waits until they are gone.
    //= specs/mcp-apps.md#supervision
    //# When the server ends, every app MUST end with it.
    pub async fn close(&self) {
        let file_watcher = self.0.file_watcher.lock().take();
        if let Some((_, task)) = file_watcher {
            task.abort();
        }
        let running = std::mem::take(&mut *self.0.running.lock().await);
        end(running.into_values()).await;
    }

    pub(crate) fn policy(&self) -> &dyn HostPolicy {
        &*self.0.policy
    }

    /// Refuses whoever may not change which apps there are.
    pub(crate) fn may_change(&self, cx: &Context) -> Result<(), Refusal> {
        self.policy().check(cx, AppOperation::Manage)?;
        if !self.0.options.install_over_mcp {
            return Err(Refusal::new(
                Code::AuthzForbidden,
                "apps cannot be installed or removed over MCP here",
            )
            .hint(self.0.options.no_install_hint.clone()));
        }
        Ok(())
    }

    /// Starts what is installed and not running, ends what runs and is not installed.
    async fn reconcile(&self) -> Result<(), Refusal> {
        let mut running = self.0.running.lock().await;
        let records = self.0.install_dir.all()?;
        let stays = |name: &String, one: &mut Running| {
            records
                .iter()
                .any(|record| &record.name == name && record.id == one.id)
        };
        let gone: Vec<Running> = running
            .extract_if(.., |name, one| !stays(name, one))
            .map(|(_, one)| one)
            .collect();
        end(gone).await;
        for record in records {
            if !running.contains_key(&record.name) {
                running.insert(record.name.clone(), self.look_after(record));
            }
        }
        Ok(())
    }

    /// One task for each app: nothing they share can be held by one of them.
    //= specs/mcp-apps.md#isolation
    //# The end of an app, however often, MUST NOT make a call to another app fail.
    //= specs/mcp-apps.md#isolation
    //# A call to an app MUST NOT wait for another app.
    fn look_after(&self, record: AppRecord) -> Running {
        let inner = &self.0;
        let app = App::new(&record.name, &inner.options.limits);
        let is_trusted = inner.options.trusted_readers.contains(&record.name);
        let surface = Surface::new(&inner.server, &inner.policy, &app, &inner.options, is_trusted);
        //= specs/mcp-apps.md#lists
        //# What an app had when it was last seen MUST be listed while it starts.
        if let Err(refusal) = surface.show(&record.listing) {
            tracing::warn!(
                app = record.name,
                problem = refusal.message,
                "what the app had cannot be listed"
            );
        }
        let id = record.id.clone();
        let supervisor = Supervisor {
            app: app.clone(),
            record,
            surface,
            install_dir: inner.install_dir.clone(),
            options: inner.options.clone(),
            server: inner.server.clone(),
        };
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(supervisor.run(stopped));
        Running { id, app, stop, task }
    }

    /// Follows what other processes do to the folder.
    //= specs/mcp-apps.md#installing
    //# A server MUST notice when another process installs or removes an app.
    fn follow(&self) -> Result<(), Refusal> {
        let bell = Arc::new(Notify::new());
        let rings = bell.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !event.kind.is_access()) {
                rings.notify_one();
            }
        });
        let watching = watcher.and_then(|mut watcher| {
            watcher.watch(self.0.install_dir.folder(), notify::RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
        let watcher = watching.map_err(|error| {
            tracing::error!(%error, "the folder for apps cannot be watched");
            Refusal::new(Code::ServiceUnavailable, "the folder for apps cannot be watched")
                .hint("Check the rights of the folder, and the machine's limit on watched files.")
        })?;
        let apps = Arc::downgrade(&self.0);
        let task = tokio::spawn(async move {
            loop {
                bell.notified().await;
                tokio::time::sleep(DEBOUNCE).await;
                let Some(inner) = apps.upgrade() else { return };
                if let Err(refusal) = Apps(inner).reconcile().await {
                    tracing::error!(
                        problem = refusal.message,
                        "a change of the apps could not be followed"
                    );
                }
            }
        });
        *self.0.file_watcher.lock() = Some((watcher, task));
        Ok(())
    }
}

/// Ends apps, all at once, and waits for it.
async fn end(apps: impl IntoIterator<Item = Running>) {
    let stopping: Vec<JoinHandle<()>> = apps
        .into_iter()
        .map(|one| {
            // A task that is over hears nothing.
            let _ = one.stop.send(());
            one.task
        })
        .collect();
    for task in stopping {
        let _ = task.await;
    }
}
