//! Log lines on their way out: whatever looks like a token is replaced, wherever it came from.

use std::io::{self, Write};

/// What secrets begin with: tokens, and those of web sessions.
const MARKS: [&[u8]; 2] = [b"mcp_pat_", b"spexus_session_"];

/// Standard error, without tokens.
pub(super) fn stderr() -> Redacting<io::Stderr> {
    Redacting(io::stderr())
}

// Fulfils 003 R13.3, 002 Req-Sec-003
/// A writer that lets no token through. A line comes in one piece, which is how log lines are written.
pub(super) struct Redacting<W>(W);

impl<W: Write> Write for Redacting<W> {
    //= specs/spexus-bridge.md#logs
    //# A token MUST NOT be written to the log, wherever it came from.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if first_mark(line).is_none() {
            return self.0.write(line);
        }
        self.0.write_all(&redacted(line))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A text without the secrets in it.
pub(super) fn redacted_text(text: &str) -> Option<String> {
    first_mark(text.as_bytes())?;
    String::from_utf8(redacted(text.as_bytes())).ok()
}

/// Where the first secret begins.
fn first_mark(line: &[u8]) -> Option<usize> {
    let at = |mark: &[u8]| line.windows(mark.len()).position(|piece| piece == mark);
    MARKS.into_iter().filter_map(at).min()
}

fn redacted(line: &[u8]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = first_mark(rest) {
        let (before, token) = rest.split_at(at);
        clean.extend_from_slice(before);
        clean.extend_from_slice(b"[token]");
        let secret = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let end = token.iter().position(|byte| !secret(byte)).unwrap_or(token.len());
        rest = &token[end..];
    }
    clean.extend_from_slice(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves 003 R13.3, 002 Req-Sec-003
    //= specs/spexus-bridge.md#logs
    //= type=test
    //# A token MUST NOT be written to the log, wherever it came from.
    #[test]
    fn tokens_are_replaced_wherever_they_stand() {
        let cases = [
            ("nothing here", "nothing here"),
            (
                "a mcp_pat_Ab-9_x, and \"mcp_pat_second\"",
                "a [token], and \"[token]\"",
            ),
            ("at the end mcp_pat_", "at the end [token]"),
            ("spexus_session_aB-_9; mcp_pat_x", "[token]; [token]"),
            (
                "a cookie spexus_session=spexus_session_x",
                "a cookie spexus_session=[token]",
            ),
        ];
        for (line, expect) in cases {
            let mut out = Redacting(Vec::new());
            out.write_all(line.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(out.0).unwrap(), expect);
        }
    }
}
