//! `spexus completions SHELL`, and the reference of the command line, both made from what clap knows.

use crate::arguments;
use crate::failure::{EXIT_CODES, Outcome};
use crate::output::write;
use clap::Args;
use clap_complete::Shell;

/// For which shell.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
}

pub(super) fn run(wanted: &Completions) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(wanted.shell, &mut arguments::command(), "spexus", &mut script);
    write(String::from_utf8_lossy(&script).trim_end())
}

/// The whole command line as one page of Markdown.
pub(super) fn reference() -> Outcome {
    let mut root = arguments::command().disable_help_subcommand(true).term_width(100);
    root.build();
    let mut page = String::from(
        "# The command line\n\nMade by `spexus help-markdown`; do not edit. Every command also understands the global options.\n\n",
    );
    page.push_str(&format!("{}\n\n## Global options\n\n", code(EXIT_CODES)));
    for argument in root.get_arguments().filter(|argument| argument.is_global_set()) {
        page.push_str(&option(argument));
    }
    page.push_str("\n## Settings\n\nEvery setting can stand in the file, in the environment, or be a flag of `spexus serve`.\n\n");
    page.push_str(&crate::config::markdown());
    for command in root.get_subcommands().filter(|command| !command.is_hide_set()) {
        section(command, "spexus", &mut page);
    }
    write(page.trim_end())
}

fn section(command: &clap::Command, above: &str, page: &mut String) {
    let name = format!("{above} {}", command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    if command.has_subcommands() {
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            section(inner, &name, page);
        }
        return;
    }
    page.push_str(&format!("\n## `{name}`\n\n{about}.\n\n"));
    let mut own = command.clone();
    let usage = own.render_usage().to_string();
    page.push_str(&code(usage.trim_start_matches("Usage: ")));
    page.push_str("\n\n");
    let shown = |argument: &&clap::Arg| {
        !argument.is_global_set() && !argument.is_hide_set() && argument.get_id() != "help"
    };
    for argument in command.get_arguments().filter(shown) {
        page.push_str(&option(argument));
    }
}

fn option(argument: &clap::Arg) -> String {
    let value = argument
        .get_value_names()
        .and_then(<[_]>::first)
        .map(ToString::to_string)
        .unwrap_or_default();
    let takes = argument.get_action().takes_values();
    let name = match argument.get_long() {
        Some(long) if takes => format!("--{long} {value}"),
        Some(long) => format!("--{long}"),
        None => value,
    };
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    format!("- `{name}` {help}\n")
}

fn code(text: &str) -> String {
    format!("```text\n{}\n```", text.trim_end())
}
