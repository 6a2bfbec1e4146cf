//! The packages that are linked into the programs: who they are, what their licences say, and what the lock file knows of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::said;

/// What files with a licence begin with.
const LICENCE_FILES: [&str; 6] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
];

/// A package that is linked in.
struct Package {
    name: String,
    version: String,
    licence: String,
    description: String,
    folder: String,
    /// Whether it is our own.
    own: bool,
    /// The packages it uses, by name and version.
    uses: BTreeSet<(String, String)>,
}

/// All packages that are linked into some programs.
pub(super) struct Linked {
    /// What it is built for.
    pub(super) target: String,
    packages: BTreeMap<(String, String), Package>,
    /// The sums of the lock file.
    sums: BTreeMap<(String, String), String>,
}

impl Linked {
    /// What cargo says of the programs; tools for building and testing are not linked in.
    pub(super) fn read(root: &Path, programs: &[&str]) -> Result<Self> {
        let version = said(Command::new("rustc").arg("-vV"))?;
        let target = version.lines().find_map(|line| line.strip_prefix("host: "));
        let target = target
            .context("rustc does not say what it builds for")?
            .to_owned();
        let mut cargo = Command::new("cargo");
        cargo.current_dir(root).args([
            "metadata",
            "--locked",
            "--format-version=1",
            "--filter-platform",
            &target,
        ]);
        let metadata: Value = serde_json::from_str(&said(&mut cargo)?)?;
        let lock = fs::read_to_string(root.join("Cargo.lock"))?;
        Ok(Self {
            target,
            packages: linked(&metadata, programs),
            sums: sums(&lock),
        })
    }

    /// The version of a program.
    pub(super) fn version(&self, name: &str) -> Result<&str> {
        let found = self
            .packages
            .values()
            .find(|package| package.name == name && package.own);
        Ok(&found.with_context(|| format!("{name} is no package"))?.version)
    }

    /// The texts of all licences, each once, with the packages it is of.
    pub(super) fn licences(&self) -> Result<String> {
        let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut page = String::from("Spexus holds code of others. Who, and under which licence:\n\n");
        for package in self.packages.values().filter(|package| !package.own) {
            let named = format!("{} {}", package.name, package.version);
            page.push_str(&format!("  {named}: {}\n", package.licence));
            for text in texts_of(Path::new(&package.folder))? {
                texts.entry(text).or_default().insert(named.clone());
            }
        }
        for (text, of) in &texts {
            let of: Vec<&str> = of.iter().map(String::as_str).collect();
            page.push_str(&format!(
                "\n{}\n{}:\n\n{}\n",
                "-".repeat(80),
                of.join(", "),
                text.trim_end()
            ));
        }
        Ok(page)
    }

    /// The bill of materials in CycloneDX 1.6.
    pub(super) fn bill_of_materials(&self, program: &str) -> Result<String> {
        let reference = |package: &Package| format!("pkg:cargo/{}@{}", package.name, package.version);
        let component = |package: &Package, kind: &str| {
            let mut component = json!({
                "type": kind,
                "bom-ref": reference(package),
                "name": package.name,
                "version": package.version,
                "description": package.description,
                "licenses": [{"expression": package.licence}],
                "purl": reference(package),
            });
            let key = (package.name.clone(), package.version.clone());
            if let Some(sum) = self.sums.get(&key) {
                component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
            }
            component
        };
        let of_program = self
            .packages
            .values()
            .find(|package| package.name == program && package.own);
        let of_program = of_program.with_context(|| format!("{program} is no package"))?;
        let others = self.packages.values().filter(|package| package.name != program);
        let dependencies = self.packages.values().map(|package| {
            let uses = package.uses.iter().filter_map(|key| self.packages.get(key));
            json!({"ref": reference(package), "dependsOn": uses.map(reference).collect::<Vec<_>>()})
        });
        let bill = json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": {"component": component(of_program, "application")},
            "components": others.map(|package| component(package, "library")).collect::<Vec<_>>(),
            "dependencies": dependencies.collect::<Vec<_>>(),
        });
        Ok(format!("{}\n", serde_json::to_string_pretty(&bill)?))
    }
}

