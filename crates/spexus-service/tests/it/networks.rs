//! Many items and their links at once: what matrices and graphs are drawn from.

use crate::client::{Client, uuid};
use crate::world::{Refused, World, both};
use serde_json::json;
use spexus_domain::{Ruled, Uuid};
use spexus_service::Service;
use spexus_service::network::{self, Around, Direction, Linked, Neighbourhood};

both![
    links_among_items_are_those_one_may_see,
    what_is_around_an_item_is_found_step_by_step,
    a_bound_token_walks_only_within_its_project
];

/// Requirements `REQ-001` to `REQ-004`, each of which depends on the one before.
async fn chain(world: &World) -> Vec<Uuid> {
    world.seed().await;
    let admin = &world.admin;
    for title in ["Second", "Third", "Fourth"] {
        let requirement = json!({"parent": "US-001", "title": title});
        admin.create("requirement", requirement).await.unwrap();
    }
    for (later, earlier) in [
        ("REQ-002", "REQ-001"),
        ("REQ-003", "REQ-002"),
        ("REQ-004", "REQ-003"),
    ] {
        admin.link(later, "depends_on", earlier).await.unwrap();
    }
    let mut ids = Vec::new();
    for reference in ["REQ-001", "REQ-002", "REQ-003", "REQ-004"] {
        ids.push(uuid(&admin.get(reference).await.unwrap()["id"]));
    }
    ids
}

async fn linked(service: &Service, client: &Client, ids: &[Uuid], of: Option<&str>) -> Ruled<Linked> {
    network::links_of(service, &client.caller, Some("default"), ids, of).await
}

//= specs/spexus-service.md#networks
//= type=test
//# The links among many items MUST be those of which the caller may see both ends, and an answer that was cut MUST say so.
async fn links_among_items_are_those_one_may_see(world: &World) {
    let ids = chain(world).await;
    let (service, admin) = (&world.service, &world.admin);
    let all = linked(service, admin, &ids, None).await.unwrap();
    assert_eq!((all.links.len(), all.truncated), (3, false));
    // A type name means the links that begin at the items, an inverse name those that end there.
    for (of, of_items, expected) in [
        ("depends_on", &ids[..1], 0),
        ("is_required_by", &ids[..1], 1),
        ("depends_on", &ids[1..2], 1),
        ("blocks", &ids[..], 0),
    ] {
        let found = linked(service, admin, of_items, Some(of)).await.unwrap();
        assert_eq!(found.links.len(), expected, "{of}");
    }
    linked(service, admin, &ids, Some("dpends_on"))
        .await
        .refused(1021);
    linked(service, admin, &vec![ids[0]; 201], None)
        .await
        .refused(1021);
    admin.create_project(json!({"key": "web"})).await.unwrap();
    admin
        .naming("web")
        .create("epic", json!({"title": "Elsewhere"}))
        .await
        .unwrap();
    admin
        .link("default/REQ-001", "relates_to", "web/EP-001")
        .await
        .unwrap();
    world.user("kim", "User").await;
    let bound = world.bound("kim", "w", "default").await;
    assert_eq!(
        linked(service, admin, &ids[..1], None).await.unwrap().links.len(),
        2
    );
    assert_eq!(
        linked(service, &bound, &ids[..1], None)
            .await
            .unwrap()
            .links
            .len(),
        1
    );
    let several = network::several(
        service,
        &admin.caller,
        Some("default"),
        &[ids[2], Uuid::nil(), ids[0]],
    )
    .await;
    let several: Vec<String> = several
        .unwrap()
        .iter()
        .map(|item| item.reference_id.to_string())
        .collect();
    assert_eq!(several, ["REQ-003", "REQ-001"]);
    let elsewhere = network::several(service, &admin.caller, Some("web"), &ids)
        .await
        .unwrap();
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
}

async fn around(world: &World, client: &Client, id: &str, wanted: Around) -> Ruled<Neighbourhood> {
    network::around(&world.service, &client.caller, Some("default"), id, &wanted).await
}

fn told(found: &Neighbourhood) -> Vec<(String, i32)> {
    let nodes = found.nodes.iter();
    nodes
        .map(|node| (node.item.reference_id.to_string(), node.steps))
        .collect()
}

//= specs/spexus-service.md#networks
//= type=test
//# What is around an item MUST be found step by step along its links, in the direction that is asked for, each item at its least distance,
//# and MUST NOT lead through what the caller may not see.
async fn what_is_around_an_item_is_found_step_by_step(world: &World) {
    chain(world).await;
    let admin = &world.admin;
    admin.link("REQ-004", "relates_to", "REQ-002").await.unwrap();
    let wanted = |depth, direction| Around {
        depth,
        direction,
        link_type: Some("depends_on".into()),
    };
    for (depth, direction, expected) in [
        (1, Direction::Forward, vec![("REQ-002", 0), ("REQ-001", 1)]),
        (1, Direction::Backward, vec![("REQ-002", 0), ("REQ-003", -1)]),
        (
            2,
            Direction::Both,
            vec![("REQ-002", 0), ("REQ-003", -1), ("REQ-001", 1), ("REQ-004", -2)],
        ),
    ] {
        let found = around(world, admin, "REQ-002", wanted(depth, direction))
            .await
            .unwrap();
        let expected: Vec<(String, i32)> = expected
            .iter()
            .map(|(name, steps)| ((*name).to_owned(), *steps))
            .collect();
        assert_eq!(
            (told(&found), found.truncated),
            (expected, false),
            "{direction:?}"
        );
        assert_eq!(
            found.links.len(),
            found.nodes.len() - 1,
            "every link among them, once"
        );
    }
    let any = Around {
        depth: 1,
        ..Around::default()
    };
    let found = around(world, admin, "REQ-002", any).await.unwrap();
    assert!(
        told(&found).contains(&("REQ-004".to_owned(), -1)),
        "the shortest way counts"
    );
    for depth in [0, network::MAX_DEPTH + 1] {
        around(world, admin, "REQ-002", wanted(depth, Direction::Both))
            .await
            .refused(1021);
    }
}

async fn a_bound_token_walks_only_within_its_project(world: &World) {
    chain(world).await;
    let admin = &world.admin;
    admin.create_project(json!({"key": "web"})).await.unwrap();
    admin
        .naming("web")
        .create("epic", json!({"title": "TOPSECRET"}))
        .await
        .unwrap();
    admin
        .link("default/REQ-001", "relates_to", "web/EP-001")
        .await
        .unwrap();
    admin
        .link("web/EP-001", "relates_to", "default/REQ-004")
        .await
        .unwrap();
    world.user("kim", "User").await;
    let bound = world.bound("kim", "w", "default").await;
    let wanted = |link_type: &str| Around {
        depth: 3,
        direction: Direction::Both,
        link_type: Some(link_type.into()),
    };
    let all = around(world, admin, "REQ-001", wanted("relates_to"))
        .await
        .unwrap();
    assert_eq!(told(&all).len(), 3, "{all:?}");
    let own = around(world, &bound, "REQ-001", wanted("relates_to"))
        .await
        .unwrap();
    assert_eq!((told(&own).len(), own.links.len()), (1, 0), "{own:?}");
}
