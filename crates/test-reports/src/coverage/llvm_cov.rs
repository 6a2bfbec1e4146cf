//! What `llvm-cov export` writes: for each file the places where the count changes.

use super::{CoverageSink, Gathered};
use crate::{ReportFault, ReportLimits};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::io::BufRead;

#[derive(Deserialize)]
struct Root {
    data: Vec<Export>,
}

#[derive(Deserialize)]
struct Export {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    filename: String,
    #[serde(default)]
    segments: Vec<Segment>,
}

/// Line, column, count, whether it has one, whether a region begins, and, in newer versions, whether it is a gap.
#[derive(Deserialize)]
#[serde(untagged)]
enum Segment {
    Six(u32, u32, u64, bool, IgnoredAny, bool),
    Five(u32, u32, u64, bool, IgnoredAny),
}

impl Segment {
    /// Line, column, and the count where there is one.
    fn place(&self) -> (u32, u32, Option<u64>) {
        let (line, column, count, has_count, is_gap) = match self {
            Segment::Six(line, column, count, has_count, _, is_gap) => {
                (line, column, count, has_count, *is_gap)
            }
            Segment::Five(line, column, count, has_count, _) => (line, column, count, has_count, false),
        };
        (*line, *column, (*has_count && !is_gap).then_some(*count))
    }
}

pub(super) fn read(
    input: impl BufRead,
    limits: &ReportLimits,
    sink: &mut CoverageSink<'_>,
) -> Result<(), ReportFault> {
    let root: Root = serde_json::from_reader(input.take(limits.max_report_bytes)).map_err(|error| {
        let line = u32::try_from(error.line()).unwrap_or(u32::MAX).max(1);
        ReportFault::new(line, format!("it is no export of llvm-cov: {error}"))
    })?;
    for file in root.data.into_iter().flat_map(|export| export.files) {
        let mut gathered = Gathered::default();
        for pair in file.segments.windows(2) {
            let ((line, _, count), (next_line, next_column, _)) = (pair[0].place(), pair[1].place());
            let Some(count) = count else { continue };
            // A region that ends at the first column of a line does not reach into it.
            let end = if next_line > line && next_column <= 1 {
                next_line - 1
            } else {
                next_line
            };
            for covered in line..=end.min(line.saturating_add(MAX_REGION_LINES)) {
                gathered.add(covered, count, 1)?;
            }
        }
        sink(gathered.finish(file.filename));
    }
    Ok(())
}

/// Lines of one region at most.
const MAX_REGION_LINES: u32 = 1_000_000;
