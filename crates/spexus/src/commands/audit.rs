//! `spexus audit …`

use super::CommandContext;
use super::filters::footer;
use crate::checkpoint::{self, Signer, SigningKey};
use crate::config::AuditSettings;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, table};
use crate::progress;
use crate::session::{Session, clock};
use clap::Subcommand;
use serde::Serialize;
use serde_json::json;
use spexus_domain::Timestamp;
use spexus_domain::account::length_seconds;
use spexus_domain::audit::{AuditEvent, EventFilter};
use spexus_domain::checkpoint::SignedCheckpoint;
use spexus_domain::query::PageRequest;
use spexus_service::audit;
use spexus_service::history_retention::{self, DroppedSegment};
use spexus_store::chain::Verdict;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Days of the audit trail that are told one by one at most.
const MAX_FAULTY_DAYS: usize = 20;

/// What can be audited.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Checks every ledger of the history; exit code 1 when it was tampered with
    Verify {
        /// A file of checkpoints that was kept elsewhere, to hold the history against
        #[arg(long, value_name = "FILE")]
        checkpoint: Option<PathBuf>,
        /// The public key the checkpoints must be signed with; else that of the configured key, else any
        #[arg(long, value_name = "HEX", requires = "checkpoint")]
        public_key: Option<String>,
    },
    /// Makes a key to sign checkpoints with, and says its public half
    Key {
        /// A file that is not there yet, not beside the database
        file: PathBuf,
    },
    /// Signs what the history has come to; keep it where the database is not
    Checkpoint {
        /// The file with the key; `audit.key_file` or `audit.key_command` when left out
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
        /// The file it is added to; written to standard output when left out
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
        /// Take this key from now on, though the last checkpoint was signed with another
        #[arg(long)]
        new_key: bool,
    },
    /// Shows logins, failures and token use, newest first
    Log {
        /// Rows of the page, 1 to 200
        #[arg(long, value_name = "ROWS")]
        limit: Option<u32>,
        /// Where the page before ended
        #[arg(long)]
        cursor: Option<String>,
        /// Only what is called so, such as login_failed
        #[arg(long)]
        event: Option<String>,
        /// Only what this user did, or what was done to this user
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// Not before this time, or not longer ago than a length such as 7d
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Before this time, or longer ago than a length such as 7d
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
    },
    /// Drops the history of a project (--project), or of all, up to a checkpoint; what it had made of everything stays verifiable
    Drop {
        /// Up to the last checkpoint from before this time, or longer ago than a length such as 365d
        #[arg(long, value_name = "TIME")]
        before: String,
    },
    /// Removes old events; that it was done stays
    Prune {
        /// From before this time, or longer ago than a length such as 365d
        #[arg(long, value_name = "TIME")]
        before: String,
    },
}

pub(super) async fn run(context: &CommandContext, command: &Command) -> Outcome {
    if let Command::Key { file } = command {
        return make_key(context.output, file);
    }
    let session = context.open().await?;
    let done = in_session(&session, &context.config.settings.audit, context.output, command).await;
    session.close().await;
    done
}

fn make_key(output: Output, file: &Path) -> Outcome {
    let public = SigningKey::create(file)?.public();
    let file = file.display().to_string();
    output.show(&json!({"file": file, "public_key": public}), |_| {
        format!("{file} holds a new key. Its public half, to be kept with the checkpoints: {public}")
    })
}

async fn in_session(
    session: &Session,
    settings: &AuditSettings,
    output: Output,
    command: &Command,
) -> Outcome {
    match command {
        // Made without a database.
        Command::Key { .. } => Ok(()),
        Command::Verify {
            checkpoint,
            public_key,
        } => {
            let kept = match checkpoint {
                None => vec![],
                Some(file) => read_kept(settings, file, public_key.as_deref()).await?,
            };
            verify(session, output, kept).await
        }
        Command::Checkpoint { key, to, new_key } => {
            let configured = match key {
                Some(key) => Some(Signer::File(SigningKey::read(key)?)),
                None => Signer::of(settings).await?,
            };
            let signer = match configured {
                Some(signer) => signer,
                None => Signer::File(SigningKey::read(settings.key_file.as_ref())?),
            };
            make(session, output, &signer, to.as_deref(), *new_key).await
        }
        Command::Log {
            limit,
            cursor,
            event,
            user,
            since,
            until,
        } => {
            let filter = EventFilter {
                event: event.clone(),
                user: user.clone(),
                since: since.as_deref().map(|text| ago("since", text)).transpose()?,
                until: until.as_deref().map(|text| ago("until", text)).transpose()?,
            };
            let page = PageRequest::new(*limit, cursor.clone())?;
            log(session, output, &filter, page).await
        }
        Command::Prune { before } => prune(session, output, ago("before", before)?).await,
        Command::Drop { before } => drop_history(session, output, ago("before", before)?).await,
    }
}

