//! Measures the runtime from outside: a raw pipelining driver against child processes over real pipes, the same driver
//! against the official SDK, and HTTP beside a bare axum route.
//!
//! Build all examples in release first, then run this one; it finds the others beside itself:
//! `cargo build --profile dist -p mcp-server --examples && cargo run --profile dist -p mcp-server --example drive`
//!
//! `--messages N` sets the length of a run, `--only access` measures one part, `--json FILE` writes the figures to a file,
//! too.

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
    let figures = match options.only.as_deref() {
        Some("access") => access::measure()?,
        Some(other) => return Err(format!("there is no part {other}").into()),
        None => measure_all(options.messages)?,
    };
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

fn measure_all(messages: usize) -> Result<Vec<Figure>, Box<dyn Error>> {
    let mut figures = memory::measure_sessions()?;
    figures.extend(pipe::measure(messages)?);
    figures.extend(memory::measure_pressure()?);
    figures.extend(http::measure(messages)?);
    figures.extend(access::measure()?);
    Ok(figures)
}

struct Options {
    messages: usize,
    only: Option<String>,
    json: Option<String>,
}

impl Options {
    fn read() -> Result<Self, Box<dyn Error>> {
        let mut options = Options {
            messages: 400_000,
            only: None,
            json: None,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or("an option wants a value")?;
            match name.as_str() {
                "--messages" => options.messages = value.parse()?,
                "--only" => options.only = Some(value),
                "--json" => options.json = Some(value),
                other => return Err(format!("there is no option {other}").into()),
            }
        }
        Ok(options)
    }
}
