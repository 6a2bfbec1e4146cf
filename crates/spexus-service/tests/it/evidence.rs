//! Evidence, from a push to the state it makes, on both engines.

use crate::client::Client;
use crate::world::{Refused, World, both, fact};
use serde_json::{Value, json};
use spexus_domain::trace::{Rung, TraceFlag};
use spexus_domain::{Code, Ruled};
use spexus_service::evidence::{self, CheckQuery, NewReview, PushAnswer, PushBody, TraceAnswer, scan};
use spexus_service::lease::WorkQuery;

both![
    a_push_raises_a_state_and_the_same_push_does_nothing,
    a_report_that_cannot_be_read_refuses_the_whole_push,
    a_scan_and_a_run_of_one_commit_meet,
    an_older_run_that_comes_later_changes_nothing,
    an_edit_takes_a_state_down_at_once,
    an_agents_push_is_its_word_and_ci_s_is_not,
    ids_that_are_no_items_are_listed,
    the_gate_tells_each_gap,
    people_confirm_affirm_and_waive_and_agents_do_not,
    a_test_that_is_gone_is_missed_until_a_person_says_otherwise,
    against_a_baseline_only_new_gaps_are_told,
    only_what_a_change_touched_is_looked_at,
    a_timeline_ends_with_the_numbers_of_the_check,
    a_step_that_demands_evidence_is_taken_by_nobody_s_word,
    a_story_takes_a_step_when_all_below_it_is_shown,
    what_fails_is_offered_first_and_what_is_shown_last,
];

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

async fn push(client: &Client, body: Value) -> Ruled<PushAnswer> {
    let body: PushBody = serde_json::from_value(body).unwrap();
    evidence::push(&client.service, &client.caller, body.into_push()?).await
}

async fn trace(client: &Client, id: &str) -> TraceAnswer {
    evidence::trace(&client.service, &client.caller, None, None, id)
        .await
        .unwrap()
}

fn junit(cases: &str) -> Value {
    json!([{"format": "junit", "name": "junit.xml", "text": format!("<testsuites><testsuite name=\"pkg\">{cases}</testsuite></testsuites>")}])
}

/// A case that names a requirement itself.
fn case(name: &str, id: &str, inside: &str) -> String {
    format!(
        "<testcase classname=\"pkg\" name=\"{name}\"><properties><property name=\"requirement\" value=\"{id}\"/></properties>{inside}</testcase>"
    )
}

//= specs/spexus-service.md#evidence
//= type=test
//# A push MUST be kept and sealed, and its items MUST be derived, in one transaction.
//= specs/spexus-service.md#evidence
//= type=test
//# The same push again MUST do nothing and answer as the first did.
async fn a_push_raises_a_state_and_the_same_push_does_nothing(world: &World) {
    world.seed().await;
    assert_eq!(trace(&world.admin, "REQ-001").await.trace.state, Rung::None);
    let body = json!({"commit": A, "reports": junit(&case("t", "REQ-001", ""))});
    let first = push(&world.admin, body.clone()).await.unwrap();
    assert_eq!((first.already_known, first.sources[0].passed), (false, 1));
    assert_eq!(first.states["passed"], 1);
    let found = trace(&world.admin, "REQ-001").await.trace;
    assert_eq!(
        (found.state, found.tests[0].name.as_str()),
        (Rung::Passed, "pkg::t")
    );
    let before = world.chain_head().await;
    let second = push(&world.admin, body).await.unwrap();
    assert_eq!((second.already_known, second.id), (true, first.id));
    assert_eq!(world.chain_head().await, before, "nothing was done");
    let failed = case("t", "REQ-001", "<failure/>");
    push(&world.admin, json!({"commit": B, "reports": junit(&failed)}))
        .await
        .unwrap();
    let found = trace(&world.admin, "REQ-001").await.trace;
    assert_eq!((found.state, found.flags), (Rung::Ran, vec![TraceFlag::Failed]));
}

