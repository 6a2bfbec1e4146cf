//! The command line, as a table.

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use duvet::specification::Format;
use std::path::PathBuf;

/// Traceability of code to specifications.
#[derive(Debug, Parser)]
#[command(name = "duvet", version, about)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Begin a project: write `.duvet/config.toml`
    Init(Init),
    /// Write the requirements of a specification into files
    Extract(Extract),
    /// Write the reports of the project
    Report(Box<Report>),
    /// Ask for a verdict: implemented, tested, executed, cited twice
    Query(Query),
    /// Join version 2 JSON reports
    Merge(Merge),
    /// Rewrite drifted quotes in the specification's words
    Fix(Fix),
    /// List functions that cite nothing
    Unmapped(Unmapped),
    /// Download specifications and lock their texts
    Fetch(Fetch),
    /// Serve the project to an AI host: MCP over standard input and output
    Mcp(Mcp),
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// A specification to include; may be repeated
    #[arg(long)]
    pub(crate) specification: Vec<String>,
    /// Write a hook that stops a commit whose citations do not hold, where there is none yet
    #[arg(long)]
    pub(crate) hook: bool,
    #[arg(long)]
    lang_c: bool,
    #[arg(long)]
    lang_go: bool,
    #[arg(long)]
    lang_java: bool,
    #[arg(long)]
    lang_javascript: bool,
    #[arg(long)]
    lang_proverif: bool,
    #[arg(long)]
    lang_cryptoverif: bool,
    #[arg(long)]
    lang_python: bool,
    #[arg(long)]
    lang_typescript: bool,
    #[arg(long)]
    lang_ruby: bool,
    #[arg(long)]
    lang_rust: bool,
}

impl Init {
    /// Names of the languages asked for.
    pub(crate) fn languages(&self) -> Vec<&'static str> {
        let flags = [
            (self.lang_c, "c"),
            (self.lang_go, "go"),
            (self.lang_java, "java"),
            (self.lang_javascript, "javascript"),
            (self.lang_proverif, "proverif"),
            (self.lang_cryptoverif, "cryptoverif"),
            (self.lang_python, "python"),
            (self.lang_typescript, "typescript"),
            (self.lang_ruby, "ruby"),
            (self.lang_rust, "rust"),
        ];
        flags
            .iter()
            .filter(|(is_set, _)| *is_set)
            .map(|(_, name)| *name)
            .collect()
    }
}

#[derive(Debug, Args)]
pub(crate) struct Extract {
    /// Path or URL of the specification
    pub(crate) target_path: String,
    /// Form of its text: ietf, markdown or auto
    #[arg(short, long, default_value = "IETF", value_parser = format)]
    pub(crate) format: TextForm,
    /// Language of the files: toml or rs
    #[arg(short, long, default_value = "toml")]
    pub(crate) extension: String,
    /// Folder to write to
    #[arg(short, long, default_value = ".")]
    pub(crate) out: PathBuf,
    /// How requirements are found: compat or v2
    #[arg(long, default_value = "compat")]
    pub(crate) extraction: String,
    #[arg(long)]
    pub(crate) config_path: Option<PathBuf>,
    #[arg(long, hide = true)]
    pub(crate) spec_path: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ProjectFlags {
    /// The configuration, if it is not `.duvet/config.toml`
    #[arg(long)]
    pub(crate) config_path: Option<PathBuf>,
    #[arg(long, hide = true)]
    pub(crate) spec_pattern: Vec<String>,
    #[arg(long, hide = true)]
    pub(crate) source_pattern: Vec<String>,
    #[arg(long, hide = true)]
    pub(crate) spec_path: Option<PathBuf>,
    /// A folder outside the project that may be read; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) allow_read: Vec<PathBuf>,
    /// Whose way is gone where ours and the public tool's part; `strict` is theirs, see the table in docs/duvet.md
    #[arg(long, value_enum, default_value_t)]
    pub(crate) compat: Compat,
    #[command(flatten)]
    ignored: Ignored,
}

/// Whose way is gone where ours and the public tool's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compat {
    /// Ours
    #[default]
    Extended,
    /// The public tool's
    Strict,
}

