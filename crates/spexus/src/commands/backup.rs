//! `spexus backup` and `spexus migrate`: everything, copied and verified.

use super::CommandContext;
use crate::config::redacted_url;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, table};
use crate::progress;
use crate::session::{Missing, clock, opening, prepare_file};
use clap::Args;
use spexus_domain::Refusal;
use spexus_domain::permission::Operation;
use spexus_store::copy::{Copied, CopiedTable};
use spexus_store::{Location, Store, StoreOptions};
use std::path::PathBuf;

/// Where the backup goes.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// A SQLite file that does not exist yet
    file: PathBuf,
}

/// From where to where.
#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// The database to copy
    #[arg(long, value_name = "URL")]
    from: String,
    /// The empty database to copy into
    #[arg(long, value_name = "URL")]
    to: String,
}

pub(super) async fn backup(context: &CommandContext, wanted: &Backup) -> Outcome {
    let session = context.open().await?;
    let outcome = async {
        session.caller.may(Operation::Audit)?;
        let bar = progress::bar("backup", None);
        let copied = spexus_store::backup::backup(session.service.store(), &wanted.file).await;
        bar.finish_and_clear();
        Ok(copied?)
    }
    .await;
    session.close().await;
    let shown = wanted.file.display().to_string();
    outcome.and_then(|copied| show(context.output, &copied, &format!("Written and verified: {shown}")))
}

pub(super) async fn migrate(context: &CommandContext, wanted: &Migrate) -> Outcome {
    let from = open(
        "from",
        &wanted.from,
        Missing::Refuse,
        &context.config.settings.service.store,
    )
    .await?;
    let to = open(
        "to",
        &wanted.to,
        Missing::Create,
        &context.config.settings.service.store,
    )
    .await;
    let to = match to {
        Ok(to) => to,
        Err(failure) => {
            from.close().await;
            return Err(failure);
        }
    };
    let bar = progress::bar("rows", None);
    let counting = bar.clone();
    let done = parking_lot::Mutex::new(("", 0_u64));
    let copied = spexus_store::copy::copy(&from, &to, move |table, rows| {
        let mut done = done.lock();
        let rows = u64::try_from(rows).unwrap_or(0);
        // Rows are counted from the start of each table.
        let before = if done.0 == table { done.1 } else { 0 };
        counting.inc(rows.saturating_sub(before));
        *done = (table, rows);
    })
    .await;
    bar.finish_and_clear();
    to.close().await;
    from.close().await;
    let target = redacted_url(&wanted.to);
    show(
        context.output,
        &copied?,
        &format!("Copied and verified: {target}"),
    )
}

async fn open(field: &str, url: &str, missing: Missing, options: &StoreOptions) -> Outcome<Store> {
    let rename = |mut refusal: Refusal| {
        refusal
            .faults
            .iter_mut()
            .for_each(|fault| field.clone_into(&mut fault.field));
        refusal.message = refusal.message.replacen("database:", &format!("{field}:"), 1);
        refusal
    };
    let location = Location::parse(url).map_err(|refusal| Failure::from(rename(refusal)))?;
    if let Location::File(path) = &location {
        prepare_file(path, missing)?;
    }
    let options = StoreOptions {
        may_prepare: missing == Missing::Create,
        ..options.clone()
    };
    match Store::open(&location, &options, clock()).await {
        Ok((store, _)) => Ok(store),
        Err(error) => {
            if !matches!(error, spexus_store::Error::Refused(_)) {
                tracing::warn!(%error, "the database could not be opened");
            }
            Err(opening(rename(error.into_refusal())))
        }
    }
}

fn show(output: Output, copied: &Copied, done: &str) -> Outcome {
    output.show(copied, |copied| {
        let row = |table: &CopiedTable| [table.name.to_owned(), table.rows.to_string(), table.hash.clone()];
        format!(
            "{}\n{done}",
            table(&copied.tables.iter().map(row).collect::<Vec<_>>())
        )
    })
}
