//! Regular expressions as schemas write them: those of ECMAScript, looked for anywhere in a text.

use fancy_regex::{Regex, RegexBuilder};

/// Steps a search that goes back and forth may take; a text that needs more does not match.
const MAX_BACKTRACKS: usize = 100_000;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    source: String,
    regex: Regex,
}

impl Pattern {
    pub(super) fn compile(source: &str) -> Result<Self, String> {
        let regex = RegexBuilder::new(&translate(source))
            .backtrack_limit(MAX_BACKTRACKS)
            .build()
            .map_err(|_| format!("the pattern {source:?} cannot be read"))?;
        Ok(Self {
            source: source.to_owned(),
            regex,
        })
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text).unwrap_or(false)
    }
}

/// What differs: `\d`, `\w` and `\s` mean what ECMAScript says, and a bracket within brackets is only a bracket.
fn translate(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut characters = source.chars().peekable();
    let mut in_class = false;
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('d') => out.push_str("[0-9]"),
                Some('D') => out.push_str("[^0-9]"),
                Some('w') => out.push_str("[A-Za-z0-9_]"),
                Some('W') => out.push_str("[^A-Za-z0-9_]"),
                Some('s') => out.push_str(r"[\s\x{feff}&&[^\x{85}]]"),
                Some('S') => out.push_str(r"[^\s\x{feff}&&[^\x{85}]]"),
                Some('c') => control(characters.next(), &mut out),
                Some('/') => out.push('/'),
                Some(escaped) => out.extend(['\\', escaped]),
                None => out.push('\\'),
            },
            '[' if in_class => out.push_str(r"\["),
            '[' => {
                in_class = true;
                out.push('[');
                if characters.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => out.extend(['\\', character]),
            other => out.push(other),
        }
    }
    out
}

/// `\cA` to `\cZ`.
fn control(letter: Option<char>, out: &mut String) {
    match letter.filter(char::is_ascii_alphabetic) {
        Some(letter) => out.push_str(&format!("\\x{:02x}", (letter as u32) % 32)),
        None => out.push_str("\\c"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_to_a_browser() {
        for (pattern, text, matches) in [
            ("^a", "ab", true),
            ("b", "abc", true),
            (r"^\d+$", "12", true),
            (r"^\d$", "߀", false),
            (r"^[\w.-]+$", "a.b-c", true),
            (r"^\w$", "é", false),
            (r"^\W$", "é", true),
            (r"^\s$", "\u{feff}", true),
            (r"^\S$", "\u{85}", true),
            (r"^[^\s]$", " ", false),
            (r"^[[]$", "[", true),
            (r"^[^[&]+$", "a&", false),
            (r"^\/x$", "/x", true),
            (r"^\cC$", "\u{3}", true),
            (r"^(?!\.)[a-z.]+$", ".a", false),
            (r"^(?!\.)[a-z.]+$", "a.", true),
            (r"^(a)\1$", "aa", true),
            (r"^\p{Letter}+$", "привет", true),
        ] {
            let compiled = Pattern::compile(pattern).unwrap();
            assert_eq!(compiled.matches(text), matches, "{pattern} on {text:?}");
        }
        assert!(Pattern::compile("(").is_err());
    }

    #[test]
    fn a_pattern_that_would_search_for_ever_does_not_match() {
        let slow = Pattern::compile(r"^(?=(a+)+$)(a+)+\1$").unwrap();
        assert!(!slow.matches(&("a".repeat(60) + "b")));
    }
}
