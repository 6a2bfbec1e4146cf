//! From flags and the configuration file to a project.

use crate::arguments::{Compat, ProjectFlags};
use crate::terminal;
use duvet::analysis::{Analysis, Project};
use duvet::config::{self, CONFIG_PATH, Config, SourcePattern, source_pattern};
use duvet::diagnostic::{Diagnostic, text};
use duvet::engine::{Engine, Overlay};
use duvet::fence::{Fence, Refused};
use duvet::paths::base;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

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
        let mut shown = String::new();
        let colour = terminal::colour();
        text::render(&mut shown, &missing, text::Paint { colour });
        terminal::write_stderr(&shown);
        missing.is_empty()
    }
}

/// Reads the configuration in the current folder; the flags of old add to it.
pub(crate) fn load(flags: &ProjectFlags, strict: bool) -> Result<Loaded, String> {
    let (mut config, diagnostics) = read_config(flags.config_path.as_deref());
    overlay(flags)?(&mut config);
    Ok(Loaded {
        project: Project {
            root: root(),
            config,
            strict,
        },
        diagnostics,
    })
}

/// The project for as long as the process lives: settings come from the configuration file and follow it; flags are laid
/// over them.
pub(crate) fn engine(flags: &ProjectFlags) -> Result<Engine, String> {
    let is_described =
        !flags.spec_pattern.is_empty() || !flags.source_pattern.is_empty() || flags.spec_path.is_some();
    let is_whole_project = is_described && flags.config_path.is_none();
    let variables = |name: &str| std::env::var(name).ok();
    let engine = Engine::of_folder(root(), Box::new(variables), SystemTime::now)
        .overlaid_by(overlay(flags)?, is_whole_project);
    Ok(match &flags.config_path {
        Some(path) => engine.configured_by(path.clone()),
        None => engine,
    })
}

/// What flags make of a configuration, whenever it is read.
pub(crate) fn overlay(flags: &ProjectFlags) -> Result<Box<Overlay>, String> {
    let patterns = flags.source_pattern.iter();
    let sources: Vec<_> = patterns
        .map(|pattern| source_pattern(pattern))
        .collect::<Result<_, _>>()?;
    let requirements = flags.spec_pattern.clone();
    let downloads = flags.spec_path.as_ref().map(|path| path.join("specs"));
    let strict_compat = flags.compat == Compat::Strict;
    // What the person names is allowed; what the configuration or a comment names has to lie in the project.
    let allowed = allowed(flags, &sources);
    Ok(Box::new(move |config| {
        config.requirements.extend(requirements.iter().cloned());
        config.sources.extend(sources.iter().cloned());
        if let Some(downloads) = &downloads {
            config.downloads.clone_from(downloads);
        }
        config.strict_compat = strict_compat;
        config.allowed.clone_from(&allowed);
    }))
}

/// Folders outside the project that the person's own words lead to.
fn allowed(flags: &ProjectFlags, given: &[SourcePattern]) -> Vec<PathBuf> {
    let patterns = given
        .iter()
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
pub(crate) fn read_config(path: Option<&Path>) -> (Config, Vec<Diagnostic>) {
    let file = path.unwrap_or(Path::new(CONFIG_PATH));
    let name = file.display().to_string();
    match config::read(&root(), path) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            let (config, diagnostics) = config::parse(&name, &text, &|name| std::env::var(name).ok());
            (config.beside(file), diagnostics)
        }
        Err(Refused::System(error)) if path.is_none() && error.kind() == ErrorKind::NotFound => {
            (Config::legacy(), Vec::new())
        }
        Err(problem) => (Config::legacy(), vec![config::unreadable(&name, &problem)]),
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
