//! What runners call the test that is written at a place: by the language's rules of files, modules and classes.

use super::source::SourceFile;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A test in a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TestAt {
    /// What the source calls it.
    pub(super) symbol: String,
    /// What runners may call it, with `::` between the parts.
    pub(super) names: Vec<String>,
}

/// The names of the Rust packages of a tree, by their folders.
pub(super) struct Packages {
    root: PathBuf,
    known: HashMap<String, Option<String>>,
}

impl Packages {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            known: HashMap::new(),
        }
    }

    /// The package a file belongs to: its name, and the file within it.
    fn of<'f>(&mut self, file: &'f str) -> Option<(String, &'f str)> {
        let ends = file.rmatch_indices('/').map(|(at, _)| at);
        for end in ends.chain([0]) {
            let folder = &file[..end];
            if let Some(name) = self.name(folder) {
                return Some((name, file[end..].trim_start_matches('/')));
            }
        }
        None
    }

    fn name(&mut self, folder: &str) -> Option<String> {
        if let Some(known) = self.known.get(folder) {
            return known.clone();
        }
        let manifest = std::fs::read_to_string(self.root.join(folder).join("Cargo.toml"));
        let found = manifest.ok().and_then(|text| package_name(&text));
        self.known.insert(folder.to_owned(), found.clone());
        found
    }
}

fn package_name(manifest: &str) -> Option<String> {
    let lines = manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "[package]")
        .skip(1);
    let mut lines = lines.take_while(|line| !line.starts_with('['));
    lines.find_map(|line| {
        let value = line.strip_prefix("name")?.trim_start().strip_prefix('=')?;
        Some(value.trim().trim_matches(['"', '\'']).to_owned())
    })
}

/// What is defined on a line, in any language that says so with a word in front.
pub(super) fn defined(file: &SourceFile<'_>, line: u32) -> Option<String> {
    let text = file.line(line).trim();
    let words = [
        "fn ",
        "def ",
        "func ",
        "function ",
        "class ",
        "struct ",
        "enum ",
        "trait ",
        "mod ",
        "interface ",
        "impl ",
    ];
    let found = words.iter().find_map(|word| {
        let at = text.find(word)?;
        let is_word = at == 0 || text[..at].ends_with([' ', ')']);
        is_word.then(|| identifier(text[at + word.len()..].trim_start()))
    });
    found.filter(|name| !name.is_empty()).map(str::to_owned)
}

fn identifier(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    &text[..end]
}

/// The test that begins on a line, if one does.
pub(super) fn test_at(file: &SourceFile<'_>, line: u32, packages: &mut Packages) -> Option<TestAt> {
    match file.extension() {
        "rs" => rust(file, line, packages),
        "py" => python(file, line),
        "js" | "jsx" | "ts" | "tsx" | "mjs" => script(file, line),
        "java" | "kt" | "scala" => java(file, line),
        "go" => go(file, line),
        "c" | "h" | "cc" | "cpp" | "hpp" => c(file, line),
        _ => None,
    }
}

fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let at = text.find(word)?;
    let is_word = at == 0 || text[..at].ends_with(' ');
    let name = identifier(&text[at + word.len()..]);
    (is_word && !name.is_empty()).then_some(name)
}

/// Nextest calls it by the package, the target and the modules; libtest by the modules alone, which is the end of that.
fn rust(file: &SourceFile<'_>, line: u32, packages: &mut Packages) -> Option<TestAt> {
    let symbol = after(file.line(line).trim(), "fn ")?;
    let mut inner: Vec<&str> = file
        .enclosing(line)
        .filter_map(|outer| after(file.line(outer).trim(), "mod "))
        .collect();
    inner.reverse();
    let (package, within) = packages.of(file.name).unwrap_or((String::new(), file.name));
    let targets = rust_targets(&package, within);
    let names = targets.into_iter().map(|mut parts| {
        parts.extend(inner.iter().map(|part| (*part).to_owned()));
        parts.push(symbol.to_owned());
        parts.retain(|part| !part.is_empty());
        parts.join("::")
    });
    Some(TestAt {
        symbol: symbol.to_owned(),
        names: names.collect(),
    })
}

