//! From a block of lines to an annotation.

use super::Source;
use super::tokenizer::Block;
use crate::citation::{Annotation, Details, Kind, join_quote};
use crate::diagnostic::{Code, Diagnostic};
use crate::specification::Format;
use crate::specification::keyword::Level;
use crate::target::Targets;
use crate::text::{Cursor, Span};
use std::sync::Arc;

/// The annotation of a block. A block with a fault that changes its meaning gives none: a citation that is counted
/// although it cannot be read would be worse than one that is reported as broken.
pub(super) fn annotation(
    source: &Source<'_>,
    block: &Block,
    context: &mut BlockContext<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Annotation> {
    let column = context.cursor.position(block.span.start as usize).column;
    let mut reader = Reader {
        source,
        context,
        details: Details::default(),
        faults: Vec::new(),
        seen: Vec::new(),
    };
    let mut annotation = Annotation {
        source: Arc::clone(source.name),
        line: block.line,
        column,
        last_line: block.line + (block.meta.len() + block.content.len()) as u32 - 1,
        span: block.span,
        kind: source.default_kind,
        quote: join_quote(block.content.iter().map(|span| &source.text[span.range()])).into(),
        ..Annotation::default()
    };
    let mut target = None;
    for &span in &block.meta {
        reader.meta(span, &mut annotation, &mut target);
    }
    match target {
        Some((span, text)) => reader.target(span, text, &mut annotation),
        // An unreadable line above may have been the target; one fault is enough.
        None if !reader.faults.is_empty() => {}
        None => reader.fault(
            block.span,
            Code::TargetMissing,
            "the citation names no specification".to_owned(),
        ),
    }
    reader.check_keys(&annotation);
    let is_sound = reader.faults.is_empty();
    annotation.details = std::mem::take(&mut reader.details).boxed();
    diagnostics.append(&mut reader.faults);
    is_sound.then_some(annotation)
}

/// What the blocks of one file are read with.
pub(super) struct BlockContext<'t> {
    pub(super) cursor: Cursor<'t>,
    pub(super) targets: Targets,
}

struct Reader<'a, 'c, 't> {
    source: &'a Source<'a>,
    context: &'c mut BlockContext<'t>,
    details: Details,
    faults: Vec<Diagnostic>,
    seen: Vec<(&'a str, Span)>,
}

const KEYS: &[&str] = &[
    "source",
    "type",
    "level",
    "format",
    "reason",
    "feature",
    "tracking-issue",
];

impl<'a> Reader<'a, '_, '_> {
    fn meta(&mut self, span: Span, annotation: &mut Annotation, target: &mut Option<(Span, &'a str)>) {
        let line: &'a str = &self.source.text[span.range()];
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim(), value.trim()),
            None => ("source", line),
        };
        if !KEYS.contains(&key) {
            self.unknown_key(span, key, line);
            return;
        }
        if key != "reason" && self.seen.iter().any(|(seen, _)| *seen == key) {
            self.fault(span, Code::MetaDuplicateKey, format!("`{key}` is given twice"));
            return;
        }
        self.seen.push((key, span));
        match key {
            "source" => *target = Some((span, value)),
            "type" => self.kind(span, value, annotation),
            "level" => match Level::from_name(value) {
                Some(level) => annotation.level = level,
                None => self.value(span, "level", value, "AUTO, MUST, SHOULD or MAY"),
            },
            "format" => match value {
                "ietf" | "IETF" => annotation.format = Some(Format::Ietf),
                "markdown" | "md" | "MARKDOWN" => annotation.format = Some(Format::Markdown),
                "auto" | "AUTO" => annotation.format = None,
                _ => self.value(span, "format", value, "ietf, markdown or auto"),
            },
            "reason" => {
                let comment = &mut self.details.comment;
                if !comment.is_empty() {
                    comment.push(' ');
                }
                comment.push_str(value);
            }
            "feature" => value.clone_into(&mut self.details.feature),
            _ => value.clone_into(&mut self.details.tracking_issue),
        }
    }

    fn kind(&mut self, span: Span, value: &str, annotation: &mut Annotation) {
        match Kind::from_name(value) {
            Some(kind) => annotation.kind = kind,
            None => {
                self.value(
                    span,
                    "type",
                    value,
                    "implementation, test, implication, exception, todo or spec",
                );
            }
        }
    }

    fn target(&mut self, span: Span, text: &str, annotation: &mut Annotation) {
        annotation.target = self.context.targets.get(text);
        if annotation.target.specification.is_empty() {
            self.fault(
                span,
                Code::TargetMissing,
                "the citation names no specification".to_owned(),
            );
        } else if annotation.target.section.is_none() && !annotation.target.is_managed() {
            self.fault(
                span,
                Code::TargetWithoutSection,
                format!("`{text}` names no section"),
            );
            if let Some(fault) = self.faults.last_mut() {
                fault.help = Some("add `#` and the id of the section".to_owned());
            }
        }
    }

    /// `reason` explains a claim, `feature` and `tracking-issue` belong to work that is not done.
    fn check_keys(&mut self, annotation: &Annotation) {
        let is_todo = annotation.kind == Kind::Todo;
        let refused: Vec<_> = self
            .seen
            .iter()
            .filter(|(key, _)| match *key {
                "reason" => is_todo || annotation.kind == Kind::Spec,
                "feature" | "tracking-issue" => !is_todo,
                _ => false,
            })
            .copied()
            .collect();
        for (key, span) in refused {
            let message = format!("`{key}` is not allowed with type {}", annotation.kind.name());
            self.fault(span, Code::MetaNotAllowed, message);
        }
    }

    //= specs/duvet.md#citations
    //# An unknown key MUST be reported with the nearest known one.
    fn unknown_key(&mut self, span: Span, key: &str, line: &str) {
        self.fault(
            span,
            Code::MetaUnknownKey,
            format!("`{key}` is not a key of a citation"),
        );
        let Some(fault) = self.faults.last_mut() else {
            return;
        };
        if key.contains("://") || key.contains('/') {
            fault.help = Some("an address that holds `=` needs its key".to_owned());
            fault.suggestion = Some(format!("source={line}"));
        } else if let Some(nearest) = crate::nearest::name(key, KEYS.iter().copied()) {
            fault.help = Some(format!("did you mean `{nearest}`?"));
            fault.suggestion = line
                .split_once('=')
                .map(|(_, value)| format!("{nearest}={}", value.trim()));
        } else {
            fault.help = Some(format!("known keys are {}", KEYS.join(", ")));
        }
    }

    fn value(&mut self, span: Span, key: &str, value: &str, allowed: &str) {
        self.fault(
            span,
            Code::MetaInvalidValue,
            format!("`{value}` is no value of `{key}`"),
        );
        if let Some(fault) = self.faults.last_mut() {
            fault.help = Some(format!("allowed: {allowed}"));
        }
    }

    fn fault(&mut self, span: Span, code: Code, message: String) {
        let start = self.context.cursor.position(span.start as usize);
        let end = self.context.cursor.position(span.end as usize);
        self.faults
            .push(Diagnostic::new(code, message, &**self.source.name, start).until(end));
    }
}
