//! `spexus config …`

use super::Place;
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

pub(super) fn run(place: &Place, command: &Command) -> Outcome {
    match command {
        Command::Show => {
            let (rows, json) = lines(&place.config);
            place.output.show(&json, |_| table(&rows))
        }
        Command::Reference => write(markdown().trim_end()),
    }
}
