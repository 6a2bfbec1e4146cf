//! Carrying projects in and out, and making believable ones up.
//!
//! Three forms, for three needs. JSON lines ([`lines`]) lose nothing: what was exported, imported into an empty database
//! and exported again is the same, byte for byte. CSV ([`sheet`]) is for spreadsheets, Markdown ([`document`]) for
//! readers; what they import goes through the same rules as if someone had typed it (`rows.rs`). So does what other tools
//! say ([`reqif`]), found again by the ids it has there (`sourced.rs`).
//!
//! Every import is all or nothing, with the line of everything that was refused. Up to 500 rows are one transaction; more
//! are staged, so that others can write meanwhile, and shown at once (`large.rs`). Files are read and written page by page,
//! so their size does not matter.

pub mod demo;
pub mod document;
mod large;
pub mod lines;
mod people;
pub mod reqif;
mod rows;
pub mod sheet;
mod sourced;
mod status_path;
pub mod sync;

use serde::Serialize;
use spexus_domain::{Code, Fault, Refusal};
use spexus_store::Error;
use std::io::BufRead;
use std::sync::Arc;

use rows::MAX_REFUSED;
pub use rows::{RowAction, RowOutcome};
pub use sourced::SOURCE_ID;

/// Where an import is read from.
pub type Input = Box<dyn BufRead + Send>;

/// Hears how many things were carried so far.
pub type Progress = Arc<dyn Fn(u64) + Send + Sync>;

/// What an import did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Imported {
    /// The key of the project.
    pub project: String,
    /// Whether nothing was kept because only a trial was asked for.
    pub dry_run: bool,
    /// Items made.
    pub created: u64,
    /// Items changed.
    pub updated: u64,
    /// Items that were so already.
    pub unchanged: u64,
    /// Links made.
    pub links: u64,
    /// Comments made.
    pub comments: u64,
    /// Changes of the project's history that came with it.
    #[serde(skip_serializing_if = "is_none")]
    pub changes: u64,
    /// Accounts made for names nobody here had; disabled until an administrator enables them.
    pub new_users: Vec<String>,
    /// What looks like a mistake but was done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What became of each row, for forms that have rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<RowOutcome>,
}

/// What an export wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// The key of the project.
    pub project: String,
    /// Items written.
    pub items: u64,
    /// Links written.
    pub links: u64,
    /// Comments written.
    pub comments: u64,
    /// Changes of its history written.
    #[serde(skip_serializing_if = "is_none")]
    pub changes: u64,
    /// Links into other projects, which the form cannot hold.
    pub links_left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Says in which line something was refused.
fn at_line(line: u64, error: Error) -> Error {
    //= specs/spexus.md#transfer
    //# A refusal of an import MUST name the line.
    match error {
        Error::Refused(refusal) => Error::Refused(refused_at(line, refusal)),
        other => other,
    }
}

fn refused_at(line: u64, mut refusal: Refusal) -> Refusal {
    refusal.message = format!("line {line}: {}", refusal.message);
    let place = format!("line {line}");
    if refusal.faults.is_empty() {
        let problem = refusal.message[place.len() + 2..].to_owned();
        let field = String::new();
        let allowed = String::new();
        refusal.faults.push(Fault {
            field,
            problem,
            allowed,
        });
    }
    for fault in &mut refusal.faults {
        let separator = if fault.field.is_empty() { "" } else { ", " };
        fault.field = format!("{place}{separator}{}", fault.field);
    }
    refusal.fact("line", line)
}

/// One refusal for everything wrong with a file.
//= specs/spexus-service.md#imports
//# An import that stops at a number of refused lines MUST say that there may be more, and how many it names.
fn all_refused(mut refusals: Vec<Refusal>) -> Option<Refusal> {
    if refusals.len() < 2 {
        return refusals.pop();
    }
    let lines = match refusals.len() > MAX_REFUSED {
        true => format!(
            "more than {MAX_REFUSED} lines were refused, the first {MAX_REFUSED} are named and the rest was not looked at"
        ),
        false => format!("{} lines were refused", refusals.len()),
    };
    refusals.truncate(MAX_REFUSED);
    let message = format!("{lines}; the first: {}", refusals[0].message);
    let code = refusals[0].code;
    let faults: Vec<Fault> = refusals.into_iter().flat_map(|refusal| refusal.faults).collect();
    Some(Refusal {
        faults,
        ..Refusal::new(code, message)
            .hint("Nothing was imported. Correct the lines and import the file again.")
    })
}

/// The refusal for a file that cannot be read or written.
fn broken_file(error: &std::io::Error) -> Refusal {
    Refusal::new(
        Code::InvalidParams,
        format!("the file cannot be read or written: {error}"),
    )
    .hint("Check the file and the disk it is on.")
}
