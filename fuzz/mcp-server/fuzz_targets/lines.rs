//! Any bytes in any pieces: the same lines come out, long ones are told once, and memory is bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_server::lines::{Line, LineBuffer};

const MAX: usize = 16;

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (bytes, cuts) = input;
    let mut buffer = LineBuffer::new(MAX);
    let mut found = Vec::new();
    let mut rest = bytes.as_slice();
    let mut cuts = cuts.iter().cycle();
    while !rest.is_empty() {
        let cut = usize::from(*cuts.next().unwrap_or(&7)).clamp(1, rest.len());
        buffer.space(cut).extend_from_slice(&rest[..cut]);
        rest = &rest[cut..];
        while let Some(line) = buffer.next() {
            found.push(own(&line));
        }
    }
    found.extend(buffer.rest().map(|line| own(&line)));
    assert_eq!(found, reference(&bytes));
});

fn own(line: &Line<'_>) -> Option<Vec<u8>> {
    match line {
        Line::Text(text) => {
            assert!(text.len() <= MAX);
            Some(text.to_vec())
        }
        Line::TooLong(start) => {
            assert!(start.len() <= MAX);
            None
        }
    }
}

/// The same, written without any thought of speed or memory.
fn reference(bytes: &[u8]) -> Vec<Option<Vec<u8>>> {
    let mut lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    let short = |line: &&[u8]| {
        // A line is too long by what arrived before its end was seen; its carriage return may be the byte too much.
        let line = *line;
        let trimmed = line.strip_suffix(b"\r").unwrap_or(line);
        (trimmed.len() <= MAX).then(|| trimmed.to_vec())
    };
    lines.iter().map(short).collect()
}
