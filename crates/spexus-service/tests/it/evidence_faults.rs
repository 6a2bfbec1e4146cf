//! The faults that could make something look verified that is not, each pushed as CI would push it, on both engines.

use crate::client::Client;
use crate::world::{World, both};
use serde_json::{Value, json};
use spexus_domain::trace::{ItemTrace, Rung, TraceFlag};
use spexus_service::evidence::{self, NewReview, PushBody};

both![
    nothing_that_was_pushed_looks_verified_that_is_not,
    what_moved_is_named_until_a_person_says_that_it_still_holds,
    agents_that_push_a_lot_do_not_move_the_traced_commit,
    a_commit_that_is_yet_to_be_made_is_refused,
];

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

async fn push(client: &Client, mut body: Value) {
    if body.get("project").is_none() {
        body["project"] = json!(client.named());
    }
    let body: PushBody = serde_json::from_value(body).unwrap();
    let pushed = evidence::push(&client.service, &client.caller, body.into_push().unwrap()).await;
    pushed.unwrap();
}

async fn trace(client: &Client, id: &str) -> ItemTrace {
    let found = evidence::trace(&client.service, &client.caller, client.named(), None, id).await;
    found.unwrap().trace
}

/// A scan: the code of the requirement, and marks above its tests.
fn scan(tests: &[&str]) -> Value {
    let mark = |role: &str, path: &str, line: usize, names: &[&str]| {
        json!({"id": "REQ-001", "role": role, "path": path, "line": line, "end_line": line + 5, "symbol": "f", "names": names,
               "hash": "h", "quote": "", "by": "citation"})
    };
    let tests = tests.iter().enumerate();
    let tests = tests.map(|(at, name)| mark("test", "tests/it.rs", 10 * (at + 1), &[name]));
    std::iter::once(mark("code", "src/add.rs", 1, &[]))
        .chain(tests)
        .collect()
}

/// A run: suite, name, what is inside of the case.
fn run(cases: &[(&str, &str, &str)]) -> Value {
    let cases = cases.iter().map(|(suite, name, inside)| {
        format!("<testsuite name=\"{suite}\"><testcase classname=\"{suite}\" name=\"{name}\">{inside}</testcase></testsuite>")
    });
    let text = format!("<testsuites>{}</testsuites>", cases.collect::<String>());
    json!({"format": "junit", "text": text})
}

fn covering(test: Option<&str>) -> Value {
    let text = "SF:/ci/src/add.rs\nDA:3,1\nend_of_record\n";
    json!({"format": "lcov", "test": test, "text": text})
}

