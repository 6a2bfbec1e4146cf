//! Exponential backoff with jitter, and the retries of one request.

use std::time::Duration;

use tokio::time::Instant;

/// Exponential backoff: each delay is twice the one before, up to a maximum, less a random half of it, so that clients
/// that failed together do not come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The delay after the first failure, before jitter.
    pub first_ms: u64,
    /// The longest delay, before jitter.
    pub max_ms: u64,
}

impl Backoff {
    /// The delay after this many earlier failures. Without randomness on the machine half of the jitter is taken.
    pub fn delay(&self, failures: u32) -> Duration {
        self.delay_with(failures, getrandom::u32().unwrap_or(u32::MAX / 2))
    }

    /// The same with a given random number: 0 is the shortest delay, `u32::MAX` the longest.
    pub fn delay_with(&self, failures: u32, random: u32) -> Duration {
        let full = self
            .first_ms
            .saturating_mul(1 << failures.min(30))
            .min(self.max_ms);
        let jitter = u128::from(full) * u128::from(random) / u128::from(u32::MAX) / 2;
        Duration::from_millis(full / 2 + u64::try_from(jitter).unwrap_or_default())
    }
}

/// The retries one request has: bounded in number, and none that would begin after its deadline.
#[derive(Debug)]
pub struct Retries {
    backoff: Backoff,
    max: u32,
    used: u32,
    deadline: Option<Instant>,
}

impl Retries {
    /// At most this many retries.
    pub fn new(backoff: Backoff, max: u32) -> Self {
        Self {
            backoff,
            max,
            used: 0,
            deadline: None,
        }
    }

    /// None that would begin at or after this instant.
    pub fn until(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// How many were made.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Waits for the next retry; false, at once, when there is none.
    pub async fn wait(&mut self) -> bool {
        self.wait_for(self.backoff.delay(self.used)).await
    }

    /// The same with a delay the other side asked for.
    pub async fn wait_for(&mut self, delay: Duration) -> bool {
        let is_late = self
            .deadline
            .is_some_and(|deadline| Instant::now() + delay >= deadline);
        if self.used >= self.max || is_late {
            return false;
        }
        self.used += 1;
        tokio::time::sleep(delay).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff {
        first_ms: 100,
        max_ms: 2_000,
    };

    #[test]
    fn delays_double_up_to_the_longest_and_vary_by_half() {
        let all = |random| (0..7).map(move |failures| BACKOFF.delay_with(failures, random).as_millis());
        assert!(all(u32::MAX).eq([100, 200, 400, 800, 1_600, 2_000, 2_000]));
        assert!(all(0).eq([50, 100, 200, 400, 800, 1_000, 1_000]));
        assert_eq!(BACKOFF.delay_with(u32::MAX, u32::MAX).as_millis(), 2_000);
        let delay = BACKOFF.delay(1).as_millis();
        assert!((100..=200).contains(&delay), "{delay}");
    }

    #[tokio::test(start_paused = true)]
    async fn retries_end_with_their_number_and_with_the_deadline() {
        let mut retries = Retries::new(BACKOFF, 2);
        assert!(retries.wait().await && retries.wait_for(Duration::from_secs(60)).await);
        assert!(!retries.wait().await);
        assert_eq!(retries.used(), 2);
        let began = Instant::now();
        let mut retries = Retries::new(BACKOFF, 9).until(began + Duration::from_millis(150));
        assert!(retries.wait().await);
        assert!(!retries.wait_for(Duration::from_millis(150)).await);
        assert!(
            began.elapsed() <= Duration::from_millis(100),
            "it does not wait for nothing"
        );
    }
}
