//! What a write is measured against: a bare transaction that inserts one row and is flushed to the disk, over and over,
//! with the same library and the same settings. `cargo xtask bench rest` runs it beside the real server.
//!
//! Arguments: a file, and for how many seconds. It prints transactions per second. It shares nothing with the store but
//! the library, because what it measures is the floor the disk and the library give us.
#![allow(clippy::print_stdout, reason = "the benchmark reads the figure from here")]

use std::time::{Duration, Instant};

const TEXT: &str =
    "The user signs in with a passkey kept on the device, without a password, within two seconds.";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which file?")?;
    let seconds: f64 = arguments.next().ok_or("how many seconds?")?.parse()?;
    let connection = rusqlite::Connection::open(file)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS row (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT",
    )?;
    let (start, length) = (Instant::now(), Duration::from_secs_f64(seconds));
    let mut written = 0;
    while start.elapsed() < length {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        connection
            .prepare_cached("INSERT INTO row (text) VALUES (?1)")?
            .execute([TEXT])?;
        connection.prepare_cached("COMMIT")?.execute([])?;
        written += 1;
    }
    println!("{}", f64::from(written) / start.elapsed().as_secs_f64());
    Ok(())
}
