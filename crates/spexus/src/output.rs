//! Writing answers: one JSON value with `--json`, short lines otherwise.

use crate::failure::Outcome;
use serde::Serialize;
use std::io::Write as _;

/// How answers are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// As one JSON value.
    pub(crate) json: bool,
}

impl Output {
    /// Writes an answer: the value as JSON, or the text made of it.
    pub(crate) fn show<T: Serialize>(self, value: &T, text: impl FnOnce(&T) -> String) -> Outcome {
        //= specs/spexus.md#answers
        //# With `--json` a command MUST print exactly one JSON value to standard output, unless it was asked for a file or a
        //# stream.
        if self.json {
            return self.value(value);
        }
        let text = text(value);
        match text.as_str() {
            "" => Ok(()),
            text => write(text.trim_end_matches('\n')),
        }
    }

    /// Writes a value as JSON.
    pub(crate) fn value<T: Serialize>(self, value: &T) -> Outcome {
        let text = serde_json::to_string_pretty(value).map_err(std::io::Error::from)?;
        write(&text)
    }
}

/// Writes a line, or several, to standard output.
pub(crate) fn write(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Aligned columns, without a space at the end of a line.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            ["a".into(), "bcd".into(), String::new()],
            ["ёж".into(), "e".into(), "f".into()],
        ];
        assert_eq!(table(&rows), "a   bcd\nёж  e    f");
    }
}
