//! A manifest: what an app says about itself before it is started, in the form of MCPB's `manifest.json`.
//!
//! Members this crate has no use for (authors, pictures, screenshots) are let through unread: a manifest that works
//! elsewhere works here.

use std::collections::{BTreeMap, BTreeSet};

use refusal::{Code, Fault, Refusal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::names;

/// The largest manifest.
pub(crate) const MAX_MANIFEST_BYTES: usize = 1 << 20;
const MAX_TEXT_CHARS: usize = 2_000;

/// An MCPB manifest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Its name for programs; what it has is listed under this name.
    pub name: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Its version, semantic.
    pub version: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// How it is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSection>,
    /// The tools it promises to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<DeclaredName>,
    /// The prompts it promises to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<DeclaredName>,
    /// The families it promises to serve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<Family>,
    /// What whoever installs it must or may decide.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub user_config: BTreeMap<String, UserSetting>,
}

/// How an app is started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerSection {
    /// What kind of program it is.
    #[serde(rename = "type")]
    pub kind: ServerKind,
    /// The file that is started, inside its bundle.
    #[serde(default)]
    pub entry_point: String,
    /// The command line, when it is not the usual one for the kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_config: Option<CommandSection>,
}

/// What kind of program an app is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerKind {
    /// For Node.js.
    Node,
    /// For Python.
    Python,
    /// A program of its own.
    #[default]
    Binary,
    /// For Python, with its packages managed by `uv`.
    Uv,
}

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandSection {
    /// The program.
    #[serde(default)]
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables it gets.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What is different on a platform: `linux`, `darwin`, `win32`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub platform_overrides: BTreeMap<String, PlatformOverride>,
}

/// What is different on a platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlatformOverride {
    /// Another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Other arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Further variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// Something an app promises to have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeclaredName {
    /// Its name.
    pub name: String,
}

/// A family of things an app can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Tools.
    Tools,
    /// Resources and their templates.
    Resources,
    /// Prompts.
    Prompts,
}

/// Something whoever installs an app must or may decide.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UserSetting {
    /// Whether the app cannot work without it.
    #[serde(default)]
    pub required: bool,
    /// What it is when nobody says.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub default: Value,
    /// What it is called.
    #[serde(default)]
    pub title: String,
}

impl Manifest {
    /// Reads a manifest; `name` is what the app is to be called instead.
    pub(crate) fn read(text: &[u8], name: Option<&str>) -> Result<Self, Refusal> {
        if text.len() > MAX_MANIFEST_BYTES {
            let problem = format!("the manifest has more than {MAX_MANIFEST_BYTES} bytes");
            return Err(Refusal::new(Code::MessageTooLarge, problem));
        }
        let value: Value = serde_json::from_slice(text).map_err(|error| unreadable(&error.to_string()))?;
        Self::of(value, name)
    }

    /// Takes a manifest that is JSON already.
    pub(crate) fn of(value: Value, name: Option<&str>) -> Result<Self, Refusal> {
        let mut manifest: Manifest =
            serde_json::from_value(value).map_err(|error| unreadable(&error.to_string()))?;
        if let Some(name) = name {
            name.clone_into(&mut manifest.name);
        }
        manifest.check()?;
        Ok(manifest)
    }

    /// Refuses a manifest that makes no sense, with everything that is wrong with its fields.
    //= specs/mcp-apps.md#manifests
    //# A manifest with a wrong name or version MUST be refused with the field, its value and what is allowed.
    fn check(&self) -> Result<(), Refusal> {
        let mut faults = Vec::new();
        let mut fault = |field: &str, problem: String, allowed: &str| {
            faults.push(Fault {
                field: field.to_owned(),
                problem,
                allowed: allowed.to_owned(),
            });
        };
        let mut hint = None;
        if let Err(refusal) = names::check_app(&self.name) {
            fault(
                "name",
                refusal.faults[0].problem.clone(),
                &refusal.faults[0].allowed,
            );
            hint = Some(refusal.hint);
        }
        if semver::Version::parse(&self.version).is_err() {
            let shown: String = self.version.chars().take(60).collect();
            let problem = format!("{shown:?} is no semantic version");
            fault(
                "version",
                problem,
                "three numbers such as 1.2.3, as semver.org describes",
            );
        }
        if self.description.trim().is_empty() || self.description.chars().count() > MAX_TEXT_CHARS {
            let allowed = format!("1 to {MAX_TEXT_CHARS} characters");
            fault("description", "is empty or too long".to_owned(), &allowed);
        }
        for (field, promised) in [("tools", &self.tools), ("prompts", &self.prompts)] {
            if promised.iter().any(|promised| promised.name.is_empty()) {
                fault(field, "one has no name".to_owned(), "a name for each");
            }
        }
        if let Some(refusal) = Refusal::of_faults(Code::InvalidParams, faults) {
            return Err(match hint {
                Some(hint) if refusal.faults.len() == 1 => refusal.hint(hint),
                _ => refusal,
            });
        }
        distinct(
            &self.name,
            "tool",
            Code::ToolDuplicate,
            self.tools.iter().map(|t| t.name.as_str()),
        )?;
        distinct(
            &self.name,
            "prompt",
            Code::PromptDuplicate,
            self.prompts.iter().map(|p| p.name.as_str()),
        )?;
        match &self.server {
            Some(server) => server.check(),
            None => Ok(()),
        }
    }

