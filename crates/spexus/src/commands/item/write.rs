//! Making, changing, moving and deleting items.

use super::show;
use crate::commands::input;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::session::Session;
use clap::Args;
use serde_json::Value;
use spexus_domain::Kind;
use spexus_domain::attribute::Attributes;
use spexus_domain::deletion::DeletionPreview;
use spexus_domain::item::{Item, ItemPatch, Move as MoveTo, NewItem, Priority};
use spexus_service::item;

/// A new item.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// epic, user_story, acceptance_criterion, requirement or steering_document
    kind: String,
    /// Its title; acceptance criteria can do without
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    title: String,
    /// Its text, in Markdown; - reads standard input
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    description: String,
    /// What contains it: the epic of a story, the story of a criterion or requirement
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// The status it starts in
    #[arg(long)]
    status: Option<String>,
    /// 1 critical, 2 high, 3 medium, 4 low
    #[arg(long)]
    priority: Option<String>,
    /// The requirement type, by name
    #[arg(long = "type", value_name = "TYPE")]
    requirement_type: Option<String>,
    /// The criterion of the same story that a requirement serves
    #[arg(long, value_name = "ID")]
    criterion: Option<String>,
    /// Who works on it
    #[arg(long, value_name = "USER")]
    assignee: Option<String>,
    /// An attribute; the value is read as JSON when it is a number, true or false
    #[arg(long = "attribute", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    attributes: Vec<String>,
    /// Makes the item once, however often the command is run with this key
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// What for; it is kept with the change
    #[arg(long)]
    intent: Option<String>,
}

/// A changed item.
#[derive(Debug, Args)]
pub(crate) struct Update {
    /// A UUID or a reference id
    id: String,
    /// Its title
    #[arg(long, allow_hyphen_values = true)]
    title: Option<String>,
    /// Its text, in Markdown; - reads standard input
    #[arg(long, allow_hyphen_values = true)]
    description: Option<String>,
    /// The status it moves to
    #[arg(long)]
    status: Option<String>,
    /// 1 critical, 2 high, 3 medium, 4 low
    #[arg(long)]
    priority: Option<String>,
    /// The requirement type, by name
    #[arg(long = "type", value_name = "TYPE")]
    requirement_type: Option<String>,
    /// The criterion of the same story that a requirement serves; empty removes it
    #[arg(long, value_name = "ID")]
    criterion: Option<String>,
    /// Who works on it; empty removes the person
    #[arg(long, value_name = "USER")]
    assignee: Option<String>,
    /// An attribute to set; an empty value removes it
    #[arg(long = "attribute", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    attributes: Vec<String>,
    /// The revision this change is made against; a stale one is refused
    #[arg(long, value_name = "REV")]
    expect_rev: Option<i64>,
    /// What for; it is kept with the change
    #[arg(long)]
    intent: Option<String>,
}

/// A moved item.
#[derive(Debug, Args)]
pub(crate) struct Move {
    /// A UUID or a reference id
    id: String,
    /// The new container
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// The sibling to stand behind
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// The sibling to stand before
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// The revision this change is made against
    #[arg(long, value_name = "REV")]
    expect_rev: Option<i64>,
}

/// A deleted item.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// A UUID or a reference id
    id: String,
    /// Also deletes what falls with it
    #[arg(long)]
    force: bool,
    /// Only tells what would fall with it
    #[arg(long, conflicts_with = "force")]
    preview: bool,
    /// The revision this change is made against
    #[arg(long, value_name = "REV")]
    expect_rev: Option<i64>,
}

/// A deleted item that comes back.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// A UUID or a reference id
    id: String,
}

pub(super) async fn create(session: &Session, output: Output, wanted: Create) -> Outcome {
    let kind = Kind::parse("kind", &wanted.kind)?;
    let input = NewItem {
        project: session.project.clone(),
        title: wanted.title,
        description: input::text("description", wanted.description)?,
        parent: wanted.parent,
        status: wanted.status,
        priority: priority(wanted.priority)?,
        requirement_type: wanted.requirement_type,
        acceptance_criterion: wanted.criterion,
        assignee: wanted.assignee,
        attributes: attributes(&wanted.attributes)?.unwrap_or_default(),
        intent: wanted.intent,
    };
    let key = wanted.idempotency_key.as_deref();
    let made = item::create(&session.service, &session.caller, kind, input, key)
        .await
        .map_err(|refusal| refusal.naming(kind.rules().parent_field, "parent"))?;
    output.show(&made, line)
}

