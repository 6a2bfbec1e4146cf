//! The nearest thing to what was written: names, section ids, sentences.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;

/// The name closest to `written`, unless none is close enough to be a slip of the hand.
pub fn name<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (written.chars().count() / 3).max(2);
    known
        .into_iter()
        .filter_map(|name| Some((within(written, name, limit)?, name)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Edit distance in characters.
pub fn distance(a: &str, b: &str) -> usize {
    let limit = a.chars().count().max(b.chars().count());
    within(a, b, limit).unwrap_or(limit)
}

/// Edit distance in characters, when it is at most `limit`. Only the cells that can lead to so few edits are filled.
pub fn within(a: &str, b: &str, limit: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let far = limit + 1;
    let mut row: Vec<usize> = (0..=b.len()).map(|j| j.min(far)).collect();
    for (i, x) in a.iter().enumerate() {
        let (from, to) = (i.saturating_sub(limit), (i + limit + 1).min(b.len()));
        crate::effort::count(to.saturating_sub(from));
        let mut diagonal = row[from];
        row[from] = if from == 0 { (i + 1).min(far) } else { far };
        for j in from..to {
            let substituted = diagonal + usize::from(*x != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1).min(far);
        }
    }
    row.last().copied().filter(|distance| *distance <= limit)
}

/// Names with their titles, found by their rarest letters and words, so that ten thousand names that nobody has are not
/// compared with ten thousand others.
#[derive(Debug)]
pub struct NameIndex {
    count: usize,
    /// Which names hold three letters in a row.
    grams: HashMap<[char; 3], Vec<u32>>,
    /// Which titles hold a word.
    words: HashMap<String, Vec<u32>>,
}

/// So few names are all compared.
const MAX_COMPARED_NAMES: usize = 64;
/// Of more, only the best are.
const MAX_COMPARED_OF_MANY: usize = 8;
/// Of the letters of a name, so many groups are looked for, the rarest first.
const MAX_RARE_GRAMS: usize = 8;
/// Fewer words in common than this share are chance.
const LEAST_SHARED_TITLE: f64 = 0.5;

impl NameIndex {
    /// An index over names and their titles.
    pub fn new<'a>(names: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut index = Self {
            count: 0,
            grams: HashMap::new(),
            words: HashMap::new(),
        };
        for (number, (name, title)) in (0..).zip(names) {
            for gram in grams(name) {
                index.grams.entry(gram).or_default().push(number);
            }
            for word in words(title) {
                index.words.entry(word).or_default().push(number);
            }
            index.count += 1;
        }
        index
    }

    /// The number of the name closest to what was written, or else of the title that shares most words with it. `entry`
    /// gives name and title of a number.
    pub fn nearest<'a>(&self, written: &str, entry: impl Fn(usize) -> (&'a str, &'a str)) -> Option<usize> {
        let limit = (written.chars().count() / 3).max(2);
        let names = self.candidates(
            grams(written).iter().filter_map(|gram| self.grams.get(gram)),
            MAX_RARE_GRAMS,
        );
        let close = names
            .into_iter()
            .filter_map(|number| Some((within(written, entry(number).0, limit)?, number)));
        if let Some((_, number)) = close.min_by_key(|(distance, _)| *distance) {
            return Some(number);
        }
        let words = words(written);
        let titles = self.candidates(
            words.iter().filter_map(|word| self.words.get(word)),
            MAX_RARE_WORDS,
        );
        let shared = titles.into_iter().map(|number| {
            crate::effort::count(1);
            (share(&words, &self::words(entry(number).1)), number)
        });
        shared
            .filter(|(score, _)| *score >= LEAST_SHARED_TITLE)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, number)| number)
    }

    /// The numbers that stand in the rarest of these lists, in their order; all there are where those are few.
    fn candidates<'l>(&self, lists: impl Iterator<Item = &'l Vec<u32>>, most: usize) -> Vec<usize> {
        if self.count <= MAX_COMPARED_NAMES {
            return (0..self.count).collect();
        }
        let mut lists: Vec<&Vec<u32>> = lists.collect();
        lists.sort_unstable_by_key(|list| (list.len(), list.first().copied()));
        // The rarer what they share, the more it says.
        let mut weights: BTreeMap<usize, usize> = BTreeMap::new();
        for list in lists.into_iter().take(most) {
            for number in list.iter().take(MAX_SENTENCES_OF_WORD) {
                crate::effort::count(1);
                *weights.entry(*number as usize).or_default() += usize::MAX / MAX_RARE_GRAMS / list.len();
            }
        }
        let mut numbers: Vec<(usize, usize)> = weights.into_iter().collect();
        // Stable, so that of equals the first is taken.
        numbers.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
        let mut numbers: Vec<usize> = numbers.into_iter().map(|(number, _)| number).collect();
        numbers.truncate(MAX_COMPARED_OF_MANY);
        numbers.sort_unstable();
        numbers
    }
}

