//! The version 2 JSON report: everything by id, so that reports of several repositories can be merged.
//!
//! Ids are a prefix and the 64-bit FNV-1a hash of the parts that make the thing what it is, joined by NUL. They are
//! those of the public tool, because merging means agreeing on them.

use crate::analysis::{Analysis, Cited};
use crate::citation::{Annotation, Kind};
use crate::interval::IntervalSet;
use crate::matching::{Grade, is_counted};
use crate::report::json_v1::Links;
use crate::specification::{Section, Specification};
use crate::target::{canonical, is_url};
use crate::text::Span;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

//= specs/duvet.md#compatibility
//# The version 2 JSON report MUST carry the ids of the public tool, so that reports of both can be merged.
/// The report of an analysis; `root` is left out of file names.
pub fn render(analysis: &Analysis, links: Links<'_>, root: &Path) -> Vec<u8> {
    let report = Builder::new(analysis, links, root).build();
    // Serializing to memory cannot fail: every key is a string.
    serde_json::to_vec_pretty(&report).unwrap_or_default()
}

#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    issue_links: Vec<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    repositories: BTreeMap<String, Repository<'a>>,
    sources: Sources<'a>,
    annotations: Buckets<'a>,
}

#[derive(Serialize)]
struct Repository<'a> {
    blob_link: &'a str,
}

#[derive(Default, Serialize)]
struct Sources<'a> {
    #[serde(rename = "https://awslabs.github.io/duvet/v2/sources.json#inline")]
    inline: BTreeMap<String, Inline<'a>>,
    #[serde(rename = "https://awslabs.github.io/duvet/v2/sources.json#linked")]
    linked: BTreeMap<String, Linked<'a>>,
}

#[derive(Serialize)]
struct Inline<'a> {
    file_name: String,
    contents: &'a str,
}

#[derive(Serialize)]
struct Linked<'a> {
    file_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
}

#[derive(Default, Serialize)]
struct Buckets<'a> {
    #[serde(rename = "https://awslabs.github.io/duvet/v2/annotations.json#specification")]
    specifications: BTreeMap<String, SpecificationEntry<'a>>,
    #[serde(rename = "https://awslabs.github.io/duvet/v2/annotations.json#section")]
    sections: BTreeMap<String, SectionEntry<'a>>,
    #[serde(rename = "https://awslabs.github.io/duvet/v2/annotations.json#requirement")]
    requirements: BTreeMap<String, RequirementEntry>,
    #[serde(rename = "https://awslabs.github.io/duvet/v2/annotations.json#cite")]
    cites: BTreeMap<String, CiteEntry<'a>>,
}

#[derive(Serialize)]
struct Region {
    src: String,
    start: u32,
    end: u32,
}

#[derive(Serialize)]
struct SpecificationEntry<'a> {
    source: Region,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

#[derive(Serialize)]
struct SectionEntry<'a> {
    source: Region,
    short_name: &'a str,
    long_name: &'a str,
}

#[derive(Serialize)]
struct Authored {
    src: String,
    line: u32,
}

#[derive(Serialize)]
struct Ranges {
    src: String,
    ranges: Vec<Span>,
}

#[derive(Serialize)]
struct RequirementEntry {
    source: Authored,
    origin: Ranges,
    level: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    coverage: BTreeMap<String, Vec<Span>>,
}

#[derive(Serialize)]
struct CiteEntry<'a> {
    source: Authored,
    target: Ranges,
    r#type: String,
    level: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    comment: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    feature: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    tracking_issue: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tags: &'a [String],
}

struct Builder<'a> {
    analysis: &'a Analysis,
    links: Links<'a>,
    root: &'a Path,
    /// Ids of the specifications' texts, by what names the specification.
    sources: HashMap<Cow<'a, str>, String>,
    linked: HashMap<&'a str, String>,
    report: Report<'a>,
}

impl<'a> Builder<'a> {
    fn new(analysis: &'a Analysis, links: Links<'a>, root: &'a Path) -> Self {
        let report = Report {
            version: "2.0",
            issue_links: links.issue.into_iter().collect(),
            // The project's own, whether or not a file is linked to it.
            repositories: links
                .blob
                .map(|blob_link| (id("repo", &[blob_link]), Repository { blob_link }))
                .into_iter()
                .collect(),
            sources: Sources::default(),
            annotations: Buckets::default(),
        };
        Self {
            analysis,
            links,
            root,
            sources: HashMap::new(),
            linked: HashMap::new(),
            report,
        }
    }

