//! Resources of every kind.

use mcp_protocol::ResourceContents;
use mcp_server::{Completer, Context, ReadRequest, Resource, ResourceTemplate, Stop};
use serde_json::json;

/// One red pixel, as bytes.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n";

pub(crate) fn resources() -> Vec<Resource> {
    vec![
        Resource::new(
            "test://static-text",
            "static-text",
            "A text that never changes.",
            "text/plain",
            read_text,
        ),
        Resource::new(
            "test://static-binary",
            "static-binary",
            "Bytes that never change.",
            "image/png",
            read_bytes,
        ),
        Resource::new(
            "test://watched-resource",
            "watched-resource",
            "A text to watch.",
            "text/plain",
            read_text,
        ),
    ]
}

pub(crate) fn template() -> ResourceTemplate {
    let mut template = ResourceTemplate::new(
        "test://template/{id}/data",
        "template",
        "Data by id.",
        read_template,
    );
    template.mime_type = Some("application/json".to_owned());
    template.completer = Some(Completer::new(|_, typed| async move {
        Ok::<_, Stop>(vec![format!("{}1", typed.value)])
    }));
    template
}

async fn read_text(_: Context, request: ReadRequest) -> Result<Vec<ResourceContents>, Stop> {
    let text = "This is the content of the static text resource.";
    Ok(vec![ResourceContents::text(request.uri, "text/plain", text)])
}

async fn read_bytes(_: Context, request: ReadRequest) -> Result<Vec<ResourceContents>, Stop> {
    Ok(vec![ResourceContents::blob(request.uri, "image/png", PIXEL)])
}

async fn read_template(_: Context, request: ReadRequest) -> Result<Vec<ResourceContents>, Stop> {
    let id = &request.variables["id"];
    let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
    Ok(vec![ResourceContents::text(
        request.uri,
        "application/json",
        data.to_string(),
    )])
}
