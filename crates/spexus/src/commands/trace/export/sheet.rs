//! CSV: one row for each thing that a requirement rests on, so that it can be filtered by any of them; a requirement that rests on nothing
//! has one row of its own.

use super::{EvidenceLine, evidence_of, flag_words};
use crate::failure::Outcome;
use spexus_service::evidence::{MatrixRow, TraceMatrix};
use spexus_service::transfer::sheet::guarded;
use std::io::Write;

pub(super) const COLUMNS: [&str; 12] = [
    "requirement",
    "title",
    "state",
    "flags",
    "gap",
    "what_to_do",
    "evidence",
    "place",
    "name",
    "standing",
    "commit",
    "message",
];

pub(super) fn write(matrix: &TraceMatrix, out: &mut (dyn Write + Send)) -> Outcome {
    let mut sheet = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(out);
    sheet.write_record(COLUMNS).map_err(std::io::Error::from)?;
    for row in &matrix.rows {
        for cells in rows_of(row) {
            //= specs/spexus.md#transfer
            //# A cell of a CSV export that a spreadsheet would take for a formula MUST be made text, and an import MUST read it as it was.
            let record = sheet.write_record(cells.map(guarded));
            record.map_err(std::io::Error::from)?;
        }
    }
    Ok(sheet.flush()?)
}

/// The rows of a requirement, without any guard.
pub(super) fn rows_of(row: &MatrixRow) -> Vec<[String; 12]> {
    let mut found = evidence_of(row);
    if found.is_empty() {
        found.push(EvidenceLine::default());
    }
    let standing = &row.standing;
    let cells = |line: EvidenceLine| {
        [
            standing.reference_id.to_string(),
            standing.title.clone(),
            standing.state.name().to_owned(),
            flag_words(row),
            if row.is_gap { "yes" } else { "no" }.to_owned(),
            standing.weakest.clone(),
            line.kind.to_owned(),
            line.place,
            line.name,
            line.standing,
            line.commit,
            line.message,
        ]
    };
    found.into_iter().map(cells).collect()
}
