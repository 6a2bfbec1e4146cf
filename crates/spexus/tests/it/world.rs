//! A home of its own for each test, and the binary in it.

use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The password of the first administrator in every test.
pub(crate) const PASSWORD: &str = "correct horse battery";

/// An empty home with nothing of the machine's environment.
pub(crate) struct World {
    home: tempfile::TempDir,
    /// The database the commands use; the platform's own place when empty.
    pub(crate) database: String,
}

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    /// On SQLite, set up.
    pub(crate) fn new() -> Self {
        let world = Self::empty();
        world.run(&["init"]).ok();
        world
    }

    /// With no database yet.
    pub(crate) fn empty() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let database = format!("sqlite:{}", home.path().join("test.db").display());
        Self { home, database }
    }

    /// On a database that is there already.
    pub(crate) fn at(database: &str) -> Self {
        Self {
            database: database.to_owned(),
            ..Self::empty()
        }
    }

    /// On PostgreSQL, set up; `None` where the machine has none.
    pub(crate) fn postgres() -> Option<Self> {
        let world = Self::at(&test_support::fresh_database()?);
        world.run(&["init"]).ok();
        Some(world)
    }

    /// Both engines, as far as the machine has them.
    pub(crate) fn both() -> Vec<Self> {
        std::iter::once(Self::new()).chain(Self::postgres()).collect()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    }

    /// The binary in this home, with nothing else said.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_spexus"));
        command
            .env_clear()
            .env("HOME", self.home.path())
            .env("SPEXUS_ADMIN_PASSWORD", PASSWORD)
            .current_dir(self.home.path())
            .args(arguments);
        if !self.database.is_empty() {
            command.args(["--database", &self.database]);
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        Answer::of(
            self.command(arguments)
                .stdin(Stdio::null())
                .output()
                .expect("the binary starts"),
        )
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Answer {
        let mut command = self.command(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        // A command that refuses early does not read.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        Answer::of(child.wait_with_output().expect("the binary ends"))
    }

    /// Runs a command with `--json` that must succeed.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let answer = self.run(&[arguments, &["--json"]].concat());
        answer.expect(0).json()
    }

    /// Runs a command with `--json` that must be refused with this exit code.
    pub(crate) fn refused(&self, code: i32, arguments: &[&str]) -> Value {
        let answer = self.run(&[arguments, &["--json"]].concat());
        answer.expect(code).json()["error"].clone()
    }
}

impl Answer {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub(crate) fn ok(self) -> String {
        self.expect(0).out
    }

    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }

    pub(crate) fn json(&self) -> Value {
        //= specs/spexus.md#answers
        //= type=test
        //# With `--json` a command MUST print exactly one JSON value to standard output, unless it was asked for a file or a
        //# stream.
        serde_json::from_str(&self.out).unwrap_or_else(|why| panic!("{why}: {}", self.out))
    }
}

/// Reads a file.
pub(crate) fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("a file")
}

/// What differs from run to run, made the same.
pub(crate) fn redacted(mut value: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    let changes = matches!(
                        name.as_str(),
                        "id" | "hash" | "head" | "token" | "entity_id" | "item_id" | "password"
                    ) || name.ends_with("_at")
                        || name == "at";
                    if changes && value.is_string() {
                        *value = format!("[{name}]").into();
                    }
                    walk(value);
                }
            }
            Value::Array(values) => values.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut value);
    value
}
