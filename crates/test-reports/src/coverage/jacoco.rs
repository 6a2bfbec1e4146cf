//! JaCoCo: packages with source files, and the instructions of each line that ran or did not.

use super::{CoverageSink, Gathered};
use crate::xml::{XmlEvent, XmlReader};
use crate::{ReportFault, ReportLimits};
use std::io::BufRead;

pub(super) fn read(
    input: impl BufRead,
    limits: &ReportLimits,
    sink: &mut CoverageSink<'_>,
) -> Result<(), ReportFault> {
    let mut xml = XmlReader::new(input, limits)?;
    let mut package = String::new();
    let mut file: Option<(String, Gathered)> = None;
    let mut is_root = true;
    loop {
        let event = xml.next()?;
        let at = xml.line();
        match event {
            XmlEvent::Eof => return Ok(()),
            XmlEvent::Start {
                name,
                attributes,
                is_empty,
            } => {
                if std::mem::take(&mut is_root) && name != "report" {
                    return Err(ReportFault::new(
                        at,
                        format!("this is no JaCoCo report: it begins with <{name}>"),
                    ));
                }
                match (name.as_str(), &mut file) {
                    ("package", _) => package = attributes.text("name").to_owned(),
                    ("sourcefile", _) if !is_empty => {
                        let named = attributes.text("name");
                        let path = match package.as_str() {
                            "" => named.to_owned(),
                            package => format!("{package}/{named}"),
                        };
                        file = Some((path, Gathered::default()));
                    }
                    ("line", Some((_, gathered))) => {
                        let line = attributes.number("nr").and_then(|line| u32::try_from(line).ok());
                        let (Some(line), Some(ran)) = (line, attributes.number("ci")) else {
                            return Err(ReportFault::new(
                                at,
                                "a <line> without its number or what ran of it",
                            ));
                        };
                        gathered.add(line, ran, at)?;
                    }
                    _ => {}
                }
            }
            XmlEvent::End { name } if name == "sourcefile" => {
                if let Some((path, gathered)) = file.take() {
                    sink(gathered.finish(path));
                }
            }
            XmlEvent::End { .. } | XmlEvent::Text(_) => {}
        }
    }
}
