//! The context of a prompt: the item, what contains it, its neighbours, what it contains, its links, and the guidance
//! its epic follows.

use crate::render::{line, link_line, outline};
use crate::resources::{address_of, sees_several};
use serde_json::json;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::item_context::ContextRequest;
use spexus_domain::limits::MAX_PAGE_ROWS;
use spexus_domain::query::PageRequest;
use spexus_domain::{Code, Kind, Ruled, text};
use spexus_service::{Service, item, link};
use std::fmt::Write;

/// Characters of an ancestor's or steering document's text.
const MAX_TEXT_CHARS: usize = 2_000;
/// Steering documents read in full.
const MAX_DOCUMENTS: usize = 5;

/// What a prompt knows of its subject.
pub(super) struct Gathered {
    /// `REQ-001 "Title"`.
    pub(super) subject: String,
    /// Everything, as text.
    pub(super) text: String,
    /// Where the subject can be read again.
    pub(super) uri: String,
    /// The subject as that address gives it.
    pub(super) json: String,
}

// Fulfils 003 R8.4, 003 R8.8
//= specs/spexus-mcp.md#prompts
//# A prompt about an item MUST carry the item, what contains it, its siblings, what it contains, its links and the steering documents of its epic.
pub(super) async fn gather(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Kind,
    id: &str,
) -> Ruled<Gathered> {
    let subject = item::get(service, caller, project, Some(kind), id).await?;
    let own_id = subject.id.to_string();
    let mut text = String::new();
    let path = item::path(service, caller, None, &own_id).await?.data;
    for container in path.iter().filter(|one| one.id != subject.id) {
        whole(&mut text, "Contained in", container);
    }
    whole(&mut text, "Subject", &subject);
    let tree = item::hierarchy(service, caller, None, &own_id, None).await?;
    if !tree.root.children.is_empty() {
        let (lines, cut) = outline(&tree.root);
        let _ = writeln!(text, "## Contains\n{lines}");
        if cut || tree.truncated {
            // The first line is the subject itself.
            let shown = lines.lines().count().saturating_sub(1);
            let all = tree.total_count.saturating_sub(1);
            rest(
                &mut text,
                shown,
                all,
                "epic_hierarchy of an item in it, or a list with under",
            );
        }
        contained(&mut text, &tree.root);
    }
    siblings(&mut text, service, caller, &subject).await?;
    let links = link::list(service, caller, None, None, &own_id, None, all_at_once()?).await?;
    if !links.data.is_empty() {
        let rows: Vec<String> = links
            .data
            .iter()
            .map(|one| {
                format!(
                    "- {} ({} / {})",
                    link_line(one),
                    one.source.title,
                    one.target.title
                )
            })
            .collect();
        let _ = writeln!(text, "## Links\n{}\n", rows.join("\n"));
    }
    if links.next_cursor.is_some() {
        rest(
            &mut text,
            links.data.len(),
            links.total_count,
            "list_relationships with cursor",
        );
    }
    if let Some(epic) = path.first().filter(|one| one.kind == Kind::Epic) {
        guidance(&mut text, service, caller, epic).await?;
    }
    Ok(Gathered {
        subject: format!("{} {:?}", subject.reference_id, subject.heading()),
        text,
        uri: address_of(&subject, sees_several(service, caller).await?),
        json: json!(subject).to_string(),
    })
}

/// The working context of an item of any kind.
pub(super) async fn working(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    id: &str,
    purpose: &str,
) -> Ruled<Gathered> {
    let request = ContextRequest {
        purpose: Some(purpose.to_owned()).filter(|purpose| !purpose.is_empty()),
        ..ContextRequest::default()
    };
    let subject = item::get(service, caller, project, None, id).await?;
    let found = item::context(service, caller, None, &subject.id.to_string(), request).await?;
    Ok(Gathered {
        subject: format!("{} {:?}", subject.reference_id, subject.heading()),
        text: found.words(),
        uri: address_of(&subject, sees_several(service, caller).await?),
        json: json!(subject).to_string(),
    })
}

/// The largest page there is.
fn all_at_once() -> Ruled<PageRequest> {
    PageRequest::new(Some(MAX_PAGE_ROWS), None)
}

/// Says that not all is shown, and how to get the rest.
//= specs/spexus-mcp.md#prompts
//# Where the context of a prompt is cut, the prompt MUST say how many of how many are shown and how to get the rest.
fn rest(text: &mut String, shown: usize, all: i64, how: &str) {
    let _ = writeln!(text, "({shown} of {all} shown; the rest: {how}.)\n");
}

fn whole(text: &mut String, label: &str, item: &Item) {
    let description = text::excerpt(&item.description, MAX_TEXT_CHARS);
    let _ = writeln!(
        text,
        "## {label}: {} (rev {})\n{description}\n",
        line(item),
        item.rev
    );
}

/// The words of criteria and requirements: their titles alone do not say enough.
fn contained(text: &mut String, tree: &spexus_domain::tree::Tree) {
    for child in &tree.children {
        if matches!(child.item.kind, Kind::AcceptanceCriterion | Kind::Requirement)
            && !child.item.title.is_empty()
        {
            let words = text::excerpt(&child.item.description, MAX_TEXT_CHARS / 4);
            if !words.is_empty() {
                let _ = writeln!(text, "{}: {words}", child.item.reference_id);
            }
        }
        contained(text, child);
    }
}

async fn siblings(text: &mut String, service: &Service, caller: &Caller, subject: &Item) -> Ruled<()> {
    let Some(parent) = &subject.parent else {
        return Ok(());
    };
    let page = PageRequest::new(Some(100), None)?;
    let parent = parent.id.to_string();
    let found = item::children(service, caller, None, None, &parent, Vec::new(), page).await?;
    let rows: Vec<String> = found
        .data
        .iter()
        .filter(|one| one.id != subject.id)
        .map(|one| format!("- {}", line(one)))
        .collect();
    if !rows.is_empty() {
        let _ = writeln!(text, "## Siblings\n{}\n", rows.join("\n"));
    }
    if found.next_cursor.is_some() {
        let all = found.total_count.unwrap_or_default();
        rest(text, found.data.len(), all, "a list with parent and cursor");
    }
    Ok(())
}

async fn guidance(text: &mut String, service: &Service, caller: &Caller, epic: &Item) -> Ruled<()> {
    let epic = epic.id.to_string();
    let (guided, page) = (Some(link::IS_GUIDED_BY), all_at_once()?);
    let links = link::list(service, caller, None, None, &epic, guided, page).await?;
    if links.data.len() > MAX_DOCUMENTS {
        rest(
            text,
            MAX_DOCUMENTS,
            links.total_count,
            "get_epic_steering_documents",
        );
    }
    for link in links.data.iter().take(MAX_DOCUMENTS) {
        let id = link.source.id.to_string();
        match item::get(service, caller, None, None, &id).await {
            Ok(document) => whole(text, "Steering document", &document),
            // A document the caller may not see guides others.
            Err(refusal) if refusal.code == Code::ResourceNotFound => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(())
}
