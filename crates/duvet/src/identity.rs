//! Names for requirements that survive moved files and edited code.
//!
//! A requirement is its specification, its section and its words. Equal sentences do occur in several sections, so the
//! hash of the words alone is only an alias that may mean several.

use crate::analysis::{Analysis, Requirement};

/// Digits of a canonical id.
const ID_HEX_DIGITS: usize = 16;

/// The canonical id: 16 hex digits of BLAKE3 over specification, section and words.
//= specs/duvet.md#identity
//# The canonical id of a requirement MUST be the first 16 hex digits of BLAKE3 over specification, section and
//# normalised text.
pub fn requirement_id(analysis: &Analysis, requirement: &Requirement) -> String {
    let annotation = analysis.annotation(requirement.annotation);
    let cited = &analysis.specifications[requirement.specification];
    let section = cited
        .specification()
        .zip(requirement.section)
        .map(|(specification, section)| specification.sections[section].id.as_str())
        .or(annotation.target.section.as_deref());
    id(cited.name(), section.unwrap_or_default(), &annotation.quote)
}

// Fulfils 004 §6a
/// The canonical id of a text in a section.
pub fn id(specification: &str, section: &str, text: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [specification, section] {
        hasher.update(part.as_bytes());
        hasher.update(&[0]);
    }
    hasher.update(words(text).as_bytes());
    hasher.finalize().to_hex().as_str()[..ID_HEX_DIGITS].to_owned()
}

/// The alias: BLAKE3 over the words alone, in full.
pub fn text_hash(text: &str) -> String {
    blake3::hash(words(text).as_bytes()).to_hex().to_string()
}

/// Blanks carry no meaning: one between words, none at the ends.
pub fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves 004 §6a
    //= specs/duvet.md#identity
    //= type=test
    //# The canonical id of a requirement MUST be the first 16 hex digits of BLAKE3 over specification, section and
    //# normalised text.
    #[test]
    fn ids_follow_the_words_and_their_place() {
        let one = id("rfc.txt", "section-1", "It MUST\n   be so.");
        assert_eq!(one, id("rfc.txt", "section-1", "It MUST be so."));
        let hash = blake3::hash(b"rfc.txt\0section-1\0It MUST be so.").to_hex();
        assert_eq!(one, hash.as_str()[..16]);
        assert_ne!(
            one,
            id("other.txt", "section-1", "It MUST be so."),
            "the specification counts"
        );
        assert_ne!(one, id("rfc.txt", "section-2", "It MUST be so."));
        assert_eq!(
            text_hash("It  MUST be so."),
            blake3::hash(b"It MUST be so.").to_hex().to_string()
        );
    }
}
