//! Items of every kind: read, list, make, change. One text for all kinds; the kind's rules say what differs.

use super::spec::{Effect, Invocation, Spec, read};
use crate::Toolset;
use crate::render::{self, Answer, Detail};
use crate::schema::{Field, answer, choice, field, number, object, text};
use mcp_protocol::Arguments;
use serde_json::{Value, json};
use spexus_domain::item::{Item, ItemPatch, NewItem};
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Kind, Refusal, Ruled};
use spexus_service::item::{self, ItemQuery};

/// What differs between kinds in words.
struct Words {
    kind: Kind,
    /// `epic`, as it stands in tool names.
    one: &'static str,
    many: &'static str,
    get: [&'static str; 2],
    list: [&'static str; 2],
    create: [&'static str; 2],
    update: [&'static str; 2],
    /// The argument that names it.
    id: &'static str,
    toolset: Toolset,
}

/// How to read on where an item is too long for one answer.
const LONG_ITEM: &str = "A long text goes on with get_item and offset = the characters shown so far. resources/read of its address gives the item whole.";

const WORDS: [Words; 5] = [
    Words {
        kind: Kind::Epic,
        one: "epic",
        many: "epics",
        get: ["get_epic", "Get an epic"],
        list: ["list_epics", "List epics"],
        create: ["create_epic", "Create an epic"],
        update: ["update_epic", "Update an epic"],
        id: "epic_id",
        toolset: Toolset::Core,
    },
    Words {
        kind: Kind::UserStory,
        one: "user story",
        many: "user stories",
        get: ["get_user_story", "Get a user story"],
        list: ["list_user_stories", "List user stories"],
        create: ["create_user_story", "Create a user story"],
        update: ["update_user_story", "Update a user story"],
        id: "user_story_id",
        toolset: Toolset::Core,
    },
    Words {
        kind: Kind::AcceptanceCriterion,
        one: "acceptance criterion",
        many: "acceptance criteria",
        get: ["get_acceptance_criteria", "Get an acceptance criterion"],
        list: ["list_acceptance_criteria", "List acceptance criteria"],
        create: ["create_acceptance_criteria", "Create an acceptance criterion"],
        update: ["update_acceptance_criteria", "Update an acceptance criterion"],
        id: "acceptance_criteria_id",
        toolset: Toolset::Core,
    },
    Words {
        kind: Kind::Requirement,
        one: "requirement",
        many: "requirements",
        get: ["get_requirement", "Get a requirement"],
        list: ["list_requirements", "List requirements"],
        create: ["create_requirement", "Create a requirement"],
        update: ["update_requirement", "Update a requirement"],
        id: "requirement_id",
        toolset: Toolset::Core,
    },
    Words {
        kind: Kind::SteeringDocument,
        one: "steering document",
        many: "steering documents",
        get: ["get_steering_document", "Get a steering document"],
        list: ["list_steering_documents", "List steering documents"],
        create: ["create_steering_document", "Create a steering document"],
        update: ["update_steering_document", "Update a steering document"],
        id: "steering_document_id",
        toolset: Toolset::Author,
    },
];

/// The tools of items.
pub(super) fn tools() -> Vec<Spec> {
    let mut tools = vec![get_item()];
    for words in &WORDS {
        tools.extend([get(words), list(words), create(words), update(words)]);
    }
    tools
}

fn get_item() -> Spec {
    let description = "Reads one item of any kind (epic, user story, acceptance criterion, requirement, steering document) with its text and revision.";
    Spec::new("get_item", "Get an item", description, |invocation, arguments| {
        get_one(invocation, None, "id", arguments)
    })
    .takes(
        object([
            text("id", "REQ-012 or UUID").required(),
            number("offset", "character of a long text to go on at"),
            project(),
            detail("full"),
        ]),
        shown(),
    )
    .rest(LONG_ITEM)
}

fn get(words: &'static Words) -> Spec {
    let [name, title] = words.get;
    let description = format!("Reads one {} with its text and revision.", words.one);
    Spec::new(name, title, description, |invocation, arguments| {
        get_one(invocation, Some(words.kind), words.id, arguments)
    })
    .set(Toolset::Author)
    .takes(object([id(words).required(), project(), detail("full")]), shown())
    .rest(LONG_ITEM)
}

async fn get_one(
    invocation: Invocation,
    kind: Option<Kind>,
    field: &str,
    arguments: Arguments,
) -> Ruled<Answer> {
    let wanted = arguments.text(field).unwrap_or_default();
    let found = item::get(
        &invocation.service,
        &invocation.caller,
        arguments.text("project"),
        kind,
        wanted,
    )
    .await?;
    let detail = arguments.text("detail").map_or(Ok(Detail::Full), Detail::parse)?;
    match arguments.get("offset").and_then(Value::as_i64) {
        None => Ok(one(&found, detail)),
        Some(offset) => {
            let mut answer = one(&from_offset(found, offset)?, detail);
            answer.value["offset"] = json!(offset);
            Ok(answer)
        }
    }
}

/// The item with what its text says from a character on.
fn from_offset(item: Item, offset: i64) -> Ruled<Item> {
    let chars = item.description.chars().count();
    let offset = usize::try_from(offset).ok().filter(|offset| *offset <= chars);
    let odd = || {
        let problem = format!("{} has {chars} characters", item.reference_id);
        Refusal::field(Code::InvalidParams, "offset", problem, format!("0 to {chars}"))
    };
    let description = item.description.chars().skip(offset.ok_or_else(odd)?).collect();
    Ok(Item { description, ..item })
}

fn list(words: &'static Words) -> Spec {
    let [name, title] = words.list;
    let description = format!(
        "Lists {}, one line each. Filters take names; several values are separated by commas.",
        words.many
    );
    let mut fields = Vec::new();
    let rules = words.kind.rules();
    if rules.has_status {
        fields.push(text("status", ""));
    }
    if rules.has_priority {
        fields.push(text("priority", "1-4 or critical, high, medium, low"));
    }
    if rules.has_type {
        fields.extend([
            text("type", "requirement type"),
            text("acceptance_criterion", "AC-001"),
        ]);
    }
    if rules.has_assignee {
        fields.push(text("assignee", "user name, me or none"));
    }
    if rules.parent.is_some() {
        fields.extend([
            text(rules.parent_field, "direct container"),
            text("under", "container at any depth"),
        ]);
    }
    fields.extend([text(
        "order_by",
        "created_at, updated_at, priority, title, status or position; -field descends",
    )]);
    fields.extend(paging());
    let run = |invocation, arguments| list_page(invocation, words, arguments);
    Spec::new(name, title, description, run)
        .set(words.toolset)
        .takes(object(fields), rows())
        .rest(LONG_ITEM)
}

async fn list_page(invocation: Invocation, words: &Words, arguments: Arguments) -> Ruled<Answer> {
    let mut arguments = arguments.0;
    let detail = match arguments.remove("detail") {
        Some(name) => Detail::parse(name.as_str().unwrap_or_default())?,
        None => Detail::default(),
    };
    let query: ItemQuery = read(arguments)?;
    let fields = query.fields.as_deref().map(names).unwrap_or_default();
    render::check_fields(&fields)?;
    let page = item::list(&invocation.service, &invocation.caller, Some(words.kind), &query).await?;
    Ok(render::page(words.many, &page, detail, &fields))
}

fn create(words: &'static Words) -> Spec {
    let [name, title] = words.create;
    let rules = words.kind.rules();
    let description = match rules.parent {
        Some(parent) => format!(
            "Creates one {} in a {}. Several at once, or a whole tree: apply_changes.",
            words.one,
            parent.rules().label
        ),
        None => format!("Creates one {}. A whole tree at once: apply_changes.", words.one),
    };
    let mut fields = content(words.kind, true);
    if rules.parent.is_some() {
        fields.insert(0, text(rules.parent_field, "").required());
    }
    fields.extend([text("idempotency_key", "the same key creates once"), project()]);
    let run = |invocation, arguments| create_one(invocation, words.kind, arguments);
    Spec::new(name, title, description, run)
        .does(Effect::Add, Operation::CreateItem)
        .set(words.toolset)
        .takes(object(fields), shown())
}

// Fulfils 003 R9.8, 003 R10.5
async fn create_one(invocation: Invocation, kind: Kind, arguments: Arguments) -> Ruled<Answer> {
    let mut arguments = arguments.0;
    let key = arguments.remove("idempotency_key");
    let input: NewItem = read(arguments)?;
    let made = item::create(
        &invocation.service,
        &invocation.caller,
        kind,
        input,
        key.as_ref().and_then(Value::as_str),
    )
    .await?;
    Ok(summary("Created", &made))
}

fn update(words: &'static Words) -> Spec {
    let [name, title] = words.update;
    let description = format!(
        "Changes fields of one {}; fields left out stay. Pass expect_rev from your last read.",
        words.one
    );
    let mut fields = vec![id(words).required()];
    fields.extend(content(words.kind, false));
    fields.extend([number("expect_rev", ""), project()]);
    let run = |invocation, arguments| update_one(invocation, words, arguments);
    Spec::new(name, title, description, run)
        .does(Effect::Set, Operation::UpdateItem)
        .set(words.toolset)
        .takes(object(fields), shown())
}

async fn update_one(invocation: Invocation, words: &Words, arguments: Arguments) -> Ruled<Answer> {
    let mut arguments = arguments.0;
    let (id, project) = (arguments.remove(words.id), arguments.remove("project"));
    let patch: ItemPatch = read(arguments)?;
    let id = id.as_ref().and_then(Value::as_str).unwrap_or_default();
    let project = project.as_ref().and_then(Value::as_str);
    let changed = item::update(
        &invocation.service,
        &invocation.caller,
        project,
        Some(words.kind),
        id,
        patch,
    )
    .await?;
    Ok(summary("Updated", &changed))
}

/// What an item says, as arguments.
fn content(kind: Kind, is_new: bool) -> Vec<Field> {
    let rules = kind.rules();
    let needed = |field: Field, needed: bool| if needed && is_new { field.required() } else { field };
    let mut fields = vec![
        needed(text("title", ""), rules.title_required),
        needed(text("description", "Markdown"), rules.description_required),
    ];
    if rules.has_status {
        fields.push(text("status", ""));
    }
    if rules.has_priority {
        fields.push(field(
            "priority",
            json!({ "type": ["integer", "string"], "description": "1-4 or critical, high, medium, low" }),
        ));
    }
    let clearable = |name, description: &str| {
        let kind = if is_new {
            json!("string")
        } else {
            json!(["string", "null"])
        };
        field(name, json!({ "type": kind, "description": description }))
    };
    if rules.has_type {
        fields.push(text("type", "requirement type, by name"));
        fields.push(clearable("acceptance_criterion", "AC-001 of the same story"));
    }
    if rules.has_assignee {
        fields.push(clearable("assignee", "user name or me"));
    }
    fields.push(field("attributes", json!({ "type": "object" })));
    fields
}

/// One item and a sentence about it.
pub(super) fn one(item: &Item, detail: Detail) -> Answer {
    Answer::new(
        format!("{} (rev {})", render::line(item), item.rev),
        json!({ "item": render::item(item, detail, &[]) }),
    )
    .about(item.id)
}

/// What was done to an item: enough to go on with, without its text.
pub(super) fn summary(verb: &str, item: &Item) -> Answer {
    let value = json!({ "item": render::item(item, Detail::Summary, &[]) });
    Answer::new(format!("{verb} {} (rev {}).", item.reference_id, item.rev), value).about(item.id)
}

fn id(words: &Words) -> Field {
    text(words.id, &format!("{}-001 or UUID", words.kind.rules().prefix))
}

/// The project, when it is not the caller's usual one.
//= specs/spexus-mcp.md#tools
//# A `project` that a tool takes MUST be the only one it reads or changes.
pub(super) fn project() -> Field {
    text("project", "")
}

/// How much of each item is wanted.
pub(super) fn detail(default: &str) -> Field {
    choice("detail", &Detail::NAMES, &format!("default {default}"))
}

/// What every list takes that comes in pages.
pub(super) fn pages() -> [Field; 2] {
    [number("limit", "1-200, default 50"), text("cursor", "")]
}

/// What every list of items takes.
pub(super) fn paging() -> Vec<Field> {
    let [limit, cursor] = pages();
    vec![
        detail("line"),
        text("fields", "only these, by commas"),
        limit,
        cursor,
        text("count", "exact: count all"),
        project(),
    ]
}

/// What every list gives.
pub(super) fn rows() -> Value {
    answer(&[
        ("rows", "array"),
        ("total_count", "integer"),
        ("truncated", "boolean"),
    ])
}

/// What everything about one item gives.
pub(super) fn shown() -> Value {
    json!({ "type": "object", "properties": { "item": {} } })
}

fn names(text: &str) -> Vec<String> {
    text.split(',')
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}
