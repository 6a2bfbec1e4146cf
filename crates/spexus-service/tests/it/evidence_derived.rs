//! What a push derives against what deriving everything comes to: the same pushes, edits and reviews in two installations, one of which
//! makes everything anew each time.

use crate::client::Client;
use crate::world::{World, both};
use serde_json::{Value, json};
use spexus_domain::Ruled;
use spexus_service::ServiceOptions;
use spexus_service::evidence::{self, CheckQuery, NewReview, PushAnswer, PushBody};
use std::fmt::Write;

both![
    whatever_comes_a_push_derives_what_deriving_everything_does,
    a_push_about_another_commit_writes_no_state,
];

/// Steps of one story, and stories with a seed each.
const STEPS: u64 = 30;
const STORIES: u64 = 4;

const COMMITS: [&str; 3] = ["a1a1a1a1a1", "b2b2b2b2b2", "c3c3c3c3c3"];
const TITLES: [&str; 3] = ["It MUST add", "It MUST subtract", "It MUST add and subtract"];
const REQUIREMENTS: u64 = 6;
const TESTS: [&str; 5] = ["adds", "subtracts", "divides", "rounds[1]", "rounds[2]"];

/// Numbers that are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    fn requirement(&mut self) -> String {
        format!("REQ-{:03}", self.below(REQUIREMENTS) + 1)
    }
}

/// An installation, and an agent in it.
struct Side<'a> {
    admin: &'a Client,
    agent: Client,
}

impl<'a> Side<'a> {
    async fn new(world: &'a World) -> Self {
        world.seed().await;
        for _ in 1..REQUIREMENTS {
            let new = json!({"user_story_id": "US-001", "title": TITLES[0]});
            world.admin.create("requirement", new).await.unwrap();
        }
        world.user("kim", "User").await;
        let agent = json!({"name": "agent", "scopes": ["write"], "agent": true});
        let secret = world.token_of("kim", agent).await;
        Self {
            admin: &world.admin,
            agent: world.client(&secret).await.unwrap(),
        }
    }

    async fn push(&self, is_agents: bool, body: &Value) -> PushAnswer {
        let body: PushBody = serde_json::from_value(body.clone()).unwrap();
        let client = if is_agents { &self.agent } else { self.admin };
        let pushed = evidence::push(&client.service, &client.caller, body.into_push().unwrap());
        pushed.await.unwrap()
    }

    async fn review(&self, id: &str, kind: &str) -> Ruled<()> {
        let expires = (kind == "waived").then_some("2999-01-01");
        let said = json!({"kind": kind, "why": "I read both.", "expires": expires});
        let input: NewReview = serde_json::from_value(said).unwrap();
        let said = evidence::review(&self.admin.service, &self.admin.caller, id, input);
        said.await.map(drop)
    }

    /// Everything anybody can read.
    async fn table(&self) -> Value {
        let service = &self.admin.service;
        let mut rows = Vec::new();
        for number in 1..=REQUIREMENTS {
            let id = format!("REQ-{number:03}");
            let found = evidence::trace(service, &self.admin.caller, None, None, &id).await;
            rows.push(json!(found.unwrap().trace));
        }
        let check = evidence::check(service, &self.admin.caller, &CheckQuery::default()).await;
        let story = evidence::trace(service, &self.admin.caller, None, None, "US-001").await;
        json!({"rows": rows, "check": check.unwrap(), "story": story.unwrap().trace})
    }
}

//= specs/spexus-service.md#evidence
//= type=test
//# A push about the commit that is traced MUST derive the items it can have changed and no others, and MUST come to the same as
//# deriving everything.
async fn whatever_comes_a_push_derives_what_deriving_everything_does(world: &World) {
    let options = ServiceOptions {
        derives_everything: true,
        ..ServiceOptions::for_testing()
    };
    for seed in 0..STORIES {
        let quick = world.sibling(ServiceOptions::for_testing()).await;
        let whole = world.sibling(options.clone()).await;
        {
            let sides = [Side::new(&quick).await, Side::new(&whole).await];
            let mut dice = Dice(seed + 1);
            for step in 0..STEPS {
                let told = act(&mut dice, &sides).await;
                let [quick, whole] = [sides[0].table().await, sides[1].table().await];
                assert_eq!(quick, whole, "seed {seed}, step {step}: {told}");
            }
        }
        quick.end().await;
        whole.end().await;
    }
}

