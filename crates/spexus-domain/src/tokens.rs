//! What a text costs a model to read, guessed on the dear side without a tokenizer: budgets are kept by it, and a step of CI
//! counts the same answers with a real one.

/// Letters of a word that are one token; what is longer is paid by pieces.
const FIRST_PIECE_LETTERS: usize = 7;
const PIECE_LETTERS: usize = 4;
/// Digits that are one token.
const PIECE_DIGITS: usize = 3;

/// The tokens a text has at most, as common tokenizers make them.
pub fn estimate(text: &str) -> usize {
    let (mut tenths, mut run, mut length, mut capitals) = (0, Run::Blank, 0, 0);
    let mut before = ' ';
    for c in text.chars() {
        let kind = Run::of(c);
        // A capital inside a word begins a new one, as names in code have them.
        let begins = kind != run || (kind == Run::Letters && c.is_uppercase() && before.is_lowercase());
        if begins {
            tenths += run.price(length, capitals);
            (run, length, capitals) = (kind, 0, 0);
        }
        length += 1;
        capitals += usize::from(c.is_ascii_uppercase());
        before = c;
    }
    (tenths + run.price(length, capitals)).div_ceil(10)
}

/// Characters of one kind in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    Blank,
    Line,
    Letters,
    Digits,
    Signs,
    /// Letters of scripts that are written in words, other than Latin.
    Words,
    /// Signs of Chinese and Japanese, and what joins others.
    Others,
    /// Emoji and rare scripts: each is several.
    Rare,
}

impl Run {
    const fn of(c: char) -> Self {
        match c {
            ' ' => Run::Blank,
            '\n' | '\r' | '\t' => Run::Line,
            'a'..='z' | 'A'..='Z' => Run::Letters,
            '0'..='9' => Run::Digits,
            '\u{0}'..='\u{7f}' => Run::Signs,
            '\u{80}'..='\u{7ff}' => Run::Words,
            '\u{10000}'.. => Run::Rare,
            _ => Run::Others,
        }
    }

    /// Tenths of a token.
    const fn price(self, length: usize, capitals: usize) -> usize {
        match self {
            // Words in capitals, and what is no word at all.
            Run::Letters if capitals > 1 => 7 * length,
            // One blank belongs to the word behind it.
            Run::Blank if length <= 1 => 0,
            Run::Blank | Run::Line => 10,
            Run::Letters => 10 + 10 * length.saturating_sub(FIRST_PIECE_LETTERS).div_ceil(PIECE_LETTERS),
            Run::Digits => 11 * length.div_ceil(PIECE_DIGITS) + 3,
            Run::Signs => 10 * length.div_ceil(2),
            Run::Words => 5 * length + 5,
            Run::Others => 15 * length,
            Run::Rare => 40 * length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the tokenizers o200k and cl100k make of them, the larger of both.
    #[test]
    fn a_guess_is_not_below_what_tokenizers_count_and_not_far_above() {
        for (text, counted) in [
            ("", 0),
            ("The server MUST answer within a second.", 8),
            ("authentication throughput regression", 3),
            (r#"{"reference_id":"REQ-012","rev":3,"status":"Draft"}"#, 16),
            ("проверка подлинности пользователя", 8),
            ("要件定義と受け入れ基準の追跡", 19),
            ("aG9sYSBxdWUgdGFsIGVzdGFzIGhvbWJyZQ==", 26),
            ("9f86d081884c7d659a2feaa0c55ad015", 19),
            ("https://example.org/a/b?c=d&e=f", 11),
            ("fn estimate(text: &str) -> usize { text.len() }", 14),
            ("👩‍👩‍👧 семья", 17),
        ] {
            let guess = estimate(text);
            assert!(guess >= counted, "{text}: {guess} < {counted}");
            assert!(guess <= counted * 5 / 2 + 4, "{text}: {guess} for {counted}");
        }
    }
}
