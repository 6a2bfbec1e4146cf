//! The configuration of the bridge: a file in the home folder, and the environment, which wins.

use super::World;
use crate::failure::{Failure, Outcome};
use serde_json::{Map, Value};
use spexus_bridge::{Endpoint, Limits, Settings, Token};
use spexus_domain::{Code, Refusal, nearest, text};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folder of the configuration, below the home folder.
pub(super) const FOLDER: &str = ".requirements-mcp";
/// The file in it.
pub(super) const FILE: &str = "config.json";

/// How to get a configuration, for whoever has none.
pub(super) const THREE_WAYS: &str = "Run `spexus mcp init`, which writes ~/.requirements-mcp/config.json; or set BACKEND_API_URL \
     and MCP_PAT_TOKEN in the host's configuration; or run without a server: `spexus mcp --database sqlite:FILE`.";

/// What is configured.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) endpoint: Endpoint,
    pub(super) token: Token,
    pub(super) request_timeout: Duration,
    pub(super) log_level: String,
    pub(super) max_retries: u32,
}

impl Config {
    /// What the bridge is told.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            endpoint: self.endpoint.clone(),
            token: Some(self.token.clone()),
            request_timeout: self.request_timeout,
            max_retries: self.max_retries,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            headers: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// One field: its name in the file, its variable, and what is allowed.
struct Field {
    name: &'static str,
    variable: &'static str,
    allowed: &'static str,
    secret: bool,
}

// Fulfils 003 R14.1
const URL: Field = Field {
    name: "backend_api_url",
    variable: "BACKEND_API_URL",
    allowed: "the address of a Spexus server, such as https://spexus.example.org",
    secret: false,
};
// Fulfils 003 R14.2
const TOKEN: Field = Field {
    name: "pat_token",
    variable: "MCP_PAT_TOKEN",
    allowed: "a personal access token, mcp_pat_…, from `spexus token create` or `spexus mcp init`",
    secret: true,
};
// Fulfils 003 R14.4
const TIMEOUT: Field = Field {
    name: "request_timeout",
    variable: "MCP_REQUEST_TIMEOUT",
    allowed: "100ms to 10m, such as 30s",
    secret: false,
};
// Fulfils 003 R14.5
const LEVEL: Field = Field {
    name: "log_level",
    variable: "LOG_LEVEL",
    allowed: "error, warn, info, debug or trace",
    secret: false,
};
// Fulfils 003 R14.6
const RETRIES: Field = Field {
    name: "max_retries",
    variable: "MCP_MAX_RETRIES",
    allowed: "0 to 10",
    secret: false,
};
const FIELDS: [&Field; 5] = [&URL, &TOKEN, &TIMEOUT, &LEVEL, &RETRIES];

/// Where the configuration file is.
pub(super) fn path(world: &World) -> PathBuf {
    world.home.join(FOLDER).join(FILE)
}

// Fulfils 003 R1.2, 003 R1.9, 003 R14.3
/// Reads the configuration, or says how to get one.
pub(super) fn read(world: &World) -> Outcome<Config> {
    read_if_any(world)?.ok_or_else(|| {
        //= specs/spexus-bridge.md#configuration
        //# A configuration that is missing MUST end the process with 78 and a sentence that names the three ways to get one.
        let message = "there is no configuration: neither BACKEND_API_URL and MCP_PAT_TOKEN nor ~/.requirements-mcp/config.json";
        Failure::configuration(Refusal::new(Code::MissingRequiredField, message).hint(THREE_WAYS))
    })
}

/// Reads the configuration; `None` when nobody configured anything.
pub(super) fn read_if_any(world: &World) -> Outcome<Option<Config>> {
    let file = file(&path(world))?;
    let is_there =
        file.is_some() || world.variable(URL.variable).is_some() || world.variable(TOKEN.variable).is_some();
    if !is_there {
        return Ok(None);
    }
    let given = Given {
        world,
        file: file.unwrap_or_default(),
    };
    Ok(Some(Config {
        endpoint: given.required(&URL, Endpoint::parse)?,
        token: given.required(&TOKEN, Token::parse)?,
        request_timeout: given
            .optional(&TIMEOUT, length)?
            .unwrap_or(Duration::from_secs(30)),
        log_level: given
            .optional(&LEVEL, level)?
            .unwrap_or_else(|| "info".to_owned()),
        max_retries: given.optional(&RETRIES, retries)?.unwrap_or(3),
    }))
}

/// The log level alone, for a server that needs nothing else.
pub(super) fn log_level(world: &World) -> Outcome<String> {
    let given = Given {
        world,
        file: Map::new(),
    };
    Ok(given
        .optional(&LEVEL, level)?
        .unwrap_or_else(|| "info".to_owned()))
}

// Fulfils 003 R14.8
/// A refusal of a configuration.
pub(super) fn refused(field: &str, problem: impl Into<String>, allowed: impl Into<String>) -> Refusal {
    Refusal::field(Code::InvalidParams, field, problem, allowed).hint(THREE_WAYS)
}

struct Given<'a> {
    world: &'a World,
    file: Map<String, Value>,
}

