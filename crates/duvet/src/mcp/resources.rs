//! The tree as MCP resources: lists in pages, templates with completion, and reading.

use super::BASE;
use super::snapshots::{STAMP, SnapshotHolder, View};
use super::tree::{self, Node};
use crate::requirement_index::Denied;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_protocol::{ResourceContents, uri};
use mcp_server::{Completer, Completing, Context, Listing, Resource, ResourceSource, ResourceTemplate, Stop};
use refusal::{Code, Refusal};
use std::collections::BTreeMap;
use std::sync::Arc;

const JSON: &str = "application/json";

/// Entries of one page of `resources/list`.
const PAGE_ENTRIES: usize = 100;

/// The resources of a holder.
pub(super) struct Tree(pub(super) Arc<SnapshotHolder>);

impl ResourceSource for Tree {
    fn list<'a>(
        &'a self,
        _cx: &'a Context,
        from: &'a str,
        under: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing<Resource>, Refusal>> {
        // A cursor knows the path it belongs to: a client that pages need not say it again.
        let (from, path) = match from.split_once(' ') {
            Some((from, path)) => (from.parse().unwrap_or(0), Ok(path.to_owned())),
            None => (0, path_of(under.unwrap_or(BASE))),
        };
        async move {
            let path = path?;
            self.0.ask(move |view| page(view, from, &path)).await?
        }
        .boxed()
    }

    fn read<'a>(
        &'a self,
        cx: &'a Context,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContents>>, Stop>> {
        async move { Ok(Some(read(&self.0, cx, uri.to_owned()).await?)) }.boxed()
    }
}

/// Every pattern of addresses.
pub(super) fn templates(holder: &Arc<SnapshotHolder>) -> Vec<ResourceTemplate> {
    let section = "/specifications/{spec_id}/sections/{section_id}";
    let requirement = format!("{section}/requirements/{{req_identifier}}");
    let paged = "{?offset,limit}";
    let patterns = [
        (
            format!("/specifications{paged}"),
            "specifications",
            "All specifications: id, name, url, description.",
        ),
        (
            "/specifications/{spec_id}".to_owned(),
            "specification",
            "One specification.",
        ),
        (
            format!("/specifications/{{spec_id}}/sections{paged}"),
            "sections",
            "Sections of a specification: id, title.",
        ),
        (section.to_owned(), "section", "One section with its text."),
        (
            format!("{section}/requirements{paged}"),
            "section_requirements",
            "Requirements of a section: identifier, text.",
        ),
        (
            requirement.clone(),
            "requirement",
            "One requirement with its status and citations.",
        ),
        (
            format!("{requirement}/citations{paged}"),
            "requirement_citations",
            "Citations of a requirement: id.",
        ),
        (
            format!("{requirement}/citations/{{+citation_id}}"),
            "requirement_citation",
            "One citation with the code around it.",
        ),
        (
            format!("/requirements{paged}"),
            "requirements",
            "All requirements of the project.",
        ),
        (
            "/requirements/{req_identifier}".to_owned(),
            "requirement_by_id",
            "One requirement by its identifier alone.",
        ),
        (
            format!("/citations{paged}"),
            "citations",
            "All citations of the project.",
        ),
        (
            "/citations/{+citation_id}".to_owned(),
            "citation",
            "One citation by its file and line alone.",
        ),
    ];
    let template = |(path, name, description): (String, &str, &str)| {
        let reading = Arc::clone(holder);
        let mut template =
            ResourceTemplate::new(format!("{BASE}{path}"), name, description, move |cx, request| {
                let holder = Arc::clone(&reading);
                async move { read(&holder, &cx, request.uri).await }
            });
        template.mime_type = Some(JSON.to_owned());
        template.completer = Some(completer(holder));
        template
    };
    patterns.into_iter().map(template).collect()
}

/// Suggests ids of specifications, sections, requirements and citations.
//= specs/duvet.md#mcp-server
//# Ids of specifications, sections and requirements MUST be completed from their beginning.
pub(super) fn completer(holder: &Arc<SnapshotHolder>) -> Completer {
    let holder = Arc::clone(holder);
    Completer::new(move |_cx, completing| {
        let holder = Arc::clone(&holder);
        async move { holder.ask(move |view| suggestions(view, &completing)).await? }
    })
}

