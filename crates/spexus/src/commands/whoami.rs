//! `spexus whoami`

use crate::failure::Outcome;
use crate::output::Output;
use crate::session::Session;
use spexus_service::account::whoami::{WhoAmI, whoami};

pub(super) async fn run(session: &Session, output: Output) -> Outcome {
    let who = whoami(&session.service, &session.caller).await?;
    output.show(&who, text)
}

fn text(who: &WhoAmI) -> String {
    let agent = if who.agent { ", an agent" } else { "" };
    let mut text = format!(
        "{} ({}{agent}), scope {}\n",
        who.user,
        who.role.name(),
        who.scope.name()
    );
    for project in &who.projects {
        let usual = if who.project.as_ref() == Some(&project.key) {
            "  (when none is named)"
        } else {
            ""
        };
        text.push_str(&format!("  {}  {}{usual}\n", project.key, project.role.name()));
    }
    text
}
