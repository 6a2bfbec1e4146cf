use super::*;

/// A folder with `open/a`, `open/b`, `open/a/inner` and `shut`, and a set that has `shut` and allows `open`.
fn set() -> (tempfile::TempDir, PathBuf, RootSet) {
    let scratch = tempfile::tempdir().unwrap();
    let base = scratch.path().canonicalize().unwrap();
    for folder in ["open/a/inner", "open/b c", "shut"] {
        std::fs::create_dir_all(base.join(folder)).unwrap();
    }
    std::fs::write(base.join("open/file"), "x").unwrap();
    let set = RootSet::new(&[base.join("shut")], &[base.join("open")]).unwrap();
    (scratch, base, set)
}

fn at(base: &Path, path: &str) -> Root {
    Root::new(format!("file://{}/{path}", base.display()))
}

// proves 002 Req-Root-003
//= specs/mcp-server.md#roots
//= type=test
//# A root MUST be refused that is not the address of a folder that exists, lies outside the folders the operator allows, or is, contains or lies in another root.
#[test]
fn only_a_new_folder_inside_what_is_allowed_becomes_a_root() {
    let (_scratch, base, set) = set();
    let code = |root: &Root| set.add(root).unwrap_err().code;
    assert_eq!(code(&Root::new("https://example.org/a")), Code::InvalidUri);
    assert_eq!(code(&Root::new("no address")), Code::InvalidUri);
    assert_eq!(code(&at(&base, "open/../shut")), Code::PathTraversalDetected);
    assert_eq!(code(&at(&base, "open/never")), Code::PathInvalid);
    assert_eq!(code(&at(&base, "open/file")), Code::PathInvalid);
    assert_eq!(code(&at(&base, "shut")), Code::UriOutOfBounds);
    assert_eq!(code(&at(&base, "openly")), Code::UriOutOfBounds);
    let added = set.add(&at(&base, "open/a/")).unwrap();
    assert_eq!((added.name.as_deref(), added.managed), (Some("a"), false));
    assert_eq!(code(&at(&base, "open/a")), Code::ResourceDuplicate);
    assert_eq!(code(&at(&base, "open/a/inner")), Code::RuleViolated);
    assert_eq!(code(&at(&base, "open")), Code::RuleViolated);
    let named = Root {
        name: Some("two\nlines".to_owned()),
        ..at(&base, "open/b%20c")
    };
    assert_eq!(code(&named), Code::InvalidParams);
    assert!(
        set.add(&at(&base, "open/b%20c"))
            .unwrap()
            .uri
            .ends_with("/open/b%20c")
    );
    assert_eq!(set.list().len(), 3);
}

#[cfg(unix)]
#[test]
fn a_link_is_no_way_to_a_root_elsewhere() {
    let (_scratch, base, set) = set();
    std::os::unix::fs::symlink(base.join("shut"), base.join("open/link")).unwrap();
    assert_eq!(
        set.add(&at(&base, "open/link")).unwrap_err().code,
        Code::SymlinkTraversalDetected
    );
    // A root whose folder later becomes a link leads nowhere either.
    set.add(&at(&base, "open/a")).unwrap();
    std::fs::write(base.join("shut/secret.md"), "x").unwrap();
    std::fs::remove_dir_all(base.join("open/a")).unwrap();
    std::os::unix::fs::symlink(base.join("shut"), base.join("open/a")).unwrap();
    set.restore(vec![set.removable(&at(&base, "open/a").uri).unwrap()]);
    let set_without_shut = RootSet::new(&[], &[base.join("open")]).unwrap();
    set_without_shut.restore(vec![at(&base, "open/a")]);
    let found = set_without_shut
        .folders()
        .resolve(&at(&base, "open/a/secret.md").uri);
    assert_eq!(found.unwrap_err().code, Code::SymlinkTraversalDetected);
}

// proves 002 Req-Root-004
//= specs/mcp-server.md#roots
//= type=test
//# A root the operator configured MUST NOT be removed by a client.
#[test]
fn what_was_added_can_be_removed_and_what_was_configured_cannot() {
    let (_scratch, base, set) = set();
    let added = set.add(&at(&base, "open/a")).unwrap();
    assert_eq!(
        set.removable(&at(&base, "shut").uri).unwrap_err().code,
        Code::AuthzForbidden
    );
    assert_eq!(
        set.removable(&at(&base, "open/b").uri).unwrap_err().code,
        Code::ResourceNotFound
    );
    assert_eq!(set.removable(&format!("{}/", added.uri)).unwrap(), added);
    assert!(set.remove(&added.uri) && !set.remove(&added.uri));
    assert_eq!(set.list().len(), 1);
}

#[test]
fn roots_come_back_unless_the_operator_took_the_permission_away() {
    let (_scratch, base, set) = set();
    let kept = vec![
        at(&base, "open/gone"),
        at(&base, "open/a"),
        at(&base, "elsewhere"),
    ];
    let (changed, refused) = set.restore(kept.clone());
    assert!(changed && !set.restore(kept).0);
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].1.code, Code::UriOutOfBounds);
    assert_eq!(set.list().len(), 3);
    // A folder that is gone holds nothing until it is back.
    let file = at(&base, "open/gone/x.md").uri;
    assert_eq!(
        set.folders().resolve(&file).unwrap_err().code,
        Code::ResourceNotFound
    );
    std::fs::create_dir(base.join("open/gone")).unwrap();
    std::fs::write(base.join("open/gone/x.md"), "x").unwrap();
    assert!(set.folders().resolve(&file).is_ok());
}

#[test]
fn a_configured_folder_must_exist() {
    let missing = RootSet::new(&[PathBuf::from("/never/there")], &[]).unwrap_err();
    assert_eq!(missing.code, Code::PathInvalid);
    assert!(!RootSet::new(&[], &[]).unwrap().is_open());
}
