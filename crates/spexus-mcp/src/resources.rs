//! Resources: items by address.

use crate::audit;
use crate::render::visible;
use mcp_runtime::{Context, ReadRequest, ResourceContents, ResourceTemplate, Stop};
use serde_json::{Value, json};
use spexus_domain::Kind;
use spexus_service::{Service, item};

const SCHEMES: [(&str, Kind); 5] = [
    ("epic", Kind::Epic),
    ("user-story", Kind::UserStory),
    ("requirement", Kind::Requirement),
    ("acceptance-criteria", Kind::AcceptanceCriterion),
    ("steering-document", Kind::SteeringDocument),
];

/// The patterns of addresses.
pub(crate) fn templates(service: &Service) -> Vec<ResourceTemplate> {
    let direct = |(scheme, kind): (&'static str, Kind)| {
        let service = service.clone();
        let label = kind.rules().label;
        let read = move |cx: Context, request: ReadRequest| {
            let service = service.clone();
            async move { read(cx, service, kind, request).await }
        };
        let mut template = ResourceTemplate::new(
            format!("{scheme}://{{id}}"),
            scheme,
            format!("One {label}, by reference id or UUID."),
            read,
        );
        template.mime_type = Some("application/json".to_owned());
        template
    };
    SCHEMES.into_iter().map(direct).collect()
}

async fn read(
    cx: Context,
    service: Service,
    kind: Kind,
    request: ReadRequest,
) -> Result<Vec<ResourceContents>, Stop> {
    let caller = audit::caller(&cx)?;
    let watch = audit::Watch::start(&service, &caller, "resources/read", kind.name());
    let id = request
        .variables
        .get("id")
        .map(String::as_str)
        .unwrap_or_default();
    let found = item::get(&service, &caller, None, Some(kind), id).await;
    watch.stop(found.as_ref().map(drop));
    Ok(vec![contents(request.uri, json!(found?))])
}

fn contents(uri: String, mut value: Value) -> ResourceContents {
    visible(&mut value);
    ResourceContents::text(uri, "application/json", value.to_string())
}
