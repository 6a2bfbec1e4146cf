//! The documentation tells of everything that is served, and of nothing else.

use super::Agent;
use crate::harness::Server;
use serde_json::{Value, json};

const GUIDE: &str = include_str!("../../../../../docs/mcp.md");
const REFERENCE: &str = include_str!("../../../../../docs/mcp-reference.md");

// proves 003 R17.3
// proves 003 R17.4
// proves 003 R17.5
// proves 003 R17.6
// proves 003 R17.7
// proves 003 R17.8
#[tokio::test]
async fn the_documentation_is_complete() {
    let server = Server::on_sqlite().await;
    let agent = Agent::with(
        &server,
        &server.token,
        "2025-06-18",
        &[("x-spexus-toolsets", "all")],
    )
    .await;
    let tools = agent.ask("tools/list", json!({})).await;
    let tools = tools["tools"].as_array().unwrap();
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let section = section(&format!("### {name}"));
        let input = section
            .lines()
            .find_map(|line| line.strip_prefix("Input: `"))
            .unwrap();
        let schema: Value = serde_json::from_str(input.trim_end_matches('`')).unwrap();
        assert_eq!(schema, tool["inputSchema"], "the schema of {name}");
        assert!(
            section.contains(&format!("\"name\":\"{name}\"")),
            "a call of {name}"
        );
        assert_eq!(
            section.matches("```json").count(),
            2,
            "a call and an answer of {name}"
        );
    }
    let headings = REFERENCE.lines().filter(|line| line.starts_with("### ")).count();
    assert_eq!(headings, tools.len() + 7, "nothing else is told of");
    let templates = agent.ask("resources/templates/list", json!({})).await;
    for template in templates["resourceTemplates"].as_array().unwrap() {
        let uri = template["uriTemplate"].as_str().unwrap();
        assert!(REFERENCE.contains(&format!("| `{uri}` |")), "{uri}");
    }
    for prompt in [
        "analyze_requirement_quality",
        "decompose_epic",
        "generate_user_story",
        "identify_dependencies",
        "suggest_acceptance_criteria",
        "suggest_test_scenarios",
        "work_on_item",
    ] {
        assert!(
            section(&format!("### {prompt}")).contains("*When:*"),
            "a scenario for {prompt}"
        );
    }
    for part in [
        "## Common tasks",
        "Create an epic",
        "Find requirements",
        "## Troubleshooting",
        "| 401",
        "| 403",
        "| 429",
        "claude_desktop_config.json",
    ] {
        assert!(GUIDE.contains(part), "{part}");
    }
    server.stop().await;
}

/// The text under a heading.
fn section(heading: &str) -> &'static str {
    let start = REFERENCE
        .find(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("{heading} is missing"));
    let rest = &REFERENCE[start + 1 + heading.len()..];
    &rest[..rest.find("\n##").unwrap_or(rest.len())]
}
