//! Cobertura: classes with a file and lines with hits. Several classes may be written in one file.

use super::{CoverageSink, Gathered};
use crate::xml::{XmlEvent, XmlReader};
use crate::{ReportFault, ReportLimits};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Files of one report at most.
const MAX_FILES: usize = 200_000;

pub(super) fn read(
    input: impl BufRead,
    limits: &ReportLimits,
    sink: &mut CoverageSink<'_>,
) -> Result<(), ReportFault> {
    let mut xml = XmlReader::new(input, limits)?;
    let mut files: BTreeMap<String, Gathered> = BTreeMap::new();
    let mut file: Option<String> = None;
    let mut is_root = true;
    loop {
        let event = xml.next()?;
        let at = xml.line();
        match event {
            XmlEvent::Eof => break,
            XmlEvent::Start {
                name,
                attributes,
                is_empty,
            } => {
                if std::mem::take(&mut is_root) && name != "coverage" {
                    return Err(ReportFault::new(
                        at,
                        format!("this is no Cobertura: it begins with <{name}>"),
                    ));
                }
                match (name.as_str(), &file) {
                    ("class", _) if !is_empty => {
                        if files.len() >= MAX_FILES {
                            return Err(ReportFault::new(at, format!("more than {MAX_FILES} files")));
                        }
                        let named = attributes.text("filename").to_owned();
                        files.entry(named.clone()).or_default();
                        file = Some(named);
                    }
                    ("line", Some(named)) => {
                        let line = attributes
                            .number("number")
                            .and_then(|line| u32::try_from(line).ok());
                        let (Some(line), Some(hits)) = (line, attributes.number("hits")) else {
                            return Err(ReportFault::new(at, "a <line> without its number or its hits"));
                        };
                        if let Some(gathered) = files.get_mut(named) {
                            gathered.add(line, hits, at)?;
                        }
                    }
                    _ => {}
                }
            }
            XmlEvent::End { name } if name == "class" => file = None,
            XmlEvent::End { .. } | XmlEvent::Text(_) => {}
        }
    }
    for (file, gathered) in files {
        sink(gathered.finish(file));
    }
    Ok(())
}
