//! A program that is measured: started under valgrind or as it is, on a copy of its own database.

use std::cell::Cell;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::database;
use super::request::{Request, Surface};
use crate::http::Connection;

/// Items of the database.
const ITEMS: &str = "1000";

/// One build of the product.
pub(super) struct Program {
    path: PathBuf,
    folder: PathBuf,
    token: String,
    copies: Cell<usize>,
}

impl Program {
    /// Makes the database that every run begins with.
    pub(super) fn prepare(path: &Path, folder: &Path, number: usize) -> Result<Self> {
        let folder = folder.join(number.to_string());
        fs::create_dir(&folder)?;
        let mut program = Self {
            path: path.to_owned(),
            folder,
            token: String::new(),
            copies: Cell::new(0),
        };
        let at = database(&program.folder);
        let say = |arguments: &[&str]| done(program.command(&at, None).args(arguments));
        say(&["init"])?;
        say(&["demo", "--items", ITEMS])?;
        let made = say(&[
            "token", "create", "--user", "admin", "--name", "count", "--scope", "admin", "--json",
        ])?;
        let made: Value = serde_json::from_slice(&made.stdout)?;
        program.token = made["token"].as_str().context("a token")?.to_owned();
        Ok(program)
    }

    /// All instructions of a process that answers so many requests.
    pub(super) fn instructions(&self, request: &Request, count: usize) -> Result<u64> {
        let log = self.folder.join("valgrind.log");
        match request.surface {
            Surface::Http => {
                let server = Server::start(self.command(&self.copy()?, Some(&log)))?;
                self.send(&server, request, count)?;
                server.stop()?;
            }
            Surface::Embedded => self.pipe(self.embedded(Some(&log))?, request, count)?,
            Surface::Bridge => {
                let server = Server::start(self.command(&self.copy()?, None))?;
                self.pipe(self.bridge(&server, Some(&log)), request, count)?;
            }
        }
        let text = fs::read_to_string(&log)?;
        let collected = text.lines().find_map(|line| line.split_once("Collected : "));
        let (_, figure) = collected.with_context(|| format!("valgrind did not count:\n{text}"))?;
        Ok(figure.trim().parse()?)
    }

    /// What one request takes without valgrind, one after the other; on pipes as many are under way as the program takes.
    pub(super) fn wall_microseconds(&self, request: &Request) -> Result<f64> {
        let count = request.few * 2;
        let took = match request.surface {
            Surface::Http => {
                let server = Server::start(self.command(&self.copy()?, None))?;
                self.send(&server, request, request.few)?;
                let began = Instant::now();
                self.send(&server, request, count)?;
                began.elapsed()
            }
            Surface::Embedded => {
                let command = self.embedded(None)?;
                let began = Instant::now();
                self.pipe(command, request, count)?;
                began.elapsed()
            }
            Surface::Bridge => {
                let server = Server::start(self.command(&self.copy()?, None))?;
                let command = self.bridge(&server, None);
                let began = Instant::now();
                self.pipe(command, request, count)?;
                began.elapsed()
            }
        };
        Ok(took.as_secs_f64() * 1e6 / count as f64)
    }

    fn send(&self, server: &Server, request: &Request, count: usize) -> Result<()> {
        let mut connection = Connection::open(&server.address, &self.token)?;
        let headers = match request.is_call() {
            true => {
                let name = request.call(0)["params"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                format!(
                    "accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
                     mcp-method: tools/call\r\nmcp-name: {name}\r\n"
                )
            }
            false => String::new(),
        };
        for number in 0..count {
            let body = match request.is_call() {
                true => request.call(number).to_string(),
                false => request.text(number),
            };
            let answer = connection.exchange(request.method, request.path, &headers, &body)?;
            let failed = answer.body["error"].is_object() || answer.body["result"]["isError"] == true;
            ensure!(
                (200..300).contains(&answer.status) && !failed,
                "{}: {} {}",
                request.name,
                answer.status,
                answer.body
            );
        }
        Ok(())
    }

    /// A hello and so many calls, one on a line; the process ends when it has answered them.
    fn pipe(&self, mut command: Command, request: &Request, count: usize) -> Result<()> {
        let mut lines = String::from(
            r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"count","version":"1"}}}"#,
        );
        lines.push_str("\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        for number in 0..count {
            lines.push_str(&request.call(number).to_string());
            lines.push('\n');
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut input = child.stdin.take().context("a pipe")?;
        let writing = std::thread::spawn(move || input.write_all(lines.as_bytes()));
        let output = child.wait_with_output()?;
        let _ = writing.join();
        let answered = String::from_utf8_lossy(&output.stdout);
        let answered = answered
            .lines()
            .filter(|line| line.contains("\"result\"") && !line.contains("\"isError\":true"));
        let answered = answered.count();
        ensure!(
            answered == count + 1,
            "{}: {answered} of {count} and a hello answered",
            request.name
        );
        Ok(())
    }

    fn embedded(&self, log: Option<&Path>) -> Result<Command> {
        let copy = self.copy()?;
        let mut command = self.command(&copy, log);
        command.args(["mcp", "--database", &format!("sqlite:{}", copy.display())]);
        Ok(command)
    }

    fn bridge(&self, server: &Server, log: Option<&Path>) -> Command {
        let mut command = self.command(&database(&self.folder), log);
        command
            .arg("mcp")
            .env("BACKEND_API_URL", format!("http://{}", server.address))
            .env("MCP_PAT_TOKEN", &self.token);
        command
    }

    /// A copy of the database for one run.
    fn copy(&self) -> Result<PathBuf> {
        self.copies.set(self.copies.get() + 1);
        let copy = self.folder.join(format!("{}.db", self.copies.get()));
        fs::copy(database(&self.folder), &copy)?;
        Ok(copy)
    }

    /// The program on a database, under valgrind when there is a log to write to.
    fn command(&self, database: &Path, log: Option<&Path>) -> Command {
        let mut command = match log {
            None => Command::new(&self.path),
            Some(log) => {
                let mut command = Command::new("valgrind");
                command
                    .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
                    .arg(format!("--log-file={}", log.display()))
                    .arg(&self.path);
                command
            }
        };
        command
            .env("SPEXUS_DATABASE", format!("sqlite:{}", database.display()))
            .env("SPEXUS_ADMIN_PASSWORD", "only for counting")
            .env("SPEXUS_LOG_LEVEL", "error")
            .env("LOG_LEVEL", "error")
            .env("SPEXUS_HTTP_MAX_REQUESTS_PER_MINUTE", "100000000")
            // One worker: what is left to chance is who does the work, not how much it is.
            .env("TOKIO_WORKER_THREADS", "1")
            .stderr(Stdio::null());
        command
    }
}

/// A running `spexus serve`; it is killed with this value.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(mut command: Command) -> Result<Self> {
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .context("is valgrind installed?")?;
        let output = child.stdout.take().context("a pipe")?;
        let mut lines = BufReader::new(output).lines();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("http://")?;
            Some(rest.split(['/', ' ']).next().unwrap_or_default().to_owned())
        });
        // Someone must go on reading, or the server blocks on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let mut server = Self {
            child,
            address: String::new(),
        };
        server.address = address.context("the server printed no address")?;
        Ok(server)
    }

    /// Ends it in good order, so that the count is written.
    fn stop(mut self) -> Result<()> {
        done(Command::new("kill").args(["-TERM", &self.child.id().to_string()]))?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn done(command: &mut Command) -> Result<Output> {
    let output = command.stderr(Stdio::piped()).output()?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output)
}
