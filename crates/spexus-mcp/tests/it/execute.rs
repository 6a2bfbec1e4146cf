//! `batch/execute`: tools of all sorts in one transaction, all or nothing.

use crate::agent::Agent;
use crate::pair;
use crate::world::{World, both};
use serde_json::{Value, json};
use spexus_domain::Kind;
use spexus_domain::audit::EventFilter;
use spexus_domain::query::PageRequest;
use spexus_service::{audit, item};

/// An agent that sees all tools.
async fn author(world: &World) -> Agent {
    Agent::with(world, &world.token, "2025-11-25", &[("x-spexus-toolsets", "all")]).await
}

fn tree() -> Value {
    json!([
        { "tool": "create_epic", "arguments": { "title": "Sign in" }, "ref": "epic" },
        { "tool": "create_user_story", "arguments": { "epic_id": "@epic", "title": "With a passkey" }, "ref": "story" },
        { "tool": "create_acceptance_criteria", "arguments": { "user_story_id": "@story", "description": "It opens at once." }, "ref": "ac" },
        { "tool": "create_requirement", "arguments": { "user_story_id": "@story", "title": "Passkeys MUST work", "acceptance_criterion": "@ac" }, "ref": "r1" },
        { "name": "create_requirement", "arguments": { "user_story_id": "@story", "title": "Passwords MUST work" }, "as": "r2" },
        { "tool": "create_relationship", "arguments": { "source": "@r1", "target": "@r2", "type": "depends_on" }, "ref": "link" },
        { "tool": "add_comment", "arguments": { "id": "@r1", "content": "@@ann, please look" }, "ref": "said" },
        { "tool": "add_comment", "arguments": { "id": "@r1", "content": "Done.", "reply_to": "@said" } },
        { "tool": "update_epic", "arguments": { "epic_id": "@epic", "expect_rev": "@epic.rev", "description": "@r1.title" } },
        { "tool": "create_prompt", "arguments": { "name": "review", "content": "Review {{item}}." }, "ref": "prompt" },
        { "tool": "activate_prompt", "arguments": { "prompt_id": "@prompt" } },
        { "tool": "create_baseline", "arguments": { "name": "first" } },
        { "tool": "search_requirements", "arguments": { "query": "passkeys" } },
        { "tool": "epic_hierarchy", "arguments": { "epic": "@epic" } },
        { "tool": "list_vocabulary" },
    ])
}

/// How many items, links, comments and prompts there are.
async fn census(agent: &Agent) -> Value {
    let epics = agent.call("list_epics", json!({})).await;
    let requirements = agent.call("list_requirements", json!({})).await;
    let prompts = agent.call("list_prompts", json!({})).await;
    json!([
        epics["total_count"],
        requirements["total_count"],
        prompts["total_count"]
    ])
}

both![
    tools_of_all_sorts_work_together,
    the_first_that_cannot_be_done_undoes_all,
    a_batch_that_only_reads_needs_no_writer,
    rights_are_asked_for_each_call,
    a_batch_stands_between_other_writes,
    many_changes_are_one_call_of_a_batch,
    whoever_goes_away_takes_the_batch_along,
    a_batch_that_makes_an_epic_in_one_project_never_writes_into_the_other,
];