    /// The command line before variables are filled in; `None` for an app that is an address.
    pub(crate) fn command(&self) -> Option<CommandSection> {
        let server = self.server.as_ref()?;
        let mut part = server.mcp_config.clone().unwrap_or_else(|| server.usual());
        if let Some(other) = part.platform_overrides.remove(platform()) {
            part.command = other.command.unwrap_or(part.command);
            part.args = other.args.unwrap_or(part.args);
            part.env.extend(other.env);
        }
        Some(part)
    }
}

impl ServerSection {
    fn check(&self) -> Result<(), Refusal> {
        inside("server.entry_point", &self.entry_point)?;
        let Some(part) = &self.mcp_config else {
            if self.entry_point.is_empty() {
                let allowed = "a command, or the file that is started";
                return Err(Refusal::field(
                    Code::MissingRequiredField,
                    "server.mcp_config",
                    "is missing",
                    allowed,
                ));
            }
            return Ok(());
        };
        if part.command.trim().is_empty() && part.platform_overrides.is_empty() {
            let allowed = "the program that is started";
            return Err(Refusal::field(
                Code::MissingRequiredField,
                "server.mcp_config.command",
                "is empty",
                allowed,
            ));
        }
        let overrides = part.platform_overrides.values();
        let texts = overrides.flat_map(|o| o.command.iter().chain(o.args.iter().flatten()));
        for text in texts.chain(part.args.iter()).chain([&part.command]) {
            if let Some(path) = text.strip_prefix("${__dirname}") {
                inside(
                    "server.mcp_config",
                    path.trim_start_matches("${/}").trim_start_matches('/'),
                )?;
            }
        }
        Ok(())
    }

    fn usual(&self) -> CommandSection {
        let file = format!("${{__dirname}}/{}", self.entry_point);
        let (command, args) = match self.kind {
            ServerKind::Node => ("node".to_owned(), vec![file]),
            ServerKind::Python => ("python3".to_owned(), vec![file]),
            ServerKind::Uv => ("uv".to_owned(), vec!["run".to_owned(), file]),
            ServerKind::Binary => (file, Vec::new()),
        };
        CommandSection {
            command,
            args,
            ..CommandSection::default()
        }
    }
}

/// Refuses names that are the same, or become the same here.
//= specs/mcp-apps.md#manifests
//# A manifest that names a tool twice MUST be refused with 1049.
pub(crate) fn distinct<'a>(
    app: &str,
    what: &str,
    code: Code,
    own: impl Iterator<Item = &'a str>,
) -> Result<(), Refusal> {
    let mut seen = BTreeMap::new();
    for own in own {
        let name = names::of(app, own);
        if let Some(other) = seen.insert(name.clone(), own) {
            let problem = format!("the {what}s {other:?} and {own:?} would both be called {name:?}");
            let hint = format!("Give each {what} of the app a name of its own.");
            return Err(Refusal::new(code, problem).hint(hint));
        }
    }
    Ok(())
}

/// What an app lacks of what it promised, in words: promised, and there.
//= specs/mcp-apps.md#manifests
//# An app that lacks something its manifest declares MUST be refused with what was declared and what is there.
pub(crate) fn lacking(what: &str, promised: &BTreeSet<&str>, there: &BTreeSet<&str>) -> Option<Fault> {
    let missing: Vec<&str> = promised.difference(there).copied().collect();
    if missing.is_empty() {
        return None;
    }
    let list = |names: Vec<&str>| match names.is_empty() {
        true => "nothing".to_owned(),
        false => names.join(", "),
    };
    Some(Fault {
        field: what.to_owned(),
        problem: format!(
            "declared {}, but there is {}; missing: {}",
            list(promised.iter().copied().collect()),
            list(there.iter().copied().collect()),
            list(missing),
        ),
        allowed: "what the app really has".to_owned(),
    })
}

/// Refuses a path that leads out of the folder it is meant for.
//= specs/mcp-apps.md#manifests
//# A manifest whose paths lead out of its bundle MUST be refused with 1036.
pub(crate) fn inside(field: &str, path: &str) -> Result<(), Refusal> {
    let climbs = path.split(['/', '\\']).any(|part| part == "..");
    let elsewhere = path.starts_with('/') || path.contains(['\\', '\0']) || path.get(1..2) == Some(":");
    if climbs || elsewhere {
        let shown: String = path.chars().take(120).collect();
        let problem = format!("{shown:?} leads out of the bundle");
        return Err(Refusal::field(
            Code::PathTraversalDetected,
            field,
            problem,
            "a path inside the bundle",
        ));
    }
    Ok(())
}

