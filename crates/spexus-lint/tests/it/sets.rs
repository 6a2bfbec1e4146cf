//! What only a set of texts shows.

use spexus_lint::{Options, SetEntry, check_set};

#[track_caller]
fn check(texts: &[&str], expect: &[(&str, &str, &str)]) {
    let ids: Vec<String> = (1..=texts.len()).map(|number| number.to_string()).collect();
    let entries: Vec<SetEntry<'_>> = ids
        .iter()
        .zip(texts)
        .map(|(id, text)| SetEntry { id, text })
        .collect();
    let found = check_set(&entries, &Options::default());
    let found: Vec<_> = found
        .iter()
        .map(|finding| (finding.name, finding.first.as_str(), finding.second.as_str()))
        .collect();
    assert_eq!(found, expect);
}

#[test]
fn two_numbers_for_one_thing_contradict_each_other() {
    check(
        &[
            "When a probe arrives, the server shall answer within 2 s.",
            "The server shall answer each probe within 3 s.",
            "When a probe arrives, the server shall answer within 3 seconds.",
            "While it starts, the server shall answer within 9 s.",
        ],
        &[("contradicting-numbers", "1", "3")],
    );
    check(
        &[
            "The cache shall hold at least 500 entries.",
            "The cache shall hold at most 400 entries.",
        ],
        &[("contradicting-numbers", "1", "2")],
    );
    check(
        &[
            "The cache shall hold at least 400 entries.",
            "The cache shall hold at most 500 entries.",
        ],
        &[],
    );
    check(
        &[
            "The job shall end within 2 min.",
            "The job shall end within 120 s.",
        ],
        &[],
    );
}

#[test]
fn what_is_said_twice_is_found() {
    check(
        &[
            "The exporter shall write the title of each item to the first column of the file.",
            "The exporter shall write a title of every item to the first column of the file.",
            "The exporter shall write the body of each item to a file of its own.",
        ],
        &[],
    );
    check(
        &[
            "The exporter shall write the title of each item to the first column of the file.",
            "The exporter must write each item's row; the exporter shall write the title of each item to the first column of a file.",
        ],
        &[],
    );
    check(
        &[
            "The exporter shall write the title of each item to the first column of the file.",
            "The exporter must write titles of each item to a first column of the file.",
        ],
        &[("near-duplicate", "1", "2")],
    );
}

#[test]
fn one_quantity_in_two_units_is_found() {
    check(
        &[
            "The gateway shall use a session timeout of 30 min.",
            "If a session timeout of 1800 s passes, the portal shall sign the user out.",
        ],
        &[("two-units", "1", "2")],
    );
}

#[test]
fn thousands_are_compared_in_one_pass() {
    let texts: Vec<String> = (0..5000)
        .map(|n| {
            format!(
                "The unit {} of hall h{n} shall keep record r{} for {} days.",
                n % 7,
                n * 31 % 977,
                1 + n % 3
            )
        })
        .collect();
    let ids: Vec<String> = (0..5000).map(|n| n.to_string()).collect();
    let entries: Vec<SetEntry<'_>> = ids
        .iter()
        .zip(&texts)
        .map(|(id, text)| SetEntry { id, text })
        .collect();
    assert!(check_set(&entries, &Options::default()).is_empty());
}
