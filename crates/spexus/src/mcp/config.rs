//! The configuration of the bridge: a file in the home folder, and the environment, which wins.

use super::World;
use crate::failure::{Failure, Outcome};
use mcp_protocol::OfferedVersions;
use serde_json::{Map, Value};
use spexus_bridge::{BackendUrl, BearerToken, BridgeLimits, BridgeSettings};
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
    pub(super) endpoint: BackendUrl,
    pub(super) token: BearerToken,
    pub(super) request_timeout: Duration,
    pub(super) log_level: String,
    pub(super) max_retries: u32,
    pub(super) name: String,
    pub(super) title: String,
    pub(super) version: String,
    pub(super) versions: OfferedVersions,
}

impl Config {
    /// What the bridge is told.
    pub(super) fn settings(&self) -> BridgeSettings {
        BridgeSettings {
            backend: self.endpoint.clone(),
            token: Some(self.token.clone()),
            request_timeout: self.request_timeout,
            max_retries: self.max_retries,
            name: self.name.clone(),
            title: self.title.clone(),
            version: self.version.clone(),
            versions: self.versions.clone(),
            headers: Vec::new(),
            limits: BridgeLimits::default(),
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
// Fulfils 001 D4
const NAME: Field = Field {
    name: "server_name",
    variable: "MCP_SERVER_NAME",
    allowed: "1 to 120 characters",
    secret: false,
};
// Fulfils 001 D4
const TITLE: Field = Field {
    name: "server_title",
    variable: "MCP_SERVER_TITLE",
    allowed: "1 to 120 characters",
    secret: false,
};
// Fulfils 001 D4
const VERSION: Field = Field {
    name: "server_version",
    variable: "MCP_SERVER_VERSION",
    allowed: "1 to 120 characters",
    secret: false,
};
// Fulfils 001 D4
const PROTOCOLS: Field = Field {
    name: "protocol_versions",
    variable: "MCP_PROTOCOL_VERSIONS",
    allowed: "versions of the protocol separated by commas, such as 2025-06-18,2025-11-25",
    secret: false,
};
const FIELDS: [&Field; 9] = [
    &URL, &TOKEN, &TIMEOUT, &LEVEL, &RETRIES, &NAME, &TITLE, &VERSION, &PROTOCOLS,
];

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
        endpoint: given.required(&URL, BackendUrl::parse)?,
        token: given.required(&TOKEN, BearerToken::parse)?,
        request_timeout: given
            .optional(&TIMEOUT, length)?
            .unwrap_or(Duration::from_secs(30)),
        log_level: given
            .optional(&LEVEL, level)?
            .unwrap_or_else(|| "info".to_owned()),
        max_retries: given.optional(&RETRIES, retries)?.unwrap_or(3),
        name: given
            .optional(&NAME, called)?
            .unwrap_or_else(|| spexus_bridge::NAME.to_owned()),
        title: given
            .optional(&TITLE, called)?
            .unwrap_or_else(|| spexus_bridge::TITLE.to_owned()),
        version: given
            .optional(&VERSION, called)?
            .unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
        versions: given
            .optional(&PROTOCOLS, OfferedVersions::parse)?
            .unwrap_or_default(),
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

/// A name a host can show.
fn called(text: &str) -> Option<String> {
    let fits = (1..=120).contains(&text.chars().count()) && !text.contains(char::is_control);
    fits.then(|| text.to_owned())
}

fn retries(text: &str) -> Option<u32> {
    text.parse().ok().filter(|retries| *retries <= 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a person has, with these variables and this file.
    fn configured(variables: &[(&str, &str)], file: Option<&str>) -> Config {
        let home = tempfile::tempdir().unwrap();
        if let Some(text) = file {
            let path = home.path().join(FOLDER);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join(FILE), text).unwrap();
        }
        let needed = [
            ("BACKEND_API_URL", "http://localhost:8080"),
            ("MCP_PAT_TOKEN", "mcp_pat_for_these_tests"),
        ];
        let variables = needed.iter().chain(variables);
        let world = World {
            home: home.path().to_owned(),
            variables: variables
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        };
        read_if_any(&world).unwrap().unwrap()
    }

    // proves 003 R14.4, 003 R14.5, 003 R14.6, 003 R15.1
    #[test]
    fn what_nobody_says_is_thirty_seconds_info_and_three_retries() {
        let plain = configured(&[], None);
        assert_eq!(plain.request_timeout, Duration::from_secs(30));
        assert_eq!((plain.log_level.as_str(), plain.max_retries), ("info", 3));
        let settings = plain.settings();
        assert_eq!(
            (settings.request_timeout, settings.max_retries),
            (Duration::from_secs(30), 3),
            "and the bridge is told so"
        );
    }

    // proves 003 R14.4, 003 R14.5, 003 R14.6, 001 D4
    #[test]
    fn a_variable_wins_over_the_file_and_the_file_over_what_is_usual() {
        let file = r#"{ "request_timeout": "7s", "log_level": "warn", "max_retries": 5,
            "server_name": "by-file", "server_title": "By file", "server_version": "2.0.0" }"#;
        let by_file = configured(&[], Some(file));
        assert_eq!(by_file.request_timeout, Duration::from_secs(7));
        assert_eq!((by_file.log_level.as_str(), by_file.max_retries), ("warn", 5));
        let settings = by_file.settings();
        assert_eq!(
            [&settings.name, &settings.title, &settings.version],
            ["by-file", "By file", "2.0.0"]
        );
        let variables = [
            ("MCP_REQUEST_TIMEOUT", "500ms"),
            ("LOG_LEVEL", "DEBUG"),
            ("MCP_MAX_RETRIES", "0"),
            ("MCP_SERVER_NAME", "by-variable"),
            ("MCP_SERVER_VERSION", "3.0.0"),
            ("MCP_PROTOCOL_VERSIONS", "2025-11-25, 2025-06-18"),
        ];
        let by_variable = configured(&variables, Some(file));
        assert_eq!(by_variable.request_timeout, Duration::from_millis(500));
        assert_eq!(
            (by_variable.log_level.as_str(), by_variable.max_retries),
            ("debug", 0)
        );
        let settings = by_variable.settings();
        assert_eq!(
            [&settings.name, &settings.title, &settings.version],
            ["by-variable", "By file", "3.0.0"]
        );
        assert_eq!(settings.versions.names(), ["2025-06-18", "2025-11-25"]);
    }

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