//= specs/spexus-service.md#evidence
//= type=test
//# A push of which any report cannot be read MUST be refused as a whole, with the report, the line and what is wrong there.
async fn a_report_that_cannot_be_read_refuses_the_whole_push(world: &World) {
    world.seed().await;
    let mut reports = junit(&case("t", "REQ-001", ""));
    let broken = json!({"format": "junit", "name": "broken.xml", "text": "<testsuite>\n<testcase name=\"a\">\n</testsuite>"});
    reports.as_array_mut().unwrap().push(broken);
    let refusal = push(&world.admin, json!({"commit": A, "reports": reports}))
        .await
        .unwrap_err();
    assert_eq!(refusal.code, Code::InvalidParams);
    assert!(
        refusal.message.contains("broken.xml, line 3"),
        "{}",
        refusal.message
    );
    assert_eq!(trace(&world.admin, "REQ-001").await.trace.state, Rung::None);
    for (body, field) in [
        (json!({"commit": "main", "reports": []}), "commit"),
        (json!({"commit": A}), "reports"),
        (
            json!({"commit": A, "reports": [{"format": "xunit", "text": ""}]}),
            "format",
        ),
        (
            json!({"commit": A, "reports": [{"format": "tap", "test": "x", "text": "1..0"}]}),
            "test",
        ),
        (
            json!({"commit": A, "committed_at": "soon", "reports": []}),
            "committed_at",
        ),
    ] {
        assert_eq!(push(&world.admin, body).await.unwrap_err().faults[0].field, field);
    }
}

//= specs/spexus-service.md#evidence
//= type=test
//# A scan MUST read citations of `spexus:` and an id in the comment styles that the project's `.duvet` configuration names.
async fn a_scan_and_a_run_of_one_commit_meet(world: &World) {
    world.seed().await;
    let tree = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = tree.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("Cargo.toml", "[package]\nname = \"adder\"\n");
    write(
        "src/lib.rs",
        "//= spexus:REQ-001\n//# {quote}\npub fn add() {\n    up();\n}\n\n#[cfg(test)]\nmod tests {\n    #[verifies(\"REQ-001\")]\n    #[test]\n    fn adds() {}\n}\n",
    );
    let title = trace(&world.admin, "REQ-001").await.title;
    let text = std::fs::read_to_string(tree.path().join("src/lib.rs")).unwrap();
    write("src/lib.rs", &text.replace("{quote}", &title));
    let scanned = scan::tree(tree.path()).unwrap();
    assert_eq!((scanned.marks.len(), scanned.notes), (2, vec![]));
    let marks = serde_json::to_value(&scanned.marks).unwrap();
    push(&world.admin, json!({"commit": A, "marks": marks}))
        .await
        .unwrap();
    let found = trace(&world.admin, "REQ-001").await.trace;
    assert_eq!((found.state, found.spans[0].end_line), (Rung::Claimed, 5));
    assert_eq!(found.spans[0].quote_found, Some(true));
    let run = "<testcase classname=\"adder\" name=\"tests::adds\"/>";
    let coverage = json!({"format": "lcov", "test": "tests::adds", "text": "SF:/ci/build/src/lib.rs\nDA:4,1\nend_of_record\n"});
    let mut reports = junit(run);
    reports.as_array_mut().unwrap().push(coverage);
    push(&world.admin, json!({"commit": A, "reports": reports}))
        .await
        .unwrap();
    let found = trace(&world.admin, "REQ-001").await.trace;
    assert_eq!((found.state, found.flags), (Rung::Executed, vec![]));
    // The project's own comments, and nothing else.
    write(
        ".duvet/config.toml",
        "[[source]]\npattern = \"src/**/*.rs\"\ncomment-style = { meta = \"//@\", content = \"//|\" }\n",
    );
    write("src/own.rs", "//@ spexus:REQ-001\n//| x\nfn f() {}\n");
    let scanned = scan::tree(tree.path()).unwrap();
    let own: Vec<&str> = scanned.marks.iter().map(|mark| mark.path.as_str()).collect();
    assert_eq!(own, ["src/lib.rs", "src/own.rs"]);
    assert_eq!(scanned.marks[0].by, "verifies");
}

