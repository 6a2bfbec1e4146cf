//! `duvet fetch`

use crate::arguments::Fetch;
use crate::{project, terminal};
use duvet::analysis::{Project, analyse};
use duvet::library::{LOCK_PATH, Lock, MAX_SPECIFICATION_BYTES};
use duvet::store::Store;
use duvet::target::{canonical, is_url, storage_path};
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

const TIMEOUT_SECONDS: u64 = 30;

pub(crate) fn run(flags: &Fetch) -> Result<bool, String> {
    let loaded = project::load(&flags.project, false)?;
    let config = &loaded.project.config;
    let (mut lock, faults) = Lock::parse(&std::fs::read_to_string(LOCK_PATH).unwrap_or_default());
    faults
        .iter()
        .for_each(|fault| eprintln!("warning: {LOCK_PATH}:{}: {}", fault.start.line, fault.message));
    let urls = if flags.urls.is_empty() {
        cited(&loaded.project)
    } else {
        flags.urls.clone()
    };
    let mut failed = 0;
    for url in &urls {
        let path = config.downloads.join(storage_path(url));
        if path.exists() && !flags.update {
            lock.insert_if_new(url, &std::fs::read(&path).unwrap_or_default(), &today());
            continue;
        }
        let start = Instant::now();
        match get(&canonical(url)) {
            Ok(bytes) => {
                terminal::write(&path, &bytes, true)?;
                lock.insert(url, &bytes, &today());
                terminal::done("Fetched", url, start);
            }
            Err(problem) => {
                failed += 1;
                eprintln!("error: {url}: {problem}");
            }
        }
    }
    terminal::write(Path::new(LOCK_PATH), lock.render().as_bytes(), true)?;
    Ok(failed == 0)
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

fn get(url: &str) -> Result<Vec<u8>, String> {
    // The one crypto provider of the workspace; a second caller finds it installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::blocking::Client::builder()
        .timeout(Duration::from_secs(TIMEOUT_SECONDS))
        .build()
        .map_err(|error| error.to_string())?;
    let answer = client
        .get(url)
        .send()
        .and_then(reqwest::blocking::Response::error_for_status);
    let mut bytes = Vec::new();
    let mut body = answer
        .map_err(|error| error.to_string())?
        .take(MAX_SPECIFICATION_BYTES + 1);
    body.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_SPECIFICATION_BYTES {
        return Err(format!("the text is over {MAX_SPECIFICATION_BYTES} bytes"));
    }
    Ok(bytes)
}

fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}
