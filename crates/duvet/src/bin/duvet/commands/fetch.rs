//! `duvet fetch`

use crate::arguments::{self, Fetch};
use crate::download::{self, Hosts};
use crate::{project, terminal};
use duvet::analysis::Project;
use duvet::fence;
use duvet::locator::{MAX_SPECIFICATION_BYTES, SpecificationLocator};
use duvet::lockfile::{LOCK_PATH, LockFile};
use duvet::memo::Memo;
use duvet::output;
use duvet::pipeline::analyse;
use duvet::target::{canonical, is_url, spoken_rfc};
use std::path::Path;
use std::time::Instant;

pub(crate) fn run(flags: &Fetch) -> Result<bool, String> {
    let loaded = project::load(&flags.project, false)?;
    let urls = if flags.urls.is_empty() {
        cited(&loaded.project)
    } else {
        flags.urls.clone()
    };
    if urls.is_empty() {
        terminal::write_stderr("nothing to fetch: no address is cited or configured\n");
    }
    fetch(&loaded.project, &urls, flags.update, &flags.hosts)
}

/// Downloads what is missing before a report, when the person asks for it.
pub(crate) fn missing(project: &Project, hosts: &arguments::Hosts) -> Result<bool, String> {
    let mut urls = cited(project);
    if project.config.strict_compat {
        // The public tool locks nothing: texts that are here are left alone.
        let locator = SpecificationLocator::new(&project.root, &project.config);
        urls.retain(|url| locator.locate(url, None).is_ok_and(|path| !path.exists()));
    }
    fetch(project, &urls, false, hosts)
}

fn fetch(project: &Project, urls: &[String], update: bool, hosts: &arguments::Hosts) -> Result<bool, String> {
    let lock_path = project.root.join(LOCK_PATH);
    let locator = SpecificationLocator::new(&project.root, &project.config);
    // What was locked before must not be forgotten because it could not be read.
    let text = locator.fence.read_settings(&lock_path);
    let text = text.map_err(|problem| format!("cannot read `{LOCK_PATH}`: {problem}"))?;
    let (mut lock, faults) = LockFile::parse(&text);
    for fault in &faults {
        let line = format!("warning: {LOCK_PATH}:{}: {}\n", fault.start.line, fault.message);
        terminal::write_stderr(&terminal::printable(&line));
    }
    let hosts = Hosts {
        allowed: hosts
            .allow_host
            .iter()
            .chain(&project.config.hosts)
            .cloned()
            .collect(),
        insecure: hosts.insecure_host.clone(),
    };
    let mut failed = 0;
    let before = lock.clone();
    for url in urls {
        if let Err(problem) = one(url, update, &locator, &hosts, &mut lock) {
            failed += 1;
            terminal::write_stderr(&format!(
                "error: {}: {}\n",
                terminal::printable(url),
                terminal::printable(&problem)
            ));
        }
    }
    if lock != before {
        let written = output::write_inside(&locator.fence, &lock_path, lock.render().as_bytes());
        written.map_err(|e| format!("cannot write `{LOCK_PATH}`: {e}"))?;
    }
    Ok(failed == 0)
}

fn one(
    url: &str,
    update: bool,
    locator: &SpecificationLocator,
    hosts: &Hosts,
    lock: &mut LockFile,
) -> Result<(), String> {
    if !is_url(url) {
        return Err(match spoken_rfc(url) {
            Some(number) => format!("did you mean `https://www.rfc-editor.org/rfc/rfc{number}`?"),
            None => "it is a path, not an address".to_owned(),
        });
    }
    let path = locator.locate(url, None).map_err(|e| e.to_string())?;
    if path.exists() && !update {
        let known = fence::read(&path, MAX_SPECIFICATION_BYTES).map_err(|e| e.to_string())?;
        lock.insert_if_new(url, &known, &today());
        return Ok(());
    }
    let start = Instant::now();
    let bytes = download::get(&canonical(url), hosts)?;
    output::write_inside(&locator.fence, &path, &bytes).map_err(|e| cannot_write(&path, &e))?;
    lock.insert(url, &bytes, &today());
    terminal::done("Fetched", url, start);
    Ok(())
}

fn cannot_write(path: &Path, problem: &fence::Refused) -> String {
    format!("cannot write `{}`: {problem}", path.display())
}

/// Every address that the project cites or is configured with.
fn cited(project: &Project) -> Vec<String> {
    let analysis = analyse(project, &mut Memo::default());
    let cited = analysis
        .specifications
        .iter()
        .map(|cited| cited.name().to_owned());
    let configured = project.config.specifications.iter().map(|s| s.source.clone());
    let mut urls: Vec<String> = cited.chain(configured).filter(|name| is_url(name)).collect();
    urls.sort_unstable();
    urls.dedup_by_key(|url| canonical(url));
    urls
}

fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}
