//! TOML configurations, with the comments and the order people gave them.

use super::Entry;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

/// The text with the entry in it. What else is there stays as it is, also inside an entry that was there before.
pub(super) fn with_entry(text: &str, entry: &Entry) -> Result<String, String> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| format!("is not TOML: {}", error.message()))?;
    let servers = inner(document.as_table_mut(), "mcp_servers", true)?;
    let server = inner(servers, &entry.name, false)?;
    server.insert("command", value(&entry.command));
    server.insert("args", value(entry.args.iter().collect::<Array>()));
    if !entry.env.is_empty() {
        let env = inner(server, "env", false)?;
        for (name, text) in &entry.env {
            env.insert(name, value(text));
        }
    }
    Ok(document.to_string())
}

fn inner<'a>(
    table: &'a mut dyn TableLike,
    name: &str,
    implicit: bool,
) -> Result<&'a mut dyn TableLike, String> {
    let item = table.entry(name).or_insert_with(|| {
        let mut new = Table::new();
        new.set_implicit(implicit);
        Item::Table(new)
    });
    item.as_table_like_mut()
        .ok_or_else(|| format!("has something else than a table at {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            name: "requirements".into(),
            command: "/usr/bin/spexus".into(),
            args: vec!["mcp".into()],
            env: vec![("BACKEND_API_URL", "http://localhost:8080".into())],
        }
    }

    #[test]
    fn an_entry_comes_into_whatever_was_there() {
        let after = with_entry("", &entry()).unwrap();
        assert_eq!(
            after,
            "[mcp_servers.requirements]\ncommand = \"/usr/bin/spexus\"\nargs = [\"mcp\"]\n\n\
             [mcp_servers.requirements.env]\nBACKEND_API_URL = \"http://localhost:8080\"\n"
        );
        assert_eq!(with_entry(&after, &entry()).unwrap(), after, "twice is once");
    }

    #[test]
    fn everything_else_stays() {
        let text = "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\"\n\n[mcp_servers.requirements]\ncommand = \"old\"\ntool_timeout_sec = 90 # long\nenv = { A = \"b\" }\n";
        let after = with_entry(text, &entry()).unwrap();
        assert!(
            after.starts_with("# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\"\n"),
            "{after}"
        );
        assert!(
            after.contains("tool_timeout_sec = 90 # long") && after.contains("A = \"b\""),
            "{after}"
        );
        assert!(!after.contains("old"), "{after}");
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "[",
            "a = ",
            "mcp_servers = 5",
            "[mcp_servers]\nrequirements = \"x\"",
        ] {
            assert!(with_entry(text, &entry()).is_err(), "{text}");
        }
    }
}
