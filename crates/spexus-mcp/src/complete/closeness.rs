//! How close a value is to what was typed: its beginning, a word in it, its letters in order, or a typing error.

/// The smaller, the closer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Closeness {
    /// It begins as typed.
    Begins,
    /// A word of it, or of what is said about it, begins as typed.
    Word,
    /// It holds the letters typed, in their order.
    Letters,
    /// It would, but for a typing error.
    Error,
}

/// How close a value is, with the words that are said about it; `None` when it is not.
//= specs/spexus-mcp.md#completion
//# What is typed MUST also find values that hold its letters in order or differ by a typing error, those used before first.
pub(crate) fn of(value: &str, about: &str, typed: &str) -> Option<Closeness> {
    let (value, about, typed) = (value.to_lowercase(), about.to_lowercase(), typed.to_lowercase());
    if value.starts_with(&typed) {
        return Some(Closeness::Begins);
    }
    if begins_a_word(&value, &typed) || begins_a_word(&about, &typed) {
        return Some(Closeness::Word);
    }
    if typed.chars().count() >= 2 && holds_in_order(&value, &typed) {
        return Some(Closeness::Letters);
    }
    let words = value.split_whitespace().chain(words_of(&about));
    let mut errors = words.filter(|word| is_error(word, &typed));
    errors.next().map(|_| Closeness::Error)
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// Whether every word typed begins a word of the text. `12` begins one of `REQ-0012`: nobody types a number's zeros.
fn begins_a_word(text: &str, typed: &str) -> bool {
    let begins = |word: &str, typed: &str| {
        let bare = word.trim_start_matches('0');
        word.starts_with(typed) || (bare != word && bare.starts_with(typed))
    };
    let mut parts = words_of(typed).peekable();
    parts.peek().is_some() && parts.all(|typed| words_of(text).any(|word| begins(word, typed)))
}

fn holds_in_order(value: &str, typed: &str) -> bool {
    let mut letters = value.chars();
    typed.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

/// One letter wrong, missing, too many or exchanged; two in long words. Of a longer word only its beginning was typed.
fn is_error(word: &str, typed: &str) -> bool {
    let length = typed.chars().count();
    let allowed = match length {
        0..=2 => return false,
        3..=5 => 1,
        _ => 2,
    };
    let beginning = |count: usize| word.chars().take(count).collect::<String>();
    [length.saturating_sub(1), length, length + 1, usize::MAX]
        .into_iter()
        .any(|count| strsim::damerau_levenshtein(&beginning(count), typed) <= allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, about: &str, typed: &str, expect: Option<Closeness>) {
        assert_eq!(of(value, about, typed), expect, "{typed} for {value} ({about})");
    }

    #[test]
    fn what_is_typed_finds_what_is_meant() {
        use Closeness::{Begins, Error, Letters, Word};
        check("REQ-012", "", "req-0", Some(Begins));
        check("REQ-012", "", "", Some(Begins));
        check("REQ-012", "", "12", Some(Word));
        check("REQ-012", "Log in by password", "pass log", Some(Word));
        check("REQ-012", "Log in by password", "passw", Some(Word));
        check("In Progress", "", "prog", Some(Word));
        check("Non-Functional", "", "nfn", Some(Letters));
        check("Functional", "", "fucntional", Some(Error));
        check("Functional", "", "funktion", Some(Error));
        check("REQ-012", "Вход по паролю", "парлю", Some(Error));
        check("Draft", "", "drfat", Some(Error));
        check("Draft", "", "done", None);
        check("REQ-012", "Log in", "7", None);
        check("REQ-012", "", "x", None);
    }
}
