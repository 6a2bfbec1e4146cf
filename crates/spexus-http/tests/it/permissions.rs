//! Who may do what: every operation of the OpenAPI document against every kind of caller, from one table.

use crate::harness::{Server, both};
use reqwest::Method;
use serde_json::{Value, json};
use spexus_domain::Kind;
use spexus_domain::account::Scope;
use spexus_domain::member::ProjectRole;
use std::collections::BTreeSet;

/// Every operation: method, path, the least role in the project (`anyone` has an account, `Administrator` is one of the
/// installation), the narrowest scope (`any` where none is asked for), whether a token bound to a project may use it (in
/// that project), and a body that fits. `-` stands for anyone, even without a token. An operation without a row fails
/// the test below, and so does a row without an operation.
const TABLE: &str = r#"
GET    /health/live                                     -             -       yes
GET    /health/ready                                    -             -       yes
GET    /metrics                                         -             -       yes
POST   /api/v1/auth/login                               -             -       yes  {"username": "kim", "password": "long enough"}

GET    /api/v1/{kind}                                   reader        read    yes
GET    /api/v1/{kind}/{id}                              reader        read    yes
GET    /api/v1/{kind}/{id}/deletion-preview             reader        read    yes
GET    /api/v1/{kind}/{id}/children                     reader        read    yes
GET    /api/v1/{kind}/{id}/links                        reader        read    yes
GET    /api/v1/{kind}/{id}/comments                     reader        read    yes
GET    /api/v1/{kind}/{id}/history                      reader        read    yes
GET    /api/v1/epics/{id}/user-stories                  reader        read    yes
GET    /api/v1/user-stories/{id}/acceptance-criteria    reader        read    yes
GET    /api/v1/user-stories/{id}/requirements           reader        read    yes
GET    /api/v1/epics/{id}/steering-documents            reader        read    yes
GET    /api/v1/items/{id}                               reader        read    yes
GET    /api/v1/items/{id}/context                       reader        read    yes
GET    /api/v1/hierarchy/{id}                           reader        read    yes
GET    /api/v1/hierarchy/{id}/path                      reader        read    yes
GET    /api/v1/comments/{id}                            reader        read    yes
GET    /api/v1/search?query=passkey                     reader        read    yes
GET    /api/v1/changes                                  reader        read    yes
GET    /api/v1/changes/stream                           reader        read    yes
GET    /api/v1/reports/status                           reader        read    yes
GET    /api/v1/reports/gaps                             reader        read    yes
GET    /api/v1/baselines                                reader        read    yes
GET    /api/v1/views                                    reader        read    yes
GET    /api/v1/views/{id}                               reader        read    yes
GET    /api/v1/{kind}/{id}/trace                        reader        read    yes
GET    /api/v1/trace/gaps                               reader        read    yes
GET    /api/v1/trace/check                              reader        read    yes
GET    /api/v1/baselines/diff?from=v1                   reader        read    yes
GET    /api/v1/requirement-types                        anyone        read    yes
GET    /api/v1/link-types                               anyone        read    yes
GET    /api/v1/workflows                                anyone        read    yes
GET    /api/v1/workflows/{kind_name}                    anyone        read    yes
GET    /api/v1/prompts                                  anyone        read    yes
GET    /api/v1/prompts/active                           anyone        read    yes
GET    /api/v1/prompts/{id}                             anyone        read    yes
GET    /api/v1/projects                                 anyone        read    yes
GET    /api/v1/projects/{key}                           reader        read    own
GET    /api/v1/users                                    anyone        read    yes
GET    /api/v1/auth/profile                             anyone        read    yes
GET    /api/v1/auth/whoami                              anyone        read    yes

