//! The folders agents use: OpenSpec, Kiro and spec-kit. Files stay where they are and stay the format's own.
//!
//! A file is read as a list of things, each with the place its title and its text stand at; what is between them is never
//! looked at and so never lost. Writing is replacing a title or a text at its place.

use crate::source::{LineIndex, SourceItem, SourceLevel, SourceLocation};
use crate::xml::Edits;

/// Which format a file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderFormat {
    /// `openspec/specs/CAPABILITY/spec.md`.
    OpenSpec,
    /// `.kiro/specs/FEATURE/requirements.md`.
    Kiro,
    /// `specs/NNN-NAME/spec.md`.
    SpecKit,
}

impl FolderFormat {
    /// Of a file, by its path with `/` between folders; `None` where it holds no requirements that live.
    pub fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').collect();
        match parts[..] {
            [.., "openspec", "specs", _, "spec.md"] => Some(Self::OpenSpec),
            [.., ".kiro", "specs", _, "requirements.md"] => Some(Self::Kiro),
            [.., "specs", feature, "spec.md"] if feature.starts_with(|c: char| c.is_ascii_digit()) => {
                Some(Self::SpecKit)
            }
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::OpenSpec => "openspec",
            Self::Kiro => "kiro",
            Self::SpecKit => "speckit",
        }
    }
}

/// One thing of a file, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedItem {
    /// The thing.
    pub item: SourceItem,
    /// Its place.
    pub place: SourceLocation,
}

/// Reads a file. A file without the format's headings has a group and nothing in it.
pub fn read(path: &str, text: &str, format: FolderFormat) -> Vec<PlacedItem> {
    let folder = path.rsplit('/').nth(1).unwrap_or(path);
    let mut reader = Reader {
        path,
        text,
        lines: LineIndex::of(text),
        group: format!("{}:{folder}", format.name()),
        section: None,
        items: Vec::new(),
    };
    let blocks = blocks(text);
    reader.head(&blocks, folder);
    match format {
        FolderFormat::OpenSpec => reader.openspec(&blocks),
        FolderFormat::Kiro => reader.kiro(&blocks),
        FolderFormat::SpecKit => reader.speckit(&blocks),
    }
    reader.items
}

/// The text with a new title or text of one of its things.
pub fn edit(placed: &PlacedItem, text: &str, title: Option<&str>, body: Option<&str>, edits: &mut Edits) {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let written = |said: &str| said.replace("\r\n", "\n").replace('\n', newline);
    if let (Some(title), Some(place)) = (title, &placed.place.title) {
        edits.replace(place.clone(), written(&title.replace('\n', " ")));
    }
    if let Some(body) = body {
        let place = placed.place.text.clone();
        // Where nothing stood, a blank line keeps the text from its heading.
        let lead = if place.is_empty() { newline } else { "" };
        edits.replace(place, format!("{lead}{}", written(body.trim())));
    }
}

/// A heading and what is below it, up to the next heading.
struct Block<'a> {
    level: usize,
    /// The words of the heading.
    title: &'a str,
    title_at: usize,
    /// From behind the heading's line to the next heading.
    body: std::ops::Range<usize>,
    starts: usize,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found: Vec<Block<'_>> = Vec::new();
    let mut at = 0;
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let content = line.trim_end_matches(['\n', '\r']);
        let bare = content.trim_start();
        match fence {
            Some(open) if bare.starts_with(open) => fence = None,
            Some(_) => continue,
            None if bare.starts_with("```") || bare.starts_with("~~~") => fence = Some(&bare[..3]),
            None => {}
        }
        let level = content.bytes().take_while(|c| *c == b'#').count();
        if fence.is_some() || level == 0 || level > 6 || !content[level..].starts_with(' ') {
            continue;
        }
        let title = content[level..].trim();
        let title_at = start + content.len() - content[level..].trim_start().len();
        if let Some(last) = found.last_mut() {
            last.body.end = start;
        }
        found.push(Block {
            level,
            title,
            title_at,
            body: at..text.len(),
            starts: start,
        });
    }
    found
}

