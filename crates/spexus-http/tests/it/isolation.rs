//! A token bound to a project learns and touches nothing else: every operation of the OpenAPI document, asked about its
//! own project, about another one, and about an item of its own that is linked with one of the other.

use crate::harness::{Server, both};
use reqwest::Method;
use serde_json::{Value, json};
use spexus_domain::Kind;
use std::collections::BTreeSet;

/// Every operation: method, path, and the status it is answered with when it is about the token's own project, about
/// another project, and about an own item that is linked with the other project, in both directions. `-` where an
/// operation cannot be asked that. `{id}` and `{ref}` are the item meant.
/// An operation without a row fails the test below, and so does a row without an operation.
const TABLE: &str = r#"
GET    /health/live                                     200  -    -
GET    /health/ready                                    200  -    -
GET    /metrics                                         200  -    -
POST   /api/v1/auth/login                               200  -    -    {"username": "root", "password": "long enough"}
GET    /api/v1/auth/profile                             200  -    -
GET    /api/v1/auth/whoami                              200  -    -
GET    /api/v1/users                                    200  -    -
GET    /api/v1/users/{user}                             200  403  -
GET    /api/v1/tokens                                   200  -    -
GET    /api/v1/requirement-types                        200  -    -
GET    /api/v1/link-types                               200  -    -
GET    /api/v1/workflows                                200  -    -
GET    /api/v1/workflows/{kind_name}                    200  -    -
GET    /api/v1/prompts                                  200  -    -
GET    /api/v1/prompts/active                           200  -    -
GET    /api/v1/prompts/{prompt}                         200  -    -
GET    /api/v1/projects                                 200  -    -
GET    /api/v1/projects/{key}                           200  403  -

GET    /api/v1/{kind}?project={key}                     200  403  -
GET    /api/v1/{kind}?under={id}                        200  404  200
GET    /api/v1/{kind}/{id}                              200  404  200
GET    /api/v1/{kind}/{id}?project={key}                200  403  200
GET    /api/v1/{kind}/{id}/deletion-preview             200  404  200
GET    /api/v1/{kind}/{id}/children                     200  404  200
GET    /api/v1/{kind}/{id}/links                        200  404  200
GET    /api/v1/{kind}/{id}/comments                     200  404  200
GET    /api/v1/{kind}/{id}/history                      200  404  200
GET    /api/v1/{kind}/{id}/trace                        200  404  200
GET    /api/v1/trace/gaps?project={key}                 200  403  -
GET    /api/v1/trace/check?project={key}                200  403  -
GET    /api/v1/epics/{id}/user-stories                  200  404  200
GET    /api/v1/user-stories/{id}/acceptance-criteria    200  404  200
GET    /api/v1/user-stories/{id}/requirements           200  404  200
GET    /api/v1/epics/{id}/steering-documents            200  404  200
GET    /api/v1/items/{id}                               200  404  200
GET    /api/v1/items/{id}/context                       200  404  200
GET    /api/v1/items/{id}/context?project={key}         200  403  200
GET    /api/v1/hierarchy/{id}                           200  404  200
GET    /api/v1/hierarchy/{id}/path                      200  404  200
GET    /api/v1/comments/{comment}                       200  404  -
GET    /api/v1/search?query=topsecret                   200  -    -
GET    /api/v1/search?query={ref}                       200  200  200
GET    /api/v1/search?query=x&project={key}             200  403  -
GET    /api/v1/changes                                  200  -    -
GET    /api/v1/changes?project={key}                    200  403  -
GET    /api/v1/changes/stream?since=0&project={key}     200  403  -
GET    /api/v1/reports/status?project={key}             200  403  -
GET    /api/v1/reports/status?under={id}                200  404  200
GET    /api/v1/reports/gaps?project={key}               200  403  -
GET    /api/v1/reports/gaps?under={id}                  200  404  200
GET    /api/v1/baselines?project={key}                  200  403  -
GET    /api/v1/baselines/diff?from=v1&project={key}     200  403  -
GET    /api/v1/reviews?project={key}                    200  403  -
GET    /api/v1/reviews/{number}                         200  -    -
GET    /api/v1/reviews/{number}?project={key}           200  403  -
GET    /api/v1/views?project={key}                      200  403  -
GET    /api/v1/views/{view}                             200  404  -
GET    /api/v1/views/{view}?project={key}               200  403  -
GET    /api/v1/baselines/diff?from=topsecret            400  -    -