/// A time, or a length counted back from now.
fn ago(field: &str, text: &str) -> Outcome<Timestamp> {
    let now = clock()();
    match length_seconds(text) {
        Some(seconds) => Ok(now.plus_seconds(-seconds)),
        None => Ok(Timestamp::parse(field, text)?),
    }
}

async fn prune(session: &Session, output: Output, before: Timestamp) -> Outcome {
    let removed = audit::prune(&session.service, &session.caller, before).await?;
    output.show(&json!({"removed": removed, "before": before}), |_| {
        format!("Removed {removed} events from before {before}.")
    })
}

async fn drop_history(session: &Session, output: Output, before: Timestamp) -> Outcome {
    let (service, caller) = (&session.service, &session.caller);
    let dropped = history_retention::drop_before(service, caller, session.project(), before).await?;
    output.show(&json!({"dropped": dropped, "before": before}), |_| {
        let line = |segment: &DroppedSegment| {
            let DroppedSegment { project, until, at } = segment;
            format!("Dropped the history of {project} up to change {until}, of {at}.")
        };
        match dropped.is_empty() {
            true => format!(
                "Nothing was dropped: no checkpoint from before {before} ends a part of the history that is still there and that no \
                 baseline needs."
            ),
            false => dropped.iter().map(line).collect::<Vec<_>>().join("\n"),
        }
    })
}

/// The checkpoints of a file, of the key that is expected.
async fn read_kept(
    settings: &AuditSettings,
    file: &Path,
    public_key: Option<&str>,
) -> Outcome<Vec<SignedCheckpoint>> {
    let own = match public_key {
        None => Signer::of(settings).await?.map(|signer| signer.public()),
        Some(_) => None,
    };
    checkpoint::read(file, public_key.or(own.as_deref()))
}

/// Makes a checkpoint by hand.
async fn make(
    session: &Session,
    output: Output,
    signer: &Signer,
    to: Option<&Path>,
    is_new_key: bool,
) -> Outcome {
    let made = audit::checkpoint(&session.service, &session.caller, &signer.public(), is_new_key).await?;
    let signed = signer.sign(made).await?;
    let Some(file) = to else {
        return output.show(&signed, |signed| {
            serde_json::to_string(signed).unwrap_or_default()
        });
    };
    checkpoint::append(file, &signed)?;
    output.show(&signed, |signed| {
        let ledgers = signed.checkpoint.ledgers.len();
        format!("Added a checkpoint of {ledgers} ledgers to {}.", file.display())
    })
}

/// What verifying found, and whose signatures were relied on.
#[derive(Serialize)]
struct Verified {
    #[serde(flatten)]
    verdict: Verdict,
    /// The checkpoints that were held against the history.
    checkpoints: usize,
    /// The keys they were signed with.
    signed_by: BTreeSet<String>,
}

//= specs/spexus.md#checkpoints
//# `audit verify` MUST hold the history against the checkpoints of a file it is given, and say from where on it cannot be
//# trusted.
async fn verify(session: &Session, output: Output, kept: Vec<SignedCheckpoint>) -> Outcome {
    let signed_by = kept.iter().map(|signed| signed.key.clone()).collect();
    let kept: Vec<_> = kept.into_iter().map(|signed| signed.checkpoint).collect();
    let (service, caller) = (&session.service, &session.caller);
    // Each change is looked at in its ledger and for what it made.
    let total = 2 * audit::changes(service, caller).await?.unsigned_abs();
    let bar = progress::bar("changes", Some(total));
    let seen = bar.clone();
    let verdict = audit::verify_watched(service, caller, &kept, Arc::new(move |count| seen.inc(count))).await;
    bar.finish_and_clear();
    let verified = Verified {
        verdict: verdict?,
        checkpoints: kept.len(),
        signed_by,
    };
    output.show(&verified, shown)?;
    let verdict = &verified.verdict;
    //= specs/spexus.md#exit-codes
    //# `audit verify` MUST end with 1 when the history was tampered with.
    match verdict.is_whole() {
        true => Ok(()),
        false => Err(Failure::already_shown(1)),
    }
}

