//! The processes of a benchmark: built once, started on fresh databases, ended with the value that stands for them.

use crate::bench::PROFILE;
use anyhow::{Context as _, Result, ensure};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Everything that was built, and a folder for databases that goes away at the end.
pub(in crate::bench) struct Bench {
    programs: PathBuf,
    folder: PathBuf,
}

impl Bench {
    /// Builds the binary and the bare programs as they are shipped.
    pub(in crate::bench) fn build() -> Result<Self> {
        // In one call: each would otherwise build the libraries anew for the features it needs.
        let packages = [
            "-p",
            "spexus",
            "-p",
            "spexus-http",
            "-p",
            "spexus-store",
            "-p",
            "spexus-service",
        ];
        let mut cargo = Command::new("cargo");
        cargo
            .args(["build", "--profile", PROFILE, "--quiet", "--bins", "--examples"])
            .args(packages);
        ensure!(cargo.status()?.success(), "cargo build failed");
        let target = super::super::target_folder()?;
        let folder = target.join("bench").join(format!("data-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self {
            programs: target.join(PROFILE),
            folder,
        })
    }

    /// Bare one-row transactions a second on the server's own file.
    pub(super) fn bare_transactions(&self, server: &Server, length: Duration) -> Result<f64> {
        let mut program = Command::new(self.programs.join("examples/bare_transaction"));
        figure(
            program
                .arg(server.database.trim_start_matches("sqlite:"))
                .arg(length.as_secs_f64().to_string()),
        )
    }

    /// A server with one bare route.
    pub(super) fn bare_route(&self) -> Result<Server> {
        let mut program = Command::new(self.programs.join("examples/bare"));
        let mut child = program.arg("127.0.0.1:0").stdout(Stdio::piped()).spawn()?;
        let address = address(&mut child)?;
        Ok(Server {
            child,
            address,
            token: String::new(),
            database: String::new(),
        })
    }

    /// Seconds one token check takes with so many tokens in a database of its own.
    pub(super) fn token_check(&self, server: &Server, tokens: usize) -> Result<f64> {
        let stem = server.database.rsplit('/').next().unwrap_or_default();
        let file = self
            .folder
            .join(format!("{stem}-{tokens}-{:?}.db", Instant::now()));
        figure(
            Command::new(self.programs.join("examples/token_check"))
                .arg(file)
                .arg(tokens.to_string()),
        )
    }

    pub(super) fn binary_bytes(&self) -> Result<u64> {
        Ok(std::fs::metadata(self.programs.join("spexus"))?.len())
    }

    /// The program, with nothing said.
    pub(in crate::bench) fn program(&self) -> Command {
        Command::new(self.programs.join("spexus"))
    }

    /// Where a file of this name goes.
    pub(in crate::bench) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn sqlite(&self, name: &str) -> String {
        format!("sqlite:{}", self.file(name).display())
    }

    fn spexus(&self, database: &str) -> Command {
        let mut command = Command::new(self.programs.join("spexus"));
        command.env("SPEXUS_DATABASE", database);
        command
            .env("SPEXUS_ADMIN_PASSWORD", "only for measuring")
            .env("SPEXUS_LOG_LEVEL", "warn");
        command.env("SPEXUS_HTTP_MAX_REQUESTS_PER_MINUTE", "100000000");
        command
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A running server; it ends with this value.
pub(in crate::bench) struct Server {
    child: Child,
    pub(in crate::bench) address: String,
    pub(in crate::bench) token: String,
    /// The URL of its database.
    pub(in crate::bench) database: String,
}

impl Server {
    /// The real server on an SQLite database of this name, made when there is none.
    pub(in crate::bench) fn start(bench: &Bench, name: &str) -> Result<Self> {
        Self::on(bench, &bench.sqlite(name))
    }

    /// The real server on a database.
    pub(in crate::bench) fn on(bench: &Bench, database: &str) -> Result<Self> {
        let mut serve = bench.spexus(database);
        let mut child = serve
            .args(["serve", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()?;
        let address = address(&mut child)?;
        let mut server = Self {
            child,
            address,
            token: String::new(),
            database: database.to_owned(),
        };
        let label = format!("bench {:?}", Instant::now());
        let mut create = bench.spexus(database);
        let output = create
            .args([
                "token", "create", "--user", "admin", "--name", &label, "--scope", "admin", "--json",
            ])
            .output()?;
        ensure!(
            output.status.success(),
            "token create: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let made: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        server.token = made["token"].as_str().context("a token")?.to_owned();
        Ok(server)
    }

    /// The same server, spoken to with another token.
    pub(in crate::bench) fn with_token(mut self, token: &str) -> Self {
        self.token = token.to_owned();
        self
    }

    /// The same with believable content.
    pub(in crate::bench) fn with_demo(bench: &Bench, name: &str, items: usize) -> Result<Self> {
        let items = items.to_string();
        for command in [&["init"][..], &["demo", "--items", &items]] {
            let output = bench.spexus(&bench.sqlite(name)).args(command).output()?;
            ensure!(
                output.status.success(),
                "{}: {}",
                command[0],
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Self::start(bench, name)
    }

    /// The memory the process holds, as the kernel counts it.
    pub(super) fn resident_bytes(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .context("VmRSS")?;
        let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kilobytes * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address a server prints when it is ready, in the first line that has one.
fn address(child: &mut Child) -> Result<String> {
    let output = child.stdout.take().context("the server's output")?;
    let mut lines = BufReader::new(output).lines();
    let found = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let (_, rest) = line.split_once("http://")?;
        Some(rest.split(['/', ' ']).next().unwrap_or_default().to_owned())
    });
    // Someone must go on reading, or the server blocks on a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    found.context("the server printed no address")
}

/// The figure a program prints.
fn figure(command: &mut Command) -> Result<f64> {
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{command:?} failed");
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
}
