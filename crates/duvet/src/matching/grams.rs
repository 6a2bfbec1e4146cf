//! Where a quote stands in a long text, without reading the text for each quote.
//!
//! A section may be a megabyte and quoted twenty thousand times. Every eight bytes of such a text are written down with
//! their place; a quote is then looked for only where its rarest eight bytes are. Short texts are searched as they are.
//!
//! A quote with one edit has one of its two parts unchanged, wherever it is parted. It is parted in the middle, unless
//! both halves are all over the text, as in twenty thousand sentences that differ in a number: then where both parts are
//! rare, which is inside the number.

use memchr::memmem;

/// Texts below this size are searched faster than indexed.
const LEAST_INDEXED_BYTES: usize = 64 << 10;
const GRAM_BYTES: usize = 8;
/// Every so many bytes of a quote are tried for the rarest ones.
const STRIDE_BYTES: usize = 4;
/// A half that stands in so few places needs no better one.
const FEW_PLACES: usize = 32;

//= specs/duvet.md#growth
//# Four times as many requirements, sections, citations or missing quotes MUST NOT take more than about four times the work.
/// The places of every eight bytes of a text, by their hash.
#[derive(Debug, Default)]
pub(super) struct Grams {
    places: Vec<(u32, u32)>,
}

impl Grams {
    /// The index of a text; empty for a short one.
    pub(super) fn new(text: &str) -> Self {
        if text.len() < LEAST_INDEXED_BYTES {
            return Self::default();
        }
        let grams = text.as_bytes().windows(GRAM_BYTES).enumerate();
        let mut places: Vec<(u32, u32)> = grams.map(|(at, gram)| (hash(gram), at as u32)).collect();
        places.sort_unstable();
        Self { places }
    }

    /// Where the needle stands in the text the index was made of, from the front, no two places overlapping.
    pub(super) fn find_all<'a>(
        &'a self,
        text: &'a [u8],
        needle: &'a [u8],
    ) -> Box<dyn Iterator<Item = usize> + 'a> {
        self.find_apart(text, needle, needle.len().max(1))
    }

    /// The same with places that overlap.
    pub(super) fn find_overlapping<'a>(
        &'a self,
        text: &'a [u8],
        needle: &'a [u8],
    ) -> Box<dyn Iterator<Item = usize> + 'a> {
        self.find_apart(text, needle, 1)
    }

    /// Places at least so many bytes apart.
    fn find_apart<'a>(
        &'a self,
        text: &'a [u8],
        needle: &'a [u8],
        step: usize,
    ) -> Box<dyn Iterator<Item = usize> + 'a> {
        if self.places.is_empty() || needle.len() < GRAM_BYTES {
            crate::effort::count(text.len());
            return Box::new(search(text, needle, step));
        }
        // The last bytes too: they may be the only ones that tell a quote from another.
        let last = needle.len() - GRAM_BYTES;
        let offsets = (0..last).step_by(STRIDE_BYTES).chain([last]);
        let lists = offsets.map(|offset| (self.list(&needle[offset..offset + GRAM_BYTES]), offset));
        let Some((list, offset)) = lists.min_by_key(|(list, _)| list.len()) else {
            return Box::new(search(text, needle, step));
        };
        let mut free = 0;
        // Places of one hash are in the order of the text.
        let starts = list
            .iter()
            .inspect(|_| crate::effort::count(1))
            .filter_map(move |(_, at)| (*at as usize).checked_sub(offset));
        Box::new(starts.filter(move |&start| {
            let is_hit = start >= free && text[start..].starts_with(needle);
            if is_hit {
                free = start + step;
            }
            is_hit
        }))
    }

    /// Where to part a needle, so that either part stands in as few places as can be.
    pub(super) fn part(&self, needle: &[u8]) -> usize {
        let middle = needle.len() / 2;
        if self.places.is_empty() || needle.len() < 2 * GRAM_BYTES {
            return middle;
        }
        let counts: Vec<usize> = needle
            .windows(GRAM_BYTES)
            .map(|gram| self.list(gram).len())
            .collect();
        // The fewest places of any eight bytes that end, or begin, at an offset or before, or behind it.
        let mut front = counts.clone();
        let mut back = counts;
        for at in 1..front.len() {
            front[at] = front[at].min(front[at - 1]);
        }
        for at in (0..back.len() - 1).rev() {
            back[at] = back[at].min(back[at + 1]);
        }
        let worst = |at: usize| front[at - GRAM_BYTES].max(back[at]);
        if worst(middle) <= FEW_PLACES {
            return middle;
        }
        let parts = GRAM_BYTES..=needle.len() - GRAM_BYTES;
        parts
            .min_by_key(|at| (worst(*at), at.abs_diff(middle)))
            .unwrap_or(middle)
    }

    fn list(&self, gram: &[u8]) -> &[(u32, u32)] {
        let wanted = hash(gram);
        let from = self.places.partition_point(|(hash, _)| *hash < wanted);
        let rest = &self.places[from..];
        &rest[..rest.partition_point(|(hash, _)| *hash == wanted)]
    }
}

