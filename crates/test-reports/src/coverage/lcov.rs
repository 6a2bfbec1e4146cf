//! LCOV: a record for each file, a line for each line of it.

use super::{CoverageSink, Gathered};
use crate::tap::Lines;
use crate::{ReportFault, ReportLimits};
use std::io::BufRead;

pub(super) fn read(
    input: impl BufRead,
    limits: &ReportLimits,
    sink: &mut CoverageSink<'_>,
) -> Result<(), ReportFault> {
    let mut lines = Lines::new(input, limits.max_value_bytes, limits.max_report_bytes);
    let mut record: Option<(String, Gathered)> = None;
    let mut records = 0_u64;
    while let Some(text) = lines.next()? {
        let at = lines.line;
        let text = text.trim();
        if let Some(file) = text.strip_prefix("SF:") {
            if record.is_some() {
                return Err(ReportFault::new(
                    at,
                    "a record begins before the one above has ended",
                ));
            }
            record = Some((file.to_owned(), Gathered::default()));
        } else if let Some(counted) = text.strip_prefix("DA:") {
            let Some((_, gathered)) = &mut record else {
                return Err(ReportFault::new(at, "a line is counted outside of any file"));
            };
            let (line, count) = line_and_count(counted)
                .ok_or_else(|| ReportFault::new(at, format!("{text:?} counts no line")))?;
            gathered.add(line, count, at)?;
        } else if text == "end_of_record" {
            let Some((file, gathered)) = record.take() else {
                return Err(ReportFault::new(at, "a record ends that never began"));
            };
            records += 1;
            sink(gathered.finish(file));
        }
    }
    match record {
        Some((file, _)) => Err(ReportFault::new(
            lines.line,
            format!("the report ends inside of {file}"),
        )),
        None if records == 0 && lines.line > 0 => {
            Err(ReportFault::new(1, "this is no LCOV: it has no record"))
        }
        None => Ok(()),
    }
}

/// `12,3` with a checksum behind it or none. Some tools write counts that went below zero.
fn line_and_count(text: &str) -> Option<(u32, u64)> {
    let mut parts = text.split(',');
    let line = parts.next()?.trim().parse().ok()?;
    let count: f64 = parts.next()?.trim().parse().ok()?;
    Some((line, if count > 0.0 { 1 } else { 0 }))
}