POST   /api/v1/views                                    reader        write   yes  {"name": "own", "page": "table"}
PATCH  /api/v1/views/{id}                               author        write   yes  {"query": "kind=epic"}
DELETE /api/v1/views/{id}                               author        write   yes
GET    /api/v1/reviews                                  reader        read    yes
GET    /api/v1/reviews/{number}                         reader        read    yes
POST   /api/v1/reviews                                  author        write   yes  {"title": "x", "items": ["REQ-001"], "reviewers": ["tess"]}
PATCH  /api/v1/reviews/{number}                         author        write   yes  {"description": "Again?"}
POST   /api/v1/reviews/{number}/verdict                 reviewer      write   yes  {"verdict": "approved"}
POST   /api/v1/{kind}/{id}/comments                     commenter     comment yes  {"content": "Why?"}
PATCH  /api/v1/comments/{id}                            reviewer      comment yes  {"resolved": true}
PATCH  /api/v1/comments/{id}                            owner         write   yes  {"content": "Changed."}
DELETE /api/v1/comments/{id}                            owner         write   yes

POST   /api/v1/auth/logout                              anyone        any     yes
POST   /api/v1/auth/password                            anyone        admin   yes  {"current_password": "long enough", "new_password": "long enough"}
GET    /api/v1/tokens                                   anyone        admin   yes
POST   /api/v1/tokens                                   anyone        admin   yes  {"name": "second"}
DELETE /api/v1/tokens/{id}                              anyone        admin   yes

POST   /api/v1/{kind}                                   author        write   yes  NEW
PATCH  /api/v1/{kind}/{id}                              author        write   yes  {"description": "Better."}
PATCH  /api/v1/{kind}/{id}/status                       author        write   yes  {"status": "Draft"}
PATCH  /api/v1/{kind}/{id}/assign                       author        write   yes  {"assignee": "kim"}
POST   /api/v1/{kind}/{id}/move                         author        write   yes  {}
DELETE /api/v1/{kind}/{id}                              author        write   yes
POST   /api/v1/{kind}/{id}/restore                      author        write   yes
POST   /api/v1/epics/{id}/user-stories                  author        write   yes  {"title": "x"}
POST   /api/v1/user-stories/{id}/acceptance-criteria    author        write   yes  {"description": "x"}
POST   /api/v1/user-stories/{id}/requirements           author        write   yes  {"title": "x"}
POST   /api/v1/epics/{id}/steering-documents/{document} author        write   yes
DELETE /api/v1/epics/{id}/steering-documents/{document} author        write   yes
GET    /api/v1/work/next                                reader        read    yes
GET    /api/v1/work/leases                              reader        read    yes
PUT    /api/v1/items/{id}/lease                         author        write   yes  {"minutes": 5}
DELETE /api/v1/items/{id}/lease                         author        write   yes
POST   /api/v1/links                                    author        write   yes  {"source": "REQ-001", "target": "REQ-002", "type": "blocks"}
POST   /api/v1/links/{id}/confirm                       reviewer      write   yes
DELETE /api/v1/links/{id}                               author        write   yes
POST   /api/v1/batch                                    author        write   yes  {"operations": [{"op": "comment", "item": "EP-001", "content": "x"}]}
POST   /api/v1/plans                                    author        write   yes  {"markdown": " # Gates"}
POST   /api/v1/baselines                                author        write   yes  {"name": "v2"}
POST   /api/v1/{kind}/{id}/trace/reviews                reviewer      write   yes  {"kind": "waived", "why": "later", "expires": "1d"}
POST   /api/v1/trace/push                               author        evidence yes {"commit": "abcdef1", "reports": [{"format": "tap", "text": "1..1\nok 1"}]}

PUT    /api/v1/requirement-types/{name}                 Administrator admin   no   {"description": "x"}
DELETE /api/v1/requirement-types/{name}                 Administrator admin   no
PUT    /api/v1/link-types/{name}                        Administrator admin   no   {"inverse": "is_temporary"}
DELETE /api/v1/link-types/{name}                        Administrator admin   no
PUT    /api/v1/workflows/{kind_name}                    Administrator admin   no   {"statuses": [], "transitions": []}
POST   /api/v1/prompts                                  Administrator admin   no   {"name": "p", "messages": [{"role": "user", "text": "x"}]}
PATCH  /api/v1/prompts/{id}                             Administrator admin   no   {"title": "x"}
POST   /api/v1/prompts/{id}/activate                    Administrator admin   no   {}
DELETE /api/v1/prompts/{id}                             Administrator admin   no
POST   /api/v1/projects                                 Administrator admin   no   {"key": "new"}
PATCH  /api/v1/projects/{key}                           owner         admin   own  {"name": "x"}
POST   /api/v1/users                                    Administrator admin   no   {"username": "new", "password": "long enough", "role": "User"}
GET    /api/v1/users/{user}                             Administrator admin   no
PATCH  /api/v1/users/{user}                             Administrator admin   no   {"email": "sam@example.org"}
PUT    /api/v1/users/{user}/password                    Administrator admin   no   {"password": "long enough"}
DELETE /api/v1/users/{user}                             Administrator admin   no
GET    /api/v1/audit/events                             Administrator admin   no
GET    /api/v1/audit/verify                             Administrator admin   no
GET    /api/v1/changes/all                              Administrator admin   no

