//! A working context within its budget: what is left out first, and how it is to be had.

use super::{ItemContext, Part, Purpose};
use crate::{limits, tokens};
use serde::Serialize;

impl ItemContext {
    /// The tokens it has, by our guess.
    pub fn tokens(&self) -> usize {
        cost(self)
    }

    /// Leaves out what does not fit, in the order of the purpose.
    //= specs/spexus-service.md#working-context
    //# A context MUST have no more tokens than asked for: parts MUST be left out in the order of its purpose, and each MUST say how
    //# many there were and how to get them.
    #[must_use]
    pub fn fitted(mut self, purpose: Purpose, max_tokens: usize) -> Self {
        let mut left = self.tokens();
        for part in purpose.order() {
            if left <= max_tokens {
                break;
            }
            let over = left - max_tokens;
            self.leave_out(part, over);
            left = self.tokens();
        }
        // The price of a text is not the sum of those of its pieces.
        while left > max_tokens && self.cut_description(left - max_tokens) {
            left = self.tokens();
        }
        self
    }

    /// Leaves out as much of a part as pays for so many tokens, from its end on.
    fn leave_out(&mut self, part: Part, over: usize) {
        // What is said of it costs, too, unless it is said already.
        let over = over + NOTE_TOKENS;
        let own = self.item.as_ref().map(|item| item.reference_id.to_string());
        let trace = format!("get_trace {{id: {}}}", own.as_deref().unwrap_or_default());
        let whole = format!(
            "get_context {{id: {}, max_tokens: {}}}",
            own.unwrap_or_default(),
            limits::MAX_CONTEXT_TOKENS
        );
        let above = self
            .within
            .last()
            .map_or_else(String::new, |above| above.id.clone());
        let (count, get) = match part {
            Part::Siblings => (
                drop_last(&mut self.siblings, over),
                format!("get_context {{id: {above}}}"),
            ),
            Part::Changes => (drop_last(&mut self.changes, over), whole),
            Part::Contains => (drop_last(&mut self.contains, over), whole),
            Part::Steering => {
                let ids: Vec<String> = self.steering.iter().map(|one| one.id.clone()).collect();
                let count = drop_last(&mut self.steering, over);
                (count, items(&ids[ids.len() - count..]))
            }
            Part::Targets => {
                let texts = self.links.iter_mut().map(|link| &mut link.says);
                (empty_last(texts, over), whole)
            }
            Part::Texts => {
                let ids: Vec<String> = self.within.iter().map(|one| one.id.clone()).collect();
                // The story is nearer than the epic.
                let texts = self.within.iter_mut().rev().map(|one| &mut one.description);
                let count = empty_last(texts, over);
                (count, items(&ids[..count.min(ids.len())]))
            }
            Part::Code => (drop_last(&mut self.code, over), trace),
            Part::Tests => (drop_last(&mut self.tests, over), trace),
            Part::Comments => (drop_last(&mut self.comments, over), whole),
            Part::Links => (drop_last(&mut self.links, over), whole),
            Part::Criteria => {
                // The one it serves goes last.
                self.criteria.sort_by_key(|one| !one.served);
                let ids: Vec<String> = self.criteria.iter().map(|one| one.id.clone()).collect();
                let count = drop_last(&mut self.criteria, over);
                (count, items(&ids[ids.len() - count..]))
            }
            Part::Description => {
                self.cut_description(over);
                return;
            }
        };
        self.note(part, count, get);
    }

    /// Cuts the text of the item; tells whether there was something to cut.
    fn cut_description(&mut self, over: usize) -> bool {
        let Some(item) = &mut self.item else { return false };
        let all: Vec<char> = item.description.chars().collect();
        let (mut shown, mut saved) = (all.len(), 0);
        // By pieces, because the price of a text is not the sum of those of its characters.
        while saved < over && shown > 0 {
            let from = shown.saturating_sub(CUT_CHARS);
            let piece: String = all[from..shown].iter().collect();
            saved += tokens::estimate(&piece).saturating_sub(1);
            shown = from;
        }
        item.description = all[..shown].iter().collect();
        let get = format!("get_item {{id: {}, offset: {shown}}}", item.reference_id);
        self.note(Part::Description, all.len() - shown, get);
        shown < all.len()
    }
}

/// What a note about a part that was left out costs.
const NOTE_TOKENS: usize = 45;
/// A text is cut by pieces of this length.
const CUT_CHARS: usize = 40;
/// Ids that a note names at most.
const MAX_NAMED_IDS: usize = 5;

fn items(ids: &[String]) -> String {
    let more = if ids.len() > MAX_NAMED_IDS { ", …" } else { "" };
    let named: Vec<&str> = ids.iter().take(MAX_NAMED_IDS).map(String::as_str).collect();
    format!("get_items {{ids: [{}{more}]}}", named.join(", "))
}

