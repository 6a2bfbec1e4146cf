//! A statement in the form of in-toto: about a commit and the files of a release, it says of each requirement where it stands and which
//! run verified it, with the digests that the ledger seals. Signed, it is a DSSE envelope that any other tool can check.

use super::standing_word;
use crate::checkpoint::SigningKey;
use crate::failure::{Failure, Outcome};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use spexus_service::evidence::{EvidenceRun, MatrixRow, TraceMatrix};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const PREDICATE: &str = "urn:spexus:requirement-verification:v1";
const PAYLOAD: &str = "application/vnd.in-toto+json";

/// Digits of a commit in its long form, by SHA-1 or SHA-256.
const COMMIT_DIGITS: [usize; 2] = [40, 64];

//= specs/spexus.md#evidence
//# A signed statement MUST be a DSSE envelope over an in-toto statement that names the commit, each requirement with its state, and the
//# runs that verified it with their digests.
pub(super) fn document(
    matrix: &TraceMatrix,
    artifacts: &[PathBuf],
    key: Option<&SigningKey>,
) -> Outcome<Value> {
    let statement = statement(matrix, artifacts)?;
    let Some(key) = key else {
        return Ok(statement);
    };
    let payload = serde_json::to_vec(&statement).map_err(std::io::Error::from)?;
    let signature = key.sign_bytes(&signed_bytes(&payload));
    Ok(json!({
        "payloadType": PAYLOAD,
        "payload": STANDARD.encode(&payload),
        "signatures": [{"keyid": key.public(), "sig": STANDARD.encode(signature)}],
    }))
}

/// What DSSE signs: the type and the bytes, each with its length in front, so that neither can be taken for the other.
fn signed_bytes(payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {PAYLOAD} {} ", PAYLOAD.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

fn statement(matrix: &TraceMatrix, artifacts: &[PathBuf]) -> Outcome<Value> {
    let commit = full_commit(matrix)?;
    let about = json!({"name": "commit", "digest": {"gitCommit": commit}});
    let files = artifacts.iter().map(|path| artifact(path));
    let subject: Outcome<Vec<Value>> = std::iter::once(Ok(about)).chain(files).collect();
    let by_test = matrix.runs_by_test();
    let check = &matrix.check;
    let requirements: Vec<Value> = matrix.rows.iter().map(|row| requirement(row, &by_test)).collect();
    let runs: Vec<Value> = matrix.runs.iter().filter(|run| run.counts).map(run).collect();
    Ok(json!({
        "_type": STATEMENT,
        "subject": subject?,
        "predicateType": PREDICATE,
        "predicate": {
            "project": check.project,
            "madeAt": matrix.read_at.to_string(),
            "madeBy": {"name": "spexus", "version": env!("CARGO_PKG_VERSION")},
            "level": check.level.name(),
            "holds": check.holds,
            "states": check.states,
            "requirements": requirements,
            "runs": runs,
        },
    }))
}

/// The commit that the runs named in its long form; a short one could mean another some day.
fn full_commit(matrix: &TraceMatrix) -> Outcome<&str> {
    let named = matrix.runs.iter().map(|run| run.commit.as_str());
    let mut long = named.filter(|commit| COMMIT_DIGITS.contains(&commit.len()));
    long.next().ok_or_else(|| {
        let problem = "no run of the traced commit named it with all its digits";
        Failure::argument(
            "format",
            problem,
            "a push with `--commit \"$(git rev-parse HEAD)\"` before the statement",
        )
    })
}

fn artifact(path: &Path) -> Outcome<Value> {
    let unreadable = |error: std::io::Error| {
        let problem = format!("{} cannot be read: {error}", path.display());
        Failure::argument("artifact", problem, "a file that can be read")
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut buffer).map_err(unreadable)? {
            0 => break,
            read => digest.update(&buffer[..read]),
        }
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(json!({"name": name.unwrap_or_default(), "digest": {"sha256": hex::encode(digest.finalize())}}))
}

fn requirement(row: &MatrixRow, by_test: &HashMap<&str, Vec<&EvidenceRun>>) -> Value {
    let standing = &row.standing;
    let flags: Vec<&str> = standing.flags.iter().map(|flag| flag.name()).collect();
    let tests: Vec<Value> = row
        .tests
        .iter()
        .map(|test| {
            let runs = by_test.get(test.name.as_str()).into_iter().flatten();
            let runs: Vec<String> = runs.map(|run| run.id.to_string()).collect();
            json!({"name": test.name, "standing": standing_word(test.standing), "runs": runs})
        })
        .collect();
    let text = format!("{}\n{}", standing.title, row.text);
    json!({
        "id": standing.reference_id.to_string(),
        "title": standing.title,
        "textDigest": {"sha256": hex::encode(Sha256::digest(text))},
        "state": standing.state.name(),
        "flags": flags,
        "gap": row.is_gap,
        "tests": tests,
    })
}

fn run(run: &EvidenceRun) -> Value {
    let sources: Vec<Value> = run.sources.iter().map(|source| json!(source)).collect();
    json!({
        "id": run.id.to_string(),
        "digest": {"blake3": run.digest},
        "commit": run.commit,
        "command": run.command,
        "pushedBy": run.pushed_by,
        "pushedAt": run.pushed_at.to_string(),
        "reports": sources,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signed_bytes_are_those_of_dsse() {
        let signed = signed_bytes(b"hello world");
        assert_eq!(signed, b"DSSEv1 28 application/vnd.in-toto+json 11 hello world");
    }
}