//= specs/spexus-service.md#evidence
//= type=test
//# What ran at another commit, on a working tree with changes, or by an agent's word alone MUST be shown and MUST NOT raise a state.
//= specs/spexus-service.md#evidence
//= type=test
//# A test that was in an earlier run of its suite and is not in the last one MUST keep its item from standing higher than claimed.
async fn nothing_that_was_pushed_looks_verified_that_is_not(world: &World) {
    let both = [("pkg", "adds", ""), ("pkg", "adds_more", "")];
    let good = || run(&[("pkg", "adds", "")]);
    let one = || scan(&["pkg::adds"]);
    let two = || scan(&["pkg::adds", "pkg::adds_more"]);
    let changed = |at: usize, field: &str, value: &str| {
        let mut marks = one();
        marks[at][field] = json!(value);
        marks
    };
    let covered = |test: Option<&str>| {
        let mut body = first(one(), good());
        let reports = body["reports"].as_array_mut();
        reports.unwrap().push(covering(test));
        body
    };
    let failing = |inside: &str| vec![first(one(), run(&[("pkg", "adds", inside)]))];
    let twice = |before: &str, after: &str| {
        vec![first(
            one(),
            run(&[("pkg", "adds", before), ("pkg", "adds", after)]),
        )]
    };
    let mut same_name = changed(1, "path", "tests/other.rs");
    same_name[1]["names"] = json!(["adds"]);
    let mut dirty = unscanned(A, good());
    dirty["dirty"] = json!(true);
    use Rung::{Claimed, Executed, Passed, Ran};
    use TraceFlag::{Covered, Failed, Skipped, Stale, Suspect, Vanished};
    let faults: Vec<(&str, Vec<Value>, Rung, &[TraceFlag])> = vec![
        ("nothing is wrong", vec![first(one(), good())], Passed, &[]),
        (
            "the test ran the code",
            vec![covered(Some("adds"))],
            Executed,
            &[],
        ),
        (
            "vanished",
            vec![first(one(), good()), second(one(), run(&[("pkg", "other", "")]))],
            Claimed,
            &[Vanished],
        ),
        (
            "renamed with its mark",
            vec![
                first(one(), good()),
                second(scan(&["pkg::sums"]), run(&[("pkg", "sums", "")])),
            ],
            Claimed,
            &[Vanished],
        ),
        ("skipped", failing("<skipped/>"), Claimed, &[Skipped]),
        (
            "ignored, so that the runner leaves it out",
            vec![first(two(), good())],
            Claimed,
            &[],
        ),
        (
            "a run of the commit before",
            vec![first(one(), good()), scanned(B, "2026-01-02", one())],
            Claimed,
            &[Stale],
        ),
        (
            "a run of a commit that was never scanned",
            vec![scanned(A, "2026-01-01", one()), unscanned(B, good())],
            Claimed,
            &[],
        ),
        (
            "a dirty tree",
            vec![scanned(A, "2026-01-01", one()), dirty],
            Claimed,
            &[Stale],
        ),
        (
            "a test of that name in another suite",
            vec![first(one(), run(&[("elsewhere", "adds", "")]))],
            Claimed,
            &[],
        ),
        (
            "coverage of the commit before",
            vec![covered(Some("adds")), second(one(), good())],
            Passed,
            &[],
        ),
        (
            "coverage of nobody knows which test",
            vec![covered(None)],
            Passed,
            &[Covered],
        ),
        ("failed", failing("<failure/>"), Ran, &[Failed]),
        ("could not run to its end", failing("<error/>"), Ran, &[Failed]),
        ("retried until it passed", twice("<failure/>", ""), Ran, &[Failed]),
        (
            "the same test twice, the second time failed",
            twice("", "<failure/>"),
            Ran,
            &[Failed],
        ),
        (
            "two tests of one name",
            vec![first(same_name, run(&[("x", "adds", ""), ("y", "adds", "")]))],
            Claimed,
            &[],
        ),
        (
            "the later of two runs is pushed first",
            vec![
                second(one(), run(&[("pkg", "adds", "<failure/>")])),
                first(one(), good()),
            ],
            Ran,
            &[Failed],
        ),
        (
            "one shard of two",
            vec![first(two(), run(&both)), second(two(), good())],
            Claimed,
            &[Vanished],
        ),
        (
            "the second shard comes later",
            vec![
                first(two(), run(&both)),
                second(two(), good()),
                unscanned(B, run(&[("pkg", "adds_more", "")])),
            ],
            Passed,
            &[],
        ),
        (
            "one of two shards failed before",
            vec![
                first(one(), run(&[("pkg", "adds", "<failure/>")])),
                unscanned(A, good()),
            ],
            Ran,
            &[Failed],
        ),
        (
            "edited code, and a run of before",
            vec![
                first(one(), good()),
                scanned(B, "2026-01-02", changed(0, "hash", "other")),
            ],
            Claimed,
            &[Stale, Suspect],
        ),
        (
            "a file that moved, and a run of it",
            vec![
                first(one(), good()),
                second(changed(0, "path", "src/sum.rs"), good()),
            ],
            Passed,
            &[],
        ),
        (
            "one id beside the same test twice",
            vec![first(
                scan(&["pkg::adds", "pkg::adds"]),
                run(&[("pkg", "adds", "<failure/>")]),
            )],
            Ran,
            &[Failed],
        ),
        (
            "a mark of a requirement that is not there",
            vec![first(changed(1, "id", "REQ-999"), good())],
            Rung::Cited,
            &[],
        ),
    ];
    for (number, (name, pushes, state, flags)) in faults.into_iter().enumerate() {
        let client = project(world, &format!("fault{number}")).await;
        for body in pushes {
            push(&client, body).await;
        }
        let found = trace(&client, "REQ-001").await;
        assert_eq!(
            (found.state, found.flags.as_slice()),
            (state, flags),
            "{name}: {found:#?}"
        );
        assert_eq!(found.weakest.is_empty(), state == Rung::Affirmed, "{name}");
    }
}