// proves 002 Req-Proto-008
//= specs/spexus-mcp.md#batches
//= type=test
//# `batch/execute` MUST carry out its operations in one transaction, all or none, and MUST note them as one operation.
//= specs/spexus-mcp.md#batches
//= type=test
//# A trial of a batch MUST answer what the batch would, and keep nothing.
//= specs/spexus-service.md#writing-once
//= type=test
//# What is done together MUST be carried out whole or not at all.
async fn tools_of_all_sorts_work_together(world: &World) {
    let agent = author(world).await;
    assert_eq!(
        agent.hello["result"]["capabilities"]["experimental"]["batch/execute"]["version"],
        "1.0.0"
    );
    let before = (census(&agent).await, world.chain_head().await);
    let trial = agent
        .ask("batch/execute", json!({ "operations": tree(), "dry_run": true }))
        .await;
    assert_eq!(
        (&trial["dry_run"], trial["results"].as_array().unwrap().len()),
        (&json!(true), 15)
    );
    assert_eq!(
        (census(&agent).await, world.chain_head().await),
        before,
        "a trial keeps nothing"
    );
    let vocabulary = agent.call("list_vocabulary", json!({})).await;
    assert!(vocabulary["projects"].is_array());

    let done = agent.ask("batch/execute", json!({ "calls": tree() })).await;
    let results = done["results"].as_array().unwrap();
    assert_eq!(results[0]["ref"], "epic");
    assert_eq!(
        results[0]["result"]["item"]["reference_id"], "EP-001",
        "the trial used up no number"
    );
    assert_eq!(
        results[12]["result"]["total_count"], 1,
        "what was just made is found: {}",
        results[12]
    );
    let outline = results[13]["result"]["outline"].as_str().unwrap();
    assert!(outline.contains("Passwords MUST work"), "{outline}");
    let epic = agent.call("get_item", json!({ "id": "EP-001" })).await;
    assert_eq!(
        (&epic["item"]["rev"], &epic["item"]["description"]),
        (&json!(2), &json!("Passkeys MUST work"))
    );
    let comments = agent.call("list_comments", json!({ "id": "REQ-001" })).await;
    assert_eq!(comments["rows"][0]["content"], "@ann, please look");
    assert_eq!(comments["rows"][1]["reply_to"], comments["rows"][0]["id"]);
    assert_eq!(
        agent.call("get_active_prompt", json!({})).await["prompt"]["name"],
        "review"
    );

    // One entry for each batch, whatever it did, and none for its calls.
    world.service.flush().await;
    let page = PageRequest::new(Some(200), None).unwrap();
    let noted = audit::list(&world.service, &world.admin, &EventFilter::default(), page).await;
    let noted = json!(noted.unwrap());
    let details = noted["data"].as_array().unwrap().iter();
    let details: Vec<&str> = details.filter_map(|one| one["detail"].as_str()).collect();
    let of = |name: &str| details.iter().filter(|detail| detail.contains(name)).count();
    assert!(of("batch/execute") > 0 && of("create_epic") == 0, "{details:?}");
}

// proves 002 Req-Proto-008
//= specs/spexus-mcp.md#batches
//= type=test
//# A reference MUST name an earlier operation of the batch, and one that does not MUST be refused with its place before anything is done.
//= specs/spexus-mcp.md#batches
//= type=test
//# Every operation of a batch MUST have the right and the arguments it needs alone; the first that does not MUST be refused with its place.
async fn the_first_that_cannot_be_done_undoes_all(world: &World) {
    let agent = author(world).await;
    let before = (census(&agent).await, world.chain_head().await);
    let last = |operation: Value| {
        let mut operations = tree();
        operations.as_array_mut().unwrap().push(operation);
        operations
    };
    let cases = [
        (
            last(json!({ "tool": "update_epic", "arguments": { "epic_id": "@epik", "title": "x" } })),
            "operations[15].arguments.epic_id",
        ),
        (
            last(json!({ "tool": "update_epic", "arguments": { "epic_id": "@epic.colour" } })),
            "operations[15].arguments.epic_id",
        ),
        (
            last(json!({ "tool": "create_epic", "arguments": { "titel": "x" } })),
            "operations[15].arguments.titel",
        ),
        (
            last(json!({ "tool": "create_epics", "arguments": {} })),
            "operations[15].tool",
        ),
        (last(json!({ "tool": "verify_history" })), "operations[15].tool"),
        (
            last(json!({ "tool": "get_item", "arguments": { "id": "REQ-999" } })),
            "operations[15]",
        ),
        (
            last(
                json!({ "tool": "update_epic", "arguments": { "epic_id": "@epic", "expect_rev": 1, "title": "x" } }),
            ),
            "operations[15].description",
        ),
        (
            last(json!({ "tool": "delete_item", "arguments": { "id": "@epic" } })),
            "operations[15]",
        ),
        (
            last(json!({ "tool": "create_epic", "arguments": { "title": "x" }, "ref": "epic" })),
            "operations[15].ref",
        ),
        (
            last(json!({ "tool": "create_epic", "argument": {} })),
            "operations[15].argument",
        ),
        (json!([]), "operations"),
        (json!(vec![json!({ "tool": "list_epics" }); 201]), "operations"),
    ];
    for (operations, field) in cases {
        let refused = agent
            .refused("batch/execute", json!({ "operations": operations }))
            .await;
        let fields = refused["data"]["fields"].as_array().unwrap();
        assert!(
            fields
                .iter()
                .any(|fault| fault["field"] == field || fault["path"] == field),
            "{field}: {refused}"
        );
        assert_eq!(
            (census(&agent).await, world.chain_head().await),
            before,
            "{field}: nothing changed"
        );
    }
    let refused = agent
        .refused(
            "batch/execute",
            json!({ "operations": [{ "tool": "get_item", "arguments": { "id": "@x" } }] }),
        )
        .await;
    assert_eq!(refused["code"], -32602);
    assert!(refused.to_string().contains("@x"), "{refused}");
    let many = vec![json!({ "tool": "list_epics" }); 200];
    assert_eq!(
        agent.ask("batch/execute", json!({ "operations": many })).await["results"]
            .as_array()
            .unwrap()
            .len(),
        200
    );
}

