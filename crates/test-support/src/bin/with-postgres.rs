//! `with-postgres COMMAND…` runs a command beside one throw-away PostgreSQL.
//!
//! Starting a cluster takes about two seconds. A run of many test processes (nextest makes one for each test) should
//! pay that once: this program starts the cluster, names it to the command in `SPEXUS_TEST_POSTGRES`, and ends it with
//! the command, whose exit code is its own. Without PostgreSQL on the machine the command runs all the same.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else {
        return fail("usage: with-postgres COMMAND [ARGUMENT…]");
    };
    let server = test_support::postgres();
    let mut command = Command::new(&program);
    command.args(arguments);
    if let Some(server) = &server {
        command.env(test_support::ADMIN_URL_VARIABLE, server.admin_url());
    }
    match command.status() {
        Ok(status) => ExitCode::from(
            status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .unwrap_or(1),
        ),
        Err(why) => fail(&format!("{} did not start: {why}", program.display())),
    }
}

#[expect(clippy::print_stderr, reason = "a program for terminals")]
fn fail(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}
