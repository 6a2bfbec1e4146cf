//! `spexus token …`

use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::{Args, Subcommand};
use spexus_domain::account::{NewToken, Token};
use spexus_domain::{Code, Refusal, Uuid};
use spexus_service::account::token;

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Makes a token; its secret is shown this once
    Create(Create),
    /// Lists the tokens of a user
    List {
        /// Whose tokens; your own when left out
        #[arg(long)]
        user: Option<String>,
    },
    /// Revokes a token; it opens nothing from now on
    Revoke {
        /// The token's id or name
        token: String,
        /// Whose token, when it is named by its name
        #[arg(long)]
        user: Option<String>,
    },
}

/// A new token. With `--project` it works only there.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Whose token; your own when left out
    #[arg(long)]
    user: Option<String>,
    /// What its owner calls it
    #[arg(long, value_name = "LABEL")]
    name: String,
    /// What it may be used for: read, comment, write, admin; read when left out
    #[arg(long = "scope", value_delimiter = ',')]
    scopes: Vec<String>,
    /// Marks it as an agent's; tokens of service accounts always are
    #[arg(long)]
    agent: bool,
    /// When it stops working: a time, a length such as 90d, or never; 90d when left out
    #[arg(long)]
    expires: Option<String>,
}

pub(super) async fn run(session: &Session, output: Output, command: Command) -> Outcome {
    match command {
        Command::Create(wanted) => create(session, output, wanted).await,
        Command::List { user } => list(session, output, user.as_deref()).await,
        Command::Revoke { token, user } => revoke(session, output, &token, user.as_deref()).await,
    }
}

async fn create(session: &Session, output: Output, wanted: Create) -> Outcome {
    let input = NewToken {
        name: wanted.name,
        scopes: wanted.scopes,
        project: session.project.clone(),
        agent: wanted.agent,
        expires: wanted.expires,
    };
    let made = token::create(&session.service, &session.caller, wanted.user.as_deref(), input).await?;
    //= specs/spexus.md#secrets
    //# `token create` MUST say what the new token may be used for and when it stops working, beside its secret.
    if !output.json {
        let [_, _, scopes, expires, _] = row(&made.info);
        eprintln!(
            "Token {} of {}: {scopes}, {expires}",
            made.info.name, made.info.user
        );
    }
    output.show(&made, |made| made.token.clone())
}

async fn list(session: &Session, output: Output, user: Option<&str>) -> Outcome {
    let found = token::list(&session.service, &session.caller, user).await?;
    output.show(&found, |found| {
        table(&found.data.iter().map(row).collect::<Vec<_>>())
    })
}

async fn revoke(session: &Session, output: Output, wanted: &str, user: Option<&str>) -> Outcome {
    let id = match Uuid::try_parse(wanted) {
        Ok(id) => id,
        Err(_) => {
            let known = token::list(&session.service, &session.caller, user).await?;
            let found = known.data.iter().find(|token| token.name == wanted);
            let missing = || Refusal::new(Code::ResourceNotFound, format!("there is no token {wanted:?}"));
            found.ok_or_else(missing)?.id
        }
    };
    let gone = token::revoke(&session.service, &session.caller, id).await?;
    output.show(&gone, |gone| format!("Revoked {} of {}.", gone.name, gone.user))
}

fn row(token: &Token) -> [String; 5] {
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.name()).collect();
    let time = |at: Option<spexus_domain::Timestamp>, none: &str| {
        at.map_or_else(|| none.to_owned(), |at| at.to_string())
    };
    [
        token.id.to_string(),
        token.name.clone(),
        scopes.join(","),
        format!("expires {}", time(token.expires_at, "never")),
        format!("used {}", time(token.last_used_at, "never")),
    ]
}