GET    /api/v1/projects/{key}/members                   reader        read    own
PUT    /api/v1/projects/{key}/members/{member}          owner         admin   own  {"role": "reader"}
DELETE /api/v1/projects/{key}/members/{member}          owner         admin   own
GET    /api/v1/groups                                   anyone        read    yes
POST   /api/v1/groups                                   Administrator admin   no   {"name": "new"}
DELETE /api/v1/groups/{name}                            Administrator admin   no
PUT    /api/v1/groups/{name}/users/{user}               Administrator admin   no
DELETE /api/v1/groups/{name}/users/{user}               Administrator admin   no
"#;

/// What somebody is: in the project, or in the installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Member(ProjectRole),
    Administrator,
}

impl Rank {
    fn parse(word: &str) -> Self {
        match word {
            "Administrator" => Rank::Administrator,
            "anyone" => Rank::Member(ProjectRole::None),
            role => Rank::Member(ProjectRole::parse("", role).unwrap()),
        }
    }
}

/// One row of the table for one kind.
struct Row {
    method: Method,
    /// As it stands in the document.
    template: String,
    /// As it is asked for.
    path: String,
    /// The least role, and the scope where one is asked for; nothing where nobody has to be known.
    least: Option<(Rank, Option<Scope>)>,
    bound: String,
    body: Option<Value>,
}

impl Row {
    fn allows(&self, rank: Rank, scope: Scope) -> bool {
        self.least
            .is_none_or(|(least, needed)| rank >= least && needed.is_none_or(|needed| scope.covers(needed)))
    }

