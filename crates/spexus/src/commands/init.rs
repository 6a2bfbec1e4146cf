//! `spexus init`: the database without the server.

use super::CommandContext;
use crate::config::redacted_url;
use crate::failure::Outcome;
use crate::session::{self, Missing};
use serde_json::json;

pub(super) async fn run(context: &CommandContext) -> Outcome {
    let (service, first) = session::open(&context.config, Missing::Create).await?;
    service.close().await;
    let database = redacted_url(&context.config.settings.database);
    let answer = json!({
        "database": database,
        "created": first.is_some(),
        "username": first.as_ref().map(|first| &first.username),
        "password": first.as_ref().and_then(|first| first.password.as_ref()),
    });
    context.output.show(&answer, |_| match &first {
        None => format!("The database {database} is ready; it was set up before."),
        Some(first) => {
            let password = match &first.password {
                Some(password) => format!("one-time password: {password}"),
                None => "the password you gave".to_owned(),
            };
            format!(
                "The database {database} is ready.\nUser: {}  {password}",
                first.username
            )
        }
    })
}
