//! Two projects that hold the same numbers, and those who look at them.

use super::Agent;
use crate::harness::Server;
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// What stands in every text of the project `web`, and what in every text of `default`.
pub(crate) const WEB: &str = "WEBPAGE";
pub(crate) const SECRET: &str = "TOPSECRET";

/// The same tree in both projects: `EP-001`, `US-001`, `AC-001`, `REQ-001`, `STD-001`, a comment, a baseline, a steering
/// document that guides the epic, and one link from `web/REQ-001` to `default/REQ-001`.
pub(crate) async fn seed(server: &Server) {
    server
        .post("/api/v1/projects", json!({ "key": "web", "name": WEB }))
        .await
        .created();
    for (project, mark) in [("default", SECRET), ("web", WEB)] {
        let make = |path: &'static str, fields: Value| {
            let mut fields = fields;
            fields["project"] = json!(project);
            async move { server.post(path, fields).await.created() }
        };
        let id = |reference: &str| format!("{project}/{reference}");
        make(
            "/api/v1/epics",
            json!({ "title": format!("{mark} epic"), "description": format!("{mark} text") }),
        )
        .await;
        make(
            "/api/v1/user-stories",
            json!({ "epic_id": id("EP-001"), "title": format!("{mark} story") }),
        )
        .await;
        let criterion = json!({ "user_story_id": id("US-001"), "description": format!("{mark} criterion") });
        make("/api/v1/acceptance-criteria", criterion).await;
        let requirement = json!({ "user_story_id": id("US-001"), "title": format!("{mark} requirement"), "description": format!("{mark} text") });
        make("/api/v1/requirements", requirement).await;
        make(
            "/api/v1/steering-documents",
            json!({ "title": format!("{mark} document"), "description": format!("{mark} rules") }),
        )
        .await;
        let comment = format!("/api/v1/requirements/REQ-001/comments?project={project}");
        server
            .post(&comment, json!({ "content": format!("{mark} comment") }))
            .await
            .created();
        server
            .post(
                "/api/v1/baselines",
                json!({ "name": format!("{mark}-base"), "project": project }),
            )
            .await
            .created();
        link(server, &id("STD-001"), &id("EP-001"), "guides").await;
        link(server, &id("EP-001"), &id("US-001"), "relates_to").await;
    }
    link(server, "web/REQ-001", "default/REQ-001", "depends_on").await;
    // A document of the other project guides the epic, too.
    link(server, "default/STD-001", "web/EP-001", "guides").await;
}

async fn link(server: &Server, source: &str, target: &str, link_type: &str) {
    let fields = json!({ "source": source, "target": target, "type": link_type });
    server.post("/api/v1/links", fields).await.created();
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
    pub(crate) async fn token(self, server: &Server, scopes: &[&str]) -> String {
        if self == Who::BoundToken {
            return token_for(server, "web", scopes).await;
        }
        let user = json!({ "username": "member", "password": "long enough", "role": "User" });
        // The second time they are there.
        server.post("/api/v1/users", user).await;
        server
            .put("/api/v1/projects/web/members/member", json!({ "role": "owner" }))
            .await
            .ok();
        for key in ["default", "web"] {
            let path = format!("/api/v1/projects/{key}");
            server.patch(&path, json!({ "default_role": "none" })).await.ok();
        }
        made(server, "/api/v1/tokens?user=member", json!({ "scopes": scopes })).await
    }

    /// An agent of theirs that may use every tool.
    pub(crate) async fn agent(self, server: &Server) -> Agent {
        let token = self.token(server, &["admin"]).await;
        Agent::with(server, &token, "2025-11-25", &[("x-spexus-toolsets", "all")]).await
    }
}

/// A new token under a name of its own.
async fn made(server: &Server, path: &str, mut fields: Value) -> String {
    // Names are an owner's own.
    static MADE: AtomicU64 = AtomicU64::new(0);
    fields["name"] = json!(format!("made {}", MADE.fetch_add(1, Ordering::Relaxed)));
    let made = server.post(path, fields).await.created();
    made["token"].as_str().unwrap().to_owned()
}

/// A token of the administrator for one project.
pub(crate) async fn token_for(server: &Server, project: &str, scopes: &[&str]) -> String {
    let fields = json!({ "project": project, "scopes": scopes });
    made(server, "/api/v1/tokens", fields).await
}

/// An agent that may use every tool, bound to a project or to none.
pub(crate) async fn agent(server: &Server, project: Option<&str>) -> Agent {
    let token = match project {
        Some(project) => token_for(server, project, &["admin"]).await,
        None => server.token.clone(),
    };
    Agent::with(server, &token, "2025-11-25", &[("x-spexus-toolsets", "all")]).await
}

/// A whole request of the stateless era, whose client can ask.
pub(crate) async fn stateless(server: &Server, token: &str, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        "io.modelcontextprotocol/clientInfo": { "name": "exam", "version": "1.0" },
    });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut headers = vec![
        ("accept", "application/json, text/event-stream".to_owned()),
        ("mcp-protocol-version", "2026-07-28".to_owned()),
        ("mcp-method", method.to_owned()),
    ];
    let named = ["name", "uri", "taskId"]
        .into_iter()
        .find_map(|field| params[field].as_str());
    if let Some(name) = named {
        headers.push(("mcp-name", name.to_owned()));
    }
    let headers: Vec<(&str, &str)> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let reply = server
        .send(token, Method::POST, "/api/v1/mcp", Some(message), &headers)
        .await;
    reply.body
}
