//! Answers about a snapshot in the shapes of document 004: what a resource holds, what a tool returns.
//!
//! This module knows neither MCP nor transports. A surface takes a fresh snapshot from the engine, calls one function
//! here, and renders the value; names and order of fields are settled in one place. Lists come whole and in a stable
//! order, so that a surface can page them.

mod context;
mod invalid;
mod search;
mod validate;

pub use context::{CitationContext, Denied, MAX_CONTEXT_LINES, get_citation_context};
pub use invalid::{InvalidCitation, list_invalid_citations};
pub use search::search_requirements;
pub use validate::{About, Validation, validate_citation};

use crate::analysis::{Cited, Requirement};
use crate::engine::{Lookup, Snapshot};
use crate::target::{canonical, is_url, rfc_number, spoken_rfc};
use serde::Serialize;
use std::collections::HashMap;

/// A snapshot with the names its specifications go by.
pub struct RequirementIndex<'a> {
    /// What is answered about.
    pub snapshot: &'a Snapshot,
    ids: Vec<String>,
    by_id: HashMap<String, usize>,
}

/// One of `/specifications`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpecificationEntry {
    /// Stable name: `rfc9000`, or the slug of path or address.
    pub id: String,
    /// For people.
    pub name: String,
    /// Address or path, as citations write it.
    pub url: String,
    /// What it is about, in its own words.
    pub description: String,
}

/// One of `…/sections`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SectionEntry {
    /// As citations write it behind `#`.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// Its text, when one section is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// One requirement in any list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequirementEntry {
    /// Canonical id.
    pub identifier: String,
    /// Path of the resource.
    pub full_path: String,
    /// Its words, with those that lead into its list.
    pub text: String,
    /// Where it is stated, as `file:line`, when that is in several places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
}

/// A requirement with its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequirementStatus {
    /// Canonical id.
    pub identifier: String,
    /// Path of the resource.
    pub full_path: String,
    /// Its words.
    pub text: String,
    /// `done`, `in progress`, `needs tests`, `excused` or `not started`.
    pub status: &'static str,
    /// `not_started`, `partially_implemented` or `fully_implemented`.
    pub machine_status: &'static str,
    /// MUST, SHOULD, MAY or AUTO.
    pub level: &'static str,
    /// Bytes of the text by what covers them.
    pub coverage: CoveredBytes,
    /// Where it is stated, as `file:line`.
    pub places: Vec<String>,
    /// Citations that touch it, as `file:line`.
    pub citations: Vec<String>,
}

/// Bytes of a requirement by what covers them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CoveredBytes {
    /// All of it.
    pub spec: usize,
    /// By nothing that counts.
    pub incomplete: usize,
    /// By implementations.
    pub citation: usize,
    /// By implications.
    pub implication: usize,
    /// By tests.
    pub test: usize,
    /// By exceptions.
    pub exception: usize,
    /// By todos.
    pub todo: usize,
}

/// One row of `get_prioritized_requirements`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrioritizedRequirement {
    /// Path of the resource.
    pub full_path: String,
    /// Its words.
    pub text: String,
    /// MUST, SHOULD, MAY or AUTO.
    pub level: &'static str,
    /// `not_started`, `partially_implemented` or `fully_implemented`.
    pub status: &'static str,
    /// Todos that touch it.
    pub todo_count: usize,
}

/// One of `/citations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CitationEntry {
    /// Path of the resource.
    pub full_path: String,
    /// `file:line`.
    pub id: String,
    /// Identifiers of the requirements it touches.
    pub requirements: Vec<String>,
    /// Its place among the snapshot's annotations.
    #[serde(skip)]
    pub annotation: u32,
}

impl CoveredBytes {
    fn of(coverage: &crate::status::Coverage) -> Self {
        Self {
            spec: coverage.spec,
            incomplete: coverage.incomplete,
            citation: coverage.citation,
            implication: coverage.implication,
            test: coverage.test,
            exception: coverage.exception,
            todo: coverage.todo,
        }
    }
}

