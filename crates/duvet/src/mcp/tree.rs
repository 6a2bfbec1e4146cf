//! The tree of resources: what a path means, what stands there, and what lies below it.
//!
//! Paths are those of document 004. A requirement and a citation can also be read by id alone, below the two lists of
//! the whole project.

use super::BASE;
use super::snapshots::View;
use crate::engine::Lookup;
use crate::requirement_index::{Denied, RequirementIndex, get_citation_context};
use refusal::{Code, Refusal};
use serde_json::{Map, Value, json};

/// Lines around a citation that is read as a resource.
const CONTEXT_LINES: usize = 3;

/// One place in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Root,
    Specifications,
    Specification(usize),
    Sections(usize),
    Section(usize, usize),
    SectionRequirements(usize, usize),
    Requirements,
    Requirement(usize),
    RequirementCitations(usize),
    Citations,
    Citation(u32),
}

/// Something that lies below a node: its path, what people call it, and its members in the words of document 004.
pub(super) struct Member {
    pub(super) path: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) fields: Map<String, Value>,
}

// Fulfils 004 §3.1a, 004 §3.1b, 004 §3.2a, 004 §3.2b, 004 §3.3a, 004 §3.3b, 004 §3.4a, 004 §3.5a, 004 §3.5b
/// The node a path means.
//= specs/duvet.md#mcp-server
//# Every list and every object of the tree MUST be readable by its path and by its URI.
pub(super) fn find(requirement_index: &RequirementIndex<'_>, path: &str) -> Option<Node> {
    match path.trim_matches('/') {
        "" => return Some(Node::Root),
        "specifications" => return Some(Node::Specifications),
        "requirements" => return Some(Node::Requirements),
        "citations" => return Some(Node::Citations),
        _ => {}
    }
    let path = path.trim_start_matches('/');
    if let Some(id) = path.strip_prefix("citations/") {
        return requirement_index.find_citation(id).map(Node::Citation);
    }
    if let Some(rest) = path.strip_prefix("requirements/") {
        return below_requirement(requirement_index, rest, None);
    }
    let (id, rest) = split(path.strip_prefix("specifications/")?);
    let specification = requirement_index.find_specification(id)?;
    match rest {
        "" => Some(Node::Specification(specification)),
        "sections" => Some(Node::Sections(specification)),
        _ => below_section(requirement_index, specification, rest.strip_prefix("sections/")?),
    }
}

/// What stands at a node, without the members of lists.
pub(super) fn value(view: &View<'_>, node: Node) -> Result<Value, Refusal> {
    let requirement_index = &view.requirement_index;
    Ok(match node {
        Node::Specification(index) => json!(requirement_index.specification(index)),
        Node::Section(specification, section) => json!(requirement_index.section(specification, section)),
        Node::Requirement(index) => json!(requirement_index.status(index)),
        Node::Citation(id) => citation(view, &requirement_index.place(id))?,
        _ => Value::Array(members(view, node).into_iter().map(|m| m.fields.into()).collect()),
    })
}

/// Whether a node is a list, which is read in pages.
pub(super) fn is_list(node: Node) -> bool {
    !matches!(
        node,
        Node::Specification(_) | Node::Section(..) | Node::Requirement(_) | Node::Citation(_)
    )
}

