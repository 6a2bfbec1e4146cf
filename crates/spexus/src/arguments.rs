//! The command line: what can be typed, and the world around it that settings are read from.

use crate::commands::{
    app, audit, backup, baseline, batch, changes, completions, config as config_command, group, item, lint,
    plan, project, prompt, report, review, search, sync, token, trace, transfer, user, view, work, workflow,
};
use crate::config::{Sources, TABLE};
use crate::failure::EXIT_CODES;
use crate::folders::Folders;
use crate::mcp;
use crate::output::Output;
use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, CommandFactory as _, FromArgMatches, Parser, Subcommand};
use spexus_domain::{Code, Refusal};
use spexus_service::envelope::ErrorEnvelope;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// The requirements system that people and AI agents share.
#[derive(Debug, Parser)]
#[command(name = "spexus", version, after_help = EXIT_CODES, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command understands.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// The database: sqlite:FILE or postgres://USER:PASSWORD@HOST/NAME
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// The file with settings
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The project. Without it new things go to the default one, and an id means the only project that has it; KEY/ID names both
    #[arg(long, global = true, value_name = "KEY")]
    pub(crate) project: Option<String>,
    /// Acts as this user instead of admin
    #[arg(long = "as", global = true, value_name = "USER")]
    pub(crate) as_user: Option<String>,
    /// Prints one JSON value
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serves REST and MCP over HTTP; the first start creates everything
    Serve(SettingFlags),
    /// Serves MCP to an AI host over standard input and output; connects hosts
    Mcp(mcp::Mcp),
    /// Creates the database without serving
    Init,
    /// Manages accounts
    #[command(subcommand)]
    User(user::Command),
    /// Manages personal access tokens
    #[command(subcommand)]
    Token(token::Command),
    /// Tells who you are, with which rights and in which projects
    Whoami,
    /// Manages projects
    #[command(subcommand)]
    Project(project::Command),
    /// Manages groups of users
    #[command(subcommand)]
    Group(group::Command),
    /// Works on epics, stories, criteria, requirements and steering documents
    #[command(subcommand)]
    Item(item::Command),
    /// Tells what can be begun, and holds items so that several can work beside each other
    #[command(subcommand)]
    Work(work::Command),
    /// Shows requirement types and link types
    #[command(subcommand)]
    Type(workflow::TypeCommand),
    /// Shows statuses and the steps between them
    #[command(subcommand)]
    Workflow(workflow::Command),
    /// Manages stored prompts
    #[command(subcommand)]
    Prompt(prompt::Command),
    /// Searches items and comments
    Search(search::Search),
    /// Does many operations, all or nothing
    Batch(batch::Batch),
    /// Makes a tree of a specification in Markdown, all of it or nothing
    Plan(plan::Plan),
    /// Shows what happened since a cursor
    Changes(changes::Changes),
    /// Names positions in the history and compares them
    #[command(subcommand)]
    Baseline(baseline::Command),
    /// Asks people and agents about items as they stand, and answers them
    #[command(subcommand)]
    Review(review::Command),
    /// Manages names for what pages show
    #[command(subcommand)]
    View(view::Command),
    /// Tells how far the work has come and where the tree has gaps
    #[command(subcommand)]
    Report(report::Command),
    /// Follows requirements to sentences, code, tests and their results
    #[command(subcommand)]
    Trace(trace::Command),
    /// Carries a project in: JSON lines, CSV, Markdown or ReqIF; all of it or nothing
    Import(transfer::Import),
    /// Carries a project out: JSON lines, CSV, Markdown or ReqIF
    Export(transfer::Export),
    /// Judges the language of requirement texts: files, standard input or a project
    Lint(lint::Lint),
    /// Lets a folder of OpenSpec, Kiro or spec-kit and a project follow each other
    Sync(sync::FolderSync),
    /// Fills a project with believable items
    Demo(transfer::Demo),
    /// Writes a backup while the system runs
    Backup(backup::Backup),
    /// Copies everything into another, empty database and verifies it
    Migrate(backup::Migrate),
    /// Manages apps: other MCP servers whose tools, resources and prompts are served beside our own
    #[command(subcommand)]
    App(app::Command),
    /// Verifies the history and shows what happened at the door
    #[command(subcommand)]
    Audit(audit::Command),
    /// Looks at everything an installation needs, and says what to do
    Doctor,
    /// Shows settings
    #[command(subcommand)]
    Config(config_command::Command),
    /// Writes a completion script for a shell
    Completions(completions::Completions),
    /// Writes the reference of the command line
    #[command(hide = true)]
    HelpMarkdown,
}

