//! JSON written straight into memory. The reports are made of millions of small values; a tree of them would cost more than
//! the text.

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

/// Members of a list that were rendered each by itself, with commas between them.
pub(super) fn push_list(chunks: &mut Vec<Vec<u8>>, members: Vec<Vec<u8>>) {
    for (index, member) in members.into_iter().enumerate() {
        if index > 0 {
            chunks.push(vec![b',']);
        }
        chunks.push(member);
    }
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
    escaped(out, text, |byte| byte < 0x20 || matches!(byte, b'"' | b'\\'));
}

//= specs/duvet.md#inside-the-fence
//# Text of a project MUST NOT break out of the page's data or of a requirement file.
/// A string inside a script element, where `</script` ends the data and `<!--<script` keeps it from ending.
pub(super) fn page_string(out: &mut Vec<u8>, text: &str) {
    escaped(out, text, |byte| {
        byte < 0x20 || matches!(byte, b'"' | b'\\' | b'<')
    });
}

fn escaped(out: &mut Vec<u8>, text: &str, is_special: impl Fn(u8) -> bool) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut done = 0;
    let mut at = 0;
    while at < bytes.len() {
        at += plain(&bytes[at..]);
        let Some(&byte) = bytes.get(at) else { break };
        at += 1;
        if !is_special(byte) {
            continue;
        }
        out.extend_from_slice(&bytes[done..at - 1]);
        done = at;
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
    out.push(b'"');
}

/// How many bytes at the front surely need no escape, eight at a time: those that are none of `"`, `<`, `\\` and no
/// control characters.
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut skipped = 0;
    for eight in bytes.as_chunks::<8>().0 {
        let word = u64::from_le_bytes(*eight);
        // Bytes above 0x7f are letters of several bytes; their high bit must not look like a borrow.
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let marks = is_zero(word ^ (ONES * u64::from(b'"')))
            | is_zero(word ^ (ONES * u64::from(b'\\')))
            | is_zero(word ^ (ONES * u64::from(b'<')));
        if control | marks != 0 {
            break;
        }
        skipped += 8;
    }
    skipped
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
        for value in [0_u64, 7, 10, 1_234_567_890, u64::MAX] {
            let mut out = Vec::new();
            number(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }
}
