//! `spexus project …`

use super::{input, member};
use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::{Args, Subcommand};
use spexus_domain::attribute::AttributeRule;
use spexus_domain::project::{NewProject, Project, ProjectPatch};
use spexus_domain::{Kind, Reference};
use spexus_service::project;

/// What can be done with projects.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Makes a project
    Create(Create),
    /// Lists all projects
    List,
    /// Shows one project
    Show {
        /// Its key
        key: String,
    },
    /// Changes a project
    Update(Update),
    /// Says who belongs to a project, and as what
    #[command(subcommand)]
    Member(member::Command),
}

/// A new project.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// 1 to 40 lower-case letters, digits and dashes
    key: String,
    /// Its name; the key when left out
    #[arg(long, allow_hyphen_values = true)]
    name: Option<String>,
    /// What it is about
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    description: String,
    /// A file with the attributes its items may carry, as a JSON list of rules
    #[arg(long, value_name = "FILE")]
    attributes: Option<String>,
    /// What whoever has an account is in it: author, reviewer, commenter, reader or none
    #[arg(long, value_name = "ROLE")]
    default_role: Option<String>,
    /// Shows the references of its items with its key before them: WEB-REQ-012
    #[arg(long)]
    prefix_references: bool,
}

/// A changed project.
#[derive(Debug, Args)]
pub(crate) struct Update {
    /// Its key
    key: String,
    /// Its name
    #[arg(long, allow_hyphen_values = true)]
    name: Option<String>,
    /// What it is about
    #[arg(long, allow_hyphen_values = true)]
    description: Option<String>,
    /// A file with the attributes its items may carry, as a JSON list of rules
    #[arg(long, value_name = "FILE")]
    attributes: Option<String>,
    /// What whoever has an account is in it: author, reviewer, commenter, reader or none
    #[arg(long, value_name = "ROLE")]
    default_role: Option<String>,
    /// Whether the references of its items are shown with its key before them: WEB-REQ-012
    #[arg(
        long,
        value_name = "true|false",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    prefix_references: Option<bool>,
    /// The revision this change is made against
    #[arg(long, value_name = "REV")]
    expect_rev: Option<i64>,
}

pub(super) async fn run(session: &Session, output: Output, command: Command) -> Outcome {
    match command {
        Command::Create(wanted) => create(session, output, wanted).await,
        Command::List => list(session, output).await,
        Command::Show { key } => show(session, output, &key).await,
        Command::Update(wanted) => update(session, output, wanted).await,
        Command::Member(command) => member::run(session, output, command).await,
    }
}

async fn create(session: &Session, output: Output, wanted: Create) -> Outcome {
    let input = NewProject {
        key: wanted.key,
        name: wanted.name,
        description: wanted.description,
        attributes: rules(wanted.attributes)?.unwrap_or_default(),
        default_role: wanted.default_role,
        prefix_references: wanted.prefix_references,
    };
    let made = project::create(&session.service, &session.caller, input).await?;
    output.show(&made, line)
}

async fn list(session: &Session, output: Output) -> Outcome {
    let all = project::list(&session.service, &session.caller).await?;
    output.show(&all, |all| {
        let row = |project: &Project| [project.key.clone(), project.name.clone()];
        table(&all.data.iter().map(row).collect::<Vec<_>>())
    })
}

async fn show(session: &Session, output: Output, key: &str) -> Outcome {
    let found = project::get(&session.service, &session.caller, key).await?;
    output.show(&found, line)
}

async fn update(session: &Session, output: Output, wanted: Update) -> Outcome {
    let patch = ProjectPatch {
        name: wanted.name,
        description: wanted.description,
        attributes: rules(wanted.attributes)?,
        default_role: wanted.default_role,
        prefix_references: wanted.prefix_references,
        expect_rev: wanted.expect_rev,
    };
    let changed = project::update(&session.service, &session.caller, &wanted.key, patch).await?;
    output.show(&changed, line)
}

fn rules(file: Option<String>) -> Outcome<Option<Vec<AttributeRule>>> {
    file.map(|name| input::json("attributes", &input::file("attributes", &name)?))
        .transpose()
}

fn line(project: &Project) -> String {
    let names: Vec<&str> = project.attributes.iter().map(|rule| rule.name.as_str()).collect();
    let attributes = if names.is_empty() {
        "any".to_owned()
    } else {
        names.join(", ")
    };
    format!(
        "{}  {}\n{}\nattributes: {attributes}\nwhoever has an account: {}\nreferences: {}",
        project.key,
        project.name,
        project.description,
        project.default_role.name(),
        project.prefix().show(Reference::of_kind(Kind::Requirement, 12))
    )
}
