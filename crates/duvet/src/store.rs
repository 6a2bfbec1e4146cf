//! What is kept between two looks at a project: files that did not change are not read again.

use crate::analysis::{MatchedFile, Project};
use crate::diagnostic::Diagnostic;
use crate::resolve::resolve;
use crate::shelf::{Order, Volume};
use crate::source::{self, FileFacts, Input, Reading, Stamp};
use crate::target;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// Everything that was read, with what says whether it is still true.
#[derive(Debug, Default)]
pub struct Store {
    files: HashMap<Input, (Option<Stamp>, Arc<FileFacts>)>,
    volumes: HashMap<String, Arc<Volume>>,
    matched: HashMap<Input, (Arc<MatchedFile>, Vec<Arc<Volume>>)>,
    extracted: HashMap<String, (Arc<Volume>, Extracted)>,
    /// How many files were read in the last look.
    pub files_read: usize,
}

/// Requirement files as extraction would write them: name and text.
pub(crate) type Extracted = Vec<(String, Arc<str>)>;

impl Store {
    /// Requirement files of the configured specifications, as they would be written.
    pub(crate) fn extract(&mut self, project: &Project, diagnostics: &mut Vec<Diagnostic>) -> Extracted {
        let mut all = Vec::new();
        for configured in &project.config.specifications {
            let order = Order {
                name: &configured.source,
                format: configured.format,
                cited: (crate::config::CONFIG_PATH, 1),
            };
            let volume = self.volume(project, &order);
            diagnostics.extend(volume.diagnostic.clone());
            let known = self
                .extracted
                .get(&configured.source)
                .filter(|(known, _)| Arc::ptr_eq(known, &volume));
            if let Some((_, files)) = known {
                all.extend(files.iter().cloned());
                continue;
            }
            let files = crate::extraction::render(&volume, &project.config);
            all.extend(files.iter().cloned());
            self.extracted.insert(configured.source.clone(), (volume, files));
        }
        all
    }

    /// Requirement files of the last look, as they are to be written: name and text.
    pub fn extracted(&self) -> impl Iterator<Item = &(String, Arc<str>)> {
        self.extracted.values().flat_map(|(_, files)| files)
    }

    /// What all files say, in the order of their paths. Extracted requirements stand in for their files on disk.
    pub(crate) fn read(
        &mut self,
        project: &Project,
        mut inputs: Vec<Input>,
        extracted: &Extracted,
    ) -> Vec<(Input, Arc<FileFacts>)> {
        let texts: HashMap<&str, &Arc<str>> = extracted
            .iter()
            .map(|(name, text)| (name.as_str(), text))
            .collect();
        let on_disk: HashSet<Arc<str>> = inputs.iter().map(|input| Arc::clone(&input.name)).collect();
        for name in texts.keys().filter(|name| !on_disk.contains(**name)) {
            inputs.push(Input {
                name: (*name).into(),
                reading: Reading::Requirements,
            });
        }
        inputs.sort_by(|a, b| Path::new(&*a.name).cmp(Path::new(&*b.name)));
        let known = &self.files;
        let looked: Vec<_> = inputs
            .into_par_iter()
            .map(|input| {
                let text = texts.get(&*input.name);
                let stamp = match text {
                    Some(text) => Some(Stamp::of_text(text)),
                    None => Stamp::of(&project.root.join(&*input.name)),
                };
                match known.get(&input) {
                    Some((old, facts)) if *old == stamp && stamp.is_some() => {
                        (input, stamp, Arc::clone(facts), false)
                    }
                    _ => {
                        let facts = match text {
                            Some(text) => source::parse(&input, text),
                            None => source::read(&project.root, &input),
                        };
                        (input, stamp, Arc::new(facts), true)
                    }
                }
            })
            .collect();
        self.files_read = looked.iter().filter(|(.., was_read)| *was_read).count();
        self.files = looked
            .iter()
            .map(|(i, stamp, facts, _)| (i.clone(), (*stamp, Arc::clone(facts))))
            .collect();
        looked
            .into_iter()
            .map(|(input, _, facts, _)| (input, facts))
            .collect()
    }