async fn an_older_run_that_comes_later_changes_nothing(world: &World) {
    world.seed().await;
    let body = |commit: &str, at: &str, inside: &str| json!({"commit": commit, "committed_at": at, "reports": junit(&case("t", "REQ-001", inside))});
    push(&world.admin, body(B, "2026-02-02", "<failure/>"))
        .await
        .unwrap();
    push(&world.admin, body(A, "2026-01-01", "")).await.unwrap();
    assert_eq!(trace(&world.admin, "REQ-001").await.trace.state, Rung::Ran);
}

//= specs/spexus-service.md#evidence
//= type=test
//# An item that was edited MUST NOT stand higher than claimed from that moment on.
async fn an_edit_takes_a_state_down_at_once(world: &World) {
    world.seed().await;
    let body = json!({"commit": A, "reports": junit(&case("t", "REQ-001", ""))});
    push(&world.admin, body).await.unwrap();
    world
        .admin
        .update("REQ-001", json!({"title": "Something else"}))
        .await
        .unwrap();
    let found = trace(&world.admin, "REQ-001").await.trace;
    assert_eq!(
        (found.state, found.flags.clone()),
        (Rung::Claimed, vec![TraceFlag::Stale, TraceFlag::Suspect])
    );
    let gaps = evidence::check(&world.service, &world.admin.caller, &CheckQuery::default())
        .await
        .unwrap()
        .gaps;
    assert_eq!(
        (gaps[0].state, &gaps[0].flags, &gaps[0].weakest),
        (found.state, &found.flags, &found.weakest)
    );
    // The next run does not make it whole: nobody said that the test still shows the text.
    let body = json!({"commit": B, "reports": junit(&case("t", "REQ-001", ""))});
    push(&world.admin, body).await.unwrap();
    let found = trace(&world.admin, "REQ-001").await.trace;
    assert_eq!(
        (found.state, found.flags, found.moved),
        (
            Rung::Claimed,
            vec![TraceFlag::Stale, TraceFlag::Suspect],
            vec!["the text of REQ-001".to_owned()]
        )
    );
}

//= specs/spexus-service.md#evidence
//= type=test
//# What an agent pushes MUST be kept as reported, unless its token has the scope `evidence`.
async fn an_agents_push_is_its_word_and_ci_s_is_not(world: &World) {
    world.seed().await;
    world.user("kim", "User").await;
    let agent = json!({"name": "agent", "scopes": ["write"], "agent": true});
    let agent = world.client(&world.token_of("kim", agent).await).await.unwrap();
    let body = json!({"commit": A, "reports": junit(&case("t", "REQ-001", ""))});
    let pushed = push(&agent, body.clone()).await.unwrap();
    assert!(pushed.reported);
    assert_eq!(trace(&world.admin, "REQ-001").await.trace.state, Rung::Claimed);
    let robot = json!({"username": "ci", "role": "User", "owner": "kim"});
    world.admin.create_user(robot).await.unwrap();
    let ci = json!({"name": "ci", "scopes": ["evidence"]});
    let ci = world.client(&world.token_of("ci", ci).await).await.unwrap();
    let pushed = push(&ci, body).await.unwrap();
    assert!(!pushed.reported && !pushed.already_known);
    assert_eq!(trace(&world.admin, "REQ-001").await.trace.state, Rung::Passed);
    let refused = evidence::trace(&ci.service, &ci.caller, None, None, "REQ-001")
        .await
        .unwrap_err();
    assert_eq!(refused.code, Code::AuthzForbidden, "it may push and nothing else");
    let both = json!({"name": "both", "scopes": ["evidence", "read"]});
    assert_eq!(
        world
            .admin
            .create_token(Some("ci"), both)
            .await
            .unwrap_err()
            .faults[0]
            .field,
        "scopes"
    );
}

