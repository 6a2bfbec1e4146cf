//! The commands: one file for each noun, one small function for each verb.

pub(crate) mod app;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod baseline;
pub(crate) mod batch;
pub(crate) mod changes;
pub(crate) mod completions;
pub(crate) mod config;
mod doctor;
mod filters;
pub(crate) mod group;
mod init;
pub(crate) mod input;
pub(crate) mod item;
pub(crate) mod lint;
pub(crate) mod member;
pub(crate) mod plan;
pub(crate) mod project;
pub(crate) mod prompt;
pub(crate) mod report;
pub(crate) mod review;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod sync;
pub(crate) mod token;
pub(crate) mod trace;
pub(crate) mod transfer;
pub(crate) mod user;
pub(crate) mod view;
mod whoami;
pub(crate) mod work;
pub(crate) mod workflow;

use crate::arguments::{Arguments, Cli, Command, Global};
use crate::config::{Config, Sources};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::session::Session;
use crate::telemetry;

/// Runs one command to its end.
pub(crate) fn run(arguments: Arguments, output: Output) -> Outcome {
    let Arguments { cli, sources } = arguments;
    check_project(&cli)?;
    match &cli.command {
        Command::Completions(wanted) => return completions::run(wanted),
        Command::HelpMarkdown => return completions::reference(),
        _ => {}
    }
    if let Command::Mcp(wanted) = cli.command {
        return crate::mcp::run(wanted, &cli.global, &sources, output);
    }
    let config = sources.merge().map_err(Failure::configuration)?;
    let serves = matches!(cli.command, Command::Serve(_));
    let _telemetry = telemetry::start(&config, serves)?;
    let runtime = if serves {
        tokio::runtime::Builder::new_multi_thread().enable_all().build()?
    } else {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
    };
    let context = CommandContext {
        global: cli.global,
        config,
        sources,
        output,
    };
    runtime.block_on(Box::pin(context.run(cli.command)))
}

/// Refuses `--project` where nothing would heed it.
//= specs/spexus.md#answers
//# `--project` MUST be obeyed, or refused by commands that do not work in a project.
fn check_project(cli: &Cli) -> Outcome {
    let heeds = match &cli.command {
        Command::Item(command) => command.is_in_a_project(),
        Command::Token(command) => matches!(command, token::Command::Create(_)),
        Command::Search(_)
        | Command::Batch(_)
        | Command::Changes(_)
        | Command::Work(_)
        | Command::Plan(_)
        | Command::Baseline(_)
        | Command::View(_)
        | Command::Review(_)
        | Command::Report(_)
        | Command::Trace(_)
        | Command::Import(_)
        | Command::Export(_)
        | Command::Demo(_)
        | Command::Lint(_)
        | Command::Sync(_) => true,
        _ => false,
    };
    match &cli.global.project {
        Some(_) if !heeds => Err(Failure::argument(
            "project",
            "is given, but this command does not work in a project",
            "leave it out",
        )),
        _ => Ok(()),
    }
}

/// The context of a command: its settings and how it answers.
pub(crate) struct CommandContext {
    global: Global,
    config: Config,
    sources: Sources,
    output: Output,
}

impl CommandContext {
    async fn run(self, command: Command) -> Outcome {
        match command {
            Command::Serve(_) => serve::run(&self).await,
            Command::Init => init::run(&self).await,
            Command::Config(command) => config::run(&self, &command),
            Command::Doctor => doctor::run(&self).await,
            Command::Backup(wanted) => backup::backup(&self, &wanted).await,
            Command::Migrate(wanted) => backup::migrate(&self, &wanted).await,
            Command::Import(wanted) => transfer::import(&self, &wanted).await,
            Command::Export(wanted) => transfer::export(&self, &wanted).await,
            Command::Demo(wanted) => transfer::demo(&self, &wanted).await,
            Command::Lint(wanted) => lint::run(&self, &wanted).await,
            Command::Sync(wanted) => sync::run(&self, &wanted).await,
            Command::App(command) => app::run(&self, command).await,
            Command::Trace(command) => trace::run(&self, &command).await,
            Command::Audit(command) => audit::run(&self, &command).await,
            Command::Mcp(_) | Command::Completions(_) | Command::HelpMarkdown => Ok(()),
            command => {
                let session = self.open().await?;
                let outcome = Box::pin(in_session(&session, self.output, command)).await;
                session.close().await;
                outcome
            }
        }
    }

    async fn open(&self) -> Outcome<Session> {
        let (user, project) = (self.global.as_user.as_deref(), self.global.project.as_deref());
        Session::open(&self.config, user, project).await
    }
}

async fn in_session(session: &Session, output: Output, command: Command) -> Outcome {
    match command {
        Command::User(command) => user::run(session, output, command).await,
        Command::Token(command) => token::run(session, output, command).await,
        Command::Whoami => whoami::run(session, output).await,
        Command::Project(command) => project::run(session, output, command).await,
        Command::Group(command) => group::run(session, output, command).await,
        Command::Item(command) => item::run(session, output, command).await,
        Command::Work(command) => work::run(session, output, command).await,
        Command::Type(command) => workflow::types(session, output, &command).await,
        Command::Workflow(command) => workflow::run(session, output, &command).await,
        Command::Prompt(command) => prompt::run(session, output, command).await,
        Command::Search(wanted) => search::run(session, output, wanted).await,
        Command::Batch(wanted) => batch::run(session, output, &wanted).await,
        Command::Plan(wanted) => plan::run(session, output, wanted).await,
        Command::Changes(wanted) => changes::run(session, output, &wanted).await,
        Command::Baseline(command) => baseline::run(session, output, command).await,
        Command::View(command) => view::run(session, output, command).await,
        Command::Review(command) => review::run(session, output, command).await,
        Command::Report(command) => report::run(session, output, &command).await,
        Command::Audit(_)
        | Command::Serve(_)
        | Command::Init
        | Command::Mcp(_)
        | Command::Config(_)
        | Command::Doctor
        | Command::Backup(_)
        | Command::Migrate(_)
        | Command::Import(_)
        | Command::Export(_)
        | Command::Demo(_)
        | Command::Lint(_)
        | Command::Sync(_)
        | Command::App(_)
        | Command::Trace(_)
        | Command::Completions(_)
        | Command::HelpMarkdown => Ok(()),
    }
}
