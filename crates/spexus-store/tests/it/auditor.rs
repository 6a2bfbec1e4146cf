//! The present state held against a replay of the history: what was done to rows behind its back shows.

use crate::world::{World, both};
use serde_json::json;
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::item::Item;
use spexus_domain::link::LinkType;
use spexus_domain::{Timestamp, told};
use spexus_store::replay::compare;
use spexus_store::state_verdict::{StateFault, StateVerdict};

both![
    what_was_altered_behind_the_history_is_found,
    what_was_removed_or_added_behind_the_history_is_found,
    what_the_history_made_is_never_called_altered,
    both_rows_of_a_link_of_two_projects_are_compared,
];

async fn record(world: &World, change: NewChange) {
    let job = world.store.write(world.actor(), move |tx| {
        Box::pin(async move { tx.record(change).await })
    });
    job.await.unwrap();
}

fn fields(values: serde_json::Value) -> Attributes {
    serde_json::from_value(values).unwrap()
}

/// Two items, one of which was changed, a comment and a link, each with its history.
async fn furnish(world: &World) -> (Item, Item) {
    let epic = world.epic("Login").await;
    let story = world.story(&epic, "Passkeys").await;
    let story = world
        .edit(&story, |item| item.description = "Without passwords.".into())
        .await;
    let comment = world.comment(&epic, "Why?").await;
    let said = NewChange::new(
        Entity::Comment,
        comment.id,
        "comment on EP-001",
        Action::Created,
        1,
    )
    .in_project(world.project.id)
    .on_item(epic.id, None)
    .fields(None, fields(json!({"content": "Why?", "resolved": false})))
    .made(
        comment.author_id,
        comment.created_at,
        comment.updated_at,
        (world.user.id, Timestamp(0)),
    );
    record(world, said).await;
    let link_type = LinkType::shipped().remove(0).name;
    let link = world.link(&link_type, &story, &epic).await.unwrap();
    let linked = NewChange::new(Entity::Link, link, "US-001 to EP-001", Action::Created, 1)
        .in_project(world.project.id)
        .on_item(story.id, Some(epic.id))
        .fields(None, fields(json!({"type": link_type})))
        .telling(
            told::CREATED_AT,
            world.place.number("SELECT created_at FROM link").await,
        )
        .telling(
            told::HASHES,
            vec![story.content_hash.clone(), epic.content_hash.clone()],
        );
    record(world, linked).await;
    (epic, story)
}

async fn compared(world: &World) -> StateVerdict {
    compare(&mut world.read().await, &|_| {}).await.unwrap()
}

//= specs/spexus-store.md#history
//= type=test
//# Verification MUST find an item, a comment or a link that is not what the history made of it, in any of its columns.
async fn what_was_altered_behind_the_history_is_found(world: World) {
    furnish(&world).await;
    let whole = compared(&world).await;
    assert_eq!((whole.compared, whole.differences), (4, vec![]));
    let alterations = [
        ("item", "title", "title || '!'", "'Login'"),
        ("item", "description", "description || ' '", "''"),
        (
            "item",
            "status",
            "status || 'x'",
            "substr(status, 1, length(status) - 1)",
        ),
        ("item", "priority", "5 - priority", "5 - priority"),
        ("item", "number", "number + 8", "number - 8"),
        ("item", "rev", "rev + 1", "rev - 1"),
        ("item", "position", "position + 1", "position - 1"),
        ("item", "created_at", "created_at + 1", "created_at - 1"),
        ("item", "updated_at", "updated_at + 1", "updated_at - 1"),
        ("comment", "created_at", "created_at + 1", "created_at - 1"),
        ("comment", "updated_at", "updated_at + 1", "updated_at - 1"),
        ("comment", "anchor", "'{}'", "NULL"),
        ("comment", "parent_id", "id", "NULL"),
        ("link", "rev", "rev + 1", "rev - 1"),
        ("link", "created_at", "created_at + 1", "created_at - 1"),
        (
            "link",
            "source_hash",
            "source_hash || 'a'",
            "substr(source_hash, 1, length(source_hash) - 1)",
        ),
        ("item", "deleted_at", "7", "NULL"),
        (
            "item",
            "content_hash",
            "content_hash || 'a'",
            "substr(content_hash, 1, length(content_hash) - 1)",
        ),
        ("comment", "content", "'Because.'", "'Why?'"),
        ("comment", "resolved", "1 - resolved", "1 - resolved"),
        ("comment", "rev", "rev + 1", "rev - 1"),
        ("comment", "deleted_at", "7", "NULL"),
        (
            "link",
            "target_id",
            "source_id",
            "(SELECT id FROM item WHERE kind = 'epic')",
        ),
        ("link", "deleted_at", "7", "NULL"),
    ];
    for (table, column, altered, original) in alterations {
        let only = if table == "item" {
            " WHERE kind = 'epic'"
        } else {
            ""
        };
        let meddle = |value: &str| format!("UPDATE {table} SET {column} = {value}{only}");
        world.place.meddle(&meddle(altered)).await;
        let found = compared(&world).await;
        // A child names its parent, so one alteration may show twice.
        let is_told = found.differences.iter().any(|fault| fault.entity == table);
        assert!(is_told, "{table}.{column}: {found:?}");
        world.place.meddle(&meddle(original)).await;
        assert_eq!(compared(&world).await.differences, vec![], "{table}.{column}");
    }
}

