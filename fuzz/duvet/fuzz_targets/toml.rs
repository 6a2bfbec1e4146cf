//! Any text as a requirement file, as a configuration and as a lock file.
#![no_main]

use duvet::citation::toml;
use duvet::library::Lock;
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|text: &str| {
    let name: Arc<str> = "fuzz".into();
    let _ = toml::extract(&name, text);
    let _ = duvet::config::parse("fuzz", text, &|_| None);
    let _ = Lock::parse(text);
});
