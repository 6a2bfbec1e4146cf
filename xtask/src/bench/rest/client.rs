//! A plain HTTP/1.1 client over a blocking socket: as little of its own as possible stands between the clock and the
//! server.

use super::process::Server;
use anyhow::{Context as _, Result, bail};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A connection that is kept open.
pub(in crate::bench) struct Client {
    stream: TcpStream,
    host: String,
    authorization: String,
    buffer: Vec<u8>,
}

impl Client {
    pub(in crate::bench) fn connect(server: &Server) -> Result<Self> {
        let stream = TcpStream::connect(&server.address).with_context(|| server.address.clone())?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let authorization = match server.token.as_str() {
            "" => String::new(),
            token => format!("authorization: Bearer {token}\r\n"),
        };
        Ok(Self {
            stream,
            host: server.address.clone(),
            authorization,
            buffer: vec![0; 4 << 20],
        })
    }

    pub(in crate::bench) fn get(&mut self, path: &str) -> Result<String> {
        let request = self.request("GET", path, None);
        self.send(&request)
    }

    /// How many bytes of a page go over the wire when it is compressed.
    pub(in crate::bench) fn compressed_bytes(&mut self, path: &str) -> Result<usize> {
        let request = self.request("GET", path, None);
        let asking = "host: bench\r\naccept-encoding: gzip\r\n";
        self.stream
            .write_all(request.replacen("host: bench\r\n", asking, 1).as_bytes())?;
        // A compressed answer comes in pieces of unknown length; the last one is empty.
        let mut read = 0;
        while !self.buffer[..read].ends_with(b"\r\n0\r\n\r\n") {
            read += self.more(read)?;
        }
        let text = &self.buffer[..read];
        let head_end = text.windows(4).position(|window| window == b"\r\n\r\n");
        let head_end = head_end.context("the answer has a head")? + 4;
        if !text.starts_with(b"HTTP/1.1 2") {
            bail!("{path}: {}", String::from_utf8_lossy(&text[..head_end]));
        }
        Ok(read - head_end)
    }

    pub(in crate::bench) fn post(&mut self, path: &str, body: &str) -> Result<String> {
        let request = self.request("POST", path, Some(body));
        self.send(&request)
    }

    pub(in crate::bench) fn patch(&mut self, path: &str, body: &str) -> Result<String> {
        let request = self.request("PATCH", path, Some(body));
        self.send(&request)
    }

    fn request(&self, method: &str, path: &str, body: Option<&str>) -> String {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: bench\r\n{}",
            self.authorization
        );
        match body {
            None => format!("{head}\r\n"),
            Some(body) => format!(
                "{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ),
        }
    }

    /// A call of a tool in the stateless era, which needs no session.
    pub(in crate::bench) fn tool_call(&self, tool: &str, arguments: &str) -> String {
        let version = "2026-07-28";
        let meta = format!(
            r#"{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}}}"#
        );
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{meta}}}}}"#
        );
        format!(
            "POST /api/v1/mcp HTTP/1.1\r\nhost: {}\r\n{}accept: application/json, text/event-stream\r\n\
             mcp-protocol-version: {version}\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.host,
            self.authorization,
            body.len()
        )
    }

    /// Opens a session; gives its id.
    pub(in crate::bench) fn hello(&mut self) -> Result<String> {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
        let request = self.request("POST", "/api/v1/mcp", Some(body));
        let (head, _) = self.exchange(&request)?;
        let id = head
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "));
        Ok(id.context("a session")?.to_owned())
    }

    /// A call of a tool in a session.
    pub(in crate::bench) fn call_in(&mut self, session: &str, tool: &str, arguments: &str) -> Result<String> {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        );
        let request = self.request("POST", "/api/v1/mcp", Some(&body));
        let named = format!("host: bench\r\nmcp-session-id: {session}\r\n");
        self.send(&request.replacen("host: bench\r\n", &named, 1))
    }

    /// Sends a request and reads the whole answer; anything but 2xx is an error.
    fn send(&mut self, request: &str) -> Result<String> {
        self.exchange(request).map(|(_, body)| body)
    }

    /// The head, in lower case, and the body of an answer.
    fn exchange(&mut self, request: &str) -> Result<(String, String)> {
        self.stream.write_all(request.as_bytes())?;
        let mut read = 0;
        let head_end = loop {
            read += self.more(read)?;
            if let Some(at) = self.buffer[..read]
                .windows(4)
                .position(|window| window == b"\r\n\r\n")
            {
                break at + 4;
            }
        };
        let head = String::from_utf8_lossy(&self.buffer[..head_end]).to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .context("the answer has a length")?;
        let end = head_end + length.trim().parse::<usize>()?;
        while read < end {
            read += self.more(read)?;
        }
        let body = String::from_utf8_lossy(&self.buffer[head_end..end]).into_owned();
        if !head.starts_with("http/1.1 2") {
            bail!("{}: {body}", head.lines().next().unwrap_or_default());
        }
        Ok((head, body))
    }

    fn more(&mut self, read: usize) -> Result<usize> {
        match self.stream.read(&mut self.buffer[read..])? {
            0 => bail!("the server hung up"),
            more => Ok(more),
        }
    }
}

/// Requests a second that some clients get through, each sending the next when it has its answer.
pub(in crate::bench) fn rate(
    server: &Server,
    clients: usize,
    length: Duration,
    method: &str,
    path: &str,
    body: Option<&str>,
) -> Result<f64> {
    rate_of(server, clients, length, |client| {
        client.request(method, path, body)
    })
}

/// The same for any request.
pub(in crate::bench) fn rate_of(
    server: &Server,
    clients: usize,
    length: Duration,
    request: impl Fn(&Client) -> String + Sync,
) -> Result<f64> {
    let counts = std::thread::scope(|scope| {
        let driving: Vec<_> = (0..clients)
            .map(|_| {
                scope.spawn(|| -> Result<u32> {
                    let mut client = Client::connect(server)?;
                    let request = request(&client);
                    let (start, mut count) = (Instant::now(), 0);
                    while start.elapsed() < length {
                        client.send(&request)?;
                        count += 1;
                    }
                    Ok(count)
                })
            })
            .collect();
        driving
            .into_iter()
            .map(|client| client.join().map_err(|_| anyhow::anyhow!("a client panicked"))?)
            .collect::<Result<Vec<u32>>>()
    })?;
    Ok(counts.into_iter().map(f64::from).sum::<f64>() / length.as_secs_f64())
}

/// The median time of one request.
pub(super) fn median_seconds(server: &Server, path: &str, requests: usize) -> Result<f64> {
    let times = times(server, &[path.to_owned()], requests)?;
    Ok(times[times.len() / 2])
}

/// The time that 99 of 100 searches stay below.
pub(super) fn p99_seconds(server: &Server, queries: &[&str], requests: usize) -> Result<f64> {
    let paths: Vec<String> = queries
        .iter()
        .map(|query| format!("/api/v1/search?query={}", encode(query)))
        .collect();
    let times = times(server, &paths, requests)?;
    Ok(times[times.len() * 99 / 100])
}

/// The times of some requests, shortest first.
fn times(server: &Server, paths: &[String], requests: usize) -> Result<Vec<f64>> {
    let mut client = Client::connect(server)?;
    let mut times = Vec::with_capacity(requests);
    for path in paths.iter().cycle().take(requests) {
        let start = Instant::now();
        client.get(path)?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}