impl Command {
    /// Whether standard output belongs to a protocol.
    pub(crate) fn serves_stdio(&self) -> bool {
        matches!(self, Self::Mcp(wanted) if wanted.serves())
    }
}

/// Shorter names of flags that are typed often.
const SHORT_FLAGS: [(&str, &str); 1] = [("http.trusted_proxies", "trusted-proxy")];

/// One flag for each setting that is no secret.
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingFlags {
    given: BTreeMap<String, String>,
}

impl Args for SettingFlags {
    fn augment_args(command: clap::Command) -> clap::Command {
        let settings = TABLE
            .iter()
            .filter(|setting| !setting.secret && setting.name != "database");
        command.args(settings.map(|setting| {
            let flag = Arg::new(setting.name)
                .long(setting.flag())
                .visible_aliases(
                    SHORT_FLAGS
                        .iter()
                        .filter_map(|(name, short)| (*name == setting.name).then_some(*short)),
                )
                .value_name("VALUE")
                .value_parser(ValueParser::string())
                .help(format!(
                    "{} [{}]",
                    setting.doc.trim_end_matches('.'),
                    setting.allowed
                ));
            match setting.allowed {
                // A yes needs no word.
                "true or false" => flag.num_args(0..=1).default_missing_value("true"),
                _ => flag.allow_hyphen_values(true),
            }
        }))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for setting in TABLE {
            if let Ok(Some(text)) = matches.try_get_one::<String>(setting.name) {
                self.given.insert(setting.name.into(), text.clone());
            }
        }
        Ok(())
    }
}

/// A command and the world it was typed into.
pub(crate) struct Arguments {
    pub(crate) cli: Cli,
    pub(crate) sources: Sources,
}

/// Reads the command line; the exit code when there is nothing to run.
pub(crate) fn read() -> Result<Arguments, ExitCode> {
    let cli = Cli::try_parse().map_err(|error| {
        let helpful = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
        if !helpful && std::env::args_os().any(|argument| argument == "--json") {
            let message = error.to_string();
            let message = message
                .lines()
                .next()
                .unwrap_or_default()
                .trim_start_matches("error: ");
            let refusal = Refusal::new(Code::InvalidParams, message).hint("See `spexus help`.");
            let _ = Output { json: true }.value(&ErrorEnvelope::from(refusal));
        } else {
            let _ = error.print();
        }
        ExitCode::from(if helpful { 0 } else { 2 })
    })?;
    let sources = sources(&cli);
    Ok(Arguments { cli, sources })
}

/// The command line as clap knows it, for completions and documentation.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

fn sources(cli: &Cli) -> Sources {
    let variables: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
        .filter(|(name, _)| name.starts_with("SPEXUS_"))
        .collect();
    let mut flags = match &cli.command {
        Command::Serve(flags) => flags.given.clone(),
        _ => BTreeMap::new(),
    };
    if let Some(database) = &cli.global.database {
        flags.insert("database".into(), database.clone());
    }
    let folders = Folders::of_process();
    let data = folders
        .as_ref()
        .map_or_else(|| PathBuf::from("."), |folders| folders.data.clone());
    Sources {
        named_file: cli
            .global
            .config
            .clone()
            .or_else(|| variables.get("SPEXUS_CONFIG").map(PathBuf::from)),
        usual_file: folders.map(|folders| folders.config.join("config.toml")),
        default_database: format!("sqlite:{}", data.join("spexus.db").display()),
        passed_on: mcp_apps::PASSED_ON
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)))
            .collect(),
        data_folder: data,
        variables,
        flags,
    }
}