    /// The specifications that the files cite, by name.
    pub(crate) fn shelve(
        &mut self,
        project: &Project,
        files: &[(Input, Arc<FileFacts>)],
    ) -> Vec<Arc<Volume>> {
        let formats: HashMap<&str, _> = project
            .config
            .specifications
            .iter()
            .map(|s| (s.source.as_str(), s.format))
            .collect();
        let mut orders: BTreeMap<_, Order<'_>> = BTreeMap::new();
        for annotation in files.iter().flat_map(|(_, facts)| &facts.annotations) {
            let name = annotation.target.specification.as_str();
            let order = orders.entry(target::order(name)).or_insert_with(|| Order {
                name,
                format: formats.get(name).copied().flatten(),
                cited: (&annotation.source, annotation.line),
            });
            order.format = order.format.or(annotation.format);
        }
        let orders: Vec<_> = orders.into_values().collect();
        let (known, downloads) = (&self.volumes, &project.config.downloads);
        let volumes: Vec<_> = orders
            .par_iter()
            .map(|order| match known.get(order.name) {
                Some(volume) if volume.is_fresh(&project.root, downloads, order) => Arc::clone(volume),
                _ => Volume::open(&project.root, downloads, order),
            })
            .collect();
        for volume in &volumes {
            self.volumes.insert(volume.name.clone(), Arc::clone(volume));
        }
        volumes
    }

    /// Every citation against its specification.
    pub(crate) fn look_up(
        &mut self,
        files: &[(Input, Arc<FileFacts>)],
        volumes: &[Arc<Volume>],
    ) -> Vec<Arc<MatchedFile>> {
        let by_name: HashMap<&str, &Arc<Volume>> = volumes.iter().map(|v| (v.name.as_str(), v)).collect();
        let known = &self.matched;
        let looked: Vec<_> = files
            .par_iter()
            .map(|(input, facts)| match known.get(input) {
                Some((matched, used))
                    if Arc::ptr_eq(&matched.facts, facts) && are_current(used, &by_name) =>
                {
                    (Arc::clone(matched), used.clone())
                }
                _ => look_up_file(facts, &by_name),
            })
            .collect();
        let matched = looked.iter().map(|(matched, _)| Arc::clone(matched)).collect();
        self.matched = files.iter().map(|(input, _)| input.clone()).zip(looked).collect();
        matched
    }

    fn volume(&mut self, project: &Project, order: &Order<'_>) -> Arc<Volume> {
        let downloads = &project.config.downloads;
        match self.volumes.get(order.name) {
            Some(volume) if volume.is_fresh(&project.root, downloads, order) => Arc::clone(volume),
            _ => {
                let volume = Volume::open(&project.root, downloads, order);
                self.volumes.insert(order.name.to_owned(), Arc::clone(&volume));
                volume
            }
        }
    }
}

fn are_current(used: &[Arc<Volume>], by_name: &HashMap<&str, &Arc<Volume>>) -> bool {
    used.iter().all(|volume| {
        by_name
            .get(volume.name.as_str())
            .is_some_and(|now| Arc::ptr_eq(now, volume))
    })
}

fn look_up_file(
    facts: &Arc<FileFacts>,
    by_name: &HashMap<&str, &Arc<Volume>>,
) -> (Arc<MatchedFile>, Vec<Arc<Volume>>) {
    let mut matched = MatchedFile {
        facts: Arc::clone(facts),
        matches: Vec::with_capacity(facts.annotations.len()),
        diagnostics: Vec::new(),
    };
    let mut used: Vec<Arc<Volume>> = Vec::new();
    for annotation in &facts.annotations {
        let volume = by_name[annotation.target.specification.as_str()];
        let (found, diagnostic) = resolve(annotation, volume);
        matched.matches.push(found);
        matched.diagnostics.extend(diagnostic);
        if !used.iter().any(|known| Arc::ptr_eq(known, volume)) {
            used.push(Arc::clone(volume));
        }
    }
    (Arc::new(matched), used)
}