/// A search is prepared for so many bytes of a needle; the others are compared where those stand.
const SEARCHED_BYTES: usize = 24;

fn search<'a>(text: &'a [u8], needle: &'a [u8], step: usize) -> impl Iterator<Item = usize> + 'a {
    let (front, rest) = needle.split_at(needle.len().min(SEARCHED_BYTES));
    let finder = memmem::Finder::new(front);
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let found = at + finder.find(text.get(at..)?)?;
            if text[found + front.len()..].starts_with(rest) {
                at = found + step;
                return Some(found);
            }
            crate::effort::count(1);
            at = found + 1;
        }
    })
}

fn hash(gram: &[u8]) -> u32 {
    let mut bytes = [0; GRAM_BYTES];
    bytes.copy_from_slice(gram);
    (u64::from_le_bytes(bytes).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_finds_what_a_search_finds() {
        let sentence = |n: usize| format!("The endpoint MUST do thing {} aaaaaaaaaaaaaaaaaaaaaa. ", n % 977);
        let text: String = (0..4_000).map(sentence).collect();
        let grams = Grams::new(&text);
        assert!(!grams.places.is_empty());
        let needles = [
            "The endpoint MUST do thing 976 a",
            "aaaaaaaaaa",
            "he endpoint",
            "thing 5",
            "nowhere at all",
            "x",
            "a. The endpo",
            "MUST do thing 12 aaaaaaaaaaaaaaaaaaaaaa. The endpoint MUST do thing 13",
        ];
        for needle in needles {
            let expected: Vec<usize> = memmem::find_iter(text.as_bytes(), needle).collect();
            let found: Vec<usize> = grams.find_all(text.as_bytes(), needle.as_bytes()).collect();
            assert_eq!(found, expected, "{needle}");
            let overlapping: Vec<usize> = grams
                .find_overlapping(text.as_bytes(), needle.as_bytes())
                .collect();
            let expected: Vec<usize> = search(text.as_bytes(), needle.as_bytes(), 1).collect();
            assert_eq!(overlapping, expected, "{needle}");
        }
    }

    #[test]
    fn a_quote_is_parted_where_both_parts_are_rare() {
        let sentence = |n: usize| {
            format!("All endpoints of connection number {n:05} MUST answer every request they get. ")
        };
        let text: String = (0..2_000).map(sentence).collect();
        let grams = Grams::new(&text);
        let needle = sentence(1_234);
        let number = needle.find("01234").unwrap();
        let at = grams.part(needle.as_bytes());
        assert!(
            (number..=number + 5).contains(&at),
            "parted at {at}, the number stands at {number}"
        );
        let short = &sentence(1)[..2 * GRAM_BYTES - 1];
        assert_eq!(
            grams.part(short.as_bytes()),
            short.len() / 2,
            "too short to choose"
        );
    }
}
