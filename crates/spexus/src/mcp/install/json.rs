//! JSON configurations, with the comments and the order people gave them.

use super::Entry;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};

/// The text with the entry in it. What else is there stays as it is, also inside an entry that was there before.
//= specs/spexus-bridge.md#connecting-a-host
//# `spexus mcp install` MUST keep everything in the host's configuration that it does not know.
pub(super) fn with_entry(text: &str, key: &str, typed: bool, entry: &Entry) -> Result<String, String> {
    let options = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
        allow_comments: true,
        allow_trailing_commas: true,
    };
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = CstRootNode::parse(text, &options).map_err(|error| format!("is not JSON: {error}"))?;
    let outer = root.object_value().ok_or("is not a JSON object")?;
    let servers = inner(&outer, key)?;
    let server = inner(&servers, &entry.name)?;
    if typed {
        set(&server, "type", CstInputValue::String("stdio".into()));
    }
    set(&server, "command", CstInputValue::String(entry.command.clone()));
    let args = entry.args.iter().cloned().map(CstInputValue::String).collect();
    set(&server, "args", CstInputValue::Array(args));
    if !entry.env.is_empty() {
        let env = inner(&server, "env")?;
        for (name, value) in &entry.env {
            set(&env, name, CstInputValue::String(value.clone()));
        }
    }
    Ok(root.to_string())
}

fn inner(object: &CstObject, name: &str) -> Result<CstObject, String> {
    object
        .object_value_or_create(name)
        .ok_or_else(|| format!("has something else than an object at {name:?}"))
}

fn set(object: &CstObject, name: &str, value: CstInputValue) {
    match object.get(name) {
        Some(property) => property.set_value(value),
        None => {
            object.append(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn entry() -> Entry {
        Entry {
            name: "requirements".into(),
            command: "/usr/bin/spexus".into(),
            args: vec!["mcp".into()],
            env: vec![("BACKEND_API_URL", "http://localhost:8080".into())],
        }
    }

    fn value(text: &str) -> Value {
        serde_json::from_str(&with_entry(text, "mcpServers", false, &entry()).unwrap()).unwrap()
    }

    #[test]
    fn an_entry_comes_into_whatever_was_there() {
        let ours = json!({ "command": "/usr/bin/spexus", "args": ["mcp"], "env": { "BACKEND_API_URL": "http://localhost:8080" } });
        for text in ["", " \n", "{}", "{\"mcpServers\":{}}"] {
            assert_eq!(
                value(text),
                json!({ "mcpServers": { "requirements": ours } }),
                "{text:?}"
            );
        }
        let theirs = r#"{"z":1,"mcpServers":{"other":{"command":"x"},"requirements":{"command":"old","disabled":true,"env":{"A":"b"}}},"a":[1.50]}"#;
        let after = value(theirs);
        assert_eq!(after["mcpServers"]["other"], json!({ "command": "x" }));
        assert_eq!(after["mcpServers"]["requirements"]["disabled"], true);
        assert_eq!(after["mcpServers"]["requirements"]["env"]["A"], "b");
        assert_eq!(after["mcpServers"]["requirements"]["command"], "/usr/bin/spexus");
    }

    #[test]
    fn order_comments_and_numbers_stay_and_twice_is_once() {
        let text = "{\n  // mine\n  \"z\": 1.50,\n  \"a\": [1, 2],\n}\n";
        let once = with_entry(text, "servers", true, &entry()).unwrap();
        assert!(
            once.starts_with("{\n  // mine\n  \"z\": 1.50,\n  \"a\": [1, 2],"),
            "{once}"
        );
        assert!(once.contains("\"type\": \"stdio\""), "{once}");
        assert_eq!(with_entry(&once, "servers", true, &entry()).unwrap(), once);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "{",
            "[]",
            "nonsense",
            "{\"mcpServers\":[]}",
            "{\"mcpServers\":{\"requirements\":5}}",
            "{'a':1}",
            "{\"a\":1 \"b\":2}",
        ] {
            assert!(with_entry(text, "mcpServers", false, &entry()).is_err(), "{text}");
        }
    }
}
