//! One task for each app: it starts the app, watches over it, and starts it again when it ended.

use std::sync::Arc;
use std::time::Duration;

use refusal::Refusal;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::app::{App, Phase};
use crate::connection::{AppConnection, ConnectError};
use crate::install_dir::{AppRecord, InstallDir};
use crate::listing::AppListing;
use crate::options::AppOptions;
use crate::status::AppStatus;
use crate::surface::Surface;

/// Lists that change all the time are read this often at most.
const BETWEEN_LISTS: Duration = Duration::from_millis(250);

// Fulfils 002 Req-App-005
/// Everything the task needs.
pub(crate) struct Supervisor {
    pub(crate) app: Arc<App>,
    pub(crate) record: AppRecord,
    pub(crate) surface: Surface,
    pub(crate) install_dir: InstallDir,
    pub(crate) options: Arc<AppOptions>,
    pub(crate) server: mcp_server::Server,
}

/// How a life of an app ended.
enum Ending {
    /// It broke: it may do better next time.
    Broke { problem: String, last_words: String },
    /// The next time would end like this one.
    Hopeless(Refusal),
    /// It was told to.
    Told,
}

/// What happened to a running app.
enum Step {
    /// It ended, or its pipes did.
    Over(String),
    /// Somebody waited too long for an answer.
    Doubted,
    /// It says that it has something else now.
    ListsChanged,
}

impl Supervisor {
    /// Runs until `stop` is told or dropped.
    pub(crate) async fn run(mut self, mut stop: oneshot::Receiver<()>) {
        let mut status = AppStatus::new(&self.app.name);
        let mut failures = 0;
        loop {
            self.enter(&mut status, Phase::Starting);
            let began = Instant::now();
            match self.live(&mut status, &mut stop).await {
                Ending::Told => break,
                Ending::Hopeless(refusal) => {
                    tracing::error!(
                        app = self.app.name,
                        problem = refusal.message,
                        "the app cannot run"
                    );
                    let problem = refusal.message;
                    self.surface.clear();
                    self.enter(&mut status, Phase::Failed { problem });
                    let _ = stop.await;
                    break;
                }
                Ending::Broke { problem, last_words } => {
                    if began.elapsed() >= Duration::from_millis(self.options.limits.steady_after_ms) {
                        failures = 0;
                    }
                    //= specs/mcp-apps.md#supervision
                    //# An app that ended MUST be started again after a pause that grows with each failure, up to a limit.
                    let pause = self.options.limits.restart_backoff().delay(failures);
                    failures += 1;
                    status.restarts += 1;
                    status.last_words = last_words;
                    metrics::counter!(self.options.restarts_metric.clone(), "app" => self.app.name.clone())
                        .increment(1);
                    tracing::warn!(
                        app = self.app.name,
                        problem,
                        last_words = status.last_words,
                        pause_ms = pause.as_millis(),
                        "the app ended and will be started again"
                    );
                    self.enter(&mut status, Phase::BackingOff { pause, problem });
                    tokio::select! {
                        () = rest(&self.app, pause) => {}
                        _ = &mut stop => break,
                    }
                }
            }
        }
        self.surface.clear();
        self.app.enter(Phase::Stopped);
        status.forget(&self.install_dir);
    }

    /// One life of the app.
    async fn live(&mut self, status: &mut AppStatus, stop: &mut oneshot::Receiver<()>) -> Ending {
        let files = self.install_dir.files_of(&self.record);
        let opening = AppConnection::open(
            &self.record,
            files.as_deref(),
            &self.options,
            Some(self.server.clone()),
        );
        let opened = tokio::select! {
            opened = opening => opened,
            _ = &mut *stop => return Ending::Told,
        };
        let (mut connection, listing) = match opened {
            Ok(opened) => opened,
            Err(ConnectError { refusal, last_words }) => {
                return Ending::Broke {
                    problem: refusal.message,
                    last_words,
                };
            }
        };
        if let Err(refusal) = self.take(listing) {
            connection.kill().await;
            return Ending::Hopeless(refusal);
        }
        status.process = connection.process_id();
        self.enter(status, Phase::Running(connection.peer().clone()));
        let ending = self.supervise(&mut connection, stop).await;
        status.process = None;
        match &ending {
            // Nobody calls it any more before its end is begun.
            Ending::Told => {
                self.app.enter(Phase::Stopped);
                connection.close(&self.options).await;
            }
            _ => connection.kill().await,
        }
        ending
    }

    /// Watches over a running app until it ends, hangs or is told to end.
    async fn supervise(
        &mut self,
        connection: &mut AppConnection,
        stop: &mut oneshot::Receiver<()>,
    ) -> Ending {
        loop {
            let notifications = connection.notifications().clone();
            let step = tokio::select! {
                problem = connection.closed() => Step::Over(problem),
                () = self.app.doubted() => Step::Doubted,
                () = notifications.lists_changed() => Step::ListsChanged,
                _ = &mut *stop => return Ending::Told,
            };
            let ending = tokio::select! {
                ending = self.follow(connection, step) => ending,
                _ = &mut *stop => return Ending::Told,
            };
            if let Some(ending) = ending {
                return ending;
            }
        }
    }

