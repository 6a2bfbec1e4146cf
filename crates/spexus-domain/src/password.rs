//! Which passwords somebody may choose: not short, not one that is tried first, not the own name.

use crate::{Code, Refusal, Ruled, text};
use std::collections::HashSet;
use std::sync::LazyLock;

/// Passwords that are tried first, in small letters, one on each line: our own list, short on purpose.
static KNOWN: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("password/known.txt").lines().collect());
/// Different characters a password has at least.
const MIN_DIFFERENT_CHARS: usize = 4;

/// Refuses a password somebody chooses for an account, when it is one that is guessed first.
//= specs/spexus-service.md#accounts
//# A password that is among those tried first, made of fewer than four different characters, or the user's own name MUST be refused when it is chosen.
pub fn chosen(field: &str, password: &str, username: &str) -> Ruled<()> {
    text::password(field, password)?;
    let folded = password.to_lowercase();
    let core = folded.trim_matches(|letter: char| !letter.is_alphabetic());
    let name = username.to_lowercase();
    let problem = match () {
        () if KNOWN.contains(folded.as_str()) => "is one of the passwords that are tried first",
        () if folded.chars().collect::<HashSet<_>>().len() < MIN_DIFFERENT_CHARS => {
            "has too few different characters"
        }
        () if !name.is_empty() && (folded == name || core == name) => "is the user's own name",
        () => return Ok(()),
    };
    Err(Refusal::field(
        Code::InvalidParams,
        field,
        problem,
        "a password that is hard to guess, such as four words that do not belong together",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/spexus-service.md#accounts
    //= type=test
    //# A password that is among those tried first, made of fewer than four different characters, or the user's own name MUST be refused when it is chosen.
    #[test]
    fn passwords_that_are_guessed_first_are_refused() {
        let bad = [
            "12345678",
            "Password1",
            "QWERTY123",
            "changeme",
            "abababab",
            "marianne",
            "Marianne2026!",
            "short",
        ];
        for password in bad {
            let refusal = chosen("password", password, "Marianne").unwrap_err();
            assert_eq!(refusal.faults[0].field, "password", "{password}");
            assert!(
                !refusal.to_string().contains(password),
                "{password} is not repeated"
            );
        }
        for good in [
            "correct horse battery",
            "long enough",
            "marianne likes tea",
            "зелёный чай",
        ] {
            chosen("password", good, "Marianne").unwrap();
        }
    }

    #[test]
    fn the_list_is_in_small_letters_sorted_and_long_enough_to_matter() {
        let lines: Vec<&str> = include_str!("password/known.txt").lines().collect();
        assert!(lines.is_sorted() && lines.len() > 400);
        assert!(
            lines
                .iter()
                .all(|line| line.len() >= 8 && *line == line.to_lowercase())
        );
    }
}
