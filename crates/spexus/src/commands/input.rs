//! What people hand in: text, files, standard input, and passwords.

use crate::failure::{Failure, Outcome};
use serde::de::DeserializeOwned;
use std::io::{BufRead as _, IsTerminal as _, Read as _, Write as _};

/// A text given as an argument, or with `-` on standard input.
pub(super) fn text(field: &str, given: String) -> Outcome<String> {
    if given == "-" { file(field, "-") } else { Ok(given) }
}

/// The content of a file, or with `-` of standard input.
pub(super) fn file(field: &str, name: &str) -> Outcome<String> {
    let read = if name == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(name)
    };
    read.map_err(|error| {
        Failure::argument(
            field,
            format!("{name} cannot be read: {error}"),
            "a UTF-8 text file, or -",
        )
    })
}

/// A value written as JSON.
pub(super) fn json<T: DeserializeOwned>(field: &str, text: &str) -> Outcome<T> {
    serde_json::from_str(text)
        .map_err(|error| Failure::argument(field, format!("is not what was expected: {error}"), "JSON"))
}

/// A password, from standard input or asked for on the terminal; never from an argument, which others could see.
pub(super) fn password(from_stdin: bool) -> Outcome<String> {
    //= specs/spexus.md#secrets
    //# A password MUST be read from standard input or a prompt, never from an argument.
    let stdin = std::io::stdin();
    if from_stdin {
        return first_line();
    }
    if !stdin.is_terminal() {
        let allowed = "--password-stdin with the password on standard input, or a terminal to ask on";
        return Err(Failure::argument("password", "is missing", allowed));
    }
    let first = ask("Password: ")?;
    let second = ask("Again: ")?;
    if first == second {
        return Ok(first);
    }
    Err(Failure::argument(
        "password",
        "was typed differently the second time",
        "the same twice",
    ))
}

/// The next line of standard input.
pub(crate) fn first_line() -> Outcome<String> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Asks without showing what is typed.
pub(crate) fn ask(question: &str) -> Outcome<String> {
    eprint!("{question}");
    std::io::stderr().flush()?;
    let hidden = Hidden::start();
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    drop(hidden);
    eprintln!();
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Keeps the terminal from echoing as long as it lives.
#[cfg(unix)]
struct Hidden(Option<rustix::termios::Termios>);

#[cfg(unix)]
impl Hidden {
    fn start() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(std::io::stdin()).ok();
        if let Some(mut silent) = before.clone() {
            silent.local_modes.remove(LocalModes::ECHO);
            // A terminal that cannot be silenced still takes a password.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &silent);
        }
        Self(before)
    }
}

#[cfg(unix)]
impl Drop for Hidden {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(before) = &self.0 {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, before);
        }
    }
}

#[cfg(not(unix))]
struct Hidden;

#[cfg(not(unix))]
impl Hidden {
    fn start() -> Self {
        Self
    }
}