    /// Does what follows from what happened; the app's end, if it comes to that.
    async fn follow(&mut self, connection: &AppConnection, step: Step) -> Option<Ending> {
        let problem = match step {
            Step::Over(problem) => problem,
            //= specs/mcp-apps.md#supervision
            //# An app that was late and then gives no sign of life MUST be ended and started again.
            Step::Doubted if connection.is_alive(&self.options).await => return None,
            Step::Doubted => "it does not answer any more".to_owned(),
            Step::ListsChanged => match self.relist(connection).await {
                Some(Ok(())) => return None,
                Some(Err(refusal)) => return Some(Ending::Hopeless(refusal)),
                None => "it cannot list what it has any more".to_owned(),
            },
        };
        let last_words = connection.last_words();
        Some(Ending::Broke { problem, last_words })
    }

    /// Reads the lists again; nothing when the app cannot give them.
    async fn relist(&mut self, connection: &AppConnection) -> Option<Result<(), Refusal>> {
        let limits = &self.options.limits;
        let asking = connection.list(limits.max_listed);
        let listing = tokio::time::timeout(limits.start_timeout(), asking)
            .await
            .ok()?
            .ok()?;
        let taken = self.take(listing);
        tokio::time::sleep(BETWEEN_LISTS).await;
        Some(taken)
    }

    /// Takes over what an app has, and remembers it for the next start.
    fn take(&mut self, listing: AppListing) -> Result<(), Refusal> {
        listing.check_names(&self.app.name, &self.options.reserved)?;
        self.surface.show(&listing)?;
        if self.record.listing != listing {
            self.record.listing = listing;
            self.install_dir.note(&self.record);
        }
        Ok(())
    }

    fn enter(&self, status: &mut AppStatus, phase: Phase) {
        status.state = phase.name().to_owned();
        status.problem = phase.problem().map(str::to_owned);
        if !matches!(phase, Phase::Running(_)) {
            status.process = None;
        }
        self.app.enter(phase);
        status.keep(&self.install_dir);
    }
}

/// Waits before an app is started again: for the whole pause while nobody calls it, and not longer than the limit for
/// that once somebody does.
//= specs/mcp-apps.md#supervision
//# An app that is called while it waits to be started again MUST be started after at most four seconds of waiting, however often it failed.
async fn rest(app: &App, pause: Duration) {
    let asked = Duration::from_millis(app.limits.longest_asked_pause_ms);
    let began = Instant::now();
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = async {
            app.asked_for().await;
            tokio::time::sleep_until(began + asked).await;
        } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::AppLimits;

    // proves 002 Resil-002
    //= specs/mcp-apps.md#supervision
    //= type=test
    //# An app that is called while it waits to be started again MUST be started after at most four seconds of waiting, however often it failed.
    #[tokio::test(start_paused = true)]
    async fn an_app_somebody_waits_for_is_started_again_within_four_seconds() {
        let limits = AppLimits::default();
        let app = App::new("x", &limits);
        let longest = limits.restart_backoff().delay(100);
        assert!(longest >= Duration::from_secs(30), "nobody asks: {longest:?}");
        for (called_after, rested) in [
            (None, longest),
            (Some(0), 4_000.ms()),
            (Some(1_000), 4_000.ms()),
            (Some(20_000), 20_000.ms()),
        ] {
            let (began, app) = (Instant::now(), app.clone());
            let calling = app.clone();
            let call = async move {
                match called_after {
                    Some(after) => tokio::time::sleep(Duration::from_millis(after)).await,
                    None => std::future::pending().await,
                }
                calling.enter(Phase::BackingOff {
                    pause: longest,
                    problem: "gone".into(),
                });
                calling.note_asked();
                std::future::pending::<()>().await;
            };
            tokio::select! { () = rest(&app, longest) => {}, () = call => {} }
            assert_eq!(began.elapsed(), rested, "called after {called_after:?}");
        }
    }

    trait Milliseconds {
        fn ms(self) -> Duration;
    }

    impl Milliseconds for u64 {
        fn ms(self) -> Duration {
            Duration::from_millis(self)
        }
    }

    //= specs/mcp-apps.md#supervision
    //= type=test
    //# An app that ended MUST be started again after a pause that grows with each failure, up to a limit.
    #[test]
    fn pauses_grow_up_to_a_limit() {
        let limits = AppLimits::default();
        for (failures, full) in [(0, 250), (1, 500), (3, 2_000), (8, 60_000), (4_000_000, 60_000)] {
            let pause = u64::try_from(limits.restart_backoff().delay(failures).as_millis()).unwrap();
            assert!((full / 2..=full).contains(&pause), "{failures}: {pause}");
        }
    }
}
