//! A request of the host in flight. It is claimed once, by its answer, by a cancel or by the end, and whoever claims it
//! decides its one answer.

use std::sync::Arc;

use mcp_server::lines::{Batch, Identified};
use tokio::sync::Notify;

/// A request of the host in flight.
#[derive(Debug)]
pub(crate) struct InFlightRequest {
    id: Box<str>,
    /// The array its answer belongs to; a line of its own when there is none.
    pub(crate) batch: Option<Arc<Batch>>,
    /// Whether it only listens, and ends when the host goes.
    pub(crate) listens: bool,
    /// Whether the backend must be told when it is cancelled.
    pub(crate) in_session: bool,
    weight: usize,
    cancelled: Notify,
}

impl InFlightRequest {
    pub(crate) fn new(
        id: &str,
        batch: Option<&Arc<Batch>>,
        listens: bool,
        in_session: bool,
        weight: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            id: id.into(),
            batch: batch.cloned(),
            listens,
            in_session,
            weight,
            cancelled: Notify::new(),
        })
    }

    /// Makes whoever works on it stop.
    pub(crate) fn cancel(&self) {
        self.cancelled.notify_one();
    }

    /// Done when it was cancelled.
    pub(crate) async fn cancelled(&self) {
        self.cancelled.notified().await;
    }
}

impl Identified for InFlightRequest {
    fn id(&self) -> &str {
        &self.id
    }

    fn weight(&self) -> usize {
        self.weight
    }
}
