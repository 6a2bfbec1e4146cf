//! `cargo xtask soak`: sixteen writers, and one fault after the other.
//!
//! Servers are killed with SIGKILL, PostgreSQL is crashed and recovered, a TCP proxy swallows what it should carry, the disk
//! is full, the clock jumps. What is counted at the end is what a team would lose: acknowledged writes that are gone, writes done
//! twice, writes that were refused and happened all the same, a broken chain, a state that its own history does not
//! explain. The moments of the faults are counted in acknowledged writes, not in seconds, so a slow machine sees the same run.

mod fault;
mod ledger;
mod node;
mod proxy;
mod verdict;
mod writer;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use fault::{Fault, Plan};
use ledger::Ledger;
use node::{Node, Setup};
use proxy::Proxy;
use test_support::Server as Postgres;
use verdict::Verdict;

/// Where the figures of a run go, so that a later reader can compare.
const FIGURES: &str = "target/soak";

/// How long a write may take to be acknowledged again after a fault before the run counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(120);

/// How long a disk stays full where nobody is refused for it.
const FULL_FOR: Duration = Duration::from_secs(10);

/// What a run is made of.
struct Options {
    kills: usize,
    postgres: bool,
    writers: usize,
    seed: u64,
    /// The server to break; built anew when none is named.
    program: Option<PathBuf>,
}

pub(crate) const USAGE: &str =
    "cargo xtask soak --kills N --engine sqlite|postgres [--writers N] [--seed N] [--program FILE]";

/// Runs the soak; false when something was lost, doubled or unexplained.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    let options = Options::read(arguments)?;
    let program = match &options.program {
        Some(program) => program.clone(),
        None => build(root)?,
    };
    let folder = tempfile::tempdir()?;
    let mut world = World::build(&options, program, folder.path())?;
    let ledger = Ledger::default();
    let faults = world.break_things(&options, &ledger)?;
    let verdict = Verdict::reach(&world.nodes[0], &ledger, faults)?;
    print!("{}", verdict.table(options.engine(), options.seed));
    verdict.keep(&root.join(FIGURES), options.engine(), options.kills)?;
    Ok(verdict.is_clean())
}

impl Options {
    fn read(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            kills: 20,
            postgres: false,
            writers: 16,
            seed: 1,
            program: None,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let value = words.next().with_context(|| format!("{word} needs a value"))?;
            match (word.as_str(), value.as_str()) {
                ("--kills", number) => options.kills = number.parse()?,
                ("--writers", number) => options.writers = number.parse()?,
                ("--seed", number) => options.seed = number.parse()?,
                ("--program", file) => options.program = Some(file.into()),
                ("--engine", "sqlite") => options.postgres = false,
                ("--engine", "postgres") => options.postgres = true,
                _ => bail!("{word} {value} is not known; usage: {USAGE}"),
            }
        }
        Ok(options)
    }

    fn engine(&self) -> &'static str {
        if self.postgres { "postgres" } else { "sqlite" }
    }
}

/// Everything that runs: the nodes, and for PostgreSQL the cluster and the proxy in front of it.
struct World {
    nodes: Vec<Node>,
    postgres: Option<(Postgres, Proxy)>,
}

impl World {
    fn build(options: &Options, program: PathBuf, folder: &Path) -> Result<Self> {
        let postgres = options.postgres.then(postgres).transpose()?;
        let database = match &postgres {
            Some((_, _, url)) => url.clone(),
            None => format!("sqlite:{}", folder.join("soak.db").display()),
        };
        // Two nodes share a PostgreSQL; SQLite belongs to one server.
        let count = if options.postgres { 2 } else { 1 };
        let setup = Setup::new(program, database, folder)?;
        let mut nodes = Vec::new();
        for number in 0..count {
            nodes.push(Node::start(&setup, number)?);
        }
        let token = nodes[0].make_token()?;
        for node in &mut nodes {
            node.token.clone_from(&token);
        }
        let postgres = postgres.map(|(server, proxy, _)| (server, proxy));
        Ok(Self { nodes, postgres })
    }

    /// Lets the writers write while faults happen; returns what was done.
    fn break_things(&mut self, options: &Options, ledger: &Ledger) -> Result<Vec<Fault>> {
        let mut plan = Plan::new(options.seed, options.postgres);
        let mut done = Vec::new();
        let addresses: Vec<writer::NodeAddress> = self.nodes.iter().map(Node::address).collect();
        let orders = writer::Orders::default();
        std::thread::scope(|scope| {
            for number in 0..options.writers {
                let (node, orders) = (&addresses[number % addresses.len()], &orders);
                scope.spawn(move || writer::write_while(orders, number, node, ledger));
            }
            let result = (0..options.kills).try_for_each(|number| {
                ledger.wait_for_more(plan.writes_between(), STUCK_AFTER)?;
                let fault = plan.next();
                ledger.struck(fault.name());
                self.inflict(fault, number, ledger)
                    .with_context(|| fault.name())?;
                done.push(fault);
                if (number + 1).is_multiple_of(50) {
                    println!(
                        "{} faults, {} writes acknowledged",
                        number + 1,
                        ledger.acknowledged()
                    );
                }
                Ok(())
            });
            // What was in the air when the last fault struck must come to an end, too.
            let settled = result.and_then(|()| ledger.wait_for_more(50, STUCK_AFTER));
            match &settled {
                Ok(()) => orders.finish(),
                Err(_) => orders.give_up(),
            }
            settled.with_context(|| format!("after {} faults, the last {:?}", done.len(), done.last()))
        })?;
        Ok(done)
    }

    fn inflict(&mut self, fault: Fault, number: usize, ledger: &Ledger) -> Result<()> {
        let node = number % self.nodes.len();
        match fault {
            Fault::Kill => self.nodes[node].restart(),
            Fault::FullDisk => match self.postgres.as_mut() {
                None => {
                    self.nodes[node].restart_with_a_full_disk()?;
                    ledger.wait_for_refusal(FULL_FOR);
                    self.nodes[node].restart()
                }
                Some((server, _)) => {
                    server.fill_disk()?;
                    ledger.wait_for_refusal(FULL_FOR);
                    server.crash()?;
                    Ok(server.recover()?)
                }
            },
            Fault::Clock(seconds) => self.nodes[node].set_clock(seconds),
            Fault::Crash => {
                let (server, _) = self.postgres.as_mut().context("a PostgreSQL")?;
                server.crash()?;
                Ok(server.recover()?)
            }
            Fault::BlackHole => {
                let (_, proxy) = self.postgres.as_ref().context("a PostgreSQL")?;
                proxy.swallow();
                Ok(())
            }
        }
    }
}

/// A cluster that can be crashed, a proxy in front of it, and the URL of a fresh database behind the proxy.
fn postgres() -> Result<(Postgres, Proxy, String)> {
    let server = test_support::durable_postgres().context("PostgreSQL's initdb is not on this machine")?;
    let direct = server.fresh_database();
    let (before, rest) = direct.split_once('@').context("a URL with a password")?;
    let (address, database) = rest.split_once('/').context("a URL with a database")?;
    let proxy = Proxy::start(address.to_owned())?;
    let url = format!("{before}@{}/{database}", proxy.address());
    Ok((server, proxy, url))
}

/// The server, built like this program and beside it.
fn build(root: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--package", "spexus", "--locked"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    ensure!(cargo.current_dir(root).status()?.success(), "cargo build failed");
    Ok(std::env::current_exe()?.with_file_name("spexus"))
}
