//! What a write is measured against: a bare transaction that inserts one row and is flushed to the disk, over and over,
//! with the same library and the same settings. `cargo xtask bench rest` runs it beside the real server.
//!
//! Arguments: a file, and for how many seconds. It prints transactions per second. It shares nothing with the store but
//! sqlx, because what it measures is the floor the disk and the library give us.
#![allow(clippy::print_stdout, reason = "the benchmark reads the figure from here")]

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Executor as _};
use std::time::{Duration, Instant};

const TEXT: &str =
    "The user signs in with a passkey kept on the device, without a password, within two seconds.";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which file?")?;
    let seconds: f64 = arguments.next().ok_or("how many seconds?")?.parse()?;
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    let options = options
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let mut connection = options.connect().await?;
    connection
        .execute("CREATE TABLE IF NOT EXISTS row (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT")
        .await?;
    let (start, length) = (Instant::now(), Duration::from_secs_f64(seconds));
    let mut written = 0;
    while start.elapsed() < length {
        connection.execute("BEGIN IMMEDIATE").await?;
        sqlx::query("INSERT INTO row (text) VALUES ($1)")
            .bind(TEXT)
            .execute(&mut connection)
            .await?;
        connection.execute("COMMIT").await?;
        written += 1;
    }
    println!("{}", f64::from(written) / start.elapsed().as_secs_f64());
    Ok(())
}
