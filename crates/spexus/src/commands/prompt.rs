//! `spexus prompt …`

use super::input;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, table};
use crate::session::Session;
use clap::{Args, Subcommand};
use spexus_domain::prompt::{Argument, MessageTemplate, NewPrompt, Prompt, Speaker};
use spexus_service::prompt;

/// What can be done with prompts.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Lists all prompts
    List,
    /// Shows one prompt
    Show {
        /// Its name or id
        prompt: String,
    },
    /// Makes a prompt, not yet active
    Create(Create),
    /// Makes a prompt the active one, or with --off inactive
    Activate {
        /// Its name or id
        prompt: String,
        /// Makes it inactive
        #[arg(long)]
        off: bool,
    },
}

/// A new prompt.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The name it is called by
    name: String,
    /// Its title; the name when left out
    #[arg(long, allow_hyphen_values = true)]
    title: Option<String>,
    /// What it is for
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    description: String,
    /// Its message, with {{variables}}; - reads standard input
    #[arg(long, allow_hyphen_values = true)]
    text: String,
    /// Who speaks: user or assistant
    #[arg(long, default_value = "user")]
    role: String,
    /// A variable of the message, with what it means; a leading ! makes it required
    #[arg(long = "argument", value_name = "NAME[=MEANING]")]
    arguments: Vec<String>,
}

pub(super) async fn run(session: &Session, output: Output, command: Command) -> Outcome {
    match command {
        Command::List => list(session, output).await,
        Command::Show { prompt } => show(session, output, &prompt).await,
        Command::Create(wanted) => create(session, output, wanted).await,
        Command::Activate { prompt, off } => activate(session, output, &prompt, !off).await,
    }
}

async fn list(session: &Session, output: Output) -> Outcome {
    let all = prompt::list(&session.service, &session.caller).await?;
    output.show(&all, |all| {
        let row = |prompt: &Prompt| {
            let active = if prompt.active { "active" } else { "" };
            [
                prompt.reference_id.to_string(),
                prompt.name.clone(),
                active.to_owned(),
                prompt.title.clone(),
            ]
        };
        table(&all.data.iter().map(row).collect::<Vec<_>>())
    })
}

async fn show(session: &Session, output: Output, wanted: &str) -> Outcome {
    let found = prompt::get(&session.service, &session.caller, wanted).await?;
    output.show(&found, whole)
}

async fn create(session: &Session, output: Output, wanted: Create) -> Outcome {
    let role = match wanted.role.as_str() {
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        other => {
            return Err(Failure::argument(
                "role",
                format!("{other:?} is not known"),
                "user or assistant",
            ));
        }
    };
    let text = input::text("text", wanted.text)?;
    let input = NewPrompt {
        name: wanted.name,
        title: wanted.title,
        description: wanted.description,
        messages: vec![MessageTemplate { role, text }],
        arguments: wanted.arguments.iter().map(|text| argument(text)).collect(),
    };
    let made = prompt::create(&session.service, &session.caller, input).await?;
    output.show(&made, whole)
}

async fn activate(session: &Session, output: Output, wanted: &str, active: bool) -> Outcome {
    let changed = prompt::activate(&session.service, &session.caller, wanted, active).await?;
    output.show(&changed, whole)
}

fn argument(text: &str) -> Argument {
    let (name, description) = text.split_once('=').unwrap_or((text, ""));
    Argument {
        name: name.trim_start_matches('!').to_owned(),
        description: description.to_owned(),
        required: name.starts_with('!'),
    }
}

fn whole(prompt: &Prompt) -> String {
    let active = if prompt.active { "  active" } else { "" };
    let messages: Vec<&str> = prompt
        .messages
        .iter()
        .map(|message| message.text.as_str())
        .collect();
    format!(
        "{}  {}  {}{active}\n{}\n\n{}",
        prompt.reference_id,
        prompt.name,
        prompt.title,
        prompt.description,
        messages.join("\n\n")
    )
}