async fn ids_that_are_no_items_are_listed(world: &World) {
    world.seed().await;
    let cases = [
        case("t", "REQ-001", ""),
        case("u", "REQ-999", ""),
        case("v", "CALC-7", ""),
        case("w", "EP-001", ""),
    ];
    let pushed = push(
        &world.admin,
        json!({"commit": A, "reports": junit(&cases.concat())}),
    )
    .await
    .unwrap();
    assert_eq!(pushed.unknown_ids, ["CALC-7", "REQ-999"]);
    assert_eq!(
        pushed.states["passed"], 2,
        "an epic can be shown by a test as well"
    );
}

//= specs/spexus-service.md#evidence
//= type=test
//# The state of an epic and of a story MUST be the lowest of the requirements below it that are not waived.
async fn the_gate_tells_each_gap(world: &World) {
    world.seed().await;
    let found = evidence::check(&world.service, &world.admin.caller, &CheckQuery::default())
        .await
        .unwrap();
    assert_eq!(
        (found.checked, found.holds, found.level),
        (1, false, Rung::Passed)
    );
    assert_eq!(found.gaps[0].reference_id.to_string(), "REQ-001");
    assert!(
        found.gaps[0].weakest.contains("spexus:REQ-001"),
        "{}",
        found.gaps[0].weakest
    );
    push(
        &world.admin,
        json!({"commit": A, "reports": junit(&case("t", "REQ-001", ""))}),
    )
    .await
    .unwrap();
    let found = evidence::check(&world.service, &world.admin.caller, &CheckQuery::default())
        .await
        .unwrap();
    assert!(found.holds && found.gaps.is_empty());
    for (id, state) in [("US-001", Rung::Passed), ("EP-001", Rung::Passed)] {
        assert_eq!(
            trace(&world.admin, id).await.trace.state,
            state,
            "{id} stands where the lowest below it does"
        );
    }
    world
        .admin
        .create(
            "requirement",
            json!({"user_story_id": "US-001", "title": "Another MUST work"}),
        )
        .await
        .unwrap();
    let epic = trace(&world.admin, "EP-001").await.trace;
    assert_eq!(epic.state, Rung::None);
    assert!(
        epic.weakest.starts_with("REQ-002 of 2 requirements is none."),
        "{}",
        epic.weakest
    );
    let higher = CheckQuery {
        level: Some("executed".into()),
        ..CheckQuery::default()
    };
    let page = evidence::gaps(&world.service, &world.admin.caller, &higher)
        .await
        .unwrap();
    assert_eq!(page.data.len(), 2);
    let unknown = CheckQuery {
        level: Some("verified".into()),
        ..CheckQuery::default()
    };
    assert_eq!(
        evidence::gaps(&world.service, &world.admin.caller, &unknown)
            .await
            .unwrap_err()
            .faults[0]
            .field,
        "level"
    );
}

async fn say(client: &Client, id: &str, kind: &str, expires: Option<&str>) -> Ruled<TraceAnswer> {
    let said = json!({"kind": kind, "why": "I read both.", "expires": expires});
    let input: NewReview = serde_json::from_value(said).unwrap();
    evidence::review(&client.service, &client.caller, id, input).await
}

