//! What judging costs: `cargo run --release -p spexus-lint --example lint_speed` prints microseconds for each sentence.

#![allow(clippy::print_stdout, reason = "a measurement is printed")]

use std::time::Instant;

use spexus_lint::{Options, check};

fn main() {
    let rows = include_str!("../../../docs/language/sentences.tsv").lines();
    let texts: Vec<&str> = rows
        .filter(|row| row.starts_with(|c: char| c.is_ascii_digit()))
        .filter_map(|row| row.split('\t').next_back())
        .collect();
    let options = Options::default();
    let judge = || {
        texts
            .iter()
            .map(|text| check(text, &options).len())
            .sum::<usize>()
    };
    let findings = judge();
    let rounds = 20_u32;
    let begun = Instant::now();
    for _ in 0..rounds {
        assert_eq!(judge(), findings);
    }
    let each = begun.elapsed().as_secs_f64() * 1e6 / (f64::from(rounds) * texts.len() as f64);
    println!(
        "{} sentences, {findings} findings, {each:.1} µs for each sentence",
        texts.len()
    );
}
