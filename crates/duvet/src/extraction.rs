//! Requirement files: one per section that has requirements, written so that a change of the specification shows up in
//! their diff.

use crate::config::Config;
use crate::shelf::Volume;
use crate::specification::extract::{Mode, Requirement, extract};
use crate::specification::{Section, Specification};
use crate::target::relative_name;
use std::fmt::Write;
use std::sync::Arc;

/// The language of requirement files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// TOML entries.
    #[default]
    Toml,
    /// Rust comments.
    Rust,
}

/// The requirement files of one specification below the project's folder for them.
pub fn render(volume: &Volume, config: &Config) -> Vec<(String, Arc<str>)> {
    let Some(specification) = &volume.specification else {
        return Vec::new();
    };
    let folder = format!("{}/{}", config.extracted.display(), folder(&volume.name));
    let files = files(&volume.name, specification, config.extraction, Language::Toml);
    files
        .into_iter()
        .map(|(name, text)| (format!("{folder}/{name}"), text.into()))
        .collect()
}

/// Name and text of each requirement file of a specification.
pub fn files(
    name: &str,
    specification: &Specification,
    mode: Mode,
    language: Language,
) -> Vec<(String, String)> {
    let requirements = extract(specification, mode);
    requirements
        .chunk_by(|a, b| a.section == b.section)
        .map(|group| {
            let section = &specification.sections[group[0].section];
            let target = format!("{name}#{}", section.id);
            match language {
                Language::Toml => (
                    format!("{}.toml", section.id),
                    toml(&target, specification, section, group),
                ),
                Language::Rust => (
                    format!("{}.rs", section.id),
                    rust(&target, specification, section, group),
                ),
            }
        })
        .collect()
}

/// The folder of a specification's requirement files: its path or address without extension.
pub fn folder(specification: &str) -> String {
    let name = relative_name(specification);
    let (folder, file) = name
        .rsplit_once('/')
        .map_or(("", name.as_str()), |(folder, file)| (folder, file));
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    if folder.is_empty() {
        stem.to_owned()
    } else {
        format!("{folder}/{stem}")
    }
}

fn toml(
    target: &str,
    specification: &Specification,
    section: &Section,
    requirements: &[Requirement],
) -> String {
    let mut out = format!("target = {}\n\n# {}\n#\n", quoted(target), section.title);
    for line in &section.lines {
        out.push_str("# ");
        out.push_str(specification.line(line));
        out.push('\n');
    }
    out.push('\n');
    for requirement in requirements {
        let level = requirement.level.name();
        let context: Vec<_> = requirement
            .context
            .iter()
            .map(|piece| &specification.text[piece.range()])
            .collect();
        let text: Vec<_> = requirement.lines(specification).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "[[spec]]\nlevel = \"{level}\"");
        if !context.is_empty() {
            let _ = writeln!(out, "context = {}", multiline(&context));
        }
        let _ = writeln!(out, "quote = {}\n", multiline(&text));
    }
    out
}

fn rust(
    target: &str,
    specification: &Specification,
    section: &Section,
    requirements: &[Requirement],
) -> String {
    let mut out = format!("//! {target}\n//!\n//! {}\n//!\n", section.title);
    for line in &section.lines {
        out.push_str("//! ");
        out.push_str(specification.line(line));
        out.push('\n');
    }
    out.push('\n');
    for requirement in requirements {
        let _ = writeln!(
            out,
            "//= {target}\n//= type=spec\n//= level={}",
            requirement.level.name()
        );
        for line in requirement.lines(specification) {
            let _ = writeln!(out, "//# {line}");
        }
        out.push('\n');
    }
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A literal string, or an escaped one when the text itself holds the literal's end.
fn multiline(lines: &[&str]) -> String {
    let text = lines.join("\n");
    if text.contains("'''") {
        return format!(
            "\"\"\"\n{}\n\"\"\"",
            text.replace('\\', "\\\\").replace('"', "\\\"")
        );
    }
    format!("'''\n{text}\n'''")
}