//= specs/spexus-service.md#evidence
//= type=test
//# What a person says about evidence MUST be kept with who said it and why, sealed by a change; an agent MUST be refused.
//= specs/spexus-service.md#evidence
//= type=test
//# A waiver MUST have an end, and MUST take its item out of the gate until then and no longer.
//= specs/spexus-service.md#evidence
//= type=test
//# An item whose text changed after tests claimed it MUST NOT stand higher than claimed until somebody confirms it.
async fn people_confirm_affirm_and_waive_and_agents_do_not(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let holds = async || {
        evidence::check(&world.service, &admin.caller, &CheckQuery::default())
            .await
            .unwrap()
            .holds
    };
    assert!(!holds().await);
    assert_eq!(
        say(admin, "REQ-001", "waived", None).await.unwrap_err().faults[0].field,
        "expires"
    );
    let waived = say(admin, "REQ-001", "waived", Some("1d")).await.unwrap();
    assert_eq!(
        (waived.trace.flags, waived.reviews[0].reviewer.as_str()),
        (vec![TraceFlag::Waived], "admin")
    );
    assert!(holds().await);
    world.jump(2 * 86_400);
    assert!(!holds().await, "a waiver ends");
    let refused = say(admin, "REQ-001", "affirmed", None).await.unwrap_err();
    assert_eq!(refused.code, Code::RuleViolated, "there is nothing to stand for");
    let body = json!({"commit": A, "reports": junit(&case("t", "REQ-001", ""))});
    push(admin, body).await.unwrap();
    assert_eq!(
        say(admin, "REQ-001", "affirmed", None).await.unwrap().trace.state,
        Rung::Affirmed
    );
    admin
        .update("REQ-001", json!({"title": "Something else"}))
        .await
        .unwrap();
    assert_eq!(trace(admin, "REQ-001").await.trace.state, Rung::Claimed);
    let confirmed = say(admin, "REQ-001", "confirmed", None).await.unwrap();
    assert_eq!(
        confirmed.trace.state,
        Rung::Passed,
        "what was affirmed was another text"
    );
    world.user("kim", "User").await;
    let agent = json!({"name": "agent", "scopes": ["write"], "agent": true});
    let agent = world.client(&world.token_of("kim", agent).await).await.unwrap();
    for kind in ["confirmed", "affirmed", "waived"] {
        let refused = say(&agent, "REQ-001", kind, Some("1d")).await.unwrap_err();
        assert_eq!(refused.code, Code::AuthzForbidden, "{kind}");
    }
}

async fn a_test_that_is_gone_is_missed_until_a_person_says_otherwise(world: &World) {
    world.seed().await;
    let both = [case("t", "REQ-001", ""), case("u", "REQ-001", "")].concat();
    push(&world.admin, json!({"commit": A, "reports": junit(&both)}))
        .await
        .unwrap();
    let one = json!({"commit": B, "reports": junit(&case("t", "REQ-001", ""))});
    push(&world.admin, one).await.unwrap();
    let found = trace(&world.admin, "REQ-001").await.trace;
    assert_eq!(
        (found.state, found.flags),
        (Rung::Claimed, vec![TraceFlag::Vanished])
    );
    let found = say(&world.admin, "REQ-001", "confirmed", None)
        .await
        .unwrap()
        .trace;
    assert_eq!((found.state, found.tests.len()), (Rung::Passed, 1));
}

async fn checked(world: &World, query: CheckQuery) -> evidence::CheckReport {
    evidence::check(&world.service, &world.admin.caller, &query)
        .await
        .unwrap()
}

async fn requirement(world: &World, title: &str) {
    let input = json!({"user_story_id": "US-001", "title": title});
    world.admin.create("requirement", input).await.unwrap();
}

fn told(report: &evidence::CheckReport) -> Vec<String> {
    let told = report.gaps.iter().map(|gap| gap.reference_id.to_string());
    told.collect()
}