fn unreadable(problem: &str) -> Refusal {
    Refusal::field(
        Code::InvalidParams,
        "manifest",
        problem,
        "JSON in the form of MCPB's manifest.json",
    )
}

const fn platform() -> &'static str {
    if cfg!(target_os = "macos") {
        "darwin"
    } else if cfg!(windows) {
        "win32"
    } else {
        "linux"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn good() -> Value {
        json!({
            "manifest_version": "0.3", "name": "clock", "version": "1.2.3", "description": "Tells the time.",
            "author": { "name": "Somebody" },
            "server": { "type": "node", "entry_point": "server/index.js" },
            "tools": [{ "name": "now", "description": "The time." }],
        })
    }

    fn with(member: &str, value: Value) -> Result<Manifest, Refusal> {
        let mut manifest = good();
        manifest[member] = value;
        Manifest::of(manifest, None)
    }

    #[test]
    fn the_usual_command_follows_from_the_kind() {
        let command = Manifest::of(good(), None).unwrap().command().unwrap();
        assert_eq!((command.command.as_str(), command.args.len()), ("node", 1));
        assert_eq!(command.args[0], "${__dirname}/server/index.js");
    }

    #[test]
    fn a_platform_may_have_a_command_of_its_own() {
        let other =
            json!({ "linux": { "command": "l" }, "darwin": { "command": "d" }, "win32": { "command": "w" } });
        let server = json!({ "type": "binary", "mcp_config": { "command": "x", "args": ["a"], "platform_overrides": other } });
        let command = with("server", server).unwrap().command().unwrap();
        assert_eq!(command.command.len(), 1);
        assert_ne!(command.command, "x");
        assert_eq!(command.args, ["a"]);
    }

    //= specs/mcp-apps.md#manifests
    //= type=test
    //# A manifest with a wrong name or version MUST be refused with the field, its value and what is allowed.
    #[test]
    fn every_wrong_field_is_named() {
        let mut manifest = good();
        manifest["name"] = json!("Clock!");
        manifest["version"] = json!("1.2");
        manifest["description"] = json!(" ");
        let refusal = Manifest::of(manifest, None).unwrap_err();
        let fields: Vec<&str> = refusal.faults.iter().map(|f| f.field.as_str()).collect();
        assert_eq!(fields, ["name", "version", "description"]);
        assert!(refusal.faults[0].problem.contains("Clock!") && refusal.faults[1].problem.contains("1.2"));
        assert!(
            with("version", json!(3))
                .unwrap_err()
                .message
                .contains("manifest")
        );
        assert_eq!(
            with("name", json!("A")).unwrap_err().hint,
            "Choose another name, such as \"a\"."
        );
        assert!(
            Manifest::of(
                {
                    let mut m = good();
                    m["name"] = json!("A");
                    m
                },
                Some("b")
            )
            .is_ok()
        );
        assert!(Manifest::read(b"{", None).is_err());
    }

    //= specs/mcp-apps.md#manifests
    //= type=test
    //# A manifest whose paths lead out of its bundle MUST be refused with 1036.
    #[test]
    fn paths_stay_inside() {
        for path in ["../x", "a/../../x", "/etc/passwd", "a\\..\\b", "C:x", "a\0b"] {
            let refusal = with("server", json!({ "type": "node", "entry_point": path })).unwrap_err();
            assert_eq!(refusal.code, Code::PathTraversalDetected, "{path}");
        }
        let climbing =
            json!({ "type": "node", "mcp_config": { "command": "node", "args": ["${__dirname}/../x"] } });
        assert_eq!(
            with("server", climbing).unwrap_err().code,
            Code::PathTraversalDetected
        );
    }

    //= specs/mcp-apps.md#manifests
    //= type=test
    //# A manifest that names a tool twice MUST be refused with 1049.
    #[test]
    fn names_are_distinct_also_after_they_were_made_to_fit() {
        let refusal = with("tools", json!([{ "name": "a b" }, { "name": "a/b" }])).unwrap_err();
        assert_eq!(refusal.code, Code::ToolDuplicate);
        assert!(refusal.message.contains("a b") && refusal.message.contains("clock_a_b"));
        let refusal = with("prompts", json!([{ "name": "a" }, { "name": "a" }])).unwrap_err();
        assert_eq!(refusal.code, Code::PromptDuplicate);
    }

    #[test]
    fn what_is_started_must_be_said() {
        for server in [
            json!({ "type": "node" }),
            json!({ "type": "node", "mcp_config": { "command": "" } }),
        ] {
            assert_eq!(
                with("server", server).unwrap_err().code,
                Code::MissingRequiredField
            );
        }
    }
}
