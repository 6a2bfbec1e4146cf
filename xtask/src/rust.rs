//! Rust source taken apart as far as the house rules need it: code here, comments there, and which lines are tests.
//!
//! A rule about `println!` must not fire on a string that contains the word, and a mark in a string is no mark. A full
//! parser would know more than we ask; this splitter knows comments, strings and characters, and keeps line numbers.

/// One Rust file.
pub(crate) struct Source {
    /// From the root of the repository.
    pub(crate) path: String,
    /// By line: everything but comments and the inside of strings, which are left out.
    pub(crate) code: Vec<String>,
    /// By line: comments, with their slashes.
    pub(crate) comments: Vec<String>,
    in_tests: Vec<bool>,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let mut split = Split::default();
        split.all(text);
        let code: Vec<String> = split.code.lines().map(str::to_owned).collect();
        let comments = split.comments.lines().map(str::to_owned).collect();
        let in_tests = if is_test_path(path) {
            vec![true; code.len()]
        } else {
            test_modules(&code)
        };
        Self {
            path: path.to_owned(),
            code,
            comments,
            in_tests,
        }
    }

    /// Whether the line (from 0) belongs to a test: a test file, or a module under `#[cfg(test)]`.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.in_tests.get(line).copied().unwrap_or(false)
    }

    /// The name of the function a comment on this line (from 0) speaks of: the one that starts below it, past
    /// attributes and more comments, else the one around it.
    pub(crate) fn function_at(&self, line: usize) -> Option<&str> {
        let below = self.code.iter().skip(line).map(|code| code.trim());
        let next = below
            .into_iter()
            .find(|code| !code.is_empty() && !code.starts_with("#["));
        next.and_then(function_name).or_else(|| {
            self.code
                .iter()
                .take(line + 1)
                .rev()
                .find_map(|code| function_name(code))
        })
    }
}

/// Whether the whole file is a test by its place or name.
pub(crate) fn is_test_path(path: &str) -> bool {
    let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
    path.contains("/tests/") || path.contains("/benches/") || stem == "tests" || stem.ends_with("_tests")
}

fn function_name(code: &str) -> Option<&str> {
    let at = code
        .find("fn ")
        .filter(|at| *at == 0 || code[..*at].ends_with(' '))?;
    let name = code[at + 3..]
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()?;
    (!name.is_empty()).then_some(name)
}

/// Marks the lines from `#[cfg(test)]` to the end of the item below it.
fn test_modules(code: &[String]) -> Vec<bool> {
    let mut marks = vec![false; code.len()];
    let mut line = 0;
    while line < code.len() {
        if code[line].contains("#[cfg(test)]") || code[line].contains("#[cfg(all(test") {
            let end = end_of_item(code, line);
            marks[line..=end].fill(true);
            line = end;
        }
        line += 1;
    }
    marks
}

fn end_of_item(code: &[String], start: usize) -> usize {
    let mut depth = 0_usize;
    for (line, text) in code.iter().enumerate().skip(start) {
        for c in text.chars() {
            match c {
                '{' => depth += 1,
                '}' if depth <= 1 => return line,
                '}' => depth -= 1,
                ';' if depth == 0 => return line,
                _ => {}
            }
        }
    }
    code.len() - 1
}

/// Where text goes; line ends go everywhere.
#[derive(Clone, Copy)]
enum To {
    Code,
    Comments,
    Nowhere,
}

#[derive(Default)]
struct Split {
    code: String,
    comments: String,
}

impl Split {
    fn all(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (length, to) = self.token(rest);
            self.put(&rest[..length], to);
            rest = &rest[length..];
        }
    }

    /// How much of `rest` belongs together, and where it goes.
    fn token(&self, rest: &str) -> (usize, To) {
        let after_word = self.code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), To::Comments)
        } else if rest.starts_with("/*") {
            (block_comment(rest), To::Comments)
        } else if rest.starts_with('"') {
            (string(rest), To::Nowhere)
        } else if let Some(length) = raw_string(rest).filter(|_| !after_word) {
            (length, To::Nowhere)
        } else if let Some(length) = character(rest) {
            (length, To::Nowhere)
        } else {
            (rest.chars().next().map_or(1, char::len_utf8), To::Code)
        }
    }

    fn put(&mut self, text: &str, to: To) {
        for c in text.chars() {
            let newline = c == '\n';
            if newline || matches!(to, To::Code) {
                self.code.push(c);
            }
            if newline || matches!(to, To::Comments) {
                self.comments.push(c);
            }
        }
    }
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn string(rest: &str) -> usize {
    let mut escaped = true;
    for (at, c) in rest.char_indices() {
        match c {
            '"' if !escaped => return at + 1,
            '\\' if !escaped => escaped = true,
            _ => escaped = false,
        }
    }
    rest.len()
}

/// `r"…"`, `br#"…"#` and their kin.
fn raw_string(rest: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|p| {
        rest.strip_prefix(p)
            .is_some_and(|r| r.trim_start_matches('#').starts_with('"'))
    })?;
    let hashes = rest[prefix.len()..].find('"')?;
    let open = prefix.len() + hashes + 1;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(
        rest[open..]
            .find(&close)
            .map_or(rest.len(), |at| open + at + close.len()),
    )
}

/// A character between quotes, as opposed to a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    let length = match inside.strip_prefix('\\') {
        Some(escape) => 1 + escape.char_indices().skip(1).find(|(_, c)| *c == '\'')?.0,
        None => inside.chars().next()?.len_utf8(),
    };
    inside[length..].starts_with('\'').then_some(length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, code: &str, comments: &str) {
        let source = Source::new("crates/a/src/lib.rs", text);
        assert_eq!(source.code.join("\n"), code, "code of {text}");
        assert_eq!(source.comments.join("\n"), comments, "comments of {text}");
    }

    #[test]
    fn code_comments_and_strings_are_told_apart() {
        check("a // b", "a ", "// b");
        check("a(\"// b\") /* c /* d */ e */ f", "a()  f", "/* c /* d */ e */");
        check(r##"r#"x " // y"# z"##, " z", "");
        check(r#"b("\"//") // c"#, "b() ", "// c");
        check(
            "fn a<'a>(x: &'a str) { '\"' } // b",
            "fn a<'a>(x: &'a str) {  } ",
            "// b",
        );
        check(r"'\'' '\u{41}' // b", "  ", "// b");
        check("a\n/* b\nc */ d", "a\n\n d", "\n/* b\nc */");
    }

    #[test]
    fn test_modules_end_where_they_end() {
        let source = Source::new(
            "crates/a/src/lib.rs",
            "a\n#[cfg(test)]\nmod tests {\n x {}\n}\nb\n",
        );
        let marks: Vec<bool> = (0..6).map(|line| source.is_test(line)).collect();
        assert_eq!(marks, [false, true, true, true, true, false]);
        assert!(Source::new("crates/a/tests/it.rs", "a").is_test(0));
        let outside = Source::new("crates/a/src/lib.rs", "#[cfg(test)]\nmod tests;\nb\n");
        assert!(!outside.is_test(2));
    }

    #[test]
    fn a_mark_speaks_of_the_function_below_or_around_it() {
        let source = Source::new(
            "a.rs",
            "// x\n#[test]\nasync fn one() {\n  // y\n  assert!(true)\n}\n",
        );
        assert_eq!(source.function_at(0), Some("one"));
        assert_eq!(source.function_at(3), Some("one"));
    }
}
