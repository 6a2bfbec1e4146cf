//! Reading settings from where people write them.

use super::{Config, Settings, Source, TABLE, refused};
use spexus_domain::{Refusal, nearest, text};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What the world says, collected at the rim; tests bring their own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// The file named by `--config` or `SPEXUS_CONFIG`; it must exist.
    pub(crate) named_file: Option<PathBuf>,
    /// The file in the platform's folder; it need not exist.
    pub(crate) usual_file: Option<PathBuf>,
    /// The environment.
    pub(crate) variables: BTreeMap<String, String>,
    /// The flags given, by the name of the setting.
    pub(crate) flags: BTreeMap<String, String>,
    /// The database when nobody names one.
    pub(crate) default_database: String,
    /// The platform's folder for what programs keep.
    pub(crate) data_folder: PathBuf,
    /// The variables that apps may see.
    pub(crate) passed_on: BTreeMap<String, String>,
}

/// Variables of ours that are no settings.
const OTHER_VARIABLES: [&str; 4] = [
    "SPEXUS_CONFIG",
    "SPEXUS_TEST_POSTGRES",
    "SPEXUS_REQUIRE_POSTGRES",
    crate::apps::INSIDE,
];

impl Sources {
    /// Merges everything; the first value that is not allowed is refused with where it stands.
    pub(crate) fn merge(&self) -> Result<Config, Refusal> {
        //= specs/spexus.md#settings
        //# A setting MUST be taken from its flag, else from its environment variable, else from the file, else from
        //# its default.
        let (file, written) = self.file()?;
        let mut settings = Settings::new(self.default_database.clone());
        let mut sources = Vec::with_capacity(TABLE.len());
        for setting in TABLE {
            let (flag, variable) = (setting.flag(), setting.variable());
            let from_flag = self
                .flags
                .get(setting.name)
                .map(|text| (text, Source::Flag(format!("--{flag}"))));
            let from_environment = || {
                self.variables
                    .get(&variable)
                    .map(|text| (text, Source::Environment(variable.clone())))
            };
            let from_file = || {
                let path = file.clone()?;
                written.get(setting.name).map(|text| (text, Source::File(path)))
            };
            let Some((text, source)) = from_flag.or_else(from_environment).or_else(from_file) else {
                sources.push(Source::Default);
                continue;
            };
            //= specs/spexus.md#settings
            //# A value that is not allowed MUST end the program with exit code 78 and a sentence that names the value, where it comes
            //# from and what is allowed.
            if !(setting.put)(&mut settings, text) {
                let shown = match (setting.secret, setting.name) {
                    (true, _) => "the value given".to_owned(),
                    (false, "database") => format!("{:?}", super::redacted_url(text)),
                    (false, _) => format!("{:?}", text::excerpt(text, 60)),
                };
                return Err(refused(
                    setting.name,
                    format!("{shown} ({source}) is not allowed"),
                    setting.allowed,
                ));
            }
            sources.push(source);
        }
        Ok(Config {
            settings,
            sources,
            file,
        })
    }

    fn file(&self) -> Result<(Option<PathBuf>, BTreeMap<String, String>), Refusal> {
        let path = match (&self.named_file, &self.usual_file) {
            (Some(named), _) => named,
            (None, Some(usual)) if usual.exists() => usual,
            (None, _) => return Ok((None, BTreeMap::new())),
        };
        let text = std::fs::read_to_string(path).map_err(|error| {
            refused(
                "config",
                format!("{} cannot be read: {error}", path.display()),
                "a file with settings",
            )
        })?;
        Ok((Some(path.clone()), read_file(path, &text)?))
    }
}

/// Variables that look like settings but are none: misspelt ones.
pub(crate) fn unknown_variables(variables: &BTreeMap<String, String>) -> Vec<String> {
    let known = |name: &str| {
        OTHER_VARIABLES.contains(&name) || TABLE.iter().any(|setting| setting.variable() == name)
    };
    variables
        .keys()
        .filter(|name| name.starts_with("SPEXUS_") && !known(name))
        .cloned()
        .collect()
}

