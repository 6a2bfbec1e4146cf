//! The marks of one file: citations with a quote, and ids beside a test.

use super::TARGET;
use super::names::{self, Packages};
use super::source::{LineRange, SourceFile};
use duvet::citation::comment::{self, Source};
use duvet::citation::{CommentStyle, Kind};
use spexus_domain::AnyId;
use spexus_domain::trace::record::{MarkRole, SourceMark};
use std::sync::Arc;

/// Words in front of ids, in a comment of its own line.
const WORDS: [&str; 2] = ["proves", "verifies"];

/// Attributes, decorators and annotations that name ids, by the ends of their names.
const ATTRIBUTES: [&str; 3] = ["verifies", "requirement", "requirements"];

/// What a line may begin with to be a comment.
const COMMENTS: [&str; 6] = ["//", "#", "--", "*", ";", "/*"];

pub(super) fn of_file(
    file: &SourceFile<'_>,
    style: &CommentStyle,
    default_kind: Kind,
    packages: &mut Packages,
) -> Vec<SourceMark> {
    // Most files of a tree name nothing.
    let is_named = file.text.contains(TARGET)
        || WORDS.iter().any(|word| file.text.contains(word))
        || file.text.contains("requirement");
    if !is_named {
        return vec![];
    }
    let mut marks = citations(file, style, default_kind, packages);
    for (index, line) in file.lines.iter().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        if let Some((by, ids)) = named_in(line) {
            marks.extend(
                ids.into_iter()
                    .map(|id| test_mark(file, number, id, by, packages)),
            );
        }
        marks.extend(sentence(file, number, line));
    }
    marks
}

fn citations(
    file: &SourceFile<'_>,
    style: &CommentStyle,
    default_kind: Kind,
    packages: &mut Packages,
) -> Vec<SourceMark> {
    if !file.text.contains(TARGET) {
        return vec![];
    }
    let name: Arc<str> = file.name.into();
    let source = Source {
        name: &name,
        text: file.text,
        style,
        default_kind,
    };
    let (annotations, _) = comment::extract(source);
    let mut marks = Vec::new();
    for annotation in annotations {
        let Some(id) = annotation.target.specification.strip_prefix(TARGET) else {
            continue;
        };
        let mut mark = match annotation.kind {
            Kind::Test => test_mark(
                file,
                annotation.last_line,
                id.trim().to_owned(),
                "citation",
                packages,
            ),
            Kind::Implementation | Kind::Implication => {
                code_mark(file, annotation.last_line, id.trim().to_owned())
            }
            // What is not done, or does not apply here, shows nothing.
            Kind::Spec | Kind::Exception | Kind::Todo => continue,
        };
        mark.line = annotation.line;
        mark.quote = annotation.quote.to_string();
        marks.push(mark);
    }
    marks
}

fn code_mark(file: &SourceFile<'_>, line: u32, id: String) -> SourceMark {
    let range = file.below(line).unwrap_or(LineRange {
        first: line,
        last: line,
    });
    SourceMark {
        id,
        role: MarkRole::Code,
        path: file.name.to_owned(),
        line,
        end_line: range.last,
        symbol: names::defined(file, range.first).unwrap_or_default(),
        names: Vec::new(),
        hash: file.hash(range),
        quote: String::new(),
        by: "citation".to_owned(),
    }
}

/// A mark of the test below it, or of the one it stands in.
fn test_mark(file: &SourceFile<'_>, line: u32, id: String, by: &str, packages: &mut Packages) -> SourceMark {
    let below = file.below(line);
    let found = below.and_then(|range| names::test_at(file, range.first, packages).map(|test| (range, test)));
    let found = found.or_else(|| {
        let inside = below.map_or(line, |range| range.first);
        file.enclosing(inside).find_map(|outer| {
            let test = names::test_at(file, outer, packages)?;
            Some((file.block(outer as usize - 1), test))
        })
    });
    let (range, test) = match found {
        Some((range, test)) => (range, test),
        None => {
            let range = below.unwrap_or(LineRange {
                first: line,
                last: line,
            });
            (range, names::TestAt::default())
        }
    };
    let place = format!("{}:{line}", file.name);
    SourceMark {
        id,
        role: MarkRole::Test,
        path: file.name.to_owned(),
        line,
        end_line: range.last,
        symbol: if test.symbol.is_empty() {
            place
        } else {
            test.symbol
        },
        names: test.names,
        hash: file.hash(range),
        quote: String::new(),
        by: by.to_owned(),
    }
}

