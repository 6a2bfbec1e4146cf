//! Who asks, with what rights and where: what an agent has to know before it does anything.

use crate::Service;
use crate::context::{Context, reading};
use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spexus_domain::account::{Caller, Role, Scope};
use spexus_domain::member::ProjectRole;
use spexus_domain::permission::Operation;
use spexus_domain::{Ruled, Timestamp};
use spexus_store::{projects, tokens};
use utoipa::ToSchema;

/// Projects told at most; `projects_count` tells how many there are.
const MAX_PROJECTS: usize = 50;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct WhoAmI {
    /// The user.
    pub user: String,
    /// What the user is in the installation.
    pub role: Role,
    /// What the token may be used for.
    pub scope: Scope,
    /// Whether an agent asks: then a change needs `expect_rev`, and leases of others count.
    pub agent: bool,
    /// What the token is called, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// When the token stops working.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The project things happen in when none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether the token works in that project only.
    pub bound: bool,
    /// The projects that can be seen, and what the user is there.
    pub projects: Vec<OwnProject>,
    /// How many there are.
    pub projects_count: usize,
}

/// A project and what the user is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct OwnProject {
    /// Its key.
    pub key: String,
    /// What the user is there.
    pub role: ProjectRole,
}

/// Tells a caller who it is.
//= specs/spexus-service.md#working-context
//# A caller MUST be told its user, role, scope, project, and whether it counts as an agent, and nothing of projects it does not see.
#[boxed]
pub async fn whoami(service: &Service, caller: &Caller) -> Ruled<WhoAmI> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    let token = match caller.token_id {
        Some(id) => tokens::by_id(&mut conn, id).await?.map(|(token, _)| token),
        None => None,
    };
    let usual = Context::of_read(service, &mut conn, caller, None).await?;
    let own = |key: String, id| OwnProject {
        key,
        role: caller.visibility().role(id),
    };
    let mut seen = projects::all(&mut conn).await?;
    seen.retain(|project| caller.sees(project.id));
    let projects_count = seen.len();
    seen.truncate(MAX_PROJECTS);
    Ok(WhoAmI {
        user: caller.username.clone(),
        role: caller.role,
        scope: caller.scope,
        agent: caller.is_agent,
        expires_at: token.as_ref().and_then(|token| token.expires_at),
        token: token.map(|token| token.name),
        project: usual.project().ok().map(|project| project.key.clone()),
        bound: caller.bound_project.is_some(),
        projects: seen
            .into_iter()
            .map(|project| own(project.key, project.id))
            .collect(),
        projects_count,
    })
}
