//! Every rule is provoked once, and once kept.

use super::{Finding, findings};
use crate::tree::Tree;

/// A tree with one file more than a tidy crate, and what tidy says of it.
fn check(path: &str, text: &str, expect: &[&str]) {
    let tree = Tree::from([
        (path, text),
        ("docs/criteria.tsv", "id\tcriterion\n000 R1.1\tit works\n"),
        (".ci/steps/10-works", "# proves 000 R1.1\n"),
    ]);
    let said: Vec<String> = findings(&tree).iter().map(line).collect();
    assert_eq!(said, expect, "{path}: {text}");
}

fn line(finding: &Finding) -> String {
    format!("{}:{}: {}", finding.path, finding.line, finding.sentence)
}

fn manifest(dependencies: &str) -> String {
    format!("[package]\nname = \"x\"\n\n{dependencies}\n[lints]\nworkspace = true\n")
}

#[test]
fn an_arrow_that_points_back_is_found() {
    let backwards = manifest("[dependencies]\nserde.workspace = true\nspexus-store.workspace = true\n");
    let sentence = "spexus-domain must not use spexus-store: no arrow of ARCHITECTURE.md leads there";
    check(
        "crates/spexus-domain/Cargo.toml",
        &backwards,
        &[&format!("crates/spexus-domain/Cargo.toml:6: {sentence}")],
    );
    check("crates/spexus-http/Cargo.toml", &backwards, &[]);
}

#[test]
fn a_renamed_or_platform_dependency_is_still_an_arrow() {
    let sentence =
        "crates/refusal/Cargo.toml:5: refusal must not use duvet: no arrow of ARCHITECTURE.md leads there";
    let renamed = manifest("[dependencies]\nd = { package = \"duvet\", path = \"../duvet\" }\n");
    check("crates/refusal/Cargo.toml", &renamed, &[sentence]);
    let platform = manifest("[target.'cfg(unix)'.dependencies]\nduvet.workspace = true\n");
    check("crates/refusal/Cargo.toml", &platform, &[sentence]);
}

#[test]
fn test_support_is_for_tests_alone() {
    let tests = manifest("[dev-dependencies]\ntest-support.workspace = true\n");
    check("crates/spexus-store/Cargo.toml", &tests, &[]);
    let product = manifest("[dependencies]\ntest-support.workspace = true\n");
    let sentence = "spexus-store must not use test-support: no arrow of ARCHITECTURE.md leads there";
    check(
        "crates/spexus-store/Cargo.toml",
        &product,
        &[&format!("crates/spexus-store/Cargo.toml:5: {sentence}")],
    );
}

#[test]
fn a_crate_off_the_map_is_found() {
    let sentence = "crate new is not on the map: add it to the arrows in xtask/src/tidy/arrows.rs";
    check(
        "crates/new/Cargo.toml",
        &manifest(""),
        &[&format!("crates/new/Cargo.toml:1: {sentence}")],
    );
}

#[test]
fn libraries_have_one_home() {
    let sqlx = manifest("[dependencies]\nsqlx = { workspace = true }\n");
    check("crates/spexus-store/Cargo.toml", &sqlx, &[]);
    let away = "crates/duvet/Cargo.toml:5: sqlx belongs to spexus-store; ask it instead";
    check("crates/duvet/Cargo.toml", &sqlx, &[away]);
    check(
        "crates/duvet/Cargo.toml",
        &manifest("[dev-dependencies]\nsqlx = \"0.9\"\n"),
        &[away],
    );
    check(
        "crates/duvet/Cargo.toml",
        &manifest("[dev-dependencies]\naxum = \"0.8\"\n"),
        &[],
    );
    let axum = manifest("[dependencies]\naxum = \"0.8\"\n");
    check(
        "crates/duvet/Cargo.toml",
        &axum,
        &["crates/duvet/Cargo.toml:5: axum belongs to spexus-http; ask it instead"],
    );
}

#[test]
fn a_crate_without_the_workspaces_lints_is_found() {
    let expect = "crates/duvet/Cargo.toml:1: add `[lints] workspace = true`";
    check(
        "crates/duvet/Cargo.toml",
        "[package]\nname = \"duvet\"\n",
        &[expect],
    );
}

