//! Any text as a requirement file, as a configuration and as a lock file.
#![no_main]

use duvet::citation::toml;
use duvet::lockfile::LockFile;
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|text: &str| {
    let name: Arc<str> = "fuzz".into();
    // The reader of the plain shape and the parser of any TOML agree.
    assert_eq!(toml::extract(&name, text), toml::extract_any(&name, text));
    let _ = duvet::config::parse("fuzz", text, &|_| None);
    let _ = LockFile::parse(text);
});
