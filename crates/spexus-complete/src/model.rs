//! What comes next in a text, by what came next in others: an n-gram model with interpolated, modified Kneser–Ney
//! smoothing.
//!
//! Texts come and go while the model is used, so nothing is computed ahead. Every count keeps what the smoothing needs
//! (how many followers were seen once, twice, more often) up to date: adding a text costs the same whatever the model
//! holds, and taking it out again leaves no trace. Below the highest order a count says *after how many different words*
//! something was seen, which is what makes the smoothing good.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Words that decide the next one, and that one.
pub(crate) const ORDER: usize = 4;

/// A word by number; 0 stands before the beginning of every text, 1 after its end.
type Word = u32;
const START: Word = 0;
const END: Word = 1;

/// Up to three words before, packed.
type History = u128;

/// What followed a history.
#[derive(Debug, Default)]
struct Node {
    total: u32,
    /// Followers seen once, twice, and more often.
    spread: [u32; 3],
    /// Followers with their counts, by word.
    next: Vec<(Word, u32)>,
}

/// All histories of one length.
#[derive(Debug, Default)]
struct Level {
    nodes: HashMap<History, Node>,
    /// How many counts are 1, 2, 3 and 4.
    counts: [u32; 4],
}

/// A model of texts.
#[derive(Debug)]
pub(crate) struct Model {
    numbers: HashMap<Arc<str>, Word>,
    words: Vec<Arc<str>>,
    levels: [Level; ORDER],
    tokens: usize,
}

/// A word that may come next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prediction {
    /// The token; `None` is the end of the text.
    pub(crate) token: Option<Arc<str>>,
    /// How likely it is.
    pub(crate) probability: f64,
}

impl Default for Model {
    fn default() -> Self {
        let mut model = Self {
            numbers: HashMap::new(),
            words: Vec::new(),
            levels: Default::default(),
            tokens: 0,
        };
        // Not texts: no token is empty.
        model.words.extend(["".into(), "".into()]);
        model
    }
}

/// A text as the model knows it, to be taken out again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Learned(Box<[Word]>);

impl Learned {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Model {
    /// How many tokens it was taught and did not forget.
    pub(crate) fn tokens(&self) -> usize {
        self.tokens
    }

    /// How many different words were ever seen.
    pub(crate) fn vocabulary(&self) -> usize {
        self.words.len() - 1
    }

    /// Learns a text.
    pub(crate) fn learn(&mut self, tokens: &[&str]) -> Learned {
        let words: Box<[Word]> = tokens.iter().map(|token| self.number(token)).collect();
        self.tokens += words.len();
        for at in 0..=words.len() {
            self.count(&window(&words, at), ORDER - 1, true);
        }
        Learned(words)
    }

    /// Forgets a text it learned.
    pub(crate) fn forget(&mut self, text: &Learned) {
        self.tokens -= text.0.len();
        for at in 0..=text.0.len() {
            self.count(&window(&text.0, at), ORDER - 1, false);
        }
    }

    /// The likeliest next tokens, the likeliest first; equal ones by their letters.
    pub(crate) fn next(&self, tokens: &[&str], top: usize) -> Vec<Prediction> {
        let history = self.history(tokens);
        let mut found: Vec<(Word, f64)> = Vec::new();
        let mut seen = HashSet::new();
        for length in (0..ORDER).rev() {
            let Some(node) = self.levels[length].nodes.get(&pack(&history, length)) else {
                continue;
            };
            for (word, _) in &node.next {
                if seen.insert(*word) {
                    found.push((*word, self.probability_of(*word, &history)));
                }
            }
            // Shorter histories only add words that are less likely than many found already.
            if found.len() >= top.max(ENOUGH_CANDIDATES) {
                break;
            }
        }
        found.sort_by(|a, b| {
            b.1.total_cmp(&a.1)
                .then_with(|| self.words[a.0 as usize].cmp(&self.words[b.0 as usize]))
        });
        found.truncate(top);
        found
            .into_iter()
            .map(|(word, probability)| self.prediction(word, probability))
            .collect()
    }

    /// How likely a token, or the end, is after others.
    pub(crate) fn probability(&self, tokens: &[&str], next: Option<&str>) -> f64 {
        let word = match next {
            None => END,
            Some(token) => self.numbers.get(token).copied().unwrap_or(UNKNOWN),
        };
        self.probability_of(word, &self.history(tokens))
    }

    fn prediction(&self, word: Word, probability: f64) -> Prediction {
        Prediction {
            token: (word != END).then(|| self.words[word as usize].clone()),
            probability,
        }
    }

    /// From the shortest history to the longest, each correcting the one before.
    fn probability_of(&self, word: Word, history: &[Word; ORDER - 1]) -> f64 {
        let mut probability = 1.0 / (self.vocabulary() as f64 + 1.0);
        for (length, level) in self.levels.iter().enumerate() {
            let Some(node) = level.nodes.get(&pack(history, length)) else {
                break;
            };
            probability = node.interpolate(word, &level.discounts(), probability);
        }
        probability
    }