impl Given<'_> {
    fn required<T>(&self, field: &Field, parse: impl Fn(&str) -> Option<T>) -> Outcome<T> {
        self.optional(field, parse)?.ok_or_else(|| {
            let problem = format!("is missing, here as in the variable {}", field.variable);
            Failure::configuration(refused(field.name, problem, field.allowed))
        })
    }

    //= specs/spexus-bridge.md#configuration
    //# A value MUST be taken from its environment variable, else from the file, else from its default.
    fn optional<T>(&self, field: &Field, parse: impl Fn(&str) -> Option<T>) -> Outcome<Option<T>> {
        let from_file = || match self.file.get(field.name)? {
            Value::String(text) if text.trim().is_empty() => None,
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        };
        let (given, place) = match self.world.variable(field.variable) {
            Some(text) => (text.to_owned(), format!("environment {}", field.variable)),
            None => match from_file() {
                Some(text) => (text, format!("~/{FOLDER}/{FILE}")),
                None => return Ok(None),
            },
        };
        parse(given.trim()).map(Some).ok_or_else(|| {
            //= specs/spexus-bridge.md#configuration
            //# A value that is not allowed MUST end the process with 78, the name of the field and what is allowed; a token MUST NOT be shown.
            let shown = if field.secret {
                "the value given".to_owned()
            } else {
                format!("{:?}", text::excerpt(&given, 60))
            };
            Failure::configuration(refused(
                field.name,
                format!("{shown} ({place}) is not allowed"),
                field.allowed,
            ))
        })
    }
}

/// The members of the file; `None` when there is no file.
fn file(path: &Path) -> Outcome<Option<Map<String, Value>>> {
    let shown = format!("~/{FOLDER}/{FILE}");
    let odd = |problem: String, allowed: &str| Failure::configuration(refused(&shown, problem, allowed));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(odd(format!("cannot be read: {error}"), "a file you can read")),
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        odd(
            format!("is not JSON: line {}, column {}", error.line(), error.column()),
            "a JSON object",
        )
    })?;
    let Value::Object(members) = value else {
        return Err(odd("is not a JSON object".into(), "a JSON object"));
    };
    for name in members.keys() {
        if !FIELDS.iter().any(|field| field.name == name) {
            let known = FIELDS.iter().map(|field| field.name);
            return Err(Failure::configuration(
                nearest::miss(&shown, name, known).hint(THREE_WAYS),
            ));
        }
    }
    Ok(Some(members))
}

/// `30s`, `500ms`, `2m`, or a number of seconds.
fn length(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = digits.parse().ok()?;
    let ms = match unit.trim() {
        "ms" => number,
        "" | "s" => number.checked_mul(1_000)?,
        "m" => number.checked_mul(60_000)?,
        _ => return None,
    };
    (100..=600_000).contains(&ms).then(|| Duration::from_millis(ms))
}

fn level(text: &str) -> Option<String> {
    let level = text.to_ascii_lowercase();
    let level = if level == "warning" {
        "warn".to_owned()
    } else {
        level
    };
    ["error", "warn", "info", "debug", "trace"]
        .contains(&level.as_str())
        .then_some(level)
}

fn retries(text: &str) -> Option<u32> {
    text.parse().ok().filter(|retries| *retries <= 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves 003 R14.4, 003 R14.5, 003 R14.6
    #[test]
    fn values_are_read_as_people_write_them() {
        assert_eq!(length("30s"), Some(Duration::from_secs(30)));
        assert_eq!(length("30"), length("30s"));
        assert_eq!(length("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(length("2m"), Some(Duration::from_secs(120)));
        for text in [
            "",
            "s",
            "0",
            "99ms",
            "11m",
            "-1s",
            "1h",
            "1.5s",
            "99999999999999999999s",
            "18446744073709551615m",
        ] {
            assert_eq!(length(text), None, "{text}");
        }
        assert_eq!(level("WARNING").as_deref(), Some("warn"));
        assert_eq!(level("loud"), None);
        assert_eq!(
            (retries("0"), retries("10"), retries("11"), retries("x")),
            (Some(0), Some(10), None, None)
        );
    }
}
