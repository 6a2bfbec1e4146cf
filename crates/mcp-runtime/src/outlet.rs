//! Where messages about one request go: the connection's outbox, or the stream that answers an HTTP request.

use std::sync::Arc;

use bytes::Bytes;

use crate::outbox::Outbox;
use crate::stream::EventStream;

#[derive(Clone, Debug)]
pub(crate) enum Outlet {
    Line(Arc<Outbox>),
    Stream(Arc<EventStream>),
}

impl Outlet {
    /// Waits until the client has read enough of what came before.
    pub(crate) async fn room(&self) {
        match self {
            Outlet::Line(outbox) => outbox.room().await,
            Outlet::Stream(stream) => stream.room().await,
        }
    }

    /// A message that is not the answer. Who can wait calls [`Outlet::room`] first.
    pub(crate) fn push(&self, mut message: Vec<u8>) {
        match self {
            Outlet::Line(outbox) => {
                message.push(b'\n');
                outbox.push(&message);
            }
            Outlet::Stream(stream) => stream.push(Bytes::from(message)),
        }
    }

    /// A message that may be lost when the client does not read; says whether it was taken.
    pub(crate) fn offer(&self, mut message: Vec<u8>) -> bool {
        match self {
            Outlet::Line(outbox) => {
                message.push(b'\n');
                outbox.offer(&message)
            }
            Outlet::Stream(stream) => stream.offer(Bytes::from(message)),
        }
    }

    /// The answer, after which the request says nothing more.
    pub(crate) fn finish(&self, mut answer: Vec<u8>, status: Option<u16>) {
        match self {
            Outlet::Line(outbox) => {
                answer.push(b'\n');
                outbox.push(&answer);
            }
            Outlet::Stream(stream) => stream.finish(answer.into(), status),
        }
    }
}
