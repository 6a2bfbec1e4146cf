//! Message sinks: where messages about one request go, the outbox of a connection or the event stream of an HTTP response.

use std::sync::Arc;

use bytes::Bytes;

use crate::session::outbox::Outbox;
use crate::session::stream::EventStream;

#[derive(Clone, Debug)]
pub(crate) enum MessageSink {
    Line(Arc<Outbox>),
    Stream(Arc<EventStream>),
}

impl MessageSink {
    /// Waits until the client has read enough of what came before.
    pub(crate) async fn room(&self) {
        match self {
            MessageSink::Line(outbox) => outbox.room().await,
            MessageSink::Stream(stream) => stream.room().await,
        }
    }

    /// A message that is not the answer. Who can wait calls [`MessageSink::room`] first.
    pub(crate) fn push(&self, message: Vec<u8>) {
        match self {
            MessageSink::Line(outbox) => outbox.push_line(&message),
            MessageSink::Stream(stream) => stream.push(Bytes::from(message)),
        }
    }

    /// A message that may be lost when the client does not read; says whether it was taken.
    pub(crate) fn offer(&self, message: Vec<u8>) -> bool {
        match self {
            MessageSink::Line(outbox) => outbox.offer(&message),
            MessageSink::Stream(stream) => stream.offer(Bytes::from(message)),
        }
    }

    /// The answer, after which the request says nothing more.
    pub(crate) fn finish(&self, answer: Vec<u8>, status: Option<u16>) {
        match self {
            MessageSink::Line(outbox) => outbox.push_line(&answer),
            MessageSink::Stream(stream) => stream.finish(answer.into(), status),
        }
    }
}