struct Reader<'a> {
    path: &'a str,
    text: &'a str,
    lines: LineIndex,
    group: String,
    section: Option<String>,
    items: Vec<PlacedItem>,
}

impl Reader<'_> {
    /// The file itself: its first heading, else its folder's name.
    fn head(&mut self, blocks: &[Block<'_>], folder: &str) {
        let first = blocks.iter().find(|block| block.level == 1);
        let (title, place) = match first {
            Some(block) => (
                block.title,
                Some(block.title_at..block.title_at + block.title.len()),
            ),
            None => (folder, None),
        };
        let at = first.map_or(0, |block| block.body.start);
        let id = self.group.clone();
        self.push(id, SourceLevel::Group, None, title, place, at..at, at);
    }

    fn openspec(&mut self, blocks: &[Block<'_>]) {
        for (number, block) in blocks.iter().enumerate() {
            let Some(name) = block
                .title
                .strip_prefix("Requirement:")
                .filter(|_| block.level == 3)
            else {
                continue;
            };
            let below = blocks[number + 1..]
                .iter()
                .take_while(|below| below.level > 3)
                .count();
            let end = blocks
                .get(number + 1 + below)
                .map_or(self.text.len(), |next| next.starts);
            self.statement(block, name, block.body.start..end, SourceLevel::Statement);
        }
    }

    fn kiro(&mut self, blocks: &[Block<'_>]) {
        for block in blocks {
            let title = block.title;
            if block.level == 3 && title.starts_with("Requirement") {
                let id = format!("{}/{}", self.group, number_of(title).unwrap_or(title));
                let place = Some(block.title_at..block.title_at + title.len());
                let parent = Some(self.group.clone());
                self.push(
                    id.clone(),
                    SourceLevel::Section,
                    parent,
                    title,
                    place,
                    trimmed(self.text, block.body.clone()),
                    block.starts,
                );
                self.section = Some(id);
            } else if block.level >= 4 && title.to_lowercase().contains("acceptance criteria") {
                self.criteria(block);
            }
        }
    }

    /// Numbered lines, each with what is indented below it.
    fn criteria(&mut self, block: &Block<'_>) {
        let Some(section) = self.section.clone() else {
            return;
        };
        for (number, content) in entries(self.text, block.body.clone(), |line| {
            let digits = line
                .bytes()
                .take_while(|c| c.is_ascii_digit() || *c == b'.')
                .count();
            let marked = digits > 0 && line.as_bytes()[0].is_ascii_digit() && line[digits..].starts_with(' ');
            marked.then(|| (line[..digits].trim_end_matches('.').to_owned(), digits + 1))
        }) {
            let last = number.rsplit('.').next().unwrap_or_default();
            let id = format!("{section}.{last}");
            self.push(
                id,
                SourceLevel::Criterion,
                Some(section.clone()),
                "",
                None,
                content.clone(),
                content.start,
            );
        }
    }

    fn speckit(&mut self, blocks: &[Block<'_>]) {
        for (number, block) in blocks.iter().enumerate() {
            if block.level == 3 && block.title.starts_with("User Story") {
                let id = format!(
                    "{}/story-{}",
                    self.group,
                    number_of(block.title).unwrap_or(block.title)
                );
                let below = blocks[number + 1..]
                    .iter()
                    .take_while(|below| below.level > 3)
                    .count();
                let end = blocks
                    .get(number + 1 + below)
                    .map_or(self.text.len(), |next| next.starts);
                let place = Some(block.title_at..block.title_at + block.title.len());
                let body = trimmed(self.text, block.body.start..end);
                self.push(
                    id,
                    SourceLevel::Section,
                    Some(self.group.clone()),
                    block.title,
                    place,
                    body,
                    block.starts,
                );
                continue;
            }
            for (name, content) in entries(self.text, block.body.clone(), |line| {
                let rest = line.strip_prefix("- **")?;
                let (name, after) = rest.split_once("**")?;
                let known = name.starts_with("FR-") || name.starts_with("SC-");
                let colon = if after.starts_with(": ") { 2 } else { return None };
                known.then(|| (name.to_owned(), 4 + name.len() + 2 + colon))
            }) {
                let parent = self.statements(block.starts);
                let id = format!("{}/{name}", self.group);
                self.push(
                    id,
                    SourceLevel::Statement,
                    Some(parent),
                    &name,
                    None,
                    content.clone(),
                    content.start,
                );
            }
        }
    }

    fn statement(&mut self, block: &Block<'_>, name: &str, body: std::ops::Range<usize>, level: SourceLevel) {
        let parent = self.statements(block.starts);
        let title = name.trim();
        let title_at = block.title_at + block.title.len() - name.trim_start().len();
        let id = format!("{}/{title}", self.group);
        let place = Some(title_at..title_at + title.len());
        self.push(
            id,
            level,
            Some(parent),
            title,
            place,
            trimmed(self.text, body),
            block.starts,
        );
    }

    /// The section of statements that stand in none: one for each file, which no file names.
    fn statements(&mut self, at: usize) -> String {
        if let Some(section) = &self.section {
            return section.clone();
        }
        let id = format!("{}/requirements", self.group);
        let title = self
            .items
            .first()
            .map_or_else(String::new, |head| head.item.title.clone());
        self.push(
            id.clone(),
            SourceLevel::Section,
            Some(self.group.clone()),
            &title,
            None,
            at..at,
            at,
        );
        self.section = Some(id.clone());
        id
    }

    #[expect(clippy::too_many_arguments, reason = "one row, written down once")]
    fn push(
        &mut self,
        id: String,
        level: SourceLevel,
        parent: Option<String>,
        title: &str,
        title_place: Option<std::ops::Range<usize>>,
        text: std::ops::Range<usize>,
        at: usize,
    ) {
        // A name that stands twice is told apart by its order.
        let twins = self
            .items
            .iter()
            .filter(|other| {
                other.item.id == id
                    || other
                        .item
                        .id
                        .strip_prefix(&id)
                        .is_some_and(|rest| rest.starts_with('#'))
            })
            .count();
        let id = if twins == 0 {
            id
        } else {
            format!("{id}#{}", twins + 1)
        };
        self.items.push(PlacedItem {
            item: SourceItem {
                id,
                level,
                parent,
                title: title.to_owned(),
                text: self.text[text.clone()].replace("\r\n", "\n"),
                fields: Vec::new(),
                line: self.lines.line(at),
            },
            place: SourceLocation {
                file: self.path.to_owned(),
                title: title_place,
                text,
            },
        });
    }
}

/// `3` of `Requirement 3: Title`.
fn number_of(title: &str) -> Option<&str> {
    let start = title.find(|c: char| c.is_ascii_digit())?;
    let digits = title[start..]
        .bytes()
        .take_while(|c| c.is_ascii_digit() || *c == b'.')
        .count();
    Some(title[start..start + digits].trim_end_matches('.'))
}

/// Without blank lines around it; an empty place stays where it began.
fn trimmed(text: &str, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let body = &text[range.clone()];
    let inner = body.trim();
    if inner.is_empty() {
        return range.start..range.start;
    }
    let start = range.start + body.len() - body.trim_start().len();
    start..start + inner.len()
}

/// List entries: a mark at the beginning of a line, and what is indented below it. `mark` gives the name and the bytes of it.
fn entries(
    text: &str,
    range: std::ops::Range<usize>,
    mark: impl Fn(&str) -> Option<(String, usize)>,
) -> Vec<(String, std::ops::Range<usize>)> {
    let mut found: Vec<(String, std::ops::Range<usize>)> = Vec::new();
    let mut open = false;
    let mut at = range.start;
    for line in text[range].split_inclusive('\n') {
        let content = line.trim_end();
        if let Some((name, bytes)) = mark(content) {
            found.push((name, at + bytes..at + content.len().max(bytes)));
            open = true;
        } else if content.is_empty() || !line.starts_with([' ', '\t']) {
            open = false;
        } else if open && let Some((_, last)) = found.last_mut() {
            last.end = at + content.len();
        }
        at += line.len();
    }
    found
}
