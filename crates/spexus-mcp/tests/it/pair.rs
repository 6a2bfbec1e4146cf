//! Two projects that hold the same numbers, and those who look at them.

use crate::agent::{Agent, silent};
use crate::world::World;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// What stands in every text of the project `web`, and what in every text of `default`.
pub(crate) const WEB: &str = "WEBPAGE";
pub(crate) const SECRET: &str = "TOPSECRET";

/// The same tree in both projects: `EP-001`, `US-001`, `AC-001`, `REQ-001`, `STD-001`, a comment, a baseline, a steering
/// document that guides the epic, and one link from `web/REQ-001` to `default/REQ-001`.
pub(crate) async fn seed(world: &World) {
    world.project("web", WEB).await;
    for (project, mark) in [("default", SECRET), ("web", WEB)] {
        let make = |kind: &'static str, fields: Value| {
            let mut fields = fields;
            fields["project"] = json!(project);
            world.create(kind, fields)
        };
        let id = |reference: &str| format!("{project}/{reference}");
        let epic = json!({ "title": format!("{mark} epic"), "description": format!("{mark} text") });
        make("epic", epic).await;
        let story = json!({ "epic_id": id("EP-001"), "title": format!("{mark} story") });
        make("user_story", story).await;
        let criterion = json!({ "user_story_id": id("US-001"), "description": format!("{mark} criterion") });
        make("acceptance_criterion", criterion).await;
        let requirement = json!({ "user_story_id": id("US-001"), "title": format!("{mark} requirement"), "description": format!("{mark} text") });
        make("requirement", requirement).await;
        let document = json!({ "title": format!("{mark} document"), "description": format!("{mark} rules") });
        make("steering_document", document).await;
        world.comment(&id("REQ-001"), &format!("{mark} comment")).await;
        world.baseline(project, &format!("{mark}-base")).await;
        world.link(&id("STD-001"), "guides", &id("EP-001")).await;
        world.link(&id("EP-001"), "relates_to", &id("US-001")).await;
    }
    world.link("web/REQ-001", "depends_on", "default/REQ-001").await;
    // A document of the other project guides the epic, too.
    world.link("default/STD-001", "guides", "web/EP-001").await;
}

/// Who looks at `web` and not at `default`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// A token of the administrator that is bound to `web`.
    BoundToken,
    /// An owner of `web` who is no member of `default`.
    Member,
}

impl Who {
    /// A token of theirs.
    pub(crate) async fn token(self, world: &World, scopes: &[&str]) -> String {
        if self == Who::BoundToken {
            return token_for(world, "web", scopes).await;
        }
        world.belong("member", "web", "default").await;
        made(world, "member", json!({ "scopes": scopes })).await
    }

    /// An agent of theirs that may use every tool.
    pub(crate) async fn agent(self, world: &World) -> Agent {
        let token = self.token(world, &["admin"]).await;
        Agent::with(world, &token, "2025-11-25", &[("x-spexus-toolsets", "all")]).await
    }
}

/// A new token of a user, under a name of its own.
async fn made(world: &World, user: &str, mut fields: Value) -> String {
    // Names are an owner's own.
    static MADE: AtomicU64 = AtomicU64::new(0);
    fields["name"] = json!(format!("made {}", MADE.fetch_add(1, Ordering::Relaxed)));
    world.token_of(user, fields).await
}

/// A token of the administrator for one project.
pub(crate) async fn token_for(world: &World, project: &str, scopes: &[&str]) -> String {
    made(world, "admin", json!({ "project": project, "scopes": scopes })).await
}

/// An agent that may use every tool, bound to a project or to none.
pub(crate) async fn agent(world: &World, project: Option<&str>) -> Agent {
    let token = match project {
        Some(project) => token_for(world, project, &["admin"]).await,
        None => world.token.clone(),
    };
    Agent::with(world, &token, "2025-11-25", &[("x-spexus-toolsets", "all")]).await
}

/// The UUID of an item.
pub(crate) async fn uuid(world: &World, project: &str, reference: &str) -> String {
    let found = world.item(&format!("{project}/{reference}")).await;
    found["id"].as_str().unwrap().to_owned()
}

/// A whole request of the stateless era, whose client can ask.
pub(crate) async fn stateless(world: &World, token: &str, method: &str, params: Value) -> Value {
    let mut client = silent(world, token, &[]).await.unwrap();
    client
        .stateless(method, params, json!({ "elicitation": {} }))
        .await
}