    fn says(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// The rows, with the ids of what a server was seeded with.
fn rows(ids: &Ids) -> Vec<Row> {
    let mut rows = Vec::new();
    for line in TABLE.lines().filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [method, path, role, scope, bound, ..] = words[..] else {
            panic!("a row is short: {line}")
        };
        let body = words
            .get(5..)
            .map(|rest| rest.join(" "))
            .filter(|body| !body.is_empty());
        let kinds = if path.contains("{kind}") {
            Kind::ALL.to_vec()
        } else {
            vec![Kind::Epic]
        };
        for kind in kinds {
            let template = path.replace("{kind}", kind.rules().path);
            let body = match body.as_deref() {
                None => None,
                Some("NEW") => Some(new_item(kind)),
                Some(body) => Some(serde_json::from_str(body).unwrap()),
            };
            rows.push(Row {
                method: method.parse().unwrap(),
                path: ids.fill(&template),
                template: template.split('?').next().unwrap().to_owned(),
                least: (role != "-").then(|| {
                    (
                        Rank::parse(role),
                        (scope != "any").then(|| Scope::parse("", scope).unwrap()),
                    )
                }),
                bound: bound.to_owned(),
                body,
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

/// What the paths of the table are filled with.
struct Ids {
    comment: String,
    link: String,
}

impl Ids {
    /// Everything a row can speak of exists, so that nothing is refused for the wrong reason.
    async fn seed(server: &Server) -> Self {
        server.seed().await;
        server
            .post(
                "/api/v1/requirements",
                json!({"title": "Passkey two", "parent": "US-001"}),
            )
            .await
            .created();
        server
            .post("/api/v1/steering-documents", json!({"title": "Passkey policy"}))
            .await
            .created();
        server
            .post("/api/v1/baselines", json!({"name": "v1"}))
            .await
            .created();
        let comment = server
            .post("/api/v1/epics/EP-001/comments", json!({"content": "Passkey?"}))
            .await
            .created();
        let link = json!({"source": "REQ-001", "target": "REQ-002", "type": "relates_to"});
        let link = server.post("/api/v1/links", link).await.created();
        server
            .post("/api/v1/epics/EP-001/steering-documents/STD-001", json!({}))
            .await
            .created();
        server
            .post("/api/v1/projects", json!({"key": "other"}))
            .await
            .created();
        let view = json!({"name": "shared", "page": "board", "shared": true});
        server.post("/api/v1/views", view).await.created();
        server.user("tess", "Administrator").await;
        let review = json!({"title": "Is it right?", "items": ["REQ-001"], "reviewers": ["tess"]});
        server.post("/api/v1/reviews", review).await.created();
        server.user("sam", "User").await;
        let text = |value: &Value| value["id"].as_str().unwrap().to_owned();
        Self {
            comment: text(&comment),
            link: text(&link),
        }
    }

    fn fill(&self, template: &str) -> String {
        let own = |kind: Kind| format!("{}-001", kind.rules().prefix);
        let kind = Kind::ALL
            .into_iter()
            .find(|kind| template.starts_with(&format!("/api/v1/{}/{{id}}", kind.rules().path)));
        let id = match template.split('/').nth(3).unwrap_or_default() {
            "comments" => self.comment.clone(),
            "links" => self.link.clone(),
            "views" => "shared".to_owned(),
            "tokens" => "0191d5e5-0000-7000-8000-000000000000".to_owned(),
            "prompts" => "requirements-analyst".to_owned(),
            _ => own(kind.unwrap_or(Kind::Epic)),
        };
        let path = template
            .replace("{id}", &id)
            .replace("{document}", "STD-001")
            .replace("{name}", "temporary");
        path.replace("{kind_name}", "epic")
            .replace("{key}", "default")
            .replace("{user}", "sam")
            .replace("{member}", "sam")
            .replace("{number}", "1")
    }
}

/// Sends the request of a row and gives the status and, unless it is a stream, the text of the answer.
async fn ask(server: &Server, token: &str, row: &Row) -> (u16, String) {
    let mut request = server
        .client
        .request(row.method.clone(), format!("{}{}", server.url, row.path));
    if !token.is_empty() {
        request = request.bearer_auth(token);
    }
    if let Some(body) = &row.body {
        request = request.json(body);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let endless = row.path.ends_with("/stream") && status == 200;
    (
        status,
        if endless {
            String::new()
        } else {
            response.text().await.unwrap()
        },
    )
}

async fn scoped(server: &Server, scope: &str, project: Option<&str>) -> String {
    let input = json!({"name": format!("{scope} {project:?}"), "scopes": [scope], "project": project});
    let made = server.post("/api/v1/tokens?user=root", input).await.created();
    made["token"].as_str().unwrap().to_owned()
}

/// A token of a service account that was made an owner, and whose own owner is an author.
async fn service_account(server: &Server) -> String {
    let robot = json!({"username": "robot", "role": "User", "owner": "a-author"});
    server.post("/api/v1/users", robot).await.created();
    let owner = json!({"role": "owner"});
    let path = "/api/v1/projects/default/members/robot";
    server.put(path, owner).await.ok();
    let token = json!({"name": "ci", "scopes": ["admin"]});
    let made = server.post("/api/v1/tokens?user=robot", token).await.created();
    made["token"].as_str().unwrap().to_owned()
}

both![
    every_operation_asks_for_its_role_and_scope,
    a_token_bound_to_a_project_stays_in_it,
    changes_of_rights_bite_at_once,
];

//= specs/spexus-http.md#permissions
//= type=test
//# Every operation MUST refuse a caller whose role or scope is below the least one of that operation.
//= specs/spexus-service.md#permissions
//= type=test
//# A caller MUST have both the role and the scope of an operation.
//= specs/spexus-http.md#permissions
//= type=test
//# A request without a valid token or session MUST be answered 401, except for logging in, health and the descriptions of the interface.
//= specs/spexus-service.md#permissions
//= type=test
//# Every use case MUST ask for its right before it reads or writes anything.
async fn every_operation_asks_for_its_role_and_scope(server: &mut Server) {
    let ids = Ids::seed(server).await;
    let mut callers = vec![(String::new(), String::from("anonymous"), None)];
    // Nobody is a member because of having an account.
    let closed = json!({"default_role": "none"});
    for key in ["default", "other"] {
        let path = format!("/api/v1/projects/{key}");
        server.patch(&path, closed.clone()).await.ok();
    }
    for role in ProjectRole::ALL {
        let name = format!("a-{}", role.name());
        let token = server.user(&name, "User").await;
        let path = format!("/api/v1/projects/default/members/{name}");
        server.put(&path, json!({"role": role.name()})).await.ok();
        callers.push((
            token,
            role.name().into(),
            Some((Rank::Member(role), Scope::Admin)),
        ));
    }
    callers.push((
        service_account(server).await,
        "service account".into(),
        Some((Rank::Member(ProjectRole::Author), Scope::Admin)),
    ));
    callers.push((
        server.user("root", "Administrator").await,
        "Administrator".into(),
        Some((Rank::Administrator, Scope::Admin)),
    ));
    for scope in Scope::ALL {
        let token = scoped(server, scope.name(), None).await;
        callers.push((
            token,
            format!("scope {}", scope.name()),
            Some((Rank::Administrator, scope)),
        ));
    }
    let rows = rows(&ids);
    let before = server.chain_head().await;
    for row in &rows {
        for (token, name, rights) in &callers {
            match rights {
                None if row.least.is_some() => {
                    assert_eq!(ask(server, token, row).await.0, 401, "{name}: {}", row.says())
                }
                Some((rank, scope)) if !row.allows(*rank, *scope) => {
                    let (status, text) = ask(server, token, row).await;
                    // For whoever is no member there is nothing that could be forbidden.
                    let is_stranger = *rank == Rank::Member(ProjectRole::None);
                    if is_stranger && status == 404 {
                        assert!(!text.contains("asskey"), "{name}: {}: {text}", row.says());
                        continue;
                    }
                    assert_eq!(status, 403, "{name}: {}: {text}", row.says());
                    assert!(text.contains("1014"), "{text}");
                }
                _ => {}
            }
        }
    }
    assert_eq!(
        server.chain_head().await,
        before,
        "what was refused left no trace"
    );
    // Removals go last, so that the others find what they speak of.
    let (removals, others): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.method == Method::DELETE);
    for row in others.into_iter().chain(removals) {
        for (token, name, rights) in &callers {
            let allowed = rights.map_or(row.least.is_none(), |(rank, scope)| row.allows(rank, scope));
            // Only these two are about the person who asks, whose password may be another one.
            if allowed && !row.path.starts_with("/api/v1/auth/") {
                let (status, text) = ask(server, token, row).await;
                // No program speaks for evidence, whatever its role.
                if name == "service account" && row.path.ends_with("/trace/reviews") {
                    assert_eq!(status, 403, "{name}: {}: {text}", row.says());
                    continue;
                }
                assert!(
                    ![401, 403, 405, 415].contains(&status) && status < 500,
                    "{name}: {}: {status} {text}",
                    row.says()
                );
            }
        }
    }
}

//= specs/spexus-http.md#permissions
//= type=test
//# A token bound to a project MUST show and change nothing of another project.
async fn a_token_bound_to_a_project_stays_in_it(server: &mut Server) {
    let ids = Ids::seed(server).await;
    server.user("kim", "User").await;
    server.user("root", "Administrator").await;
    let bound = scoped(server, "admin", Some("other")).await;
    let before = server.get("/api/v1/changes?limit=200").await.ok();
    for row in rows(&ids) {
        if row.path == "/api/v1/auth/password" {
            continue;
        }
        let (status, text) = ask(server, &bound, &row).await;
        match row.bound.as_str() {
            "yes" => assert!(
                ![401, 403, 405, 415].contains(&status) && status < 500,
                "{}: {status} {text}",
                row.says()
            ),
            _ => assert_eq!(status, 403, "{}: {text}", row.says()),
        }
        assert!(
            !text.contains("asskey"),
            "{} shows another project: {text}",
            row.says()
        );
    }
    assert_eq!(
        server.get("/api/v1/changes?limit=200").await.ok(),
        before,
        "nothing of the other project changed"
    );
    server
        .send(&bound, Method::GET, "/api/v1/epics?project=default", None, &[])
        .await
        .refused(403, 1014);
}

//= specs/spexus-http.md#permissions
//= type=test
//# A change of role, a disabled account, a revoked token and a changed password MUST bite on the next request.
async fn changes_of_rights_bite_at_once(server: &mut Server) {
    let kim = server.user("kim", "User").await;
    let session = server.login("kim", "long enough").await["token"]
        .as_str()
        .unwrap()
        .to_owned();
    let server = &*server;
    let create = |token: String| async move {
        server
            .as_token(&token, Method::POST, "/api/v1/epics", Some(json!({"title": "x"})))
            .await
            .0
    };
    assert_eq!(
        (create(kim.clone()).await, create(session.clone()).await),
        (201, 201)
    );
    server
        .patch("/api/v1/users/kim", json!({"role": "Commenter"}))
        .await
        .ok();
    assert_eq!(
        (create(kim.clone()).await, create(session.clone()).await),
        (403, 403)
    );
    server
        .patch("/api/v1/users/kim", json!({"role": "User"}))
        .await
        .ok();
    server
        .put("/api/v1/users/kim/password", json!({"password": "another one"}))
        .await;
    assert_eq!(
        (create(kim.clone()).await, create(session).await),
        (201, 401),
        "a new password ends sessions, not tokens"
    );
    let session = server.login("kim", "another one").await["token"]
        .as_str()
        .unwrap()
        .to_owned();
    let token = server.get("/api/v1/tokens?user=kim").await.ok()["data"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    server.delete(&format!("/api/v1/tokens/{token}")).await.ok();
    assert_eq!((create(kim).await, create(session.clone()).await), (401, 201));
    server.delete("/api/v1/users/kim").await.ok();
    assert_eq!(create(session).await, 401);
    let login = json!({"username": "kim", "password": "another one"});
    server
        .send("", Method::POST, "/api/v1/auth/login", Some(login), &[])
        .await
        .refused(401, 1013);
}

#[test]
fn every_operation_of_the_document_has_a_row_and_every_row_an_operation() {
    let ids = Ids {
        comment: String::new(),
        link: String::new(),
    };
    let listed: BTreeSet<(String, String)> = rows(&ids)
        .into_iter()
        .map(|row| (row.method.to_string(), row.template))
        .collect();
    let document = spexus_http::openapi();
    let mut described = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods
            .as_object()
            .unwrap()
            .keys()
            .filter(|key| *key != "parameters")
        {
            described.insert((method.to_uppercase(), path.clone()));
        }
    }
    assert_eq!(
        listed.difference(&described).collect::<Vec<_>>(),
        Vec::<&(String, String)>::new(),
        "not described"
    );
    assert_eq!(
        described.difference(&listed).collect::<Vec<_>>(),
        Vec::<&(String, String)>::new(),
        "without a row"
    );
}

//= specs/spexus-http.md#description
//= type=test
//# Every route of the router MUST stand in the OpenAPI document.
#[test]
fn every_handler_of_the_router_is_in_the_document() {
    let words = |text: &str| -> BTreeSet<String> {
        let word = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
        text.split(word)
            .filter(|word| word.contains("::") && !word.contains("axum") && *word == word.to_lowercase())
            .map(str::to_owned)
            .collect()
    };
    let router = include_str!("../../src/router.rs");
    let table =
        &router[router.find("pub(crate) fn router").unwrap()..router.find("async fn no_such_route").unwrap()];
    // What `routes!` takes is described with the handler; `route` takes anything.
    let (undescribed, described): (Vec<&str>, Vec<&str>) =
        table.lines().partition(|line| line.contains(".route("));
    assert_eq!(
        words(&undescribed.join("\n")).into_iter().collect::<Vec<_>>(),
        [
            // Tells of itself, in its own protocol.
            "mcp::endpoint",
            "openapi::docs_page",
            "openapi::document",
        ]
    );
    let described = words(&described.join("\n"));
    assert!(described.len() > 70, "{described:?}");
}
