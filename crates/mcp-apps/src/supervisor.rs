//! One task for each app: it starts the app, watches over it, and starts it again when it ended.

use std::sync::Arc;
use std::time::Duration;

use refusal::Refusal;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::app::{App, Line, Phase};
use crate::catalogue::Catalogue;
use crate::link::{Link, NotLinked};
use crate::notice::Notice;
use crate::options::{AppLimits, AppOptions};
use crate::shelf::{Record, Shelf};
use crate::surface::Surface;

/// Lists that change all the time are read this often at most.
const BETWEEN_LISTS: Duration = Duration::from_millis(250);

// Fulfils 002 Req-App-005
/// Everything the task needs.
pub(crate) struct Supervisor {
    pub(crate) app: Arc<App>,
    pub(crate) record: Record,
    pub(crate) surface: Surface,
    pub(crate) shelf: Shelf,
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
        let mut notice = Notice::new(&self.app.name);
        let mut failures = 0;
        loop {
            self.enter(&mut notice, Phase::Starting);
            let began = Instant::now();
            match self.live(&mut notice, &mut stop).await {
                Ending::Told => break,
                Ending::Hopeless(refusal) => {
                    tracing::error!(
                        app = self.app.name,
                        problem = refusal.message,
                        "the app cannot run"
                    );
                    let problem = refusal.message;
                    self.surface.clear();
                    self.enter(&mut notice, Phase::Failed { problem });
                    let _ = stop.await;
                    break;
                }
                Ending::Broke { problem, last_words } => {
                    if began.elapsed() >= Duration::from_millis(self.options.limits.steady_after_ms) {
                        failures = 0;
                    }
                    let pause = pause(failures, &self.options.limits);
                    failures += 1;
                    notice.restarts += 1;
                    notice.last_words = last_words;
                    metrics::counter!("spexus_app_restarts_total", "app" => self.app.name.clone())
                        .increment(1);
                    tracing::warn!(
                        app = self.app.name,
                        problem,
                        last_words = notice.last_words,
                        pause_ms = pause.as_millis(),
                        "the app ended and will be started again"
                    );
                    self.enter(&mut notice, Phase::BackingOff { pause, problem });
                    tokio::select! {
                        () = rest(&self.app, pause) => {}
                        _ = &mut stop => break,
                    }
                }
            }
        }
        self.surface.clear();
        self.app.enter(Phase::Stopped);
        notice.forget(&self.shelf);
    }

    /// One life of the app.
    async fn live(&mut self, notice: &mut Notice, stop: &mut oneshot::Receiver<()>) -> Ending {
        let files = self.shelf.files_of(&self.record);
        let opening = Link::open(
            &self.record,
            files.as_deref(),
            &self.options,
            Some(self.server.clone()),
        );
        let opened = tokio::select! {
            opened = opening => opened,
            _ = &mut *stop => return Ending::Told,
        };
        let (mut link, catalogue) = match opened {
            Ok(opened) => opened,
            Err(NotLinked { refusal, last_words }) => {
                return Ending::Broke {
                    problem: refusal.message,
                    last_words,
                };
            }
        };
        if let Err(refusal) = self.take(catalogue) {
            link.kill().await;
            return Ending::Hopeless(refusal);
        }
        notice.process = link.process_id();
        self.enter(notice, Phase::Running(Line::of(&link)));
        let ending = self.watch(&mut link, stop).await;
        notice.process = None;
        match &ending {
            // Nobody calls it any more before its end is begun.
            Ending::Told => {
                self.app.enter(Phase::Stopped);
                link.close(&self.options).await;
            }
            _ => link.kill().await,
        }
        ending
    }

    /// Watches over a running app until it ends, hangs or is told to end.
    async fn watch(&mut self, link: &mut Link, stop: &mut oneshot::Receiver<()>) -> Ending {
        loop {
            let ear = link.ear().clone();
            let step = tokio::select! {
                problem = link.over() => Step::Over(problem),
                () = self.app.doubted() => Step::Doubted,
                () = ear.lists_changed() => Step::ListsChanged,
                _ = &mut *stop => return Ending::Told,
            };
            let ending = tokio::select! {
                ending = self.follow(link, step) => ending,
                _ = &mut *stop => return Ending::Told,
            };
            if let Some(ending) = ending {
                return ending;
            }
        }
    }

    /// Does what follows from what happened; the app's end, if it comes to that.
    async fn follow(&mut self, link: &Link, step: Step) -> Option<Ending> {
        let problem = match step {
            Step::Over(problem) => problem,
            //= specs/mcp-apps.md#supervision
            //# An app that was late and then gives no sign of life MUST be ended and started again.
            Step::Doubted if link.lives(&self.options).await => return None,
            Step::Doubted => "it does not answer any more".to_owned(),
            Step::ListsChanged => match self.relist(link).await {
                Some(Ok(())) => return None,
                Some(Err(refusal)) => return Some(Ending::Hopeless(refusal)),
                None => "it cannot list what it has any more".to_owned(),
            },
        };
        let last_words = link.last_words();
        Some(Ending::Broke { problem, last_words })
    }

    /// Reads the lists again; nothing when the app cannot give them.
    async fn relist(&mut self, link: &Link) -> Option<Result<(), Refusal>> {
        let limits = &self.options.limits;
        let asking = Catalogue::ask(link.peer(), limits.max_listed);
        let catalogue = tokio::time::timeout(limits.start_timeout(), asking)
            .await
            .ok()?
            .ok()?;
        let taken = self.take(catalogue);
        tokio::time::sleep(BETWEEN_LISTS).await;
        Some(taken)
    }

    /// Takes over what an app has, and remembers it for the next start.
    fn take(&mut self, catalogue: Catalogue) -> Result<(), Refusal> {
        catalogue.check_names(&self.app.name, &self.options.reserved)?;
        self.surface.show(&catalogue)?;
        if self.record.catalogue != catalogue {
            self.record.catalogue = catalogue;
            self.shelf.note(&self.record);
        }
        Ok(())
    }

    fn enter(&self, notice: &mut Notice, phase: Phase) {
        notice.state = phase.name().to_owned();
        notice.problem = phase.problem().map(str::to_owned);
        if !matches!(phase, Phase::Running(_)) {
            notice.process = None;
        }
        self.app.enter(phase);
        notice.keep(&self.shelf);
    }
}

/// Twice as long each time, and never quite the same: apps that fell together do not rise together.
//= specs/mcp-apps.md#supervision
//# An app that ended MUST be started again after a pause that grows with each failure, up to a limit.
fn pause(failures: u32, limits: &AppLimits) -> Duration {
    let full = limits
        .first_pause_ms
        .saturating_mul(1 << failures.min(30))
        .min(limits.longest_pause_ms);
    let mut byte = [0];
    // Without randomness the pause is the full one, which is right too.
    let _ = getrandom::fill(&mut byte);
    Duration::from_millis(full - full / 2 * u64::from(byte[0]) / 255)
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

    // proves 002 Resil-002
    //= specs/mcp-apps.md#supervision
    //= type=test
    //# An app that is called while it waits to be started again MUST be started after at most four seconds of waiting, however often it failed.
    #[tokio::test(start_paused = true)]
    async fn an_app_somebody_waits_for_is_started_again_within_four_seconds() {
        let limits = AppLimits::default();
        let app = App::new("x", &limits);
        let longest = pause(100, &limits);
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
            let pause = u64::try_from(pause(failures, &limits).as_millis()).unwrap();
            assert!((full / 2..=full).contains(&pause), "{failures}: {pause}");
        }
    }
}
