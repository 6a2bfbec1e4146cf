//! From flags and the configuration file to a project.

use crate::arguments::{Compat, ProjectFlags};
use crate::terminal;
use duvet::analysis::{Analysis, Project};
use duvet::config::{self, CONFIG_PATH, Config, source_pattern};
use duvet::diagnostic::{Code, Diagnostic};
use duvet::fence::{self, Fence, MAX_SETTINGS_BYTES};
use duvet::paths::base;
use std::path::{Path, PathBuf};

/// A project and what is wrong with its configuration.
pub(crate) struct Loaded {
    pub(crate) project: Project,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Loaded {
    //= specs/duvet.md#nothing-lost
    //# A query, a fix or a list over a project with missing inputs MUST fail and name them.
    /// Names what should have been read and was not; whether everything was.
    pub(crate) fn is_whole(&self, analysis: &Analysis) -> bool {
        let missing: Vec<&Diagnostic> = self.diagnostics.iter().chain(analysis.missing_inputs()).collect();
        for found in &missing {
            let line = format!("error[{}]: {}\n", found.code.name(), found.message);
            terminal::write_stderr(&terminal::printable(&line));
        }
        missing.is_empty()
    }
}

/// Reads the configuration in the current folder; the flags of old add to it.
pub(crate) fn load(flags: &ProjectFlags, strict: bool) -> Result<Loaded, String> {
    let (mut config, diagnostics) = read_config(flags.config_path.as_deref())?;
    config.requirements.extend(flags.spec_pattern.iter().cloned());
    for pattern in &flags.source_pattern {
        config.sources.push(source_pattern(pattern)?);
    }
    if let Some(path) = &flags.spec_path {
        config.downloads = path.join("specs");
    }
    config.strict_compat = flags.compat == Compat::Strict;
    // What the person names is allowed; what the configuration or a comment names has to lie in the project.
    config.allowed = allowed(flags, &config);
    Ok(Loaded {
        project: Project {
            root: root(),
            config,
            strict,
        },
        diagnostics,
    })
}

/// Folders outside the project that the person's own words lead to.
fn allowed(flags: &ProjectFlags, config: &Config) -> Vec<PathBuf> {
    let given = config
        .sources
        .iter()
        .skip(config.sources.len() - flags.source_pattern.len());
    let patterns = given
        .map(|source| source.pattern.as_str())
        .chain(flags.spec_pattern.iter().map(String::as_str));
    let folders = patterns
        .map(|pattern| PathBuf::from(base(pattern)))
        .chain(flags.spec_path.clone());
    let folders = folders.chain(
        flags
            .config_path
            .iter()
            .filter_map(|file| file.parent().map(Path::to_owned)),
    );
    let inside = Fence::new(&root(), &[]);
    let mut allowed: Vec<PathBuf> = folders
        .filter(|folder| !inside.holds(&root().join(folder)))
        .collect();
    allowed.extend(flags.allow_read.iter().cloned());
    allowed
}

/// The configuration, or the settings of a project without one. A configuration that was named has to exist.
pub(crate) fn read_config(path: Option<&Path>) -> Result<(Config, Vec<Diagnostic>), String> {
    let file = path.unwrap_or(Path::new(CONFIG_PATH));
    match fence::read(file, MAX_SETTINGS_BYTES) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            let name = file.display().to_string();
            let (config, diagnostics) = config::parse(&name, &text, &|name| std::env::var(name).ok());
            Ok((config.beside(file), diagnostics))
        }
        Err(error) if path.is_some() || file.exists() => {
            let message = format!("the configuration cannot be read: {error}");
            let diagnostic = Diagnostic::of_file(Code::ConfigUnreadable, message, file.display().to_string());
            Ok((Config::legacy(), vec![diagnostic]))
        }
        Err(_) => Ok((Config::legacy(), Vec::new())),
    }
}

/// The folder that names are relative to.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(".")
}

/// Whether an environment variable says yes; `false` and `0` say no, as does nothing.
pub(crate) fn is_set(name: &str) -> bool {
    std::env::var(name).is_ok_and(|value| !matches!(value.as_str(), "" | "false" | "0"))
}
