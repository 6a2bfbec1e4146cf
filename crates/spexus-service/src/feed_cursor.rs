//! The cursor of a feed, of a project or of the whole installation: how far somebody has read, and in which history.
//!
//! It says the number of the last change they know, whose ledger that is, and the beginning of the change's hash. The hash seals
//! everything before it, so a cursor fits exactly the histories that hold all its owner knows. After a backup was read back, the
//! changes behind it are gone and others may take their numbers; a bare number would go on among those in silence.

use spexus_domain::change::{Change, INSTALLATION};
use spexus_domain::{Code, Refusal, Ruled, Uuid};
use spexus_store::{Conn, Result, changes, dropped_segments};

/// The cursor in front of the first change, of any history.
pub const START: &str = "0";

/// Digits of the ledger and of the hash.
const DIGITS: usize = 8;

/// The cursor behind a change of a project.
pub fn behind(change: &Change) -> String {
    write(change.number, change.project_id.unwrap_or_default(), &change.hash)
}

/// The cursor behind a change in the feed of the whole installation, which counts changes as they arrived.
pub fn behind_of_all(change: &Change) -> String {
    write(change.seq, INSTALLATION, &change.hash)
}

pub(crate) fn write(number: i64, ledger: Uuid, hash: &str) -> String {
    let hash = hash.get(..DIGITS).unwrap_or_default();
    format!("{number}-{}-{hash}", tail(ledger))
}

/// The end of a project's id, where chance is.
fn tail(ledger: Uuid) -> String {
    ledger.simple().to_string().split_off(32 - DIGITS)
}

/// Up to which number of a ledger somebody has read.
//= specs/spexus-http.md#feed
//# A cursor of another history or project, and a bare number of older versions, MUST be refused with what to do.
//= specs/spexus-http.md#feed
//# A cursor MUST be refused when changes behind it were dropped by retention.
pub(crate) async fn number(conn: &mut Conn, ledger: Uuid, cursor: &str) -> Result<i64> {
    if cursor == START {
        return Ok(0);
    }
    let (number, of, hash) = parse(cursor)?;
    if of != tail(ledger) {
        return Err(bad("is a cursor of another project").into());
    }
    let known = match dropped_segments::of(conn, ledger).await? {
        Some(segment) if number < segment.number => return Err(dropped().into()),
        Some(segment) if number == segment.number => Some(hex::encode(segment.hash)),
        _ => changes::hash_of(conn, ledger, number).await?,
    };
    match known.is_some_and(|known| known.starts_with(hash)) {
        true => Ok(number),
        false => Err(another_history().into()),
    }
}

/// Up to which change of all somebody has read.
//= specs/spexus-http.md#feed
//# A cursor of another history or project, and a bare number of older versions, MUST be refused with what to do.
pub(crate) async fn number_of_all(conn: &mut Conn, cursor: &str) -> Result<i64> {
    if cursor == START {
        return Ok(0);
    }
    let (number, of, hash) = parse(cursor)?;
    if of != tail(INSTALLATION) {
        return Err(bad("is a cursor of a project").into());
    }
    if number < dropped_segments::last_seq(conn).await? {
        return Err(dropped().into());
    }
    let known = changes::hash_at(conn, number).await?;
    match known.is_some_and(|known| known.starts_with(hash)) {
        true => Ok(number),
        false => Err(another_history().into()),
    }
}

fn parse(cursor: &str) -> Ruled<(i64, &str, &str)> {
    let is_number = !cursor.is_empty() && cursor.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        let refusal =
            bad("is a bare number, as older versions gave out; it does not say which history it is of");
        return Err(refusal.hint(ANEW));
    }
    let is_hex = |text: &str| text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut parts = cursor.split('-');
    let found = (parts.next(), parts.next(), parts.next(), parts.next());
    let (Some(number), Some(ledger), Some(hash), None) = found else {
        return Err(bad("is not the cursor of a feed"));
    };
    match number.parse::<i64>() {
        Ok(number) if number > 0 && is_hex(ledger) && is_hex(hash) => Ok((number, ledger, hash)),
        _ => Err(bad("is not the cursor of a feed")),
    }
}

const ANEW: &str = "Read the feed anew from 0, or what there is now and then go on from the cursor of now.";

fn bad(problem: &str) -> Refusal {
    Refusal::field(
        Code::InvalidParams,
        "since",
        problem,
        "`next_since` of an answer, unchanged, or 0 for everything",
    )
}

fn another_history() -> Refusal {
    bad("is of another history: the database was restored from a backup since, or the history was changed")
        .hint(ANEW)
        .fact("reason", "another_history")
}

fn dropped() -> Refusal {
    bad("is behind what retention dropped: changes that its owner has not seen are gone")
        .hint(ANEW)
        .fact("reason", "dropped")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_as_it_was_written_and_nothing_else_does() {
        let ledger = Uuid::from_u128(0x1234_5678);
        let written = write(42, ledger, "deadbeefcafe");
        assert_eq!(written, "42-12345678-deadbeef");
        assert_eq!(parse(&written).unwrap(), (42, "12345678", "deadbeef"));
        for odd in [
            "",
            "17",
            "-5",
            "0-12345678-deadbeef",
            "1-2-3",
            "1-12345678-deadbeef-",
            "x-12345678-deadbeef",
            "latest",
        ] {
            assert_eq!(parse(odd).unwrap_err().code, Code::InvalidParams, "{odd}");
        }
        assert!(parse("17").unwrap_err().hint.contains("anew"));
    }
}
