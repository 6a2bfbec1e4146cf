//! The first place of a text that is at most one edit away from a needle.
//!
//! With one edit, either the first half or the second half of the needle stands in the text unchanged. So both halves
//! are searched exactly, and only around a hit the other half is compared: no table over the whole section.

use memchr::memmem;

/// The bytes of `haystack` at most one edit (insertion, deletion, substitution) away from `needle`; the first such
/// place, and the longest of the matches that begin there.
pub(super) fn find(needle: &[u8], haystack: &[u8]) -> Option<(usize, usize)> {
    if needle.len() < 2 {
        return None;
    }
    let (left, right) = needle.split_at(needle.len() / 2);
    let by_left = memmem::find_iter(haystack, left).find_map(|at| {
        let rest = &haystack[at + left.len()..];
        forward(right, rest).map(|length| (at, at + left.len() + length))
    });
    let by_right = memmem::find_iter(haystack, right).find_map(|at| {
        let length = backward(left, &haystack[..at])?;
        Some((at - length, at + right.len()))
    });
    match (by_left, by_right) {
        (Some(a), Some(b)) => Some(if b.1 < a.1 { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// How much of the start of `text` is at most one edit away from `wanted`.
fn forward(wanted: &[u8], text: &[u8]) -> Option<usize> {
    let same = wanted.iter().zip(text).take_while(|(a, b)| a == b).count();
    if same == wanted.len() {
        return Some(same);
    }
    let tail = &wanted[same + 1..];
    let starts = |from: usize, tail: &[u8]| text.len() >= from && text[from..].starts_with(tail);
    if starts(same + 1, &wanted[same..]) {
        return Some(wanted.len() + 1);
    }
    if text.len() > same && starts(same + 1, tail) {
        return Some(wanted.len());
    }
    starts(same, tail).then(|| wanted.len() - 1)
}

/// How much of the end of `text` is at most one edit away from `wanted`.
fn backward(wanted: &[u8], text: &[u8]) -> Option<usize> {
    let same = wanted
        .iter()
        .rev()
        .zip(text.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    if same == wanted.len() {
        return Some(same);
    }
    let head = &wanted[..wanted.len() - same - 1];
    let ends = |cut: usize, head: &[u8]| text.len() >= cut && text[..text.len() - cut].ends_with(head);
    if ends(same + 1, &wanted[..wanted.len() - same]) {
        return Some(wanted.len() + 1);
    }
    if text.len() > same && ends(same + 1, head) {
        return Some(wanted.len());
    }
    ends(same, head).then(|| wanted.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(needle: &str, haystack: &str, expected: Option<&str>) {
        let found = find(needle.as_bytes(), haystack.as_bytes()).map(|(a, b)| &haystack[a..b]);
        assert_eq!(found, expected, "{needle} in {haystack}");
    }

    #[test]
    fn one_edit_is_found_wherever_it_is() {
        check(
            "for a short time.",
            "only for a short time, as they",
            Some("for a short time,"),
        );
        check("towards them", "go toward them now", Some("toward them"));
        check("data but not", "sent data, but not more", Some("data, but not"));
        check("xbcdef", "__abcdef__", Some("abcdef"));
        check("abcdef", "__abcde", Some("abcde"));
        check("abcdef", "bcdef", Some("bcdef"));
        check("abcdef", "__abxdxf__", None);
        check("a", "a", None);
    }
}