impl<'a> RequirementIndex<'a> {
    /// Names the specifications of a snapshot.
    pub fn new(snapshot: &'a Snapshot) -> Self {
        let mut ids = Vec::new();
        let mut by_id = HashMap::new();
        for (index, cited) in snapshot.analysis.specifications.iter().enumerate() {
            let plain = specification_id(cited.name());
            let mut id = plain.clone();
            let mut count = 0;
            while by_id.contains_key(&id) {
                count += 1;
                id = format!("{plain}-{count}");
            }
            by_id.insert(id.clone(), index);
            ids.push(id);
        }
        Self { snapshot, ids, by_id }
    }

    /// `/specifications`
    pub fn specifications(&self) -> Vec<SpecificationEntry> {
        (0..self.ids.len())
            .map(|index| self.specification(index))
            .collect()
    }

    /// `/specifications/{spec_id}`
    pub fn specification(&self, index: usize) -> SpecificationEntry {
        let cited = self.cited(index);
        SpecificationEntry {
            id: self.ids[index].clone(),
            name: cited.display_name(),
            url: cited.name().to_owned(),
            description: cited.description(),
        }
    }

    /// The index of a specification by its id, its address in any spelling, its path, or the name that lists show.
    pub fn find_specification(&self, name: &str) -> Option<usize> {
        let specifications = &self.snapshot.analysis.specifications;
        let name = name.split('#').next().unwrap_or(name).trim();
        self.by_id.get(name).copied().or_else(|| {
            let key = crate::target::key(name);
            let written = specifications.iter().position(|cited| cited.loaded.key() == key);
            written
                .or_else(|| {
                    let wanted = canonical(name.trim_end_matches('/'));
                    specifications
                        .iter()
                        .position(|cited| canonical(cited.name()) == wanted)
                })
                // `RFC 8446` as people say it.
                .or_else(|| {
                    let number = spoken_rfc(name)?;
                    specifications
                        .iter()
                        .position(|cited| rfc_number(cited.name()) == Some(number.as_str()))
                })
                // The name that lists show.
                .or_else(|| {
                    let is_called = |cited: &Cited| cited.display_name().eq_ignore_ascii_case(name);
                    let all = specifications.iter().enumerate();
                    let mut called = all.filter(|(_, cited)| is_called(cited));
                    let (index, _) = called.next()?;
                    called.next().is_none().then_some(index)
                })
        })
    }

    /// `resolve_spec_id`: the id, or what is known instead.
    pub fn resolve_spec_id(&self, url: &str) -> Result<String, String> {
        match self.find_specification(url) {
            Some(index) => Ok(self.ids[index].clone()),
            None => {
                let names = self.snapshot.analysis.specifications.iter().map(Cited::name);
                let known = names.chain(self.ids.iter().map(String::as_str));
                // `RFC 8446` as people say it, with a slip in it.
                let spoken = url.to_ascii_lowercase().replace([' ', '-', '_'], "");
                // The end of a path says which file is meant.
                let mut ends = known.clone().filter(|name| name.ends_with(&format!("/{url}")));
                let ending = ends.next().filter(|_| ends.next().is_none());
                let nearest = ending
                    .or_else(|| crate::nearest::name(url, known))
                    .or_else(|| crate::nearest::name(&spoken, self.ids.iter().map(String::as_str)))
                    .map(|name| format!("; did you mean `{name}`?"));
                Err(format!(
                    "no specification is called `{url}`{}",
                    nearest.unwrap_or_default()
                ))
            }
        }
    }

    /// `/specifications/{spec_id}/sections`
    pub fn sections(&self, specification: usize) -> Vec<SectionEntry> {
        let text = self.cited(specification).specification();
        let sections = text.into_iter().flat_map(|text| &text.sections);
        sections
            .map(|s| SectionEntry {
                id: s.id.clone(),
                title: s.title.clone(),
                content: None,
            })
            .collect()
    }

