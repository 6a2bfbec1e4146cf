//! `spexus view …`

use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::Subcommand;
use spexus_domain::saved_view::{NewView, SavedView, ViewPatch};
use spexus_service::saved_view;

/// What can be done with saved views.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Saves what a page shows, for yourself or for the project
    Save {
        /// Its name
        name: String,
        /// table, board, tree, matrix or graph
        #[arg(long, default_value = "table")]
        page: String,
        /// What stands behind the question mark of the page's address
        #[arg(long, default_value = "", allow_hyphen_values = true)]
        query: String,
        /// Everybody in the project has it
        #[arg(long)]
        shared: bool,
    },
    /// Lists your views of a project and those that are shared
    List,
    /// Renames a view, shares it or not, or has it show something else
    Update {
        /// Its name or its id
        view: String,
        /// Another name
        #[arg(long)]
        name: Option<String>,
        /// What stands behind the question mark of the page's address
        #[arg(long, allow_hyphen_values = true)]
        query: Option<String>,
        /// Whether everybody in the project has it: true or false
        #[arg(long, value_name = "BOOL")]
        shared: Option<bool>,
    },
    /// Removes a view
    Delete {
        /// Its name or its id
        view: String,
    },
}

pub(super) async fn run(session: &Session, output: Output, command: Command) -> Outcome {
    let (service, caller, project) = (&session.service, &session.caller, session.project());
    match command {
        Command::Save {
            name,
            page,
            query,
            shared,
        } => {
            let input = NewView {
                name,
                page,
                query,
                shared,
                project: session.project.clone(),
            };
            let made = saved_view::create(service, caller, input).await?;
            output.show(&made, |made| row(made).join("  "))
        }
        Command::List => {
            let all = saved_view::list(service, caller, project).await?;
            output.show(&all, |all| table(&all.data.iter().map(row).collect::<Vec<_>>()))
        }
        Command::Update {
            view,
            name,
            query,
            shared,
        } => {
            let patch = ViewPatch {
                name,
                query,
                shared,
                expect_rev: None,
            };
            let done = saved_view::update(service, caller, project, &view, patch).await?;
            output.show(&done, |done| row(done).join("  "))
        }
        Command::Delete { view } => {
            let gone = saved_view::delete(service, caller, project, &view).await?;
            output.show(&gone, |gone| format!("{} is removed.", gone.name))
        }
    }
}

fn row(view: &SavedView) -> [String; 4] {
    let whose = match view.shared {
        true => format!("shared by {}", view.owner),
        false => "own".to_owned(),
    };
    [view.name.clone(), whose, view.address(), view.id.to_string()]
}