POST   /api/v1/{kind}/{id}/comments                     201  404  201  {"content": "Why?"}
PATCH  /api/v1/comments/{comment}                       200  404  -    {"resolved": true}
POST   /api/v1/{kind}?project={key}                     201  403  -    NEW
PATCH  /api/v1/{kind}/{id}                              200  404  200  {"description": "Better."}
PATCH  /api/v1/epics/{id}/status                        200  404  200  {"status": "Draft"}
PATCH  /api/v1/user-stories/{id}/status                 200  404  200  {"status": "Draft"}
PATCH  /api/v1/requirements/{id}/status                 200  404  200  {"status": "Active"}
PATCH  /api/v1/acceptance-criteria/{id}/status          400  404  400  {"status": "Draft"}
PATCH  /api/v1/steering-documents/{id}/status           400  404  400  {"status": "Draft"}
PATCH  /api/v1/epics/{id}/assign                        200  404  200  {"assignee": "root"}
PATCH  /api/v1/user-stories/{id}/assign                 200  404  200  {"assignee": "root"}
PATCH  /api/v1/requirements/{id}/assign                 200  404  200  {"assignee": "root"}
PATCH  /api/v1/acceptance-criteria/{id}/assign          400  404  400  {"assignee": "root"}
PATCH  /api/v1/steering-documents/{id}/assign           400  404  400  {"assignee": "root"}
POST   /api/v1/{kind}/{id}/move                         200  404  200  {}
POST   /api/v1/epics/{id}/user-stories                  201  404  201  {"title": "x"}
POST   /api/v1/user-stories/{id}/acceptance-criteria    201  404  201  {"description": "x"}
POST   /api/v1/user-stories/{id}/requirements           201  404  201  {"title": "x"}
POST   /api/v1/epics/{id}/steering-documents/{document} 201  404  404
DELETE /api/v1/epics/{id}/steering-documents/{document} 200  404  404
POST   /api/v1/links                                    201  404  404  {"source": "EP-001", "target": "{end}", "type": "relates_to"}
POST   /api/v1/links/{link}/confirm                     200  404  403
POST   /api/v1/batch                                    200  404  403  {"operations": [{"op": "comment", "item": "EP-001", "content": "x"}, {"op": "unlink", "id": "{link}"}]}
POST   /api/v1/batch                                    200  403  -    {"project": "{key}", "operations": [{"op": "create", "kind": "epic", "title": "x"}]}
POST   /api/v1/plans                                    200  403  -    {"project": "{key}", "markdown": " # Gates"}
POST   /api/v1/plans                                    200  404  -    {"under": "{end}", "markdown": " # Gates"}
GET    /api/v1/work/next?project={key}                  200  403  -
GET    /api/v1/work/next?under={id}                     200  404  200
GET    /api/v1/work/leases?project={key}                200  403  -
PUT    /api/v1/items/{id}/lease                         200  404  200  {"minutes": 5}
DELETE /api/v1/items/{id}/lease                         200  404  200
POST   /api/v1/baselines                                201  403  -    {"name": "v2", "project": "{key}"}
POST   /api/v1/{kind}/{id}/trace/reviews                200  404  200  {"kind": "waived", "why": "later", "expires": "1d"}
POST   /api/v1/trace/push                               201  403  -    {"commit": "abcdef1", "project": "{key}", "reports": [{"format": "tap", "text": "1..1\nok 1"}]}
POST   /api/v1/tokens                                   201  403  -    {"name": "made", "project": "{key}"}
DELETE /api/v1/tokens/{token}                           200  404  -
POST   /api/v1/reviews                                  201  404  201  {"title": "x", "items": ["{id}"], "reviewers": ["tess"]}
POST   /api/v1/reviews                                  201  403  -    {"title": "x", "items": ["REQ-001"], "reviewers": ["tess"], "project": "{key}"}
PATCH  /api/v1/reviews/{number}?project={key}           200  403  -    {"description": "x"}
POST   /api/v1/reviews/{number}/verdict?project={key}   409  403  -    {"verdict": "approved"}
POST   /api/v1/views                                    201  403  -    {"name": "mine", "page": "table", "project": "{key}"}
PATCH  /api/v1/views/{view}                             200  404  -    {"query": "kind=epic"}
DELETE /api/v1/views/{view}                             200  404  -
DELETE /api/v1/comments/{comment}                       200  404  -
DELETE /api/v1/links/{link}                             404  404  403
DELETE /api/v1/requirements/{id}?force=true             200  404  409
POST   /api/v1/requirements/{id}/restore                200  404  409
DELETE /api/v1/acceptance-criteria/{id}?force=true      200  404  409
POST   /api/v1/acceptance-criteria/{id}/restore         200  404  409
DELETE /api/v1/user-stories/{id}?force=true             200  404  409
POST   /api/v1/user-stories/{id}/restore                200  404  409
DELETE /api/v1/epics/{id}?force=true                    200  404  409
POST   /api/v1/epics/{id}/restore                       200  404  409
DELETE /api/v1/steering-documents/{id}?force=true       200  404  409
POST   /api/v1/steering-documents/{id}/restore          200  404  409

