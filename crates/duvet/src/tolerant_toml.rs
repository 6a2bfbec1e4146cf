//! Reading TOML without giving up: syntax errors, wrong types and unknown keys become diagnostics, the rest is read.

use crate::diagnostic::{Code, Diagnostic};
use crate::text::{Cursor, Position};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Codes for the three kinds of fault, since a configuration and a requirement file name them differently.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codes {
    pub(crate) invalid: Code,
    pub(crate) unknown_key: Code,
    pub(crate) missing_key: Code,
}

/// A file being read.
pub(crate) struct Document<'a> {
    pub(crate) file: &'a str,
    pub(crate) codes: Codes,
    pub(crate) diagnostics: Vec<Diagnostic>,
    cursor: Cursor<'a>,
}

impl<'a> Document<'a> {
    /// Parses a text; what the parser could not read is reported and left out.
    pub(crate) fn parse(file: &'a str, text: &'a str, codes: Codes) -> (Self, Spanned<DeTable<'a>>) {
        let mut document = Self {
            file,
            codes,
            diagnostics: Vec::new(),
            cursor: Cursor::new(text),
        };
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            document.report(codes.invalid, error.message().to_owned(), span);
        }
        (document, table)
    }

    pub(crate) fn report(&mut self, code: Code, message: String, span: Range<usize>) -> &mut Diagnostic {
        let (start, end) = (self.position(span.start), self.position(span.end));
        self.diagnostics
            .push(Diagnostic::new(code, message, self.file, start).until(end));
        let last = self.diagnostics.len() - 1;
        &mut self.diagnostics[last]
    }

    /// Line and column of an offset.
    pub(crate) fn position(&mut self, offset: usize) -> Position {
        self.cursor.position(offset)
    }

    /// A string of a table.
    pub(crate) fn string(&mut self, table: &DeTable<'_>, key: &str) -> Option<String> {
        let value = table.get(key)?;
        match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            other => self.wrong_type(key, other.type_str(), "a string", value.span()),
        }
    }

    /// A boolean of a table.
    pub(crate) fn boolean(&mut self, table: &DeTable<'_>, key: &str) -> Option<bool> {
        let value = table.get(key)?;
        match value.get_ref() {
            DeValue::Boolean(flag) => Some(*flag),
            other => self.wrong_type(key, other.type_str(), "true or false", value.span()),
        }
    }

    /// A list of strings of a table.
    pub(crate) fn strings(&mut self, table: &DeTable<'_>, key: &str) -> Vec<String> {
        let Some(value) = table.get(key) else {
            return Vec::new();
        };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type::<()>(
                key,
                value.get_ref().type_str(),
                "an array of strings",
                value.span(),
            );
            return Vec::new();
        };
        array
            .iter()
            .filter_map(|item| item.get_ref().as_str().map(str::to_owned))
            .collect()
    }

    /// A table inside a table.
    pub(crate) fn table<'t>(&mut self, table: &'t DeTable<'a>, key: &str) -> Option<&'t DeTable<'a>> {
        let value = table.get(key)?;
        match value.get_ref() {
            DeValue::Table(inner) => Some(inner),
            other => self.wrong_type(key, other.type_str(), "a table", value.span()),
        }
    }

    /// The tables of `[[key]]`, with the place of each header.
    pub(crate) fn tables<'t>(
        &mut self,
        table: &'t DeTable<'a>,
        key: &str,
    ) -> Vec<(Range<usize>, &'t DeTable<'a>)> {
        let Some(value) = table.get(key) else {
            return Vec::new();
        };
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type::<()>(
                key,
                value.get_ref().type_str(),
                "an array of tables",
                value.span(),
            );
            return Vec::new();
        };
        array
            .iter()
            .filter_map(|item| Some((item.span(), item.get_ref().as_table()?)))
            .collect()
    }

    /// Reports every key that is not among the known ones, with the nearest of them.
    pub(crate) fn refuse_unknown(&mut self, table: &DeTable<'_>, known: &[&str]) {
        for key in table
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
        {
            let name = key.get_ref().to_string();
            let help = match crate::nearest::name(&name, known.iter().copied()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("known here: {}", known.join(", ")),
            };
            self.report(
                self.codes.unknown_key,
                format!("unknown key `{name}`"),
                key.span(),
            )
            .help = Some(help);
        }
    }

    fn wrong_type<T>(&mut self, key: &str, got: &str, wanted: &str, span: Range<usize>) -> Option<T> {
        self.report(
            self.codes.invalid,
            format!("`{key}` is {got}, not {wanted}"),
            span,
        );
        None
    }
}
