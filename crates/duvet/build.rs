//! Names the build: two builds of one version that differ in a line of code must not believe each other's cache. And says
//! by which hashes a browser knows the script and the style of the HTML report.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::path::Path;

#[path = "build/build_name.rs"]
mod build_name;

fn main() {
    for place in build_name::MADE_OF {
        println!("cargo::rerun-if-changed={place}");
    }
    let name = build_name::build_name(Path::new("."));
    println!("cargo::rustc-env=DUVET_BUILD={name}");
    println!("cargo::rustc-env=DUVET_PAGE_POLICY={}", page_policy());
}

/// What the HTML report allows itself: its own script and its own style, known by their hashes, and nothing else.
fn page_policy() -> String {
    let [script, style] = ["assets/report.js", "assets/report.css"].map(|file| {
        let digest = Sha256::digest(std::fs::read(file).unwrap_or_default());
        format!("'sha256-{}'", STANDARD.encode(digest))
    });
    format!(
        "default-src 'none'; script-src {script}; style-src {style}; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types"
    )
}
