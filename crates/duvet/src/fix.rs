//! Drifted quotes rewritten in the specification's words, in the comment style the file already has.

mod side_by_side;

pub use side_by_side::render as side_by_side;

use crate::analysis::Analysis;
use crate::citation::{Annotation, CommentStyle};
use crate::matching::Grade;
use crate::source::{FileFacts, Reading};
use similar::TextDiff;
use std::collections::BTreeMap;
use std::path::Path;

/// One file with its new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The file.
    pub file: String,
    /// Its new text.
    pub text: String,
    /// How many citations were rewritten.
    pub citations: usize,
    /// What changes, as a unified diff.
    pub diff: String,
}

/// The files whose citations can be mended: drifted quotes get the specification's words, moved ones their section.
/// Requirement files are left alone; extraction writes those.
//= specs/duvet.md#fix
//# A drifted citation MUST be rewritten with the specification's words, in the comment prefixes and the indent the
//# file already has.
pub fn fix(root: &Path, analysis: &Analysis) -> Vec<Fixed> {
    fix_current(root, analysis).0
}

/// The same, and whether every file was the one that was analysed.
pub(crate) fn fix_current(root: &Path, analysis: &Analysis) -> (Vec<Fixed>, bool) {
    let mut is_current = true;
    let mut by_file: BTreeMap<&str, Faulty<'_>> = BTreeMap::new();
    for (_, entry) in analysis.citations() {
        if matches!(entry.matched().grade, Grade::Drifted(_) | Grade::Moved { .. }) {
            let annotation = entry.annotation();
            let file = by_file.entry(&annotation.source).or_insert_with(|| Faulty {
                facts: &entry.file.facts,
                citations: Vec::new(),
            });
            file.citations.push((annotation, &entry.matched().grade));
        }
    }
    let fixed = by_file
        .into_values()
        .filter_map(|file| fix_file(root, file.facts, &file.citations, &mut is_current))
        .collect();
    (fixed, is_current)
}

/// A file and those of its citations that can be mended.
struct Faulty<'a> {
    facts: &'a FileFacts,
    citations: Vec<(&'a Annotation, &'a Grade)>,
}

fn fix_file(
    root: &Path,
    facts: &FileFacts,
    citations: &[(&Annotation, &Grade)],
    is_current: &mut bool,
) -> Option<Fixed> {
    let Some(Reading::Comments { style, .. }) = facts.reading.as_deref() else {
        return None;
    };
    let file = &*facts.name;
    let bytes = crate::fence::read(&root.join(file), crate::fence::MAX_SOURCE_BYTES).ok();
    // A file that was changed since is left alone: the places of its citations are not known.
    let bytes = bytes.filter(|bytes| *blake3::hash(bytes).as_bytes() == facts.hash);
    *is_current &= bytes.is_some();
    let bytes = bytes?;
    let old = String::from_utf8(bytes).ok()?;
    let mut text = old.clone();
    // From the end, so that the spans before stay true.
    for (annotation, grade) in citations.iter().rev() {
        let span = annotation.span.range();
        let block = old.get(span.clone())?;
        let fixed = match grade {
            Grade::Drifted(drift) => requote(block, style, &drift.text),
            Grade::Moved { section } => retarget(block, annotation, section),
            _ => continue,
        };
        text.replace_range(span, &fixed);
    }
    let diff = TextDiff::from_lines(&old, &text)
        .unified_diff()
        .header(file, file)
        .to_string();
    Some(Fixed {
        file: file.to_owned(),
        text,
        citations: citations.len(),
        diff,
    })
    .filter(|fixed| fixed.text != old)
}

//= specs/duvet.md#fix
//# Lines of a quote MUST stay lines: only the words that differ are changed.
/// Keeps metadata lines, indents and line ends. A quote may be code or a table, so it is never wrapped anew: words that
/// agree stay where they are, the others are taken out or put beside their neighbours.
fn requote(block: &str, style: &CommentStyle, words: &str) -> String {
    let lines: Vec<&str> = block.split('\n').collect();
    let contents = |line: &str| -> Option<usize> {
        let rest = line.trim_start().strip_prefix(style.content.as_str())?;
        Some(line.len() - rest.len())
    };
    // Each word of the quote with the line it stands on.
    let mut old: Vec<(&str, usize)> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let words = contents(line).map(|start| line[start..].split_whitespace());
        old.extend(words.into_iter().flatten().map(|word| (word, number)));
    }
    let Some(first_line) = old.first().map(|(_, line)| *line) else {
        return block.to_owned();
    };
    let quoted: Vec<&str> = old.iter().map(|(word, _)| *word).collect();
    let wanted: Vec<&str> = words.split_whitespace().collect();
    let mut placed: Vec<(usize, &str)> = Vec::with_capacity(wanted.len());
    let mut line = first_line;
    for change in similar::capture_diff_slices(similar::Algorithm::Myers, &quoted, &wanted) {
        let (tag, from, to) = change.as_tag_tuple();
        if tag == similar::DiffTag::Equal {
            for index in from {
                line = old[index].1;
                placed.push((line, quoted[index]));
            }
            continue;
        }
        // What stands in place of other words stands on their line.
        line = old
            .get(from.start)
            .filter(|_| !from.is_empty())
            .map_or(line, |(_, line)| *line);
        placed.extend(wanted[to].iter().map(|word| (line, *word)));
    }
    let renewed = lines.iter().enumerate().filter_map(|(number, raw)| {
        let Some(start) = contents(raw) else {
            return Some((*raw).to_owned());
        };
        let now: Vec<&str> = placed
            .iter()
            .filter(|(line, _)| *line == number)
            .map(|(_, word)| *word)
            .collect();
        let before: Vec<&str> = raw[start..].split_whitespace().collect();
        if now == before {
            return Some((*raw).to_owned());
        }
        let gap = &raw[start..raw.len() - raw[start..].trim_start().len()];
        let end = if raw.ends_with('\r') { "\r" } else { "" };
        (!now.is_empty()).then(|| format!("{}{gap}{}{end}", &raw[..start], now.join(" ")))
    });
    renewed.collect::<Vec<_>>().join("\n")
}

fn retarget(block: &str, annotation: &Annotation, section: &str) -> String {
    let specification = &annotation.target.specification;
    let old = format!(
        "{specification}#{}",
        annotation.target.section.as_deref().unwrap_or_default()
    );
    block.replacen(&old, &format!("{specification}#{section}"), 1)
}
