//! Drops our databases from a server that outlives us.
//!
//! Like the cluster's keeper it is another process that waits for the end of its input: the names are written to it
//! while tests run, and when we are gone, killed or not, it drops what was named.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use parking_lot::Mutex;

use super::programs::Programs;

const SCRIPT: &str = r#"
names=$(cat)
for name in $names; do "$DROPDB" --if-exists --force --no-password --maintenance-db="$SERVER" "$name"; done
"#;

pub(super) struct Sweeper {
    names: Mutex<std::process::ChildStdin>,
}

impl Sweeper {
    pub(super) fn start(programs: &Programs, admin_url: &str) -> io::Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT])
            .env("DROPDB", programs.path("dropdb"))
            .env("SERVER", admin_url)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let names = shell.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self {
            names: Mutex::new(names),
        })
    }

    /// Before the database is made, so that none can be missed.
    pub(super) fn remember(&self, name: &str) {
        let mut names = self.names.lock();
        // A sweeper someone killed costs a left-over database, not a test.
        let _ = writeln!(names, "{name}");
    }
}
