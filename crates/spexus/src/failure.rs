//! What goes wrong, told to the person or program that called, with an exit code by kind.

use crate::output::Output;
use spexus_domain::{Code, Refusal};
use spexus_service::envelope::ErrorEnvelope;
use std::io::IsTerminal as _;
use std::process::ExitCode;

/// What a command answers.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Exit codes, as `--help` lists them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0   done
  1   refused: a rule, a conflict, or a value that is not allowed
  2   the command was not understood
  3   not allowed: the user or the token lacks the right
  4   not found
  69  not available: the database does not answer, the port is taken
  70  an internal fault; please report it
  78  the configuration is wrong";

/// Why a command ended without doing what it was asked for.
#[derive(Debug)]
pub(crate) struct Failure {
    refusal: Refusal,
    exit: u8,
    /// Whether it was told already, or there is nobody to tell.
    silent: bool,
}

impl From<Refusal> for Failure {
    //= specs/spexus.md#exit-codes
    //# The exit code MUST tell the kind of failure.
    fn from(refusal: Refusal) -> Self {
        let exit = exit_code(refusal.code);
        Self {
            refusal,
            exit,
            silent: false,
        }
    }
}

impl From<spexus_store::Error> for Failure {
    fn from(error: spexus_store::Error) -> Self {
        if !matches!(error, spexus_store::Error::Refused(_)) {
            tracing::error!(%error, "the store failed");
        }
        error.into_refusal().into()
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        // Whoever read our output has seen enough.
        let silent = error.kind() == std::io::ErrorKind::BrokenPipe;
        let refusal = Refusal::new(Code::ServiceUnavailable, error.to_string());
        Self {
            refusal,
            exit: if silent { 0 } else { 69 },
            silent,
        }
    }
}

impl Failure {
    /// The configuration is wrong.
    pub(crate) fn configuration(refusal: Refusal) -> Self {
        Self {
            refusal,
            exit: 78,
            silent: false,
        }
    }

    /// Something outside does not work.
    pub(crate) fn unavailable(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Refusal::new(Code::ServiceUnavailable, message).hint(hint).into()
    }

    /// A value on the command line is not allowed.
    pub(crate) fn argument(field: &str, problem: impl Into<String>, allowed: impl Into<String>) -> Self {
        Refusal::field(Code::InvalidParams, field, problem, allowed).into()
    }

    /// The answer was printed and is itself the bad news.
    pub(crate) fn already_shown(exit: u8) -> Self {
        Self {
            refusal: Refusal::new(Code::RuleViolated, ""),
            exit,
            silent: true,
        }
    }

    /// Tells what went wrong; answers the exit code.
    pub(crate) fn report(self, output: Output) -> ExitCode {
        if self.silent {
            return ExitCode::from(self.exit);
        }
        //= specs/spexus.md#answers
        //# With `--json` a refusal MUST be the error envelope of REST.
        if output.json {
            let _ = output.value(&ErrorEnvelope::from(self.refusal));
        } else {
            let red = std::io::stderr().is_terminal();
            eprint!("{}", text(&self.refusal, red));
        }
        ExitCode::from(self.exit)
    }
}

/// What went wrong and what to do, for those who tell it themselves.
pub(crate) fn message_and_hint(failure: &Failure) -> (String, String) {
    (failure.refusal.message.clone(), failure.refusal.hint.clone())
}

fn exit_code(code: Code) -> u8 {
    use spexus_domain::Code as C;
    match code {
        C::ResourceNotFound | C::PromptNotFound | C::ToolNotFound => 4,
        C::InternalError => 70,
        C::ServiceUnavailable
        | C::DependencyUnavailable
        | C::ServerShuttingDown
        | C::ServerUninitialized
        | C::Timeout
        | C::TransportError
        | C::QueueCapExceeded
        | C::ResourceExhausted => 69,
        C::AuthFailed
        | C::AuthExpired
        | C::AuthInvalidCredentials
        | C::AuthzForbidden
        | C::AuthMissing
        | C::SessionInvalid => 3,
        _ => 1,
    }
}

fn text(refusal: &Refusal, red: bool) -> String {
    let (on, off) = if red {
        ("\u{1b}[31m", "\u{1b}[0m")
    } else {
        ("", "")
    };
    let mut text = format!("{on}error:{off} {}\n", refusal.message);
    let only = refusal.faults.len() == 1;
    for fault in &refusal.faults {
        let allowed = match fault.allowed.as_str() {
            "" => String::new(),
            allowed => format!("; allowed: {allowed}"),
        };
        // One fault is what the message says already, but for what is allowed.
        match (only, allowed.is_empty()) {
            (true, true) => {}
            (true, false) => text.push_str(&format!("  {}\n", allowed.trim_start_matches("; "))),
            (false, _) => text.push_str(&format!("  {}: {}{allowed}\n", fault.field, fault.problem)),
        }
    }
    if !refusal.hint.is_empty() {
        text.push_str(&format!("hint: {}\n", refusal.hint));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_an_exit_code_by_its_kind() {
        //= specs/spexus.md#exit-codes
        //= type=test
        //# The exit code MUST tell the kind of failure.
        for code in Code::ALL {
            let exit = exit_code(*code);
            let expected = match code.http_status() {
                401 | 403 => 3,
                404 if *code == Code::SessionInvalid => 3,
                404 => 4,
                _ => exit,
            };
            assert_eq!(exit, expected, "{}", code.name());
            assert!([1, 3, 4, 69, 70].contains(&exit));
        }
    }

    #[test]
    fn a_refusal_reads_as_error_faults_and_hint() {
        let refusal = Refusal::field(Code::InvalidParams, "title", "is empty", "1 to 500 characters");
        assert_eq!(
            text(&refusal, false),
            "error: title: is empty\n  allowed: 1 to 500 characters\nhint: Correct the fields named in the details and try again.\n"
        );
    }
}
