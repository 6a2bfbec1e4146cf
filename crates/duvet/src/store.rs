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
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Everything that was read, with what says whether it is still true.
#[derive(Debug, Default)]
pub struct Store {
    files: HashMap<Input, (Option<Stamp>, Arc<FileFacts>)>,
    volumes: HashMap<String, Arc<Volume>>,
    matched: HashMap<Input, (Arc<MatchedFile>, Vec<Arc<Volume>>)>,
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

    /// Whether another look would find exactly what the last one found.
    pub(crate) fn is_current(&self, project: &Project) -> bool {
        let (inputs, _) = source::discover(&project.root, &project.config);
        let virtual_files = self.virtual_files();
        let on_disk = inputs
            .iter()
            .filter(|input| !virtual_files.contains(&*input.name))
            .count();
        let is_known = |input: &Input| {
            virtual_files.contains(&*input.name)
                || self.files.get(input).is_some_and(|(stamp, _)| {
                    stamp.is_some() && *stamp == Stamp::of(&project.root.join(&*input.name))
                })
        };
        on_disk + virtual_files.len() == self.files.len()
            && self.lock == Stamp::of(&project.root.join(library::LOCK_PATH))
            && inputs.par_iter().all(is_known)
            && self
                .volumes
                .values()
                .all(|volume| volume.is_unchanged(&project.root, &project.config.downloads))
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

    fn virtual_files(&self) -> HashSet<&str> {
        self.extracted().map(|(name, _)| name.as_str()).collect()
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
        let (known, progress) = (&self.files, &self.progress);
        progress.done.store(0, Ordering::Relaxed);
        progress.total.store(inputs.len(), Ordering::Relaxed);
        let looked: Vec<_> = inputs
            .into_par_iter()
            .map(|input| {
                progress.done.fetch_add(1, Ordering::Relaxed);
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
