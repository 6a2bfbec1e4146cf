//! A coding agent with a real repository: it finds work, holds it, understands it, writes code that cites it, runs the tests, and is
//! done when what ran says so. A script plays the model; everything else is real: the program, git, the compiler, the test run.

use crate::serving::Server;
use crate::stdio::host::{Host, bare};
use crate::world::World;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use test_support::mcp::{Endpoint, HttpAgent};
use tokio::runtime::Runtime;

const PLAN: &str = "# Gates\n## Open by key\n- WHEN the key fits THEN the gate SHALL open\n- The gate MUST stay shut for a key that does not fit.\n";

/// What the model writes first, and after it read what failed.
const WRONG: &str = "true";
const RIGHT: &str = "key == 7";

const STATELESS: &str = "2026-07-28";

/// How an agent reaches the product.
enum Wire {
    Stdio(Host),
    Http {
        runtime: Runtime,
        agent: HttpAgent,
        _server: Node,
    },
}

/// A server that serves HTTP, and the key to it.
struct Node {
    server: Server,
    token: String,
}

impl Endpoint for Node {
    fn address(&self) -> String {
        format!("http://{}/api/v1/mcp", self.server.address())
    }

    fn token(&self) -> &str {
        &self.token
    }
}

/// A scripted agent, in one of the two eras.
struct Coder {
    wire: Wire,
    version: &'static str,
}

impl Coder {
    /// Over pipes, with a bridge to the server between.
    fn over_stdio(world: &World, token: &str, version: &'static str, server: &Server) -> Self {
        let mut command = bare(world);
        command
            .env("BACKEND_API_URL", format!("http://{}", server.address()))
            .env("MCP_PAT_TOKEN", token);
        let mut host = Host::start(command);
        if version != STATELESS {
            host.greet(version);
        }
        Self {
            wire: Wire::Stdio(host),
            version,
        }
    }

    fn over_http(token: &str, version: &'static str, server: Server) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let node = Node {
            server,
            token: token.to_owned(),
        };
        let agent = match version {
            STATELESS => HttpAgent::fresh(&node),
            version => runtime.block_on(HttpAgent::with(
                &node,
                token,
                version,
                &[("x-spexus-toolsets", "agent")],
            )),
        };
        Self {
            wire: Wire::Http {
                runtime,
                agent,
                _server: node,
            },
            version,
        }
    }

    fn request(&mut self, method: &str, mut params: Value) -> Value {
        match (&mut self.wire, self.version) {
            (Wire::Stdio(host), version) => {
                if version == STATELESS {
                    params["_meta"] = json!({
                        "io.modelcontextprotocol/protocolVersion": STATELESS,
                        "io.modelcontextprotocol/clientCapabilities": {},
                    });
                }
                host.call(method, params)
            }
            (Wire::Http { runtime, agent, .. }, STATELESS) => {
                runtime.block_on(agent.stateless(method, params))
            }
            (Wire::Http { runtime, agent, .. }, _) => runtime.block_on(agent.request(method, params)),
        }
    }

    /// What a tool answered, as data.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(answer["result"]["isError"], false, "{tool}: {answer}");
        answer["result"]["structuredContent"].clone()
    }

    /// Why a tool said no.
    fn fails(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
        answer["result"]["structuredContent"]["error"].clone()
    }
}

/// A repository with one file, a test of it, and what git says of both.
struct Repository(PathBuf);