    /// `/specifications/{spec_id}/sections/{section_id}`
    pub fn section(&self, specification: usize, section: usize) -> Option<SectionEntry> {
        let text = self.cited(specification).specification()?;
        let found = text.sections.get(section)?;
        let lines: Vec<&str> = found.lines.iter().map(|line| text.line(line)).collect();
        Some(SectionEntry {
            id: found.id.clone(),
            title: found.title.clone(),
            content: Some(lines.join("\n")),
        })
    }

    /// `…/sections/{section_id}/requirements`
    pub fn section_requirements(&self, specification: usize, section: usize) -> Vec<RequirementEntry> {
        let requirements = self.snapshot.analysis.requirements.iter().enumerate();
        let inside =
            requirements.filter(|(_, r)| (r.specification, r.section) == (specification, Some(section)));
        inside
            .filter(|(index, _)| self.snapshot.is_first(*index))
            .map(|(index, _)| self.requirement(index))
            .collect()
    }

    /// `/requirements`
    pub fn requirements(&self) -> Vec<RequirementEntry> {
        self.snapshot
            .distinct()
            .map(|index| self.requirement(index))
            .collect()
    }

    /// One requirement by index.
    pub fn requirement(&self, index: usize) -> RequirementEntry {
        let statements = self.snapshot.statements(index);
        RequirementEntry {
            identifier: self.snapshot.requirement_ids[index].clone(),
            full_path: self.requirement_path(index),
            text: self.text(&self.snapshot.analysis.requirements[index]),
            places: if statements.len() > 1 {
                self.places(index)
            } else {
                Vec::new()
            },
        }
    }

    /// `get_requirement_status` and `…/requirements/{req_identifier}`: one entry for each requirement the id means.
    pub fn requirement_status(&self, id: &str) -> Vec<RequirementStatus> {
        let found = match self.snapshot.find(id.rsplit('/').next().unwrap_or(id)) {
            Lookup::Unknown => Vec::new(),
            Lookup::One(index) => vec![index],
            Lookup::Several(indices) => indices,
        };
        found.into_iter().map(|index| self.status(index)).collect()
    }

    /// `list_uncited_requirements`: no annotation of any kind, todos included.
    pub fn list_uncited_requirements(&self) -> Vec<RequirementEntry> {
        self.uncited().map(|index| self.requirement(index)).collect()
    }

    /// Indices of requirements without an annotation of any kind.
    pub fn uncited(&self) -> impl Iterator<Item = usize> {
        let requirements = self.snapshot.analysis.requirements.iter().enumerate();
        requirements
            .filter(|(index, r)| r.coverage.is_uncited() && self.snapshot.is_first(*index))
            .map(|(index, _)| index)
    }

    /// `get_prioritized_requirements`
    pub fn get_prioritized_requirements(&self) -> Vec<PrioritizedRequirement> {
        let order = self.snapshot.by_priority().iter();
        order.map(|index| self.prioritized(*index)).collect()
    }

    /// One row of `get_prioritized_requirements`.
    pub fn prioritized(&self, index: usize) -> PrioritizedRequirement {
        let requirement = &self.snapshot.analysis.requirements[index];
        PrioritizedRequirement {
            full_path: self.requirement_path(index),
            text: self.text(requirement),
            level: requirement.level.name(),
            status: requirement.coverage.status().name(),
            todo_count: self.snapshot.todos(requirement),
        }
    }

