//! References with the prefix of their project: shown by every use case, and stored by none.

use crate::carrying::{WHOLE, elsewhere, export, furnish, import, verify};
use crate::client::uuid;
use crate::world::{Refused, World, both};
use serde_json::{Value, json};
use spexus_service::transfer::sheet::Layout;
use spexus_service::transfer::{Input, Progress, document, sheet};
use std::io::Cursor;
use std::sync::Arc;
use test_support::references_without;

both![
    a_prefix_is_shown_and_never_stored,
    a_prefix_of_another_project_is_shown_as_that_has_it,
    files_for_people_have_the_prefix_and_come_back,
];

async fn switch(world: &World, key: &str, on: bool) {
    let wanted = json!({"prefix_references": on});
    let set = world.admin.update_project(key, wanted).await.unwrap();
    assert_eq!(set["prefix_references"], on);
}

/// Everything an answer may name, in one text.
async fn everything(world: &World) -> String {
    let admin = &world.admin.naming("default");
    let mut told = Vec::new();
    for id in ["EP-001", "US-001", "AC-001", "REQ-001", "EP-003"] {
        told.push(admin.get(id).await.unwrap());
        told.push(admin.history(id).await.unwrap());
        told.push(admin.links(id, None).await.unwrap());
        told.push(admin.comments(id, None).await.unwrap());
        told.push(admin.preview(id).await.unwrap());
        told.push(admin.path(id).await.unwrap());
        told.push(admin.hierarchy(id, None).await.unwrap());
    }
    told.push(admin.changes().await.unwrap());
    told.push(admin.search("REQ-001", json!({})).await.unwrap());
    told.push(admin.search("passkey", json!({})).await.unwrap());
    told.push(admin.status(None).await.unwrap());
    told.push(admin.gaps(json!({})).await.unwrap());
    told.push(
        admin
            .difference(json!({"from": "first", "project": "default"}))
            .await
            .unwrap(),
    );
    Value::from(told).to_string()
}

/// The lines of an export that are about items, comments and links, and the changes of all that.
fn lines(text: &str) -> Vec<&str> {
    let kinds = ["item", "comment", "link", "change"].map(|kind| format!("{{\"record\":\"{kind}\","));
    let wanted = |line: &&str| kinds.iter().any(|kind| line.starts_with(kind.as_str()));
    text.lines().filter(wanted).collect()
}

//= specs/spexus-service.md#projects
//= type=test
//# What is stored, sealed in a ledger or carried in JSON lines MUST be the reference without the prefix, whatever the setting is and
//# was.
async fn a_prefix_is_shown_and_never_stored(world: &World) {
    furnish(world).await;
    let plain = everything(world).await;
    switch(world, "default", true).await;
    switch(world, "other", true).await;
    let shown = everything(world).await;
    assert_eq!(references_without(&["DEFAULT", "OTHER"], &shown), [""; 0]);
    assert!(
        shown.contains("DEFAULT-REQ-001 relates_to DEFAULT-EP-003"),
        "{shown}"
    );
    assert!(shown.contains("comment on DEFAULT-EP-002"), "{shown}");
    // Written in every way while it is on.
    let admin = &world.admin.naming("default");
    let made = admin
        .create("requirement", json!({"title": "Made with it", "parent": "DEFAULT-US-001", "acceptance_criterion": "DEFAULT-AC-001"}))
        .await
        .unwrap();
    assert_eq!(made["reference_id"], "DEFAULT-REQ-002");
    assert_eq!(made["parent"], "DEFAULT-US-001");
    assert_eq!(made["acceptance_criterion"], "DEFAULT-AC-001");
    admin
        .link("DEFAULT-REQ-002", "depends_on", "DEFAULT-REQ-001")
        .await
        .unwrap();
    let said = admin
        .comment("DEFAULT-REQ-002", json!({"content": "Said"}))
        .await
        .unwrap();
    assert_eq!(said["item"], "DEFAULT-REQ-002");
    admin
        .update_comment(uuid(&said["id"]), json!({"content": "Better"}))
        .await
        .unwrap();
    let criterion = json!({"parent": "DEFAULT-US-001", "description": "Another"});
    admin.create("acceptance_criterion", criterion).await.unwrap();
    admin
        .update(
            "DEFAULT-REQ-002",
            json!({"acceptance_criterion": "DEFAULT-AC-002"}),
        )
        .await
        .unwrap();
    let second = json!({"title": "Second", "parent": "DEFAULT-EP-001"});
    admin.create("user_story", second).await.unwrap();
    admin
        .update("DEFAULT-REQ-002", json!({"acceptance_criterion": null}))
        .await
        .unwrap();
    admin
        .move_to("DEFAULT-REQ-002", json!({"parent": "DEFAULT-US-002"}))
        .await
        .unwrap();
    let stale = admin
        .update("DEFAULT-REQ-002", json!({"title": "x", "expect_rev": 1}))
        .await
        .refused(1053);
    let told = format!("{stale:?}");
    assert_eq!(references_without(&["DEFAULT"], &told), [""; 0], "{told}");
    assert!(told.contains("DEFAULT-US-002"), "{told}");
    admin.delete("DEFAULT-US-002", true).await.unwrap();
    admin.restore("DEFAULT-US-002").await.unwrap();
    let operations = json!([
        {"op": "create", "ref": "e", "kind": "epic", "title": "Of a batch"},
        {"op": "link", "source": "@e", "target": "DEFAULT-EP-001", "type": "relates_to"},
    ]);
    let done = admin.batch(json!({"operations": operations})).await.unwrap();
    assert_eq!(
        done["results"][1]["label"],
        "DEFAULT-EP-004 relates_to DEFAULT-EP-001"
    );
    // Moved after the baseline, so that a difference tells what contained it.
    admin.delete_comment(uuid(&said["id"])).await.unwrap();
    let moved = json!({"parent": "DEFAULT-US-002"});
    admin
        .update("DEFAULT-REQ-001", json!({"acceptance_criterion": null}))
        .await
        .unwrap();
    admin.move_to("DEFAULT-REQ-001", moved).await.unwrap();
    let since = json!({"from": "first", "project": "default"});
    let differs = admin.difference(since).await.unwrap().to_string();
    assert_eq!(references_without(&["DEFAULT"], &differs), [""; 0], "{differs}");
    assert!(differs.contains("DEFAULT-US-002"), "{differs}");
    verify(world).await;
    let while_on = export(world, &admin.caller, true).await.unwrap();
    assert!(!while_on.contains("DEFAULT-"), "{while_on}");
    switch(world, "default", false).await;
    verify(world).await;
    let off = everything(world).await;
    assert!(!off.contains("DEFAULT-"), "{off}");
    let before = plain.matches("REQ-001").count();
    assert!(
        off.matches("REQ-001").count() > before,
        "nothing plain is missing"
    );
    let after = export(world, &admin.caller, true).await.unwrap();
    let (on, mut off) = (lines(&while_on), lines(&after));
    assert!(on.len() > 30);
    let new = off.iter().position(|line| !on.contains(line)).unwrap();
    let switched = off.remove(new);
    assert!(switched.contains("prefix_references"), "{switched}");
    assert!(on == off, "not a line differs but the one of the switch");
    // Elsewhere it is as it was here when the file was written.
    for there in elsewhere().await {
        import(&there, &while_on, None, WHOLE).await.unwrap();
        verify(&there).await;
        let found = there.admin.get("REQ-002").await.unwrap();
        assert_eq!(found["reference_id"], "DEFAULT-REQ-002");
        assert!(
            export(&there, &there.admin.caller, true).await.unwrap() == while_on,
            "byte for byte"
        );
        there.end().await;
    }
}

