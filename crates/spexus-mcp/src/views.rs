//! Views: pages that hosts show beside the answers of tools (MCP Apps, SEP-1865). A page is a template without data: the host hands it what
//! the tool answered, inside a sandbox that may load nothing. Hosts that know no views show the text of the answer, as ever.

use mcp_protocol::ResourceContents;
use mcp_server::{Context, ReadRequest, Resource, Server, Stop};
use serde_json::{Map, Value, json};
use spexus_domain::Ruled;

/// The extension, as it is declared.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/ui";
/// The one form of page there is.
pub(crate) const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// One view.
pub(crate) struct View {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// The tool whose answers it shows.
    tool: &'static str,
    script: &'static str,
}

/// Every view.
pub(crate) static ALL: [View; 4] = [
    View {
        name: "card",
        title: "Requirement",
        description: "An item with its criteria, its evidence and what surrounds it.",
        tool: "get_context",
        script: include_str!("../views/card.js"),
    },
    View {
        name: "difference",
        title: "Difference",
        description: "What differs between two baselines, for a person to approve.",
        tool: "diff_baselines",
        script: include_str!("../views/difference.js"),
    },
    View {
        name: "matrix",
        title: "Requirements and their evidence",
        description: "Requirements against the rungs of the ladder.",
        tool: "list_gaps",
        script: include_str!("../views/matrix.js"),
    },
    View {
        name: "coverage",
        title: "How far the work has come",
        description: "How many items stand where.",
        tool: "status_report",
        script: include_str!("../views/coverage.js"),
    },
];

const STYLE: &str = include_str!("../views/view.css");
//= specs/spexus-mcp.md#views
//# What people wrote MUST become text in a view and nothing else.
const SCRIPT: &str = include_str!("../views/view.js");

impl View {
    fn uri(&self) -> String {
        format!("ui://spexus/{}", self.name)
    }

    //= specs/spexus-mcp.md#views
    //# A view MUST be one page that loads nothing from anywhere, and MUST say so in the metadata of the extension.
    fn page(&self) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>{}</title>\n\
             <style>\n{STYLE}</style></head>\n<body><main></main>\n<script>\n{}\n{SCRIPT}</script></body>\n</html>\n",
            self.title, self.script
        )
    }

    fn meta() -> Map<String, Value> {
        let csp =
            json!({ "connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": [] });
        Map::from_iter([("ui".to_owned(), json!({ "csp": csp, "prefersBorder": true }))])
    }

    fn resource(&'static self) -> Resource {
        let read = move |_: Context, request: ReadRequest| async move {
            let mut contents = ResourceContents::text(request.uri, MIME_TYPE, self.page());
            contents.meta = Self::meta();
            Ok::<_, Stop>(vec![contents])
        };
        let mut resource = Resource::new(self.uri(), self.name, self.description, MIME_TYPE, read);
        resource.title = Some(self.title.to_owned());
        resource.meta = Self::meta();
        resource
    }
}

/// What a tool says of the view of its answers; empty where there is none.
//= specs/spexus-mcp.md#views
//# A tool whose answers have a view MUST name it, and MUST answer with its text all the same.
pub(crate) fn of_tool(tool: &str) -> Map<String, Value> {
    let found = ALL.iter().find(|view| view.tool == tool);
    found
        .map(|view| Map::from_iter([("ui".to_owned(), json!({ "resourceUri": view.uri() }))]))
        .unwrap_or_default()
}

/// Serves the pages by their addresses.
pub(crate) fn serve(server: &Server) -> Ruled<()> {
    server.add_resources(ALL.iter().map(View::resource).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/spexus-mcp.md#views
    //= type=test
    //# A view MUST be one page that loads nothing from anywhere, and MUST say so in the metadata of the extension.
    //= specs/spexus-mcp.md#views
    //= type=test
    //# What people wrote MUST become text in a view and nothing else.
    #[test]
    fn a_page_loads_nothing_and_writes_text_only() {
        for view in &ALL {
            let page = view.page();
            assert!(page.starts_with("<!doctype html>"));
            for loading in [
                "http:",
                "https:",
                "//cdn",
                "src=",
                "import(",
                "import ",
                "fetch(",
                "XMLHttpRequest",
                "WebSocket",
                "<link",
                "@import",
                "url(",
            ] {
                assert!(!page.contains(loading), "{}: {loading}", view.name);
            }
            for writing in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "Function(",
            ] {
                assert!(!page.contains(writing), "{}: {writing}", view.name);
            }
            assert_eq!(page.matches("const view = ").count(), 1, "{}", view.name);
            let csp = &View::meta()["ui"]["csp"];
            assert!(
                csp.as_object()
                    .unwrap()
                    .values()
                    .all(|domains| *domains == json!([]))
            );
        }
    }

    #[test]
    fn every_view_is_of_a_tool_that_is_there() {
        let tools: Vec<&str> = crate::tools::all().iter().map(|tool| tool.name).collect();
        for view in &ALL {
            assert!(tools.contains(&view.tool), "{}", view.tool);
            assert_eq!(of_tool(view.tool)["ui"]["resourceUri"], view.uri());
        }
        assert!(of_tool("create_epic").is_empty());
    }
}
