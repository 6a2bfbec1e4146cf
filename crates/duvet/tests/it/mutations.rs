//! Texts cut, doubled and mixed at random places, the same on every run: no reader panics, and what is extracted is
//! found again. The fuzz targets do the same with a compass.

use duvet::citation::{CommentStyle, Kind, comment, toml};
use duvet::matching::{Haystack, find};
use duvet::specification::extract::{Mode, extract};
use duvet::specification::{Format, Specification};

const ROUNDS: u64 = 3000;
const SEEDS: &[&str] = &[
    "# A {#x}\n\nIt MUST é. It\nMAY not – “so”.\n\n- it MUST:\n  1. a\n  2. b\n\n| a | MUST b |\n|---|---|\n```\nMUST c\n```\nT\n===\n",
    "1.  One\n\n   It MUST be so, and SHOULD NOT be e.g. other.  A\n   QUIC endpoint MAY.\n\nAppendix A.  Two\n\u{c}\nRFC 1   T   May 2020\n",
    "fn x() {\n    //= s.md#a\n    //= type=test\n    //# It MUST é.\n}\n//= =\n//=\n//# \n x //= s.md#b\r\n",
    "target = \"s.md#a\"\n[[spec]]\nlevel = \"MUST\"\nquote = '''\nIt MUST é.\n'''\n[[todo]]\nquote = \"x\"\ntags = [1, \"é\"]\n",
];

struct Dice(u64);

impl Dice {
    /// xorshift: enough to reach odd places.
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }
}

fn mutate(dice: &mut Dice) -> String {
    let mut letters: Vec<char> = SEEDS[dice.roll(SEEDS.len())].chars().collect();
    for _ in 0..=dice.roll(6) {
        let at = dice.roll(letters.len() + 1);
        let other: Vec<char> = SEEDS[dice.roll(SEEDS.len())].chars().collect();
        let from = dice.roll(other.len());
        let piece: Vec<char> = other.into_iter().skip(from).take(dice.roll(30)).collect();
        let end = (at + dice.roll(12)).min(letters.len());
        letters.splice(at..end, piece);
    }
    letters.into_iter().collect()
}

#[test]
fn readers_survive_mutations_and_find_what_they_extract() {
    let mut dice = Dice(0x5eed_5eed_5eed_5eed);
    for _ in 0..ROUNDS {
        let text = mutate(&mut dice);
        let name: std::sync::Arc<str> = "m".into();
        let style = CommentStyle::default();
        let source = comment::Source {
            name: &name,
            text: &text,
            style: &style,
            default_kind: Kind::Implementation,
        };
        for annotation in comment::extract(source).0 {
            assert!(text.get(annotation.span.range()).is_some(), "{text:?}");
        }
        let _ = (
            toml::extract(&name, &text),
            duvet::config::parse("m", &text, &|_| None),
        );
        for format in [Format::Ietf, Format::Markdown] {
            check(&text, format);
        }
    }
}

fn check(text: &str, format: Format) {
    let specification = Specification::parse("m", text.to_owned(), Some(format));
    for mode in [Mode::Compat, Mode::V2] {
        for requirement in extract(&specification, mode) {
            let quote: Vec<&str> = requirement.lines(&specification).collect();
            let haystack = Haystack::new(&specification, &specification.sections[requirement.section]);
            assert!(
                find(&haystack, &quote.join(" ")).is_some(),
                "{quote:?} of {text:?}"
            );
            let drifted = quote.join(" ").replacen(' ', "x", 1);
            let _ = find(&haystack, &drifted);
        }
    }
}
