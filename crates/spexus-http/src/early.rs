//! Answers that are given before the body of their request was read. What is left of the body would be taken for the next
//! request, so the connection ends; saying so spares the client a request that nobody reads.

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

/// Whether the body of a request was read to its end.
pub(crate) struct Unread(Option<Arc<AtomicBool>>);

/// Tracks how far the body of a request is read.
pub(crate) fn track_body(request: Request) -> (Request, Unread) {
    if request.body().is_end_stream() {
        return (request, Unread(None));
    }
    let read = Arc::new(AtomicBool::new(false));
    let unread = Unread(Some(read.clone()));
    let request = request.map(|inner| Body::new(TrackedBody { inner, read }));
    (request, unread)
}

impl Unread {
    //= specs/spexus-http.md#description
    //# An answer given before the body was read to its end MUST say that the connection closes.
    /// Says that the connection closes, where a refusal came before the end of the body.
    pub(crate) fn close_connection(self, response: &mut Response) {
        let status = response.status();
        let refused = status.is_client_error() || status.is_server_error();
        if refused && self.0.is_some_and(|read| !read.load(Ordering::Acquire)) {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
    }
}

struct TrackedBody {
    inner: Body,
    read: Arc<AtomicBool>,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) || self.inner.is_end_stream() {
            self.read.store(true, Ordering::Release);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
