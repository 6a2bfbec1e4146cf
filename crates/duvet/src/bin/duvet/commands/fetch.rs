//! `duvet fetch`

use crate::arguments::{self, Fetch};
use crate::download::{self, Hosts};
use crate::{project, terminal};
use duvet::analysis::{Project, analyse};
use duvet::fence::{self, read_settings};
use duvet::library::{LOCK_PATH, Lock, MAX_SPECIFICATION_BYTES, Places};
use duvet::output;
use duvet::store::Store;
use duvet::target::{canonical, is_url};
use std::path::Path;
use std::time::Instant;

pub(crate) fn run(flags: &Fetch) -> Result<bool, String> {
    let loaded = project::load(&flags.project, false)?;
    let urls = if flags.urls.is_empty() {
        cited(&loaded.project)
    } else {
        flags.urls.clone()
    };
    fetch(&loaded.project, &urls, flags.update, &flags.hosts)
}

/// Downloads what is missing before a report, when the person asks for it.
pub(crate) fn missing(project: &Project, hosts: &arguments::Hosts) -> Result<bool, String> {
    fetch(project, &cited(project), false, hosts)
}

fn fetch(project: &Project, urls: &[String], update: bool, hosts: &arguments::Hosts) -> Result<bool, String> {
    let lock_path = project.root.join(LOCK_PATH);
    let (mut lock, faults) = Lock::parse(&read_settings(&lock_path));
    for fault in &faults {
        let line = format!("warning: {LOCK_PATH}:{}: {}\n", fault.start.line, fault.message);
        terminal::tell(&terminal::printable(&line));
    }
    let places = Places::new(&project.root, &project.config);
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
        if let Err(problem) = one(url, update, &places, &hosts, &mut lock) {
            failed += 1;
            terminal::tell(&format!(
                "error: {}: {}\n",
                terminal::printable(url),
                terminal::printable(&problem)
            ));
        }
    }
    if lock != before {
        let written = output::write_inside(&places.fence, &lock_path, lock.render().as_bytes());
        written.map_err(|e| format!("cannot write `{LOCK_PATH}`: {e}"))?;
    }
    Ok(failed == 0)
}

fn one(url: &str, update: bool, places: &Places, hosts: &Hosts, lock: &mut Lock) -> Result<(), String> {
    if !is_url(url) {
        return Err("it is a path, not an address".to_owned());
    }
    let path = places.locate(url, None).map_err(|e| e.to_string())?;
    if path.exists() && !update {
        let known = fence::read(&path, MAX_SPECIFICATION_BYTES).map_err(|e| e.to_string())?;
        lock.insert_if_new(url, &known, &today());
        return Ok(());
    }
    let start = Instant::now();
    let bytes = download::get(&canonical(url), hosts)?;
    output::write_inside(&places.fence, &path, &bytes).map_err(|e| cannot_write(&path, &e))?;
    lock.insert(url, &bytes, &today());
    terminal::done("Fetched", url, start);
    Ok(())
}

fn cannot_write(path: &Path, problem: &fence::Refused) -> String {
    format!("cannot write `{}`: {problem}", path.display())
}

/// Every address that the project cites or is configured with.
fn cited(project: &Project) -> Vec<String> {
    let analysis = analyse(project, &mut Store::default());
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