//= specs/spexus-mcp.md#batches
//= type=test
//# A batch whose operations only read MUST read them at one moment, and no write MUST wait for it.
async fn a_batch_that_only_reads_needs_no_writer(world: &World) {
    world.seed().await;
    let wanted = json!({ "name": "reader", "scopes": ["read"] });
    let reader = world.token_of("admin", wanted).await;
    let reader = Agent::with(world, &reader, "2025-11-25", &[]).await;
    let caller = world.admin.clone();
    // Somebody holds the one writer until the batches are answered.
    let ((began, begun), (release, released)) = (
        tokio::sync::oneshot::channel(),
        tokio::sync::oneshot::channel::<()>(),
    );
    let store = world.service.store().clone();
    let held = tokio::spawn(async move {
        let job = store.write_long(spexus_store::Actor::from(&caller), move |_| {
            Box::pin(async move {
                began.send(()).unwrap();
                released.await.unwrap();
                Ok(())
            })
        });
        job.await
    });
    begun.await.unwrap();
    let operations = vec![json!({ "tool": "analyze_hierarchy" }); 40];
    let done = reader
        .ask("batch/execute", json!({ "operations": operations }))
        .await;
    assert_eq!(done["results"].as_array().unwrap().len(), 40);
    let trial = json!({ "operations": [{ "tool": "list_vocabulary" }, { "tool": "search_global", "arguments": { "query": "passkey" } }], "dry_run": true });
    assert_eq!(reader.ask("batch/execute", trial).await["dry_run"], true);
    release.send(()).unwrap();
    assert!(held.await.unwrap().is_ok(), "the writer was held all the time");
}

/// Each call has the rights it has alone.
async fn rights_are_asked_for_each_call(world: &World) {
    world.seed().await;
    let token = world.user("cora", "Commenter").await;
    let cora = Agent::with(world, &token, "2025-11-25", &[]).await;
    let comment = json!({ "tool": "add_comment", "arguments": { "id": "REQ-001", "content": "Seen." } });
    let write = json!({ "tool": "update_requirement", "arguments": { "requirement_id": "REQ-001", "title": "Mine" } });
    let before = world.chain_head().await;
    let refused = cora
        .refused("batch/execute", json!({ "operations": [comment, write] }))
        .await;
    assert_eq!(refused["code"], 1014, "{refused}");
    assert!(refused.to_string().contains("operations[1]"), "{refused}");
    assert_eq!(world.chain_head().await, before);
    cora.ask("batch/execute", json!({ "operations": [comment] }))
        .await;
    let careful = Agent::with(
        world,
        &world.token,
        "2025-11-25",
        &[("x-spexus-read-only", "true")],
    )
    .await;
    let refused = careful
        .refused("batch/execute", json!({ "operations": [comment] }))
        .await;
    assert_eq!(refused["code"], 1014, "{refused}");
}

/// Other writers wait for a batch and lose nothing; readers do not see half of it.
async fn a_batch_stands_between_other_writes(world: &World) {
    let agent = author(world).await;
    let others = (0..20).map(|at| {
        let (service, caller) = (world.service.clone(), world.admin.clone());
        let title = json!({ "title": format!("Other {at}") });
        let input = serde_json::from_value(title).unwrap();
        tokio::spawn(async move { item::create(&service, &caller, Kind::Epic, input, None).await })
    });
    let others: Vec<_> = others.collect();
    for _ in 0..3 {
        let operations = vec![json!({ "tool": "create_epic", "arguments": { "title": "Together" } }); 10];
        agent
            .ask("batch/execute", json!({ "operations": operations }))
            .await;
    }
    for other in others {
        other.await.unwrap().unwrap();
    }
    assert_eq!(agent.call("list_epics", json!({})).await["total_count"], 50);
    let whole = agent.call("verify_history", json!({})).await;
    assert!(whole["fault"].is_null(), "{whole}");
}

