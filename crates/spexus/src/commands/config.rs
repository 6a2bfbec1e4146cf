//! `spexus config …`

use super::CommandContext;
use crate::config::{lines, markdown};
use crate::failure::Outcome;
use crate::output::{table, write};
use clap::Subcommand;

/// What can be done with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows every setting, its value and where it comes from; secrets are not shown
    Show,
    /// Writes the table of all settings as Markdown
    #[command(hide = true)]
    Reference,
}

pub(super) fn run(context: &CommandContext, command: &Command) -> Outcome {
    match command {
        Command::Show => {
            let (rows, json) = lines(&context.config);
            context.output.show(&json, |_| table(&rows))
        }
        Command::Reference => write(markdown().trim_end()),
    }
}