fn read_file(path: &Path, text: &str) -> Result<BTreeMap<String, String>, Refusal> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error
            .span()
            .map_or(1, |span| text[..span.start].lines().count().max(1));
        refused(
            "config",
            format!(
                "{}, line {line}: {}",
                path.display(),
                text::excerpt(error.message(), 200)
            ),
            "TOML",
        )
    })?;
    let mut written = BTreeMap::new();
    for (name, value) in table {
        match value {
            toml::Value::Table(inner) => {
                for (key, value) in inner {
                    take(path, &mut written, format!("{name}.{key}"), value)?;
                }
            }
            value => take(path, &mut written, name, value)?,
        }
    }
    Ok(written)
}

fn take(
    path: &Path,
    written: &mut BTreeMap<String, String>,
    name: String,
    value: toml::Value,
) -> Result<(), Refusal> {
    //= specs/spexus.md#settings
    //# An unknown name in the file MUST be refused with the nearest known one.
    let Some(setting) = TABLE.iter().find(|setting| setting.name == name) else {
        let miss = nearest::miss("config", &name, TABLE.iter().map(|setting| setting.name));
        let problem = format!(
            "{} has the unknown setting {:?}",
            path.display(),
            text::excerpt(&name, 60)
        );
        let hint = miss.hint.clone();
        return Err(refused("config", problem, miss.faults[0].allowed.clone()).hint(hint));
    };
    let text = match value {
        toml::Value::String(text) => text,
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Boolean(flag) => flag.to_string(),
        toml::Value::Array(texts) if texts.iter().all(toml::Value::is_str) => {
            let texts: Vec<&str> = texts.iter().filter_map(toml::Value::as_str).collect();
            texts.join(",")
        }
        _ => {
            let problem = format!(
                "{} gives it a value that is no text, number or flag",
                path.display()
            );
            return Err(refused(&name, problem, setting.allowed));
        }
    };
    written.insert(name, text);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merge(file: &str, variables: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Config, Refusal> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, file).unwrap();
        let pairs = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect()
        };
        Sources {
            named_file: Some(path),
            variables: pairs(variables),
            flags: pairs(flags),
            default_database: "sqlite:default.db".into(),
            ..Sources::default()
        }
        .merge()
    }

    #[test]
    fn the_later_source_wins() {
        //= specs/spexus.md#settings
        //= type=test
        //# A setting MUST be taken from its flag, else from its environment variable, else from the file, else from
        //# its default.
        let file = "listen = \"h:1\"";
        let variable = [("SPEXUS_LISTEN", "h:2")];
        let flag = [("listen", "h:3")];
        let listen = |config: Config| config.settings.listen;
        assert_eq!(listen(merge("", &[], &[]).unwrap()), "127.0.0.1:8080");
        assert_eq!(listen(merge(file, &[], &[]).unwrap()), "h:1");
        assert_eq!(listen(merge(file, &variable, &[]).unwrap()), "h:2");
        assert_eq!(listen(merge(file, &variable, &flag).unwrap()), "h:3");
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest() {
        //= specs/spexus.md#settings
        //= type=test
        //# An unknown name in the file MUST be refused with the nearest known one.
        let refusal = merge("[http]\nmax_body_byte = 5", &[], &[]).err().unwrap();
        assert_eq!(refusal.hint, "Did you mean \"http.max_body_bytes\"?");
        for bad in ["listen = [1]", "listen = ", "[http.max]\nx = 1", "a = 1"] {
            assert!(merge(bad, &[], &[]).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_value_that_is_not_allowed_is_told_with_its_place() {
        let refusal = merge("", &[("SPEXUS_LOG_FORMAT", "xml")], &[]).err().unwrap();
        assert_eq!(
            refusal.message,
            "log.format: \"xml\" (environment SPEXUS_LOG_FORMAT) is not allowed"
        );
        assert_eq!(refusal.faults[0].allowed, "auto, text or json");
        let refusal = merge("", &[("SPEXUS_ADMIN_PASSWORD", "tiny")], &[])
            .err()
            .unwrap();
        assert!(!refusal.message.contains("tiny"), "{}", refusal.message);
    }

    #[test]
    fn misspelt_variables_are_found() {
        let variables = BTreeMap::from([
            ("SPEXUS_LISEN".into(), "x".into()),
            ("SPEXUS_LISTEN".into(), "y".into()),
        ]);
        assert_eq!(unknown_variables(&variables), ["SPEXUS_LISEN"]);
    }
}
