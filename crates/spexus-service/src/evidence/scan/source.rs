//! A source file as lines, and what a mark in it stands above.

/// A file of a tree.
pub(super) struct SourceFile<'a> {
    /// Its name relative to the root.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    pub(super) lines: Vec<&'a str>,
}

/// Lines of code, numbered from one, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineRange {
    pub(super) first: u32,
    pub(super) last: u32,
}

/// Lines a mark can stand above at most.
const MAX_SPAN_LINES: usize = 2_000;

/// What comments and attributes begin with, in any language.
const ABOVE_CODE: [&str; 8] = ["//", "#", "--", "/*", "*", "@", "<!--", ";"];

impl<'a> SourceFile<'a> {
    pub(super) fn new(name: &'a str, text: &'a str) -> Self {
        Self {
            name,
            text,
            lines: text.lines().collect(),
        }
    }

    /// A line by its number; empty outside of the file.
    pub(super) fn line(&self, number: u32) -> &'a str {
        let index = (number as usize).checked_sub(1);
        index
            .and_then(|index| self.lines.get(index))
            .copied()
            .unwrap_or_default()
    }

    pub(super) fn extension(&self) -> &'a str {
        self.name.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// The code below a line: the next that is no comment and no attribute, with all that is indented deeper and what closes it.
    pub(super) fn below(&self, line: u32) -> Option<LineRange> {
        let first = (line as usize..self.lines.len()).find(|index| is_code(self.lines[*index]))?;
        Some(self.block(first))
    }

    /// A line of code, by its index, with what belongs to it.
    pub(super) fn block(&self, first: usize) -> LineRange {
        let depth = indentation(self.lines[first]);
        let mut last = first;
        let end = self.lines.len().min(first + MAX_SPAN_LINES);
        for index in first + 1..end {
            let line = self.lines[index];
            if line.trim().is_empty() {
                continue;
            }
            let closes =
                line.trim_start().starts_with(['}', ')', ']']) || line.trim_start().starts_with("end");
            match indentation(line).cmp(&depth) {
                std::cmp::Ordering::Greater => last = index,
                std::cmp::Ordering::Equal if closes => {
                    last = index;
                    // `) {` and `} else {` go on.
                    if !line.trim_end().ends_with(['{', '(', '[', ':']) {
                        break;
                    }
                }
                _ => break,
            }
        }
        LineRange {
            first: number(first),
            last: number(last),
        }
    }

    /// The lines that enclose one, from the innermost out, each less indented than the one before.
    pub(super) fn enclosing(&self, line: u32) -> impl Iterator<Item = u32> + '_ {
        let start = (line as usize).saturating_sub(1).min(self.lines.len());
        let mut depth = self.lines.get(start).map_or(0, |line| indentation(line));
        (0..start).rev().filter_map(move |index| {
            let text = self.lines[index];
            if text.trim().is_empty() || indentation(text) >= depth {
                return None;
            }
            depth = indentation(text);
            Some(number(index))
        })
    }

    /// The hash of some lines, whatever blanks they end with.
    pub(super) fn hash(&self, range: LineRange) -> String {
        let mut hasher = blake3::Hasher::new();
        for line in range.first..=range.last {
            hasher.update(self.line(line).trim_end().as_bytes());
            hasher.update(b"\n");
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

pub(super) fn indentation(line: &str) -> usize {
    let blanks = line.chars().take_while(|c| c.is_whitespace());
    blanks.map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !ABOVE_CODE.iter().any(|begin| line.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_stands_above_what_is_indented_below_it() {
        let text = "// mark\n#[test]\nfn a(\n    b: u8,\n) {\n    c();\n\n    d();\n}\n\nfn e() {}\n";
        let file = SourceFile::new("a.rs", text);
        assert_eq!(file.below(1), Some(LineRange { first: 3, last: 9 }));
        assert_eq!(file.below(10), Some(LineRange { first: 11, last: 11 }));
        assert_eq!(file.below(11), None);
        let python = SourceFile::new(
            "a.py",
            "class A:\n    # mark\n    def b(self):\n        c()\n\n        d()\n    def e(self):\n        f()\n",
        );
        assert_eq!(python.below(2), Some(LineRange { first: 3, last: 6 }));
        assert_eq!(python.enclosing(4).collect::<Vec<_>>(), [3, 1]);
    }

    #[test]
    fn the_hash_of_code_moves_with_its_words_and_not_with_its_place() {
        let (a, b) = (SourceFile::new("a", "x\ny \n"), SourceFile::new("b", "z\nx\ny\n"));
        assert_eq!(
            a.hash(LineRange { first: 1, last: 2 }),
            b.hash(LineRange { first: 2, last: 3 })
        );
        assert_ne!(
            a.hash(LineRange { first: 1, last: 1 }),
            a.hash(LineRange { first: 2, last: 2 })
        );
    }
}
