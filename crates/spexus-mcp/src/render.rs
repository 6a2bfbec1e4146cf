//! What agents read: rows of one line, items with as much detail as was asked for, and never an invisible character.

use serde::Serialize;
use serde_json::{Map, Value, json};
use spexus_domain::change::{Change, Entity};
use spexus_domain::item::Item;
use spexus_domain::link::Link;
use spexus_domain::page_key::PageKey;
use spexus_domain::query::{Page, PageRequest, Total};
use spexus_domain::search::Hit;
use spexus_domain::tree::Tree;
use spexus_domain::visibility::Visibility;
use spexus_domain::{Ruled, Uuid, nearest, text};

/// Titles in one-line rows are cut here.
const ROW_TITLE_CHARS: usize = 100;
/// What a one-line row may cost a model, in tenths of a token; a little below 60, because the cost is a guess.
const ROW_COST: usize = 560;
/// The beginning of a description in a summary.
const EXCERPT_CHARS: usize = 240;

/// How much of the text around a match is shown.
const HIT_SNIPPET_CHARS: usize = 80;
/// An outline larger than this is cut; a part of the tree can be asked for instead.
const MAX_OUTLINE_BYTES: usize = 40_000;

/// What a tool answers: a sentence and the payload.
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) value: Value,
    /// The item it is about, for a batch that speaks of it again.
    pub(crate) item: Option<Uuid>,
    /// The payload before it was cut, for a batch that speaks of a part of it.
    pub(crate) whole: Option<Value>,
}

impl Answer {
    /// A sentence and a payload.
    pub(crate) fn new(text: impl Into<String>, value: impl Serialize) -> Self {
        Self {
            text: text.into(),
            value: serde_json::to_value(value).unwrap_or_default(),
            item: None,
            whole: None,
        }
    }

    /// Says which item it is about.
    pub(crate) fn about(self, item: Uuid) -> Self {
        Self {
            item: Some(item),
            ..self
        }
    }
}

/// How much of an item is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The reference id.
    Ids,
    /// One line: id, status, title.
    #[default]
    Line,
    /// The fields, and how the description begins.
    Summary,
    /// Everything.
    Full,
}

impl Detail {
    pub(crate) const NAMES: [&str; 4] = ["ids", "line", "summary", "full"];

    pub(crate) fn parse(text: &str) -> Ruled<Self> {
        let all = [Detail::Ids, Detail::Line, Detail::Summary, Detail::Full];
        let named: Vec<_> = Self::NAMES.into_iter().zip(all).collect();
        nearest::find(&named, |(name, _)| name, text)
            .map(|(_, detail)| *detail)
            .ok_or_else(|| nearest::miss("detail", text, Self::NAMES))
    }
}

/// An item with as much detail as was asked for; with fields, only those.
pub(crate) fn item(item: &Item, detail: Detail, fields: &[String]) -> Value {
    if !fields.is_empty() {
        return chosen(item, fields);
    }
    match detail {
        Detail::Ids => json!(item.reference_id),
        Detail::Line => json!(line(item)),
        Detail::Summary => {
            let mut fields = known(item);
            for long in ["id", "description", "attributes", "created_at"] {
                fields.remove(long);
            }
            if !item.title.is_empty() {
                fields.insert(
                    "excerpt".to_owned(),
                    json!(text::excerpt(&item.description, EXCERPT_CHARS)),
                );
            }
            fields.into()
        }
        Detail::Full => known(item).into(),
    }
}

/// `REQ-012 [Draft] P2 @ann: Title`.
//= specs/spexus-mcp.md#answers
//# A row of a list MUST be one line with the id, the status and the title unless more detail is asked for.
pub(crate) fn line(item: &Item) -> String {
    let mut line = item.reference_id.to_string();
    if let Some(status) = &item.status {
        line.push_str(&format!(" [{status}]"));
    }
    if let Some(priority) = item.priority {
        line.push_str(&format!(" P{}", priority.number()));
    }
    if let Some(assignee) = &item.assignee {
        line.push_str(&format!(" @{}", assignee.username));
    }
    format!(
        "{line}: {}",
        affordable(&item.heading(), ROW_COST.saturating_sub(cost(&line)))
    )
}

