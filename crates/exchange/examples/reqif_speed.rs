//! What reading ReqIF costs: `cargo run --release -p exchange --example reqif_speed -- FILE` prints MB/s of the file many times over.

#![allow(clippy::print_stdout, reason = "a measurement is printed")]

use std::time::Instant;

use exchange::reqif::Document;
use exchange::xml::{self, XmlLimits};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("a file")?;
    let bytes = std::fs::read(file)?;
    let rounds = (20 << 20) / bytes.len().max(1) + 1;
    let megabytes = (rounds * bytes.len()) as f64 / 1e6;
    let document = Document::read(&bytes).map_err(|odd| odd.to_string())?;
    let begun = Instant::now();
    for _ in 0..rounds {
        document
            .reading(&XmlLimits::default())
            .map_err(|odd| odd.to_string())?;
    }
    let read = begun.elapsed().as_secs_f64();
    let text = std::str::from_utf8(&bytes)?;
    let begun = Instant::now();
    for _ in 0..rounds {
        xml::parse(text, &XmlLimits::default()).map_err(|odd| odd.to_string())?;
    }
    let parsed = begun.elapsed().as_secs_f64();
    println!(
        "{:.0} MB/s with its meaning, {:.0} MB/s as a tree",
        megabytes / read,
        megabytes / parsed
    );
    Ok(())
}
