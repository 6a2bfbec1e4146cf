//! What people write: checked once, at the edge of the domain, and stored as it was written.

use crate::{Code, Fault, Refusal, Ruled, limits};

/// Collects the faults of one input, so that all of them are told at once.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Notes a fault.
    pub fn add(&mut self, field: impl Into<String>, problem: impl Into<String>, allowed: impl Into<String>) {
        self.0.push(Fault {
            field: field.into(),
            problem: problem.into(),
            allowed: allowed.into(),
        });
    }

    /// Takes the value of a rule, or notes its faults.
    pub fn take<T>(&mut self, ruled: Ruled<T>) -> Option<T> {
        match ruled {
            Ok(value) => Some(value),
            Err(refusal) if refusal.faults.is_empty() => {
                self.add("", refusal.message, "");
                None
            }
            Err(refusal) => {
                self.0.extend(refusal.faults);
                None
            }
        }
    }

    /// Refuses when anything was noted.
    pub fn refuse(self) -> Ruled<()> {
        Refusal::of_faults(Code::InvalidParams, self.0).map_or(Ok(()), Err)
    }
}

/// A single line that must not be empty: titles.
pub fn title(field: &str, text: &str) -> Ruled<String> {
    line(field, text, limits::MAX_TITLE_CHARS)
}

/// A short single line that must not be empty: names.
pub fn name(field: &str, text: &str) -> Ruled<String> {
    line(field, text, limits::MAX_NAME_CHARS)
}

/// Text of several lines, possibly empty.
pub fn description(field: &str, text: &str) -> Ruled<String> {
    paragraphs(field, text, limits::MAX_DESCRIPTION_CHARS)
}

/// Text of several lines that must not be empty, up to `max` characters.
pub fn required_paragraphs(field: &str, text: &str, max: usize) -> Ruled<String> {
    let text = paragraphs(field, text, max)?;
    if text.trim().is_empty() {
        return Err(Refusal::field(
            Code::InvalidParams,
            field,
            "is empty",
            format!("1 to {max} characters"),
        ));
    }
    Ok(text)
}

/// A number as people read it: `1,234,567`.
pub fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = if number < 0 { "-".to_owned() } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The first characters of a text on one line, for previews; cut between characters, never inside one.
pub fn excerpt(text: &str, max_chars: usize) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= max_chars {
        return line;
    }
    let mut cut: String = line.chars().take(max_chars.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// A user name: what can stand in a URL, a log line and a mention without quoting.
pub fn username(field: &str, text: &str) -> Ruled<String> {
    let allowed = "1 to 100 letters, digits, dots, dashes or underscores, starting with a letter or digit; not `me`, `none` or a UUID";
    // Where a user is asked for, these mean something else than a name.
    let taken = ["me", "none"].iter().any(|word| word.eq_ignore_ascii_case(text))
        || uuid::Uuid::try_parse(text).is_ok();
    let fits = !taken
        && text.chars().count() <= limits::MAX_NAME_CHARS
        && text.chars().next().is_some_and(char::is_alphanumeric)
        && text.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
    if fits {
        Ok(text.to_owned())
    } else {
        Err(Refusal::field(
            Code::InvalidParams,
            field,
            format!("{:?} is not a user name", excerpt(text, 60)),
            allowed,
        ))
    }
}

/// An e-mail address, checked only as far as it helps against mistakes.
pub fn email(field: &str, text: &str) -> Ruled<String> {
    let fits = text.chars().count() <= limits::MAX_EMAIL_CHARS
        && text.chars().all(|c| !c.is_whitespace() && !c.is_control())
        && matches!(text.split_once('@'), Some((local, host)) if !local.is_empty() && !host.is_empty() && !host.contains('@'));
    if fits {
        Ok(text.to_owned())
    } else {
        let problem = format!("{:?} is not an e-mail address", excerpt(text, 60));
        Err(Refusal::field(Code::InvalidParams, field, problem, "name@host"))
    }
}

/// A password someone chose.
pub fn password(field: &str, text: &str) -> Ruled<()> {
    let chars = text.chars().count();
    if (limits::MIN_PASSWORD_CHARS..=limits::MAX_PASSWORD_CHARS).contains(&chars) {
        return Ok(());
    }
    let allowed = format!(
        "{} to {} characters",
        limits::MIN_PASSWORD_CHARS,
        limits::MAX_PASSWORD_CHARS
    );
    Err(Refusal::field(
        Code::InvalidParams,
        field,
        format!("has {chars} characters"),
        allowed,
    ))
}

fn line(field: &str, text: &str, max: usize) -> Ruled<String> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Refusal::field(
            Code::InvalidParams,
            field,
            "is empty",
            format!("1 to {max} characters"),
        ));
    }
    at_most(field, text, max)?;
    match text.chars().position(char::is_control) {
        None => Ok(text.to_owned()),
        Some(at) => Err(control(field, at, "one line without control characters")),
    }
}

fn paragraphs(field: &str, text: &str, max: usize) -> Ruled<String> {
    at_most(field, text, max)?;
    match text.chars().position(|c| c.is_control() && !"\n\r\t".contains(c)) {
        None => Ok(text.to_owned()),
        Some(at) => Err(control(
            field,
            at,
            "text with line breaks and tabs, no other control characters",
        )),
    }
}

//= specs/spexus-http.md#refusals
//# Every text MUST be accepted up to its limit in characters and refused beyond it.
fn at_most(field: &str, text: &str, max: usize) -> Ruled<()> {
    let chars = text.chars().count();
    if chars <= max {
        return Ok(());
    }
    Err(Refusal::field(
        Code::InvalidParams,
        field,
        format!("has {chars} characters"),
        format!("at most {max}"),
    ))
}

fn control(field: &str, at: usize, allowed: &str) -> Refusal {
    Refusal::field(
        Code::InvalidParams,
        field,
        format!("has a control character at position {at}"),
        allowed,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_characters_not_bytes() {
        assert!(title("title", &"ж".repeat(limits::MAX_TITLE_CHARS)).is_ok());
        let refusal = title("title", &"ж".repeat(limits::MAX_TITLE_CHARS + 1)).unwrap_err();
        assert_eq!(refusal.message, "title: has 501 characters");
    }

    #[test]
    fn refuses_nul_and_other_control_characters_with_their_place() {
        assert_eq!(
            title("title", "ab\0c").unwrap_err().faults[0].problem,
            "has a control character at position 2"
        );
        assert!(description("description", "a\n\tb\r\n").is_ok());
        assert!(description("description", "a\u{1b}[31m").is_err());
    }

    #[test]
    fn an_excerpt_is_cut_between_characters() {
        assert_eq!(excerpt("Система  должна\nотвечать", 10), "Система д…");
        assert_eq!(excerpt("short", 10), "short");
    }

    #[test]
    fn user_names_may_be_of_any_script_but_never_empty_or_spaced() {
        assert!(username("username", "анна.k-1").is_ok());
        for bad in ["", "-x", "a b", "a/b", "a\0"] {
            assert!(username("username", bad).is_err(), "{bad:?}");
        }
    }
}
