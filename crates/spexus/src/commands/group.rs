//! `spexus group …`

use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::Subcommand;
use spexus_domain::member::{Group, NewGroup};
use spexus_service::group;

/// What can be done with groups of users.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Makes a group, with nobody in it
    Create {
        /// Letters, digits, dots, dashes or underscores
        name: String,
    },
    /// Takes a user into a group
    Add {
        /// The name of the group
        name: String,
        /// The user's name or id
        user: String,
    },
    /// Takes a user out of a group
    Remove {
        /// The name of the group
        name: String,
        /// The user's name or id
        user: String,
    },
    /// Lists all groups and who is in them
    List,
    /// Removes a group, and with it what it was in projects
    Delete {
        /// The name of the group
        name: String,
    },
}

pub(super) async fn run(session: &Session, output: Output, command: Command) -> Outcome {
    let (service, caller) = (&session.service, &session.caller);
    match command {
        Command::Create { name } => {
            output.show(&group::create(service, caller, NewGroup { name }).await?, line)
        }
        Command::Add { name, user } => output.show(&group::add(service, caller, &name, &user).await?, line),
        Command::Remove { name, user } => {
            output.show(&group::remove(service, caller, &name, &user).await?, line)
        }
        Command::List => output.show(&group::list(service, caller).await?, |all| {
            let row = |group: &Group| [group.name.clone(), group.users.join(", ")];
            table(&all.data.iter().map(row).collect::<Vec<_>>())
        }),
        Command::Delete { name } => {
            let gone = group::delete(service, caller, &name).await?;
            output.show(&gone, |gone| format!("Removed the group {}.", gone.name))
        }
    }
}

fn line(group: &Group) -> String {
    match group.users.is_empty() {
        true => format!("{}: nobody", group.name),
        false => format!("{}: {}", group.name, group.users.join(", ")),
    }
}
