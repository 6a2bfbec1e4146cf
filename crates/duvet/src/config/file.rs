//! `.duvet/config.toml`, versions 0.4 and 0.4.0.

use super::{Config, Output, SourcePattern, SpecificationSource, expand};
use crate::citation::{CommentStyle, Kind};
use crate::diagnostic::{Code, Diagnostic};
use crate::excerpt;
use crate::specification::Format;
use crate::specification::extract::Mode;
use crate::tolerant_toml::{Codes, Document};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use toml::de::DeTable;

const CODES: Codes = Codes {
    invalid: Code::ConfigInvalid,
    unknown_key: Code::ConfigUnknownKey,
    missing_key: Code::ConfigInvalid,
};

const SCHEMA: &str = "https://awslabs.github.io/duvet/config/v0.4";

/// Reads a configuration. `variable` answers the names in link templates.
//= specs/duvet.md#configuration
//# A fault in the configuration MUST be reported with its place, and everything else in the file is used.
pub fn parse(file: &str, text: &str, variable: &dyn Fn(&str) -> Option<String>) -> (Config, Vec<Diagnostic>) {
    let (document, root) = Document::parse(file, text, CODES);
    let mut reader = Reader {
        text,
        document,
        variable,
        config: Config::standard(),
    };
    reader.config.locations.file = file.to_owned();
    let root = root.get_ref();
    reader.schema(root);
    for (span, table) in reader.document.tables(root, "source") {
        reader.source(span, table);
    }
    for (span, table) in reader.document.tables(root, "specification") {
        reader.specification(span, table);
    }
    for (span, table) in reader.document.tables(root, "requirement") {
        reader.document.refuse_unknown(table, &["pattern"]);
        if let Some(pattern) = reader.required(span, table, "pattern") {
            reader.config.requirements.push(pattern);
        }
    }
    if let Some(report) = reader.document.table(root, "report") {
        reader.report(report);
    }
    if let Some(fetch) = reader.document.table(root, "fetch") {
        reader.document.refuse_unknown(fetch, &["hosts"]);
        reader.config.hosts = reader.document.strings(fetch, "hosts");
    }
    reader.extraction(root);
    let known = [
        "$schema",
        "source",
        "specification",
        "requirement",
        "report",
        "extraction",
        "fetch",
    ];
    reader.document.refuse_unknown(root, &known);
    excerpt::attach(text, &mut reader.document.diagnostics);
    (reader.config, reader.document.diagnostics)
}

struct Reader<'a, 'v> {
    text: &'a str,
    document: Document<'a>,
    variable: &'v dyn Fn(&str) -> Option<String>,
    config: Config,
}