    /// Counts one more or one less occurrence of the last word after `length` words before it. What is seen for the first
    /// time is new to the shorter history, too; what is not seen any more is missing there.
    fn count(&mut self, gram: &[Word; ORDER], length: usize, up: bool) {
        let Some((word, before)) = gram.split_last() else {
            return;
        };
        let mut history = [START; ORDER - 1];
        history.copy_from_slice(before);
        let changed = self.levels[length].count(pack(&history, length), *word, up);
        let first_or_last = matches!((changed, up), (1, true) | (0, false));
        if first_or_last && length > 0 {
            self.count(gram, length - 1, up);
        }
    }

    fn number(&mut self, token: &str) -> Word {
        if let Some(number) = self.numbers.get(token) {
            return *number;
        }
        let token: Arc<str> = token.into();
        let number = self.words.len() as Word;
        self.words.push(token.clone());
        self.numbers.insert(token, number);
        number
    }

    /// The last words before the next, starts of text before them.
    fn history(&self, tokens: &[&str]) -> [Word; ORDER - 1] {
        let mut history = [START; ORDER - 1];
        let last = tokens.iter().rev().take(ORDER - 1);
        for (place, token) in history.iter_mut().rev().zip(last) {
            *place = self.numbers.get(*token).copied().unwrap_or(UNKNOWN);
        }
        history
    }
}

/// A word no text holds.
const UNKNOWN: Word = Word::MAX;
/// Words that are good enough to choose the likeliest from.
const ENOUGH_CANDIDATES: usize = 64;

impl Level {
    /// Changes one count; gives what it is now.
    fn count(&mut self, history: History, word: Word, up: bool) -> u32 {
        let node = self.nodes.entry(history).or_default();
        let place = node.next.binary_search_by_key(&word, |(own, _)| *own);
        let at = match place {
            Ok(at) => at,
            Err(at) => {
                node.next.insert(at, (word, 0));
                at
            }
        };
        let before = node.next[at].1;
        let after = if up { before + 1 } else { before.saturating_sub(1) };
        node.next[at].1 = after;
        node.total = node.total + after - before;
        for (count, sign) in [(before, -1), (after, 1)] {
            if count > 0 {
                let class = (count as usize).min(3) - 1;
                node.spread[class] = node.spread[class].saturating_add_signed(sign);
            }
            if (1..=4).contains(&count) {
                let of = &mut self.counts[count as usize - 1];
                *of = of.saturating_add_signed(sign);
            }
        }
        if after == 0 {
            node.next.remove(at);
            if node.next.is_empty() {
                self.nodes.remove(&history);
            }
        }
        after
    }

    /// What is taken from counts of one, two, and three or more, so that the unseen gets its share.
    fn discounts(&self) -> [f64; 3] {
        let [n1, n2, n3, n4] = self.counts.map(f64::from);
        // Too few texts to tell: what is known to do well for most.
        if n1 == 0.0 || n2 == 0.0 || n3 == 0.0 || n4 == 0.0 {
            return [0.5, 0.75, 0.9];
        }
        let y = n1 / (n1 + 2.0 * n2);
        [
            (1.0 - 2.0 * y * n2 / n1).clamp(0.05, 0.95),
            (2.0 - 3.0 * y * n3 / n2).clamp(0.05, 1.95),
            (3.0 - 4.0 * y * n4 / n3).clamp(0.05, 2.95),
        ]
    }
}

impl Node {
    fn interpolate(&self, word: Word, discounts: &[f64; 3], shorter: f64) -> f64 {
        let total = f64::from(self.total);
        let count = self.next.binary_search_by_key(&word, |(own, _)| *own);
        let seen = count.map_or(0, |at| self.next[at].1);
        let kept = match seen {
            0 => 0.0,
            count => f64::from(count) - discounts[(count as usize).min(3) - 1],
        };
        let given: f64 = discounts
            .iter()
            .zip(self.spread)
            .map(|(d, n)| d * f64::from(n))
            .sum();
        (kept + given * shorter) / total
    }
}

/// The word at a place with those before it; past the last one stands the end.
fn window(words: &[Word], at: usize) -> [Word; ORDER] {
    let mut gram = [START; ORDER];
    gram[ORDER - 1] = words.get(at).copied().unwrap_or(END);
    for (place, word) in gram[..ORDER - 1].iter_mut().rev().zip(words[..at].iter().rev()) {
        *place = *word;
    }
    gram
}

/// The last words of a history in one number. Histories of different lengths live apart.
fn pack(history: &[Word; ORDER - 1], length: usize) -> History {
    let last = &history[history.len() - length..];
    last.iter()
        .fold(0, |packed, word| packed << 32 | u128::from(*word))
}

#[cfg(test)]
mod tests;
