//! Requirement files: one per section that has requirements, written so that a change of the specification shows up in
//! their diff.

use crate::config::Config;
use crate::fence::file_stem;
use crate::loader::LoadedSpecification;
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
pub fn render(loaded: &LoadedSpecification, config: &Config) -> Vec<(String, Arc<str>)> {
    let Some(specification) = &loaded.specification else {
        return Vec::new();
    };
    let folder = format!("{}/{}", config.extracted.display(), folder(&loaded.name));
    let files = files(&loaded.name, specification, config.extraction, Language::Toml);
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
                    format!("{}.toml", file_stem(&section.id)),
                    toml(&target, specification, section, group),
                ),
                Language::Rust => (
                    format!("{}.rs", file_stem(&section.id)),
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
    let mut out = format!("target = {}\n\n", quoted(target));
    comment(&mut out, "#", [section.title.trim_end()].into_iter());
    out.push_str("#\n");
    comment(
        &mut out,
        "#",
        section.lines.iter().map(|line| specification.line(line)),
    );
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
    let mut out = String::new();
    comment(&mut out, "//!", [target].into_iter());
    out.push_str("//!\n");
    comment(&mut out, "//!", [section.title.trim_end()].into_iter());
    out.push_str("//!\n");
    comment(
        &mut out,
        "//!",
        section.lines.iter().map(|line| specification.line(line)),
    );
    out.push('\n');
    let target: String = target.chars().filter(|c| !c.is_control()).collect();
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

//= specs/duvet.md#inside-the-fence
//# Text of a project MUST NOT break out of the page's data or of a requirement file.
/// Lines as comments; characters that end a line or a comment are blanks.
fn comment<'a>(out: &mut String, prefix: &str, lines: impl Iterator<Item = &'a str>) {
    for line in lines {
        out.push_str(prefix);
        out.push(' ');
        // Nearly every line is as harmless as it looks.
        if line.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
            out.push_str(line);
        } else {
            let harmless = |c: char| if c.is_control() && c != '\t' { ' ' } else { c };
            out.extend(line.chars().map(harmless));
        }
        out.push('\n');
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text).replace('\n', "\\n"))
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// A literal string, or an escaped one when the text itself holds the literal's end.
fn multiline(lines: &[&str]) -> String {
    let text = lines.join("\n");
    let is_literal = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if text.contains("'''") || !text.chars().all(is_literal) {
        return format!("\"\"\"\n{}\n\"\"\"", escaped(&text));
    }
    format!("'''\n{text}\n'''")
}
