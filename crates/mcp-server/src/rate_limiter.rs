//! A rate limiter in one atomic: it remembers when the next message would be due if all came evenly spaced.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use refusal::{Code, Refusal};
use tokio::time::Instant;

/// At most so many messages a second, with a burst on top.
#[derive(Debug)]
pub struct RateLimiter {
    start: Instant,
    spacing_ns: u64,
    burst_ns: u64,
    due_ns: AtomicU64,
}

impl RateLimiter {
    /// `None` when there is no limit.
    pub fn new(per_second: u32, burst: u32) -> Option<Self> {
        let spacing_ns = 1_000_000_000u64.checked_div(u64::from(per_second))?;
        Some(Self {
            start: Instant::now(),
            spacing_ns,
            burst_ns: spacing_ns.saturating_mul(u64::from(burst.max(1))),
            due_ns: AtomicU64::new(0),
        })
    }

    /// Counts one message, or refuses it and says how long to wait.
    //= specs/mcp-server.md#limits
    //# Messages above a session's rate MUST be refused with 1057 and the time to wait.
    pub fn count(&self) -> Result<(), Refusal> {
        let now = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let next = |due: u64| {
            let due = due.max(now) + self.spacing_ns;
            (due <= now + self.burst_ns).then_some(due)
        };
        match self
            .due_ns
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, next)
        {
            Ok(_) => Ok(()),
            Err(due) => Err(self.refuse(due.saturating_sub(now))),
        }
    }

    fn refuse(&self, behind_ns: u64) -> Refusal {
        let wait = Duration::from_nanos((behind_ns + self.spacing_ns).saturating_sub(self.burst_ns));
        Refusal::new(
            Code::RateLimitPerSecond,
            "more messages a second than this session may send",
        )
        .fact("retry_after_seconds", wait.as_secs() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_and_then_the_rate_counts() {
        let limiter = RateLimiter::new(10, 3).unwrap();
        assert!((0..3).all(|_| limiter.count().is_ok()));
        let refusal = limiter.count().unwrap_err();
        assert_eq!(refusal.code, Code::RateLimitPerSecond);
        assert_eq!(refusal.facts[0].0, "retry_after_seconds");
        tokio::time::advance(Duration::from_millis(100)).await;
        assert!(limiter.count().is_ok());
        assert!(limiter.count().is_err());
        assert!(RateLimiter::new(0, 1).is_none());
    }
}
