//! Every refusal this crate gives is provoked somewhere: this list and the tests are held against each other.

/// What the runtime itself can refuse with. Others of the table belong to those who build on it.
const GIVEN: &[(u16, &str)] = &[
    (1001, "limits"),
    (1002, "limits"),
    (1005, "limits"),
    (1014, "guard"),
    (1016, "sessions"),
    (1021, "schema"),
    (1022, "schema"),
    (1023, "uri"),
    (1024, "http"),
    (1025, "http"),
    (1026, "http"),
    (1027, "lifecycle"),
    (1028, "fields"),
    (1029, "fields"),
    (1036, "uri"),
    (1037, "uri"),
    (1038, "uri"),
    (1039, "uri"),
    (1040, "uri"),
    (1046, "resources"),
    (1047, "registry"),
    (1048, "tools"),
    (1049, "registry"),
    (1050, "prompts"),
    (1051, "registry"),
    (1057, "rate"),
    (1059, "resources"),
    (1060, "limits"),
    (1066, "messages"),
    (1067, "pending"),
    (1068, "limits"),
    (1069, "tools"),
    (1070, "lines"),
    (1071, "http"),
    (1076, "lifecycle"),
    (1077, "shutdown"),
    (1079, "tools"),
    (1080, "pending"),
    (1086, "breaker"),
    (1089, "sessions"),
];

/// All Rust text below a folder of this crate.
fn sources(folder: &str) -> String {
    let mut text = String::new();
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                None => folders.push(path),
                Some(_) if path.ends_with("refusals.rs") => {}
                Some(_) => text.push_str(&std::fs::read_to_string(path).unwrap()),
            }
        }
    }
    text
}

// proves 002 Resil-003
#[test]
fn every_refusal_given_by_the_code_is_in_the_list_and_provoked_by_a_test() {
    let source = sources("src");
    let tests = format!(
        "{}{}",
        sources("tests"),
        source.split("#[cfg(test)]").skip(1).collect::<String>()
    );
    for code in refusal::Code::ALL {
        let used = source.contains(&format!("Code::{code:?}"));
        let listed = GIVEN.iter().any(|(number, _)| *number == code.number());
        assert_eq!(used, listed, "{} {}", code.number(), code.name());
        if listed {
            let provoked =
                tests.contains(&code.number().to_string()) || tests.contains(&format!("Code::{code:?}"));
            assert!(provoked, "no test provokes {} {}", code.number(), code.name());
        }
    }
}
