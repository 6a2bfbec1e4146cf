//! A server process that can be killed, starved of disk, put out of its time, and started again on the same port.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::writer::NodeAddress;
use crate::http::Connection;

/// Debian's libfaketime, made for programs with threads.
const CLOCKS: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
];

/// What a file may grow by on a "full" disk.
const ROOM_BYTES: u64 = 256 << 10;

/// How long a start may take, recovery of the database included.
const START_WITHIN: Duration = Duration::from_secs(60);

/// Between two tries of a read that was refused for now.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// What all nodes of a run share.
pub(super) struct Setup {
    program: PathBuf,
    database: String,
    folder: PathBuf,
    clock: PathBuf,
}

impl Setup {
    pub(super) fn new(program: PathBuf, database: String, folder: &Path) -> Result<Self> {
        let clock = CLOCKS.iter().map(PathBuf::from).find(|path| path.exists());
        Ok(Self {
            program,
            database,
            folder: folder.to_owned(),
            clock: clock.context("clocks cannot be moved without Debian's package libfaketime")?,
        })
    }
}

/// One server.
pub(super) struct Node {
    child: Child,
    command: Launch,
    address: String,
    pub(super) token: String,
}

/// How a node is started, again and again.
struct Launch {
    program: PathBuf,
    database: String,
    folder: PathBuf,
    clock: PathBuf,
    /// What libfaketime reads at every look at the clock.
    offset: PathBuf,
    listen: String,
    log: PathBuf,
}

impl Node {
    pub(super) fn start(setup: &Setup, number: usize) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let command = Launch {
            program: setup.program.clone(),
            database: setup.database.clone(),
            folder: setup.folder.clone(),
            clock: setup.clock.clone(),
            offset: setup.folder.join(format!("clock-{number}")),
            listen: format!("127.0.0.1:{port}"),
            log: setup.folder.join(format!("node-{number}.log")),
        };
        fs::write(&command.offset, "+0\n")?;
        let mut node = Self {
            child: command.spawn(None)?,
            address: command.listen.clone(),
            command,
            token: String::new(),
        };
        node.wait_until_ready()?;
        Ok(node)
    }

    pub(super) fn address(&self) -> NodeAddress {
        NodeAddress {
            address: self.address.clone(),
            token: self.token.clone(),
        }
    }

    /// Dies by SIGKILL and is started again.
    pub(super) fn restart(&mut self) -> Result<()> {
        self.kill()?;
        self.child = self.command.spawn(None)?;
        self.wait_until_ready()
    }

    /// Dies, and is started where its files may hardly grow. A limit on the size of files stands for the full disk: the kernel
    /// refuses the write in the same place, and nobody else on this machine runs out of room.
    pub(super) fn restart_with_a_full_disk(&mut self) -> Result<()> {
        self.kill()?;
        let largest = fs::read_dir(&self.command.folder)?
            .flatten()
            .filter_map(|entry| entry.metadata().ok())
            .map(|file| file.len())
            .max();
        self.child = self.command.spawn(Some(largest.unwrap_or(0) + ROOM_BYTES))?;
        self.wait_until_ready()
    }

    /// Puts the wall clock so many seconds away from the true time, at once and while it runs.
    pub(super) fn set_clock(&self, seconds: i64) -> Result<()> {
        let next = self.command.offset.with_extension("next");
        fs::write(&next, format!("{seconds:+}\n"))?;
        Ok(fs::rename(next, &self.command.offset)?)
    }

    /// A token that may write.
    pub(super) fn make_token(&self) -> Result<String> {
        let label = [
            "token", "create", "--user", "admin", "--name", "soak", "--scope", "write", "--json",
        ];
        let made = self.command.spexus().args(label).output()?;
        let said = String::from_utf8_lossy(&made.stderr);
        ensure!(made.status.success(), "token create: {said}");
        let made: Value = serde_json::from_slice(&made.stdout)?;
        Ok(made["token"].as_str().context("a token")?.to_owned())
    }

    /// Whether the command line finds every link of the history whole, and what it says.
    pub(super) fn verify_chain(&self) -> Result<(bool, Value)> {
        let said = self
            .command
            .spexus()
            .args(["audit", "verify", "--json"])
            .output()?;
        Ok((said.status.success(), serde_json::from_slice(&said.stdout)?))
    }

    /// What is at a path. After the last fault connections may still be dead; "try again in a moment" is done.
    pub(super) fn get(&self, path: &str) -> Result<Value> {
        let begin = Instant::now();
        loop {
            let mut connection = Connection::open(&self.address, &self.token)?;
            let answer = connection.exchange("GET", path, "", "")?;
            match answer.status {
                200 => return Ok(answer.body),
                503 if begin.elapsed() < START_WITHIN => std::thread::sleep(RETRY_AFTER),
                status => bail!("GET {path}: {status} {}", answer.body),
            }
        }
    }

    fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let begin = Instant::now();
        loop {
            let live = Connection::open(&self.address, "")
                .and_then(|mut connection| connection.exchange("GET", "/health/ready", "", ""));
            if live.is_ok_and(|answer| answer.status == 200) {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                // A server that cannot come up beside a database that just died is started again, as a supervisor would.
                ensure!(
                    begin.elapsed() < START_WITHIN,
                    "the server ended with {status}: {}",
                    self.tail()
                );
                self.child = self.command.spawn(None)?;
            }
            if begin.elapsed() > START_WITHIN {
                bail!("the server did not get ready: {}", self.tail());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn tail(&self) -> String {
        let log = fs::read_to_string(&self.command.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

impl Launch {
    /// Starts the server, where files may not grow beyond a size when one is given.
    fn spawn(&self, max_file_bytes: Option<u64>) -> Result<Child> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut command = match max_file_bytes {
            None => self.spexus(),
            Some(bytes) => {
                let mut shell = self.environment(Command::new("bash"));
                shell
                    .args(["-c", r#"trap '' XFSZ; ulimit -f "$0"; exec "$@""#])
                    .arg((bytes >> 10).to_string())
                    .arg(&self.program);
                shell
            }
        };
        let serve = ["serve", "--listen", self.listen.as_str()];
        Ok(command
            .args(serve)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .env("LD_PRELOAD", &self.clock)
            .env("FAKETIME_TIMESTAMP_FILE", &self.offset)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .spawn()?)
    }

    fn spexus(&self) -> Command {
        self.environment(Command::new(&self.program))
    }

    fn environment(&self, mut command: Command) -> Command {
        command
            .env("SPEXUS_DATABASE", &self.database)
            .env("SPEXUS_ADMIN_PASSWORD", "only for the soak")
            .env("SPEXUS_LOG_LEVEL", "warn")
            .env("SPEXUS_HTTP_MAX_REQUESTS_PER_MINUTE", "100000000");
        command
    }
}
