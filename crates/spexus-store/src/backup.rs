//! Backups while the system runs. A SQLite database is copied as it stands at one moment; a PostgreSQL database is
//! copied into a SQLite file, which `spexus migrate` turns back.

use crate::copy::{Copied, copy, fingerprint};
use crate::engine::{Engine, params};
use crate::error::{Error, Result};
use crate::pool::Pool;
use crate::{Location, Store, StoreOptions};
use refusal::{Code, Refusal};
use std::path::{Path, PathBuf};

/// Writes a backup into a new file and verifies it; tells what it holds. The file has its name only once it is whole
/// and on the disk.
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
    let partial = beside(file, ".partial");
    clear(&partial);
    let copied = match store.engine() {
        Engine::Sqlite => vacuum_into(store, &partial).await,
        Engine::Postgres => copy_into(store, &partial).await,
    };
    let finished = match copied {
        Ok(copied) => finish(&partial, file).await.map(|()| copied),
        failed => failed,
    };
    if finished.is_err() {
        clear(&partial);
    }
    finished
}

//= specs/spexus-store.md#copies
//# A backup MUST be whole while writes go on.
/// Copies a SQLite database as it stands at one moment, while others read and write.
async fn vacuum_into(store: &Store, partial: &Path) -> Result<Copied> {
    // Readers may not write, not even elsewhere, so this takes a connection of its own.
    let own = Pool::alone(store.location(), &StoreOptions::default())?;
    let target = partial.to_string_lossy().into_owned();
    let written = async { own.acquire().await?.run("VACUUM INTO $1", params![target]).await };
    let written = written.await;
    own.close().await;
    written?;
    let copy = Pool::for_reading(&Location::File(partial.to_owned()), &StoreOptions::default()).await?;
    let verified = verify(&copy).await;
    copy.close().await;
    verified
}

async fn verify(copy: &Pool) -> Result<Copied> {
    let mut conn = copy.acquire().await?;
    let sound = conn.one("PRAGMA integrity_check", params![]).await?;
    match sound.text("integrity_check")?.as_str() {
        "ok" => Ok(Copied {
            tables: fingerprint(&mut conn).await?,
        }),
        fault => Err(Error::Broken(format!("the backup is damaged: {fault}"))),
    }
}

/// Copies a PostgreSQL database into a SQLite file.
async fn copy_into(store: &Store, partial: &Path) -> Result<Copied> {
    let location = Location::File(partial.to_owned());
    let (target, _) = Store::open(&location, &StoreOptions::default(), store.clock.clone()).await?;
    let copied = copy(store, &target, |_, _| {}).await;
    target.close().await;
    copied
}

/// Flushes the file and gives it its name.
async fn finish(partial: &Path, file: &Path) -> Result<()> {
    let (partial, file) = (partial.to_owned(), file.to_owned());
    let named = tokio::task::spawn_blocking(move || {
        std::fs::File::open(&partial)?.sync_all()?;
        std::fs::rename(&partial, &file)
    });
    match named.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Error::Unavailable(error.to_string())),
        Err(error) => Err(Error::Broken(error.to_string())),
    }
}

/// Removes what an unfinished backup left.
fn clear(partial: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        // Usually there is nothing to remove.
        let _ = std::fs::remove_file(beside(partial, suffix));
    }
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
