//! What is kept between two looks at a project: files that did not change are not read again.

use crate::analysis::{MatchedFile, Project};
use crate::diagnostic::Diagnostic;
use crate::library::{self, Lock};
use crate::resolve::resolve;
use crate::shelf::{Order, Volume};
use crate::source::{self, FileFacts, Input, Reading, Stamp};
use crate::target;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Everything that was read, with what says whether it is still true.
#[derive(Debug, Default)]
pub struct Store {
    files: HashMap<Input, (Option<Stamp>, Arc<FileFacts>)>,
    volumes: HashMap<String, Arc<Volume>>,
    matched: HashMap<Input, Arc<MatchedFile>>,
    extracted: HashMap<String, (Arc<Volume>, Extracted)>,
    lock: Option<Stamp>,
    /// How many files were read in the last look.
    pub files_read: usize,
    /// How far the look that is going on has come.
    pub progress: Arc<Progress>,
}

/// Files of the look that is going on, for whoever draws a bar.
#[derive(Debug, Default)]
pub struct Progress {
    /// Files looked at so far.
    pub done: AtomicUsize,
    /// All files.
    pub total: AtomicUsize,
}

/// The project's files at one moment: which they are, and what says whether they changed.
#[derive(Debug)]
pub(crate) struct Survey {
    inputs: Vec<(Input, Option<Stamp>)>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Survey {
    pub(crate) fn of(project: &Project) -> Self {
        let (inputs, diagnostics) = source::discover(&project.root, &project.config);
        let stamped = inputs.into_par_iter().map(|input| {
            let stamp = Stamp::of(&project.root.join(&*input.name));
            (input, stamp)
        });
        Self {
            inputs: stamped.collect(),
            diagnostics,
        }
    }
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

    /// Texts that are not the locked ones.
    pub(crate) fn check_lock(&mut self, project: &Project, volumes: &[Arc<Volume>]) -> Vec<Diagnostic> {
        let path = project.root.join(library::LOCK_PATH);
        let stamp = Stamp::of(&path);
        let (lock, mut found) = Lock::parse(&std::fs::read_to_string(path).unwrap_or_default());
        let texts = volumes.iter().filter(|volume| volume.specification.is_some());
        found.extend(texts.filter_map(|volume| lock.check(&volume.name, &volume.hash())));
        self.lock = stamp;
        found
    }

    /// The specifications of the last look.
    pub fn volumes(&self) -> Vec<Arc<Volume>> {
        self.volumes.values().cloned().collect()
    }

    /// Whether a look at what was surveyed would find exactly what the last one found.
    pub(crate) fn is_current(&self, project: &Project, survey: &Survey) -> bool {
        let written: HashSet<&str> = self.extracted().map(|(name, _)| name.as_str()).collect();
        let on_disk = survey
            .inputs
            .iter()
            .filter(|(input, _)| !written.contains(&*input.name))
            .count();
        let is_known = |(input, stamp): &(Input, Option<Stamp>)| {
            let is_same = || {
                self.files
                    .get(input)
                    .is_some_and(|(known, _)| stamp.is_some() && known == stamp)
            };
            written.contains(&*input.name) || is_same()
        };
        let is_unchanged =
            |volume: &Arc<Volume>| volume.is_unchanged(&project.root, &project.config.downloads);
        on_disk + written.len() == self.files.len()
            && self.lock == Stamp::of(&project.root.join(library::LOCK_PATH))
            && survey.inputs.iter().all(is_known)
            && self.volumes.values().all(is_unchanged)
    }

    /// A name for what was read in the last look: equal settings and equal texts give the equal name.
    pub(crate) fn fingerprint(&self, project: &Project) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(format!("{:?}{}", project.config, project.strict).as_bytes());
        let mut files: Vec<_> = self
            .files
            .iter()
            .map(|(input, (_, facts))| (&input.name, &facts.hash))
            .collect();
        files.sort_unstable();
        for (name, hash) in files {
            hasher.update(name.as_bytes()).update(&[0]).update(hash);
        }
        let mut volumes: Vec<_> = self
            .volumes
            .values()
            .map(|volume| (&volume.name, volume.hash()))
            .collect();
        volumes.sort_unstable();
        for (name, hash) in volumes {
            hasher.update(name.as_bytes()).update(&[0]).update(&hash);
        }
        hasher.finalize().to_hex().as_str()[..16].to_owned()
    }

