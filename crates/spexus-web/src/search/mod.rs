//! Finding: the page of search, the palette that reaches every page and every item, and the sheet of keys.

pub(crate) mod keys;
pub(crate) mod page;
pub(crate) mod palette;

use crate::mark::{Markup, escaped};

/// A place that was found, with the words found marked.
//= specs/spexus-web.md#search
//# What was found MUST be shown with its place, and the words found MUST be marked in it.
fn marked(snippet: &str) -> Markup {
    let mut text = String::with_capacity(snippet.len() + 32);
    let mut parts = snippet.split("**");
    text.push_str(&escaped(parts.next().unwrap_or_default()));
    while let Some(found) = parts.next() {
        let rest = parts.next();
        match rest {
            Some(rest) => text.push_str(&format!("<mark>{}</mark>{}", escaped(found), escaped(rest))),
            // A single sign is the text's own.
            None => text.push_str(&format!("**{}", escaped(found))),
        }
    }
    Markup(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_words_are_marked_and_nothing_else_is_markup() {
        for (snippet, expected) in [
            ("a **pass** key", "a <mark>pass</mark> key"),
            ("**<b>** & \"x\"", "<mark>&lt;b&gt;</mark> &amp; &quot;x&quot;"),
            ("two ** three", "two ** three"),
            ("", ""),
        ] {
            assert_eq!(marked(snippet).0, expected);
        }
    }
}
