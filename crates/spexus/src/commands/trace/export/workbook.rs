//! XLSX: a sheet of requirements, a sheet of what each rests on, and a sheet that says what was read. Every cell is a string or a number,
//! never a formula, whatever people wrote.

use super::sheet::{COLUMNS, rows_of};
use super::{about, flag_words};
use crate::failure::{Failure, Outcome};
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Workbook, Worksheet, XlsxError};
use spexus_domain::trace::{Rung, TestStanding};
use spexus_service::evidence::TraceMatrix;

/// Characters of a cell, and rows of a sheet: what the format takes.
const MAX_CELL_CHARS: usize = 32_767;
const MAX_ROWS: usize = 1_048_575;

const HEADS: [&str; 10] = [
    "requirement",
    "title",
    "state",
    "flags",
    "gap",
    "sentences",
    "places in code",
    "tests",
    "tests passed",
    "what to do",
];

pub(super) fn bytes(matrix: &TraceMatrix) -> Outcome<Vec<u8>> {
    let rows: usize = matrix.rows.iter().map(|row| rows_of(row).len()).sum();
    if rows > MAX_ROWS {
        let problem = format!("{rows} rows are more than a sheet of a workbook takes");
        return Err(Failure::argument(
            "format",
            problem,
            "csv, which takes any number",
        ));
    }
    made(matrix).map_err(|error| Failure::unavailable(format!("the workbook cannot be made: {error}"), ""))
}

fn made(matrix: &TraceMatrix) -> Result<Vec<u8>, XlsxError> {
    let mut book = Workbook::new();
    let seconds = matrix.read_at.0.div_euclid(1_000_000);
    let read_at = ExcelDateTime::from_timestamp(seconds)?;
    book.set_properties(&DocProperties::new().set_creation_datetime(&read_at));
    requirements(book.add_worksheet(), matrix)?;
    evidence(book.add_worksheet(), matrix)?;
    summary(book.add_worksheet(), matrix)?;
    book.save_to_buffer()
}

fn requirements(sheet: &mut Worksheet, matrix: &TraceMatrix) -> Result<(), XlsxError> {
    begin(sheet, "Requirements", &HEADS, matrix.rows.len())?;
    for (number, row) in (1..).zip(&matrix.rows) {
        let standing = &row.standing;
        let passed = row
            .tests
            .iter()
            .filter(|test| test.standing == TestStanding::Passed);
        text(sheet, number, 0, &standing.reference_id.to_string())?;
        text(sheet, number, 1, &standing.title)?;
        text(sheet, number, 2, standing.state.name())?;
        text(sheet, number, 3, &flag_words(row))?;
        text(sheet, number, 4, if row.is_gap { "yes" } else { "no" })?;
        let counts = [
            row.sentences.len(),
            row.spans.len(),
            row.tests.len(),
            passed.count(),
        ];
        for (column, count) in (5..).zip(counts) {
            sheet.write_number(number, column, count as f64)?;
        }
        text(sheet, number, 9, &standing.weakest)?;
    }
    widths(sheet, &[14.0, 48.0, 11.0, 16.0, 6.0, 11.0, 15.0, 7.0, 13.0, 80.0])
}

fn evidence(sheet: &mut Worksheet, matrix: &TraceMatrix) -> Result<(), XlsxError> {
    let rows: Vec<_> = matrix.rows.iter().flat_map(rows_of).collect();
    begin(sheet, "Evidence", &COLUMNS, rows.len())?;
    for (number, cells) in (1..).zip(&rows) {
        for (column, cell) in (0..).zip(cells) {
            text(sheet, number, column, cell)?;
        }
    }
    widths(
        sheet,
        &[
            14.0, 48.0, 11.0, 16.0, 6.0, 60.0, 10.0, 40.0, 48.0, 11.0, 14.0, 40.0,
        ],
    )
}

fn summary(sheet: &mut Worksheet, matrix: &TraceMatrix) -> Result<(), XlsxError> {
    begin(sheet, "About", &["what", "value"], 0)?;
    let check = &matrix.check;
    let lines = [
        ("read", about(matrix)),
        ("demanded", check.level.name().to_owned()),
    ];
    let mut number = 1;
    for (what, value) in &lines {
        text(sheet, number, 0, what)?;
        text(sheet, number, 1, value)?;
        number += 1;
    }
    let states = Rung::ALL.map(|rung| (rung.name(), check.states.get(rung.name()).copied().unwrap_or(0)));
    let all = [("requirements", check.checked), ("gaps", check.gaps.len())];
    for (what, count) in all.into_iter().chain(states) {
        text(sheet, number, 0, what)?;
        sheet.write_number(number, 1, count as f64)?;
        number += 1;
    }
    widths(sheet, &[16.0, 80.0])
}

/// A sheet with its head, which stays in sight and filters what is below.
fn begin(sheet: &mut Worksheet, name: &str, heads: &[&str], rows: usize) -> Result<(), XlsxError> {
    sheet.set_name(name)?;
    let bold = Format::new().set_bold();
    for (column, head) in (0..).zip(heads) {
        sheet.write_string_with_format(0, column, *head, &bold)?;
    }
    sheet.set_freeze_panes(1, 0)?;
    if rows > 0 {
        let last = u16::try_from(heads.len() - 1).unwrap_or(u16::MAX);
        sheet.autofilter(0, 0, u32::try_from(rows).unwrap_or(u32::MAX), last)?;
    }
    Ok(())
}

fn text(sheet: &mut Worksheet, row: u32, column: u16, value: &str) -> Result<(), XlsxError> {
    let short: String = value.chars().take(MAX_CELL_CHARS).collect();
    sheet.write_string(row, column, short).map(drop)
}

fn widths(sheet: &mut Worksheet, widths: &[f64]) -> Result<(), XlsxError> {
    for (column, width) in (0..).zip(widths) {
        sheet.set_column_width(column, *width)?;
    }
    Ok(())
}