//= specs/spexus-service.md#evidence
//= type=test
//# Against a baseline a check MUST tell every gap that was none when it was made, and MUST leave out those that were, unless
//# they were waived since.
async fn against_a_baseline_only_new_gaps_are_told(world: &World) {
    world.seed().await;
    for title in ["Second MUST work", "Third MUST work", "Fourth MUST work"] {
        requirement(world, title).await;
    }
    let both = [case("a", "REQ-001", ""), case("b", "REQ-002", "")];
    push(
        &world.admin,
        json!({"commit": A, "reports": junit(&both.concat())}),
    )
    .await
    .unwrap();
    say(&world.admin, "REQ-003", "waived", Some("30d")).await.unwrap();
    let named = |name: &str| serde_json::from_value(json!({"name": name})).unwrap();
    spexus_service::baseline::create(&world.service, &world.admin.caller, named("one"))
        .await
        .unwrap();
    let since = |level: &str| CheckQuery {
        baseline: Some("one".into()),
        level: Some(level.into()),
        ..CheckQuery::default()
    };
    let same = checked(world, since("passed")).await;
    assert_eq!(
        (same.holds, same.gaps_before),
        (true, Some(1)),
        "REQ-004 was a gap then"
    );

    // One test fails, the waiver is as it was, a requirement is new; the old gap is not told again.
    let worse = [case("a", "REQ-001", "<failure/>"), case("b", "REQ-002", "")];
    push(
        &world.admin,
        json!({"commit": B, "reports": junit(&worse.concat())}),
    )
    .await
    .unwrap();
    requirement(world, "Fifth MUST work").await;
    let new = checked(world, since("passed")).await;
    assert_eq!(
        (told(&new), new.gaps_before),
        (vec!["REQ-001".to_owned(), "REQ-005".into()], Some(1))
    );
    assert_eq!(
        told(&checked(world, CheckQuery::default()).await),
        ["REQ-001", "REQ-004", "REQ-005"]
    );
    let two = CheckQuery {
        baseline: Some("two".into()),
        ..CheckQuery::default()
    };
    let refused = evidence::check(&world.service, &world.admin.caller, &two)
        .await
        .unwrap_err();
    assert_eq!(refused.faults[0].field, "baseline");
    // What stood higher than the level asked for is new at any level it fell below.
    assert_eq!(told(&checked(world, since("executed")).await), ["REQ-005"]);
}

//= specs/spexus-service.md#evidence
//= type=test
//# A check of what changed since a commit MUST look at every requirement with a cited span, a test or a sentence in a file that changed
//# since, or with a text edited since.
async fn only_what_a_change_touched_is_looked_at(world: &World) {
    world.seed().await;
    for title in ["Second MUST work", "Third MUST work", "Fourth MUST work"] {
        requirement(world, title).await;
    }
    let mark = |id: &str, role: &str, path: &str| json!({"id": id, "role": role, "path": path, "line": 3, "end_line": 5, "hash": "h", "by": "mark", "names": ["m::t"]});
    let marks = json!([
        mark("REQ-001", "code", "src/a.rs"),
        mark("REQ-002", "test", "tests/b.rs"),
        mark("REQ-003", "sentence", "specs/c.md"),
        mark("REQ-004", "code", "src/d.rs"),
    ]);
    push(&world.admin, json!({"commit": A, "marks": marks}))
        .await
        .unwrap();
    let since = |paths: &[&str], made_at| CheckQuery {
        changed: Some(evidence::ChangedSince {
            commit: "main".into(),
            made_at,
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        }),
        ..CheckQuery::default()
    };
    let now = world.service.store().now();
    let touched = checked(
        world,
        since(&["src/a.rs", "tests/b.rs", "specs/c.md", "README.md"], now),
    )
    .await;
    assert_eq!(told(&touched), ["REQ-001", "REQ-002", "REQ-003"]);
    assert_eq!(
        (touched.checked, touched.changed_since.as_deref()),
        (3, Some("main"))
    );
    assert!(checked(world, since(&["README.md"], now)).await.holds);
    world
        .admin
        .update("REQ-004", json!({"title": "Fourth MUST work well"}))
        .await
        .unwrap();
    let edited = since(&[], spexus_domain::Timestamp(now.0 - 1));
    assert!(told(&checked(world, edited).await).contains(&"REQ-004".to_owned()));
}

