//! The command line of an app, with its variables filled in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use refusal::{Code, Fault, Refusal};
use serde_json::Value;

use crate::manifest::{Manifest, UserSetting};

/// A program, ready to be started.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Launch {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    /// All its variables; it gets no others.
    pub(crate) environment: BTreeMap<String, String>,
    /// Where it is started.
    pub(crate) folder: Option<PathBuf>,
}

/// What stands for the variables of a manifest.
pub(crate) struct Values<'a> {
    /// The folder of the app's own files.
    pub(crate) folder: Option<&'a Path>,
    /// What every app gets.
    pub(crate) passed_on: &'a BTreeMap<String, String>,
    /// What was chosen at the installation.
    pub(crate) chosen: &'a BTreeMap<String, String>,
    /// What was decided of `user_config`.
    pub(crate) settings: &'a BTreeMap<String, String>,
}

impl Launch {
    /// Fills in a manifest; `None` for an app without a command.
    //= specs/mcp-apps.md#isolation
    //# An app MUST get no variable of the server's environment but those on the list of variables passed on.
    pub(crate) fn new(manifest: &Manifest, values: &Values<'_>) -> Option<Self> {
        let part = manifest.command()?;
        let settings = settled(manifest, values.settings);
        let fill = |text: &str| filled(text, values, &settings);
        let mut environment = values.passed_on.clone();
        for (name, value) in &part.env {
            // What was left open is left out: programs take an empty variable for a decision.
            let value = fill(value);
            if !value.is_empty() {
                environment.insert(name.clone(), value);
            }
        }
        environment.extend(values.chosen.clone());
        Some(Self {
            program: fill(&part.command),
            arguments: part
                .args
                .iter()
                .flat_map(|text| several(text, &settings).unwrap_or_else(|| vec![fill(text)]))
                .collect(),
            environment,
            folder: values.folder.map(Path::to_owned),
        })
    }
}

/// Refuses settings a manifest does not know, and the lack of those it needs.
//= specs/mcp-apps.md#installing
//# An app whose manifest requires a setting MUST be refused without it, with the name of the setting.
pub(crate) fn check_settings(manifest: &Manifest, given: &BTreeMap<String, String>) -> Result<(), Refusal> {
    let known = || {
        manifest
            .user_config
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(", ")
    };
    let unknown = given
        .keys()
        .filter(|key| !manifest.user_config.contains_key(*key))
        .map(|key| Fault {
            field: format!("settings.{key}"),
            problem: "the app has no such setting".to_owned(),
            allowed: known(),
        });
    let open = |(key, setting): &(&String, &UserSetting)| {
        setting.required && setting.default.is_null() && !given.contains_key(*key)
    };
    let missing = manifest
        .user_config
        .iter()
        .filter(open)
        .map(|(key, setting)| Fault {
            field: format!("settings.{key}"),
            problem: "is missing".to_owned(),
            allowed: setting.title.clone(),
        });
    let faults = unknown.chain(missing).collect();
    match Refusal::of_faults(Code::MissingRequiredField, faults) {
        Some(refusal) => Err(refusal.hint(
            "Decide it with the installation: `settings` over MCP, `--set KEY=VALUE` on the command line.",
        )),
        None => Ok(()),
    }
}

/// All settings as lists of texts: what was given, else what the manifest says.
fn settled(manifest: &Manifest, given: &BTreeMap<String, String>) -> BTreeMap<String, Vec<String>> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let one = |(key, setting): (&String, &UserSetting)| {
        let values = match (given.get(key), &setting.default) {
            (Some(given), _) => vec![given.clone()],
            (None, Value::Array(several)) => several.iter().map(text).collect(),
            (None, Value::Null) => Vec::new(),
            (None, one) => vec![text(one)],
        };
        (key.clone(), values)
    };
    manifest.user_config.iter().map(one).collect()
}

/// An argument that is nothing but a setting with several values becomes several arguments.
fn several(text: &str, settings: &BTreeMap<String, Vec<String>>) -> Option<Vec<String>> {
    let key = text.strip_prefix("${user_config.")?.strip_suffix('}')?;
    settings.get(key).cloned()
}

fn filled(text: &str, values: &Values<'_>, settings: &BTreeMap<String, Vec<String>>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        match value_of(name, values, settings) {
            Some(value) => out.push_str(&value),
            None => out.push_str(&format!("${{{name}}}")),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn value_of(name: &str, values: &Values<'_>, settings: &BTreeMap<String, Vec<String>>) -> Option<String> {
    match name {
        "__dirname" => values.folder.map(|folder| folder.display().to_string()),
        "/" | "pathSeparator" => Some(std::path::MAIN_SEPARATOR.to_string()),
        "HOME" => values.passed_on.get("HOME").cloned(),
        _ => settings
            .get(name.strip_prefix("user_config.")?)
            .map(|values| values.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn manifest() -> Manifest {
        let part = json!({
            "command": "${__dirname}/bin/run",
            "args": ["--home=${HOME}", "${user_config.folders}", "${user_config.key}", "$x ${odd} ${open"],
            "env": { "KEY": "${user_config.key}", "MODE": "fast", "NONE": "${user_config.none}" },
        });
        let config = json!({
            "key": { "type": "string", "required": true, "title": "The key" },
            "folders": { "type": "directory", "multiple": true, "default": ["a", "b"] },
            "none": { "type": "string" },
        });
        let manifest = json!({
            "name": "x", "version": "1.0.0", "description": "X.",
            "server": { "type": "binary", "entry_point": "bin/run", "mcp_config": part },
            "user_config": config,
        });
        Manifest::of(manifest, None).unwrap()
    }

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    }

    //= specs/mcp-apps.md#isolation
    //= type=test
    //# An app MUST get no variable of the server's environment but those on the list of variables passed on.
    #[test]
    fn variables_are_filled_in_and_nothing_else_reaches_the_app() {
        let (passed_on, chosen, settings) = (
            map(&[("HOME", "/h"), ("PATH", "/p")]),
            map(&[("MODE", "slow")]),
            map(&[("key", "k")]),
        );
        let values = Values {
            folder: Some(Path::new("/apps/x")),
            passed_on: &passed_on,
            chosen: &chosen,
            settings: &settings,
        };
        let launch = Launch::new(&manifest(), &values).unwrap();
        assert_eq!(launch.program, "/apps/x/bin/run");
        assert_eq!(launch.arguments, ["--home=/h", "a", "b", "k", "$x ${odd} ${open"]);
        assert_eq!(
            launch.environment,
            map(&[("HOME", "/h"), ("PATH", "/p"), ("KEY", "k"), ("MODE", "slow")])
        );
    }

    //= specs/mcp-apps.md#installing
    //= type=test
    //# An app whose manifest requires a setting MUST be refused without it, with the name of the setting.
    #[test]
    fn settings_that_are_needed_or_unknown_are_named() {
        let refusal = check_settings(&manifest(), &map(&[("kay", "k")])).unwrap_err();
        let fields: Vec<&str> = refusal.faults.iter().map(|fault| fault.field.as_str()).collect();
        assert_eq!(fields, ["settings.kay", "settings.key"]);
        assert!(check_settings(&manifest(), &map(&[("key", "k")])).is_ok());
    }
}