/// Walks from the programs to everything that is linked into them.
fn linked(metadata: &Value, programs: &[&str]) -> BTreeMap<(String, String), Package> {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let known: BTreeMap<String, Value> = list(metadata, "packages")
        .into_iter()
        .map(|package| (text(&package["id"]), package))
        .collect();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"], "nodes")
        .into_iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let own = |package: &Value| package["source"].is_null();
    let mut waiting: Vec<String> = known
        .values()
        .filter(|package| own(package) && programs.contains(&text(&package["name"]).as_str()))
        .map(|package| text(&package["id"]))
        .collect();
    let mut found = BTreeMap::new();
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        let (Some(package), true) = (known.get(&id), seen.insert(id.clone())) else {
            continue;
        };
        let node = nodes.get(&id).cloned().unwrap_or_default();
        let used: Vec<String> = list(&node, "deps")
            .iter()
            .filter(|dep| is_linked(dep))
            .map(|dep| text(&dep["pkg"]))
            .collect();
        let key = |id: &String| {
            known
                .get(id)
                .map(|package| (text(&package["name"]), text(&package["version"])))
        };
        let manifest = text(&package["manifest_path"]);
        let made = Package {
            name: text(&package["name"]),
            version: text(&package["version"]),
            // An older form of "or".
            licence: text(&package["license"]).replace('/', " OR "),
            description: text(&package["description"]).trim().replace('\n', " "),
            folder: Path::new(&manifest)
                .parent()
                .unwrap_or(Path::new(""))
                .display()
                .to_string(),
            own: own(package),
            uses: used.iter().filter_map(key).collect(),
        };
        found.insert((made.name.clone(), made.version.clone()), made);
        waiting.extend(used);
    }
    found
}

/// Whether a use ends up in the program, and does not only help to build or test it.
fn is_linked(dependency: &Value) -> bool {
    let kinds = dependency["dep_kinds"].as_array();
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The sums of a lock file by name and version.
fn sums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |block: &str, name: &str| {
        let line = block
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
        line.map(|rest| rest.trim_end_matches('"').to_owned())
    };
    let blocks = lock.split("[[package]]").skip(1);
    blocks
        .filter_map(|block| {
            Some((
                (value(block, "name")?, value(block, "version")?),
                value(block, "checksum")?,
            ))
        })
        .collect()
}

/// The texts of licences in the folder of a package.
fn texts_of(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    for file in files {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_uppercase();
        if file.is_file() && LICENCE_FILES.iter().any(|begins| name.starts_with(begins)) {
            texts.push(String::from_utf8_lossy(&fs::read(&file)?).replace("\r\n", "\n"));
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_linked_is_listed() {
        let package = |id: &str, source: Value| json!({"id": id, "name": id, "version": "1.0.0", "source": source, "license": "MIT/Apache-2.0", "manifest_path": format!("/x/{id}/Cargo.toml")});
        let from = json!("registry");
        let metadata = json!({
            "packages": [package("spexus", Value::Null), package("used", from.clone()), package("deep", from.clone()), package("tool", from.clone()), package("other", from)],
            "resolve": {"nodes": [
                {"id": "spexus", "deps": [
                    {"pkg": "used", "dep_kinds": [{"kind": null}, {"kind": "dev"}]},
                    {"pkg": "tool", "dep_kinds": [{"kind": "build"}]},
                    {"pkg": "other", "dep_kinds": [{"kind": "dev"}]},
                ]},
                {"id": "used", "deps": [{"pkg": "deep", "dep_kinds": [{"kind": null}]}]},
                {"id": "deep", "deps": [{"pkg": "used", "dep_kinds": [{"kind": null}]}]},
            ]},
        });
        let found = linked(&metadata, &["spexus"]);
        let names: Vec<&str> = found.keys().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["deep", "spexus", "used"]);
        let used = &found[&("used".to_owned(), "1.0.0".to_owned())];
        assert_eq!(
            (used.licence.as_str(), used.uses.len(), used.own),
            ("MIT OR Apache-2.0", 1, false)
        );
    }

    #[test]
    fn sums_are_read_where_there_are_any() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.2.3\"\nchecksum = \"ff\"\n\n[[package]]\nname = \"own\"\nversion = \"1.0.0\"\ndependencies = [\n \"a\",\n]\n";
        let sums = sums(lock);
        assert_eq!(sums.len(), 1);
        assert_eq!(sums[&("a".to_owned(), "1.2.3".to_owned())], "ff");
    }
}