    fn build(mut self) -> Report<'a> {
        for cited in &self.analysis.specifications {
            if let Some(specification) = cited.specification() {
                self.specification(cited, specification);
            }
        }
        let analysis = self.analysis;
        let cites = analysis
            .citations()
            .filter_map(|(id, _)| Some((id, self.cite(id)?)))
            .collect();
        for requirement in &analysis.requirements {
            self.requirement(requirement.annotation, &requirement.coverage.related, &cites);
        }
        self.report
    }

    fn specification(&mut self, cited: &'a Cited, specification: &'a Specification) {
        let text: &'a str = &specification.text;
        let src = id("src", &[text]);
        self.sources.insert(cited.loaded.key(), src.clone());
        let file_name = if is_url(cited.name()) {
            // By its letters and not by its parts: a folder that was named `./texts` stays so.
            let path = cited.loaded.path.display().to_string();
            let below = path.strip_prefix(&format!("{}/", self.root.display()));
            below.map(str::to_owned).unwrap_or(path)
        } else {
            cited.name().to_owned()
        };
        self.report.sources.inline.entry(src.clone()).or_insert(Inline {
            file_name,
            contents: text,
        });
        let source = Region {
            src: src.clone(),
            start: 0,
            end: text.len() as u32,
        };
        let entry = SpecificationEntry {
            title: specification.title.as_deref(),
            format: specification.format.name(),
            url: is_url(cited.name()).then(|| canonical(cited.name())),
            source,
        };
        let key = id("spc", &[&src, "0", &text.len().to_string()]);
        self.report.annotations.specifications.entry(key).or_insert(entry);
        for section in &specification.sections {
            let (start, end) = bounds(text, section);
            let entry = SectionEntry {
                source: Region {
                    src: src.clone(),
                    start,
                    end,
                },
                short_name: &section.id,
                long_name: &section.title,
            };
            let key = id("sec", &[&src, &start.to_string(), &end.to_string()]);
            self.report.annotations.sections.entry(key).or_insert(entry);
        }
    }

    fn cite(&mut self, number: u32) -> Option<String> {
        let annotation = self.analysis.annotation(number);
        let target = self.target(number)?;
        let source = self.authored(annotation);
        let key = id("cite", &[&source.src, &source.line.to_string(), &target.src]);
        let entry = CiteEntry {
            source,
            target,
            r#type: kind(annotation.kind),
            level: annotation.level.name(),
            comment: &annotation.details().comment,
            feature: &annotation.details().feature,
            tracking_issue: &annotation.details().tracking_issue,
            tags: &annotation.details().tags,
        };
        self.report.annotations.cites.insert(key.clone(), entry);
        Some(key)
    }

    fn requirement(&mut self, number: u32, related: &[u32], cites: &HashMap<u32, String>) {
        let annotation = self.analysis.annotation(number);
        let Some(origin) = self.target(number) else { return };
        let source = self.authored(annotation);
        let mut parts = vec![origin.src.clone()];
        for range in &origin.ranges {
            parts.extend([range.start.to_string(), range.end.to_string()]);
        }
        parts.extend([source.src.clone(), source.line.to_string()]);
        let key = id("req", &parts.iter().map(String::as_str).collect::<Vec<_>>());
        let own = IntervalSet::of(origin.ranges.iter().copied());
        let mut coverage = BTreeMap::new();
        for other in related {
            let theirs = IntervalSet::of(self.ranges(*other));
            if let Some(cite) = cites.get(other) {
                coverage.insert(cite.clone(), own.intersection(&theirs));
            }
        }
        let entry = RequirementEntry {
            source,
            origin,
            level: annotation.level.name(),
            coverage,
        };
        self.report.annotations.requirements.insert(key, entry);
    }

    fn target(&self, number: u32) -> Option<Ranges> {
        let key = self.analysis.annotation(number).target.key();
        let src = self.sources.get(key)?.clone();
        Some(Ranges {
            src,
            ranges: self.ranges(number),
        })
    }

    /// The quoted text; of a citation without a quote, the title of its section. A piece of a single byte is given
    /// as empty, as the public tool does.
    fn ranges(&self, number: u32) -> Vec<Span> {
        let matched = self.analysis.matched(number);
        let title = || {
            let key = self.analysis.annotation(number).target.key();
            let cited = self
                .analysis
                .specifications
                .iter()
                .find(|cited| cited.loaded.key() == key)?;
            let specification = cited.specification()?;
            let section = &specification.sections[matched.section?];
            let (start, _) = bounds(&specification.text, section);
            Some(Span {
                start,
                end: start + section.title.len() as u32,
            })
        };
        if matched.grade == Grade::Reference {
            return title().into_iter().collect();
        }
        let piece = |piece: &Span| {
            if is_counted(*piece) {
                *piece
            } else {
                Span {
                    end: piece.start,
                    ..*piece
                }
            }
        };
        matched.pieces.iter().map(piece).collect()
    }

    fn authored(&mut self, annotation: &'a Annotation) -> Authored {
        let file: &'a str = &annotation.source;
        let src = match self.linked.get(file) {
            Some(known) => known.clone(),
            None => self.link(file, annotation.blob_link.as_deref()),
        };
        Authored {
            src,
            line: annotation.line,
        }
    }

    fn link(&mut self, file: &'a str, own: Option<&'a str>) -> String {
        let repository = own.or(self.links.blob).map(|blob_link| {
            let key = id("repo", &[blob_link]);
            self.report
                .repositories
                .entry(key.clone())
                .or_insert(Repository { blob_link });
            key
        });
        let src = id("lnk", &[file, repository.as_deref().unwrap_or_default()]);
        self.linked.insert(file, src.clone());
        self.report.sources.linked.insert(
            src.clone(),
            Linked {
                file_name: file,
                repository,
            },
        );
        src
    }
}

/// From the first letter of the title to the end of the last line.
fn bounds(text: &str, section: &Section) -> (u32, u32) {
    let heading = &text[section.heading.range()];
    // A title of several lines is one of blanks.
    let at = heading
        .find(&section.title)
        .or_else(|| heading.replace('\n', " ").find(&section.title))
        .filter(|_| !section.heading.is_empty())
        .unwrap_or(0);
    let start = section.heading.start + at as u32;
    let end = section
        .lines
        .last()
        .map_or(start + section.title.len() as u32, |line| line.span.end);
    (start, end)
}

fn kind(kind: Kind) -> String {
    match kind {
        Kind::Implementation => "CITATION".to_owned(),
        other => other.name().to_uppercase(),
    }
}

pub(crate) fn id(prefix: &str, parts: &[&str]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut feed = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            feed(0);
        }
        part.bytes().for_each(&mut feed);
    }
    format!("{prefix}-{hash:016x}")
}
