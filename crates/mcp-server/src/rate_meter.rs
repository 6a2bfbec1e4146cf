//! Messages counted against a rate that somebody else keeps.
//!
//! A layer in front of an HTTP mount counts requests, but one request may carry many messages, and one message many
//! calls. Whoever keeps the rate lends the runtime a way to count the rest.

use std::fmt;
use std::sync::Arc;

use refusal::Refusal;

/// Counts messages against the rate of whoever sent a request. Put into the request's extensions by the layer that
/// counts requests; that layer has counted the first message already.
#[derive(Clone)]
pub struct Meter(Arc<dyn Fn(u32) -> Result<(), Refusal> + Send + Sync>);

impl Meter {
    /// A meter that asks a function whether so many more are allowed now, and counts them if so.
    pub fn new(count: impl Fn(u32) -> Result<(), Refusal> + Send + Sync + 'static) -> Self {
        Self(Arc::new(count))
    }

    /// Counts as many messages, all or none.
    pub fn count(&self, messages: u32) -> Result<(), Refusal> {
        match messages {
            0 => Ok(()),
            more => (self.0)(more),
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meter")
    }
}