#[test]
fn a_crate_without_an_essay_is_found() {
    let tree = |essay: &str| {
        Tree::from([
            ("crates/duvet/Cargo.toml", &*manifest("")),
            ("crates/duvet/src/lib.rs", essay),
        ])
    };
    let said = findings(&tree("//! duvet\n"));
    assert_eq!(
        said.iter().map(line).collect::<Vec<_>>(),
        ["crates/duvet/src/lib.rs:1: say in 5 or more `//!` lines what this crate is for and what shaped it"]
    );
    assert_eq!(findings(&tree("//! 1\n//!\n//! 3\n//! 4\n//! 5\n")), []);
}

#[test]
fn the_world_is_touched_at_the_rim_only() {
    let inner = "crates/duvet/src/lib.rs";
    let env = "`std::env`: take it as a setting; only binaries read the environment";
    check(
        inner,
        "fn a() {\n    std::env::var(\"A\");\n}\n",
        &[&format!("{inner}:2: {env}")],
    );
    let print = "return it or use tracing; only binaries print";
    check(
        inner,
        "println!(\"a\");\n",
        &[&format!("{inner}:1: `println!`: {print}")],
    );
    check(
        inner,
        "eprintln!(\"a\");\n",
        &[&format!("{inner}:1: `eprintln!`: {print}")],
    );
    let exit = "`process::exit`: return an error; only binaries end the process";
    check(
        inner,
        "std::process::exit(1);\n",
        &[&format!("{inner}:1: {exit}")],
    );

    check(
        inner,
        "// println!\nlet a = \"println!\";\nlet b = env!(\"CARGO_PKG_VERSION\");\n",
        &[],
    );
    check(
        inner,
        "#[cfg(test)]\nmod tests {\n    fn a() { println!(\"a\") }\n}\n",
        &[],
    );
    for rim in [
        "crates/duvet/src/bin/duvet.rs",
        "crates/spexus/src/config.rs",
        "crates/duvet/tests/it.rs",
    ] {
        check(rim, "println!(\"a\");\n", &[]);
    }
}

#[test]
fn unfinished_work_is_found() {
    let file = "crates/duvet/src/a.rs";
    check(file, "todo!()\n", &[&format!("{file}:1: `todo!`: finish it")]);
    check(
        file,
        "unimplemented!()\n",
        &[&format!("{file}:1: `unimplemented!`: finish it")],
    );
    check(
        file,
        "#[allow(dead_code)]\n",
        &[&format!("{file}:1: `allow(dead_code`: remove what nobody calls")],
    );
    check(
        file,
        "#[ignore = \"slow\"]\n",
        &[&format!("{file}:1: `#[ignore`: mend the test or remove it")],
    );
    check(
        file,
        "// TODO later\n",
        &[&format!("{file}:1: `TODO`: do it or file an issue")],
    );
    check(
        file,
        "a(); // see FIXME(me)\n",
        &[&format!("{file}:1: `FIXME`: do it or file an issue")],
    );
    check(
        file,
        "/// Annotations of type TODO are counted.\nlet a = \"// TODO: b\";\n",
        &[],
    );
}

#[test]
fn rooms_without_a_name_are_found() {
    let sentence = "says nothing: name the file after what is in it";
    for (path, name) in [
        ("crates/duvet/src/utils.rs", "utils"),
        ("crates/duvet/tests/common/mod.rs", "common"),
    ] {
        check(path, "", &[&format!("{path}:1: `{name}` {sentence}")]);
    }
}

#[test]
fn long_files_are_found() {
    let sentence = "cut the file along its sense";
    let file = "crates/duvet/src/a.rs";
    check(
        file,
        &"a\n".repeat(701),
        &[&format!("{file}:701: 701 lines, 700 at most: {sentence}")],
    );
    check(file, &"a\n".repeat(700), &[]);
    let test = "crates/duvet/tests/it.rs";
    check(
        test,
        &"a\n".repeat(1201),
        &[&format!("{test}:1201: 1201 lines, 1200 at most: {sentence}")],
    );
    check(test, &"a\n".repeat(1200), &[]);
}

