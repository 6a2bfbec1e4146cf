//! A throw-away PostgreSQL for tests.
//!
//! Where it comes from, in this order: the server named by `SPEXUS_TEST_POSTGRES` (an administrator's URL; `.ci/run`
//! and anyone who runs one process for each test start it once with `with-postgres`), else a cluster of our own made
//! with the machine's `initdb`, one for each test process, when the first test asks. Where there is neither, tests
//! are told `None` and a person is told in one loud line; `SPEXUS_REQUIRE_POSTGRES=1` turns that line into a panic.

mod cluster;
mod programs;
mod sweeper;

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use cluster::{Cluster, Durability};
use programs::Programs;
use sweeper::Sweeper;

/// Names a running server by the URL of a database from which others can be created.
pub const ADMIN_URL_VARIABLE: &str = "SPEXUS_TEST_POSTGRES";

/// Set to `1` where a run without PostgreSQL must fail instead of testing less.
pub const REQUIRED_VARIABLE: &str = "SPEXUS_REQUIRE_POSTGRES";

const MISSING: &str = "PostgreSQL NOT TESTED: no initdb in PATH or /usr/lib/postgresql";

// Fulfils 001 D12, 003 R16.1, 003 R16.2, 003 R16.3, 003 R16.4, 003 R16.5, 003 R16.6, 003 R16.7, 003 R16.8
/// A new, empty database of its own for each caller, as a URL; `None` where the machine has no PostgreSQL.
///
/// It lives as long as the test process.
///
/// # Panics
///
/// When PostgreSQL is there but does not work, because that is a finding, not a reason to test less.
pub fn fresh_database() -> Option<String> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(postgres).as_ref().map(Server::fresh_database)
}

/// A new database that holds what `pg_dump` once wrote to a file, as a URL; `None` where the machine has no PostgreSQL.
///
/// # Panics
///
/// When PostgreSQL does not take the file.
pub fn restored_database(dump: &Path) -> Option<String> {
    let url = fresh_database()?;
    let programs = Programs::on_this_machine()?;
    let answer = Command::new(programs.path("psql"))
        .args(["--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1"])
        .arg("--file")
        .args([dump.as_os_str(), url.as_ref()])
        .output()
        .expect("psql starts");
    let complaint = String::from_utf8_lossy(&answer.stderr);
    assert!(answer.status.success(), "psql {}: {complaint}", dump.display());
    Some(url)
}

/// The server that [`fresh_database`] would use, for programs that lend it to others.
///
/// # Panics
///
/// When PostgreSQL is there but does not start, or is missing although `SPEXUS_REQUIRE_POSTGRES` asks for it.
pub fn postgres() -> Option<Server> {
    let programs = Programs::on_this_machine();
    if let Ok(admin_url) = std::env::var(ADMIN_URL_VARIABLE) {
        let programs = programs.expect("SPEXUS_TEST_POSTGRES needs createdb and dropdb on this machine");
        return Some(Server::lent(admin_url, programs));
    }
    match programs {
        Some(programs) => Some(Server::own(programs, Durability::None)),
        None => {
            report_missing(std::env::var(REQUIRED_VARIABLE).is_ok_and(|v| v == "1"));
            None
        }
    }
}

/// A server of the caller's own that can be crashed and keeps every commit it acknowledged; `None` where the machine has no
/// PostgreSQL.
///
/// # Panics
///
/// When PostgreSQL is there but does not start.
pub fn durable_postgres() -> Option<Server> {
    Programs::on_this_machine().map(|programs| Server::own(programs, Durability::Full))
}

/// A running server in which databases can be made.
pub struct Server {
    admin_url: String,
    programs: Programs,
    /// When the server is someone else's: drops our databases in it after us.
    sweeper: Option<Sweeper>,
    /// When the server is ours: held so that it ends with us.
    cluster: Option<Cluster>,
}

impl Server {
    fn own(programs: Programs, durability: Durability) -> Self {
        let cluster = Cluster::start(&programs, durability)
            .unwrap_or_else(|why| panic!("PostgreSQL did not start: {why}"));
        Self {
            admin_url: cluster.url().to_owned(),
            programs,
            sweeper: None,
            cluster: Some(cluster),
        }
    }