//= specs/spexus-service.md#projects
//= type=test
//# Where a project asks for it, every answer MUST show the references of its items with its key before them, and MUST take them
//# back in that form.
async fn a_prefix_of_another_project_is_shown_as_that_has_it(world: &World) {
    furnish(world).await;
    let admin = &world.admin;
    switch(world, "other", true).await;
    let links = admin.links("default/EP-001", None).await.unwrap();
    let target = &links["data"][0]["target"];
    assert_eq!(target["reference_id"], "OTHER-EP-001");
    let told = admin.history("default/EP-001").await.unwrap().to_string();
    assert!(told.contains("default/EP-001 relates_to OTHER-EP-001"), "{told}");
    switch(world, "default", true).await;
    let told = admin.history("OTHER-EP-001").await.unwrap().to_string();
    assert!(told.contains("DEFAULT-EP-001 relates_to OTHER-EP-001"), "{told}");
    let refused = format!("{:?}", admin.get("EP-001").await.refused(1021));
    assert!(refused.contains("DEFAULT-EP-001, OTHER-EP-001"), "{refused}");
}

/// A file as a person gets it, and the same taken in again: how many rows were made and changed.
async fn round(world: &World, markdown: bool, from: &str, to: &str) -> (String, u64, u64) {
    let (service, caller) = (&world.service, &world.admin.caller);
    let quiet: Progress = Arc::new(|_| ());
    let mut out = Vec::new();
    if markdown {
        document::export(service, caller, Some(from), None, &mut out, &quiet)
            .await
            .unwrap();
    } else {
        sheet::export(service, caller, Some(from), &Layout::default(), &mut out, &quiet)
            .await
            .unwrap();
    }
    let input: Input = Box::new(Cursor::new(out.clone()));
    let done = match markdown {
        true => document::import(service, caller, Some(to), input, false, quiet).await,
        false => sheet::import(service, caller, Some(to), input, false, quiet).await,
    };
    let done = done.unwrap();
    (String::from_utf8(out).unwrap(), done.created, done.updated)
}

//= specs/spexus-service.md#projects
//= type=test
//# Where a project asks for it, every answer MUST show the references of its items with its key before them, and MUST take them
//# back in that form.
async fn files_for_people_have_the_prefix_and_come_back(world: &World) {
    world.seed().await;
    world.admin.create_project(json!({"key": "copy"})).await.unwrap();
    world
        .admin
        .create_project(json!({"key": "copy-2", "prefix_references": true}))
        .await
        .unwrap();
    switch(world, "default", true).await;
    for (markdown, copy) in [(false, "copy"), (true, "copy-2")] {
        let (text, made, changed) = round(world, markdown, "default", "default").await;
        assert_eq!(references_without(&["DEFAULT"], &text), [""; 0], "{text}");
        assert!(
            text.contains("DEFAULT-REQ-001") && text.contains("DEFAULT-AC-001"),
            "{text}"
        );
        assert_eq!((made, changed), (0, 0), "{text}");
        let (_, made, _) = round(world, markdown, "default", copy).await;
        assert_eq!(made, 4, "in another project it is new");
        let there = world.admin.naming(copy).get("REQ-001").await.unwrap();
        let own = there["reference_id"].as_str().unwrap();
        let expected = if markdown { "COPY-2-REQ-001" } else { "REQ-001" };
        assert_eq!(own, expected);
        assert_eq!(there["title"], "Passkeys MUST work");
        assert_eq!(there["acceptance_criterion"], expected.replace("REQ", "AC"));
    }
}