impl<'a> Reader<'a, '_> {
    fn schema(&mut self, root: &DeTable<'a>) {
        let name = self.document.string(root, "$schema");
        let version = name.as_deref().map(|n| n.trim_end_matches('#'));
        if matches!(
            version.and_then(|v| v.strip_prefix(SCHEMA)),
            Some(".json" | ".0.json")
        ) {
            return;
        }
        let message = match name {
            Some(name) => format!("`{name}` is no known version of the configuration"),
            None => "the configuration does not say its version".to_owned(),
        };
        let line = format!("'$schema' = \"{SCHEMA}.0.json\"");
        self.document.report(CODES.invalid, message, 0..0).suggestion = Some(line);
    }

    fn source(&mut self, span: Range<usize>, table: &DeTable<'a>) {
        self.document
            .refuse_unknown(table, &["pattern", "comment-style", "type", "blob-link"]);
        let Some(pattern) = self.required(span.clone(), table, "pattern") else {
            return;
        };
        let style = self
            .document
            .table(table, "comment-style")
            .map(|style| self.style(style));
        let default_kind = match self.document.string(table, "type") {
            Some(name) => self.kind(span.clone(), &name),
            None => Kind::default(),
        };
        let blob_link = self.link(span, table, "blob-link").map(Arc::from);
        let style = style.unwrap_or_default();
        self.config.sources.push(SourcePattern {
            pattern,
            style,
            default_kind,
            blob_link,
        });
    }

    fn style(&mut self, table: &DeTable<'a>) -> CommentStyle {
        self.document.refuse_unknown(table, &["meta", "content"]);
        let usual = CommentStyle::default();
        CommentStyle {
            meta: self.document.string(table, "meta").unwrap_or(usual.meta),
            content: self.document.string(table, "content").unwrap_or(usual.content),
        }
    }

    fn kind(&mut self, span: Range<usize>, name: &str) -> Kind {
        Kind::from_name(name).unwrap_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            let message = format!("`{name}` is no type of citation; known: {names}");
            self.document.report(CODES.invalid, message, span);
            Kind::default()
        })
    }

    fn specification(&mut self, span: Range<usize>, table: &DeTable<'a>) {
        self.document.refuse_unknown(table, &["source", "format"]);
        let Some(source) = self.required(span.clone(), table, "source") else {
            return;
        };
        let format = match self.document.string(table, "format").as_deref() {
            None | Some("auto") => None,
            Some("ietf" | "IETF") => Some(Format::Ietf),
            Some("markdown" | "md") => Some(Format::Markdown),
            Some(other) => {
                let message = format!("`{other}` is no format; known: ietf, markdown");
                self.document.report(CODES.invalid, message, span);
                None
            }
        };
        self.config
            .specifications
            .push(SpecificationSource { source, format });
    }

    fn report(&mut self, table: &DeTable<'a>) {
        self.document.refuse_unknown(table, &["html", "json", "snapshot"]);
        if let Some(html) = self.document.table(table, "html") {
            self.document
                .refuse_unknown(html, &["enabled", "path", "blob-link", "issue-link"]);
            self.config.blob_link = self.link(0..0, html, "blob-link");
            self.config.issue_link = self.link(0..0, html, "issue-link");
            self.config.html = self.output(html, self.config.html.clone());
        }
        if let Some(json) = self.document.table(table, "json") {
            self.document.refuse_unknown(json, &["enabled", "path"]);
            self.config.json = self.output(
                json,
                Output {
                    enabled: true,
                    ..self.config.json.clone()
                },
            );
        }
        if let Some(snapshot) = self.document.table(table, "snapshot") {
            self.document.refuse_unknown(snapshot, &["enabled", "path"]);
            self.config.snapshot = self.output(
                snapshot,
                Output {
                    enabled: true,
                    ..self.config.snapshot.clone()
                },
            );
        }
    }

    fn output(&mut self, table: &DeTable<'a>, usual: Output) -> Output {
        Output {
            enabled: self.document.boolean(table, "enabled").unwrap_or(usual.enabled),
            path: self
                .document
                .string(table, "path")
                .map_or(usual.path, PathBuf::from),
        }
    }

    fn extraction(&mut self, root: &DeTable<'a>) {
        match self.document.string(root, "extraction").as_deref() {
            Some("v2") => self.config.extraction = Mode::V2,
            None | Some("compat") => {}
            Some(other) => {
                let message = format!("`{other}` is no way of extraction; known: compat, v2");
                let span = root.get("extraction").map_or(0..0, toml::Spanned::span);
                self.document.report(CODES.invalid, message, span);
            }
        }
    }

    fn required(&mut self, span: Range<usize>, table: &DeTable<'a>, key: &str) -> Option<String> {
        let value = self.document.string(table, key);
        match (&value, table.get(key)) {
            (Some(name), Some(stated)) => self.remember(name, stated.span().start),
            (None, None) => {
                let message = format!("`{key}` is missing");
                self.document.report(CODES.missing_key, message, span);
            }
            _ => {}
        }
        value
    }

    /// Keeps where a name stands, for findings about it.
    fn remember(&mut self, name: &str, offset: usize) {
        let line = self.document.position(offset).line;
        let start = self.text[..offset].rfind('\n').map_or(0, |end| end + 1);
        let text = self.text[start..].lines().next().unwrap_or_default();
        let lines = &mut self.config.locations.lines;
        lines.entry(name.to_owned()).or_insert((line, text.into()));
    }

    fn link(&mut self, span: Range<usize>, table: &DeTable<'a>, key: &str) -> Option<String> {
        let template = self.document.string(table, key)?;
        let span = table.get(key).map_or(span, toml::Spanned::span);
        match expand(&template, self.variable) {
            Ok(link) => Some(link),
            Err(problem) => {
                self.document.report(Code::TemplateUnresolved, problem, span);
                None
            }
        }
    }
}