PUT    /api/v1/requirement-types/{name}                 403  -    -    {"description": "x"}
DELETE /api/v1/requirement-types/{name}                 403  -    -
PUT    /api/v1/link-types/{name}                        403  -    -    {"inverse": "is_temporary"}
DELETE /api/v1/link-types/{name}                        403  -    -
PUT    /api/v1/workflows/{kind_name}                    403  -    -    {"statuses": [], "transitions": []}
POST   /api/v1/prompts                                  403  -    -    {"name": "p", "messages": [{"role": "user", "text": "x"}]}
PATCH  /api/v1/prompts/{prompt}                         403  -    -    {"title": "x"}
POST   /api/v1/prompts/{prompt}/activate                403  -    -    {}
DELETE /api/v1/prompts/{prompt}                         403  -    -
POST   /api/v1/projects                                 403  -    -    {"key": "new"}
PATCH  /api/v1/projects/{key}                           200  403  -    {"name": "x"}
GET    /api/v1/projects/{key}/members                   200  403  -
PUT    /api/v1/projects/{key}/members/{user}            200  403  -    {"role": "reader"}
DELETE /api/v1/projects/{key}/members/{user}            204  403  -
GET    /api/v1/groups                                   200  -    -
POST   /api/v1/groups                                   403  -    -    {"name": "new"}
DELETE /api/v1/groups/{name}                            403  -    -
PUT    /api/v1/groups/{name}/users/{user}               403  -    -
DELETE /api/v1/groups/{name}/users/{user}               403  -    -
POST   /api/v1/users                                    403  -    -    {"username": "new", "password": "long enough", "role": "User"}
PATCH  /api/v1/users/{user}                             403  403  -    {"email": "sam@example.org"}
PUT    /api/v1/users/{user}/password                    403  403  -    {"password": "long enough"}
DELETE /api/v1/users/{user}                             403  403  -
GET    /api/v1/audit/events                             403  -    -
GET    /api/v1/audit/verify                             403  -    -
GET    /api/v1/changes/all                              403  -    -
POST   /api/v1/auth/password                            401  -    -    {"current_password": "wrong", "new_password": "long enough"}
POST   /api/v1/auth/logout                              409  -    -
"#;

/// Who sees one project and not the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// A token bound to the project; it knows that there are others, and says so where one is named.
    BoundToken,
    /// An owner of the project who is no member of the other: for them it does not exist.
    Member,
}

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    Own,
    Other,
    Linked,
}

