//! Code that cites nothing: functions without a citation above or inside them.
//!
//! A specification shows what is not implemented; this shows the other side, code that no requirement asks for, or whose
//! requirement nobody wrote down. Functions are recognised by the line that begins them and end where the indent does:
//! that is right for code a formatter went over, in every language the tool knows, and needs no parser for any of them.

use crate::analysis::Analysis;
use crate::fence::{self, MAX_SOURCE_BYTES};
use crate::source::Reading;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// One function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its first line, from one.
    pub line: u32,
    /// Its last line.
    pub last_line: u32,
    /// The first line of comments and attributes above it.
    #[serde(skip)]
    head: u32,
}

/// The functions of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct File {
    /// The file.
    pub file: String,
    /// How many functions it has.
    pub functions: usize,
    /// Those that cite nothing.
    pub unmapped: Vec<Function>,
}

/// Every source file that has functions, by name.
//= specs/duvet.md#unmapped-code
//# A function with no citation inside it or in the comments above it MUST be listed.
pub fn unmapped(root: &Path, names: &[(&str, &Reading)], analysis: &Analysis) -> Vec<File> {
    let mut cited: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (_, entry) in analysis.citations() {
        let annotation = entry.annotation();
        cited.entry(&annotation.source).or_default().push(annotation.line);
    }
    let sources = names
        .iter()
        .filter(|(_, reading)| matches!(reading, Reading::Comments { .. }));
    let mut files: Vec<File> = sources
        .filter_map(|(name, _)| {
            let bytes = fence::read(&root.join(name), MAX_SOURCE_BYTES).ok()?;
            let functions = functions(name, &String::from_utf8_lossy(&bytes));
            let lines = cited.get(*name).map(Vec::as_slice).unwrap_or_default();
            let is_cited = |function: &Function| {
                lines
                    .iter()
                    .any(|line| (function.head..=function.last_line).contains(line))
            };
            Some(File {
                file: (*name).to_owned(),
                functions: functions.len(),
                unmapped: functions.into_iter().filter(|f| !is_cited(f)).collect(),
            })
        })
        .filter(|file| file.functions > 0)
        .collect();
    files.sort_by(|a, b| a.file.cmp(&b.file));
    files.dedup_by(|a, b| a.file == b.file);
    files
}

/// The functions of a text, as the file's name says which language it is.
fn functions(name: &str, text: &str) -> Vec<Function> {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if let Some(name) = begins(extension, line) {
            found.push(Function {
                name: name.to_owned(),
                line: index as u32 + 1,
                last_line: last(&lines, index) as u32 + 1,
                head: head(&lines, index) as u32 + 1,
            });
        }
    }
    found
}

/// The name of the function that a line begins.
fn begins<'l>(extension: &str, line: &'l str) -> Option<&'l str> {
    let code = line.trim_start();
    let keyword = match extension {
        "rs" => "fn ",
        "py" | "rb" => "def ",
        "go" => "func ",
        "js" | "jsx" | "mjs" | "ts" | "tsx" => "function ",
        "java" | "c" | "h" | "cc" | "cpp" | "hpp" | "cs" => return by_shape(line),
        _ => return None,
    };
    let before = code.find(keyword)?;
    // Only words such as `pub async` may stand before it: no comment, no string, no expression.
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | ' ' | '(' | ')' | ':' | '"');
    let is_declared = code[..before].chars().all(is_word) && !code.starts_with('"');
    let mut rest = &code[before + keyword.len()..];
    if extension == "go" && rest.starts_with('(') {
        // The receiver of a method.
        rest = rest.split_once(')').map_or(rest, |(_, rest)| rest.trim_start());
    }
    let end = rest
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '?' | '!')))
        .unwrap_or(rest.len());
    (is_declared && end > 0 && (before == 0 || code[..before].ends_with([' ', ')']))).then_some(&rest[..end])
}

/// `type name(…) {` in languages whose functions begin with no word of their own.
fn by_shape(line: &str) -> Option<&str> {
    let code = line.trim();
    let (front, _) = code.split_once('(').filter(|_| code.ends_with('{'))?;
    let name = front.rsplit([' ', '*', '&']).next()?;
    let kind = front[..front.len() - name.len()].trim();
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '~'));
    let first = front.split_whitespace().next()?;
    let is_statement = matches!(
        first,
        "if" | "for"
            | "while"
            | "switch"
            | "return"
            | "else"
            | "do"
            | "catch"
            | "try"
            | "new"
            | "}"
            | "//"
            | "*"
    );
    (is_name && !kind.is_empty() && !is_statement && !kind.contains(['=', '"', ';', '.'])).then_some(name)
}

/// The last line of a function: everything deeper than its first line, and what closes it.
fn last(lines: &[&str], first: usize) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(lines[first]);
    let mut end = first;
    for (index, line) in lines.iter().enumerate().skip(first + 1) {
        if line.trim().is_empty() {
            continue;
        }
        if indent(line) <= own {
            let closes = indent(line) == own
                && (line.trim_start().starts_with(['}', ')', '{']) || line.trim() == "end");
            // A closing parenthesis or an opening brace of its own is followed by the body.
            let goes_on = line.trim_end().ends_with(['{', ':']) && closes;
            if goes_on {
                end = index;
                continue;
            }
            return if closes { index } else { end };
        }
        end = index;
    }
    end
}

/// The first of the comments and attributes that stand right above a function.
fn head(lines: &[&str], first: usize) -> usize {
    let is_above = |line: &str| {
        let code = line.trim_start();
        ["//", "#", "/*", "*", "@", "\"\"\"", "--", ";;"]
            .iter()
            .any(|mark| code.starts_with(mark))
    };
    let above = lines[..first].iter().rev().take_while(|line| is_above(line));
    first - above.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, text: &str, expected: &[(&str, u32, u32, u32)]) {
        let found = functions(name, text);
        let found: Vec<_> = found
            .iter()
            .map(|f| (f.name.as_str(), f.head, f.line, f.last_line))
            .collect();
        assert_eq!(found, expected, "{name}");
    }

    #[test]
    fn functions_are_found_in_every_language_with_their_comments() {
        check(
            "a.rs",
            "/// Doc\n#[test]\npub(crate) async fn one(\n    a: u8,\n) -> u8 {\n    a\n}\n\nimpl X {\n    fn two() {}\n}\nlet fn_like = 1;\n// fn three()\n",
            &[("one", 1, 3, 7), ("two", 10, 10, 10)],
        );
        check(
            "a.py",
            "@wraps\ndef one(a):\n    if a:\n\n        pass\n    return 1\n\nasync def two(): pass\nx = 'def '\n",
            &[("one", 1, 2, 6), ("two", 8, 8, 8)],
        );
        check("a.rb", "def one?\n  1\nend\n", &[("one?", 1, 1, 3)]);
        check(
            "a.go",
            "func (s *S) Run() error {\n\treturn nil\n}\nfunc main() {\n}\n",
            &[("Run", 1, 1, 3), ("main", 4, 4, 5)],
        );
        check(
            "a.ts",
            "export async function one(): void {\n  go();\n}\n",
            &[("one", 1, 1, 3)],
        );
        check(
            "a.c",
            "/* doc */\nstatic int one(int a) {\n    if (a) {\n        return f(a);\n    }\n    return 1;\n}\nint x = f(1);\n",
            &[("one", 1, 2, 7)],
        );
        check(
            "A.java",
            "class A {\n    @Test\n    public void one() {\n        x();\n    }\n}\n",
            &[("one", 2, 3, 5)],
        );
        check("a.md", "fn x() {}\n", &[]);
    }
}
