//! One HTTP exchange over a blocking socket that tells apart what a writer must tell apart: answered, refused, broken.

use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Longer than any limit of the server: silence for this long is a finding.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to one node.
pub(crate) struct Connection {
    stream: TcpStream,
    token: String,
}

/// A status and the JSON that came with it.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Connection {
    pub(crate) fn open(address: &str, token: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            token: token.to_owned(),
        })
    }

    /// Sends a request with extra header lines, each ending in CRLF, and reads the whole answer.
    pub(crate) fn exchange(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Result<Answer> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n{headers}\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        self.stream.write_all(request.as_bytes())?;
        let mut read = Vec::new();
        let body_at = loop {
            self.more(&mut read)?;
            if let Some(at) = read.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
        };
        let head = String::from_utf8_lossy(&read[..body_at]).to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        while read.len() < body_at + length {
            self.more(&mut read)?;
        }
        let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
        Ok(Answer {
            status: status.ok_or_else(|| Error::new(ErrorKind::InvalidData, "no status"))?,
            body: serde_json::from_slice(&read[body_at..]).unwrap_or(Value::Null),
        })
    }

    fn more(&mut self, read: &mut Vec<u8>) -> Result<()> {
        let mut part = [0; 16 << 10];
        match self.stream.read(&mut part)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            count => {
                read.extend_from_slice(&part[..count]);
                Ok(())
            }
        }
    }
}
