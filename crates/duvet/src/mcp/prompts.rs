//! Prompts for people to pick.

use super::GUIDE;
use super::resources::completer;
use super::snapshots::SnapshotHolder;
use mcp_protocol::{Content, PromptMessage};
use mcp_server::Prompt;
use refusal::{Code, Refusal};
use std::sync::Arc;

/// Every prompt.
pub(super) fn all(holder: &Arc<SnapshotHolder>) -> Vec<Prompt> {
    vec![guide(), implement(holder)]
}

fn guide() -> Prompt {
    let said = |_cx, _arguments| async { Ok::<_, Refusal>(vec![PromptMessage::user(Content::text(GUIDE))]) };
    Prompt::new("duvet", "How to work with this server.", said)
}

/// One requirement with its section, its state, and the comment that would cite it.
fn implement(holder: &Arc<SnapshotHolder>) -> Prompt {
    let asked = Arc::clone(holder);
    let made = move |_cx, arguments: serde_json::Map<String, serde_json::Value>| {
        let holder = Arc::clone(&asked);
        async move {
            let id = arguments.get("req_identifier").and_then(|id| id.as_str());
            let id = id.unwrap_or_default().to_owned();
            let text = holder.ask(move |view| words(view, &id)).await??;
            Ok::<_, Refusal>(vec![PromptMessage::user(Content::text(text))])
        }
    };
    let mut prompt = Prompt::new(
        "implement_requirement",
        "Implement one requirement, test it, and cite it in both places.",
        made,
    )
    .argument(
        "req_identifier",
        "Identifier of the requirement, or the beginning of one.",
        true,
    );
    prompt.completer = Some(completer(holder));
    prompt
}

fn words(view: &super::snapshots::View<'_>, id: &str) -> Result<String, Refusal> {
    let found = view.requirement_index.requirement_status(id);
    view.narrow_to_requirements(&found);
    view.whole()?;
    let [one] = found.as_slice() else {
        let message = match found.len() {
            0 => format!("there is no requirement {id:?}"),
            n => format!("{id:?} means {n} requirements"),
        };
        return Err(
            Refusal::new(Code::ResourceNotFound, message).hint("Use an identifier of `/requirements`.")
        );
    };
    let citations = if one.citations.is_empty() {
        "none yet".to_owned()
    } else {
        one.citations.join(", ")
    };
    Ok(format!(
        "Fulfil this requirement of the project ({}, {}):\n\n> {}\n\nIt stands at `{}`. Its citations: {citations}.\n\n\
         Read its section first, then the code its citations name. Put a citation with the exact sentence above the \
         code that fulfils it, and one with `type=test` above the test that shows it. Check each with \
         `validate_citation` before you write it, and the result with `get_requirement_status`.",
        one.level, one.status, one.text, one.full_path,
    ))
}
