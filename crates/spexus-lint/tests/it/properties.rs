//! Whatever text comes in: no panic, places inside the text, fixes that can be made.

use proptest::prelude::*;
use spexus_lint::{Options, SetEntry, apply, check, check_set, parse, passages, render};

fn any_text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "the",
        "shall",
        "must",
        "not",
        "When",
        "if",
        "and",
        "or",
        "/",
        ".",
        ",",
        "(",
        ")",
        "`",
        "\"",
        "«",
        "\n",
        "\n\n",
        "- ",
        "1. ",
        "# ",
        "```",
        "|",
        "<!--",
        "-->",
        "quickly",
        "etc",
        "10",
        "5.",
        "ms",
        "between",
        "система",
        "должна",
        "не",
        "если",
        "быстро",
        "🦀",
        "\u{301}",
        "场",
        "should be able to",
        "<<<<<<<",
        "](",
        "***",
        "\r\n",
        "\u{feff}",
    ]);
    prop::collection::vec((words, prop::bool::ANY), 0..40).prop_map(|words| {
        let piece = |(word, blank): (&str, bool)| format!("{word}{}", if blank { " " } else { "" });
        words.into_iter().map(piece).collect()
    })
}

proptest! {
    //= specs/spexus-lint.md#findings
    //= type=test
    //# Whatever text comes in, judging it MUST end with findings and never with a fault.
    #[test]
    fn no_text_makes_it_fall(text in prop_oneof![any_text(), any::<String>()]) {
        let options = Options::default();
        let chars = text.chars().count();
        let findings = check(&text, &options);
        for finding in &findings {
            prop_assert!(finding.span.start <= finding.span.end && finding.span.end <= chars);
        }
        apply(&text, &findings);
        for sentence in parse(&text) {
            prop_assert!(sentence.span.end <= chars);
        }
        passages(&text);
        check_set(&[SetEntry { id: "a", text: &text }, SetEntry { id: "b", text: &text }], &options);
        let file = [render::FileFindings { file: "-", text: &text, findings }];
        render::sarif(&file);
        render::text(&file);
    }
}