/// Every three letters in a row, each once; a shorter name is filled up.
fn grams(name: &str) -> BTreeSet<[char; 3]> {
    let mut letters: Vec<char> = name.chars().collect();
    letters.resize(letters.len().max(3), ' ');
    letters
        .windows(3)
        .map(|three| [three[0], three[1], three[2]])
        .collect()
}

/// How many of the words of `written` occur in `candidate`, between 0 and 1.
pub fn shared_words(written: &str, candidate: &str) -> f64 {
    share(&words(written), &words(candidate))
}

/// The sentences of a text, found by their rarest words, so that ten thousand quotes that are missing from ten thousand
/// sentences are not compared each with each.
#[derive(Debug)]
pub struct Sentences {
    /// Where each sentence ends.
    ends: Vec<usize>,
    /// A number for each word.
    words: HashMap<String, u32>,
    /// The words of each sentence, sorted.
    held: Vec<Vec<u32>>,
    /// Which sentences hold a word, by its number.
    holders: Vec<Vec<u32>>,
}

/// A quote is compared with sentences that share one of this many of its rarest words.
const MAX_RARE_WORDS: usize = 4;
/// Of a word, only so many sentences are looked at.
const MAX_SENTENCES_OF_WORD: usize = 16;
/// In a quote of several sentences a word may stand so many sentences beside its place in the text.
const MAX_SHIFT_SENTENCES: usize = 2;
/// Less in common than this is chance.
const LEAST_SHARED: f64 = 0.4;

impl Sentences {
    /// The sentences of a text.
    pub fn new(text: &str) -> Self {
        let mut sentences = Self {
            ends: sentence_ends(text).collect(),
            words: HashMap::new(),
            held: Vec::new(),
            holders: Vec::new(),
        };
        for index in 0..sentences.ends.len() {
            let mut held = Vec::new();
            for word in words(&text[sentences.start(index)..sentences.ends[index]]) {
                let next = sentences.words.len() as u32;
                let number = *sentences.words.entry(word).or_insert(next);
                if number == next {
                    sentences.holders.push(Vec::new());
                }
                sentences.holders[number as usize].push(index as u32);
                held.push(number);
            }
            held.sort_unstable();
            sentences.held.push(held);
        }
        sentences
    }

    /// The run of whole sentences that shares most words with a quote of that text.
    pub fn nearest<'t>(&self, text: &'t str, quote: &str) -> Option<&'t str> {
        let ends: Vec<usize> = sentence_ends(quote).collect();
        let count = ends.len().max(1);
        let mut wanted: BTreeMap<u32, usize> = BTreeMap::new();
        let mut start = 0;
        let mut strange = HashSet::new();
        for (place, end) in ends.into_iter().enumerate() {
            for word in words(&quote[start..end]) {
                match self.words.get(&word) {
                    Some(number) => drop(wanted.entry(*number).or_insert(place)),
                    None => drop(strange.insert(word)),
                }
            }
            start = end;
        }
        let all_words = wanted.len() + strange.len();
        let windows = self.windows(&wanted, count);
        let scored = windows.into_iter().map(|first| {
            let last = (first + count - 1).min(self.ends.len() - 1);
            let window = &text[self.start(first)..self.ends[last]];
            (self.share(&wanted, all_words, first..=last), window.trim())
        });
        scored
            .filter(|(score, _)| *score >= LEAST_SHARED)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, window)| window)
    }

    /// The first sentences of runs that hold one of the rarest words of a quote, at the word's place or near it.
    fn windows(&self, wanted: &BTreeMap<u32, usize>, count: usize) -> BTreeSet<usize> {
        let mut rare: Vec<(usize, u32, usize)> = wanted
            .iter()
            .map(|(number, place)| (self.holders[*number as usize].len(), *number, *place))
            .collect();
        // Numbers are given in the order of the text, so that equally rare words have one order.
        rare.sort_unstable();
        let mut firsts = BTreeSet::new();
        for (_, number, place) in rare.into_iter().take(MAX_RARE_WORDS) {
            for &index in self.holders[number as usize].iter().take(MAX_SENTENCES_OF_WORD) {
                let shifts = place.saturating_sub(MAX_SHIFT_SENTENCES)..=place + MAX_SHIFT_SENTENCES;
                let shifts = shifts.filter(|shift| *shift < count);
                firsts.extend(shifts.filter_map(|shift| (index as usize).checked_sub(shift)));
            }
        }
        firsts
    }

    /// Twice the words in common, by the words of both.
    fn share(&self, wanted: &BTreeMap<u32, usize>, all: usize, run: RangeInclusive<usize>) -> f64 {
        let held = match &self.held[run] {
            [one] => Cow::Borrowed(one),
            several => {
                let mut all = several.concat();
                all.sort_unstable();
                all.dedup();
                Cow::Owned(all)
            }
        };
        crate::effort::count(held.len());
        let common = held.iter().filter(|number| wanted.contains_key(number)).count();
        if common == 0 {
            return 0.0;
        }
        2.0 * common as f64 / (all + held.len()) as f64
    }

    fn start(&self, index: usize) -> usize {
        if index == 0 { 0 } else { self.ends[index - 1] }
    }
}

