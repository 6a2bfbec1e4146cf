//! `spexus user …`

use super::input;
use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::{Args, Subcommand};
use serde_json::json;
use spexus_domain::account::{NewUser, Role, User, UserPatch};
use spexus_service::account::user::{self, Tokens};

/// What can be done with accounts.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Makes an account
    Create(Create),
    /// Lists all accounts
    List,
    /// Shows one account
    Show {
        /// The user's name or id, or me
        user: String,
    },
    /// Changes an account
    Update(Update),
    /// Disables an account; its history stays
    Disable {
        /// The user's name or id
        user: String,
    },
    /// Sets a new password; all sessions of the user end
    Password {
        /// The user's name or id
        user: String,
        /// Revokes the user's tokens too
        #[arg(long)]
        revoke_tokens: bool,
        /// Reads the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
    },
}

/// A new account.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The name to log in by
    username: String,
    /// Administrator, User or Commenter
    #[arg(long, default_value = "User")]
    role: String,
    /// The e-mail address
    #[arg(long)]
    email: Option<String>,
    /// Makes a service account for an agent or a program; it has no password and never more rights than its owner
    #[arg(long, requires = "owner", conflicts_with = "password_stdin")]
    service: bool,
    /// The person a service account belongs to
    #[arg(long, value_name = "USER", requires = "service")]
    owner: Option<String>,
    /// Reads the password from the first line of standard input
    #[arg(long)]
    password_stdin: bool,
}

/// A changed account.
#[derive(Debug, Args)]
pub(crate) struct Update {
    /// The user's name or id
    user: String,
    /// The name to log in by
    #[arg(long)]
    username: Option<String>,
    /// Administrator, User or Commenter
    #[arg(long)]
    role: Option<String>,
    /// The e-mail address
    #[arg(long)]
    email: Option<String>,
    /// Whether the account can be used
    #[arg(long)]
    active: Option<bool>,
    /// The revision this change is made against
    #[arg(long, value_name = "REV")]
    expect_rev: Option<i64>,
}

pub(super) async fn run(session: &Session, output: Output, command: Command) -> Outcome {
    match command {
        Command::Create(wanted) => create(session, output, wanted).await,
        Command::List => list(session, output).await,
        Command::Show { user } => show(session, output, &user).await,
        Command::Update(wanted) => update(session, output, wanted).await,
        Command::Disable { user } => disable(session, output, &user).await,
        Command::Password {
            user,
            revoke_tokens,
            password_stdin,
        } => password(session, output, &user, revoke_tokens, password_stdin).await,
    }
}

async fn create(session: &Session, output: Output, wanted: Create) -> Outcome {
    let input = NewUser {
        password: match wanted.service {
            true => String::new(),
            false => input::password(wanted.password_stdin)?,
        },
        username: wanted.username,
        email: wanted.email,
        role: wanted.role,
        owner: wanted.owner,
    };
    let made = user::create(&session.service, &session.caller, input).await?;
    output.show(&made, line)
}

async fn list(session: &Session, output: Output) -> Outcome {
    let all = user::names(&session.service, &session.caller).await?;
    output.show(&all, |all| {
        let row = |user: &user::Profile| {
            let state = if user.active { "active" } else { "disabled" };
            [
                user.username.clone(),
                user.role.map_or("", Role::name).to_owned(),
                state.to_owned(),
            ]
        };
        table(&all.data.iter().map(row).collect::<Vec<_>>())
    })
}

async fn show(session: &Session, output: Output, wanted: &str) -> Outcome {
    let found = user::get(&session.service, &session.caller, wanted).await?;
    output.show(&found, line)
}

async fn update(session: &Session, output: Output, wanted: Update) -> Outcome {
    let patch = UserPatch {
        username: wanted.username,
        email: wanted.email,
        role: wanted.role,
        active: wanted.active,
        expect_rev: wanted.expect_rev,
    };
    let changed = user::update(&session.service, &session.caller, &wanted.user, patch).await?;
    output.show(&changed, line)
}

async fn disable(session: &Session, output: Output, wanted: &str) -> Outcome {
    let disabled = user::disable(&session.service, &session.caller, wanted).await?;
    output.show(&disabled, line)
}

async fn password(
    session: &Session,
    output: Output,
    wanted: &str,
    revoke_tokens: bool,
    from_stdin: bool,
) -> Outcome {
    let password = input::password(from_stdin)?;
    let tokens = match revoke_tokens {
        true => Tokens::Revoke,
        false => Tokens::Keep,
    };
    let (service, caller) = (&session.service, &session.caller);
    let kept = user::reset_password(service, caller, wanted, &password, tokens).await?;
    let done = json!({"user": wanted, "password": "changed", "tokens_kept": kept});
    output.show(&done, |_| match kept {
        0 => format!("The password of {wanted} is changed."),
        kept => format!(
            "The password of {wanted} is changed. {kept} token(s) go on working; --revoke-tokens ends them."
        ),
    })
}

fn line(user: &User) -> String {
    let state = if user.active { "active" } else { "disabled" };
    let email = user
        .email
        .as_deref()
        .map_or_else(String::new, |email| format!("  {email}"));
    let owner = user
        .owner
        .as_deref()
        .map_or_else(String::new, |owner| format!("  service account of {owner}"));
    format!("{}  {}  {state}{email}{owner}", user.username, user.role.name())
}