#[test]
fn words_about_one_machine_are_found() {
    let path = "is a path of one machine: name it relative to the repository";
    check(
        "README.md",
        "run `/work/main/x`\n",
        &[&format!("README.md:1: `/work/` {path}")],
    );
    check(
        "a.toml",
        "\na = \"/root/x\"\n",
        &[&format!("a.toml:2: `/root/` {path}")],
    );
    check(
        "README.md",
        "http://host/work/ and file:///root/a and $X/work/b\n",
        &[],
    );
    let host = "is a package registry's host: name packages, not hosts";
    check(
        "README.md",
        "from https://pypi.org/x\n",
        &[&format!("README.md:1: `pypi.org` {host}")],
    );
    check(
        "Cargo.lock",
        "source = \"registry+https://index.crates.io\"\n",
        &[],
    );
}

#[test]
fn a_mark_without_a_criterion_is_found() {
    let file = "crates/duvet/tests/it.rs";
    check(file, "// proves 000 R1.1\nfn a() {}\n", &[]);
    check(
        file,
        "// proves 000 R1.1, 000 R9.9\nfn a() {}\n",
        &[&format!("{file}:1: `000 R9.9` is not an id of docs/criteria.tsv")],
    );
}

#[test]
fn a_criterion_nobody_proves_is_found() {
    let tree = Tree::from([
        (
            "docs/criteria.tsv",
            "id\tcriterion\n000 R1.1\tit works\n000 R1.2\tand lasts\n",
        ),
        ("crates/duvet/tests/it.rs", "// proves 000 R1.1\nfn a() {}\n"),
    ]);
    let said: Vec<String> = findings(&tree).iter().map(line).collect();
    let sentence = "`000 R1.2` is proven by no test; mark one with `// proves 000 R1.2`";
    assert_eq!(said, [format!("docs/criteria.tsv:3: {sentence}")]);
}

/// A crate whose modules import each other in a ring, and one more that only imports.
fn ring(folder: &str, modules: usize) -> Tree {
    let file = |n: usize, text: String| (format!("{folder}/src/m{n}.rs"), text);
    let imports = |n: usize| format!("use crate::m{};\n", (n + 1) % modules);
    let mut files: Vec<_> = (0..modules).map(|n| file(n, imports(n))).collect();
    files.push(file(modules, "use crate::{m0, m1::Thing};\n".to_owned()));
    files.into_iter().collect()
}

fn cycles_of(tree: &Tree) -> Vec<String> {
    super::cycles::modules_import_one_way(tree)
        .iter()
        .map(line)
        .collect()
}

#[test]
fn more_than_five_modules_that_import_each_other_are_found() {
    assert!(cycles_of(&ring("crates/x", 5)).is_empty());
    let said = cycles_of(&ring("crates/x", 6));
    let sentence = "6 modules import each other, 5 at most: m0, m1, m2, m3, m4, m5";
    assert_eq!(said, [format!("crates/x/src/lib.rs:1: {sentence}")]);
}

#[test]
fn a_cycle_through_a_reexport_or_super_is_a_cycle_and_one_of_tests_is_none() {
    let tree = |last: &str| {
        let mut files: Vec<(String, String)> = (0..5)
            .map(|n| {
                (
                    format!("crates/x/src/m{n}.rs"),
                    format!("use crate::m{};\n", n + 1),
                )
            })
            .collect();
        files.push(("crates/x/src/m5.rs".to_owned(), String::new()));
        files.push(("crates/x/src/m5/inner.rs".to_owned(), last.to_owned()));
        files.push((
            "crates/x/src/lib.rs".to_owned(),
            "pub use m0::{Other, Thing};\n".to_owned(),
        ));
        files.into_iter().collect::<Tree>()
    };
    for last in [
        "use crate::Thing;\n",
        "use super::super::m0;\n",
        "fn f() { crate::m0::f() }\n",
    ] {
        assert_eq!(cycles_of(&tree(last)).len(), 1, "{last}");
    }
    for last in [
        "use super::m0;\n",
        "#[cfg(test)]\nmod tests {\n    use crate::m0;\n}\n",
        "use crate::m4x;\n",
    ] {
        assert_eq!(cycles_of(&tree(last)), [""; 0], "{last}");
    }
}

