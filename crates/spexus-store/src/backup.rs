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
    make_private(&partial).map_err(|error| cannot_write(file, &error))?;
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

/// Copies a SQLite file of an older version, whatever its tables are, in place of an earlier copy that was not needed.
pub(crate) async fn before_upgrade(location: &Location, file: &Path) -> Result<()> {
    let partial = beside(file, ".partial");
    clear(&partial);
    make_private(&partial).map_err(|error| cannot_write(file, &error))?;
    let finished = match vacuum(location, &partial).await {
        Ok(()) => finish(&partial, file).await,
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
    vacuum(store.location(), partial).await?;
    let copy = Pool::for_reading(&Location::File(partial.to_owned()), &unhurried(), 1)?;
    let verified = verify(&copy).await;
    copy.close().await;
    verified
}

async fn vacuum(location: &Location, partial: &Path) -> Result<()> {
    // Readers may not write, not even elsewhere, so this takes a connection of its own.
    let own = Pool::alone(location, &unhurried())?;
    let target = partial.to_string_lossy().into_owned();
    let written = async { own.acquire().await?.run("VACUUM INTO $1", params![target]).await };
    let written = written.await;
    own.close().await;
    written.map(drop)
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
    let (target, _) = Store::open(&location, &unhurried(), store.shared.clock.clone()).await?;
    let copied = copy(store, &target, |_, _| {}).await;
    target.close().await;
    copied
}

/// Flushes the file and gives it its name.
async fn finish(partial: &Path, file: &Path) -> Result<()> {
    let (partial, file) = (partial.to_owned(), file.to_owned());
    let named = tokio::task::spawn_blocking(move || {
        std::fs::File::open(&partial)?.sync_all()?;
        std::fs::rename(&partial, &file)?;
        sync_folder(&file).map(|()| file)
    });
    match named.await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(Error::Unavailable(error.to_string())),
        Err(error) => Err(Error::Broken(error.to_string())),
    }
}

/// Flushes the folder: until then the new name may be gone after a power loss.
//= specs/spexus-store.md#copies
//# A backup MUST be on the disk, under its name, when it is told to be done.
fn sync_folder(file: &Path) -> std::io::Result<()> {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => std::fs::File::open(folder)?.sync_all(),
        _ => std::fs::File::open(".")?.sync_all(),
    }
}

/// Makes the empty file that will be written into. A backup holds password hashes and the key of the tokens like the
/// database itself, so from its first byte only its owner may read it.
//= specs/spexus-store.md#copies
//# A backup MUST be readable by its owner only.
fn make_private(file: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map(drop)
}

fn cannot_write(file: &Path, error: &std::io::Error) -> Error {
    let problem = format!("{} cannot be written: {}", file.display(), error.kind());
    Refusal::field(
        Code::InvalidParams,
        "file",
        problem,
        "a new file in a folder that exists and can be written to",
    )
    .into()
}

/// An operator waits for it, and a large database takes its time.
fn unhurried() -> StoreOptions {
    StoreOptions {
        max_statement_ms: 0,
        ..StoreOptions::default()
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
