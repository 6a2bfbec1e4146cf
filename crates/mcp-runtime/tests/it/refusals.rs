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

/// The Rust files below a folder of this crate.
fn files(folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                None => folders.push(path),
                Some(_) if path.ends_with("refusals.rs") => {}
                Some(_) => files.push(std::fs::read_to_string(path).unwrap()),
            }
        }
    }
    files
}

// proves 002 Resil-003
#[test]
fn every_refusal_given_by_the_code_is_in_the_list_and_provoked_by_a_test() {
    let (mut source, mut tests) = (String::new(), files("tests").concat());
    for file in files("src") {
        let (code, own_tests) = file.split_once("#[cfg(test)]").unwrap_or((&file, ""));
        source.push_str(code);
        tests.push_str(own_tests);
    }
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