fn sentence_ends(text: &str) -> impl Iterator<Item = usize> + '_ {
    let bytes = text.as_bytes();
    let stops = memchr::memchr_iter(b'.', bytes).map(|at| at + 1);
    stops
        .filter(move |&end| bytes.get(end) == Some(&b' '))
        .chain((!text.is_empty()).then_some(text.len()))
}

fn words(text: &str) -> HashSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn share(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    2.0 * a.intersection(b).count() as f64 / (a.len() + b.len()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_distance_is_the_distance_up_to_its_bound() {
        let texts = [
            "",
            "a",
            "ab",
            "kitten",
            "sitting",
            "kittens sit",
            "sit, kittens",
            "éa",
            "aé",
        ];
        for a in texts {
            for b in texts {
                let whole = distance(a, b);
                for limit in 0..14 {
                    let expected = (whole <= limit).then_some(whole);
                    assert_eq!(within(a, b, limit), expected, "{a:?} {b:?} {limit}");
                }
            }
        }
    }

    #[test]
    fn the_nearest_run_of_sentences_is_found_by_its_rare_words() {
        let text = "A client MUST send. A server MUST wait 10 seconds for it. Nobody else MAY talk. The end.";
        let sentences = Sentences::new(text);
        let nearest = |quote: &str| sentences.nearest(text, quote);
        assert_eq!(
            nearest("A server MUST wait 20 seconds."),
            Some("A server MUST wait 10 seconds for it.")
        );
        assert_eq!(
            nearest("A server has to wait seconds. Nobody may talk."),
            Some("A server MUST wait 10 seconds for it. Nobody else MAY talk.")
        );
        assert_eq!(nearest("Entirely different words stand here"), None);
        assert_eq!(Sentences::new("").nearest("", "a b"), None);
    }

    #[test]
    fn a_name_among_thousands_is_found_by_its_letters_or_its_title() {
        let names: Vec<(String, String)> = (0..3_000)
            .map(|n| {
                (
                    format!("section-about-thing-{n}"),
                    format!("What gadget {n} does"),
                )
            })
            .collect();
        let entry = |number: usize| (names[number].0.as_str(), names[number].1.as_str());
        let index = NameIndex::new((0..names.len()).map(entry));
        assert_eq!(index.nearest("section-about-thng-77", entry), Some(77));
        assert_eq!(index.nearest("sectoin-about-thing-2941", entry), Some(2941));
        assert_eq!(index.nearest("gadget-1234", entry), Some(1234));
        assert_eq!(index.nearest("entirely other", entry), None);
        assert_eq!(NameIndex::new([]).nearest("a", entry), None);
    }

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        assert_eq!(name("reson", ["reason", "type"]), Some("reason"));
        assert_eq!(name("colour", ["reason", "type"]), None);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(
            (distance("", "abc"), distance("abc", ""), distance("", "")),
            (3, 3, 0)
        );
        assert!(shared_words("a client MUST send", "A client must not send") > 0.8);
    }
}
