//! Which crate may use which, and which library lives where.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::Finding;
use crate::tree::Tree;

/// The arrows of ARCHITECTURE.md. A crate may use what its arrows reach, at any distance.
const ARROWS: &[(&str, &[&str])] = &[
    ("spexus", &["spexus-web", "spexus-bridge", "mcp-apps"]),
    ("spexus-web", &["spexus-http"]),
    ("spexus-http", &["spexus-mcp"]),
    ("spexus-mcp", &["spexus-complete"]),
    ("spexus-complete", &["spexus-service", "mcp-server", "mcp-client"]),
    (
        "spexus-service",
        &["spexus-store", "duvet", "test-reports", "spexus-lint", "exchange"],
    ),
    ("spexus-lint", &[]),
    ("exchange", &[]),
    ("spexus-store", &["spexus-domain"]),
    ("spexus-domain", &["refusal"]),
    ("spexus-bridge", &["mcp-server", "mcp-client"]),
    ("mcp-apps", &["mcp-server", "mcp-client"]),
    ("duvet", &["mcp-server"]),
    ("mcp-server", &["mcp-protocol"]),
    ("mcp-client", &["mcp-protocol"]),
    ("mcp-protocol", &["refusal"]),
    ("refusal", &[]),
    ("test-reports", &[]),
    // Tests of Rust projects use it, none of ours needs it to be built.
    ("spexus-verifies", &[]),
    ("test-support", &["spexus-service"]),
    // Chores and benchmarks stand outside and may look at everything.
    ("xtask", &["spexus", "duvet", "test-support"]),
];

/// Crates that stand outside of the product and of its picture.
const OUTSIDE: [&str; 2] = ["test-support", "xtask"];

/// Libraries that only one crate knows. Chores are outside of the product and may compare us with the bare library.
const HOMES: &[Home] = &[
    Home {
        library: "sqlx",
        crates: &["spexus-store", "xtask"],
        tests_of: Some(&["spexus-store", "test-support"]),
    },
    Home {
        library: "rusqlite",
        crates: &["spexus-store", "xtask"],
        tests_of: Some(&["spexus-store"]),
    },
    Home {
        library: "hyper-rustls",
        crates: &["mcp-client"],
        tests_of: None,
    },
    Home {
        library: "ureq",
        crates: &["duvet"],
        tests_of: None,
    },
    Home {
        library: "reqwest",
        crates: &["test-support"],
        tests_of: None,
    },
    Home {
        library: "rmcp",
        crates: &[],
        tests_of: None,
    },
    Home {
        library: "axum",
        crates: &["spexus-http", "spexus-web", "xtask"],
        tests_of: None,
    },
];

struct Home {
    library: &'static str,
    crates: &'static [&'static str],
    /// Whose tests may use it beside its home; `None` for every crate's.
    tests_of: Option<&'static [&'static str]>,
}

pub(super) fn crates_point_one_way(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.manifests() {
        let name = crate_name(path);
        let Some(allowed) = reach(name) else {
            let sentence =
                format!("crate {name} is not on the map: add it to the arrows in xtask/src/tidy/arrows.rs");
            findings.push(Finding::new(path, 1, sentence));
            continue;
        };
        for used in dependencies(text) {
            let ours = ARROWS.iter().any(|(name, _)| *name == used.name);
            let by_tests = used.in_tests && used.name == "test-support";
            if ours && !by_tests && !allowed.contains(used.name.as_str()) {
                let sentence = format!(
                    "{name} must not use {}: no arrow of ARCHITECTURE.md leads there",
                    used.name
                );
                findings.push(Finding::new(path, used.line, sentence));
            }
        }
    }
    findings
}

/// The picture in ARCHITECTURE.md has every arrow, and no other.
pub(super) fn the_picture_is_true(tree: &Tree) -> Vec<Finding> {
    const PICTURE: &str = "ARCHITECTURE.md";
    let Some(text) = tree.file(PICTURE) else {
        return Vec::new();
    };
    let product = ARROWS.iter().filter(|(from, _)| !OUTSIDE.contains(from));
    let real: BTreeSet<(&str, &str)> = product
        .flat_map(|(from, to)| to.iter().map(|to| (*from, *to)))
        .collect();
    let mut drawn = BTreeSet::new();
    let mut findings = Vec::new();
    for (line, text) in text.lines().enumerate() {
        for (from, to) in drawn_arrows(text) {
            drawn.insert((from, to));
            if !real.contains(&(from, to)) {
                let sentence =
                    format!("{from} does not point to {to}: correct the picture or xtask/src/tidy/arrows.rs");
                findings.push(Finding::new(PICTURE, line + 1, sentence));
            }
        }
    }
    for (from, to) in real.difference(&drawn) {
        findings.push(Finding::new(PICTURE, 1, format!("draw the arrow {from} ─► {to}")));
    }
    findings
}

