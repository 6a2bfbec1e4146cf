//! Words: how text is cut into them, folded, stemmed and compared. Both databases index what this module produces, so
//! Russian and English words are found in all their forms, on SQLite and PostgreSQL alike.

use frostem::{Algorithm, Stemmer};
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

/// Longer words are cut for the index; nobody types them in full.
const MAX_WORD_CHARS: usize = 64;

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Where it stands, in bytes.
    pub range: Range<usize>,
    /// Lower case, without accents.
    pub folded: String,
}

/// The words of a text, in order.
pub fn words(text: &str) -> impl Iterator<Item = Word> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + text[rest..].find(char::is_alphanumeric)?;
        let end = text[start..]
            .find(|c: char| !is_word(c))
            .map_or(text.len(), |len| start + len);
        rest = end;
        Some(Word {
            folded: fold(&text[start..end]),
            range: start..end,
        })
    })
    .filter(|word| !word.folded.is_empty())
}

/// Lower case, compatibility forms resolved, Latin accents and the dots of ё removed.
pub fn fold(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    let mut latin = false;
    let is_accent = |c: char| ('\u{300}'..='\u{36f}').contains(&c);
    let kept = word
        .nfkd()
        .flat_map(char::to_lowercase)
        .filter(|c| c.is_alphanumeric() || is_accent(*c));
    // Once more into order: what stood between two marks may be gone.
    for c in kept.nfd() {
        match c {
            '\u{300}'..='\u{36f}' if latin || c == '\u{308}' => {}
            '\u{306}' if folded.ends_with('и') => {
                folded.pop();
                folded.push('й');
            }
            c if c.is_alphanumeric() => {
                latin = c.is_ascii_alphabetic();
                folded.push(c);
            }
            _ => {}
        }
    }
    match folded.char_indices().nth(MAX_WORD_CHARS) {
        Some((at, _)) => folded[..at].to_owned(),
        None => folded,
    }
}

/// The stem of a folded word: Russian for Cyrillic letters, English for Latin ones.
pub fn stem(folded: &str) -> String {
    let algorithm = match folded.chars().next() {
        Some('а'..='я') => Algorithm::Russian,
        Some('a'..='z') => Algorithm::English,
        _ => return folded.to_owned(),
    };
    Stemmer::new(algorithm).stem(folded).into_owned()
}

/// The text as the index keeps it: every word folded, and every word stemmed.
#[derive(Clone, Debug)]
pub struct Indexed {
    /// Folded words, for beginnings of words.
    pub words: String,
    /// Stems, for all forms of a word.
    pub stems: String,
}

/// Prepares a text for the index.
//= specs/spexus-service.md#search
//# Search MUST find words in any of their forms, in English and in Russian, and beginnings of words.
pub fn index(text: &str) -> Indexed {
    let (mut folded, mut stems) = (
        String::with_capacity(text.len()),
        String::with_capacity(text.len()),
    );
    for word in words(text) {
        stems.push_str(&stem(&word.folded));
        stems.push(' ');
        folded.push_str(&word.folded);
        folded.push(' ');
    }
    Indexed { words: folded, stems }
}

/// The word with one character left out, in each way, and the word itself. Two words one typing error apart always
/// share one of these, which is how a misspelt word finds its way to the right one with an ordinary index.
pub fn near_forms(word: &str) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    let mut forms = vec![word.to_owned()];
    if chars.len() >= MIN_FUZZY_CHARS {
        for left_out in 0..chars.len() {
            let form: String = chars
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != left_out)
                .map(|(_, c)| c)
                .collect();
            forms.push(form);
        }
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Whether two words are one typing error apart: a letter wrong, missing, added, or two swapped.
pub fn is_near(a: &str, b: &str) -> bool {
    a.chars().count() >= MIN_FUZZY_CHARS && strsim::osa_distance(a, b) <= 1
}

/// Shorter words have too many neighbours to guess.
pub const MIN_FUZZY_CHARS: usize = 4;

