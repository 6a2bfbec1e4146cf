//! Skills: what an agent reads before it does a certain kind of work. They are part of the program, served by the MCP extension
//! of this name and as resources, and written into the folders of hosts that read them there.

use crate::audit::{self, AuditEntry};
use mcp_protocol::ResourceContents;
use mcp_server::{Context, CustomMethod, ReadRequest, Resource, Server, Stop};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Refusal, Ruled, text};
use spexus_service::Service;

/// The extension, as it is declared.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/skills";
/// How long a client may keep what it was told: the texts change with the program only.
const KEEP_MS: u64 = 3_600_000;

/// One skill.
#[derive(Clone, Copy, Debug)]
pub struct Skill {
    /// Its name, which is that of its folder.
    pub name: &'static str,
    /// The file that is the skill.
    pub text: &'static str,
}

macro_rules! skills {
    ($($name:literal),*) => {
        [$(Skill { name: $name, text: include_str!(concat!("../skills/", $name, "/SKILL.md")) }),*]
    };
}

/// Every skill.
pub const ALL: [Skill; 4] = skills![
    "implement-requirement",
    "review-change",
    "trace-code",
    "write-requirements"
];

impl Skill {
    /// Where it is read.
    pub fn uri(&self) -> String {
        format!("skill://{}/SKILL.md", self.name)
    }

    /// When it is to be used, as its head says.
    pub fn description(&self) -> &'static str {
        let line = self
            .text
            .lines()
            .find_map(|line| line.strip_prefix("description: "));
        line.unwrap_or_default()
    }

    /// The skill as the extension tells of it.
    //= specs/spexus-mcp.md#skills
    //# Each skill MUST be told with its name, its description, and the SHA-256 and size of every file as it is read.
    fn entry(&self) -> Value {
        let digest = hex::encode(Sha256::digest(self.text));
        json!({
            "uri": self.uri(),
            "frontmatter": { "name": self.name, "description": self.description() },
            "resources": [{ "uri": self.uri(), "digest": format!("sha256:{digest}"), "size": self.text.len() }],
        })
    }
}

/// Adds the methods and the resources.
//= specs/spexus-mcp.md#skills
//# The skills of the product MUST be served by `skills/list` and `skills/get`, declared as an extension, and readable as resources.
pub(crate) fn serve(server: &Server, service: &Service) -> Ruled<()> {
    let list = |_: &Value| Ok(json!({ "skills": ALL.iter().map(Skill::entry).collect::<Vec<_>>() }));
    server.add_method(method("skills/list", service, list));
    server.add_method(method("skills/get", service, |params| {
        let wanted = params["uri"].as_str().unwrap_or_default();
        let found = ALL.iter().find(|skill| skill.uri() == wanted);
        let skill = found.ok_or_else(|| missing(wanted))?;
        Ok(json!({ "skill": skill.entry() }))
    }));
    server.add_resources(ALL.iter().map(resource).collect())?;
    Ok(())
}

fn method(name: &'static str, service: &Service, answer: fn(&Value) -> Ruled<Value>) -> CustomMethod {
    let service = service.clone();
    CustomMethod::new(name, move |cx: Context, params: Value| {
        let service = service.clone();
        async move {
            let caller = audit::caller(&cx)?;
            let watch = AuditEntry::start(&service, &caller, name, "skills");
            let answered = caller.may(Operation::ReadSettings).and_then(|()| answer(&params));
            watch.stop(answered.as_ref().map(drop));
            let mut value = answered?;
            value["ttlMs"] = json!(KEEP_MS);
            value["cacheScope"] = json!("public");
            Ok::<_, Stop>(value)
        }
    })
}

fn missing(uri: &str) -> Refusal {
    let names: Vec<String> = ALL.iter().map(Skill::uri).collect();
    let problem = format!("there is no skill {:?}", text::excerpt(uri, 100));
    Refusal::field(
        Code::InvalidParams,
        "uri",
        problem,
        format!("one of: {}", names.join(", ")),
    )
}

fn resource(skill: &Skill) -> Resource {
    let skill = *skill;
    let read = move |_: Context, request: ReadRequest| async move {
        let contents = ResourceContents::text(request.uri, "text/markdown", skill.text);
        Ok::<_, Stop>(vec![contents])
    };
    Resource::new(
        skill.uri(),
        skill.name,
        skill.description(),
        "text/markdown",
        read,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_skill_has_a_head_that_names_it_and_says_when_it_is_used() {
        for skill in ALL {
            assert!(
                skill
                    .text
                    .starts_with(&format!("---\nname: {}\ndescription: ", skill.name))
            );
            assert!(skill.description().contains("Use when"), "{}", skill.name);
            // Eight hundred tokens, guessed on the dear side.
            let tokens = spexus_domain::tokens::estimate(skill.text);
            assert!(tokens <= 1_000, "{}: {tokens}", skill.name);
        }
    }
}
