//! Texts as tokens: a word or a sign, with the blank before it, so that tokens put one after the other are the text again.

/// Cuts a text. Blanks in a row count as one, empty lines as one line's end.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            ' ' | '\t' | '\r' => {
                let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
                // The last blank belongs to what follows; others say nothing.
                rest = &rest[blanks - 1..];
                match rest[1..].chars().next() {
                    None | Some('\n') => {
                        rest = &rest[1..];
                        continue;
                    }
                    Some(next) => 1 + one(&rest[1..], next),
                }
            }
            '\n' => {
                found.push("\n");
                rest = rest.trim_start_matches(|c: char| c.is_whitespace());
                continue;
            }
            first => one(rest, first),
        };
        found.push(&rest[..end]);
        rest = &rest[end..];
    }
    found
}

/// How long the word or sign at the start is.
fn one(text: &str, first: char) -> usize {
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '\'');
    if !first.is_alphanumeric() {
        return first.len_utf8();
    }
    text.find(|c: char| !in_word(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_put_together_are_the_text() {
        for text in [
            "The system MUST answer within 200 ms.",
            "Вход: «имя» и пароль, user_id — re-use it's fine",
            "a\nb\n",
        ] {
            assert_eq!(tokens(text).concat(), text);
        }
        assert_eq!(tokens("a  b \n\n  c ").concat(), "a b\nc");
        assert_eq!(tokens("log-in, now"), ["log-in", ",", " now"]);
        assert!(tokens("").is_empty());
    }
}
