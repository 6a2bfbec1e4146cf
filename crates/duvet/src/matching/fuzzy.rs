//! The first place of a text that is at most one edit away from a needle.
//!
//! With one edit, either the first or the second part of the needle stands in the text unchanged, wherever it is
//! parted. So both parts are searched exactly, and only around a hit the other one is compared: no table over the whole
//! section.

/// Finds the places of some bytes in the haystack, overlapping ones too.
pub(super) type FindAll<'a> = dyn Fn(&'a [u8]) -> Box<dyn Iterator<Item = usize> + 'a> + 'a;

/// The bytes of `haystack` at most one edit (insertion, deletion, substitution) away from `needle`; the first such
/// place, and the longest of the matches that begin there. `part` is where the needle is parted.
pub(super) fn find<'a>(
    needle: &'a [u8],
    part: usize,
    haystack: &[u8],
    find_all: &FindAll<'a>,
) -> Option<(usize, usize)> {
    if needle.len() < 2 {
        return None;
    }
    let middle = needle.len() / 2;
    let found = parted(needle, part.clamp(1, needle.len() - 1), haystack, find_all)?;
    if part == middle {
        return Some(found);
    }
    // Of several matches at one place, the one that is found from the middle is taken, wherever the needle was parted.
    let (from, to) = (found.0.saturating_sub(2), (found.1 + 2).min(haystack.len()));
    let around = &haystack[from..to];
    let all = |half: &[u8]| -> Vec<usize> {
        let places = around.windows(half.len()).enumerate();
        places
            .filter(|(_, bytes)| *bytes == half)
            .map(|(at, _)| at)
            .collect()
    };
    let again = parted(needle, middle, around, &|half| Box::new(all(half).into_iter()));
    Some(again.map_or(found, |(start, end)| (from + start, from + end)))
}

fn parted<'a>(
    needle: &'a [u8],
    part: usize,
    haystack: &[u8],
    find_all: &FindAll<'a>,
) -> Option<(usize, usize)> {
    let (left, right) = needle.split_at(part);
    let by_left = find_all(left).find_map(|at| {
        let rest = &haystack[at + left.len()..];
        forward(right, rest).map(|length| (at, at + left.len() + length))
    });
    let by_right = find_all(right).find_map(|at| {
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
        let find_all = |half: &[u8]| -> Box<dyn Iterator<Item = usize>> {
            let hits: Vec<usize> = memchr::memmem::find_iter(haystack.as_bytes(), half).collect();
            Box::new(hits.into_iter())
        };
        let found = find(
            needle.as_bytes(),
            needle.len() / 2,
            haystack.as_bytes(),
            &find_all,
        );
        assert_eq!(
            found.map(|(a, b)| &haystack[a..b]),
            expected,
            "{needle} in {haystack}"
        );
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

    /// Where a needle is parted must not decide what is found: long texts part it elsewhere than short ones.
    #[test]
    fn every_way_to_part_a_needle_finds_the_same() {
        let mut seed = 7_u64;
        let mut next = |below: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        let mut found_any = 0;
        for _ in 0..20_000 {
            let word: Vec<u8> = (0..6 + next(6)).map(|_| b"abc d"[next(5)]).collect();
            let mut needle = word.clone();
            match next(4) {
                0 => drop(needle.remove(next(word.len()))),
                1 => needle.insert(next(word.len()), b'x'),
                2 => needle[next(word.len())] = b'y',
                _ => {}
            }
            let mut text: Vec<u8> = (0..next(12)).map(|_| b"abc d"[next(5)]).collect();
            text.extend(&word);
            text.extend((0..next(12)).map(|_| b"abc d"[next(5)]));
            let all = |half: &[u8]| -> Vec<usize> {
                let windows = text.windows(half.len()).enumerate();
                windows
                    .filter(|(_, window)| *window == half)
                    .map(|(at, _)| at)
                    .collect()
            };
            let find_all =
                |half: &[u8]| -> Box<dyn Iterator<Item = usize>> { Box::new(all(half).into_iter()) };
            // Texts that hold the needle as it is never come here.
            if memchr::memmem::find(&text, &needle).is_some() {
                continue;
            }
            let middle = find(&needle, needle.len() / 2, &text, &find_all);
            found_any += usize::from(middle.is_some());
            for part in 1..needle.len() {
                let found = find(&needle, part, &text, &find_all);
                let show =
                    |at: Option<(usize, usize)>| at.map(|(a, b)| (a, String::from_utf8_lossy(&text[a..b])));
                assert_eq!(
                    show(found),
                    show(middle),
                    "{} parted at {part} in {}",
                    String::from_utf8_lossy(&needle),
                    String::from_utf8_lossy(&text)
                );
            }
        }
        assert!(found_any > 5_000, "{found_any}");
    }
}
