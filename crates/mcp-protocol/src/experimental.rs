//! Experimental capabilities, that is families of methods outside MCP: whether a client and this server speak the same version of one.
//!
//! A client may name the version of a family it speaks, under the same name by which the server declares it:
//! `"experimental": { "apps": { "version": "2.0.0" } }`. Where the major versions differ the two do not understand each
//! other, and the family is not there for that client. Who names no version speaks any.

use serde_json::Value;

use crate::client::ClientCapabilities;

/// Whether a client named another major version of a family than the server's.
//= specs/mcp-server.md#lifecycle
//# A family outside MCP of which the client speaks another major version MUST be neither declared nor served to it, and the log MUST say so.
pub fn is_foreign(client: &ClientCapabilities, family: &str, version: &str) -> bool {
    if !client.names_experimental() {
        return false;
    }
    let declared = client.declared();
    let named = declared
        .get("experimental")
        .and_then(|families| families.get(family)?.get("version")?.as_str());
    named.is_some_and(|named| major(named) != major(version))
}

/// The family a method belongs to: its own name, or what stands before the first part of it.
pub fn holds(family: &str, method: &str) -> bool {
    let rest = method.strip_prefix(family);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Takes the families out of what is declared that the client speaks another major version of.
pub fn hide_foreign(declared: &mut Value, client: &str, capabilities: &ClientCapabilities) {
    let Some(Value::Object(families)) = declared.get_mut("experimental") else {
        return;
    };
    families.retain(|family, about| {
        let version = about["version"].as_str().unwrap_or_default();
        let foreign = is_foreign(capabilities, family, version);
        if foreign {
            let client: String = client.chars().filter(|c| !c.is_control()).take(60).collect();
            tracing::info!(
                client,
                family,
                version,
                "hidden from a client that speaks another version of it"
            );
        }
        !foreign
    });
    if families.is_empty()
        && let Some(all) = declared.as_object_mut()
    {
        all.remove("experimental");
    }
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_another_major_version_is_foreign() {
        let naming = |families: Value| {
            let declared = json!({ "experimental": families });
            ClientCapabilities::new(declared.as_object().unwrap().clone())
        };
        for (families, foreign) in [
            (json!({ "apps": { "version": "2.0.0" } }), true),
            (json!({ "apps": { "version": "1.9.3" } }), false),
            (json!({ "apps": { "version": "11.0.0" } }), true),
            (json!({ "apps": {} }), false),
            (json!({ "apps": { "version": 2 } }), false),
            (json!({ "roots": { "version": "2.0.0" } }), false),
            (json!(5), false),
        ] {
            assert_eq!(
                is_foreign(&naming(families.clone()), "apps", "1.2.0"),
                foreign,
                "{families}"
            );
        }
        assert!(!is_foreign(&ClientCapabilities::default(), "apps", "1.2.0"));
        assert!(holds("apps", "apps/list") && holds("batch/execute", "batch/execute"));
        assert!(!holds("apps", "appstore/list") && !holds("batch/execute", "batch"));
    }
}
