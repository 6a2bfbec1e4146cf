//! A server that stays says what one says that was started for the question.

use super::client::Client;
use crate::stale::{Dice, change, small};
use serde_json::{Value, json};

const TOOLS: &[&str] = &[
    "list_invalid_citations",
    "list_uncited_requirements",
    "get_prioritized_requirements",
];

/// What a server answers, and whether it calls that an error; which snapshot it was is another matter.
fn answers(client: &mut Client) -> Vec<Value> {
    let answer = |tool: &&str| {
        let mut result = client.result(tool, json!({ "detail": "full" }));
        json!([result["isError"].take(), result["content"].take()])
    };
    TOOLS.iter().map(answer).collect()
}

//= specs/duvet.md#freshness
//= type=test
//# Every answer MUST come from a snapshot whose inputs were checked for that answer, files that did not exist
//# before included.
#[test]
fn random_edits_and_kills_under_a_server_are_in_its_very_next_answer() {
    for seed in 1..=2 {
        let (scratch, mut dice) = (small(), Dice(seed * 32_452_843));
        let mut resident = Client::ready(scratch.root());
        for step in 0..20 {
            let what = change(&scratch, &mut dice);
            if dice.roll(6) == 0 {
                // Dropped, it is killed, wherever it is.
                resident = Client::ready(scratch.root());
            }
            let said = answers(&mut resident);
            let truth = answers(&mut Client::ready(scratch.root()));
            assert_eq!(said, truth, "seed {seed}, step {step}: {what}");
        }
    }
}