#[test]
fn the_largest_cycle_is_told_with_its_crate() {
    let largest = super::largest_import_cycle(&ring("crates/x", 7));
    assert_eq!(largest, (7, "x".to_owned()));
}

#[test]
fn a_word_that_means_too_much_is_found_where_it_names_something() {
    let file = "crates/mcp-server/src/a.rs";
    let sentence = "`Shelf` means too much; use the field's word: `ConnectionPool`, `InstallDir`";
    check(file, "struct Shelf;\n", &[&format!("{file}:1: {sentence}")]);
    check(
        file,
        "// struct Shelf\nstruct BookShelf;\nlet shelf = 1;\n#[cfg(test)]\nmod tests {\n    struct Shelf;\n}\n",
        &[],
    );
}

#[test]
fn two_public_types_with_one_name_are_found() {
    let tree = |second: &str| {
        Tree::from([
            ("crates/mcp-server/src/a.rs", "pub struct Ticket;\n"),
            ("crates/spexus-store/src/b.rs", second),
        ])
    };
    let said = |tree: &Tree| -> Vec<String> {
        let found = super::names::public_types_have_names_of_their_own(tree);
        found.iter().map(line).collect()
    };
    let sentence = "mcp-server and spexus-store both have a public type `Ticket`: rename one, or write the reason into xtask/src/tidy/names.rs";
    assert_eq!(
        said(&tree("\npub enum Ticket {}\n")),
        [format!("crates/spexus-store/src/b.rs:2: {sentence}")]
    );
    assert!(said(&tree("pub(crate) struct Ticket;\n")).is_empty());
    assert!(said(&tree("pub struct Tickets;\n")).is_empty());
}

#[test]
fn a_doc_that_says_nothing_is_found() {
    let file = "crates/mcp-server/src/a.rs";
    let sentence = "say what it is, the field's noun first, instead of \"See the module\"";
    check(
        file,
        "/// See the module.\npub struct A;\n",
        &[&format!("{file}:1: {sentence}")],
    );
    check(file, "/// A pool. See the module.\npub struct A;\n", &[]);
}

#[test]
fn the_product_in_a_general_crate_is_found() {
    let sentence = "this crate serves any product: let the product give the word as an option, or add it when it renders";
    let file = "crates/refusal/src/lib.rs";
    let essay = "//!\n".repeat(5);
    check(
        file,
        &format!("{essay}const HINT: &str = \"Run `spexus token`.\";\n"),
        &[&format!("{file}:6: {sentence}")],
    );
    check(file, &format!("{essay}//= specs/spexus.md#a\n"), &[]);
    check(
        "crates/spexus-http/src/a.rs",
        "const A: &str = \"spexus\";\n",
        &[],
    );
}

#[test]
fn a_command_that_goes_around_the_service_is_found() {
    let sentence = "call a use case of spexus-service instead of the store";
    let file = "crates/spexus/src/commands/item.rs";
    check(
        file,
        "use spexus_store::Store;\n",
        &[&format!("{file}:1: {sentence}")],
    );
    check(
        "crates/spexus/src/commands/backup.rs",
        "use spexus_store::Store;\n",
        &[],
    );
}

#[test]
fn a_picture_that_draws_another_arrow_or_lacks_one_is_found() {
    let said = |text: &str| -> Vec<String> {
        let tree = Tree::from([("ARCHITECTURE.md", text)]);
        super::arrows::the_picture_is_true(&tree)
            .iter()
            .map(line)
            .collect()
    };
    let wrong = said("refusal ─► duvet\n");
    let sentence = "refusal does not point to duvet: correct the picture or xtask/src/tidy/arrows.rs";
    assert_eq!(wrong[0], format!("ARCHITECTURE.md:1: {sentence}"));
    let lacking = said(
        "spexus-http ─► spexus-mcp ─► spexus-service   spexus-store ─► spexus-domain\nsession ─► task\n",
    );
    assert!(lacking.contains(&"ARCHITECTURE.md:1: draw the arrow spexus-service ─► spexus-store".to_owned()));
    for drawn in [
        "spexus-http ─► spexus-mcp",
        "spexus-mcp ─► spexus-service",
        "spexus-store ─► spexus-domain",
    ] {
        assert!(!lacking.iter().any(|said| said.ends_with(drawn)), "{drawn}");
    }
}

