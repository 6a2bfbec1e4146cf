//! Markdown that people and agents wrote, as HTML that can do nothing: raw HTML is shown as the text it is, what the parser
//! writes goes through a list of allowed elements, and links lead only to the web, to mail or within this server.

use crate::mark::Markup;
use ammonia::Builder;
use pulldown_cmark::{CowStr, Event, Options, Parser, html};
use std::collections::HashSet;
use std::sync::LazyLock;

/// What a text may be made of.
const ELEMENTS: [&str; 25] = [
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "em",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
];

static SANITIZER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::empty();
    builder
        .tags(ELEMENTS.into_iter().chain(["ul"]).collect())
        .add_tag_attributes("a", &["href", "title"])
        .add_tag_attributes("ol", &["start"])
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .link_rel(Some("noopener noreferrer nofollow"));
    builder
});

/// A text as HTML. Its headings begin below those of the page.
//= specs/spexus-web.md#safety
//# What people wrote MUST be shown as text or as harmless markup: it MUST NOT run, load or style anything.
pub(crate) fn rendered(text: &str) -> Markup {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(text, options).map(plain);
    let mut written = String::with_capacity(text.len() * 3 / 2);
    html::push_html(&mut written, events);
    Markup(SANITIZER.clean(&written).to_string())
}

/// Raw HTML is text; a heading of the text is none of the page's own.
fn plain(event: Event<'_>) -> Event<'_> {
    use pulldown_cmark::{HeadingLevel, Tag, TagEnd};
    match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
        Event::Start(Tag::Heading {
            level: HeadingLevel::H1,
            ..
        }) => Event::Start(Tag::Heading {
            level: HeadingLevel::H2,
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        }),
        Event::End(TagEnd::Heading(HeadingLevel::H1)) => Event::End(TagEnd::Heading(HeadingLevel::H2)),
        // A picture would be loaded from elsewhere; its words stay.
        Event::Start(Tag::Image { .. }) => Event::Text(CowStr::Borrowed("🖼 ")),
        Event::End(TagEnd::Image) => Event::Text(CowStr::Borrowed("")),
        // A box that nobody can tick is a sign.
        Event::TaskListMarker(done) => Event::Text(CowStr::Borrowed(if done { "☑ " } else { "☐ " })),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_markup() {
        let shown = rendered("# Why\n\nIt **shall** `open` [here](https://example.org).\n\n- [x] done\n").0;
        assert!(shown.contains("<h2>Why</h2>"), "{shown}");
        assert!(
            shown.contains("<strong>shall</strong> <code>open</code>"),
            "{shown}"
        );
        assert!(
            shown.contains("href=\"https://example.org\"") && shown.contains("nofollow"),
            "{shown}"
        );
        assert!(shown.contains('☑'), "{shown}");
    }

    //= specs/spexus-web.md#safety
    //= type=test
    //# What people wrote MUST be shown as text or as harmless markup: it MUST NOT run, load or style anything.
    #[test]
    fn what_people_wrote_runs_nothing_and_loads_nothing() {
        for text in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x](data:text/html,<script>alert(1)</script>)",
            "![x](https://example.org/pixel.png)",
            "<style>*{display:none}</style>",
            "<svg onload=alert(1)>",
            "<a href=\"x\" onclick=\"alert(1)\" style=\"color:red\">y</a>",
            "`<script>`",
            "| <b onmouseover=alert(1)> |\n|-|\n| x |",
            "<!-- --!><img src=x onerror=alert(1)>",
        ] {
            let shown = rendered(text).0;
            for bad in [
                "<script",
                "<img",
                "<svg",
                "<style",
                "href=\"javascript",
                "href=\"data:",
            ] {
                assert!(!shown.to_lowercase().contains(bad), "{text}: {shown}");
            }
            // What is left of handlers is text, not an attribute.
            for tag in shown.split('<').skip(1) {
                let tag = tag.split('>').next().unwrap_or_default();
                assert!(!tag.contains(" on") && !tag.contains("style="), "{text}: {shown}");
            }
        }
    }
}