pub(super) async fn update(session: &Session, output: Output, wanted: Update) -> Outcome {
    let clearable = |text: Option<String>| text.map(|text| Some(text).filter(|text| !text.is_empty()));
    let patch = ItemPatch {
        title: wanted.title,
        description: wanted
            .description
            .map(|text| input::text("description", text))
            .transpose()?,
        status: wanted.status,
        priority: priority(wanted.priority)?,
        requirement_type: wanted.requirement_type,
        acceptance_criterion: clearable(wanted.criterion),
        assignee: clearable(wanted.assignee),
        attributes: attributes(&wanted.attributes)?,
        expect_rev: wanted.expect_rev,
        intent: wanted.intent,
    };
    let changed = item::update(
        &session.service,
        &session.caller,
        session.project(),
        None,
        &wanted.id,
        patch,
    )
    .await?;
    output.show(&changed, line)
}

pub(super) async fn move_to(session: &Session, output: Output, wanted: Move) -> Outcome {
    let to = MoveTo {
        parent: wanted.parent,
        after: wanted.after,
        before: wanted.before,
        expect_rev: wanted.expect_rev,
    };
    let moved = item::move_to(
        &session.service,
        &session.caller,
        session.project(),
        None,
        &wanted.id,
        to,
    )
    .await?;
    output.show(&moved, line)
}

pub(super) async fn delete(session: &Session, output: Output, wanted: &Delete) -> Outcome {
    let (service, caller, project) = (&session.service, &session.caller, session.project());
    let (done, fallen) = if wanted.preview {
        (
            "would be deleted",
            item::preview(service, caller, project, None, &wanted.id).await?,
        )
    } else {
        let (force, rev) = (wanted.force, wanted.expect_rev);
        (
            "is deleted",
            item::delete(service, caller, project, None, &wanted.id, force, rev).await?,
        )
    };
    output.show(&fallen, |fallen| consequences(fallen, done))
}

pub(super) async fn restore(session: &Session, output: Output, wanted: &Restore) -> Outcome {
    let back = item::restore(
        &session.service,
        &session.caller,
        session.project(),
        None,
        &wanted.id,
    )
    .await?;
    output.show(&back, line)
}

fn line(item: &Item) -> String {
    let [reference, status, _, title] = show::row(item);
    let status = if status.is_empty() {
        String::new()
    } else {
        format!("  [{status}]")
    };
    format!("{reference}  {title}{status}  revision {}", item.rev)
}

fn consequences(preview: &DeletionPreview, done: &str) -> String {
    let item = preview.reference_id.in_project(&preview.project);
    let mut text = format!("{item} {:?} {done}\n", preview.title);
    for reason in &preview.reasons {
        text.push_str(&format!("  {reason}\n"));
    }
    for item in &preview.items {
        text.push_str(&format!("  {}  {}\n", item.reference_id, item.title));
    }
    text
}

fn priority(text: Option<String>) -> Outcome<Option<Priority>> {
    Ok(text.map(|text| Priority::parse("priority", &text)).transpose()?)
}

fn attributes(given: &[String]) -> Outcome<Option<Attributes>> {
    if given.is_empty() {
        return Ok(None);
    }
    let read = |text: &String| {
        let Some((name, value)) = text.split_once('=') else {
            return Err(Failure::argument(
                "attribute",
                format!("{text:?} has no ="),
                "NAME=VALUE",
            ));
        };
        let value = match serde_json::from_str(value) {
            _ if value.is_empty() => Value::Null,
            Ok(plain @ (Value::Number(_) | Value::Bool(_))) => plain,
            _ => value.into(),
        };
        Ok((name.to_owned(), value))
    };
    given.iter().map(read).collect::<Outcome<Attributes>>().map(Some)
}
