//! Backups while the system runs. A SQLite database is copied as it stands at one moment; a PostgreSQL database is
//! copied into a SQLite file, which `spexus migrate` turns back.

use crate::copy::{Copied, copy};
use crate::engine::{Engine, params};
use crate::error::Result;
use crate::{Location, Store, StoreOptions};
use refusal::{Code, Refusal};
use std::path::Path;

/// Writes a backup into a new file and verifies it; tells what it holds.
pub async fn backup(store: &Store, file: &Path) -> Result<Copied> {
    if file.exists() {
        let problem = format!("{} exists already", file.display());
        return Err(Refusal::field(
            Code::RuleViolated,
            "file",
            problem,
            "a file that does not exist yet",
        )
        .into());
    }
    let target = Location::File(file.to_owned());
    match store.engine() {
        Engine::Sqlite => {
            let mut conn = store.read().await?;
            conn.script("PRAGMA query_only = OFF").await?;
            let copied = conn
                .run("VACUUM INTO $1", params![file.to_string_lossy().as_ref()])
                .await;
            conn.script("PRAGMA query_only = ON").await?;
            copied?;
            let (copy, _) = Store::open(&target, &StoreOptions::default(), store.clock.clone()).await?;
            let tables = crate::copy::fingerprint(&mut copy.read().await?).await?;
            copy.close().await;
            Ok(Copied { tables })
        }
        Engine::Postgres => {
            let (file, _) = Store::open(&target, &StoreOptions::default(), store.clock.clone()).await?;
            let copied = copy(store, &file, |_, _| {}).await;
            file.close().await;
            copied
        }
    }
}