// Fulfils 004 §6d
/// What a resource's address means, checked before anything is looked up.
fn path_of(address: &str) -> Result<String, Refusal> {
    let address = uri::canonical(address)?;
    match address.strip_prefix(BASE) {
        Some(path) => uri::unescape(path),
        None => Err(Refusal::new(
            Code::UriOutOfBounds,
            format!("{address:?} is not a resource of this project"),
        )
        .hint("Resources begin with `duvet:///`; list them to see which there are.")),
    }
}

async fn read(
    holder: &Arc<SnapshotHolder>,
    cx: &Context,
    address: String,
) -> Result<Vec<ResourceContents>, Stop> {
    let (bare, query) = address.split_once('?').unwrap_or((&address, ""));
    let path = path_of(bare)?;
    let offset = number(query, "offset")?.unwrap_or(0);
    let limit = number(query, "limit")?.unwrap_or(usize::MAX);
    // Only a citation shows lines of a file, so only there it matters in which folders the client works.
    let client = match path.contains("citations/") {
        true => cx.client_roots().await?,
        false => None,
    };
    let answer = holder.ask_inside(client, move |view| contents(view, &address, &path, offset, limit));
    Ok(answer.await??)
}

fn contents(
    view: &View<'_>,
    address: &str,
    path: &str,
    offset: usize,
    limit: usize,
) -> Result<Vec<ResourceContents>, Refusal> {
    let node = tree::find(&view.requirement_index, path).ok_or_else(|| not_found(view, path))?;
    whole(view, node)?;
    let mut value = tree::value(view, node)?;
    let mut meta = serde_json::Map::from_iter([(STAMP.to_owned(), view.stamp())]);
    if let (true, Some(rows)) = (tree::is_list(node), value.as_array_mut()) {
        let total = rows.len();
        let end = offset.saturating_add(limit).min(total);
        *rows = rows.drain(offset.min(end)..end).collect();
        meta.insert("duvet/total".to_owned(), total.into());
        if end < total {
            let next = format!("{}?offset={end}&limit={limit}", tree::uri(path));
            meta.insert("duvet/next".to_owned(), next.into());
        }
    }
    let mut contents = ResourceContents::text(address, JSON, value.to_string());
    contents.meta = meta;
    Ok(vec![contents])
}

/// One page of what lies below a path.
fn page(view: &View<'_>, from: usize, path: &str) -> Result<Listing<Resource>, Refusal> {
    let node = tree::find(&view.requirement_index, path).ok_or_else(|| not_found(view, path))?;
    whole(view, node)?;
    let members = tree::members(view, node);
    let end = from.saturating_add(PAGE_ENTRIES).min(members.len());
    let next = (end < members.len()).then(|| format!("{end} {path}"));
    let entries = members.into_iter().skip(from).take(PAGE_ENTRIES).map(resource);
    Ok(Listing {
        entries: entries.collect(),
        next,
    })
}

/// Refuses what would be read as "there is nothing" when something was not read that the node is about.
fn whole(view: &View<'_>, node: Node) -> Result<(), Refusal> {
    match node {
        // A table of contents, and the lines of one file.
        Node::Root | Node::Citation(_) => view.needs_no_text(),
        Node::Specification(specification)
        | Node::Sections(specification)
        | Node::Section(specification, _)
        | Node::SectionRequirements(specification, _) => view.narrow_to(specification),
        Node::Requirement(index) | Node::RequirementCitations(index) => {
            view.narrow_to(view.snapshot().analysis.requirements[index].specification);
        }
        Node::Specifications | Node::Requirements | Node::Citations => {}
    }
    view.whole()
}

/// An entry of a list. It is only shown: reading goes by address.
fn resource(member: tree::Member) -> Resource {
    let nothing = |_cx: Context, _request| async { Ok::<_, Refusal>(Vec::new()) };
    let mut resource = Resource::new(
        tree::uri(&member.path),
        member.name,
        member.description,
        JSON,
        nothing,
    );
    resource.title = member
        .fields
        .get("title")
        .and_then(|title| title.as_str())
        .map(str::to_owned);
    resource.extra = member.fields;
    resource
}

