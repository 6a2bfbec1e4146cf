//! What git says changed since a commit.

use crate::failure::{Failure, Outcome};
use spexus_domain::Timestamp;
use spexus_service::evidence::ChangedSince;
use std::process::Command;

/// The files that differ from a commit, those nobody told git of among them, and when the commit was made.
pub(super) fn changed_since(reference: &str) -> Outcome<ChangedSince> {
    let named = format!("{reference}^{{commit}}");
    let commit = git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &named])
        .map_err(|_| unknown(reference))?;
    let commit = commit.trim();
    //= specs/spexus.md#evidence
    //# `spexus trace check --changed-since` MUST look at the files that differ from that commit as git tells, new and deleted ones among them.
    // A file that moved is one that is gone and one that is new: what it held is affected under either name.
    let differing = git(&["diff", "--name-only", "--no-renames", "-z", commit, "--"])?;
    let new = git(&[
        "ls-files",
        "--others",
        "--exclude-standard",
        "--full-name",
        "-z",
        ":/",
    ])?;
    let made_at = git(&["show", "-s", "--format=%cI", commit])?;
    let paths = differing.split('\0').chain(new.split('\0'));
    Ok(ChangedSince {
        commit: reference.to_owned(),
        made_at: Timestamp::parse("changed-since", made_at.trim())?,
        paths: paths.filter(|path| !path.is_empty()).map(str::to_owned).collect(),
    })
}

fn unknown(reference: &str) -> Failure {
    let problem = format!("git knows no commit {reference:?} here");
    Failure::argument(
        "changed-since",
        problem,
        "a branch, a tag or a commit of the repository around the current folder",
    )
}

fn git(arguments: &[&str]) -> Outcome<String> {
    let failed = |why: String| {
        let hint = "`--changed-since` asks git in the current folder.";
        Failure::unavailable(format!("git {} {why}", arguments[0]), hint)
    };
    let output = Command::new("git").args(arguments).output();
    let output = output.map_err(|error| failed(format!("cannot be run: {}", error.kind())))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("failed: {}", words.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
