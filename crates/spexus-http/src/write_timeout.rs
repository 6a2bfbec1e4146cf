//! A connection whose peer must read: one that takes nothing for too long is cut, however little it costs.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream that ends when nothing could be written for a while although there is something to write.
pub(crate) struct WriteTimeout<S> {
    stream: S,
    limit: Duration,
    /// Runs while the peer takes nothing.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(crate) fn new(stream: S, limit: Duration) -> Self {
        Self {
            stream,
            limit,
            stuck: None,
        }
    }

    //= specs/spexus-http.md#limits
    //# A connection whose peer takes nothing of an answer for the write timeout MUST be closed.
    fn judge<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let limit = self.limit;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(limit)));
        match stuck.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.judge(cx, ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    //= specs/spexus-http.md#limits
    //= type=test
    //# A connection whose peer takes nothing of an answer for the write timeout MUST be closed.
    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_is_cut_and_a_slow_one_is_not() {
        let limit = Duration::from_secs(10);
        let (near, _far) = duplex(4);
        let written = WriteTimeout::new(near, limit).write_all(b"more than fits").await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);

        let (near, mut far) = duplex(4);
        let slow = tokio::spawn(async move {
            let mut heard = Vec::new();
            for _ in 0..7 {
                tokio::time::sleep(Duration::from_secs(9)).await;
                let mut two = [0; 2];
                far.read_exact(&mut two).await.unwrap();
                heard.extend(two);
            }
            heard
        });
        WriteTimeout::new(near, limit)
            .write_all(b"more than fits")
            .await
            .unwrap();
        assert_eq!(slow.await.unwrap(), b"more than fits");
    }
}