//= specs/spexus-service.md#evidence
//= type=test
//# The last point of a timeline MUST have the numbers of the check.
async fn a_timeline_ends_with_the_numbers_of_the_check(world: &World) {
    world.seed().await;
    requirement(world, "Second MUST work").await;
    let points = async || {
        evidence::timeline(&world.service, &world.admin.caller, &CheckQuery::default())
            .await
            .unwrap()
            .1
    };
    assert!(points().await.is_empty());
    for (commit, inside) in [(A, ""), (B, "<failure/>")] {
        let case = case("t", "REQ-001", inside);
        push(&world.admin, json!({"commit": commit, "reports": junit(&case)}))
            .await
            .unwrap();
    }
    let timeline = points().await;
    let counts: Vec<_> = timeline
        .iter()
        .map(|point| (point.commit.as_str(), point.reached(Rung::Passed)))
        .collect();
    assert_eq!(counts, [(A, 1), (B, 0)]);
    assert_eq!(
        timeline[1].states,
        checked(world, CheckQuery::default()).await.states
    );
    // What an edit does is not in any push, and still in the last point.
    let other = json!({"commit": B, "reports": junit(&case("u", "REQ-002", ""))});
    push(&world.admin, other).await.unwrap();
    world
        .admin
        .update("REQ-002", json!({"title": "Another text"}))
        .await
        .unwrap();
    let timeline = points().await;
    assert_eq!(timeline.len(), 2);
    assert_eq!(
        timeline[1].states,
        checked(world, CheckQuery::default()).await.states
    );
}

/// Lets one step of a workflow demand evidence.
async fn demand(client: &Client, kind: &str, (from, to): (&str, &str), evidence: &str) {
    let mut workflow = client.workflow(kind).await.unwrap();
    for step in workflow["transitions"].as_array_mut().unwrap() {
        if step["from"] == from && step["to"] == to {
            step["evidence"] = json!(evidence);
        }
    }
    let input = json!({"statuses": workflow["statuses"], "transitions": workflow["transitions"]});
    let kept = client.put_workflow(kind, input).await.unwrap();
    assert_eq!(kept["transitions"], workflow["transitions"]);
}

//= specs/spexus-service.md#rules
//= type=test
//# A step that demands evidence MUST be refused while an item stands lower, with what is missing and the command that supplies it.
//= specs/spexus-service.md#working-context
//= type=test
//# A context MUST tell which steps of the workflow from here demand evidence, and which.
async fn a_step_that_demands_evidence_is_taken_by_nobody_s_word(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    demand(admin, "requirement", ("Draft", "Active"), "passed").await;
    let told = admin.context("REQ-001", Default::default()).await.unwrap();
    assert_eq!(told["demands"], json!(["Active demands evidence passed"]));
    let active = json!({"status": "Active"});
    let refusal = admin.update("REQ-001", active.clone()).await.refused(1054);
    assert_eq!(
        refusal.message,
        "status: \"Active\" demands evidence passed, and REQ-001 is none"
    );
    assert_eq!(fact(&refusal, "evidence_state"), "none");
    let supply = fact(&refusal, "supply").to_owned();
    let words = "spexus trace push --project default --commit $(git rev-parse HEAD) --scan . --junit REPORT";
    assert_eq!(supply, words);
    assert!(
        refusal.hint.starts_with("Nothing cites REQ-001."),
        "{}",
        refusal.hint
    );
    // What an agent says of it is its word, in a step, in a batch and in a push.
    world.user("ann", "User").await;
    let token = json!({"name": "laptop", "scopes": ["write"], "agent": true});
    let agent = world.client(&world.token_of("ann", token).await).await.unwrap();
    let passed = json!({"commit": A, "reports": junit(&case("t", "REQ-001", ""))});
    push(&agent, passed.clone()).await.unwrap();
    let step = json!({"status": "Active", "expect_rev": 1});
    agent.update("REQ-001", step).await.refused(1054);
    let batch =
        json!({"operations": [{"op": "update", "id": "REQ-001", "status": "Active", "expect_rev": 1}]});
    agent.batch(batch).await.refused(1054);
    // CI's is not; but a text that changes in the same step was never shown.
    push(admin, passed).await.unwrap();
    let both = json!({"status": "Active", "description": "Something else MUST work."});
    let refusal = admin.update("REQ-001", both).await.refused(1054);
    assert_eq!(fact(&refusal, "evidence_state"), "claimed");
    assert_eq!(
        fact(&refusal, "supply"),
        "spexus trace confirm REQ-001 --project default --why REASON"
    );
    let step = json!({"status": "Active", "expect_rev": 1});
    assert_eq!(agent.update("REQ-001", step).await.unwrap()["status"], "Active");
    // A higher rung takes more, and a person may let it pass for a while.
    demand(admin, "requirement", ("Active", "Obsolete"), "affirmed").await;
    let over = json!({"status": "Obsolete"});
    let refusal = admin.update("REQ-001", over.clone()).await.refused(1054);
    assert!(fact(&refusal, "supply").starts_with("spexus trace affirm REQ-001"));
    let waiver = NewReview {
        kind: "waived".into(),
        why: "Waits for the vendor.".into(),
        expires: Some("1d".into()),
        project: None,
    };
    evidence::review(&admin.service, &admin.caller, "REQ-001", waiver)
        .await
        .unwrap();
    assert_eq!(admin.update("REQ-001", over).await.unwrap()["status"], "Obsolete");
}

