//! What the attributes of handlers leave out: words for every answer, faults of the server, headers, limits, and the
//! operations of a batch. All of it is said here once, by what an operation is, instead of at each of them.

use serde_json::{Map, Value, json};
use spexus_domain::limits::{MAX_BATCH_OPERATIONS, MAX_PAGE_ROWS};
use spexus_domain::report::Section;

/// The schemas whose answers carry their revision as `ETag`.
const REVISED: [&str; 5] = ["Item", "Comment", "Prompt", "Project", "User"];

/// How the paths end that make what has no address of its own to be read at: it is listed with others.
const UNREADABLE: [&str; 4] = [
    "/baselines",
    "/links",
    "/tokens",
    "/steering-documents/{document}",
];

/// Operations of a batch: the name, what it needs beside `op`, and the schema whose fields it takes.
const OPERATIONS: [(&str, &[&str], Option<&str>); 8] = [
    ("create", &["kind"], Some("NewItem")),
    ("update", &["id"], Some("ItemPatch")),
    ("move", &["id"], Some("Move")),
    ("delete", &["id"], None),
    ("restore", &["id"], None),
    ("link", &[], Some("NewLink")),
    ("unlink", &["id"], None),
    ("comment", &[], Some("NewComment")),
];

//= specs/spexus-http.md#description
//# The document MUST be valid OpenAPI 3.1, with a description of every answer, the headers that are read and written, and the
//# operations of a batch by their types.
/// Makes the description complete.
pub(super) fn complete(document: &mut Value) {
    document["servers"] = json!([{ "url": "/", "description": "The server this document came from." }]);
    type_batches(&mut document["components"]["schemas"]);
    let Some(paths) = document["paths"].as_object_mut() else {
        return;
    };
    for (path, methods) in paths {
        for (_, operation) in methods.as_object_mut().into_iter().flatten() {
            complete_operation(path, operation);
        }
    }
}

fn complete_operation(path: &str, operation: &mut Value) {
    if path.starts_with("/api/") {
        operation["responses"]["5XX"] = json!({ "content": { "application/json": {
            "schema": { "$ref": "#/components/schemas/ErrorEnvelope" }
        } } });
    }
    let mut unchanged = false;
    for (status, answer) in operation["responses"].as_object_mut().into_iter().flatten() {
        unchanged |= status == "304";
        if answer["description"].as_str().is_none_or(str::is_empty) {
            answer["description"] = json!(words(status));
        }
        complete_headers(path, status, answer);
    }
    if unchanged {
        let header = json!({
            "name": "If-None-Match", "in": "header", "required": false, "schema": { "type": "string" },
            "description": "The ETag that is known; an answer that still has it is 304 without a body.",
        });
        match operation.get_mut("parameters").and_then(Value::as_array_mut) {
            Some(parameters) => parameters.push(header),
            None => operation["parameters"] = json!([header]),
        }
    }
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        limit_parameter(parameter);
    }
}

/// What an answer means, where its handler does not say more.
fn words(status: &str) -> &'static str {
    match status {
        "200" => "The answer.",
        "201" => "It was made.",
        "202" => "It was taken.",
        "204" => "It was done; there is nothing to say.",
        "304" => "It is as it was when the ETag was given.",
        "5XX" => "The server could not do it; the refusal says whether to try again.",
        _ => "It was refused; the refusal says why and what to do.",
    }
}

fn complete_headers(path: &str, status: &str, answer: &mut Value) {
    let text = |description: &str| json!({ "description": description, "schema": { "type": "string" } });
    let mut headers = Map::new();
    let of = answer["content"]["application/json"]["schema"]["$ref"]
        .as_str()
        .unwrap_or_default();
    if matches!(status, "200" | "201") && REVISED.iter().any(|name| of.ends_with(&format!("/{name}"))) {
        headers.insert(
            "ETag".into(),
            text("The revision, to be sent back as `If-Match` or `If-None-Match`."),
        );
    }
    let readable = !UNREADABLE.iter().any(|end| path.ends_with(end));
    if status == "201" && readable {
        headers.insert("Location".into(), text("Where what was made stands."));
    }
    if status == "4XX" {
        headers.insert(
            "Retry-After".into(),
            text("Seconds to wait before the next try, where waiting helps."),
        );
    }
    if !headers.is_empty() {
        answer["headers"] = headers.into();
    }
}

