//! The command `duvet`: arguments in, one library call, words and an exit code out.

mod arguments;
mod commands;
mod download;
mod project;
mod terminal;

use arguments::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if !matches!(arguments.command, Command::Mcp(_)) {
        // This thread works too instead of waiting for others. A server's does not: it has its clients to wait for.
        let _ = rayon::ThreadPoolBuilder::new()
            .use_current_thread()
            .build_global();
    }
    let result = match &arguments.command {
        Command::Init(flags) => commands::init::run(flags),
        Command::Extract(flags) => commands::extract::run(flags),
        Command::Report(flags) => commands::report::run(flags),
        Command::Query(flags) => commands::query::run(flags),
        Command::Merge(flags) => commands::merge::run(flags),
        Command::Fix(flags) => commands::fix::run(flags),
        Command::Unmapped(flags) => commands::unmapped::run(flags),
        Command::Fetch(flags) => commands::fetch::run(flags),
        Command::Mcp(flags) => return ended(commands::mcp::run(flags)),
    };
    ended(result.map(|is_good| {
        if is_good {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }))
}

fn ended(result: Result<ExitCode, String>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(problem) => {
            terminal::write_stderr(&format!("error: {}\n", terminal::printable(&problem)));
            ExitCode::FAILURE
        }
    }
}