impl Repository {
    fn new(world: &World) -> Self {
        let root = world.path("gate");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(
            root.join("Cargo.toml"),
            "[package]\nname = \"gate\"\nversion = \"0.1.0\"\n",
        )
        .unwrap();
        let repository = Self(root);
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        std::fs::write(repository.0.join(".gitignore"), "/run\n/junit.xml\n").unwrap();
        repository
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command
            .args(["-c", "user.name=Coder", "-c", "user.email=coder@example.org"])
            .args(arguments)
            .current_dir(&self.0);
        let done = command.output().expect("git is there");
        assert!(done.status.success(), "git {arguments:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    /// Writes code and test with their citations, and commits them; the commit.
    fn write(&self, id: &str, quote: &str, condition: &str) -> String {
        let text = format!(
            "//= spexus:{id}\n//# {quote}\npub fn opens(key: u8) -> bool {{\n    {condition}\n}}\n\n\
             #[cfg(test)]\nmod tests {{\n    // verifies {id}\n    #[test]\n    fn a_wrong_key_leaves_it_shut() {{\n        \
             assert!(super::opens(7) && !super::opens(8));\n    }}\n}}\n"
        );
        std::fs::write(self.0.join("src/lib.rs"), text).unwrap();
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", &format!("gate: {id}")]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Builds and runs the tests; the report the runner wrote.
    fn test(&self) -> String {
        let built = Command::new("rustc")
            .args([
                "--edition",
                "2024",
                "--crate-name",
                "gate",
                "--test",
                "src/lib.rs",
                "-o",
                "run",
            ])
            .current_dir(&self.0)
            .output()
            .expect("a compiler is there");
        assert!(built.status.success(), "{built:?}");
        // The runner's own JUnit is asked for as an unstable option.
        let ran = Command::new(self.0.join("run"))
            .args(["-Zunstable-options", "--format", "junit"])
            .env("RUSTC_BOOTSTRAP", "1")
            .output()
            .expect("the tests start");
        let report = String::from_utf8(ran.stdout).unwrap();
        std::fs::write(self.0.join("junit.xml"), &report).unwrap();
        report
    }
}

/// What CI does with a commit that was pushed: it runs `supply`, the very command the refusal named.
fn ci(world: &World, supply: &str, commit: &str) -> Value {
    let words = supply
        .replace("$(git rev-parse HEAD)", commit)
        .replace("REPORT", "gate/junit.xml");
    let words = words.replace("--scan .", "--scan gate");
    let arguments: Vec<&str> = words.split(' ').collect();
    assert_eq!(arguments[0], "spexus");
    world.json(&arguments[1..])
}

/// A project with a plan whose stories are done only when their tests passed; the token of an agent.
fn project(world: &World) -> String {
    let plan = world.file("plan.md", PLAN);
    world.json(&["plan", &plan]);
    let demand = [
        "workflow",
        "demand",
        "user_story",
        "In Progress",
        "Done",
        "passed",
    ];
    let shown = world.run(&demand).ok();
    assert!(shown.contains("Done (evidence passed)"), "{shown}");
    let made = world.json(&[
        "token", "create", "--user", "admin", "--name", "coder", "--scope", "write", "--agent",
    ]);
    made["token"].as_str().unwrap().to_owned()
}

/// The story, from nothing known to proven.
fn works(world: &World, coder: &mut Coder, name: &str) {
    let repository = Repository::new(world);
    let me = coder.call("whoami", json!({}));
    assert_eq!(
        (&me["agent"], &me["project"]),
        (&json!(true), &json!("default")),
        "{name}: {me}"
    );
    // Find it, hold it, understand it.
    let work = coder.call("next_work", json!({ "limit": 1 }));
    let ready = work["ready"][0].as_str().unwrap();
    let id = ready.split(' ').next().unwrap().to_owned();
    assert_eq!(id, "REQ-001", "{name}: {work}");
    coder.call("claim_item", json!({ "id": id, "intent": "Shut the gate" }));
    let context = coder.call("get_context", json!({ "id": id, "purpose": "implement" }));
    assert_eq!(
        context["criteria"][0]["text"],
        "WHEN the key fits THEN the gate SHALL open"
    );
    let quote = context["item"]["title"].as_str().unwrap();
    let story = coder.call("get_items", json!({ "ids": ["US-001"], "detail": "full" }));
    assert!(story.to_string().contains("Backlog"), "{name}: {story}");
    let step = json!({ "id": "US-001", "expect_rev": 1, "status": "In Progress", "intent": "Begun" });
    coder.call("update_item", step);
    let demands = coder.call("get_context", json!({ "id": "US-001" }))["demands"].clone();
    assert_eq!(demands, json!(["Done demands evidence passed"]), "{name}");
    // The first code is wrong, and what it pushes is its word.
    let commit = repository.write(&id, quote, WRONG);
    let report = repository.test();
    assert!(report.contains("<failure"), "{report}");
    let word = |commit: &str, report: &str| json!({ "commit": commit, "format": "junit", "text": report });
    coder.call("push_evidence", word(&commit, &report));
    let done = |rev: i64| json!({ "id": "US-001", "expect_rev": rev, "status": "Done", "intent": "Proven" });
    let refusal = coder.fails("update_item", done(2));
    assert_eq!(refusal["refusal"]["code"], 1054, "{name}: {refusal}");
    let supply = refusal["supply"]
        .as_str()
        .unwrap_or_else(|| panic!("{refusal}"))
        .to_owned();
    ci(world, &supply, &commit);
    let work = coder.call("next_work", json!({ "limit": 1 }));
    let ready = work["ready"][0].as_str().unwrap();
    assert!(
        ready.contains("a test of it fails: The test tests::a_wrong_key_leaves_it_shut"),
        "{name}: {ready}"
    );
    let context = coder.call("get_context", json!({ "id": id }));
    assert_eq!(context["evidence"]["state"], "ran", "{name}: {context}");
    // The second is right. Its word changes nothing; what CI ran does.
    let commit = repository.write(&id, quote, RIGHT);
    let report = repository.test();
    coder.call("push_evidence", word(&commit, &report));
    coder.fails("update_item", done(2));
    let pushed = ci(world, &supply, &commit);
    assert_eq!(pushed["states"]["passed"], 1, "{name}: {pushed}");
    let context = coder.call("get_context", json!({ "id": id, "purpose": "test" }));
    assert_eq!(context["evidence"]["state"], "passed", "{name}: {context}");
    assert!(
        context["code"][0]
            .as_str()
            .unwrap()
            .starts_with("src/lib.rs:1-5 opens"),
        "{name}: {context}"
    );
    coder.call("update_item", done(2));
    coder.call("release_item", json!({ "id": id }));
    assert_eq!(
        coder.call("next_work", json!({}))["ready"],
        json!([]),
        "{name}: what is below a finished story is no work"
    );
    let history = world.json(&["item", "history", "US-001"]);
    assert_eq!(history["data"][0]["intent"], "Proven", "{name}");
    world.run(&["audit", "verify"]).expect(0);
}

fn serve(world: &World) -> Server {
    let limits = [
        "--log-level",
        "error",
        "--http-max-requests-per-minute",
        "1000000",
    ];
    Server::start(world.command(&[&["serve", "--listen", "127.0.0.1:0"], &limits[..]].concat()))
}

#[test]
fn a_coding_agent_proves_its_work_over_pipes() {
    for version in ["2025-11-25", STATELESS] {
        for world in World::both() {
            let token = project(&world);
            let server = serve(&world);
            let mut coder = Coder::over_stdio(&world, &token, version, &server);
            works(
                &world,
                &mut coder,
                &format!("stdio {version} on {}", world.database),
            );
        }
    }
}

#[test]
fn a_coding_agent_proves_its_work_over_http() {
    for version in ["2025-11-25", STATELESS] {
        let world = World::new();
        let token = project(&world);
        let mut coder = Coder::over_http(&token, version, serve(&world));
        works(&world, &mut coder, &format!("HTTP {version}"));
    }
}

#[test]
fn a_coding_agent_proves_its_work_with_the_system_in_the_process() {
    let world = World::new();
    project(&world);
    let mut host = Host::start(world.command(&["mcp", "--agent", "--toolsets", "agent"]));
    host.greet("2025-11-25");
    let mut coder = Coder {
        wire: Wire::Stdio(host),
        version: "2025-11-25",
    };
    //= specs/spexus-bridge.md#the-system-in-the-process
    //= type=test
    //# With `--agent` the caller in the process MUST count as an agent.
    let blind = coder.fails("update_item", json!({ "id": "US-001", "priority": 1 }));
    assert_eq!(blind["refusal"]["code"], 1028, "{blind}");
    works(&world, &mut coder, "embedded");
}
