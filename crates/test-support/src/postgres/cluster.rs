//! A cluster of our own: a folder, a server on a free loopback port, and a keeper that removes both after us.
//!
//! `initdb` refuses to run as root, so as root the whole of it belongs to `postgres`, or to `nobody` where PostgreSQL
//! brought no user along. The server listens on TCP, as the servers of real users do, and asks for a password,
//! because an open superuser on a port is a door for every other account of the machine.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use nix::unistd::{User, geteuid};

use super::programs::Programs;

const KEEPER: &str = include_str!("keeper.sh");

/// Someone else may take the free port before the server does; then another is tried.
const MAX_PORTS_TRIED: usize = 5;

/// What a crash of the cluster may cost.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// Whatever was written last; nothing is flushed, so tests are quick.
    None,
    /// Nothing that was acknowledged.
    Full,
}

pub(super) struct Cluster {
    url: String,
    keeper: Child,
    answers: BufReader<ChildStdout>,
}

impl Cluster {
    /// Starts a cluster; the error is what the server's own log says.
    pub(super) fn start(programs: &Programs, durability: Durability) -> io::Result<Self> {
        let mut complaint = String::new();
        for _ in 0..MAX_PORTS_TRIED {
            match Self::attempt(programs, durability)? {
                Ok(cluster) => return Ok(cluster),
                Err(log) => complaint = log,
            }
            if !complaint.contains("in use") {
                break;
            }
        }
        Err(io::Error::other(complaint))
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Has the keeper do something to the server: `crash`, `full` or `recover`.
    pub(super) fn ask(&mut self, wish: &str) -> io::Result<()> {
        let input = self
            .keeper
            .stdin
            .as_mut()
            .ok_or_else(|| io::Error::other("the keeper has ended"))?;
        writeln!(input, "{wish}")?;
        let mut said = String::new();
        self.answers.read_line(&mut said)?;
        if said.trim() == wish {
            return Ok(());
        }
        Err(io::Error::other(format!("PostgreSQL did not {wish}: {said}")))
    }

    fn attempt(programs: &Programs, durability: Durability) -> io::Result<Result<Self, String>> {
        let port = free_port()?;
        let password = random_word()?;
        let mut keeper = keeper(programs, port, &password, durability)?;
        let Some(answers) = keeper.stdout.take() else {
            return Err(io::Error::other("the keeper has no output"));
        };
        let mut answers = BufReader::new(answers);
        let mut said = String::new();
        answers.read_line(&mut said)?;
        if said != "ready\n" {
            answers.read_to_string(&mut said)?;
            return Ok(Err(said));
        }
        let url = format!("postgres://spexus:{password}@127.0.0.1:{port}/postgres");
        Ok(Ok(Self { url, keeper, answers }))
    }
}

/// Ends the cluster and waits for it. A static is never dropped: there the end of the process does the same.
impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// In a process group of its own, so that an interrupt at the terminal ends us and lets the keeper finish.
fn keeper(programs: &Programs, port: u16, password: &str, durability: Durability) -> io::Result<Child> {
    let (folder, owner) = folder()?;
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", KEEPER])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("BIN", programs.folder())
        .env("DIR", &folder)
        .env("PORT", port.to_string())
        .env("PASSWORD", password)
        .env("DURABLE", if durability == Durability::Full { "1" } else { "" })
        .current_dir(&folder)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(user) = owner {
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    }
    command.spawn()
}

/// A private folder and, when we are root, the user it was given to.
fn folder() -> io::Result<(PathBuf, Option<User>)> {
    let owner = if geteuid().is_root() {
        Some(someone_else()?)
    } else {
        None
    };
    // Root's own temporary folder may be closed to the other user.
    let parent = if owner.is_some() {
        PathBuf::from("/tmp")
    } else {
        std::env::temp_dir()
    };
    let folder = tempfile::Builder::new()
        .prefix("spexus-pg-")
        .tempdir_in(parent)?
        .keep();
    if let Some(user) = &owner {
        give(&folder, user)?;
    }
    Ok((folder, owner))
}

fn give(folder: &Path, user: &User) -> io::Result<()> {
    chown(folder, Some(user.uid.as_raw()), Some(user.gid.as_raw())).inspect_err(|_| {
        let _ = fs::remove_dir(folder);
    })
}

fn someone_else() -> io::Result<User> {
    for name in ["postgres", "nobody"] {
        if let Some(user) = User::from_name(name)? {
            return Ok(user);
        }
    }
    Err(io::Error::other(
        "initdb refuses root, and there is no user postgres or nobody",
    ))
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn random_word() -> io::Result<String> {
    let number = getrandom::u64().map_err(io::Error::other)?;
    Ok(format!("{number:016x}"))
}
