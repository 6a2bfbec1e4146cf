//! `spexus project member …`

use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::Subcommand;
use serde_json::json;
use spexus_domain::member::{Member, NewMember};
use spexus_service::member;

/// What can be done with the members of a project.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Makes somebody a member of a project, or changes what they are in it
    Add {
        /// The key of the project
        key: String,
        /// The user's name or id, or group:NAME
        user: String,
        /// owner, author, reviewer, commenter, reader, or none to shut one person out
        role: String,
    },
    /// Lists the members of a project
    List {
        /// The key of the project
        key: String,
    },
    /// Takes somebody's place in a project away
    Remove {
        /// The key of the project
        key: String,
        /// The user's name or id, me, or group:NAME
        user: String,
    },
}

pub(super) async fn run(session: &Session, output: Output, command: Command) -> Outcome {
    let (service, caller) = (&session.service, &session.caller);
    match command {
        Command::Add { key, user, role } => {
            let made = member::put(service, caller, Some(&key), &user, NewMember { role }).await?;
            output.show(&made, |made| {
                format!("{} is {} in {key}.", made.member, made.role.name())
            })
        }
        Command::List { key } => {
            let all = member::list(service, caller, Some(&key)).await?;
            output.show(&all, |all| {
                let row = |one: &Member| {
                    [
                        one.member.clone(),
                        one.role.name().to_owned(),
                        format!("since {}", one.since),
                    ]
                };
                table(&all.data.iter().map(row).collect::<Vec<_>>())
            })
        }
        Command::Remove { key, user } => {
            member::remove(service, caller, Some(&key), &user).await?;
            let done = json!({"project": key, "member": user, "removed": true});
            output.show(&done, |_| {
                format!("{user} has no place of their own in {key} any more.")
            })
        }
    }
}