fn shown(verified: &Verified) -> String {
    let Verified {
        verdict,
        checkpoints,
        signed_by,
    } = verified;
    let mut text = match &verdict.fault {
        None => format!(
            "The history is whole: {} changes in {} ledgers, head {}.",
            verdict.changes,
            verdict.ledgers.len(),
            verdict.head,
        ),
        Some(fault) => format!(
            "The history was tampered with at change {}: {}.",
            fault.seq, fault.problem
        ),
    };
    for ledger in verdict.ledgers.iter().filter(|ledger| ledger.fault.is_some()) {
        let (id, trusted) = (ledger.ledger, ledger.trusted);
        text += &format!("\nThe ledger {id} can be trusted up to its change {trusted}.");
    }
    for ledger in &verdict.ledgers {
        if let Some(until) = ledger.dropped {
            let id = ledger.ledger;
            text += &format!("\nThe ledger {id} was dropped by retention up to its change {until}.");
        }
    }
    //= specs/spexus-store.md#history
    //# Verification MUST say which ledgers began at another installation, and how many of their changes came from there.
    for ledger in &verdict.ledgers {
        if let Some(origin) = &ledger.origin {
            text += &format!(
                "\nThe ledger {} began at another installation ({}): {} changes came with it.",
                ledger.ledger,
                origin.installation.get(..16).unwrap_or_default(),
                origin.changes
            );
            if origin.former_changes > 0 {
                let former = origin.former_changes;
                text += &format!(" It seals the former history there, {former} changes that are not here.");
            }
        }
    }
    if *checkpoints > 0 {
        let keys = signed_by.iter().cloned().collect::<Vec<_>>().join(", ");
        text += &format!("\nHeld against {checkpoints} checkpoints, signed with {keys}.");
    }
    text += &state(verdict);
    text += &trail(verdict);
    if verdict.erased > 0 {
        text += &format!("\nWords were taken out of {} changes.", verdict.erased);
    }
    text + &earlier(verdict)
}

/// What is to be said of things that are not what the history made of them.
fn state(verdict: &Verdict) -> String {
    let Some(state) = &verdict.state else {
        return String::new();
    };
    let mut text = match state.differing {
        0 => format!(
            "\n{} rows of items, comments, links, accounts and settings are what the history made of them.",
            state.compared
        ),
        differing => format!(
            "\n{differing} of {} rows are not what the history made of them:",
            state.compared
        ),
    };
    for one in &state.differences {
        text += &format!("\n  {} {} ({}): {}", one.entity, one.label, one.id, one.problem);
    }
    text
}

/// What is to be said of the audit trail.
fn trail(verdict: &Verdict) -> String {
    let Some(trail) = &verdict.trail else {
        return String::new();
    };
    let mut text = match trail.faults.len() {
        0 => format!(
            "\nThe audit trail is whole: {} events on {} days.",
            trail.events, trail.days
        ),
        faults => format!(
            "\nThe audit trail was tampered with on {faults} of {} days:",
            trail.days
        ),
    };
    for fault in trail.faults.iter().take(MAX_FAULTY_DAYS) {
        text += &format!("\n  {}, event {}: {}.", fault.day, fault.number, fault.problem);
    }
    if trail.dropped > 0 {
        text += &format!("\n{} days of it were dropped by retention.", trail.dropped);
    }
    text
}

/// What is to be said of times that go back.
fn earlier(verdict: &Verdict) -> String {
    match verdict.earlier.first_seq {
        None => String::new(),
        Some(first) => format!(
            "\nThe clocks were not right: {} changes are told to have happened before the one in front of them, the first is {first}.",
            verdict.earlier.count
        ),
    }
}

async fn log(session: &Session, output: Output, filter: &EventFilter, page: PageRequest) -> Outcome {
    let found = audit::list(&session.service, &session.caller, filter, page).await?;
    output.show(&found, |found| {
        let row = |event: &AuditEvent| {
            [
                event.at.to_string(),
                event.event.clone(),
                event.username.clone(),
                event.address.clone(),
                event.client.clone(),
                event.target.clone(),
                event.detail.clone(),
                match event.times {
                    1 => String::new(),
                    times => format!("×{times}"),
                },
            ]
        };
        let rows: Vec<_> = found.data.iter().map(row).collect();
        format!(
            "{}{}",
            table(&rows),
            footer(rows.len(), found.total(), found.next_cursor.as_deref())
        )
    })
}