/// One row for one kind.
pub(crate) struct Row {
    pub(crate) method: Method,
    pub(crate) path: String,
    body: Option<String>,
    pub(crate) expect: [Option<u16>; 3],
    pub(crate) kind: Kind,
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for line in TABLE.lines().filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [method, path, own, other, linked, ..] = words[..] else {
            panic!("a row is short: {line}")
        };
        let status = |word: &str| (word != "-").then(|| word.parse().unwrap());
        let body = words[5..].join(" ");
        let named = Kind::ALL
            .into_iter()
            .find(|kind| path.starts_with(&format!("/api/v1/{}", kind.rules().path)));
        let kinds = match path.contains("{kind}") {
            true => Kind::ALL.to_vec(),
            false => vec![named.unwrap_or(Kind::Epic)],
        };
        for kind in kinds {
            rows.push(Row {
                method: method.parse().unwrap(),
                path: path.replace("{kind}", kind.rules().path),
                body: (!body.is_empty()).then(|| body.replace("NEW", &new_item(kind).to_string())),
                expect: [status(own), status(other), status(linked)],
                kind,
            });
        }
    }
    rows
}

fn new_item(kind: Kind) -> Value {
    match kind {
        Kind::Epic | Kind::SteeringDocument => json!({"title": "x"}),
        Kind::UserStory => json!({"title": "x", "parent": "EP-001"}),
        Kind::AcceptanceCriterion => json!({"description": "x", "parent": "US-001"}),
        Kind::Requirement => json!({"title": "x", "parent": "US-001"}),
    }
}

/// The number of the items of the other project, which the own one never reaches.
const SECRET_NUMBER: usize = 90;

/// What a row can be filled with, in one project.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    key: &'static str,
    /// By kind: the item, its reference, and what else it can be called.
    items: Vec<(Kind, String, String)>,
    comment: String,
    link: String,
    token: String,
    view: String,
}

/// Two projects: `web`, which the token is bound to, with two of each kind, the second one linked with the other
/// project; and `topsecret`, all of whose texts say so.
pub(crate) struct World {
    who: Who,
    token: String,
    pub(crate) own: Ids,
    other: Ids,
    linked: Ids,
    /// What must not occur in any answer.
    markers: Vec<String>,
}

impl World {
    pub(crate) async fn seed(server: &Server, who: Who) -> Self {
        for key in ["web", "topsecret"] {
            server
                .post("/api/v1/projects", json!({"key": key, "default_role": "none"}))
                .await
                .created();
        }
        let role = match who {
            Who::BoundToken => "Administrator",
            Who::Member => "User",
        };
        let free = server.user("root", role).await;
        server.user("sam", "User").await;
        server.user("tess", "Administrator").await;
        let owner = json!({"role": "owner"});
        server.put("/api/v1/projects/web/members/root", owner).await.ok();
        server
            .post("/api/v1/groups", json!({"name": "topsecret"}))
            .await
            .created();
        let path = "/api/v1/projects/topsecret/members/group:topsecret";
        server.put(path, json!({"role": "author"})).await.ok();
        let web = five(server, "web", "Plain").await;
        let linked = five(server, "web", "Linked").await;
        fill(server).await;
        let other = five(server, "topsecret", "TOPSECRET").await;
        let mut crossing = String::new();
        for ((_, own, _), (_, secret, _)) in linked.iter().zip(&other) {
            let there = json!({"source": own, "target": secret, "type": "relates_to"});
            crossing = text(&server.post("/api/v1/links", there).await.created()["id"]);
        }
        let (requirement, secret) = (&linked[3].1, &other[3].1);
        let back = json!({"source": secret, "target": requirement, "type": "blocks"});
        server.post("/api/v1/links", back).await.created();
        let guided = json!({});
        let path = format!("/api/v1/epics/{}/steering-documents/{}", linked[0].1, other[4].1);
        server.post(&path, guided).await.created();
        // An edit over there makes the links suspect over here.
        let edit = json!({"title": "TOPSECRET still"});
        server
            .patch(&format!("/api/v1/requirements/{secret}"), edit)
            .await
            .ok();
        let own = Ids::of(server, "web", web).await;
        let other = Ids::of(server, "topsecret", other).await;
        let linked = Ids {
            key: "web",
            items: linked,
            link: crossing,
            ..Ids::default()
        };
        let mut markers = vec!["topsecret".to_owned()];
        for (_, id, reference) in &other.items {
            markers.extend([id.clone(), reference.to_lowercase()]);
        }
        markers.extend([
            other.comment.clone(),
            other.token.clone(),
            other.link.clone(),
            other.view.clone(),
        ]);
        let bound = json!({"name": "bound", "project": "web", "scopes": ["admin"]});
        let made = server.post("/api/v1/tokens?user=root", bound).await.created();
        // Without it the default project would be there, too.
        let closed = json!({"default_role": "none"});
        server.patch("/api/v1/projects/default", closed).await.ok();
        Self {
            who,
            token: match who {
                Who::BoundToken => text(&made["token"]),
                Who::Member => free,
            },
            own,
            other,
            linked,
            markers,
        }
    }

