//! Requirements by words and phrases.

use super::{Catalogue, RequirementEntry};

impl Catalogue<'_> {
    /// Indices of requirements that hold every word of the query, best first.
    pub fn ranked(&self, query: &str) -> Vec<usize> {
        let phrases = phrases(query);
        if phrases.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<(usize, usize)> = Vec::new();
        for index in 0..self.snapshot.analysis.requirements.len() {
            let requirement = &self.snapshot.analysis.requirements[index];
            let text = fold(&self.text(requirement));
            let title = self
                .cited(requirement.specification)
                .specification()
                .zip(requirement.section);
            let title = title
                .map(|(text, section)| fold(&text.sections[section].title))
                .unwrap_or_default();
            if let Some(score) = score(&phrases, &text, &title) {
                found.push((score, index));
            }
        }
        found.sort_by_key(|(score, index)| (std::cmp::Reverse(*score), *index));
        found.into_iter().map(|(_, index)| index).collect()
    }
}

/// `search_requirements`: words in any order, `"phrases"` as they stand; case and hyphens do not matter.
pub fn search_requirements(catalogue: &Catalogue<'_>, query: &str) -> Vec<RequirementEntry> {
    catalogue
        .ranked(query)
        .into_iter()
        .map(|index| catalogue.requirement(index))
        .collect()
}

/// Every part has to be found; whole words, early places and titles count more.
fn score(phrases: &[String], text: &str, title: &str) -> Option<usize> {
    let mut score = 0;
    for phrase in phrases {
        let in_text = text.find(phrase.as_str());
        let in_title = title.contains(phrase.as_str());
        if in_text.is_none() && !in_title {
            return None;
        }
        score += usize::from(in_title) * 3 + in_text.map_or(0, |at| if at < 60 { 3 } else { 2 });
        score += usize::from(text.split(' ').any(|word| word == phrase)) * 2;
    }
    Some(score)
}

fn phrases(query: &str) -> Vec<String> {
    let mut phrases = Vec::new();
    for (index, part) in query.split('"').enumerate() {
        if index % 2 == 1 {
            phrases.push(fold(part));
        } else {
            phrases.extend(part.split_whitespace().map(fold));
        }
    }
    phrases.retain(|phrase| !phrase.is_empty());
    phrases
}

/// Lower case, with one blank for everything that is neither letter, digit nor underscore.
fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() || c == '_' {
            out.push(c);
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out.trim().to_owned()
}
