//! LCOV: lines of a specification as lines of code. Block 0 of a line's branches is its citation, block 1 its test.

use super::segment::{Claims, lines};
use crate::analysis::{Analysis, Cited};
use crate::specification::Specification;
use crate::text::Cursor;
use std::fmt::Write;

/// One file per specification: its name and its text.
pub fn render(analysis: &Analysis) -> Vec<(String, String)> {
    let texts = analysis
        .specifications
        .iter()
        .enumerate()
        .filter_map(|(index, cited)| {
            Some((
                format!("compliance.{index}.lcov"),
                one(analysis, cited, cited.specification()?),
            ))
        });
    texts.collect()
}

/// What is known of one line.
struct LineFacts {
    number: u32,
    cited: bool,
    tested: bool,
}

// Writing to a string cannot fail; results of `write!` are dropped throughout.
fn one(analysis: &Analysis, cited: &Cited, specification: &Specification) -> String {
    let mut out = format!("TN:Compliance\nSF:{}\n", cited.name());
    let mut functions = String::new();
    let mut rows = Vec::new();
    let mut cursor = Cursor::new(&specification.text);
    for (index, section) in specification.sections.iter().enumerate() {
        let line = cursor.position(section.heading.start as usize).line;
        let facts = facts(analysis, cited, specification, index);
        let hits = facts.iter().filter(|f| f.cited || f.tested).count();
        let _ = writeln!(out, "FN:{line},{}", section.title);
        let _ = writeln!(functions, "FNDA:{hits},{}", section.title);
        rows.extend(facts);
    }
    let hit = functions
        .lines()
        .filter(|line| !line.starts_with("FNDA:0,"))
        .count();
    let _ = write!(
        out,
        "{functions}FNF:{}\nFNH:{hit}\n",
        specification.sections.len()
    );
    for row in &rows {
        let (cited, tested) = (u8::from(row.cited), u8::from(row.tested));
        let _ = writeln!(
            out,
            "BRDA:{},0,0,{cited}\nBRDA:{},1,0,{tested}",
            row.number, row.number
        );
    }
    let branches = rows
        .iter()
        .map(|r| usize::from(r.cited) + usize::from(r.tested))
        .sum::<usize>();
    let _ = writeln!(out, "BRF:{}\nBRH:{branches}", rows.len() * 2);
    for row in &rows {
        let _ = writeln!(out, "DA:{},{}", row.number, u8::from(row.cited && row.tested));
    }
    let covered = rows.iter().filter(|row| row.cited && row.tested).count();
    let _ = writeln!(out, "LF:{}\nLH:{covered}\nend_of_record", rows.len());
    out
}

/// Lines that something quotes. An implication needs no test, and an exception neither.
fn facts(
    analysis: &Analysis,
    cited: &Cited,
    specification: &Specification,
    section: usize,
) -> Vec<LineFacts> {
    let segments = lines(analysis, cited, specification, section);
    let rows = specification.sections[section].lines.iter().zip(segments);
    rows.filter_map(|(line, segments)| {
        let ids: Vec<u32> = segments
            .into_iter()
            .flat_map(|segment| segment.annotations)
            .collect();
        let claims = Claims::of(analysis, &ids);
        let settled = claims.implication || claims.exception;
        (!ids.is_empty()).then_some(LineFacts {
            number: line.number,
            cited: claims.implementation || settled,
            tested: claims.test || settled,
        })
    })
    .collect()
}
