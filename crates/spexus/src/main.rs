//! The binary `spexus`: commands, configuration, telemetry, and the wiring of everything below.
//!
//! This is the rim: the only place that reads the environment, prints and ends the process. Everything else is told what
//! it needs to know and returns values. A command is one small function under [`commands`]: it turns its arguments into
//! the domain's types, calls one function of the service, and shows what comes back, as text or with `--json` as the
//! same JSON that REST answers. Whatever goes wrong is a [`failure::Failure`], which knows its exit code.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for terminals"
)]

mod apps;
mod arguments;
mod certificate;
mod checkpoint;
mod commands;
mod config;
mod failure;
mod folders;
mod mcp;
mod operator_command;
mod output;
mod progress;
mod session;
mod telemetry;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match arguments::read() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let output = output::Output {
        // Standard output of the stdio server belongs to the protocol.
        json: arguments.cli.global.json && !arguments.cli.command.serves_stdio(),
    };
    match commands::run(arguments, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(output),
    }
}