#[test]
fn a_file_the_map_names_and_nobody_has_is_found() {
    let tree = Tree::from([
        (
            "ARCHITECTURE.md",
            "`spexus-http/server.rs` and\n`spexus-http/gone.rs`, `server.rs`, `xtask/src/tidy.rs`\n",
        ),
        ("crates/spexus-http/src/server.rs", ""),
        ("xtask/src/tidy.rs", ""),
    ]);
    let said: Vec<String> = super::text::the_map_leads_somewhere(&tree)
        .iter()
        .map(line)
        .collect();
    let sentence =
        |name: &str| format!("there is no `{name}`: name the file as `crate/file.rs`, where it is now");
    assert_eq!(
        said,
        ["spexus-http/gone.rs", "server.rs"].map(|name| format!("ARCHITECTURE.md:2: {}", sentence(name)))
    );
}

#[test]
fn a_finding_closed_by_a_file_or_test_that_is_gone_is_found() {
    let tree = Tree::from([
        (
            "docs/security.md",
            "| a | duvet/src/fence.rs (file_stem), gone.rs | duvet/tests/it/fence.rs::held, ::gone_too, ::moved |\n",
        ),
        ("crates/duvet/src/fence.rs", ""),
        ("crates/duvet/tests/it/fence.rs", "fn held() {}\n"),
        ("crates/duvet/tests/it/other.rs", "fn moved() {}\n"),
    ]);
    let said: Vec<String> = super::text::findings_are_closed_somewhere(&tree)
        .iter()
        .map(line)
        .collect();
    assert_eq!(
        said,
        [
            "docs/security.md:1: there is no file `gone.rs`: name the one that closes the finding now",
            "docs/security.md:1: there is no test `gone_too` in `duvet/tests/it/fence.rs`: name the one that proves the finding closed",
            "docs/security.md:1: there is no test `moved` in `duvet/tests/it/fence.rs`: name the one that proves the finding closed",
        ]
    );
}

#[test]
fn writes_go_through_the_service() {
    let sentence =
        "a write through the store: use `Service::change`, or join the list in xtask/src/tidy/writes.rs";
    let place = "crates/spexus-service/src/item/update.rs";
    for (text, line) in [
        ("fn f() { service.store.write(actor, work) }\n", 1),
        ("fn f() {\n    store\n        .write_long(actor, work)\n}\n", 3),
        ("fn f() { service.store().together(actor, true, work) }\n", 1),
    ] {
        check(place, text, &[&format!("{place}:{line}: {sentence}")]);
        check("crates/spexus-service/src/setup.rs", text, &[]);
        check("crates/spexus-store/src/sweep.rs", text, &[]);
    }
    let unasked = "fn f() { service.write_as(actor, work) }\n";
    let sentence =
        "a write without a right: use `Service::change`, or join the list in xtask/src/tidy/writes.rs";
    check(place, unasked, &[&format!("{place}:1: {sentence}")]);
    check("crates/spexus-service/src/consent.rs", unasked, &[]);
    for text in [
        "fn f() { service.change(caller, operation, None, work) }\n",
        "fn f() { service.together(caller, true, work) }\n",
        "fn f() { restore.write(out) }\n",
        "#[cfg(test)]\nmod tests {\n    fn f() { store.write(actor, work) }\n}\n",
    ] {
        check(place, text, &[]);
    }
}

#[test]
fn a_revision_that_is_compared_elsewhere_is_found() {
    let code = "fn primed(version: Version) -> bool {\n    version >= Version::V2025_11_25\n}\n";
    let sentence = "`Version::V20`: ask the version by a method named after what differs";
    let said = |path: &str| format!("{path}:2: {sentence}");
    for path in [
        "crates/mcp-server/src/session/stream.rs",
        "crates/spexus-bridge/src/answer.rs",
    ] {
        check(path, code, &[&said(path)]);
    }
    for path in [
        "crates/mcp-protocol/src/version.rs",
        "crates/mcp-server/tests/it/http.rs",
    ] {
        check(path, code, &[]);
    }
}
