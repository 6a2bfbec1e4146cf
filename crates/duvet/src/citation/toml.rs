//! Requirement files: `[[spec]]`, `[[exception]]` and `[[todo]]` entries.

mod plain;

use super::{Annotation, Details, Kind, join_quote};
use crate::diagnostic::{Code, Diagnostic};
use crate::specification::Format;
use crate::specification::keyword::Level;
use crate::target::{Target, Targets};
use crate::text::Span;
use crate::tolerant_toml::{Codes, Document};
use std::ops::Range;
use std::sync::Arc;
use toml::de::DeTable;

const CODES: Codes = Codes {
    invalid: Code::TomlInvalid,
    unknown_key: Code::TomlUnknownKey,
    missing_key: Code::TomlMissingKey,
};

/// Names an array may have, and what its entries are.
const ARRAYS: &[(&str, Kind)] = &[
    ("spec", Kind::Spec),
    ("specs", Kind::Spec),
    ("exception", Kind::Exception),
    ("exceptions", Kind::Exception),
    ("todo", Kind::Todo),
    ("todos", Kind::Todo),
    ("TODO", Kind::Todo),
    ("TODOs", Kind::Todo),
];

/// The annotations of one requirement file, and everything that is wrong with it.
pub fn extract(name: &Arc<str>, text: &str) -> (Vec<Annotation>, Vec<Diagnostic>) {
    match plain::extract(name, text) {
        Some(annotations) => (annotations, Vec::new()),
        None => extract_any(name, text),
    }
}

/// The same for any TOML, also where a plainer reader would do.
pub fn extract_any(name: &Arc<str>, text: &str) -> (Vec<Annotation>, Vec<Diagnostic>) {
    let (mut document, root) = Document::parse(name, text, CODES);
    let root = root.get_ref();
    let default_target = document.string(root, "target");
    let mut annotations = Vec::new();
    let mut targets = Targets::default();
    for (array, kind) in ARRAYS {
        for (span, table) in document.tables(root, array) {
            let mut entry = Entry {
                document: &mut document,
                table,
                span,
                kind: *kind,
                targets: &mut targets,
            };
            annotations.extend(entry.read(name, default_target.as_deref()));
        }
    }
    let mut known = vec!["target"];
    known.extend(ARRAYS.iter().map(|(array, _)| *array));
    document.refuse_unknown(root, &known);
    annotations.sort_by_key(|annotation| annotation.line);
    (annotations, document.diagnostics)
}

/// What the public tool says of a file that calls one array by two of its names.
pub fn doubled_arrays(name: &Arc<str>, text: &str) -> Vec<Diagnostic> {
    let (mut document, root) = Document::parse(name, text, CODES);
    document.diagnostics.clear();
    for kind in [Kind::Spec, Kind::Exception, Kind::Todo] {
        let names = ARRAYS
            .iter()
            .filter(|(_, of)| *of == kind)
            .map(|(array, _)| *array);
        let used: Vec<&str> = names
            .filter(|array| root.get_ref().contains_key(*array))
            .collect();
        if let [first, second, ..] = used.as_slice() {
            let message = format!("`[[{first}]]` and `[[{second}]]` are one array by two names");
            document.report(CODES.invalid, message, 0..0);
        }
    }
    document.diagnostics
}

/// The keys an entry may have.
fn known_keys(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Spec => &["target", "level", "format", "context", "quote"],
        Kind::Exception => &["target", "quote", "reason"],
        _ => &[
            "target",
            "quote",
            "feature",
            "tracking-issue",
            "tracking_issue",
            "reason",
            "tags",
        ],
    }
}

struct Entry<'d, 'a, 't> {
    document: &'d mut Document<'a>,
    table: &'t DeTable<'a>,
    span: Range<usize>,
    kind: Kind,
    targets: &'d mut Targets,
}

impl Entry<'_, '_, '_> {
    fn read(&mut self, name: &Arc<str>, default_target: Option<&str>) -> Option<Annotation> {
        self.document.refuse_unknown(self.table, known_keys(self.kind));
        let quote = self.document.string(self.table, "quote");
        let reason = self.document.string(self.table, "reason");
        let target = self
            .document
            .string(self.table, "target")
            .or_else(|| default_target.map(str::to_owned));
        let (quote, target) = (self.required("quote", quote), self.required("target", target));
        if self.kind == Kind::Exception {
            self.required("reason", reason.clone())?;
        }
        let (quote, target) = (quote?, self.target(&target?)?);
        let comment = if self.kind == Kind::Spec {
            Some(quote.clone())
        } else {
            reason
        };
        let issue = self
            .string("tracking-issue")
            .or_else(|| self.string("tracking_issue"));
        Some(Annotation {
            source: Arc::clone(name),
            line: self.document.position(self.span.start).line,
            column: 1,
            last_line: self.document.position(self.span.end).line,
            span: Span::new(self.span.start, self.span.end),
            kind: self.kind,
            level: self.level(),
            format: self.format(),
            target,
            quote: join_quote(quote.lines()).into(),
            blob_link: None,
            details: Details {
                context: join_quote(self.string("context").unwrap_or_default().lines()),
                comment: comment.unwrap_or_default(),
                feature: self.string("feature").unwrap_or_default(),
                tracking_issue: issue.unwrap_or_default(),
                tags: self.document.strings(self.table, "tags"),
            }
            .boxed(),
        })
    }

    fn string(&mut self, key: &str) -> Option<String> {
        self.document.string(self.table, key)
    }

    fn required(&mut self, key: &str, value: Option<String>) -> Option<String> {
        if value.is_none() {
            let message = format!("the {} has no `{key}`", self.kind.name());
            self.document
                .report(CODES.missing_key, message, self.span.clone());
        }
        value
    }

    fn target(&mut self, text: &str) -> Option<Arc<Target>> {
        let target = self.targets.get(text);
        if target.section.is_none() {
            let message = format!("`{text}` names no section");
            self.document
                .report(Code::TargetWithoutSection, message, self.span.clone());
            return None;
        }
        Some(target)
    }

    fn level(&mut self) -> Level {
        let Some(name) = self.string("level") else {
            return Level::Auto;
        };
        Level::from_name(&name).unwrap_or_else(|| {
            let message = format!("`{name}` is no level; allowed: AUTO, MUST, SHOULD, MAY");
            self.document.report(CODES.invalid, message, self.span.clone());
            Level::Auto
        })
    }

    fn format(&mut self) -> Option<Format> {
        match self.string("format").as_deref() {
            Some("ietf" | "IETF") => Some(Format::Ietf),
            Some("markdown" | "md" | "MARKDOWN") => Some(Format::Markdown),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