async fn what_was_removed_or_added_behind_the_history_is_found(world: World) {
    let (epic, _) = furnish(&world).await;
    world.comment(&epic, "Slipped in.").await;
    let found = compared(&world).await;
    assert_eq!(
        (found.differing, found.differences[0].problem.as_str()),
        (1, "it is not in the history")
    );
    for table in ["search_doc", "comment", "link"] {
        world.place.meddle(&format!("DELETE FROM {table}")).await;
    }
    let found = compared(&world).await;
    assert_eq!((found.compared, found.differing), (4, 2), "{found:?}");
    let gone = |fault: &StateFault| fault.problem.contains("it is gone");
    assert!(found.differences.iter().all(gone), "{found:?}");
}

async fn what_the_history_made_is_never_called_altered(world: World) {
    let (epic, story) = furnish(&world).await;
    world.edit(&epic, |item| item.title = "Sign in".into()).await;
    let other = world.epic("Other").await;
    let deletion = world.delete(&[&other]).await;
    assert_eq!(compared(&world).await.differences, vec![]);
    world.restore(deletion).await;
    world.edit(&story, |item| item.title = "Keys".into()).await;
    assert_eq!(compared(&world).await.differences, vec![]);
}

//= specs/spexus-store.md#history
//= type=test
//# Both rows of a link of two projects MUST be compared.
async fn both_rows_of_a_link_of_two_projects_are_compared(world: World) {
    let (epic, _) = furnish(&world).await;
    let other = world.another_project("other").await;
    let there = world.epic_in(&other, "There").await;
    let link_type = LinkType::shipped().remove(0).name;
    let link = world.link(&link_type, &epic, &there).await.unwrap();
    let linked = NewChange::new(Entity::Link, link, "EP-001 to EP-001", Action::Created, 1)
        .in_project(world.project.id)
        .on_item(epic.id, Some(there.id))
        .fields(None, fields(json!({"type": link_type})))
        .telling(
            told::CREATED_AT,
            world.place.number("SELECT max(created_at) FROM link").await,
        )
        .telling(
            told::HASHES,
            vec![epic.content_hash.clone(), there.content_hash.clone()],
        );
    record(&world, linked).await;
    let whole = compared(&world).await;
    assert_eq!((whole.compared, whole.differences), (6, vec![]));
    let in_other = "WHERE project_id <> source_project_id";
    for (column, altered, original) in [
        ("rev", "rev + 1", "rev - 1"),
        ("deleted_at", "7", "NULL"),
        ("created_at", "created_at + 1", "created_at - 1"),
        (
            "source_hash",
            "source_hash || 'a'",
            "substr(source_hash, 1, length(source_hash) - 1)",
        ),
    ] {
        let meddle = |value: &str| format!("UPDATE link SET {column} = {value} {in_other}");
        world.place.meddle(&meddle(altered)).await;
        let found = compared(&world).await;
        assert_eq!(found.differing, 1, "{column}: {found:?}");
        assert!(found.differences[0].problem.contains("not the same"), "{found:?}");
        world.place.meddle(&meddle(original)).await;
        assert_eq!(compared(&world).await.differences, vec![], "{column}");
    }
    world
        .place
        .meddle("UPDATE directory SET project_id = id WHERE id IN (SELECT item_id FROM comment)")
        .await;
    let found = compared(&world).await;
    assert!(
        found
            .differences
            .iter()
            .any(|fault| fault.problem == "it is not listed in its project"),
        "{found:?}"
    );
    let back = "UPDATE directory SET project_id = (SELECT i.project_id FROM item i WHERE i.id = directory.id) WHERE id = project_id";
    world.place.meddle(back).await;
    assert_eq!(compared(&world).await.differences, vec![]);
    let halves = [
        (format!("DELETE FROM link {in_other}"), "not the same"),
        (
            "UPDATE link SET project_id = target_project_id WHERE source_project_id <> target_project_id"
                .to_owned(),
            "one project only",
        ),
    ];
    for (sql, problem) in halves {
        world.place.meddle(&sql).await;
        let found = compared(&world).await;
        assert!(
            found
                .differences
                .iter()
                .any(|fault| fault.problem.contains(problem)),
            "{problem}: {found:?}"
        );
    }
}
