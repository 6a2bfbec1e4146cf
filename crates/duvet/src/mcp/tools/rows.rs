//! What tools that answer with lists share: filters, pages and how much a row says.

use super::View;
use crate::specification::keyword::Level;
use mcp_protocol::{Content, ToolResult};
use refusal::{Code, Refusal};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// How much a row says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Detail {
    /// What document 004 names.
    #[default]
    Brief,
    /// Everything that is known.
    Full,
}

/// Rows of a page when nobody says how many: what a model reads with profit.
const PAGE_ROWS: usize = 50;

/// Which part of a list is asked for.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Page {
    limit: Option<usize>,
    cursor: Option<String>,
}

/// Which requirements are asked for.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Filter {
    spec_id: Option<String>,
    section_id: Option<String>,
    level: Option<String>,
    status: Option<String>,
}

impl Filter {
    /// A test for requirements by index; a name nobody has is refused, not silently empty.
    pub(super) fn test<'v>(&self, view: &'v View<'_>) -> Result<impl Fn(&usize) -> bool + 'v, Refusal> {
        let specification = match &self.spec_id {
            Some(name) => Some(self::specification(view, name)?),
            None => None,
        };
        if let Some(specification) = specification {
            view.narrow_to(specification);
        }
        let section = match (&self.section_id, specification) {
            (Some(id), Some(specification)) => Some(section(view, specification, id)?),
            (Some(_), None) => {
                let problem = "means nothing without its specification";
                return Err(Refusal::field(
                    Code::InvalidParams,
                    "section_id",
                    problem,
                    "spec_id beside it",
                ));
            }
            (None, _) => None,
        };
        let level = match &self.level {
            Some(name) => {
                Some(Level::from_name(&name.to_ascii_uppercase()).ok_or_else(|| wrong_level(name))?)
            }
            None => None,
        };
        let status = self.status.clone();
        Ok(move |index: &usize| {
            let requirement = &view.snapshot().analysis.requirements[*index];
            specification.is_none_or(|wanted| requirement.specification == wanted)
                && section.is_none_or(|wanted| requirement.section == Some(wanted))
                && level.is_none_or(|wanted| requirement.level == wanted)
                && status
                    .as_deref()
                    .is_none_or(|wanted| requirement.coverage.status().name() == wanted)
        })
    }
}

/// One requirement as `search_requirements` and its siblings answer it.
pub(super) fn requirement(view: &View<'_>, index: usize, detail: Detail) -> Value {
    match detail {
        Detail::Brief => json!(view.requirement_index.requirement(index)),
        Detail::Full => json!(view.requirement_index.status(index)),
    }
}

/// The rows of one page: as the bare array of document 004 for those who read text, with what pages need beside it
/// for programs.
//= specs/duvet.md#mcp-server
//# A list MUST come in pages, the first of them short unless another length is asked for, and name the cursor of the next.
pub(super) fn answer<T>(
    member: &str,
    all: Vec<T>,
    page: &Page,
    row: impl Fn(T) -> Value,
) -> Result<ToolResult, Refusal> {
    let from = match &page.cursor {
        Some(cursor) => cursor.parse().map_err(|_| wrong_cursor(cursor))?,
        None => 0,
    };
    let total = all.len();
    let rows: Vec<Value> = all
        .into_iter()
        .skip(from)
        .take(page.limit.unwrap_or(PAGE_ROWS))
        .map(row)
        .collect();
    let end = from.saturating_add(rows.len());
    let rows = Value::Array(rows);
    let mut content = vec![Content::text(rows.to_string())];
    let mut structured = Map::from_iter([(member.to_owned(), rows), ("total".to_owned(), total.into())]);
    if end < total {
        content.push(Content::text(format!(
            "{} to {end} of {total}; go on with cursor \"{end}\".",
            from + 1
        )));
        structured.insert("next_cursor".to_owned(), end.to_string().into());
    }
    let mut result = ToolResult::of(content);
    result.structured_content = Some(structured.into());
    Ok(result)
}

/// Schema of arguments: the given ones, and those every list takes.
pub(super) fn list_input(own: Value, required: &[&str], with_filter: bool) -> Value {
    let mut properties = json!({
        "limit": { "type": "integer", "minimum": 1, "maximum": 10000, "description": format!("Rows at most; {PAGE_ROWS} when left out.") },
        "cursor": { "type": "string", "pattern": "^[0-9]{1,9}$", "description": "`next_cursor` of the page before." },
        "detail": { "enum": ["brief", "full"], "description": "`full` says everything that is known of each row." },
    });
    let filter = json!({
        "spec_id": { "type": "string", "description": "Only of this specification: id, URL or path." },
        "section_id": { "type": "string", "description": "Only of this section of it." },
        "level": { "type": "string", "maxLength": 16, "description": "Only of this level: MUST, SHOULD, MAY, or AUTO, which has no keyword. In any case." },
        "status": {
            "enum": ["not_started", "partially_implemented", "fully_implemented"],
            "description": "Only in this state.",
        },
    });
    let more = [own, if with_filter { filter } else { Value::Null }];
    for (name, schema) in more.iter().filter_map(Value::as_object).flatten() {
        properties[name] = schema.clone();
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Schema of a list's answer: rows with at least these members.
pub(super) fn list_output(member: &str, row: &[(&str, &str)]) -> Value {
    let properties: Map<String, Value> = row
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind })))
        .collect();
    let required: Vec<&str> = row.iter().map(|(name, _)| *name).collect();
    json!({
        "type": "object",
        "properties": {
            member: { "type": "array", "items": { "type": "object", "properties": properties, "required": required } },
            "total": { "type": "integer", "description": "Rows of all pages." },
            "next_cursor": { "type": "string", "description": "Where the next page begins, when there is one." },
        },
        "required": [member, "total"],
    })
}

/// The specification that a name means.
pub(super) fn specification(view: &View<'_>, name: &str) -> Result<usize, Refusal> {
    let unknown = |problem| Refusal::field(Code::InvalidParams, "spec_id", problem, "");
    view.requirement_index.resolve_spec_id(name).map_err(unknown)?;
    view.requirement_index
        .find_specification(name)
        .ok_or_else(|| unknown(format!("no specification is called {name:?}")))
}

/// The section of a specification that an id means.
pub(super) fn section(view: &View<'_>, specification: usize, id: &str) -> Result<usize, Refusal> {
    let text = view.snapshot().analysis.specifications[specification].specification();
    text.and_then(|text| text.find(id)).ok_or_else(|| {
        let known = text
            .into_iter()
            .flat_map(|text| text.sections.iter().map(|s| s.id.as_str()));
        let nearest = crate::nearest::name(id, known)
            .map(|near| format!("did you mean {near:?}?"))
            .unwrap_or_default();
        Refusal::field(
            Code::InvalidParams,
            "section_id",
            format!("there is no section {id:?}"),
            nearest,
        )
    })
}

fn wrong_level(name: &str) -> Refusal {
    let problem = format!("{name:?} is no level");
    Refusal::field(Code::InvalidParams, "level", problem, "MUST, SHOULD, MAY or AUTO")
}

fn wrong_cursor(cursor: &str) -> Refusal {
    Refusal::field(
        Code::InvalidParams,
        "cursor",
        format!("{cursor:?} is no cursor"),
        "the `next_cursor` of the page before",
    )
}