//= specs/duvet.md#compatibility
//# The flags of the time before the configuration file MUST be accepted.
/// Flags of the time when the tool asked cargo for sources. They are accepted and mean nothing.
#[derive(Debug, Args)]
struct Ignored {
    #[arg(long, hide = true)]
    no_cargo: bool,
    #[arg(long, hide = true)]
    workspace: bool,
    #[arg(long, hide = true)]
    exclude: Vec<String>,
    #[arg(long, short, hide = true)]
    package: Vec<String>,
    #[arg(long, hide = true)]
    features: Vec<String>,
    #[arg(long, hide = true)]
    all_features: bool,
    #[arg(long, hide = true)]
    no_default_features: bool,
    #[arg(long, hide = true)]
    manifest_path: Option<PathBuf>,
    #[arg(long, hide = true)]
    target: Option<String>,
    #[arg(long, hide = true)]
    cargo_manifest: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) project: ProjectFlags,
    /// Folder for LCOV files
    #[arg(long)]
    pub(crate) lcov: Option<PathBuf>,
    /// Version 1 JSON report
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// Version 2 JSON report
    #[arg(long)]
    pub(crate) json_v2: Option<PathBuf>,
    /// HTML report
    #[arg(long)]
    pub(crate) html: Option<PathBuf>,
    /// Summary as Markdown, for pull requests
    #[arg(long, num_args = 0..=1, default_missing_value = "-")]
    pub(crate) markdown: Option<PathBuf>,
    /// In CI mode, every requirement needs a citation
    #[arg(long, num_args = 0..=1, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) require_citations: Option<bool>,
    /// In CI mode, every requirement needs a test
    #[arg(long, num_args = 0..=1, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) require_tests: Option<bool>,
    /// Check instead of write: the snapshot, or without one the requirements
    #[arg(long, num_args = 0..=1, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) ci: Option<bool>,
    /// Template of links to source lines
    #[arg(long)]
    pub(crate) blob_link: Option<String>,
    /// Template of links to issues
    #[arg(long)]
    pub(crate) issue_link: Option<String>,
    /// Refuse quotes that differ from the specification, and fail on warnings
    #[arg(long)]
    pub(crate) strict: bool,
    /// Form of the findings on standard error
    #[arg(long, value_enum, default_value_t)]
    pub(crate) diagnostics: DiagnosticsForm,
    /// Write the findings to a file
    #[arg(long)]
    pub(crate) diagnostics_file: Option<PathBuf>,
    /// Show notes too
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// No table and no findings on the terminal
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Report again after every change, until interrupted
    #[arg(long)]
    pub(crate) watch: bool,
    /// Do not use or write `.duvet/cache`
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Download specifications that are missing first, as `duvet fetch` does
    #[arg(long)]
    pub(crate) fetch: bool,
    #[command(flatten)]
    pub(crate) hosts: Hosts,
}

/// Whom the network is asked.
#[derive(Debug, Args)]
pub(crate) struct Hosts {
    /// A further host to download from over https; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
    /// A host to download from over http and at a private address: a mirror inside your network; may be repeated
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) insecure_host: Vec<String>,
}

/// How findings are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiagnosticsForm {
    /// For people, with an excerpt of the source
    #[default]
    Text,
    /// For programs
    Json,
    /// For code hosts
    Sarif,
}

/// The form of a text; none is the one it most likely has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextForm(pub(crate) Option<Format>);

fn format(name: &str) -> Result<TextForm, String> {
    let format = match name.to_ascii_lowercase().as_str() {
        "ietf" => Some(Format::Ietf),
        "markdown" | "md" => Some(Format::Markdown),
        "auto" => None,
        _ => return Err(format!("`{name}` is no format; known: ietf, markdown, auto")),
    };
    Ok(TextForm(format))
}

/// Checks that need coverage reports.
const COVERAGE_CHECKS: [(&str, &str); 2] = [("check", "coverage"), ("check", "executed-coverage")];

#[derive(Debug, Args)]
pub(crate) struct Query {
    /// What to check; several with commas
    #[arg(short, long, value_delimiter = ',', required = true)]
    pub(crate) check: Vec<CheckName>,
    /// Only these sections: PATH or PATH#SECTION; several with commas
    #[arg(short, long, value_delimiter = ',')]
    pub(crate) section: Vec<String>,
    /// Only quotes that hold this text; may be repeated
    #[arg(short, long)]
    pub(crate) quote: Vec<String>,
    /// Coverage reports: globs
    #[arg(short = 'r', long, required_if_eq_any = COVERAGE_CHECKS)]
    pub(crate) coverage_report: Vec<String>,
    /// Form of the coverage reports
    #[arg(short = 'f', long, value_enum, required_if_eq_any = COVERAGE_CHECKS)]
    pub(crate) coverage_format: Option<CoverageName>,
    /// Show what passed too
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) project: ProjectFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckName {
    Implementation,
    Test,
    Coverage,
    ExecutedCoverage,
    Duplicates,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CoverageName {
    JacocoXml,
    Lcov,
}

#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// A version 2 report; repeat for each
    #[arg(long, required = true)]
    pub(crate) input: Vec<PathBuf>,
    /// Where to write the merged report
    #[arg(long)]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Unmapped {
    #[command(flatten)]
    pub(crate) project: ProjectFlags,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Fix {
    #[command(flatten)]
    pub(crate) project: ProjectFlags,
    /// Write the changes; without it they are shown as a difference
    #[arg(long)]
    pub(crate) write: bool,
    /// Show every stale quote beside what the specification says now, and write nothing
    #[arg(long)]
    pub(crate) side_by_side: bool,
    /// Show the changes and write nothing, whatever else is said
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Fetch {
    /// URLs to fetch; without any, all that the project cites and lacks
    pub(crate) urls: Vec<String>,
    /// Fetch again what is already here
    #[arg(long)]
    pub(crate) update: bool,
    #[command(flatten)]
    pub(crate) hosts: Hosts,
    #[command(flatten)]
    pub(crate) project: ProjectFlags,
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Folder of the project, when it is not the current one
    #[arg(long, value_name = "FOLDER")]
    pub(crate) root: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) project: ProjectFlags,
}
