//! Relationships between items, and the steering documents epics follow.

use super::items::{pages, project, rows};
use super::spec::{Effect, Invocation, Spec, read, take};
use super::structure::page_request;
use crate::Toolset;
use crate::render::{Answer, link_line, rows_of};
use crate::schema::{answer, object, text};
use mcp_protocol::Arguments;
use serde_json::{Value, json};
use spexus_domain::link::{Link, NewLink};
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Kind, Refusal, Ruled, Uuid};
use spexus_service::link::{self, Links};

/// The tools of relationships.
pub(super) fn tools() -> Vec<Spec> {
    vec![
        create(),
        list(),
        by_id(
            "confirm_relationship",
            "Confirm a relationship",
            "Says that a suspect relationship still holds after an end changed.",
            Effect::Set,
        ),
        by_id(
            "delete_relationship",
            "Delete a relationship",
            "Ends a relationship.",
            Effect::Remove,
        ),
        steering_of_epic(),
        follow(),
        unfollow(),
    ]
}

fn create() -> Spec {
    let description = "Links two items: depends_on, blocks, relates_to, conflicts_with, derives_from, refines, verifies or another type of list_vocabulary.";
    Spec::new("create_relationship", "Link two items", description, run_create)
        .does(Effect::Add, Operation::Link)
        .takes(
            object([
                text("source", "any id").required(),
                text("target", "any id").required(),
                text("type", "type or its inverse name").required(),
                project(),
            ]),
            linked(),
        )
}

async fn run_create(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let mut arguments = arguments.0;
    let project = take(&mut arguments, "project");
    let input: NewLink = read(arguments)?;
    let made = link::create(&invocation.service, &invocation.caller, project.as_deref(), input).await?;
    Ok(summary("Linked", &made))
}

fn list() -> Spec {
    let description =
        "Lists the relationships of an item in both directions, with their ids; suspect ones are marked.";
    Spec::new("list_relationships", "List relationships", description, run_list).takes(
        object(
            [
                text("id", "any id").required(),
                text("type", "type or its inverse name"),
                project(),
            ]
            .into_iter()
            .chain(pages()),
        ),
        rows(),
    )
}

async fn run_list(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let (id, project) = (
        arguments.text("id").unwrap_or_default(),
        arguments.text("project"),
    );
    let found = link::list(
        &invocation.service,
        &invocation.caller,
        project,
        None,
        id,
        arguments.text("type"),
        page_request(&arguments)?,
    )
    .await?;
    Ok(page("relationships", &found))
}

fn by_id(name: &'static str, title: &'static str, description: &str, effect: Effect) -> Spec {
    let right = match effect {
        Effect::Remove => Operation::Link,
        _ => Operation::ConfirmLink,
    };
    Spec::new(name, title, description, move |invocation, arguments| {
        run_by_id(invocation, arguments, effect)
    })
    .does(effect, right)
    .set(Toolset::Author)
    .takes(
        object([text("relationship_id", "UUID from list_relationships").required()]),
        linked(),
    )
}

async fn run_by_id(invocation: Invocation, arguments: Arguments, effect: Effect) -> Ruled<Answer> {
    let id = uuid(
        "relationship_id",
        arguments.text("relationship_id").unwrap_or_default(),
    )?;
    match effect {
        Effect::Remove => Ok(summary(
            "Ended",
            &link::delete(&invocation.service, &invocation.caller, id).await?,
        )),
        _ => Ok(summary(
            "Confirmed",
            &link::confirm(&invocation.service, &invocation.caller, id).await?,
        )),
    }
}

fn steering_of_epic() -> Spec {
    let description = "Lists the steering documents an epic follows.";
    Spec::new(
        "get_epic_steering_documents",
        "Steering documents of an epic",
        description,
        run_steering,
    )
    .set(Toolset::Author)
    .takes(
        object(
            [text("epic_id", "EP-001 or UUID").required(), project()]
                .into_iter()
                .chain(pages()),
        ),
        rows(),
    )
}

async fn run_steering(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let (epic, project) = (
        arguments.text("epic_id").unwrap_or_default(),
        arguments.text("project"),
    );
    let found = link::list(
        &invocation.service,
        &invocation.caller,
        project,
        Some(Kind::Epic),
        epic,
        Some(link::IS_GUIDED_BY),
        page_request(&arguments)?,
    )
    .await?;
    Ok(page("steering documents", &found))
}

fn follow() -> Spec {
    let description = "Lets an epic follow a steering document.";
    Spec::new(
        "link_steering_to_epic",
        "Follow a steering document",
        description,
        run_follow,
    )
    .does(Effect::Add, Operation::Link)
    .set(Toolset::Author)
    .takes(steering_and_epic(), linked())
}

async fn run_follow(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let input = NewLink {
        source: arguments
            .text("steering_document_id")
            .unwrap_or_default()
            .to_owned(),
        target: arguments.text("epic_id").unwrap_or_default().to_owned(),
        link_type: link::GUIDES.to_owned(),
    };
    let made = link::create(
        &invocation.service,
        &invocation.caller,
        arguments.text("project"),
        input,
    )
    .await?;
    Ok(summary("Linked", &made))
}

fn unfollow() -> Spec {
    let description = "Lets an epic no longer follow a steering document.";
    Spec::new(
        "unlink_steering_from_epic",
        "Stop following a steering document",
        description,
        run_unfollow,
    )
    .does(Effect::Remove, Operation::Link)
    .set(Toolset::Author)
    .takes(steering_and_epic(), linked())
}

async fn run_unfollow(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let (epic, project) = (
        arguments.text("epic_id").unwrap_or_default(),
        arguments.text("project"),
    );
    let document = arguments.text("steering_document_id").unwrap_or_default();
    let ended = link::unfollow(&invocation.service, &invocation.caller, project, epic, document).await?;
    Ok(summary("Ended", &ended))
}

fn steering_and_epic() -> Value {
    object([
        text("steering_document_id", "STD-001 or UUID").required(),
        text("epic_id", "EP-001 or UUID").required(),
        project(),
    ])
}

fn page(noun: &str, links: &Links) -> Answer {
    let row = |link: &Link| json!({ "id": link.id, "line": link_line(link) });
    let rows = links.data.iter().map(row).collect();
    rows_of(noun, rows, links.total_count, links.next_cursor.as_deref())
}

fn linked() -> Value {
    answer(&[("id", "string"), ("line", "string")])
}

fn summary(verb: &str, link: &Link) -> Answer {
    let line = link_line(link);
    Answer::new(format!("{verb}: {line}."), json!({ "id": link.id, "line": line }))
}

/// An id only programs have.
pub(super) fn uuid(field: &str, text: &str) -> Ruled<Uuid> {
    Uuid::try_parse(text.trim()).map_err(|_| {
        let problem = format!("{:?} is not an id", spexus_domain::text::excerpt(text, 60));
        Refusal::field(Code::InvalidParams, field, problem, "a UUID")
    })
}
