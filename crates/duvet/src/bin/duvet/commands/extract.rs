//! `duvet extract`

use crate::arguments::Extract;
use crate::{project, terminal};
use duvet::extraction::{self, Language};
use duvet::fence::Fence;
use duvet::loader::{LoadedSpecification, SpecificationRequest};
use duvet::locator::SpecificationLocator;
use duvet::output;
use duvet::specification::extract::Mode;
use duvet::target::is_url;
use std::path::Path;
use std::time::Instant;

pub(crate) fn run(flags: &Extract) -> Result<bool, String> {
    let start = Instant::now();
    let (mut config, _) = project::read_config(flags.config_path.as_deref());
    if let Some(path) = &flags.spec_path {
        config.downloads = path.join("specs");
        config.allowed.push(path.clone());
    }
    // The person names the text and the folder to write to; they may lie anywhere, the files of the folder in it.
    if !is_url(&flags.target_path) {
        let folder = Path::new(&flags.target_path).parent();
        config.allowed.extend(folder.map(Path::to_owned));
    }
    let language = match flags.extension.as_str() {
        "toml" => Language::Toml,
        "rs" => Language::Rust,
        other => {
            return Err(format!(
                "`{other}` is no language of requirement files; known: toml, rs"
            ));
        }
    };
    let mode = match flags.extraction.as_str() {
        "compat" => Mode::Compat,
        "v2" => Mode::V2,
        other => return Err(format!("`{other}` is no way of extraction; known: compat, v2")),
    };
    let name = flags.target_path.as_str();
    let request = SpecificationRequest {
        name,
        format: flags.format.0,
        cited: (name, 1),
        beside: name,
        excerpt: "",
    };
    let loaded = LoadedSpecification::open(&SpecificationLocator::new(&project::root(), &config), &request);
    let Some(specification) = &loaded.specification else {
        let help = loaded
            .diagnostic
            .as_ref()
            .and_then(|d| d.help.clone())
            .unwrap_or_default();
        return Err(format!("the text of `{name}` is not here; {help}"));
    };
    let folder = match is_url(name) {
        true => flags.out.join(&config.downloads).join(extraction::folder(name)),
        false => flags.out.join(extraction::folder(name)),
    };
    let files = extraction::files(name, specification, mode, language);
    if files.is_empty() {
        let line = format!(
            "warning: no requirement is found in `{name}`; `--format` says how its text is written\n"
        );
        terminal::write_stderr(&terminal::printable(&line));
    }
    let fence = Fence::new(&flags.out, &[]);
    for (file, text) in &files {
        let path = folder.join(file);
        let written = output::write_inside(&fence, &path, text.as_bytes());
        written.map_err(|e| format!("cannot write `{}`: {e}", path.display()))?;
    }
    terminal::done(
        "Extracted",
        format_args!("requirements of {} sections of {name}", files.len()),
        start,
    );
    Ok(true)
}
