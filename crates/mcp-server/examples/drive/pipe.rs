//! Messages over the pipes of a child process: one thread writes as fast as it can, one counts answers.

use std::error::Error;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use crate::Figure;

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"drive","version":"1"}}}"#,
    "\n",
);
const READY: &str = concat!(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "\n");

pub(crate) fn measure(messages: usize) -> Result<Vec<Figure>, Box<dyn Error>> {
    let ping = rate("echo", messages * 4, |id| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
    })?;
    let inline = rate("echo", messages * 2, |id| call(id, "echo"))?;
    let task = rate("echo", messages, |id| call(id, "echo_task"))?;
    let rmcp_ping = rate("rmcp_echo", messages / 8, |id| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
    })?;
    let rmcp = rate("rmcp_echo", messages / 8, |id| call(id, "echo"))?;
    Ok(vec![
        Figure::new("stdio ping", ping, "msg/s", "≥ 800,000"),
        Figure::new(
            "stdio tools/call, ready tool inline",
            inline,
            "msg/s",
            "≥ 400,000",
        ),
        Figure::new("stdio tools/call, one task each", task, "msg/s", "≥ 150,000"),
        Figure::new("rmcp stdio ping", rmcp_ping, "msg/s", "for comparison"),
        Figure::new("rmcp stdio tools/call", rmcp, "msg/s", "for comparison"),
        Figure::new("one task each, against rmcp", task / rmcp, "×", "≥ 5"),
    ])
}

/// A child that has shaken hands.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) input: ChildStdin,
    pub(crate) output: ChildStdout,
}

impl Server {
    pub(crate) fn start(name: &str) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(beside(name)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(mut input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the child has no pipes".into());
        };
        input.write_all(HELLO.as_bytes())?;
        count_lines(&mut output, 1)?;
        input.write_all(READY.as_bytes())?;
        Ok(Self { child, input, output })
    }

    pub(crate) fn stop(mut self) -> Result<(), Box<dyn Error>> {
        drop(self.input);
        self.child.wait()?;
        Ok(())
    }
}

pub(crate) fn call(id: usize, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"hello over there"}}}}}}"#
    )
}

/// Answers a second: the requests are made beforehand, so that only the server is measured.
fn rate(server: &str, messages: usize, request: impl Fn(usize) -> String) -> Result<f64, Box<dyn Error>> {
    let mut text = String::new();
    for id in 1..=messages {
        text.push_str(&request(id));
        text.push('\n');
    }
    let mut server = Server::start(server)?;
    let started = Instant::now();
    std::thread::scope(|scope| -> Result<(), Box<dyn Error>> {
        let input = &mut server.input;
        let writer = scope.spawn(move || input.write_all(text.as_bytes()));
        count_lines(&mut server.output, messages)?;
        writer.join().map_err(|_| "the writer panicked")??;
        Ok(())
    })?;
    let rate = messages as f64 / started.elapsed().as_secs_f64();
    server.stop()?;
    Ok(rate)
}

pub(crate) fn count_lines(output: &mut ChildStdout, lines: usize) -> Result<(), Box<dyn Error>> {
    let mut buffer = vec![0; 1 << 18];
    let mut seen = 0;
    while seen < lines {
        let read = output.read(&mut buffer)?;
        if read == 0 {
            return Err(format!("the server closed its side after {seen} of {lines} answers").into());
        }
        seen += memchr::memchr_iter(b'\n', &buffer[..read]).count();
    }
    Ok(())
}

fn beside(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let path = std::env::current_exe()?.with_file_name(name);
    if !path.exists() {
        return Err(format!("{name} is not built; build all examples in release first").into());
    }
    Ok(path)
}