/// The part of a text around the first match, about `max_chars` long, with the matching words between `**`.
pub fn snippet(text: &str, matches: impl Fn(&str) -> bool, max_chars: usize) -> String {
    let found: Vec<Range<usize>> = words(text)
        .filter(|word| matches(&word.folded))
        .map(|word| word.range)
        .collect();
    let centre = found.first().map_or(0, |range| range.start);
    let lead = text[..centre]
        .char_indices()
        .rev()
        .take(max_chars / 3)
        .last()
        .map_or(centre, |(at, _)| at);
    let start = if lead == 0 {
        0
    } else {
        text[lead..]
            .find(char::is_whitespace)
            .map_or(lead, |at| (lead + at).min(centre))
    };
    let cut = text[start..]
        .char_indices()
        .nth(max_chars)
        .map_or(text.len(), |(at, _)| start + at);
    let first_end = found.first().map_or(start, |range| range.end);
    let end = match text[start..cut].rfind(char::is_whitespace) {
        Some(space) if cut < text.len() && start + space > first_end => start + space,
        _ => cut,
    };
    let mut out = String::from(if start > 0 { "…" } else { "" });
    let mut at = start;
    for range in found
        .iter()
        .filter(|range| range.start >= start && range.end <= end)
    {
        out.push_str(&text[at..range.start]);
        out.push_str("**");
        out.push_str(&text[range.clone()]);
        out.push_str("**");
        at = range.end;
    }
    out.push_str(&text[at..end]);
    if end < text.len() {
        out.push('…');
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stems(text: &str) -> String {
        index(text).stems.trim_end().to_owned()
    }

    #[test]
    fn russian_and_english_forms_share_a_stem() {
        assert_eq!(stems("требования требованию"), stems("требований требованиями"));
        assert_eq!(stems("logins logging logged"), "login log log");
        assert_eq!(stems("Ещё"), stems("еще"));
        assert_eq!(
            stems("Сообщений й"),
            stems("сообщений Й"),
            "й is a letter, not an и with a mark"
        );
        assert_eq!(fold("Café"), "cafe");
    }

    /// What the index holds must stay what is looked for: a stemmer that gives other stems needs a step of the schema that
    /// writes the index anew.
    #[test]
    fn stems_change_only_on_purpose() {
        let english = "requirements requir required requir adding add internal internal organized organiz stories stori \
                       story stori acceptance accept criteria criteria criterion criterion linked link deletion delet \
                       deleted delet running run generously generous logging log";
        let russian = "требования требован требований требован система систем системы систем пользователь пользовател \
                       пользователями пользовател должна должн удаление удален удалено удал критерии критер \
                       приемки приемк историю истор связей связ";
        for list in [english, russian] {
            let words: Vec<&str> = list.split_whitespace().collect();
            for pair in words.chunks(2) {
                assert_eq!(stem(pair[0]), pair[1], "{}", pair[0]);
            }
        }
    }

    #[test]
    fn neighbours_share_a_form() {
        for (a, b) in [
            ("login", "lgoin"),
            ("login", "logn"),
            ("login", "loginn"),
            ("login", "logim"),
            ("отчет", "очтет"),
        ] {
            assert!(is_near(a, b), "{a} {b}");
            assert!(
                near_forms(a).iter().any(|form| near_forms(b).contains(form)),
                "{a} {b}"
            );
        }
        assert!(!is_near("log", "lag"), "too short to guess");
    }

    #[test]
    fn a_snippet_marks_what_was_found() {
        let text =
            "The system must answer within a second, whatever the load on the servers behind it may be.";
        assert_eq!(
            snippet(text, |word| word == "load", 40),
            "… the **load** on the servers behind it may…"
        );
        assert_eq!(
            snippet("короткий текст", |word| word == "текст", 40),
            "короткий **текст**"
        );
        assert_eq!(snippet("", |_| true, 40), "");
    }

    #[test]
    fn marks_that_come_to_stand_side_by_side_are_put_in_order() {
        let word = "\u{1e01b}\u{fe72}";
        assert_eq!(fold(&fold(word)), fold(word));
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_analysis(text in "\\PC{0,200}", word in "\\PC{0,20}") {
            let folded = fold(&word);
            let _ = (index(&text), stem(&folded), near_forms(&folded));
            let _ = snippet(&text, |w| w.contains('a'), 30);
        }

        #[test]
        fn folding_twice_changes_nothing(word in "\\PC{0,20}") {
            prop_assert_eq!(fold(&fold(&word)), fold(&word));
        }
    }
}
