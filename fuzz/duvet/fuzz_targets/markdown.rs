//! Any text as Markdown: what is extracted is found again.
#![no_main]

use duvet::matching::{self, Haystack};
use duvet::specification::extract::{Mode, extract};
use duvet::specification::{Format, Specification};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let specification = Specification::parse("fuzz", text.into(), Some(Format::Markdown));
    for mode in [Mode::Compat, Mode::V2] {
        for requirement in extract(&specification, mode) {
            let quote: Vec<&str> = requirement.lines(&specification).collect();
            let haystack = Haystack::new(&specification, &specification.sections[requirement.section]);
            assert!(matching::find(&haystack, &quote.join(" ")).is_some(), "{quote:?}");
        }
    }
});
