//! `cargo xtask ci`: what CI runs, here.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

// Fulfils 003 R16.9
pub(crate) fn run(root: &Path) -> Result<bool> {
    let status = Command::new("bash")
        .arg(".ci/run")
        .current_dir(root)
        .status()
        .context("bash .ci/run")?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    /// The real `.ci/run` in a repository where every program only notes how it was called, and a later step.
    struct Pretence(tempfile::TempDir);

    impl Pretence {
        fn new(cargo: &str) -> Self {
            let pretence = Self(tempfile::tempdir().unwrap());
            let ours = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
            for name in ["run", "provide"] {
                let text = fs::read_to_string(ours.join(".ci").join(name)).unwrap();
                pretence.program(&format!(".ci/{name}"), &text);
            }
            pretence.program(
                "bin/cargo",
                &format!("#!/bin/sh\necho \"$1\" >> calls\n{cargo}\n"),
            );
            pretence.program("bin/initdb", "#!/bin/sh\n");
            pretence.program("tools/cargo-deny-0.20.2/bin/cargo-deny", "#!/bin/sh\n");
            pretence.program("target/debug/xtask", "#!/bin/sh\necho xtask $1 >> calls\n");
            pretence.program("target/debug/with-postgres", "#!/bin/sh\nexec \"$@\"\n");
            pretence.program(
                ".ci/steps/90-deploy",
                "#!/bin/sh\necho deploy >> calls\necho proved 000 R1.1 90-deploy\n",
            );
            pretence
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn program(&self, name: &str, text: &str) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }

        fn run(&self) -> Output {
            let inherited = std::env::var("PATH").unwrap_or_default();
            Command::new("bash")
                .arg(".ci/run")
                .current_dir(self.0.path())
                .env("PATH", format!("{}:{inherited}", self.path("bin").display()))
                .env("SPEXUS_CI_TOOLS", self.path("tools"))
                .env("CARGO_TARGET_DIR", self.path("target"))
                .output()
                .unwrap()
        }

        fn calls(&self) -> String {
            fs::read_to_string(self.path("calls")).unwrap()
        }
    }

    // proves 003 R16.9
    #[test]
    fn a_failing_test_ends_the_run_before_anything_later() {
        let pretence = Pretence::new("[ \"$1\" != test ]");
        let ended = pretence.run();
        let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(!ended.status.success(), "{printed}");
        assert!(printed.contains("== test FAILED"), "{printed}");
        assert!(pretence.calls().ends_with("test\n"), "{}", pretence.calls());
    }

    #[test]
    fn a_step_that_fails_fails_the_run_though_its_words_are_kept() {
        let pretence = Pretence::new("");
        pretence.program(".ci/steps/80-broken", "#!/bin/sh\necho proved nothing\nexit 3\n");
        let ended = pretence.run();
        assert!(!ended.status.success());
        assert!(!pretence.calls().contains("deploy"), "{}", pretence.calls());
    }

    #[test]
    fn a_run_without_a_fault_reaches_its_last_step() {
        let pretence = Pretence::new("");
        let ended = pretence.run();
        assert!(
            ended.status.success(),
            "{}",
            String::from_utf8_lossy(&ended.stdout)
        );
        let calls = pretence.calls();
        assert!(
            calls.contains("\ntest\nxtask results\n") && calls.ends_with("deploy\nxtask results\n"),
            "{calls}"
        );
        let steps = fs::read_to_string(pretence.path("target/steps.log")).unwrap();
        assert_eq!(steps, "proved 000 R1.1 90-deploy\n", "what a step says is kept");
    }
}
