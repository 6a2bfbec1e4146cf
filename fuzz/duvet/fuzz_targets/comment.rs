//! Any text as a source file, in three comment styles.
#![no_main]

use duvet::citation::{CommentStyle, Kind, comment};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|text: &str| {
    let name: Arc<str> = "fuzz".into();
    for (meta, content) in [("//=", "//#"), ("*=", "*#"), ("=", "#")] {
        let style = CommentStyle { meta: meta.to_owned(), content: content.to_owned() };
        let source = comment::Source { name: &name, text, style: &style, default_kind: Kind::Implementation };
        let (annotations, _) = comment::extract(source);
        for annotation in annotations {
            assert!(text.get(annotation.span.range()).is_some());
        }
    }
});
