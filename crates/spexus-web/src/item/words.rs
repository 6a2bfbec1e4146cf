//! Differences of texts by words, as they are shown and as they are merged.

use crate::mark::{Markup, escaped};
use similar::{ChangeTag, DiffOp, TextDiff};
use std::time::Duration;

/// How long finding the words that differ may take; what is not found by then is shown as replaced.
const LONGEST_MS: u64 = 30;

/// Words that are kept on either side of a change where the rest is left out.
const CONTEXT_WORDS: usize = 24;

/// Two texts as one, with what went and what came.
pub(super) fn difference(before: &str, after: &str) -> Markup {
    if before == after {
        return Markup(escaped(before));
    }
    let difference = differ(before, after);
    let mut shown = String::new();
    let changes: Vec<(ChangeTag, &str)> = difference
        .iter_all_changes()
        .map(|change| (change.tag(), change.value()))
        .collect();
    let mut at = 0;
    while at < changes.len() {
        let tag = changes[at].0;
        let run = changes[at..].iter().take_while(|change| change.0 == tag).count();
        let words: Vec<&str> = changes[at..at + run].iter().map(|change| change.1).collect();
        match tag {
            ChangeTag::Equal => shown.push_str(&kept(&words, at == 0, at + run == changes.len())),
            ChangeTag::Delete => shown.push_str(&format!("<del>{}</del>", escaped(&words.concat()))),
            ChangeTag::Insert => shown.push_str(&format!("<ins>{}</ins>", escaped(&words.concat()))),
        }
        at += run;
    }
    Markup(shown)
}

/// What did not change; only what is near a change, where there is much of it.
fn kept(words: &[&str], first: bool, last: bool) -> String {
    let (before, after) = (
        if first { 0 } else { CONTEXT_WORDS },
        if last { 0 } else { CONTEXT_WORDS },
    );
    if words.len() <= before + after + CONTEXT_WORDS {
        return escaped(&words.concat());
    }
    let (begin, end) = (&words[..before], &words[words.len() - after..]);
    format!("{} … {}", escaped(&begin.concat()), escaped(&end.concat()))
}

/// Both changes of a text in one, where they touch different words; `None` where they clash.
pub(super) fn merged(before: &str, theirs: &str, mine: &str) -> Option<String> {
    let (their_words, my_words) = (differ(before, theirs), differ(before, mine));
    let mut edits: Vec<Edit> = edits(&their_words).chain(edits(&my_words)).collect();
    edits.sort_by_key(|edit| (edit.from, edit.to));
    edits.dedup();
    // Changes at one place have no order, and changes of neighbouring words seldom make sense together.
    if edits.windows(2).any(|pair| pair[1].from <= pair[0].to) {
        return None;
    }
    let words: Vec<&str> = their_words.iter_old_slices().collect();
    let mut merged = String::with_capacity(theirs.len() + mine.len());
    let mut at = 0;
    for edit in edits {
        merged.extend(words[at..edit.from].iter().copied());
        merged.push_str(&edit.text);
        at = edit.to;
    }
    merged.extend(words[at..].iter().copied());
    Some(merged)
}

/// Words of the text before that are replaced.
#[derive(PartialEq, Eq)]
struct Edit {
    from: usize,
    to: usize,
    text: String,
}

fn edits<'a>(difference: &'a TextDiff<'a, 'a, str>) -> impl Iterator<Item = Edit> {
    let changed = difference
        .ops()
        .iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }));
    changed.map(|op| Edit {
        from: op.old_range().start,
        to: op.old_range().end,
        text: op
            .new_range()
            .filter_map(|at| difference.new_slice(at))
            .collect::<String>(),
    })
}

fn differ<'a>(before: &'a str, after: &'a str) -> TextDiff<'a, 'a, str> {
    TextDiff::configure()
        .timeout(Duration::from_millis(LONGEST_MS))
        .diff_unicode_words(before, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_by_words() {
        let shown = difference(
            "from the amount and the payee",
            "from the amount, the currency and the payee",
        )
        .0;
        assert_eq!(shown, "from the amount<ins>, the currency</ins> and the payee");
        assert_eq!(
            difference("a <b>", "a <i>").0,
            "a &lt;<del>b</del><ins>i</ins>&gt;"
        );
    }

    #[test]
    fn what_did_not_change_is_left_out_where_there_is_much_of_it() {
        let long = "word ".repeat(500);
        let shown = difference(&format!("{long}old"), &format!("{long}new")).0;
        assert!(shown.len() < 400 && shown.contains('…'), "{shown}");
        assert!(shown.contains("<del>old</del><ins>new</ins>"), "{shown}");
    }

    #[test]
    fn changes_of_different_words_are_merged_and_clashes_are_not() {
        let before = "The service shall refuse a stale approval within one second of its arrival.";
        let theirs = "The payment service shall refuse a stale approval within one second of its arrival.";
        let mine = "The service shall refuse a stale approval within two seconds of its arrival.";
        assert_eq!(
            merged(before, theirs, mine).unwrap(),
            "The payment service shall refuse a stale approval within two seconds of its arrival."
        );
        let clash = "The service shall refuse a stale approval within three seconds of its arrival.";
        assert_eq!(merged(before, clash, mine), None);
        assert_eq!(merged(before, mine, mine).as_deref(), Some(mine));
        assert_eq!(merged("a b c", "a b c", "a x c").as_deref(), Some("a x c"));
    }
}
