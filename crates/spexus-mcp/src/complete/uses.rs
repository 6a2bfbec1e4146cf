//! What was used lately, so that it is suggested first: by the same person before all others.

use parking_lot::Mutex;
use spexus_domain::Uuid;
use std::collections::HashMap;
use std::sync::Arc;

/// Values remembered for all people together; the half that was not used for the longest time makes room.
const MAX_VALUES: usize = 20_000;
/// Longer texts are no ids and no names.
const MAX_VALUE_BYTES: usize = 64;

/// Uses of values. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    turn: u64,
    /// How often and when last, by person and value; by nobody for everyone together.
    values: HashMap<(Uuid, String), (u32, u64)>,
}

/// How much a value was used: by the person, by everyone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Used {
    own: u32,
    own_turn: u64,
    all: u32,
    all_turn: u64,
}

impl Uses {
    /// Somebody named these values.
    pub(crate) fn note<'a>(&self, user: Uuid, values: impl IntoIterator<Item = &'a str>) {
        let mut counts = self.0.lock();
        for value in values.into_iter().filter(|value| is_value(value)) {
            counts.turn += 1;
            let turn = counts.turn;
            for who in [user, Uuid::nil()] {
                let (count, last) = counts.values.entry((who, value.to_lowercase())).or_default();
                (*count, *last) = (count.saturating_add(1), turn);
            }
        }
        if counts.values.len() > MAX_VALUES {
            let mut turns: Vec<u64> = counts.values.values().map(|(_, last)| *last).collect();
            turns.sort_unstable();
            let from = turns[turns.len() / 2];
            counts.values.retain(|_, (_, last)| *last >= from);
        }
    }

    /// How much each of these was used.
    pub(crate) fn of<'a>(&self, user: Uuid, values: impl Iterator<Item = &'a str>) -> Vec<Used> {
        let counts = self.0.lock();
        let look = |value: &str| {
            let of = |who| {
                counts
                    .values
                    .get(&(who, value.to_lowercase()))
                    .copied()
                    .unwrap_or_default()
            };
            let ((own, own_turn), (all, all_turn)) = (of(user), of(Uuid::nil()));
            Used {
                own,
                own_turn,
                all,
                all_turn,
            }
        };
        values.map(look).collect()
    }
}

fn is_value(text: &str) -> bool {
    (1..=MAX_VALUE_BYTES).contains(&text.len()) && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_own_uses_count_before_those_of_others() {
        let (ann, bob) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let uses = Uses::default();
        uses.note(bob, ["REQ-001", "REQ-001", "REQ-001"]);
        uses.note(ann, ["REQ-002"]);
        let of = |user| uses.of(user, ["req-001", "REQ-002", "REQ-003"].into_iter());
        let (anns, bobs) = (of(ann), of(bob));
        assert!(anns[1] > anns[0] && anns[0] > anns[2]);
        assert!(bobs[0] > bobs[1] && bobs[1] > bobs[2]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let uses = Uses::default();
        for number in 0..3 * MAX_VALUES {
            uses.note(Uuid::from_u128(1), [format!("V-{number}").as_str()]);
        }
        assert!(uses.0.lock().values.len() <= MAX_VALUES);
        let last = format!("V-{}", 3 * MAX_VALUES - 1);
        assert!(uses.of(Uuid::from_u128(1), [last.as_str()].into_iter())[0] > Used::default());
        uses.note(Uuid::from_u128(1), ["x".repeat(65).as_str(), "two\nlines", ""]);
        assert_eq!(
            uses.of(Uuid::from_u128(1), ["two\nlines"].into_iter())[0],
            Used::default()
        );
    }
}