    /// `/citations`: every citation once, below the first requirement it touches; one that touches none stands by
    /// itself.
    pub fn citations(&self) -> Vec<CitationEntry> {
        let analysis = &self.snapshot.analysis;
        let mut touched: Vec<Vec<usize>> = vec![Vec::new(); analysis.entries.len()];
        for index in self.snapshot.distinct() {
            for id in &analysis.requirements[index].coverage.related {
                touched[*id as usize].push(index);
            }
        }
        let row = |(id, _): (u32, &crate::analysis::Entry)| {
            let place = self.place(id);
            let touched = &touched[id as usize];
            let path = touched.first().map(|index| self.requirement_path(*index));
            let ids = touched
                .iter()
                .map(|index| self.snapshot.requirement_ids[*index].clone());
            CitationEntry {
                full_path: format!("{}/citations/{place}", path.unwrap_or_default()),
                id: place,
                requirements: ids.collect(),
                annotation: id,
            }
        };
        analysis.citations().map(row).collect()
    }

    /// The id of a specification.
    pub fn specification_id(&self, index: usize) -> &str {
        &self.ids[index]
    }

    /// `…/requirements/{req_identifier}/citations`
    pub fn requirement_citations(&self, index: usize) -> Vec<String> {
        let related = &self.snapshot.analysis.requirements[index].coverage.related;
        related.iter().map(|id| self.place(*id)).collect()
    }

    /// The annotation that `file:line` means.
    pub fn find_citation(&self, id: &str) -> Option<u32> {
        let (file, line) = id.rsplit_once(':')?;
        let line: u32 = line.parse().ok()?;
        let entries = self.snapshot.analysis.entries.iter();
        let found = entries
            .map(crate::analysis::Entry::annotation)
            .position(|a| a.line == line && &*a.source == file)?;
        Some(found as u32)
    }

    /// Path of a requirement's resource.
    pub fn requirement_path(&self, index: usize) -> String {
        let requirement = &self.snapshot.analysis.requirements[index];
        let cited = self.cited(requirement.specification);
        let section = cited
            .specification()
            .zip(requirement.section)
            .map(|(text, s)| text.sections[s].id.as_str());
        let target = &self.snapshot.analysis.annotation(requirement.annotation).target;
        let section = section.or(target.section.as_deref()).unwrap_or_default();
        let (specification, id) = (
            &self.ids[requirement.specification],
            &self.snapshot.requirement_ids[index],
        );
        format!("/specifications/{specification}/sections/{section}/requirements/{id}")
    }

    /// One requirement with its state, by index.
    pub fn status(&self, index: usize) -> RequirementStatus {
        let requirement = &self.snapshot.analysis.requirements[index];
        let entry = self.requirement(index);
        RequirementStatus {
            identifier: entry.identifier,
            full_path: entry.full_path,
            text: entry.text,
            status: requirement.coverage.label(),
            machine_status: requirement.coverage.status().name(),
            level: requirement.level.name(),
            coverage: CoveredBytes::of(&requirement.coverage),
            places: self.places(index),
            citations: self.requirement_citations(index),
        }
    }

    /// Where a requirement is stated.
    fn places(&self, index: usize) -> Vec<String> {
        let statements = self.snapshot.statements(index).iter();
        let requirements = &self.snapshot.analysis.requirements;
        statements
            .map(|index| self.place(requirements[*index].annotation))
            .collect()
    }

    fn text(&self, requirement: &Requirement) -> String {
        let annotation = self.snapshot.analysis.annotation(requirement.annotation);
        if annotation.details().context.is_empty() {
            annotation.quote.to_string()
        } else {
            format!("{} {}", annotation.details().context, annotation.quote)
        }
    }

    /// `file:line` of an annotation.
    pub fn place(&self, id: u32) -> String {
        let annotation = self.snapshot.analysis.annotation(id);
        format!("{}:{}", annotation.source, annotation.line)
    }

    fn cited(&self, index: usize) -> &Cited {
        &self.snapshot.analysis.specifications[index]
    }
}

fn specification_id(name: &str) -> String {
    match rfc_number(name) {
        Some(number) => format!("rfc{number}"),
        None if is_url(name) => slug::slugify(name.split_once("://").map_or(name, |(_, rest)| rest)),
        None => slug::slugify(name),
    }
}
