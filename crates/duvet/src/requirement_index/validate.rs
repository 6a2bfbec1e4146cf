//! Is this citation right? Asked before it is written.

use super::RequirementIndex;
use crate::citation::{Annotation, CommentStyle, Kind, comment};
use crate::matching::{Grade, Match};
use crate::resolve::resolve;
use serde::Serialize;
use std::sync::Arc;

/// The answer of `validate_citation`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Validation {
    /// Whether specification, section and quote hold, word for word.
    pub valid: bool,
    /// What does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How well the quote agrees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade: Option<&'static str>,
    /// What to write instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// Paths of the requirements that the quote touches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// What the verdict is about.
    #[serde(skip)]
    pub about: About,
}

/// What a verdict over a citation depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum About {
    /// The specification it names, by index.
    Specification(usize),
    /// A specification that is not known; it may be one that was not read.
    #[default]
    Anything,
    /// The citation alone, which is no citation.
    Form,
}

/// Judges one line or a whole comment block in any comment style, or a bare target.
pub fn validate_citation(requirement_index: &RequirementIndex<'_>, citation: &str) -> Validation {
    let annotation = match read(citation) {
        Ok(annotation) => annotation,
        Err(error) => {
            return Validation {
                error: Some(error),
                about: About::Form,
                ..Validation::default()
            };
        }
    };
    let Some(specification) = requirement_index.find_specification(&annotation.target.specification) else {
        let error = requirement_index
            .resolve_spec_id(&annotation.target.specification)
            .err();
        return Validation {
            error,
            ..Validation::default()
        };
    };
    let loaded = &requirement_index.snapshot.analysis.specifications[specification].loaded;
    let (matched, diagnostic) = resolve(&annotation, loaded);
    let valid = matched.grade.is_faithful();
    Validation {
        valid,
        error: diagnostic.as_ref().filter(|_| !valid).map(|d| d.message.clone()),
        grade: Some(matched.grade.name()).filter(|_| matched.grade != Grade::Unresolved),
        suggestion: diagnostic.and_then(|d| d.suggestion),
        requirements: touched(requirement_index, specification, &matched),
        about: About::Specification(specification),
    }
}

fn touched(requirement_index: &RequirementIndex<'_>, specification: usize, matched: &Match) -> Vec<String> {
    let analysis = &requirement_index.snapshot.analysis;
    let quoted = crate::interval::IntervalSet::of(matched.pieces.iter().copied());
    let touches = |r: &crate::analysis::Requirement| {
        let pieces = analysis.matched(r.annotation).pieces.iter().copied();
        (r.specification, r.section) == (specification, matched.section)
            && quoted.touches(&crate::interval::IntervalSet::of(pieces))
    };
    let requirements = analysis
        .requirements
        .iter()
        .enumerate()
        .filter(|(_, r)| touches(r));
    requirements
        .map(|(index, _)| requirement_index.requirement_path(index))
        .collect()
}

/// Reads the text in the style its first line shows.
fn read(citation: &str) -> Result<Annotation, String> {
    let text = citation.trim();
    let first = text.lines().next().unwrap_or_default().trim();
    if first.is_empty() {
        return Err("the citation is empty".to_owned());
    }
    let style = style(text, first);
    let block = if style.is_some() {
        text.to_owned()
    } else {
        format!("//= {text}")
    };
    let style = style.unwrap_or_default();
    let name: Arc<str> = "citation".into();
    let source = comment::Source {
        name: &name,
        text: &block,
        style: &style,
        default_kind: Kind::Implementation,
    };
    let (mut annotations, diagnostics) = comment::extract(source);
    match diagnostics.into_iter().next() {
        Some(diagnostic) if annotations.is_empty() => Err(match diagnostic.help {
            Some(help) => format!("{}; {help}", diagnostic.message),
            None => diagnostic.message,
        }),
        _ if annotations.is_empty() => Err("this is no citation".to_owned()),
        _ => Ok(annotations.swap_remove(0)),
    }
}

/// Prefixes end with `=` on metadata lines: `//=`, `*=`, `##=`, `# //=`. Quote lines share all but the last sign.
fn style(text: &str, first: &str) -> Option<CommentStyle> {
    let length = first
        .find(|c: char| c.is_alphanumeric() || c == '.')
        .unwrap_or(first.len());
    let meta = first[..length].trim_end();
    let stem = meta.strip_suffix('=').filter(|stem| !stem.is_empty())?;
    let quotes = text.lines().map(str::trim).filter(|line| !line.starts_with(meta));
    let content = quotes.filter(|line| line.starts_with(stem)).find_map(|line| {
        let sign = line[stem.len()..].chars().next()?;
        (!sign.is_alphanumeric() && !sign.is_whitespace()).then(|| format!("{stem}{sign}"))
    });
    Some(CommentStyle {
        meta: meta.to_owned(),
        content: content.unwrap_or_else(|| format!("{stem}#")),
    })
}