/// The ids a line names for a test, and what kind of mark it is.
fn named_in(line: &str) -> Option<(&'static str, Vec<String>)> {
    let line = line.trim();
    if line.starts_with("#[") || line.starts_with('@') {
        return attribute(line);
    }
    let begin = COMMENTS.iter().find(|begin| line.starts_with(*begin))?;
    let words = line
        .trim_start_matches(begin)
        .trim_start_matches(['/', '*', '!', '-', ';', '#'])
        .trim_start();
    let (word, rest) = words.split_once([' ', ':'])?;
    let by = WORDS.into_iter().find(|known| *known == word)?;
    // After a colon more may be said.
    let list = rest.trim_start_matches(':').split(':').next().unwrap_or_default();
    let ids: Vec<String> = list
        .split(',')
        .map(|part| part.trim().trim_end_matches("*/").trim().trim_end_matches('.'))
        .filter(|part| is_id(part))
        .map(str::to_owned)
        .collect();
    (!ids.is_empty()).then_some((by, ids))
}

/// `#[verifies("REQ-1", "REQ-2")]`, `@pytest.mark.requirement("REQ-1")`, `@Verifies("REQ-1")`.
fn attribute(line: &str) -> Option<(&'static str, Vec<String>)> {
    let (name, rest) = line.split_once('(')?;
    let name = name.trim_start_matches(['#', '[', '@']);
    let last = name.rsplit(['.', ':']).next()?.to_ascii_lowercase();
    let by = ATTRIBUTES.into_iter().find(|known| *known == last)?;
    let inside = rest.split(')').next().unwrap_or_default();
    let ids: Vec<String> = inside
        .split(',')
        .map(|part| part.trim().trim_matches(['"', '\'']))
        .filter(|part| !part.is_empty() && !part.contains(['=', '{', ' ']))
        .map(str::to_owned)
        .collect();
    (!ids.is_empty()).then_some((by, ids))
}

/// Whether a word is an id of ours. Words behind `proves` may be those of other catalogues.
fn is_id(text: &str) -> bool {
    match AnyId::parse("id", text) {
        Ok(AnyId::Reference { reference, .. }) => reference.kind().is_some(),
        Ok(AnyId::Uuid(_)) => true,
        Err(_) => false,
    }
}

/// `<!-- spexus:REQ-012 -->` behind a sentence of a specification in Markdown: the item comes from that line.
fn sentence(file: &SourceFile<'_>, number: u32, line: &str) -> Option<SourceMark> {
    if !matches!(file.extension(), "md" | "html") {
        return None;
    }
    let (before, rest) = line.split_once("<!--")?;
    let id = rest
        .trim_start()
        .strip_prefix(TARGET)?
        .split("-->")
        .next()?
        .trim();
    let text = match before.trim() {
        "" => file.line(number.saturating_sub(1)).trim(),
        text => text,
    };
    let range = LineRange {
        first: number,
        last: number,
    };
    Some(SourceMark {
        id: id.to_owned(),
        role: MarkRole::Sentence,
        path: file.name.to_owned(),
        line: number,
        end_line: number,
        symbol: String::new(),
        names: Vec::new(),
        hash: file.hash(range),
        quote: text.to_owned(),
        by: "sentence".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line, and the word and the ids of its mark.
    type Case = (&'static str, Option<(&'static str, &'static [&'static str])>);

    #[test]
    fn ids_are_read_where_a_mark_names_them_and_nowhere_else() {
        let cases: [Case; 14] = [
            ("// proves REQ-001", Some(("proves", &["REQ-001"]))),
            (
                "    /// proves REQ-1, web/REQ-2: and why",
                Some(("proves", &["REQ-1", "web/REQ-2"])),
            ),
            ("# verifies REQ-3", Some(("verifies", &["REQ-3"]))),
            (
                "# verifies: REQ-3, REQ-4.",
                Some(("verifies", &["REQ-3", "REQ-4"])),
            ),
            (" * verifies REQ-3 */", Some(("verifies", &["REQ-3"]))),
            ("// proves 003 R4.8, 002 Req-Tool-009", None),
            ("let proves = \"REQ-1\";", None),
            ("// it proves REQ-1", None),
            (
                "#[verifies(\"REQ-1\", \"REQ-2\")]",
                Some(("verifies", &["REQ-1", "REQ-2"])),
            ),
            (
                "#[spexus_verifies::verifies(\"REQ-1\")]",
                Some(("verifies", &["REQ-1"])),
            ),
            (
                "@pytest.mark.requirement('REQ-1')",
                Some(("requirement", &["REQ-1"])),
            ),
            ("@Verifies({\"REQ-1\"})", None),
            ("@Requirement(\"REQ-1\")", Some(("requirement", &["REQ-1"]))),
            ("#[cfg(test)]", None),
        ];
        for (line, expected) in cases {
            let found = named_in(line);
            let found = found
                .as_ref()
                .map(|(by, ids)| (*by, ids.iter().map(String::as_str).collect::<Vec<_>>()));
            assert_eq!(found, expected.map(|(by, ids)| (by, ids.to_vec())), "{line}");
        }
    }
}