/// The package, the target and the modules of a file.
fn rust_targets(package: &str, within: &str) -> Vec<Vec<String>> {
    let path = within.trim_end_matches(".rs");
    let mut parts: Vec<&str> = path.split('/').collect();
    if parts.last() == Some(&"mod") {
        parts.pop();
    }
    let owned = |target: &[&str], modules: &[&str]| -> Vec<String> {
        [package]
            .iter()
            .chain(target)
            .chain(modules)
            .map(|part| (*part).to_owned())
            .collect()
    };
    match parts.as_slice() {
        ["src", "lib"] => vec![owned(&[], &[])],
        ["src", "main"] => vec![owned(&["bin", package], &[])],
        ["src", "bin", name] | ["src", "bin", name, "main"] => vec![owned(&["bin", name], &[])],
        ["src", "bin", name, rest @ ..] => vec![owned(&["bin", name], rest)],
        // A module may be part of the library, of the program, or of both.
        ["src", rest @ ..] => vec![owned(&[], rest), owned(&["bin", package], rest)],
        ["tests", name] | ["tests", name, "main"] => vec![owned(&[name], &[])],
        ["tests", name, rest @ ..] => vec![owned(&[name], rest)],
        rest => vec![owned(&[], rest)],
    }
}

fn python(file: &SourceFile<'_>, line: u32) -> Option<TestAt> {
    let symbol = after(file.line(line).trim(), "def ")?;
    let mut parts: Vec<&str> = file.name.trim_end_matches(".py").split('/').collect();
    let mut classes: Vec<&str> = file
        .enclosing(line)
        .filter_map(|outer| after(file.line(outer).trim(), "class "))
        .collect();
    classes.reverse();
    parts.extend(classes);
    parts.push(symbol);
    Some(TestAt {
        symbol: symbol.to_owned(),
        names: vec![parts.join("::")],
    })
}

/// Titles are words: runners join them with blanks, with `>`, or leave the outer ones to the class.
fn script(file: &SourceFile<'_>, line: u32) -> Option<TestAt> {
    let title = title(file.line(line), &["it", "test"])?;
    let mut outer: Vec<String> = file
        .enclosing(line)
        .filter_map(|outer| self::title(file.line(outer), &["describe", "suite"]))
        .collect();
    outer.reverse();
    outer.push(title.clone());
    let mut names = vec![outer.join(" > "), outer.join(" ")];
    names.dedup();
    Some(TestAt { symbol: title, names })
}

fn title(line: &str, words: &[&str]) -> Option<String> {
    let line = line.trim();
    let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
    let (call, rest) = rest.split_once('(')?;
    let is_call = call.is_empty() || call.starts_with('.');
    let rest = rest.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let (title, _) = rest[1..].split_once(quote)?;
    (is_call && !title.is_empty()).then(|| title.to_owned())
}

fn java(file: &SourceFile<'_>, line: u32) -> Option<TestAt> {
    let text = file.line(line).trim();
    let (head, _) = text.split_once('(')?;
    let symbol = head
        .rsplit([' ', '\t'])
        .next()
        .map(identifier)
        .filter(|name| !name.is_empty())?;
    if !head.contains(' ')
        || head.contains(['=', '.', '"'])
        || head.starts_with("return ")
        || head.starts_with("new ")
    {
        return None;
    }
    let path = file.name.rsplit_once('.').map_or(file.name, |(path, _)| path);
    let package = path
        .rsplit_once("/java/")
        .or_else(|| path.rsplit_once("/kotlin/"))
        .map_or(path, |(_, package)| package);
    Some(TestAt {
        symbol: symbol.to_owned(),
        names: vec![format!("{}::{symbol}", package.replace('/', "::"))],
    })
}