/// What lies directly below a node.
pub(super) fn members(view: &View<'_>, node: Node) -> Vec<Member> {
    let requirement_index = &view.requirement_index;
    match node {
        Node::Root => root(requirement_index),
        Node::Specifications => specifications(requirement_index).collect(),
        Node::Specification(index) => {
            let path = format!("{}/sections", specification_path(requirement_index, index));
            vec![list(
                path,
                format!("Sections of {}", requirement_index.specification(index).name),
            )]
        }
        Node::Sections(index) => sections(requirement_index, index),
        Node::Section(specification, section) => {
            let path = format!(
                "{}/requirements",
                section_path(requirement_index, specification, section)
            );
            vec![list(path, "Requirements of the section".to_owned())]
        }
        Node::SectionRequirements(specification, section) => {
            let all = view.snapshot().analysis.requirements.iter().enumerate();
            all.filter(|(_, r)| (r.specification, r.section) == (specification, Some(section)))
                .filter(|(index, _)| view.snapshot().is_first(*index))
                .map(|(index, _)| requirement(requirement_index, index))
                .collect()
        }
        Node::Requirements => view
            .snapshot()
            .distinct()
            .map(|index| requirement(requirement_index, index))
            .collect(),
        Node::Requirement(index) => {
            let path = format!("{}/citations", requirement_index.requirement_path(index));
            vec![list(path, "Citations of the requirement".to_owned())]
        }
        Node::RequirementCitations(index) => {
            let path = requirement_index.requirement_path(index);
            let ids = requirement_index.requirement_citations(index).into_iter();
            ids.map(|id| citation_member(format!("{path}/citations/{id}"), id))
                .collect()
        }
        Node::Citations => {
            let all = requirement_index.citations().into_iter();
            all.map(|entry| {
                let mut member = citation_member(entry.full_path, entry.id);
                member
                    .fields
                    .insert("requirements".to_owned(), entry.requirements.into());
                member
            })
            .collect()
        }
        Node::Citation(_) => Vec::new(),
    }
}

