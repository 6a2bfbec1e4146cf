//! A client of a real process on pipes, for tests without a runtime of their own. Every wait is bounded.

use std::io::Read as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Child;
use tokio::runtime::Runtime;

use super::McpClient;
use crate::waiting::in_time;

/// What a process may have said before anybody reads it.
const UNREAD_BYTES: usize = 64 << 20;

/// A process and the client that speaks with it; killed when it is dropped. What it logged is shown when a test fails.
pub struct McpProcess {
    runtime: Runtime,
    client: McpClient,
    child: Child,
    log: Option<JoinHandle<String>>,
    said: Arc<Mutex<Vec<u8>>>,
}

/// How a process ended, and what it said.
pub struct EndedProcess {
    /// The status it exited with; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Everything on standard error.
    pub log: String,
    /// Everything on standard output.
    pub out: String,
}

impl McpProcess {
    /// Starts it; nothing is said yet.
    pub fn start(mut command: Command) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let _here = runtime.enter();
        let mut command = tokio::process::Command::from(command);
        let mut child = command.kill_on_drop(true).spawn().expect("the program starts");
        let (mut stdout, stdin) = (
            child.stdout.take().expect("a pipe"),
            child.stdin.take().expect("a pipe"),
        );
        // Read whether or not somebody waits: a process must not wait for its test.
        let (mut unread, reader) = tokio::io::duplex(UNREAD_BYTES);
        let said = Arc::<Mutex<Vec<u8>>>::default();
        let keep = said.clone();
        tokio::spawn(async move {
            let mut part = vec![0; 64 * 1024];
            while let Ok(read @ 1..) = stdout.read(&mut part).await {
                keep.lock().extend_from_slice(&part[..read]);
                if unread.write_all(&part[..read]).await.is_err() {
                    return;
                }
            }
        });
        let stderr = child
            .stderr
            .take()
            .expect("a pipe")
            .into_owned_fd()
            .expect("a pipe");
        let log = std::thread::spawn(move || {
            let mut log = Vec::new();
            // What could be read of it is its log.
            let _ = std::fs::File::from(stderr).read_to_end(&mut log);
            String::from_utf8_lossy(&log).into_owned()
        });
        Self {
            client: McpClient::over(reader, stdin),
            child,
            log: Some(log),
            said,
            runtime,
        }
    }

    /// Shakes hands; the whole answer to `initialize`.
    pub fn handshake(&mut self, version: &str, capabilities: Value) -> Value {
        self.runtime
            .block_on(self.client.handshake(version, capabilities))
    }

    /// Sends a request and gives its whole answer.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start_request(method, params);
        self.answer(id)
    }

    /// Sends a request and gives its id.
    pub fn start_request(&mut self, method: &str, params: Value) -> u64 {
        self.runtime.block_on(self.client.start(method, params))
    }

    /// Calls a tool and gives the whole answer.
    pub fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    /// The answer to this id.
    pub fn answer(&mut self, id: u64) -> Value {
        self.runtime.block_on(self.client.answer(id))
    }

    /// Sends a line.
    pub fn send_text(&mut self, line: &str) {
        self.runtime.block_on(self.client.send_text(line));
    }

    /// The first message this holds for, kept or to come.
    pub fn find(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        self.runtime.block_on(self.client.find(wanted))
    }

    /// The first message to come this holds for, past what was kept.
    pub fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        self.runtime.block_on(self.client.find_new(wanted))
    }

    /// The next line, past what was kept; `None` at the end.
    pub fn line(&mut self) -> Option<Value> {
        self.runtime.block_on(self.client.line())
    }

    /// Everything that was said and not waited for.
    pub fn kept(&self) -> impl Iterator<Item = &Value> {
        self.client.kept()
    }

    /// The id of the process.
    pub fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// Closes its input.
    pub fn close(&mut self) {
        let _here = self.runtime.enter();
        self.client.close();
    }

    /// Closes its input and waits for it.
    pub fn end(mut self) -> EndedProcess {
        self.close();
        self.ended()
    }

    /// Waits until it ends by itself; all that it says until then must be messages.
    pub fn ended(mut self) -> EndedProcess {
        while self.line().is_some() {}
        let code = self.status().code();
        let log = self
            .log
            .take()
            .map(JoinHandle::join)
            .expect("asked once")
            .expect("a log");
        let out = String::from_utf8(std::mem::take(&mut *self.said.lock())).expect("text");
        EndedProcess { code, log, out }
    }

    /// Waits for its end.
    pub fn status(&mut self) -> ExitStatus {
        let ended = self.runtime.block_on(async { in_time(self.child.wait()).await });
        ended.expect("a status")
    }
}

impl Drop for McpProcess {
    #[expect(clippy::print_stderr, reason = "it belongs to what the failing test says")]
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.runtime.block_on(self.child.kill());
        if std::thread::panicking()
            && let Some(Ok(log)) = self.log.take().map(JoinHandle::join)
        {
            eprintln!("{log}");
        }
    }
}
