//! The marks of a working tree: citations that our engine reads in the comment styles of the project's own `.duvet` configuration, and
//! marks that name an id beside a test. A mark stands above what it is about; how far that reaches is told by its indentation, in
//! any language.

mod marks;
mod names;
mod source;

use duvet::citation::CommentStyle;
use duvet::config::{self, Config, SourcePattern};
use duvet::fence::Fence;
use duvet::source::{Reading, discover};
use spexus_domain::trace::record::SourceMark;
use spexus_domain::{Code, Refusal, Ruled};
use std::path::Path;
use std::sync::Arc;

/// What citations of our items begin with: `spexus:REQ-012`.
const TARGET: &str = "spexus:";

/// A file that is larger holds no marks.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Marks of one tree.
const MAX_MARKS: usize = 1_000_000;

/// What a tree says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeScan {
    /// Its marks, by file and line.
    pub marks: Vec<SourceMark>,
    /// Files that were read.
    pub files: usize,
    /// What could not be read.
    pub notes: Vec<String>,
}

/// Files that are read where the project says nothing: by their comments, in pairs of metadata and quote.
const USUAL: &[(&str, &str, &[&str])] = &[
    (
        "//=",
        "//#",
        &[
            "rs", "c", "h", "cc", "cpp", "hpp", "java", "kt", "scala", "go", "js", "jsx", "ts", "tsx", "mjs",
            "cs", "swift", "zig", "dfy", "proto",
        ],
    ),
    ("#=", "#%", &["py", "rb", "sh", "pl", "ex", "exs", "robot", "nix"]),
    ("--=", "--#", &["sql", "lua", "hs"]),
    ("<!--=", "<!--#", &["md", "html"]),
];

/// Reads the marks of a working tree.
//= specs/spexus-service.md#evidence
//# A scan MUST read citations of `spexus:` and an id in the comment styles that the project's `.duvet` configuration names.
pub fn tree(root: &Path) -> Ruled<TreeScan> {
    if !root.is_dir() {
        let problem = format!("{} is no folder", root.display());
        return Err(Refusal::field(
            Code::InvalidParams,
            "scan",
            problem,
            "the root of a working tree",
        ));
    }
    let (config, notes) = configuration(root);
    let found = discover(root, &config);
    let fence = Fence::new(root, &config.allowed);
    let mut scan = TreeScan {
        notes,
        ..TreeScan::default()
    };
    let mut packages = names::Packages::new(root);
    for input in &found.inputs {
        let Reading::Comments {
            style, default_kind, ..
        } = &*input.reading
        else {
            continue;
        };
        let bytes = match fence.read(&root.join(&*input.name), MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(problem) => {
                scan.notes
                    .push(format!("{}: it cannot be read: {problem}", input.name));
                continue;
            }
        };
        scan.files += 1;
        let text = String::from_utf8_lossy(&bytes);
        let file = source::SourceFile::new(&input.name, &text);
        scan.marks
            .extend(marks::of_file(&file, style, *default_kind, &mut packages));
        if scan.marks.len() > MAX_MARKS {
            let problem = format!("there are more than {MAX_MARKS} marks");
            return Err(Refusal::field(
                Code::InvalidParams,
                "scan",
                problem,
                "a smaller tree",
            ));
        }
    }
    scan.marks
        .sort_by(|a, b| (&a.path, a.line, &a.id).cmp(&(&b.path, b.line, &b.id)));
    scan.marks.dedup();
    Ok(scan)
}

/// The project's own configuration; where it names no sources, the usual ones.
fn configuration(root: &Path) -> (Config, Vec<String>) {
    let (mut config, notes) = match config::read(root, None) {
        Err(_) => (Config::standard(), vec![]),
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            let (config, found) = config::parse(config::CONFIG_PATH, &text, &|_| None);
            let notes = found
                .iter()
                .map(|one| format!("{}: {}", one.file, one.message))
                .collect();
            (config, notes)
        }
    };
    config.requirements.clear();
    config.specifications.clear();
    if config.sources.is_empty() {
        config.sources = usual();
    }
    (config, notes)
}

fn usual() -> Vec<SourcePattern> {
    let patterns = USUAL.iter().flat_map(|(meta, content, extensions)| {
        extensions.iter().map(|extension| SourcePattern {
            style: CommentStyle {
                meta: (*meta).to_owned(),
                content: (*content).to_owned(),
            },
            blob_link: None::<Arc<str>>,
            ..SourcePattern::new(format!("**/*.{extension}"))
        })
    });
    patterns.collect()
}
