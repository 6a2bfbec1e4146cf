//! Commands an operator names in the configuration, such as that of a key store: an argument list that is run as it stands, never
//! through a shell, for a bounded time and with a bounded answer.

use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

/// Bytes of an answer, and of what is said about a failure, at most.
const MAX_ANSWER_BYTES: u64 = 4_096;

/// What is passed on of the words a command said about its failure.
const MAX_WORDS: usize = 200;

/// Runs a command, gives it text on its standard input, and returns what it writes; what goes wrong is told in plain words that
/// follow the command's name.
//= specs/spexus.md#checkpoints
//# A command of the configuration MUST be run without a shell, for a bounded time and with a bounded answer.
pub(crate) async fn run(
    argv: &[String],
    more: &[&str],
    input: &str,
    limit: Duration,
) -> Result<String, String> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err("is empty".into());
    };
    let mut command = Command::new(program);
    command.args(arguments).args(more);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.kill_on_drop(true);
    let child = command
        .spawn()
        .map_err(|error| format!("cannot be run: {}", error.kind()))?;
    match tokio::time::timeout(limit, answer_of(child, input)).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("did not end within {} ms", limit.as_millis())),
    }
}

async fn answer_of(mut child: Child, input: &str) -> Result<String, String> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let give = async {
        if let Some(mut stdin) = stdin {
            // One that does not want it may have closed it; its exit code tells whether that is a failure.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let ((), answer, words) = tokio::join!(give, bounded(stdout), bounded(stderr));
    // Whoever says more than is read would wait for a reader for ever.
    if answer.len() as u64 > MAX_ANSWER_BYTES {
        return Err(format!("answered more than {MAX_ANSWER_BYTES} bytes"));
    }
    let status = child
        .wait()
        .await
        .map_err(|error| format!("cannot be waited for: {}", error.kind()))?;
    if !status.success() {
        let words = String::from_utf8_lossy(&words).replace(char::is_control, " ");
        let words: String = words.trim().chars().take(MAX_WORDS).collect();
        return Err(match words.as_str() {
            "" => format!("failed ({status})"),
            words => format!("failed ({status}): {words}"),
        });
    }
    String::from_utf8(answer).map_err(|_| "answered what is no text".to_owned())
}

async fn bounded(pipe: Option<impl tokio::io::AsyncRead + Unpin>) -> Vec<u8> {
    let mut read = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(MAX_ANSWER_BYTES + 1).read_to_end(&mut read).await;
    }
    read
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    async fn sh(script: &str, input: &str) -> Result<String, String> {
        let argv = ["/bin/sh", "-c", script].map(str::to_owned);
        run(&argv, &[], input, Duration::from_secs(5)).await
    }

    //= specs/spexus.md#checkpoints
    //= type=test
    //# A command of the configuration MUST be run without a shell, for a bounded time and with a bounded answer.
    #[tokio::test]
    async fn a_command_is_bounded_and_its_failures_are_plain() {
        assert_eq!(sh("cat", "given").await.unwrap(), "given");
        let argv = ["/bin/echo", "$HOME; true"].map(str::to_owned);
        let limit = Duration::from_secs(5);
        assert_eq!(
            run(&argv, &["more"], "", limit).await.unwrap(),
            "$HOME; true more\n"
        );
        let failed = sh("echo no such slot >&2; exit 3", "").await.unwrap_err();
        assert!(
            failed.contains("exit status: 3") && failed.contains("no such slot"),
            "{failed}"
        );
        assert!(sh("yes", "").await.unwrap_err().contains("more than 4096 bytes"));
        let missing = ["/nowhere/at/all".to_owned()];
        assert!(
            run(&missing, &[], "", limit)
                .await
                .unwrap_err()
                .contains("cannot be run")
        );
        let argv = ["/bin/sleep", "60"].map(str::to_owned);
        let late = run(&argv, &[], "", Duration::from_millis(50)).await.unwrap_err();
        assert_eq!(late, "did not end within 50 ms");
    }
}
