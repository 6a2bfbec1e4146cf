//! Links: their types, their directions and what they forbid.

use crate::client::uuid;
use crate::world::{Refused, World, both};
use serde_json::{Value, json};

both![
    links_have_types_directions_and_rules,
    steering_documents_guide_epics
];

//= specs/spexus-service.md#rules
//= type=test
//# Links of a type that forbids cycles MUST NOT form one.
async fn links_have_types_directions_and_rules(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    for title in ["Second", "Third"] {
        let requirement = json!({"parent": "US-001", "title": title});
        admin.create("requirement", requirement).await.unwrap();
    }
    let link = admin.link("REQ-001", "depends_on", "REQ-002").await.unwrap();
    assert_eq!(
        (&link["inverse"], &link["suspect"]),
        (&json!("is_required_by"), &json!(false))
    );
    admin.link("REQ-001", "depends_on", "REQ-002").await.refused(1052);
    admin.link("REQ-001", "depends_on", "REQ-001").await.refused(1054);
    let swapped = admin.link("REQ-003", "is required by", "REQ-002").await.unwrap();
    let end = |link: &Value, end: &str| link[end]["reference_id"].clone();
    assert_eq!(
        (end(&swapped, "source"), end(&swapped, "target")),
        (json!("REQ-002"), json!("REQ-003"))
    );
    let refusal = admin.link("REQ-003", "depends_on", "REQ-001").await.refused(1054);
    assert!(
        refusal.message.contains("REQ-001 already depends_on REQ-003"),
        "{refusal:?}"
    );
    admin.link("EP-001", "verifies", "REQ-001").await.refused(1054);
    admin
        .update("REQ-002", json!({"description": "More exact now."}))
        .await
        .unwrap();
    let links = admin.links("REQ-002", None).await.unwrap();
    let mut all = links["data"].as_array().unwrap().iter();
    assert!(all.all(|link| link["suspect"] == true), "{links}");
    let id = uuid(&links["data"][0]["id"]);
    assert_eq!(admin.confirm(id).await.unwrap()["suspect"], false);
    assert_eq!(
        admin.links("REQ-002", Some("is_required_by")).await.unwrap()["total_count"],
        1
    );
    admin.unlink(id).await.unwrap();
    admin.unlink(id).await.refused(1046);
}

async fn steering_documents_guide_epics(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let document = json!({"title": "Security", "description": "No passwords."});
    admin.create("steering_document", document).await.unwrap();
    let guiding = admin.link("STD-001", "guides", "EP-001").await.unwrap();
    admin.link("std-1", "guides", "ep-1").await.refused(1052);
    let guides = admin.links("EP-001", Some("guides")).await.unwrap();
    assert_eq!(guides["total_count"], 0, "an epic guides nothing");
    let guides = admin.links("STD-001", Some("guides")).await.unwrap();
    assert_eq!(guides["data"][0]["target"]["reference_id"], "EP-001");
    admin.unlink(uuid(&guiding["id"])).await.unwrap();
}