/// Nothing there, or it was not read; a path to a citation may be a try to read some other file, which has an answer of
/// its own.
fn not_found(view: &View<'_>, path: &str) -> Refusal {
    if let Some((_, id)) = path.split_once("citations/") {
        let denied =
            crate::requirement_index::get_citation_context(&view.requirement_index, view.root, id, 0).err();
        let denied = denied.unwrap_or(Denied::Unknown);
        view.needs_no_text();
        return match (&denied, view.whole()) {
            (Denied::Outside | Denied::Unknown, Err(incomplete)) => incomplete,
            _ => tree::refused(&denied, id),
        };
    }
    let named = path.trim_start_matches('/').strip_prefix("specifications/");
    let named = named.and_then(|rest| rest.split('/').next());
    if let Some(specification) = named.and_then(|id| view.requirement_index.find_specification(id)) {
        view.narrow_to(specification);
    }
    match view.whole() {
        Err(incomplete) => incomplete,
        Ok(()) => Refusal::new(Code::ResourceNotFound, format!("there is no resource {path:?}"))
            .fact("uri", tree::uri(path))
            .hint("Go down from `/specifications` or look into `/requirements`."),
    }
}

fn number(query: &str, name: &str) -> Result<Option<usize>, Refusal> {
    let found = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key == name);
    let Some((_, value)) = found else {
        return Ok(None);
    };
    let wrong = |_| {
        Refusal::field(
            Code::InvalidParams,
            name,
            format!("{value:?} is no number"),
            "a number of entries",
        )
    };
    value.parse().map(Some).map_err(wrong)
}

fn suggestions(view: &View<'_>, completing: &Completing) -> Result<Vec<String>, Refusal> {
    let requirement_index = &view.requirement_index;
    let typed = completing.value.to_lowercase();
    let fits = |id: &str, words: &str| {
        id.to_lowercase().starts_with(&typed) || (!typed.is_empty() && words.to_lowercase().contains(&typed))
    };
    let place = place(view, &completing.context);
    match (completing.argument.as_str(), place) {
        ("spec_id" | "citation_id", _) => view.needs_no_text(),
        (_, Some((specification, _))) => view.narrow_to(specification),
        _ => {}
    }
    view.whole()?;
    Ok(match completing.argument.as_str() {
        "spec_id" => {
            let all = requirement_index.specifications().into_iter();
            all.filter(|s| fits(&s.id, &s.name)).map(|s| s.id).collect()
        }
        "section_id" => {
            let Some((specification, _)) = place else {
                return Ok(Vec::new());
            };
            let all = requirement_index.sections(specification).into_iter();
            all.filter(|s| fits(&s.id, &s.title)).map(|s| s.id).collect()
        }
        "req_identifier" => {
            let node = match place {
                Some((specification, Some(section))) => Node::SectionRequirements(specification, section),
                _ => Node::Requirements,
            };
            let text = |m: &tree::Member| {
                m.fields
                    .get("text")
                    .and_then(|t| t.as_str())
                    .unwrap_or("")
                    .to_owned()
            };
            let all = tree::members(view, node).into_iter();
            all.filter(|m| fits(&m.name, &text(m))).map(|m| m.name).collect()
        }
        "citation_id" => {
            let all = requirement_index.citations().into_iter();
            let mut ids: Vec<String> = all.filter(|c| fits(&c.id, &c.id)).map(|c| c.id).collect();
            ids.sort_unstable();
            ids.dedup();
            ids
        }
        _ => Vec::new(),
    })
}

/// The specification and the section that are filled in already.
fn place(view: &View<'_>, filled: &BTreeMap<String, String>) -> Option<(usize, Option<usize>)> {
    let specification = view
        .requirement_index
        .find_specification(filled.get("spec_id")?)?;
    let text = view.snapshot().analysis.specifications[specification].specification();
    let section = filled
        .get("section_id")
        .and_then(|id| text.and_then(|text| text.find(id)));
    Some((specification, section))
}