//= specs/spexus-service.md#evidence
//= type=test
//# Code below a citation, and a sentence an item comes from, that changed since somebody read it with the item MUST be told as
//# suspect, by its place, until somebody confirms it; a file that only moved MUST NOT.
async fn what_moved_is_named_until_a_person_says_that_it_still_holds(world: &World) {
    let client = project(world, "moved").await;
    let good = || run(&[("pkg", "adds", "")]);
    push(&client, first(scan(&["pkg::adds"]), good())).await;
    let mut edited = scan(&["pkg::adds"]);
    edited[0]["hash"] = json!("other");
    push(&client, second(edited.clone(), good())).await;
    let found = trace(&client, "REQ-001").await;
    let moved = ["the code of f at src/add.rs:1"];
    assert_eq!(
        (found.flags.as_slice(), found.moved.as_slice()),
        (
            &[TraceFlag::Stale, TraceFlag::Suspect][..],
            &moved.map(str::to_owned)[..]
        )
    );
    assert!(found.weakest.starts_with(moved[0]), "{}", found.weakest);
    // The text moves as well.
    client
        .update("REQ-001", json!({"title": "It MUST add up"}))
        .await
        .unwrap();
    let found = trace(&client, "REQ-001").await;
    assert_eq!((found.state, found.moved.len()), (Rung::Claimed, 2));
    let said = json!({"kind": "confirmed", "why": "I read both."});
    let input: NewReview = serde_json::from_value(said).unwrap();
    let said = evidence::review(&client.service, &client.caller, "moved/REQ-001", input)
        .await
        .unwrap();
    assert_eq!((said.trace.state, said.trace.moved.len()), (Rung::Passed, 0));
    assert_eq!(
        (said.reviews[0].reviewer.as_str(), said.reviews[0].why.as_str()),
        ("admin", "I read both.")
    );
    push(&client, json!({"commit": B, "committed_at": "2026-01-02", "reports": [run(&[("pkg", "adds", "")])], "marks": edited})).await;
    assert_eq!(trace(&client, "REQ-001").await.flags, []);
}

/// An agent's pushes are no reason to trace another commit, however many they are and whenever they say their commit was made.
async fn agents_that_push_a_lot_do_not_move_the_traced_commit(world: &World) {
    let client = project(world, "busy").await;
    world.user("kim", "User").await;
    let agent = json!({"name": "agent", "scopes": ["write"], "agent": true});
    let agent = world.client(&world.token_of("kim", agent).await).await.unwrap();
    push(&client, first(scan(&["pkg::adds"]), run(&[("pkg", "adds", "")]))).await;
    for number in 0..20 {
        let mut body = scanned(&format!("{number:07}"), "2026-03-03", scan(&["pkg::other"]));
        body["project"] = json!("busy");
        push(&agent, body).await;
    }
    assert_eq!(trace(&client, "REQ-001").await.state, Rung::Passed);
}

/// A project of its own with one requirement.
async fn project(world: &World, key: &str) -> Client {
    world.admin.create_project(json!({"key": key})).await.unwrap();
    let client = world.admin.naming(key);
    client.create("epic", json!({"title": "Sums"})).await.unwrap();
    let story = json!({"epic_id": "EP-001", "title": "By hand"});
    client.create("user_story", story).await.unwrap();
    let requirement = json!({"user_story_id": "US-001", "title": "It MUST add"});
    client.create("requirement", requirement).await.unwrap();
    client
}

fn first(marks: Value, report: Value) -> Value {
    json!({"commit": A, "committed_at": "2026-01-01", "marks": marks, "reports": [report]})
}

fn second(marks: Value, report: Value) -> Value {
    json!({"commit": B, "committed_at": "2026-01-02", "marks": marks, "reports": [report]})
}

fn scanned(commit: &str, at: &str, marks: Value) -> Value {
    json!({"commit": commit, "committed_at": at, "marks": marks})
}

/// A run whose push does not say when its commit was made.
fn unscanned(commit: &str, report: Value) -> Value {
    json!({"commit": commit, "reports": [report]})
}

//= specs/spexus-service.md#evidence
//= type=test
//# A push for a commit that is more than a day ahead of the clock MUST be refused.
async fn a_commit_that_is_yet_to_be_made_is_refused(world: &World) {
    let client = project(world, "clocks").await;
    let body = json!({"project": "clocks", "commit": A, "committed_at": "2999-01-01", "reports": [run(&[("pkg", "adds", "")])]});
    let body: PushBody = serde_json::from_value(body).unwrap();
    let refused = evidence::push(&client.service, &client.caller, body.into_push().unwrap()).await;
    assert_eq!(refused.unwrap_err().faults[0].field, "committed_at");
    // Marks of a tree on Windows, with coverage of another machine.
    let mut marks = scan(&["pkg::adds"]);
    marks[0]["path"] = json!("src\\add.rs");
    let mut body = first(marks, run(&[("pkg", "adds", "")]));
    body["reports"]
        .as_array_mut()
        .unwrap()
        .push(covering(Some("adds")));
    push(&client, body).await;
    let found = trace(&client, "REQ-001").await;
    assert_eq!(
        (found.state, found.spans[0].path.as_str()),
        (Rung::Executed, "src/add.rs")
    );
}
