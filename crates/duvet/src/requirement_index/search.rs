//! Requirements by words and phrases.

use super::{RequirementEntry, RequirementIndex};
use crate::engine::Folded;

impl RequirementIndex<'_> {
    /// Indices of requirements that hold every word of the query, best first.
    pub fn ranked(&self, query: &str) -> Vec<usize> {
        let phrases = phrases(query);
        if phrases.is_empty() {
            return Vec::new();
        }
        best(&phrases, self.searched())
    }

    //= specs/duvet.md#mcp-server
    //# A search that finds nothing MUST be tried with the nearest words the requirements have, and say so.
    /// The same; where nothing holds every word, misspelt words are taken for the nearest known ones. Gives the words
    /// that were searched for instead.
    pub fn ranked_nearly(&self, query: &str) -> (Vec<usize>, Option<String>) {
        let wanted = phrases(query);
        let searched = self.searched();
        let found = best(&wanted, searched);
        if !found.is_empty() || wanted.is_empty() {
            return (found, None);
        }
        let known = self.snapshot.vocabulary();
        let holds = |phrase: &String| {
            let mut rows = searched.iter();
            rows.any(|row| row.text.contains(phrase) || row.title.contains(phrase))
        };
        let nearest = |phrase: &String| match holds(phrase) {
            true => Some(phrase.clone()),
            // A word that nothing is near to is left out.
            false => crate::nearest::name(phrase, known.iter().map(String::as_str)).map(str::to_owned),
        };
        let instead: Vec<String> = wanted.iter().filter_map(nearest).collect();
        if instead.is_empty() {
            return (Vec::new(), None);
        }
        let found = best(&instead, searched);
        let words = Some(instead.join(" ")).filter(|_| !found.is_empty());
        (found, words)
    }

    /// Every requirement with its text and the title of its section, folded.
    fn searched(&self) -> &[Folded] {
        let row = |index: usize| {
            let requirement = &self.snapshot.analysis.requirements[index];
            let title = self
                .cited(requirement.specification)
                .specification()
                .zip(requirement.section);
            let title = title.map(|(text, section)| fold(&text.sections[section].title));
            Folded {
                index,
                text: fold(&self.text(requirement)),
                title: title.unwrap_or_default(),
            }
        };
        self.snapshot
            .folded(|| self.snapshot.distinct().map(row).collect())
    }
}

fn best(phrases: &[String], searched: &[Folded]) -> Vec<usize> {
    let mut found: Vec<(usize, usize)> = searched
        .iter()
        .filter_map(|row| Some((score(phrases, &row.text, &row.title)?, row.index)))
        .collect();
    found.sort_by_key(|(score, index)| (std::cmp::Reverse(*score), *index));
    found.into_iter().map(|(_, index)| index).collect()
}

/// `search_requirements`: words in any order, `"phrases"` as they stand; case and hyphens do not matter.
pub fn search_requirements(requirement_index: &RequirementIndex<'_>, query: &str) -> Vec<RequirementEntry> {
    requirement_index
        .ranked(query)
        .into_iter()
        .map(|index| requirement_index.requirement(index))
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
