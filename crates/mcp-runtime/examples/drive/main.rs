//! Measures the runtime from outside: a raw pipelining driver against child processes over real pipes, the same driver
//! against the official SDK, and HTTP beside a bare axum route.
//!
//! Build all examples in release first, then run this one; it finds the others beside itself:
//! `cargo build --release -p mcp-runtime --examples && cargo run --release -p mcp-runtime --example drive`
//!
//! `--messages N` sets the length of a run, `--json FILE` writes the figures to a file, too.

#![allow(clippy::print_stdout, reason = "a report is what this program is for")]

mod access;
mod http;
mod memory;
mod pipe;

use std::error::Error;

use serde_json::{Value, json};

/// One line of the report.
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) goal: String,
}

impl Figure {
    pub(crate) fn new(name: &'static str, value: f64, unit: &'static str, goal: impl Into<String>) -> Self {
        Self {
            name,
            value,
            unit,
            goal: goal.into(),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::read()?;
    let mut figures = memory::measure_sessions()?;
    figures.extend(pipe::measure(options.messages)?);
    figures.extend(memory::measure_pressure()?);
    figures.extend(http::measure(options.messages)?);
    figures.extend(access::measure()?);
    println!("| what | measured | unit | goal |\n|---|---:|---|---|");
    for figure in &figures {
        println!(
            "| {} | {:.1} | {} | {} |",
            figure.name, figure.value, figure.unit, figure.goal
        );
    }
    let list: Vec<Value> = figures
        .iter()
        .map(|f| json!({ "name": f.name, "value": f.value, "unit": f.unit, "goal": f.goal }))
        .collect();
    println!("{}", json!(list));
    if let Some(file) = options.json {
        std::fs::write(file, json!(list).to_string())?;
    }
    Ok(())
}

struct Options {
    messages: usize,
    json: Option<String>,
}

impl Options {
    fn read() -> Result<Self, Box<dyn Error>> {
        let mut options = Options {
            messages: 400_000,
            json: None,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or("an option wants a value")?;
            match name.as_str() {
                "--messages" => options.messages = value.parse()?,
                "--json" => options.json = Some(value),
                other => return Err(format!("there is no option {other}").into()),
            }
        }
        Ok(options)
    }
}