fn cost<T: Serialize>(value: &T) -> usize {
    serde_json::to_string(value).map_or(0, |text| tokens::estimate(&text))
}

/// Drops entries from the end until they pay for so many tokens; tells how many.
fn drop_last<T: Serialize>(list: &mut Vec<T>, over: usize) -> usize {
    let (mut saved, mut dropped) = (0, 0);
    while saved < over
        && let Some(last) = list.pop()
    {
        saved += cost(&last).saturating_sub(1);
        dropped += 1;
    }
    dropped
}

/// Empties texts from the last on until they pay for so many tokens; tells how many.
fn empty_last<'a>(texts: impl DoubleEndedIterator<Item = &'a mut String>, over: usize) -> usize {
    let (mut saved, mut emptied) = (0, 0);
    for text in texts.rev().filter(|text| !text.is_empty()) {
        if saved >= over {
            break;
        }
        saved += cost(text).saturating_sub(1);
        text.clear();
        emptied += 1;
    }
    emptied
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::Attributes;
    use crate::item_context::{Container, ContextLink, Criterion, Guidance, Subject};
    use crate::{Kind, Reference};

    fn context() -> ItemContext {
        let words = "The gate MUST open within a second after the passkey was shown. ";
        let lines = |prefix: &str| {
            (1..30)
                .map(|at| format!("{prefix}-{at:03} [Draft] P2: {words}"))
                .collect()
        };
        ItemContext {
            item: Some(Subject {
                reference_id: Reference::of_kind(Kind::Requirement, 7).into(),
                project: "default".into(),
                kind: Kind::Requirement,
                rev: 3,
                title: "Open the gate".into(),
                description: words.repeat(40),
                status: Some("Draft".into()),
                priority: None,
                requirement_type: None,
                assignee: None,
                attributes: Attributes::new(),
            }),
            within: ["EP-001", "US-001"]
                .map(|id| Container {
                    line: format!("{id}: Gates"),
                    description: words.repeat(10),
                    id: id.to_owned(),
                })
                .to_vec(),
            criteria: (1..6)
                .map(|at| Criterion {
                    id: format!("AC-{at:03}"),
                    served: at == 3,
                    text: words.to_owned(),
                })
                .collect(),
            links: (1..9)
                .map(|at| ContextLink {
                    reads: "depends_on".into(),
                    line: format!("REQ-{at:03} [Active] P1: Locks"),
                    says: words.to_owned(),
                    suspect: false,
                })
                .collect(),
            steering: vec![Guidance {
                id: "STD-001".into(),
                title: "Style".into(),
                text: words.repeat(10),
            }],
            siblings: lines("REQ"),
            unchanged: false,
            ..ItemContext::unchanged("3-abc".into())
        }
    }

    //= specs/spexus-service.md#working-context
    //= type=test
    //# A context MUST have no more tokens than asked for: parts MUST be left out in the order of its purpose, and each MUST say how
    //# many there were and how to get them.
    #[test]
    fn what_does_not_fit_goes_in_the_order_of_the_purpose_and_says_so() {
        let whole = context();
        assert_eq!(whole.clone().fitted(Purpose::Implement, 20_000), whole);
        for purpose in Purpose::ALL {
            for max in [limits::MIN_CONTEXT_TOKENS, 900, 1_500, 2_500, 4_000] {
                let fitted = context().fitted(purpose, max);
                assert!(fitted.tokens() <= max, "{purpose:?} {max}: {}", fitted.tokens());
                let order = purpose.order();
                let place = |part: Part| order.iter().position(|one| *one == part).unwrap();
                let places: Vec<usize> = fitted.omitted.iter().map(|one| place(one.part)).collect();
                assert!(places.is_sorted(), "{purpose:?}: {:?}", fitted.omitted);
                // What is there is there whole.
                for criterion in &fitted.criteria {
                    assert!(whole.criteria.contains(criterion), "{criterion:?}");
                }
            }
        }
        let fitted = context().fitted(Purpose::Implement, 1_500);
        let siblings = &fitted.omitted[0];
        assert_eq!((siblings.part, siblings.count), (Part::Siblings, 29));
        assert_eq!(siblings.get, "get_context {id: US-001}");
        assert_eq!(fitted.criteria.len(), 5, "criteria stay when others can go");
        let least = context().fitted(Purpose::Implement, limits::MIN_CONTEXT_TOKENS);
        let item = least.item.unwrap();
        let last = least.omitted.last().unwrap();
        let shown = item.description.chars().count();
        assert_eq!(last.get, format!("get_item {{id: REQ-007, offset: {shown}}}"));
    }
}