//= specs/spexus-service.md#rules
//= type=test
//# A step that demands evidence MUST be refused while an item stands lower, with what is missing and the command that supplies it.
async fn a_story_takes_a_step_when_all_below_it_is_shown(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let second = json!({"user_story_id": "US-001", "title": "Logins MUST be counted"});
    admin.create("requirement", second).await.unwrap();
    demand(admin, "user_story", ("In Progress", "Done"), "passed").await;
    admin
        .update("US-001", json!({"status": "In Progress"}))
        .await
        .unwrap();
    let cases = |second: &str| format!("{}{}", case("t", "REQ-001", ""), case("u", "REQ-002", second));
    let report = |commit: &str, second: &str| json!({"commit": commit, "reports": junit(&cases(second))});
    push(admin, report(A, "<failure/>")).await.unwrap();
    let refusal = admin
        .update("US-001", json!({"status": "Done"}))
        .await
        .refused(1054);
    assert_eq!(
        refusal.message,
        "status: \"Done\" demands evidence passed, and REQ-002 is ran"
    );
    push(admin, report(B, "")).await.unwrap();
    assert_eq!(
        admin.update("US-001", json!({"status": "Done"})).await.unwrap()["status"],
        "Done"
    );
}

//= specs/spexus-service.md#leases
//= type=test
//# Work whose tests fail MUST be offered before all other, and work that is shown already after it, each with where its evidence stands.
async fn what_fails_is_offered_first_and_what_is_shown_last(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    for (title, priority) in [("Shown", 1), ("Open", 2), ("Failing", 4)] {
        let one = json!({"user_story_id": "US-001", "title": title, "priority": priority});
        admin.create("requirement", one).await.unwrap();
    }
    let cases = format!(
        "{}{}",
        case("t", "REQ-002", ""),
        case("u", "REQ-004", "<failure/>")
    );
    push(admin, json!({"commit": A, "reports": junit(&cases)}))
        .await
        .unwrap();
    for under in [None, Some("EP-001".to_owned())] {
        let work = admin
            .next_work(WorkQuery {
                under,
                ..WorkQuery::default()
            })
            .await
            .unwrap();
        let ready = work["ready"].as_array().unwrap();
        let ids: Vec<&str> = ready.iter().map(|one| one["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["REQ-004", "REQ-003", "REQ-001", "REQ-002"], "{work}");
        let because = |at: usize| ready[at]["because"].as_str().unwrap();
        assert!(
            because(0).starts_with("a test of it fails: The test pkg::u failed at aaaaaaaaaaaa"),
            "{work}"
        );
        assert!(because(1).starts_with("it depends on nothing"), "{work}");
        assert!(because(3).starts_with("its evidence is passed already"), "{work}");
    }
    // Elsewhere nothing of it is told.
    let story = json!({"epic_id": "EP-001", "title": "With a password"});
    admin.create("user_story", story).await.unwrap();
    let elsewhere = WorkQuery {
        under: Some("US-002".into()),
        ..WorkQuery::default()
    };
    assert_eq!(admin.next_work(elsewhere).await.unwrap()["ready"], json!([]));
}