    fn lent(admin_url: String, programs: Programs) -> Self {
        let sweeper = Sweeper::start(&programs, &admin_url).expect("sh starts");
        Self {
            admin_url,
            programs,
            sweeper: Some(sweeper),
            cluster: None,
        }
    }

    /// The URL of the database from which others can be created; what `SPEXUS_TEST_POSTGRES` wants.
    pub fn admin_url(&self) -> &str {
        &self.admin_url
    }

    /// Ends the server as a power failure would: at once, with nothing said to its clients.
    ///
    /// # Errors
    ///
    /// When it is somebody else's server, or does not end.
    pub fn crash(&mut self) -> std::io::Result<()> {
        self.ask("crash")
    }

    /// Lets it write no further into any file, as on a full disk, until it is crashed and started again.
    ///
    /// # Errors
    ///
    /// When it is somebody else's server, or the machine has no `prlimit`.
    pub fn fill_disk(&mut self) -> std::io::Result<()> {
        self.ask("full")
    }

    /// Starts it again after [`Server::crash`]; it recovers what it had acknowledged.
    ///
    /// # Errors
    ///
    /// When it is somebody else's server, or does not start.
    pub fn recover(&mut self) -> std::io::Result<()> {
        self.ask("recover")
    }

    fn ask(&mut self, wish: &str) -> std::io::Result<()> {
        let cluster = self.cluster.as_mut();
        cluster
            .ok_or_else(|| std::io::Error::other("only a server of our own can be crashed"))?
            .ask(wish)
    }

    /// A new, empty database, as a URL.
    ///
    /// # Panics
    ///
    /// When the server refuses to make it.
    pub fn fresh_database(&self) -> String {
        let name = unique_name();
        if let Some(sweeper) = &self.sweeper {
            sweeper.remember(&name);
        }
        let answer = Command::new(self.programs.path("createdb"))
            .arg(format!("--maintenance-db={}", self.admin_url))
            .args(["--no-password", "--template=template0", &name])
            .output()
            .expect("createdb starts");
        let complaint = String::from_utf8_lossy(&answer.stderr);
        assert!(answer.status.success(), "createdb {name}: {complaint}");
        with_database(&self.admin_url, &name)
    }
}

/// A name no other process, and no earlier process with our number, has used in the same server.
fn unique_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("test_{}_{:x}_{count}", std::process::id(), now.as_micros())
}

/// The same server, another database: replaces the path of a URL and keeps its query.
fn with_database(url: &str, name: &str) -> String {
    let (base, query) = url.split_once('?').map_or((url, None), |(b, q)| (b, Some(q)));
    let authority = base.find("://").map_or(0, |at| at + 3);
    let end = base[authority..]
        .find('/')
        .map_or(base.len(), |at| authority + at);
    let query = query.map(|q| format!("?{q}")).unwrap_or_default();
    format!("{}/{name}{query}", &base[..end])
}

/// Straight to the descriptor: the print macros are swallowed by the test harness when the test passes.
fn report_missing(required: bool) {
    assert!(!required, "{MISSING}, and {REQUIRED_VARIABLE}=1 asks for it");
    let _ = writeln!(std::io::stderr(), "{MISSING}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_takes_the_place_of_another_in_a_url() {
        let check = |url: &str, expect: &str| assert_eq!(with_database(url, "new"), expect);
        check("postgres://u:p@h:1/old", "postgres://u:p@h:1/new");
        check("postgres://u:p@h:1", "postgres://u:p@h:1/new");
        check("postgres://h/old?host=/a/b", "postgres://h/new?host=/a/b");
    }

    #[test]
    fn names_differ() {
        assert_ne!(unique_name(), unique_name());
    }

    #[test]
    #[should_panic(expected = "SPEXUS_REQUIRE_POSTGRES=1 asks for it")]
    fn a_missing_server_is_a_failure_where_it_is_required() {
        report_missing(true);
    }
}
