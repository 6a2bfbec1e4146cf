//! References with the prefix of their project: every operation of the OpenAPI document, asked where the setting is on.

use crate::harness::{Server, both};
use crate::isolation::{About, Who, World, ask, rows};
use serde_json::json;
use test_support::references_without;

/// What a text of ours says of references in general.
const EXAMPLES: [&str; 1] = ["REQ-012"];

both![every_operation_shows_references_as_their_project_has_them];

//= specs/spexus-service.md#projects
//= type=test
//# Where a project asks for it, every answer MUST show the references of its items with its key before them, and MUST take them
//# back in that form.
async fn every_operation_shows_references_as_their_project_has_them(server: &mut Server) {
    let world = World::seed(server, Who::Member).await;
    let on = json!({"prefix_references": true});
    let set = server.patch("/api/v1/projects/web", on).await.ok();
    assert_eq!(set["prefix_references"], true);
    let (mut faults, mut shown) = (Vec::new(), 0);
    for row in rows() {
        let Some(expect) = row.expect[0] else { continue };
        let name = format!("WEB-{}", world.own.called(row.kind).1);
        let (status, told, request) = ask(server, &world, &row, About::Own, &name).await;
        let plain = references_without(&["WEB"], &told);
        let plain: Vec<_> = plain
            .into_iter()
            .filter(|one| !EXAMPLES.contains(&one.as_str()))
            .collect();
        if status != expect || !plain.is_empty() {
            faults.push(format!(
                "{request}: {status} instead of {expect}, plain {plain:?}: {told}"
            ));
        }
        shown += usize::from(told.contains("WEB-"));
    }
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert!(shown > 50, "only {shown} answers name an item");
}