/// The address of a path. What a URI may not hold is escaped; a path's own slashes and colons stay.
pub(super) fn uri(path: &str) -> String {
    let mut out = String::from(BASE);
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/:@!$&'()*+,;=".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Why a citation's lines are not shown, as a refusal.
//= specs/duvet.md#mcp-server
//# A path that climbs MUST be refused with 1036, and a file that is not a source of the project with 1039.
pub(super) fn refused(denied: &Denied, id: &str) -> Refusal {
    match denied {
        Denied::Traversal => Refusal::new(
            Code::PathTraversalDetected,
            format!("{id:?} leads out of the project"),
        ),
        Denied::Outside => Refusal::new(
            Code::UriOutOfBounds,
            format!("{id:?} is in no source file of the project"),
        )
        .hint("Use an id of the list `/citations`."),
        Denied::Link => Refusal::new(
            Code::SymlinkTraversalDetected,
            format!("{id:?} leads out of the project through a link"),
        ),
        Denied::Changed => Refusal::new(
            Code::DependencyUnavailable,
            format!("the file of {id:?} changes faster than it can be read"),
        ),
        Denied::Unknown => Refusal::new(Code::ResourceNotFound, format!("there is no citation {id:?}"))
            .hint("Use an id of the list `/citations`: the file and the line of the citation's first line."),
    }
}

fn root(requirement_index: &RequirementIndex<'_>) -> Vec<Member> {
    let lists = [
        ("/specifications", "All specifications of the project"),
        ("/requirements", "All requirements of the project"),
        ("/citations", "All citations of the project"),
    ];
    let lists = lists.map(|(path, description)| list(path.to_owned(), description.to_owned()));
    lists
        .into_iter()
        .chain(specifications(requirement_index))
        .collect()
}

fn specifications(requirement_index: &RequirementIndex<'_>) -> impl Iterator<Item = Member> {
    let all = requirement_index.specifications().into_iter().enumerate();
    all.map(|(index, entry)| Member {
        path: specification_path(requirement_index, index),
        name: entry.name.clone(),
        description: entry.description.clone(),
        fields: fields(entry),
    })
}

fn sections(requirement_index: &RequirementIndex<'_>, specification: usize) -> Vec<Member> {
    let path = specification_path(requirement_index, specification);
    let all = requirement_index.sections(specification).into_iter();
    all.map(|entry| Member {
        path: format!("{path}/sections/{}", entry.id),
        name: entry.id.clone(),
        description: entry.title.clone(),
        fields: fields(entry),
    })
    .collect()
}

fn requirement(requirement_index: &RequirementIndex<'_>, index: usize) -> Member {
    let requirement = &requirement_index.snapshot.analysis.requirements[index];
    let entry = requirement_index.requirement(index);
    Member {
        path: entry.full_path.clone(),
        name: entry.identifier.clone(),
        description: format!("{}, {}", requirement.level.name(), requirement.coverage.label()),
        fields: fields(entry),
    }
}

fn citation_member(path: String, id: String) -> Member {
    let fields = fields(json!({ "full_path": path, "id": id }));
    Member {
        path,
        name: id,
        description: "Citation".to_owned(),
        fields,
    }
}

fn list(path: String, description: String) -> Member {
    Member {
        name: path.trim_start_matches('/').to_owned(),
        fields: fields(json!({ "full_path": path })),
        path,
        description,
    }
}

fn fields(value: impl serde::Serialize) -> Map<String, Value> {
    match json!(value) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

// Fulfils 004 §3.4b
fn citation(view: &View<'_>, id: &str) -> Result<Value, Refusal> {
    view.check_file(id)?;
    let found = get_citation_context(&view.requirement_index, view.root, id, CONTEXT_LINES)
        .map_err(|denied| view.denied(&denied, id))?;
    Ok(json!({
        "file_path": found.file_path,
        "line_number": found.line_number,
        "comment_text": found.comment_text,
        "context_lines": found.context,
    }))
}

fn below_section(requirement_index: &RequirementIndex<'_>, specification: usize, path: &str) -> Option<Node> {
    let text = requirement_index.snapshot.analysis.specifications[specification].specification();
    let section = |id: &str| text.and_then(|text| text.find(id));
    if let Some(id) = path.strip_suffix("/requirements") {
        return Some(Node::SectionRequirements(specification, section(id)?));
    }
    match path.split_once("/requirements/") {
        Some((id, rest)) => below_requirement(requirement_index, rest, Some((specification, section(id)))),
        None => Some(Node::Section(specification, section(path)?)),
    }
}

/// `within` is where the path says that the requirement stands; a requirement of another place is not there.
fn below_requirement(
    requirement_index: &RequirementIndex<'_>,
    path: &str,
    within: Option<(usize, Option<usize>)>,
) -> Option<Node> {
    let (id, rest) = split(path);
    let snapshot = requirement_index.snapshot;
    let found = match snapshot.find(id) {
        Lookup::Unknown => Vec::new(),
        Lookup::One(index) => vec![index],
        Lookup::Several(indices) => indices,
    };
    let is_there = |index: &usize| {
        let requirement = &snapshot.analysis.requirements[*index];
        within.is_none_or(|place| place == (requirement.specification, requirement.section))
    };
    let mut there = found.into_iter().filter(is_there);
    // A text that stands in several sections has no place of its own.
    let index = there.next().filter(|_| there.next().is_none())?;
    match rest {
        "" => Some(Node::Requirement(index)),
        "citations" => Some(Node::RequirementCitations(index)),
        _ => {
            let citation = requirement_index.find_citation(rest.strip_prefix("citations/")?)?;
            let related = &snapshot.analysis.requirements[index].coverage.related;
            related.contains(&citation).then_some(Node::Citation(citation))
        }
    }
}

fn split(path: &str) -> (&str, &str) {
    path.split_once('/').unwrap_or((path, ""))
}

fn specification_path(requirement_index: &RequirementIndex<'_>, index: usize) -> String {
    format!("/specifications/{}", requirement_index.specification_id(index))
}

fn section_path(requirement_index: &RequirementIndex<'_>, specification: usize, section: usize) -> String {
    let path = specification_path(requirement_index, specification);
    let text = requirement_index.snapshot.analysis.specifications[specification].specification();
    let id = text.map_or("", |text| text.sections[section].id.as_str());
    format!("{path}/sections/{id}")
}
