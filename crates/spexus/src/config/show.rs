//! Showing settings without showing secrets.

use super::{Config, Settings, Source, TABLE};
use serde_json::{Map, Value, json};

/// What stands in the place of a secret.
const REDACTED: &str = "[redacted]";

/// One line for each setting: name, value, source; and the same as JSON.
pub(crate) fn lines(config: &Config) -> (Vec<[String; 3]>, Value) {
    //= specs/spexus.md#settings
    //# `spexus config show` MUST list every setting with its value and where it comes from.
    let mut lines = Vec::with_capacity(TABLE.len());
    let mut object = Map::new();
    for (setting, source) in TABLE.iter().zip(&config.sources) {
        let value = shown(&config.settings, setting);
        object.insert(
            setting.name.into(),
            json!({"value": value, "source": source_json(source)}),
        );
        lines.push([setting.name.to_owned(), value, source.to_string()]);
    }
    let file = config.file.as_ref().map(|path| path.display().to_string());
    (lines, json!({"file": file, "settings": object}))
}

fn shown(settings: &Settings, setting: &super::settings::Setting) -> String {
    //= specs/spexus.md#settings
    //# A password, a key or the password inside a database URL MUST NOT be shown.
    let value = (setting.get)(settings);
    match (setting.secret && !value.is_empty(), setting.name) {
        (true, _) => REDACTED.into(),
        (false, "database" | "otlp.endpoint") => redacted_url(&value),
        (false, _) => value,
    }
}

fn source_json(source: &Source) -> Value {
    match source {
        Source::Default => json!({"kind": "default"}),
        Source::File(path) => json!({"kind": "file", "path": path.display().to_string()}),
        Source::Environment(name) => json!({"kind": "environment", "name": name}),
        Source::Flag(name) => json!({"kind": "flag", "name": name}),
    }
}

/// A URL without the password it may hold, also when it is not well-formed.
pub(crate) fn redacted_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    // Everything up to the last `@` may be a password, whatever is in it; too much hidden does no harm.
    let rest = match rest.rsplit_once('@') {
        Some((user, host)) if user.contains(':') => {
            let name = user.split(':').next().unwrap_or_default();
            format!("{name}:{REDACTED}@{host}")
        }
        _ => rest.to_owned(),
    };
    let (base, query) = match rest.split_once('?') {
        Some((base, query)) => (base, Some(query)),
        None => (rest.as_str(), None),
    };
    let parameter = |part: &str| match part.split_once('=') {
        Some((name, _)) if name.to_lowercase().contains("password") => format!("{name}={REDACTED}"),
        _ => part.to_owned(),
    };
    let query = query.map(|query| query.split('&').map(parameter).collect::<Vec<_>>().join("&"));
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    format!("{scheme}://{base}{query}")
}

/// The table as a page of documentation.
pub(crate) fn markdown() -> String {
    let settings = Settings::new("sqlite:DATA FOLDER/spexus/spexus.db".into());
    let mut page =
        String::from("| setting | variable | default | what it is for | allowed |\n|---|---|---|---|---|\n");
    for setting in TABLE {
        let default = (setting.get)(&settings);
        let default = if default.is_empty() {
            String::new()
        } else {
            format!("`{default}`")
        };
        page.push_str(&format!(
            "| `{}` | `{}` | {default} | {} | {} |\n",
            setting.name,
            setting.variable(),
            setting.doc,
            setting.allowed
        ));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_urls_are_not_shown() {
        //= specs/spexus.md#settings
        //= type=test
        //# A password, a key or the password inside a database URL MUST NOT be shown.
        let check = |url: &str, expect: &str| assert_eq!(redacted_url(url), expect);
        check(
            "postgres://kim:secret@host:5432/db",
            "postgres://kim:[redacted]@host:5432/db",
        );
        check(
            "postgres://kim:se@cret@host/db",
            "postgres://kim:[redacted]@host/db",
        );
        check(
            "postgres://kim:a/b?c@host/db",
            "postgres://kim:[redacted]@host/db",
        );
        check(
            "postgres://kim@host/db?password=x&a=b",
            "postgres://kim@host/db?password=[redacted]&a=b",
        );
        check("sqlite:/a/b.db", "sqlite:/a/b.db");
    }
}
