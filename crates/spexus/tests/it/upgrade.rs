//! Databases that an earlier program left, with one of everything: two projects, a link between them, deleted items, comments,
//! baselines, users of every role, tokens and a session. `tests/fixtures/COMMIT` holds what the program of that commit wrote
//! and what it answered; today's program must answer the same.

use crate::serving::Server;
use crate::world::World;
use serde_json::Value;
use std::io::Read as _;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/5de9132")
        .join(name)
}

fn expected(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(fixture(name)).unwrap()).unwrap()
}

/// The SQLite file as the old program closed it.
fn sqlite() -> World {
    let world = World::empty();
    let file = std::fs::File::open(fixture("sqlite.db.zip")).unwrap();
    let mut archive = zip::ZipArchive::new(file).unwrap();
    let mut bytes = Vec::new();
    archive.by_index(0).unwrap().read_to_end(&mut bytes).unwrap();
    std::fs::write(world.path("test.db"), bytes).unwrap();
    world
}

/// What the old answer said and the new one does not; what the new one says besides is no loss.
fn lost(old: &Value, new: &Value, place: &str, into: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            // A score only ranks what one index holds; after the index was written anew the order says all of it. The
            // hashes of changes and baselines are those of their ledgers now, which begin with the last of the former ones.
            let is_sealed_anew = old.contains_key("seq");
            // A number was a cursor, and says nothing of the history it is of.
            let is_lost = |name: &str| match name {
                "score" | "next_since" => true,
                "hash" => is_sealed_anew,
                _ => false,
            };
            for (name, value) in old.iter().filter(|(name, _)| !is_lost(name)) {
                let place = format!("{place}.{name}");
                match new.get(name) {
                    Some(now) => lost(value, now, &place, into),
                    None => into.push(format!("{place} is gone")),
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (at, (old, new)) in old.iter().zip(new).enumerate() {
                lost(old, new, &format!("{place}[{at}]"), into);
            }
        }
        (old, new) if old == new => {}
        (old, new) => into.push(format!("{place}: {old} became {new}")),
    }
}

fn answer(server: &Server, path: &str, token: &str) -> Value {
    let answer = server.get(path, token);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    serde_json::from_str(body).unwrap_or_else(|why| panic!("{path}: {why}: {body}"))
}

/// The end of the chain as the old program told it.
fn last_hash(expected: &Value) -> &Value {
    let all = expected["answers"]["/api/v1/changes?limit=200"]["data"].as_array();
    let last = all.unwrap().iter().max_by_key(|change| change["seq"].as_i64());
    &last.unwrap()["hash"]
}

fn reads_the_same(world: &World, expected: &Value) {
    let server = Server::start(world.command(&["serve", "--listen", "127.0.0.1:0"]));
    let token = |name: &str| expected["tokens"][name].as_str().unwrap().to_owned();
    let verdict = answer(&server, "/api/v1/audit/verify", &token("unbound"));
    assert_eq!(verdict["intact"], true, "{verdict}");
    //= specs/spexus-store.md#schema
    //= type=test
    //# The former history MUST be verified before it is brought into ledgers, and every ledger MUST begin with its last hash.
    assert_eq!(verdict["former_head"], *last_hash(expected), "{verdict}");
    let mut missing = Vec::new();
    for (path, old) in expected["answers"].as_object().unwrap() {
        let new = answer(&server, path, &token("unbound"));
        lost(old, &new, path, &mut missing);
    }
    assert!(missing.is_empty(), "{missing:#?}");
    // Tokens keep their binding and their scope.
    let seen = answer(&server, "/api/v1/projects", &token("web"));
    let keys: Vec<&Value> = seen["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["key"])
        .collect();
    assert_eq!(keys, ["web"]);
    let seen = answer(&server, "/api/v1/epics?project=default", &token("read"));
    assert_eq!(seen["data"].as_array().unwrap().len(), 1);
    //= specs/spexus-store.md#schema
    //= type=test
    //# What users and commenters could do in every project they MUST be able to do in each, as authors and commenters, when a database
    //# from before there were members is brought up to date.
    let users = answer(&server, "/api/v1/users", &token("unbound"));
    for project in ["default", "web"] {
        let path = format!("/api/v1/projects/{project}/members");
        let members = answer(&server, &path, &token("unbound"));
        let role = |name: &Value| {
            let mut members = members["data"].as_array().unwrap().iter();
            members
                .find(|one| one["member"] == *name)
                .map(|one| one["role"].clone())
        };
        for user in users["data"].as_array().unwrap() {
            let expected = match user["role"].as_str().unwrap() {
                "User" => Some("author".into()),
                "Commenter" => Some("commenter".into()),
                _ => None,
            };
            assert_eq!(role(&user["username"]), expected, "{user} in {project}");
        }
    }
    server.stop();
}

//= specs/spexus-store.md#schema
//= type=test
//# A database of an older version MUST keep all it holds when it is brought to this program's version.
#[test]
fn a_sqlite_file_of_an_earlier_program_reads_the_same_after_the_upgrade() {
    reads_the_same(&sqlite(), &expected("sqlite.json"));
}

#[test]
fn a_postgres_database_of_an_earlier_program_reads_the_same_after_the_upgrade() {
    let Some(url) = test_support::restored_database(&fixture("postgres.sql")) else {
        return;
    };
    reads_the_same(&World::at(&url), &expected("postgres.json"));
}
