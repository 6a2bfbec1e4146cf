//! The one way out of a line connection: messages are appended to a buffer, and one writer takes whatever has gathered.
//!
//! Under load this gathers thousands of answers into one write; alone, a message leaves at once. The buffer has a limit,
//! and who wants to add more waits for the client to read.

use std::io;
use std::mem;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;

/// Outbox of a line connection: the bytes its client has yet to read, bounded.
#[derive(Debug)]
pub struct Outbox {
    waiting: Mutex<Vec<u8>>,
    filled: Notify,
    drained: Notify,
    closed: AtomicBool,
    max_bytes: usize,
}

impl Outbox {
    /// An empty outbox that is full at this many bytes.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            waiting: Mutex::default(),
            filled: Notify::new(),
            drained: Notify::new(),
            closed: AtomicBool::new(false),
            max_bytes,
        }
    }

    /// Adds whole lines. Who can wait calls [`Outbox::room`] first.
    pub fn push(&self, lines: &[u8]) {
        self.add(lines, b"");
    }

    /// Adds one message as a line.
    pub fn push_line(&self, message: &[u8]) {
        self.add(message, b"\n");
    }

    fn add(&self, text: &[u8], end: &[u8]) {
        if self.is_closed() {
            return;
        }
        let mut waiting = self.lock();
        let was_empty = waiting.is_empty();
        waiting.extend_from_slice(text);
        waiting.extend_from_slice(end);
        drop(waiting);
        if was_empty {
            self.filled.notify_one();
        }
    }

    /// Adds whole lines once the client has read enough of what came before, and empties them.
    pub async fn flush(&self, lines: &mut Vec<u8>) {
        if !lines.is_empty() {
            self.room().await;
            self.push(lines);
            lines.clear();
        }
    }

    /// Adds one message when there is room; says whether it did.
    pub(crate) fn offer(&self, message: &[u8]) -> bool {
        let room = !self.is_full();
        if room {
            self.push_line(message);
        }
        room
    }

    /// Waits until the client has read enough.
    //= specs/mcp-server.md#line-transport
    //# A client that reads no answers MUST NOT make the server hold more than its limits allow.
    pub async fn room(&self) {
        while self.is_full() && !self.is_closed() {
            let mut drained = pin!(self.drained.notified());
            drained.as_mut().enable();
            if self.is_full() && !self.is_closed() {
                drained.await;
            }
        }
    }

    /// Nothing more will be added; the writer ends when all is written.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.filled.notify_one();
        self.drained.notify_waiters();
    }

    /// Waits until nothing can be added any more.
    pub async fn closed(&self) {
        loop {
            let mut drained = pin!(self.drained.notified());
            drained.as_mut().enable();
            if self.is_closed() {
                return;
            }
            drained.await;
        }
    }

    /// Writes until the outbox is closed and empty, or the client is gone.
    pub async fn write_to<W: AsyncWrite + Unpin>(&self, mut writer: W) -> io::Result<()> {
        let mut batch = Vec::new();
        loop {
            mem::swap(&mut batch, &mut *self.lock());
            self.drained.notify_waiters();
            if batch.is_empty() {
                if self.is_closed() {
                    return writer.flush().await;
                }
                self.filled.notified().await;
                continue;
            }
            if let Err(gone) = write_batch(&mut writer, &batch).await {
                self.close();
                return Err(gone);
            }
            batch.clear();
            batch.shrink_to(self.max_bytes);
        }
    }

    fn is_full(&self) -> bool {
        self.lock().len() >= self.max_bytes
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.waiting.lock()
    }
}

async fn write_batch<W: AsyncWrite + Unpin>(writer: &mut W, batch: &[u8]) -> io::Result<()> {
    writer.write_all(batch).await?;
    writer.flush().await
}
