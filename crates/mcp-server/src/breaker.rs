//! A circuit breaker: after too many failures in a row, calls are refused for a while instead of waited for.
//!
//! Closed, it only counts. Open, it refuses at once. After the pause one call may probe; its success closes the
//! breaker, its failure opens it for another pause.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use refusal::{Class, Code, Refusal};
use tokio::time::Instant;

/// When a breaker opens, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct BreakerSettings {
    /// Failures in a row that open it.
    pub failures_to_open: u32,
    /// How long it stays open before one call may probe.
    pub pause_ms: u64,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            failures_to_open: 5,
            pause_ms: 2_000,
        }
    }
}

// Fulfils 002 Resil-001, 002 Resil-002
/// A circuit breaker: open after too many failures in a row, half open after a pause.
#[derive(Debug)]
pub struct Breaker {
    name: String,
    settings: BreakerSettings,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    Probing,
}

impl Breaker {
    /// A closed breaker; the name appears in refusals.
    pub fn new(name: impl Into<String>, settings: BreakerSettings) -> Self {
        Self {
            name: name.into(),
            settings,
            state: Mutex::new(State::Closed { failures: 0 }),
        }
    }

    /// Asks to make a call. What comes of it must be reported to the pass.
    //= specs/mcp-server.md#resilience
    //# After five failures in a row a breaker MUST refuse further calls with 1086 until its pause is over.
    pub fn enter(&self) -> Result<Permit<'_>, Refusal> {
        let mut state = self.lock();
        match *state {
            State::Closed { .. } => {}
            State::Open { until } if Instant::now() >= until => *state = State::Probing,
            State::Open { until } => return Err(self.refuse(until - Instant::now())),
            State::Probing => return Err(self.refuse(Duration::from_millis(self.settings.pause_ms))),
        }
        Ok(Permit {
            breaker: self,
            reported: false,
        })
    }

    /// True while calls are refused.
    pub fn is_open(&self) -> bool {
        !matches!(*self.lock(), State::Closed { .. })
    }

    fn refuse(&self, wait: Duration) -> Refusal {
        Refusal::new(
            Code::CircuitBreakerOpen,
            format!("{} failed too often and is paused", self.name),
        )
        .fact("retry_after_seconds", wait.as_secs().max(1))
    }

    //= specs/mcp-server.md#resilience
    //# After the pause one call MUST be let through, and its success MUST close the breaker.
    fn report(&self, failed: bool) {
        let mut state = self.lock();
        *state = match (*state, failed) {
            (State::Open { until }, _) => State::Open { until },
            (_, false) => State::Closed { failures: 0 },
            (State::Closed { failures }, true) if failures + 1 < self.settings.failures_to_open => {
                State::Closed {
                    failures: failures + 1,
                }
            }
            (_, true) => {
                tracing::warn!(breaker = %self.name, "opened after repeated failures");
                State::Open {
                    until: Instant::now() + Duration::from_millis(self.settings.pause_ms),
                }
            }
        };
    }

    fn give_back(&self) {
        let mut state = self.lock();
        if matches!(*state, State::Probing) {
            *state = State::Open {
                until: Instant::now(),
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// One call through a breaker. Dropped without a report (a panic, a timeout) it counts as a failure.
#[derive(Debug)]
pub struct Permit<'a> {
    breaker: &'a Breaker,
    reported: bool,
}

impl Permit<'_> {
    /// The call came back.
    pub fn succeeded(mut self) {
        self.reported = true;
        self.breaker.report(false);
    }

    /// The call came back with a refusal; only those that speak of a broken part count as failures.
    pub fn refused(mut self, code: Code) {
        self.reported = true;
        let broken = matches!(code.class(), Class::Server | Class::Breaker) || code == Code::Timeout;
        self.breaker.report(broken);
    }

    /// The caller lost interest: nothing was learned, and the next call may probe instead.
    pub fn abandoned(mut self) {
        self.reported = true;
        self.breaker.give_back();
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if !self.reported {
            self.breaker.report(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail(breaker: &Breaker) {
        breaker.enter().unwrap().refused(Code::DependencyUnavailable);
    }

    // proves 002 Resil-001
    //= specs/mcp-server.md#resilience
    //= type=test
    //# After five failures in a row a breaker MUST refuse further calls with 1086 until its pause is over.
    #[tokio::test(start_paused = true)]
    async fn the_fifth_failure_in_a_row_opens_it() {
        let breaker = Breaker::new("the backend", BreakerSettings::default());
        for _ in 0..4 {
            fail(&breaker);
        }
        breaker.enter().unwrap().succeeded();
        for _ in 0..4 {
            fail(&breaker);
        }
        assert!(!breaker.is_open(), "a success in between starts the count again");
        fail(&breaker);
        assert_eq!(breaker.enter().unwrap_err().code, Code::CircuitBreakerOpen);
    }

    // proves 002 Resil-002
    //= specs/mcp-server.md#resilience
    //= type=test
    //# After the pause one call MUST be let through, and its success MUST close the breaker.
    #[tokio::test(start_paused = true)]
    async fn it_closes_within_five_seconds_after_the_fault_is_gone() {
        let breaker = Breaker::new("the backend", BreakerSettings::default());
        (0..5).for_each(|_| fail(&breaker));
        tokio::time::advance(Duration::from_millis(2_000)).await;
        let probe = breaker.enter().unwrap();
        assert!(breaker.enter().is_err(), "only one call probes");
        probe.refused(Code::Timeout);
        assert!(breaker.enter().is_err(), "a failed probe opens it again");
        let gone = Instant::now();
        tokio::time::advance(Duration::from_millis(2_000)).await;
        breaker.enter().unwrap().succeeded();
        assert!(!breaker.is_open());
        assert!(gone.elapsed() < Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_of_the_callers_own_making_do_not_count_and_lost_calls_do() {
        let breaker = Breaker::new("the backend", BreakerSettings::default());
        (0..9).for_each(|_| breaker.enter().unwrap().refused(Code::ResourceNotFound));
        assert!(!breaker.is_open());
        (0..9).for_each(|_| breaker.enter().unwrap().abandoned());
        assert!(!breaker.is_open());
        (0..5).for_each(|_| drop(breaker.enter().unwrap()));
        assert!(breaker.is_open());
        tokio::time::advance(Duration::from_millis(2_000)).await;
        breaker.enter().unwrap().abandoned();
        breaker
            .enter()
            .expect("an abandoned probe leaves the place to the next")
            .succeeded();
    }
}
