//! One message on a line, over any pair of byte streams.

use std::sync::Arc;

use bytes::Bytes;
use mcp_protocol::{Line, LineBuffer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::Shared;

/// Messages that wait to be written to a server that does not read.
pub(super) const MAX_WAITING_MESSAGES: usize = 1_024;
const READ_BYTES: usize = 64 * 1024;

/// Writes until this side is closed, then closes the stream.
pub(super) async fn write<W: AsyncWrite + Unpin>(mut writer: W, mut messages: mpsc::Receiver<Bytes>) {
    while let Some(message) = messages.recv().await {
        let mut line = Vec::with_capacity(message.len() + 1);
        line.extend_from_slice(&message);
        line.push(b'\n');
        // The reader notices that nobody is there any more.
        if writer.write_all(&line).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
    let _ = writer.shutdown().await;
}

/// Reads until the server closes its side. What is longer than a message may be is dropped, and never held.
pub(super) async fn read<R: AsyncRead + Unpin>(mut reader: R, max_message_bytes: usize, shared: Arc<Shared>) {
    let mut buffer = LineBuffer::new(max_message_bytes);
    loop {
        while let Some(line) = buffer.next() {
            match line {
                Line::Text(line) => shared.receive(std::str::from_utf8(line).unwrap_or_default()),
                Line::TooLong(start) => shared.receive_cut(start, max_message_bytes),
            }
        }
        match reader.read_buf(buffer.space(READ_BYTES)).await {
            Ok(0) | Err(_) => return shared.end(),
            Ok(_) => tokio::task::yield_now().await,
        }
    }
}