/// As much of a title as this many tenths of a token pay for. A model reads a word of English in one or two tokens and
/// a sign of Chinese or Japanese in one or two as well, so characters alone say little.
fn affordable(title: &str, tenths: usize) -> String {
    let whole = text::excerpt(title, ROW_TITLE_CHARS);
    let mut left = tenths;
    let paid = whole.chars().take_while(|c| {
        let price = price(*c);
        let pays = price <= left;
        left = left.saturating_sub(price);
        pays
    });
    text::excerpt(&whole, paid.count())
}

fn cost(text: &str) -> usize {
    text.chars().map(price).sum()
}

/// Tenths of a token, on the dear side of what common tokenizers make of a character of its script.
fn price(c: char) -> usize {
    match c {
        'a'..='z' | 'A'..='Z' | ' ' => 3,
        '\u{0}'..='\u{7f}' => 6,
        '\u{80}'..='\u{7ff}' => 5,
        _ => 12,
    }
}

/// A page of items, with the total and the way on.
//= specs/spexus-mcp.md#answers
//# A list MUST tell how many there are in all, whether it was cut, and how to get the rest.
pub(crate) fn page(noun: &str, page: &Page<Item>, detail: Detail, fields: &[String]) -> Answer {
    let rows: Vec<Value> = page
        .data
        .iter()
        .map(|found| item(found, detail, fields))
        .collect();
    rows_of(noun, rows, page.total(), page.next_cursor.as_deref())
}

// Fulfils 003 R7.9
/// Rows of any sort, with the total and the way on.
pub(crate) fn rows_of(
    noun: &str,
    rows: Vec<Value>,
    total: impl Into<Total>,
    next_cursor: Option<&str>,
) -> Answer {
    let total = total.into();
    let text = match (rows.len(), next_cursor) {
        (0, _) => format!("No {noun} found."),
        (shown, None) => format!("{shown} of {total} {noun}."),
        (shown, Some(_)) => format!("{shown} of {total} {noun}; the rest with next_cursor as cursor."),
    };
    let mut value = json!({ "rows": rows, "total_count": null, "truncated": next_cursor.is_some() });
    match total {
        Total::Exact(rows) => value["total_count"] = json!(rows),
        Total::AtLeast(rows) => value["total_at_least"] = json!(rows),
    }
    if let Some(cursor) = next_cursor {
        value["next_cursor"] = json!(cursor);
    }
    Answer::new(text, value)
}

/// A page of a list the service gives whole.
pub(crate) fn part_of<T: PageKey>(
    noun: &str,
    all: Page<T>,
    page: &PageRequest,
    row: impl FnMut(&T) -> Value,
) -> Answer {
    let part = all.part(page);
    let rows = part.data.iter().map(row).collect();
    rows_of(noun, rows, part.total(), part.next_cursor.as_deref())
}

/// `REQ-012 [Draft] P2: Title — where the words stand`.
pub(crate) fn hit_line(hit: &Hit) -> String {
    let mut line = hit.reference_id.to_string();
    if let Some(status) = &hit.status {
        line.push_str(&format!(" [{status}]"));
    }
    if let Some(priority) = hit.priority {
        line.push_str(&format!(" P{}", priority.number()));
    }
    line.push_str(&format!(": {}", text::excerpt(&hit.title, ROW_TITLE_CHARS)));
    let snippet = text::excerpt(&hit.snippet, HIT_SNIPPET_CHARS);
    let place = if hit.comment_id.is_some() {
        " — in a comment: "
    } else {
        " — "
    };
    if !snippet.is_empty() && snippet != text::excerpt(&hit.title, HIT_SNIPPET_CHARS) {
        line.push_str(place);
        line.push_str(&snippet);
    }
    line
}

/// `REQ-001 depends_on REQ-002 (suspect)`, with the projects where it leads from one into another. Whoever is given a link
/// may see both of its ends.
pub(crate) fn link_line(link: &Link) -> String {
    let mark = if link.suspect { " (suspect)" } else { "" };
    format!("{}{mark}", link.label(Visibility::EVERY))
}

/// A change: who did what to what, and which fields.
pub(crate) fn change(change: &Change) -> Value {
    let fields: Vec<&str> = change.fields.iter().map(|field| field.field.as_str()).collect();
    let mut value = json!({
        "seq": change.seq, "at": change.at, "user": change.user, "what": format!("{} {}", change.action.name(), change.label),
        "rev": change.rev, "fields": fields,
    });
    if change.entity != Entity::Item {
        value["entity"] = json!(change.entity);
    }
    if let Some(intent) = &change.intent {
        value["intent"] = json!(intent);
    }
    if !change.client.is_empty() {
        value["client"] = json!(change.client);
    }
    value
}

