//! Subscriptions, with real files that really change.

use super::client::Client;
use super::project;
use crate::scratch::Scratch;
use serde_json::{Value, json};

const TEST: &str = "//= specs/pot.md#brewing\n//= type=test\n//# A pot MUST brew.\n";

fn is_update(line: &Value, uri: &str) -> bool {
    line["method"] == "notifications/resources/updated" && line["params"]["uri"] == uri
}

fn address(client: &mut Client) -> String {
    let path = client.read("/requirements")[0]["full_path"]
        .as_str()
        .unwrap()
        .to_owned();
    format!("duvet://{path}")
}

fn change(scratch: &Scratch) {
    scratch.write("src/tests.rs", TEST);
}

//= specs/duvet.md#mcp-server
//= type=test
//# A resource whose contents changed MUST be told to those who subscribed to it.
#[test]
fn a_subscriber_hears_that_a_requirement_changed_its_status() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let uri = address(&mut client);
    client.request("resources/subscribe", json!({ "uri": uri }));
    client.request("resources/subscribe", json!({ "uri": "duvet:///citations" }));
    change(&scratch);
    let notice = client.notice(|line| is_update(line, &uri));
    assert_eq!(notice["params"]["change_type"], "updated");
    client.notice(|line| is_update(line, "duvet:///citations"));
    let path = uri.trim_start_matches("duvet://");
    assert_eq!(client.read(path)["status"], "done");

    scratch.write(
        "specs/pot.md",
        super::SPECIFICATION.replace("A pot MUST brew.", "A pot MUST boil."),
    );
    let notice = client.notice(|line| is_update(line, &uri));
    assert_eq!(notice["params"]["change_type"], "deleted");
    client.request("resources/unsubscribe", json!({ "uri": uri }));
}

#[test]
fn a_listener_of_the_stateless_era_hears_it_too() {
    let scratch = project();
    let mut asking = Client::ready(scratch.root());
    let uri = address(&mut asking);
    let mut client = Client::silent(scratch.root(), &[]);
    let params = json!({ "notifications": { "resourceSubscriptions": [uri] } });
    let id = client.open("subscriptions/listen", params);
    client.notice(|line| line["method"] == "notifications/subscriptions/acknowledged");
    change(&scratch);
    let notice = client.notice(|line| is_update(line, &uri));
    let meta = &notice["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(meta, &json!(id));
}

#[test]
fn a_new_specification_changes_the_list() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    client.read("/specifications");
    scratch.write("specs/cup.md", "# Cup\n\nA cup MUST hold.\n");
    scratch.write(
        ".duvet/config.toml",
        format!("{}[[specification]]\nsource = \"specs/cup.md\"\n", super::CONFIG),
    );
    client.notice(|line| line["method"] == "notifications/resources/list_changed");
    assert_eq!(client.list("/specifications").len(), 2);
}