    fn ids(&self, about: About) -> &Ids {
        match about {
            About::Own => &self.own,
            About::Other => &self.other,
            About::Linked => &self.linked,
        }
    }

    /// A template with its places filled; `id` is how the item is called.
    fn fill(&self, template: &str, row: &Row, about: About, id: &str) -> String {
        let ids = self.ids(about);
        let document = match about {
            About::Own => "STD-001".to_owned(),
            _ => self.other.called(Kind::SteeringDocument).0.to_owned(),
        };
        let end = match about {
            About::Own => "EP-002".to_owned(),
            _ => self.other.called(Kind::Epic).0.to_owned(),
        };
        template
            .replace("{id}", id)
            .replace("{ref}", ids.called(row.kind).1)
            .replace("{key}", ids.key)
            .replace("{comment}", &ids.comment)
            .replace("{link}", &ids.link)
            .replace("{token}", &ids.token)
            .replace("{view}", &ids.view)
            .replace("{number}", "1")
            .replace("{document}", &document)
            .replace("{end}", &end)
            .replace(
                "{user}",
                if about == About::Own && row.method == Method::GET {
                    "root"
                } else {
                    "sam"
                },
            )
            .replace("{prompt}", "requirements-analyst")
            .replace("{kind_name}", "epic")
            .replace("{name}", "temporary")
    }

    /// Whether a text betrays the other project. What the request itself said may be said back.
    fn betrayed<'a>(&'a self, answer: &str, request: &str) -> Option<&'a String> {
        let (answer, request) = (answer.to_lowercase(), request.to_lowercase());
        self.markers
            .iter()
            .find(|marker| answer.contains(marker.as_str()) && !request.contains(marker.as_str()))
    }
}

impl Ids {
    async fn of(server: &Server, key: &'static str, items: Vec<(Kind, String, String)>) -> Self {
        let comment = json!({"content": format!("{key} comment")});
        let epic = &items[0].1;
        let comment = server
            .post(&format!("/api/v1/epics/{epic}/comments"), comment)
            .await
            .created();
        let link = json!({"source": epic, "target": items[1].1, "type": "relates_to"});
        let link = server.post("/api/v1/links", link).await.created();
        server
            .patch(
                &format!("/api/v1/epics/{epic}"),
                json!({"title": format!("{key} edited")}),
            )
            .await
            .ok();
        let name = if key == "topsecret" { "topsecret" } else { "v1" };
        server
            .post("/api/v1/baselines", json!({"name": name, "project": key}))
            .await
            .created();
        let review = json!({"title": key, "items": [epic], "reviewers": ["tess"], "project": key});
        server.post("/api/v1/reviews", review).await.created();
        let view = json!({"name": name, "page": "table", "shared": true, "project": key});
        let view = server.post("/api/v1/views", view).await.created();
        let token = json!({"name": format!("{key} token"), "project": key, "scopes": ["admin"]});
        let of = if key == "web" { "root" } else { "admin" };
        let path = format!("/api/v1/tokens?user={of}");
        let token = server.post(&path, token).await.created();
        Self {
            key,
            items,
            comment: text(&comment["id"]),
            link: text(&link["id"]),
            token: text(&token["id"]),
            view: text(&view["id"]),
        }
    }