/// Go calls tests by their package, which is a folder.
fn go(file: &SourceFile<'_>, line: u32) -> Option<TestAt> {
    let symbol = after(file.line(line).trim(), "func ").filter(|name| name.starts_with("Test"))?;
    let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let name = format!("{}::{symbol}", folder.replace('/', "::"));
    Some(TestAt {
        symbol: symbol.to_owned(),
        names: vec![name.trim_start_matches("::").to_owned()],
    })
}

/// GoogleTest's macros.
fn c(file: &SourceFile<'_>, line: u32) -> Option<TestAt> {
    let text = file.line(line).trim();
    let (word, rest) = text.split_once('(')?;
    if !matches!(word, "TEST" | "TEST_F" | "TEST_P" | "TYPED_TEST" | "TEST_CASE") {
        return None;
    }
    let inside = rest.split(')').next()?;
    let parts: Vec<&str> = inside
        .split(',')
        .map(|part| part.trim().trim_matches('"'))
        .collect();
    let parts = &parts[..parts.len().min(2)];
    Some(TestAt {
        symbol: parts.last().copied().unwrap_or_default().to_owned(),
        names: vec![parts.join("::")],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &str, text: &str, line: u32) -> Option<Vec<String>> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("crates/my-crate")).unwrap();
        let manifest = "[workspace]\nname = \"no\"\n[package]\nname = \"my-crate\"\nversion = \"1\"\n";
        std::fs::write(root.path().join("crates/my-crate/Cargo.toml"), manifest).unwrap();
        let file = SourceFile::new(name, text);
        test_at(&file, line, &mut Packages::new(root.path())).map(|test| test.names)
    }

    #[test]
    fn tests_are_called_as_their_runners_call_them() {
        let inner = "mod tests {\n    mod deep {\n        fn works() {}\n    }\n}\n";
        let plain = "async fn works() {}\n";
        let python = "class TestA:\n    def test_b(self):\n        pass\n";
        let script = "describe('sums', () => {\n  it.each([1])('adds up', () => {})\n  it(\"adds up\", () => {})\n})\n";
        let cases: [(&str, &str, u32, Option<&[&str]>); 13] = [
            (
                "crates/my-crate/src/lib.rs",
                inner,
                3,
                Some(&["my-crate::tests::deep::works"]),
            ),
            (
                "crates/my-crate/src/a/mod.rs",
                plain,
                1,
                Some(&["my-crate::a::works", "my-crate::bin::my-crate::a::works"]),
            ),
            (
                "crates/my-crate/src/main.rs",
                plain,
                1,
                Some(&["my-crate::bin::my-crate::works"]),
            ),
            (
                "crates/my-crate/src/bin/tool.rs",
                plain,
                1,
                Some(&["my-crate::bin::tool::works"]),
            ),
            (
                "crates/my-crate/tests/it/main.rs",
                plain,
                1,
                Some(&["my-crate::it::works"]),
            ),
            (
                "crates/my-crate/tests/it/part.rs",
                plain,
                1,
                Some(&["my-crate::it::part::works"]),
            ),
            (
                "tests/test_a.py",
                python,
                2,
                Some(&["tests::test_a::TestA::test_b"]),
            ),
            (
                "src/a.test.ts",
                script,
                3,
                Some(&["sums > adds up", "sums adds up"]),
            ),
            (
                "src/test/java/com/x/FooTest.java",
                "    public void adds() {\n",
                1,
                Some(&["com::x::FooTest::adds"]),
            ),
            (
                "pkg/foo/foo_test.go",
                "func TestX(t *testing.T) {\n",
                1,
                Some(&["pkg::foo::TestX"]),
            ),
            (
                "t/a_test.cc",
                "TEST_F(Suite, Name) {\n",
                1,
                Some(&["Suite::Name"]),
            ),
            ("t/a.rb", "def a\n", 1, None),
            ("crates/my-crate/src/lib.rs", "let fna = 1;\n", 1, None),
        ];
        for (name, text, line, expected) in cases {
            let expected =
                expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
            assert_eq!(names(name, text, line), expected, "{name}:{line}");
        }
    }
}