    /// What all files say, in the order of their paths. Extracted requirements stand in for their files on disk.
    pub(crate) fn read(
        &mut self,
        project: &Project,
        survey: Survey,
        extracted: &Extracted,
    ) -> Vec<(Input, Arc<FileFacts>)> {
        let texts: HashMap<&str, &Arc<str>> = extracted
            .iter()
            .map(|(name, text)| (name.as_str(), text))
            .collect();
        let mut inputs = survey.inputs;
        inputs.retain(|(input, _)| !texts.contains_key(&*input.name));
        inputs.extend(texts.iter().map(|(name, text)| {
            let input = Input {
                name: (*name).into(),
                reading: Arc::new(Reading::Requirements),
            };
            (input, Some(Stamp::of_text(text)))
        }));
        inputs.sort_by(|(a, _), (b, _)| target::path_order(&a.name, &b.name));
        let (known, progress) = (&self.files, &self.progress);
        progress.done.store(0, Ordering::Relaxed);
        progress.total.store(inputs.len(), Ordering::Relaxed);
        let facts: Vec<(Arc<FileFacts>, bool)> = inputs
            .par_iter()
            .map(|(input, stamp)| {
                progress.done.fetch_add(1, Ordering::Relaxed);
                match (known.get(input), texts.get(&*input.name)) {
                    (Some((old, facts)), _) if old == stamp && stamp.is_some() => (Arc::clone(facts), false),
                    (_, Some(text)) => (Arc::new(source::parse(input, text)), true),
                    (_, None) => (Arc::new(source::read(&project.root, input)), true),
                }
            })
            .collect();
        self.files_read = facts.iter().filter(|(_, was_read)| *was_read).count();
        let rows = inputs
            .into_iter()
            .zip(facts)
            .map(|((input, stamp), (facts, _))| (input, stamp, facts));
        let rows: Vec<_> = rows.collect();
        self.files = rows
            .iter()
            .map(|(i, stamp, facts)| (i.clone(), (*stamp, Arc::clone(facts))))
            .collect();
        rows.into_iter().map(|(input, _, facts)| (input, facts)).collect()
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
        let configured = self
            .extracted
            .values()
            .map(|(volume, _)| Arc::clone(volume))
            .collect::<Vec<_>>();
        let all = volumes.iter().cloned().chain(configured);
        self.volumes = all.map(|volume| (volume.name.clone(), volume)).collect();
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
        let looked: Vec<Arc<MatchedFile>> = files
            .par_iter()
            .map(|(input, facts)| match known.get(input) {
                Some(old) if Arc::ptr_eq(&old.facts, facts) && are_current(&old.volumes, &by_name) => {
                    Arc::clone(old)
                }
                _ => look_up_file(facts, &by_name),
            })
            .collect();
        let inputs = files.iter().map(|(input, _)| input.clone());
        self.matched = inputs.zip(looked.iter().cloned()).collect();
        looked
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

fn look_up_file(facts: &Arc<FileFacts>, by_name: &HashMap<&str, &Arc<Volume>>) -> Arc<MatchedFile> {
    let mut file = MatchedFile {
        facts: Arc::clone(facts),
        matches: Vec::with_capacity(facts.annotations.len()),
        diagnostics: Vec::new(),
        volumes: Vec::new(),
    };
    for annotation in &facts.annotations {
        // Every specification that a file cites was ordered from the same list of files, so it is there.
        let volume = by_name[annotation.target.specification.as_str()];
        let (found, diagnostic) = resolve(annotation, volume);
        file.matches.push(found);
        file.diagnostics.extend(diagnostic);
        if !file.volumes.iter().any(|known| Arc::ptr_eq(known, volume)) {
            file.volumes.push(Arc::clone(volume));
        }
    }
    Arc::new(file)
}
