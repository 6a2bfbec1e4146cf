//! Words for generated specifications and the dice that choose them.

/// Numbers that look random and follow from a seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d);
        for _ in 0..8 {
            dice.roll(2);
        }
        dice
    }

    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % sides.max(1)
    }

    pub(super) fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

const WORDS: &[&str] = &[
    "endpoint",
    "server",
    "client",
    "frame",
    "packet",
    "the",
    "a",
    "every",
    "stream",
    "connection",
    "value",
    "header",
    "field",
    "length",
    "of",
    "in",
    "and",
    "or",
    "key",
    "token",
    "state",
    "limit",
    "error",
    "before",
    "after",
    "first",
    "last",
    "idle",
    "e.g.",
    "i.e.",
    "RFC",
    "[QUIC]",
    "foo.bar",
    "0x1F",
    "10",
    "16",
    "(see",
    "below)",
    "\"quoted\"",
    "re-keying",
    "über",
    "naïve",
    "x_y",
    "don't",
    "cf.",
    "Section",
    "3.1",
    "<tag>",
    "a/b",
    "100%",
    "A&B",
    "--",
];

const KEYWORDS: &[&str] = &[
    "MUST",
    "MUST NOT",
    "SHALL",
    "SHALL NOT",
    "SHOULD",
    "SHOULD NOT",
    "MAY",
    "REQUIRED",
    "RECOMMENDED",
    "NOT RECOMMENDED",
    "OPTIONAL",
];

/// A sentence, usually one that demands something.
pub(super) fn sentence(dice: &mut Dice) -> String {
    let mut words: Vec<String> = vec![["The", "A", "An", "Every", "If", "It"][dice.roll(6)].to_owned()];
    let more = 2 + dice.roll(9);
    words.extend((0..more).map(|_| (*dice.pick(WORDS)).to_owned()));
    if !dice.one_in(4) {
        let at = 1 + dice.roll(words.len());
        words.insert(at, (*dice.pick(KEYWORDS)).to_owned());
    }
    if dice.one_in(8) {
        let at = 1 + dice.roll(words.len());
        words.insert(at, (*dice.pick(KEYWORDS)).to_owned());
    }
    if dice.one_in(10) {
        words.push("\"MUST\"".to_owned());
    }
    let end = [".", ".", ".", ".", ".", ":", ";", "!", "?", ""][dice.roll(10)];
    format!("{}{end}", words.join(" "))
}

/// Text over lines of a given indent, wrapped at random places.
pub(super) fn wrapped(dice: &mut Dice, sentences: &[String], indent: &str) -> String {
    let mut lines = vec![String::new()];
    let words: Vec<&str> = sentences.iter().flat_map(|s| s.split(' ')).collect();
    let width = 20 + dice.roll(50);
    for (index, word) in words.iter().enumerate() {
        let line = lines
            .last_mut()
            .filter(|line| line.len() + word.len() < width || index == 0);
        match line {
            Some(line) => {
                if !line.is_empty() {
                    line.push_str(if word.len() > 1 && dice.one_in(25) {
                        "  "
                    } else {
                        " "
                    });
                }
                line.push_str(word);
            }
            None => lines.push((*word).to_owned()),
        }
    }
    lines.iter().map(|line| format!("{indent}{line}\n")).collect()
}