/// A tree as an indented outline, and whether it had to be cut to stay readable.
pub(crate) fn outline(tree: &Tree) -> (String, bool) {
    let mut text = String::new();
    let mut waiting = vec![(tree, 0_usize)];
    while let Some((node, depth)) = waiting.pop() {
        if text.len() > MAX_OUTLINE_BYTES {
            return (text, true);
        }
        text.push_str(&"  ".repeat(depth));
        text.push_str(&line(&node.item));
        text.push('\n');
        waiting.extend(node.children.iter().rev().map(|child| (child, depth + 1)));
    }
    (text, false)
}

/// An item's fields without what only the database needs.
fn known(item: &Item) -> Map<String, Value> {
    let mut fields = match serde_json::to_value(item) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    for inner in ["content_hash", "position", "project"] {
        fields.remove(inner);
    }
    fields
}

/// The fields an item can be shown with.
const FIELDS: [&str; 20] = [
    "id",
    "reference_id",
    "project",
    "kind",
    "title",
    "description",
    "status",
    "priority",
    "type",
    "parent",
    "acceptance_criterion",
    "assignee",
    "creator",
    "position",
    "attributes",
    "content_hash",
    "rev",
    "created_at",
    "updated_at",
    "deleted_at",
];

/// Refuses a field no item has.
//= specs/spexus-mcp.md#tools
//# An argument that is accepted MUST be used, and a value that means nothing MUST be refused with what is allowed.
pub(crate) fn check_fields(wanted: &[String]) -> Ruled<()> {
    let odd = wanted.iter().find(|name| !FIELDS.contains(&name.as_str()));
    odd.map_or(Ok(()), |name| Err(nearest::miss("fields", name, FIELDS)))
}

fn chosen(item: &Item, wanted: &[String]) -> Value {
    let mut fields = match serde_json::to_value(item) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.retain(|name, _| name == "reference_id" || wanted.iter().any(|one| one == name));
    fields.into()
}

/// Takes invisible characters out of every text: they can carry words only a model reads.
//= specs/spexus-mcp.md#answers
//# Invisible characters MUST be taken out of everything people wrote before an agent reads it.
pub(crate) fn visible(value: &mut Value) {
    match value {
        Value::String(text) if !text.is_ascii() && text.chars().any(is_invisible) => {
            text.retain(|c| !is_invisible(c));
        }
        Value::Array(list) => list.iter_mut().for_each(visible),
        Value::Object(fields) => fields.values_mut().for_each(visible),
        _ => {}
    }
}

/// Characters that take no place and mean nothing by themselves. The joiners of scripts and emoji are not among them.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{180E}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{FEFF}'
        | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_cut_by_what_it_costs_to_read() {
        let short = "Sign in with a passkey";
        assert_eq!(affordable(short, 400), short);
        let english = affordable(&"authentication ".repeat(20), 400);
        let japanese = affordable(&"要件定義".repeat(20), 400);
        assert!(
            english.chars().count() > 90 && japanese.chars().count() < 35,
            "{english} {japanese}"
        );
        assert!(japanese.ends_with('…') && cost(&japanese) <= 400, "{japanese}");
        assert_eq!(affordable("要件", 0), "…");
    }

    //= specs/spexus-mcp.md#answers
    //= type=test
    //# Invisible characters MUST be taken out of everything people wrote before an agent reads it.
    #[test]
    fn invisible_characters_are_taken_out_and_words_stay() {
        let mut value = json!({ "a": ["x\u{200B}y\u{E0041}", { "b": "семья 👨‍👩‍👧" }], "n": 1 });
        visible(&mut value);
        assert_eq!(value, json!({ "a": ["xy", { "b": "семья 👨‍👩‍👧" }], "n": 1 }));
    }

    #[test]
    fn details_are_read_by_name_and_a_miss_tells_the_options() {
        assert_eq!(Detail::parse("FULL").unwrap(), Detail::Full);
        assert!(Detail::parse("ful").unwrap_err().hint.contains("full"));
    }
}