/// A batch within a batch is applied with it, undone with it, and tries what it is told to try.
async fn many_changes_are_one_call_of_a_batch(world: &World) {
    let agent = author(world).await;
    let changes = |title: &str, dry_run: bool| json!({ "tool": "apply_changes", "arguments": { "operations": [{ "op": "create", "kind": "user_story", "epic_id": "@epic", "title": title, "ref": "own" }, { "op": "comment", "id": "@own", "content": "x" }], "dry_run": dry_run } });
    let epic = json!({ "tool": "create_epic", "arguments": { "title": "Around" }, "ref": "epic" });
    let wrong = json!({ "tool": "get_item", "arguments": { "id": "REQ-999" } });
    let head = world.chain_head().await;
    let refused = json!({ "operations": [epic, changes("Undone", false), wrong] });
    agent.refused("batch/execute", refused).await;
    assert_eq!(world.chain_head().await, head);
    let done = json!({ "operations": [epic, changes("Tried", true), changes("Kept", false)] });
    agent.ask("batch/execute", done).await;
    let stories = agent
        .call("list_user_stories", json!({ "epic_id": "EP-001" }))
        .await;
    let rows = stories["rows"].to_string();
    assert!(
        rows.contains("US-001") && rows.contains("Kept") && !rows.contains("Tried"),
        "{rows}"
    );
}

/// A client that takes its batch back in the middle undoes it, and others go on.
async fn whoever_goes_away_takes_the_batch_along(world: &World) {
    let agent = author(world).await;
    let operations = vec![json!({ "tool": "create_epic", "arguments": { "title": "Half" } }); 200];
    agent
        .cancelled("batch/execute", json!({ "operations": operations }))
        .await;
    let next = agent.call("create_epic", json!({ "title": "Next" })).await;
    let counted = agent.call("list_epics", json!({})).await["total_count"].clone();
    assert!(
        counted == 1 || counted == 201,
        "all or nothing, not {counted}: {next}"
    );
}

//= specs/spexus-mcp.md#batches
//= type=test
//# A reference to a result MUST mean the very item the operation made or read, in whichever project it is.
async fn a_batch_that_makes_an_epic_in_one_project_never_writes_into_the_other(world: &World) {
    pair::seed(world).await;
    for (title, project) in [
        ("Numbers alike", "default"),
        ("Numbers alike", "web"),
        ("Unrelated", "default"),
    ] {
        let epic = json!({ "title": title, "project": project });
        world.create("epic", epic).await;
    }
    let agent = author(world).await;
    let operations = json!([
        { "tool": "create_epic", "arguments": { "title": "W2", "project": "web" }, "ref": "epic" },
        { "tool": "create_user_story", "arguments": { "epic_id": "@epic", "title": "meant for web" }, "ref": "story" },
        { "tool": "add_comment", "arguments": { "id": "@epic", "content": "meant for web" } },
        { "tool": "update_epic", "arguments": { "epic_id": "@epic", "expect_rev": "@epic.rev", "priority": 1, "description": "@epic.reference_id" } },
        { "tool": "get_item", "arguments": { "id": "@story", "detail": "line" }, "ref": "read" },
        { "tool": "update_user_story", "arguments": { "user_story_id": "@read", "priority": 2 } },
    ]);
    agent
        .ask("batch/execute", json!({ "operations": operations }))
        .await;
    let (web, other) = (world.item("web/EP-003").await, world.item("default/EP-003").await);
    assert_eq!(
        (&web["title"], &web["priority"], &web["description"]),
        (&json!("W2"), &json!(1), &json!("EP-003"))
    );
    assert_eq!(
        (&other["title"], &other["priority"], &other["rev"]),
        (&json!("Unrelated"), &json!(3), &json!(1))
    );
    for (project, count) in [("web", 1), ("default", 0)] {
        let epic = format!("{project}/EP-003");
        let comments = world.comments(&epic).await["total_count"].clone();
        let stories =
            agent.call("list_user_stories", json!({ "epic_id": epic })).await["total_count"].clone();
        let counts = [comments, stories];
        assert_eq!(counts, [json!(count), json!(count)], "{project}");
    }
}