/// The arrows between crates on one line: `a ─► b ─► c    d ─► e`. Rooms of one crate are none.
fn drawn_arrows(line: &str) -> Vec<(&str, &str)> {
    let is_crate = |name: &&str| ARROWS.iter().any(|(known, _)| known == name);
    let chains = line
        .split("  ")
        .map(|chain| chain.split("─►").map(str::trim).collect::<Vec<_>>());
    chains
        .flat_map(|chain| {
            let pairs = chain.windows(2).map(|pair| (pair[0], pair[1]));
            let crates = pairs.filter(|(from, to)| is_crate(from) && is_crate(to));
            crates.collect::<Vec<_>>()
        })
        .collect()
}

pub(super) fn libraries_stay_at_home(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.manifests() {
        let name = crate_name(path);
        for used in dependencies(text) {
            let Some(home) = HOMES.iter().find(|home| home.library == used.name) else {
                continue;
            };
            let fine = match (used.in_tests, home.tests_of) {
                (true, Some(crates)) => crates.contains(&name),
                (true, None) => true,
                (false, _) => home.crates.contains(&name),
            };
            if !fine {
                let owner = home.crates.first().copied().unwrap_or("tests");
                let sentence = format!("{} belongs to {owner}; ask it instead", home.library);
                findings.push(Finding::new(path, used.line, sentence));
            }
        }
    }
    findings
}

/// Everything the arrows of a crate lead to; `None` for a crate without a row.
fn reach(name: &str) -> Option<BTreeSet<&'static str>> {
    let row = |name: &str| ARROWS.iter().find(|(from, _)| *from == name).map(|(_, to)| *to);
    let mut reached = BTreeSet::new();
    let mut next = row(name)?.to_vec();
    while let Some(name) = next.pop() {
        if reached.insert(name) {
            next.extend(row(name).unwrap_or_default());
        }
    }
    Some(reached)
}

fn crate_name(manifest: &str) -> &str {
    manifest
        .trim_end_matches("/Cargo.toml")
        .rsplit('/')
        .next()
        .unwrap_or(manifest)
}

struct Used {
    name: String,
    in_tests: bool,
    line: usize,
}

/// Every dependency a manifest names, also those of one platform only.
fn dependencies(text: &str) -> Vec<Used> {
    let manifest: Table = text.parse().unwrap_or_default();
    let platforms = manifest
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flat_map(Table::values);
    let places = platforms.filter_map(Value::as_table).chain([&manifest]);
    places.flat_map(|place| sections(place, text)).collect()
}

fn sections(place: &Table, text: &str) -> Vec<Used> {
    let mut found = Vec::new();
    for section in ["dependencies", "build-dependencies", "dev-dependencies"] {
        let in_tests = section == "dev-dependencies";
        for (key, value) in place.get(section).and_then(Value::as_table).into_iter().flatten() {
            let renamed = value.get("package").and_then(Value::as_str);
            let name = renamed.unwrap_or(key).to_owned();
            found.push(Used {
                name,
                in_tests,
                line: line_of(text, section, key),
            });
        }
    }
    found
}

/// The line of a key below the heading of its section, from 1.
fn line_of(text: &str, section: &str, key: &str) -> usize {
    let mut inside = false;
    for (line, text) in text.lines().enumerate() {
        if text.starts_with('[') {
            let heading = text.trim_matches(['[', ']']);
            inside = heading.ends_with(section) && !(section == "dependencies" && heading.contains("-dep"));
            inside |= heading.ends_with(&format!("{section}.{key}"));
        }
        let is_key = text
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
        if inside && (is_key || text.contains(&format!(".{key}]"))) {
            return line + 1;
        }
    }
    1
}