/// One thing that happens on both sides, in words.
async fn act(dice: &mut Dice, sides: &[Side<'_>; 2]) -> String {
    match dice.below(10) {
        0 => {
            let (id, title) = (dice.requirement(), dice.one(&TITLES));
            for side in sides {
                side.admin.update(&id, json!({"title": title})).await.unwrap();
            }
            format!("{id} is {title:?}")
        }
        1 | 2 => {
            let (id, kind) = (dice.requirement(), dice.one(&["confirmed", "affirmed", "waived"]));
            let [quick, whole] = [
                sides[0].review(&id, kind).await.map_err(|refusal| refusal.code),
                sides[1].review(&id, kind).await.map_err(|refusal| refusal.code),
            ];
            assert_eq!(quick, whole, "{id} {kind}");
            format!("{id} {kind}")
        }
        _ => {
            let (is_agents, body) = (dice.below(8) == 0, push(dice));
            let [quick, whole] = [
                sides[0].push(is_agents, &body).await,
                sides[1].push(is_agents, &body).await,
            ];
            assert_eq!(
                (quick.already_known, quick.unknown_ids, quick.traced_commit),
                (whole.already_known, whole.unknown_ids, whole.traced_commit)
            );
            body.to_string()
        }
    }
}

/// A push of anything.
fn push(dice: &mut Dice) -> Value {
    let at = dice.below(COMMITS.len() as u64) as usize;
    let mut body = json!({
        "commit": COMMITS[at],
        "committed_at": format!("2026-01-0{}", at + 1),
        "dirty": dice.below(8) == 0,
        "reports": [run(dice)],
    });
    if dice.below(4) == 0 {
        let commit = COMMITS[at].get(..7);
        body["commit"] = json!(commit);
    }
    if dice.below(3) == 0 {
        body["marks"] = marks(dice);
    }
    for _ in 0..dice.below(3) {
        let reports = body["reports"].as_array_mut();
        reports.unwrap().push(coverage(dice));
    }
    body
}

fn run(dice: &mut Dice) -> Value {
    let mut text = String::from("<testsuites>");
    for suite in ["one", "two"] {
        if dice.below(3) == 0 {
            continue;
        }
        write!(text, "<testsuite name=\"{suite}\">").unwrap();
        for _ in 0..dice.below(6) {
            let (class, name) = (dice.one(&["m", "n", suite]), dice.one(&TESTS));
            let outcome = dice.one(&["", "", "", "<failure message=\"no\"/>", "<skipped/>", "<error/>"]);
            let id = match dice.below(3) {
                0 => format!(
                    "<properties><property name=\"requirement\" value=\"{}\"/></properties>",
                    dice.requirement()
                ),
                _ => String::new(),
            };
            write!(
                text,
                "<testcase classname=\"{class}\" name=\"{name}\">{id}{outcome}</testcase>"
            )
            .unwrap();
        }
        text += "</testsuite>";
    }
    json!({"format": "junit", "text": text + "</testsuites>"})
}

fn coverage(dice: &mut Dice) -> Value {
    let test = dice.one(&["", "adds", "m::adds", "subtracts"]);
    let file = dice.one(&["/ci/src/a.rs", "src/a.rs", "C:\\w\\src\\b.rs", "b.rs"]);
    let line = 10 * (dice.below(3) + 1) + 1;
    let text = format!("SF:{file}\nDA:{line},1\nend_of_record\n");
    match test {
        "" => json!({"format": "lcov", "text": text}),
        test => json!({"format": "lcov", "test": test, "text": text}),
    }
}

fn marks(dice: &mut Dice) -> Value {
    let mut marks = Vec::new();
    for _ in 0..dice.below(8) {
        let role = dice.one(&["code", "code", "test", "test", "sentence"]);
        let line = 10 * (dice.below(3) + 1);
        let names = match role {
            "test" => vec![dice.one(&["adds", "m::adds", "n::adds", "m::subtracts", "rounds", "gone"])],
            _ => vec![],
        };
        let quote = match role {
            "test" => dice.one(&["", "", "MUST add"]),
            _ => dice.one(&["MUST add", "MUST subtract"]),
        };
        marks.push(json!({
            "id": dice.requirement(),
            "role": role,
            "path": dice.one(&["src/a.rs", "b.rs", "src/b.rs"]),
            "line": line,
            "end_line": line + 5,
            "symbol": dice.one(&["", "f", "g"]),
            "names": names,
            "hash": dice.one(&["h1", "h2"]),
            "quote": quote,
            "by": "citation",
        }));
    }
    Value::Array(marks)
}

async fn a_push_about_another_commit_writes_no_state(world: &World) {
    let side = Side::new(world).await;
    let body = |at: usize| {
        let text = "<testsuite name=\"one\"><testcase classname=\"m\" name=\"adds\"><properties><property name=\"requirement\" value=\"REQ-001\"/></properties></testcase></testsuite>";
        json!({"commit": COMMITS[at], "committed_at": format!("2026-01-0{}", at + 1), "reports": [{"format": "junit", "text": text}]})
    };
    side.push(false, &body(1)).await;
    let before = side.table().await;
    let older = side.push(false, &body(0)).await;
    assert_eq!(
        (older.traced_commit.as_str(), older.states["passed"]),
        (COMMITS[1], 1)
    );
    assert_eq!(older.unknown_ids, Vec::<String>::new(), "it names what is there");
    assert_eq!(side.table().await, before);
    side.push(false, &body(2)).await;
    assert_ne!(side.table().await, before);
}
