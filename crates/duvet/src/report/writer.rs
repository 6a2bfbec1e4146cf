//! JSON written straight into memory. The reports are made of millions of small values; a tree of them would cost more than
//! the text.

use crate::output::Sink;
use rayon::prelude::*;
use std::io;

/// The members of a list, with commas between them.
pub(super) fn list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut each: impl FnMut(&mut Vec<u8>, T),
) {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        each(out, item);
    }
}

/// So many members are rendered beside each other, before they are handed on.
const MEMBERS_AT_A_TIME: usize = 16;

/// Renders the members of a list side by side and hands them on in their order, with commas between them. Their memory is
/// used again for the next ones: a report may be as large as all specifications together, and nobody needs it in one piece.
pub(super) fn hand_on<T: Sync>(
    sink: &mut Sink<'_>,
    members: &[T],
    render: impl Fn(&mut Vec<u8>, &T) + Sync,
) -> io::Result<()> {
    let mut buffers = vec![Vec::new(); members.len().min(MEMBERS_AT_A_TIME)];
    let mut is_first = true;
    for group in members.chunks(MEMBERS_AT_A_TIME) {
        let pairs = buffers.par_iter_mut().zip(group).with_max_len(1);
        pairs.for_each(|(buffer, member)| {
            buffer.clear();
            buffer.push(b',');
            render(buffer, member);
        });
        for buffer in &buffers[..group.len()] {
            sink(&buffer[usize::from(std::mem::take(&mut is_first))..])?;
        }
    }
    Ok(())
}

/// All that is handed on, in one piece.
pub(super) fn gather(render: impl FnOnce(&mut Sink<'_>) -> io::Result<()>) -> Vec<u8> {
    let mut all = Vec::new();
    let gathered = render(&mut |bytes| {
        all.extend_from_slice(bytes);
        Ok(())
    });
    debug_assert!(gathered.is_ok(), "memory takes everything");
    all
}

/// A list of numbers.
pub(super) fn numbers<N: Copy + Into<u64>>(out: &mut Vec<u8>, items: impl IntoIterator<Item = N>) {
    out.push(b'[');
    let mut is_first = true;
    for item in items {
        if !std::mem::take(&mut is_first) {
            out.push(b',');
        }
        number(out, item);
    }
    out.push(b']');
}

/// `"name":"value",`, or nothing.
pub(super) fn field(out: &mut Vec<u8>, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        key(out, name);
        string(out, value);
        out.push(b',');
    }
}

/// `"name":`
pub(super) fn key(out: &mut Vec<u8>, name: &str) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// Ends an object whose fields all end with a comma.
pub(super) fn close(out: &mut Vec<u8>) {
    if out.last() == Some(&b',') {
        out.pop();
    }
    out.push(b'}');
}

/// A number.
pub(super) fn number(out: &mut Vec<u8>, value: impl Into<u64>) {
    let mut value = value.into();
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// A string, as every JSON writer has it.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    escaped(out, text, |byte| (byte < 0x20) | (byte == b'"') | (byte == b'\\'));
}

//= specs/duvet.md#inside-the-fence
//# Text of a project MUST NOT break out of the page's data or of a requirement file.
/// A string inside a script element, where `</script` ends the data and `<!--<script` keeps it from ending.
pub(super) fn page_string(out: &mut Vec<u8>, text: &str) {
    escaped(out, text, |byte| {
        (byte < 0x20) | (byte == b'"') | (byte == b'\\') | (byte == b'<')
    });
}

fn escaped(out: &mut Vec<u8>, text: &str, is_special: impl Fn(u8) -> bool + Copy) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    if is_plain(bytes, is_special) {
        out.extend_from_slice(bytes);
    } else {
        escape(out, bytes, is_special);
    }
    out.push(b'"');
}

fn escape(out: &mut Vec<u8>, bytes: &[u8], is_special: impl Fn(u8) -> bool) {
    let mut done = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if !is_special(byte) {
            continue;
        }
        out.extend_from_slice(&bytes[done..at]);
        done = at + 1;
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
    }
    out.extend_from_slice(&bytes[done..]);
}

/// So many bytes are looked at in one step of the machine.
const LANE_BYTES: usize = 16;

/// Whether no byte needs an escape. Nearly every line of a text is such a one, and the last lane of a line overlaps the one
/// before it, so that none is looked at byte by byte.
fn is_plain(bytes: &[u8], is_special: impl Fn(u8) -> bool + Copy) -> bool {
    // Without a way out in the middle, so that it is compiled to one comparison of all.
    let is_plain = |lane: &[u8; LANE_BYTES]| !lane.iter().fold(false, |any, byte| any | is_special(*byte));
    match bytes.last_chunk::<LANE_BYTES>() {
        Some(last) => bytes.as_chunks::<LANE_BYTES>().0.iter().all(is_plain) && is_plain(last),
        None => !bytes.iter().any(|byte| is_special(*byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_numbers_are_those_of_any_json_writer() {
        let every: String = (0..0x300).filter_map(char::from_u32).collect();
        for text in [
            "",
            "plain",
            "\"\\\n\r\t\u{8}\u{c}\u{0}\u{1f}\u{7f}é",
            "</script><!--",
            &every,
        ] {
            let mut out = Vec::new();
            string(&mut out, text);
            assert_eq!(
                String::from_utf8(out).unwrap(),
                serde_json::to_string(text).unwrap()
            );
            let mut page = Vec::new();
            page_string(&mut page, text);
            assert!(!page.contains(&b'<'));
            assert_eq!(serde_json::from_slice::<String>(&page).unwrap(), text);
        }
        for at in 0..40 {
            let mut text = "x".repeat(40);
            text.insert(at, '"');
            let mut out = Vec::new();
            string(&mut out, &text);
            assert_eq!(
                String::from_utf8(out).unwrap(),
                serde_json::to_string(&text).unwrap()
            );
        }
        for value in [0_u64, 7, 10, 1_234_567_890, u64::MAX] {
            let mut out = Vec::new();
            number(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }
}