    /// The id and the reference of the item of a kind.
    pub(crate) fn called(&self, kind: Kind) -> (&str, &str) {
        let (_, id, reference) = self.items.iter().find(|(of, ..)| *of == kind).unwrap();
        (id, reference)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// One item of each kind, with two criteria so that one can go.
async fn five(server: &Server, key: &str, title: &str) -> Vec<(Kind, String, String)> {
    let operations = json!([
        {"op": "create", "ref": "ep", "kind": "epic", "title": title},
        {"op": "create", "ref": "us", "kind": "user_story", "parent": "@ep", "title": title},
        {"op": "create", "ref": "ac", "kind": "acceptance_criterion", "parent": "@us", "description": title},
        {"op": "create", "ref": "req", "kind": "requirement", "parent": "@us", "title": title, "acceptance_criterion": "@ac"},
        {"op": "create", "ref": "std", "kind": "steering_document", "title": title},
        {"op": "create", "kind": "acceptance_criterion", "parent": "@us", "description": title},
    ]);
    let done = server
        .post("/api/v1/batch", json!({"project": key, "operations": operations}))
        .await
        .ok();
    let made = done["results"].as_array().unwrap().iter();
    let kinds = [
        Kind::Epic,
        Kind::UserStory,
        Kind::AcceptanceCriterion,
        Kind::Requirement,
        Kind::SteeringDocument,
    ];
    kinds
        .into_iter()
        .zip(made)
        .map(|(kind, one)| (kind, text(&one["id"]), text(&one["label"])))
        .collect()
}

/// Uses up the first numbers of the other project, so that its references are unlike any of the own.
async fn fill(server: &Server) {
    let mut operations = vec![
        json!({"op": "create", "ref": "ep", "kind": "epic", "title": "TOPSECRET"}),
        json!({"op": "create", "ref": "us", "kind": "user_story", "parent": "@ep", "title": "TOPSECRET"}),
    ];
    for number in 1..SECRET_NUMBER {
        if number > 1 {
            operations.push(json!({"op": "create", "kind": "epic", "title": "TOPSECRET"}));
            operations
                .push(json!({"op": "create", "kind": "user_story", "parent": "@ep", "title": "TOPSECRET"}));
        }
        operations.push(json!({"op": "create", "kind": "acceptance_criterion", "parent": "@us", "description": "TOPSECRET"}));
        operations
            .push(json!({"op": "create", "kind": "requirement", "parent": "@us", "title": "TOPSECRET"}));
        operations.push(json!({"op": "create", "kind": "steering_document", "title": "TOPSECRET"}));
    }
    let batch = json!({"project": "topsecret", "operations": operations});
    server.post("/api/v1/batch", batch).await.ok();
}

/// Asks one row; the status, and everything that came back as one text. A stream is read up to the present.
pub(crate) async fn ask(
    server: &Server,
    world: &World,
    row: &Row,
    about: About,
    id: &str,
) -> (u16, String, String) {
    let path = world.fill(&row.path, row, about, id);
    let body = row.body.as_deref().map(|body| world.fill(body, row, about, id));
    let mut request = server
        .client
        .request(row.method.clone(), format!("{}{path}", server.url))
        .bearer_auth(&world.token);
    if let Some(body) = &body {
        request = request
            .header("content-type", "application/json")
            .body(body.clone());
    }
    let mut response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let mut told = format!("{:?}\n", response.headers());
    if path.contains("/stream") && status == 200 {
        let feed = server
            .send(&world.token, Method::GET, "/api/v1/changes?limit=200", None, &[])
            .await
            .ok();
        let last = format!("id: {}\n", feed["next_since"].as_str().unwrap());
        while !told.contains(&last) {
            told.push_str(&String::from_utf8_lossy(
                &response.chunk().await.unwrap().unwrap(),
            ));
        }
    } else {
        told.push_str(&response.text().await.unwrap());
    }
    (
        status,
        told,
        format!("{} {path} {}", row.method, body.unwrap_or_default()),
    )
}

both![
    a_bound_token_learns_and_touches_nothing_else_by_any_operation,
    a_member_learns_and_touches_nothing_of_other_projects_by_any_operation,
];

//= specs/spexus-http.md#permissions
//= type=test
//# A token bound to a project MUST show and change nothing of another project.
async fn a_bound_token_learns_and_touches_nothing_else_by_any_operation(server: &mut Server) {
    learns_and_touches_nothing_else(server, Who::BoundToken).await;
}

//= specs/spexus-service.md#members
//= type=test
//# A project MUST NOT exist for a caller who is no member of it, on any surface.
async fn a_member_learns_and_touches_nothing_of_other_projects_by_any_operation(server: &mut Server) {
    learns_and_touches_nothing_else(server, Who::Member).await;
}

async fn learns_and_touches_nothing_else(server: &Server, who: Who) {
    let world = World::seed(server, who).await;
    let everything = "/api/v1/changes?project=topsecret&limit=200&since=0";
    let mut histories = Vec::new();
    for (kind, id, _) in &world.other.items {
        let path = format!("/api/v1/{}/{id}/history", kind.rules().path);
        histories.push((server.get(&path).await.ok(), path));
    }
    let before = server.get(everything).await.ok();
    let mut faults = Vec::new();
    for row in rows() {
        for (about, expect) in [About::Own, About::Other, About::Linked]
            .into_iter()
            .zip(row.expect)
        {
            let Some(expect) = expect else { continue };
            let names_project =
                row.path.contains("{key}") || row.body.as_deref().is_some_and(|body| body.contains("{key}"));
            let expect = match (world.who, about) {
                (Who::Member, About::Other) if names_project => 404,
                _ => expect,
            };
            let (id, reference) = world.ids(about).called(row.kind);
            // By each name it has; what changes something own is asked once.
            let names = match about {
                About::Other if row.path.contains("{id}") => {
                    vec![
                        id.to_owned(),
                        reference.to_owned(),
                        format!("topsecret%2F{reference}"),
                    ]
                }
                _ => vec![reference.to_owned()],
            };
            for name in names {
                let (status, told, request) = ask(server, &world, &row, about, &name).await;
                if status != expect {
                    faults.push(format!(
                        "{about:?} {request}: {status} instead of {expect}: {told}"
                    ));
                }
                if let Some(marker) = world.betrayed(&told, &request) {
                    faults.push(format!("{about:?} {request} tells {marker}: {told}"));
                }
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert_eq!(
        server.get(everything).await.ok(),
        before,
        "the feed of the other project is as it was"
    );
    for (before, path) in histories {
        assert_eq!(server.get(&path).await.ok(), before, "{path}");
    }
}

#[test]
fn every_operation_of_the_document_has_a_row_in_the_table_of_isolation() {
    let listed: BTreeSet<(String, String)> = rows()
        .into_iter()
        .map(|row| {
            let path = row.path.split('?').next().unwrap().to_owned();
            (row.method.to_string(), generic(&path))
        })
        .collect();
    let document = serde_json::to_value(spexus_http::openapi()).unwrap();
    let mut described = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods
            .as_object()
            .unwrap()
            .keys()
            .filter(|key| *key != "parameters")
        {
            described.insert((method.to_uppercase(), generic(path)));
        }
    }
    let missing: Vec<_> = described.difference(&listed).collect();
    let unknown: Vec<_> = listed.difference(&described).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "without a row: {missing:?}; without an operation: {unknown:?}"
    );
}

/// A path whose places have no names: this table calls them by what they are filled with.
fn generic(path: &str) -> String {
    let part = |part: &str| {
        if part.starts_with('{') {
            "{}".to_owned()
        } else {
            part.to_owned()
        }
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}
