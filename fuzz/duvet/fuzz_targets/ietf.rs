//! Any text as an RFC: sections, both extractions and a search for a part of itself.
#![no_main]

use duvet::extraction::{self, Language};
use duvet::matching::{self, Haystack};
use duvet::specification::extract::Mode;
use duvet::specification::{Format, Specification};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let specification = Specification::parse("fuzz", text.into(), Some(Format::Ietf));
    for mode in [Mode::Compat, Mode::V2] {
        let _ = extraction::files("fuzz", &specification, mode, Language::Toml);
    }
    for section in &specification.sections {
        let haystack = Haystack::new(&specification, section);
        let quote: String = haystack.joined.chars().skip(3).take(40).collect();
        let _ = matching::find(&haystack, &quote.replacen(' ', "x", 1));
    }
});