/// Limits and choices of parameters that mean the same everywhere.
fn limit_parameter(parameter: &mut Value) {
    let (place, name) = (parameter["in"].clone(), parameter["name"].clone());
    if place != "query" {
        return;
    }
    let schema = &mut parameter["schema"];
    match name.as_str() {
        Some("limit") => {
            schema["minimum"] = json!(1);
            schema["maximum"] = json!(MAX_PAGE_ROWS);
        }
        // A position in the history is a number, a time is a text.
        Some("since") if schema["type"] != "string" => schema["minimum"] = json!(0),
        Some("count") => *schema = json!({ "type": "string", "enum": ["exact"] }),
        Some("section") => *schema = json!({ "type": "string", "enum": Section::ALL.map(Section::name) }),
        _ => {}
    }
}

/// The operations of a batch, each with the fields of the schema it stands for.
fn type_batches(schemas: &mut Value) {
    let kinds = schemas["Kind"].is_object();
    let mut choices = Vec::new();
    let mut mapping = Map::new();
    for (op, needed, fields) in OPERATIONS {
        let taken = fields.map(|name| schemas[name].clone()).unwrap_or_default();
        let mut properties = taken["properties"].as_object().cloned().unwrap_or_default();
        let mut required: Vec<Value> = taken["required"].as_array().cloned().unwrap_or_default();
        properties.insert("op".into(), json!({ "type": "string", "enum": [op] }));
        let local = "What later operations call the result, as `@name`.";
        properties.insert("ref".into(), json!({ "type": "string", "description": local }));
        for name in needed {
            let schema = match *name {
                "kind" if kinds => json!({ "$ref": "#/components/schemas/Kind" }),
                _ => {
                    json!({ "type": "string", "description": "Any id, or the `@name` of an operation before." })
                }
            };
            properties.insert((*name).into(), schema);
        }
        //= specs/spexus-http.md#description
        //# The document MUST accept every operation of a batch that the server accepts.
        if op != "unlink" {
            let project = "The key of the project; another than that of the batch is refused.";
            properties
                .entry("project")
                .or_insert_with(|| json!({ "type": ["string", "null"], "description": project }));
        }
        if op == "comment" {
            for (name, other) in [("item", "id"), ("id", "item")] {
                let words = format!(
                    "Any id of the item, or the `@name` of an operation before; or send it as `{other}`."
                );
                properties.insert(name.into(), json!({ "type": "string", "description": words }));
            }
        }
        if op == "delete" {
            let force = "Also when other items fall with it.";
            properties.insert(
                "force".into(),
                json!({ "type": "boolean", "default": false, "description": force }),
            );
        }
        required.extend(["op"].iter().chain(needed).map(|name| json!(name)));
        let name = format!("Batch{}{}", op[..1].to_uppercase(), &op[1..]);
        let reference = format!("#/components/schemas/{name}");
        schemas[name] = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        mapping.insert(op.into(), json!(reference));
        choices.push(json!({ "$ref": reference }));
    }
    schemas["BatchOperation"] = json!({
        "oneOf": choices, "discriminator": { "propertyName": "op", "mapping": mapping },
    });
    let operations = &mut schemas["BatchInput"]["properties"]["operations"];
    operations["items"] = json!({ "$ref": "#/components/schemas/BatchOperation" });
    operations["minItems"] = json!(1);
    operations["maxItems"] = json!(MAX_BATCH_OPERATIONS);
}
