//! The description of the surface: OpenAPI for programs, a page for people. What it describes are the routes as the router
//! declares them.

mod complete;

use crate::auth::Anonymous;
use crate::router;
use askama::Template;
use axum::http::{HeaderMap, header};
use axum::response::{Html, IntoResponse};
use serde_json::Value;
use spexus_domain::Kind;
use std::sync::LazyLock;
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};

#[derive(utoipa::OpenApi)]
#[openapi(info(
    title = "Spexus",
    description = "Requirements that people and AI agents share. Send a token as `Authorization: Bearer mcp_pat_…`; \
                       wherever an id is asked for, a UUID and a reference id such as `REQ-012` both work.",
    license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
))]
struct Api;

/// The description, complete.
pub fn openapi() -> Value {
    let mut document = serde_json::to_value(described()).unwrap_or_default();
    complete::complete(&mut document);
    document
}

/// What the routes say of themselves.
//= specs/spexus-http.md#description
//# Every route of the router MUST stand in the OpenAPI document.
fn described() -> OpenApi {
    let mut api = <Api as utoipa::OpenApi>::openapi();
    api.merge(router::routes().into_openapi());
    for (_, routes) in router::routes_of_kinds() {
        api.merge(routes.into_openapi());
    }
    let bearer = SecurityScheme::Http(
        HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("mcp_pat_…")
            .build(),
    );
    api.components
        .get_or_insert_default()
        .security_schemes
        .insert("token".into(), bearer.into());
    api.security = Some(vec![SecurityRequirement::new::<_, [&str; 0], &str>("token", [])]);
    api
}

static DOCUMENT: LazyLock<String> = LazyLock::new(|| openapi().to_string());

/// The description for programs.
pub(crate) async fn document(_: Anonymous) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str())
}

/// The description for people.
pub(crate) async fn docs_page(_: Anonymous, headers: HeaderMap) -> Html<String> {
    static PAGE: LazyLock<String> =
        LazyLock::new(|| Docs::new(&described(), openapi()).render().unwrap_or_default());
    Html(PAGE.replace(SHOWN_HOST, host(&headers)))
}

/// The address examples are written with.
const SHOWN_HOST: &str = "127.0.0.1:8080";

/// The address the page was asked for under, when it is a plain one.
pub(crate) fn host(headers: &HeaderMap) -> &str {
    let given = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let plain = |host: &&str| {
        let known = |b: u8| b.is_ascii_alphanumeric() || b"-.:[]".contains(&b);
        !host.is_empty() && host.len() <= 255 && host.bytes().all(known)
    };
    given.filter(plain).unwrap_or(SHOWN_HOST)
}

#[derive(Template)]
#[template(path = "docs.html")]
struct Docs {
    version: String,
    groups: Vec<Group>,
}

struct Group {
    name: String,
    operations: Vec<Entry>,
}

struct Entry {
    id: String,
    method: &'static str,
    path: String,
    summary: String,
    parameters: Vec<(String, String, String)>,
    body: Option<Shape>,
    answer: Option<Shape>,
}

/// What a body or an answer is made of.
struct Shape {
    name: String,
    /// Name, type and meaning of each field; of the rows where it is a page.
    fields: Vec<(String, String, String)>,
}

impl Docs {
    fn new(api: &OpenApi, document: Value) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        for (path, methods) in &api.paths.paths {
            let operations = [
                ("GET", &methods.get),
                ("POST", &methods.post),
                ("PATCH", &methods.patch),
                ("PUT", &methods.put),
                ("DELETE", &methods.delete),
            ];
            for (method, operation) in operations {
                let Some(operation) = operation else { continue };
                let tag = operation
                    .tags
                    .iter()
                    .flatten()
                    .next()
                    .cloned()
                    .unwrap_or_default();
                let entry = entry(&document, method, path, operation);
                match groups.iter_mut().find(|group| group.name == tag) {
                    Some(group) => group.operations.push(entry),
                    None => groups.push(Group {
                        name: tag,
                        operations: vec![entry],
                    }),
                }
            }
        }
        let rank = |name: &str| {
            Kind::ALL
                .iter()
                .position(|kind| kind.rules().path == name)
                .unwrap_or(Kind::ALL.len())
        };
        groups.sort_by(|a, b| (rank(&a.name), &a.name).cmp(&(rank(&b.name), &b.name)));
        Self {
            version: api.info.version.clone(),
            groups,
        }
    }
}

fn entry(document: &Value, method: &'static str, path: &str, operation: &Operation) -> Entry {
    let value = serde_json::to_value(operation).unwrap_or_default();
    let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
    let parameters = value["parameters"].as_array().into_iter().flatten();
    let answers = value["responses"].as_object().into_iter().flatten();
    let good = answers
        .filter(|(status, _)| status.starts_with('2'))
        .map(|(_, answer)| answer)
        .next();
    Entry {
        id: operation.operation_id.clone().unwrap_or_default(),
        method,
        path: path.to_owned(),
        summary: operation
            .summary
            .clone()
            .or_else(|| operation.description.clone())
            .unwrap_or_default(),
        parameters: parameters
            .map(|p| (text(&p["name"]), text(&p["in"]), text(&p["description"])))
            .collect(),
        body: shape(document, &value["requestBody"]),
        answer: good.and_then(|answer| shape(document, answer)),
    }
}

/// The schema a body has, by name and by its fields.
fn shape(document: &Value, described: &Value) -> Option<Shape> {
    let (name, schema) = named_schema(document, &described["content"]["application/json"]["schema"])?;
    // A page is known by its rows.
    let rows = named_schema(document, &schema["properties"]["data"]["items"]).map(|(_, rows)| rows);
    let shown = rows.unwrap_or(schema);
    let required: Vec<&str> = shown["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let field = |(name, field): (&String, &Value)| {
        let star = if required.contains(&name.as_str()) {
            ""
        } else {
            "?"
        };
        (format!("{name}{star}"), type_name(field), meaning(field))
    };
    let fields = shown["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(field)
        .collect();
    Some(Shape {
        name: name.replace('_', " of "),
        fields,
    })
}

/// The name a schema refers to, and the schema under that name.
fn named_schema<'d>(document: &'d Value, schema: &'d Value) -> Option<(&'d str, &'d Value)> {
    let name = schema["$ref"].as_str()?.rsplit('/').next()?;
    Some((name, &document["components"]["schemas"][name]))
}

/// What is said of a field, or of one of the choices it has.
fn meaning(schema: &Value) -> String {
    let choices = schema["oneOf"].as_array().into_iter().flatten();
    [schema]
        .into_iter()
        .chain(choices)
        .find_map(|schema| schema["description"].as_str())
        .unwrap_or_default()
        .to_owned()
}

/// A type in a word or two.
fn type_name(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    let choices = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
    if let Some(choices) = choices {
        let names = choices.iter().map(type_name).filter(|name| name != "null");
        return names.collect::<Vec<_>>().join(" or ");
    }
    let name = match &schema["type"] {
        Value::Array(names) => names
            .iter()
            .find_map(|name| name.as_str().filter(|name| *name != "null")),
        name => name.as_str(),
    };
    match name {
        Some("array") => format!("list of {}", type_name(&schema["items"])),
        Some(name) => name.to_owned(),
        None => "any".to_owned(),
    }
}
