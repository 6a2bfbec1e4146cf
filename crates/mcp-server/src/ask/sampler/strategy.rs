//! How much may be asked of models at once: the rule that adapts, without clocks, locks or messages.
//!
//! Additive increase, multiplicative decrease, as networks share a line: while answers come quickly a little more is
//! tried, and at the first sign of trouble a lot is given up.

use serde::Serialize;

/// What may be asked of models right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Strategy {
    /// Questions that may be open at once.
    pub concurrency: usize,
    /// Time between the starts of two questions.
    pub spacing_ms: u64,
    /// Tokens an answer may have.
    pub max_tokens: u64,
}

/// The limits within which the strategy adapts, and what it adapts to.
#[derive(Clone, Debug)]
pub struct SamplingSettings {
    /// Questions that may start in a second; 0 means no limit.
    pub max_per_second: u32,
    /// Questions that may start at once before the rate counts.
    pub burst: u32,
    /// Questions that may wait for their turn.
    pub max_queued: usize,
    /// Questions that may be open at once, at most.
    pub max_concurrency: usize,
    /// Longest time between two starts.
    pub max_spacing_ms: u64,
    /// How much the time between two starts grows or shrinks at least.
    pub spacing_step_ms: u64,
    /// Fewest tokens an answer is left with.
    pub min_tokens: u64,
    /// Most tokens an answer may have.
    pub max_tokens: u64,
    /// How many tokens are given back at a time.
    pub token_step: u64,
    /// Answers that take longer are a sign of trouble.
    pub target_latency_ms: u64,
    /// How long a model may take.
    pub timeout_ms: u64,
    /// Accounts whose strategy is remembered at once.
    pub max_lanes: usize,
}

impl Default for SamplingSettings {
    fn default() -> Self {
        Self {
            max_per_second: 5,
            burst: 10,
            max_queued: 64,
            max_concurrency: 8,
            max_spacing_ms: 5_000,
            spacing_step_ms: 100,
            min_tokens: 256,
            max_tokens: 4_096,
            token_step: 256,
            target_latency_ms: 15_000,
            timeout_ms: 60_000,
            max_lanes: 10_000,
        }
    }
}

/// How an answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Within the target.
    Quick,
    /// Later than the target.
    Slow,
    /// The client said that it failed.
    Failed,
    /// Not at all.
    TimedOut,
    /// The person said no, which says nothing about load.
    Rejected,
}

impl Seen {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Seen::Quick => "quick",
            Seen::Slow => "slow",
            Seen::Failed => "failed",
            Seen::TimedOut => "timed_out",
            Seen::Rejected => "rejected",
        }
    }
}

impl Strategy {
    /// Where a server starts: two at once, at full length, without a pause.
    pub(super) fn first(settings: &SamplingSettings) -> Self {
        Self {
            concurrency: settings.max_concurrency.clamp(1, 2),
            spacing_ms: 0,
            max_tokens: settings.max_tokens,
        }
    }

    /// A little more of everything.
    pub(super) fn raised(self, settings: &SamplingSettings) -> Self {
        Self {
            concurrency: (self.concurrency + 1).min(settings.max_concurrency.max(1)),
            spacing_ms: self.spacing_ms.saturating_sub(settings.spacing_step_ms),
            max_tokens: (self.max_tokens + settings.token_step).min(settings.max_tokens),
        }
    }

    /// Half of everything.
    pub(super) fn lowered(self, settings: &SamplingSettings) -> Self {
        Self {
            concurrency: (self.concurrency / 2).max(1),
            spacing_ms: (self.spacing_ms * 2)
                .max(settings.spacing_step_ms)
                .min(settings.max_spacing_ms),
            max_tokens: (self.max_tokens / 2).max(settings.min_tokens.min(settings.max_tokens)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_climbs_step_by_step_falls_by_half_and_stays_within_its_limits() {
        let settings = SamplingSettings::default();
        let mut strategy = Strategy::first(&settings);
        assert_eq!(
            (strategy.concurrency, strategy.spacing_ms, strategy.max_tokens),
            (2, 0, 4_096)
        );
        for expected in 3..=8 {
            strategy = strategy.raised(&settings);
            assert_eq!(strategy.concurrency, expected);
        }
        assert_eq!(strategy.raised(&settings).concurrency, 8);
        let lowered = strategy.lowered(&settings);
        assert_eq!(
            (lowered.concurrency, lowered.spacing_ms, lowered.max_tokens),
            (4, 100, 2_048)
        );
        assert_eq!(lowered.raised(&settings).max_tokens, 2_304);
        let floor = (0..20).fold(strategy, |strategy, _| strategy.lowered(&settings));
        assert_eq!(
            (floor.concurrency, floor.spacing_ms, floor.max_tokens),
            (1, 5_000, 256)
        );
        let ceiling = (0..100).fold(floor, |strategy, _| strategy.raised(&settings));
        assert_eq!(
            (ceiling.concurrency, ceiling.spacing_ms, ceiling.max_tokens),
            (8, 0, 4_096)
        );
    }
}
