//! What is kept between two looks at a project: what is known of a file holds for as long as its bytes are the same.
//!
//! Bytes decide, never size and time: those can be restored, frozen or equal by chance. A file is read once in a look;
//! the hash that names it is that of the very bytes that were analysed.

use crate::analysis::{MatchedFile, Project};
use crate::config::SpecificationSource;
use crate::diagnostic::Diagnostic;
use crate::fence;
use crate::library::{self, Lock, Places};
use crate::resolve::resolve;
use crate::shelf::{Order, Volume};
use crate::source::{self, Discovered, FileFacts, Input, Reading};
use crate::target;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Store {
    files: HashMap<Input, Arc<FileFacts>>,
    volumes: HashMap<String, Arc<Volume>>,
    matched: HashMap<Input, Arc<MatchedFile>>,
    extracted: HashMap<String, (Arc<Volume>, Extracted)>,
    /// How many files were read and not known in the last look.
    pub files_read: usize,
    /// How far the look that is going on has come.
    pub progress: Arc<Progress>,
}

/// Says of a file whether it surely holds what it held at the last look.
pub type Unchanged<'a> = dyn Fn(&Path) -> bool + Sync + 'a;

/// Files of the look that is going on, for whoever draws a bar.
#[derive(Debug, Default)]
pub struct Progress {
    /// Files looked at so far.
    pub done: AtomicUsize,
    /// All files.
    pub total: AtomicUsize,
}

/// The project's files as they were read at one moment, extracted requirements aside.
#[derive(Debug)]
pub struct Gathered {
    /// Every file outside the folder of extracted requirements, by path.
    pub(crate) sources: Vec<(Input, Arc<FileFacts>)>,
    /// Files in that folder; those that extraction writes are not read.
    pub(crate) left: Vec<Input>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The lock file's text.
    pub(crate) lock: String,
}

/// Requirement files as extraction would write them: name and text.
pub(crate) type Extracted = Vec<(String, Arc<str>)>;

impl Store {
    /// Requirement files of the configured specifications, as they would be written.
    pub(crate) fn extract(
        &mut self,
        project: &Project,
        places: &Places,
        is_unchanged: &Unchanged<'_>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Extracted {
        let (volumes, known) = (&self.volumes, &self.extracted);
        let read = |configured: &SpecificationSource| {
            let order = Order {
                name: &configured.source,
                format: configured.format,
                cited: (crate::config::CONFIG_PATH, 1),
            };
            let volume = Volume::renew(places, &order, volumes.get(order.name), is_unchanged);
            let files = match known.get(&configured.source) {
                Some((known, files)) if Arc::ptr_eq(known, &volume) => files.clone(),
                _ => crate::extraction::render(&volume, &project.config),
            };
            (volume, files)
        };
        let rows: Vec<(Arc<Volume>, Extracted)> =
            project.config.specifications.par_iter().map(read).collect();
        let mut all = Vec::new();
        let mut extracted = HashMap::new();
        for (configured, (volume, files)) in project.config.specifications.iter().zip(rows) {
            diagnostics.extend(volume.diagnostic.clone());
            all.extend(files.iter().cloned());
            self.volumes
                .insert(configured.source.clone(), Arc::clone(&volume));
            extracted.insert(configured.source.clone(), (volume, files));
        }
        self.extracted = extracted;
        all
    }

    /// Requirement files of the last look, as they are to be written: name and text.
    pub fn extracted(&self) -> impl Iterator<Item = &(String, Arc<str>)> {
        self.extracted.values().flat_map(|(_, files)| files)
    }

    /// Texts that are not the locked ones.
    pub(crate) fn check_lock(lock: &str, volumes: &[Arc<Volume>]) -> Vec<Diagnostic> {
        let (lock, mut found) = Lock::parse(lock);
        let texts = volumes.iter().filter_map(|volume| Some((volume, volume.hash()?)));
        found.extend(texts.filter_map(|(volume, hash)| lock.check(&volume.name, &hash)));
        found
    }

    /// The specifications of the last look.
    pub fn volumes(&self) -> Vec<Arc<Volume>> {
        self.volumes.values().cloned().collect()
    }

    /// The files of the last look: name and hash of the bytes.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8; 32])> {
        self.files
            .iter()
            .map(|(input, facts)| (&*input.name, &facts.hash))
    }

    /// A name for what was read in the last look: equal settings and equal texts give the equal name.
    pub(crate) fn fingerprint(&self, project: &Project, said: &[Diagnostic], lock: &str) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(format!("{:?}{}{said:?}", project.config, project.strict).as_bytes());
        hasher.update(blake3::hash(lock.as_bytes()).as_bytes());
        let mut files: Vec<_> = self
            .files
            .iter()
            .map(|(input, facts)| (&input.name, &facts.hash, facts.diagnostics.len()))
            .collect();
        files.sort_unstable();
        for (name, hash, faults) in files {
            hasher.update(name.as_bytes()).update(&[0]).update(hash);
            hasher.update(&faults.to_le_bytes());
        }
        let mut volumes: Vec<_> = self
            .volumes
            .values()
            .map(|volume| (&volume.name, volume.hash()))
            .collect();
        volumes.sort_unstable();
        for (name, hash) in volumes {
            hasher.update(name.as_bytes()).update(&[hash.is_some().into()]);
            hasher.update(&hash.unwrap_or_default());
        }
        hasher.finalize().to_hex().as_str()[..16].to_owned()
    }

    /// Reads the project's files, those in the folder of extracted requirements aside.
    pub(crate) fn gather(
        &mut self,
        project: &Project,
        found: &Discovered,
        is_unchanged: &Unchanged<'_>,
    ) -> Gathered {
        let folder = format!("{}/", project.config.extracted.display());
        let (left, sources): (Vec<Input>, Vec<Input>) = found
            .inputs
            .iter()
            .cloned()
            .partition(|input| input.name.starts_with(&folder));
        self.progress.done.store(0, Ordering::Relaxed);
        self.progress.total.store(sources.len(), Ordering::Relaxed);
        self.files_read = 0;
        let is_unchanged = |path: &Path| {
            let is_linked = path.to_str().is_some_and(|name| found.linked.contains(name));
            !is_linked && is_unchanged(path)
        };
        let sources = self.read(project, sources, &is_unchanged);
        Gathered {
            sources,
            left,
            diagnostics: found.diagnostics.clone(),
            lock: fence::read_settings(&project.root.join(library::LOCK_PATH)),
        }
    }

    fn read(
        &mut self,
        project: &Project,
        inputs: Vec<Input>,
        is_unchanged: &Unchanged<'_>,
    ) -> Vec<(Input, Arc<FileFacts>)> {
        let (known, progress) = (&self.files, &self.progress);
        let facts: Vec<(Arc<FileFacts>, bool)> = inputs
            .par_iter()
            .map(|input| {
                progress.done.fetch_add(1, Ordering::Relaxed);
                let old = known.get(input).filter(|old| old.hash != [0; 32]);
                if let Some(old) = old.filter(|_| is_unchanged(Path::new(&*input.name))) {
                    return (Arc::clone(old), false);
                }
                let facts = source::read(&project.root, input, old);
                let is_new = old.is_none_or(|old| !Arc::ptr_eq(old, &facts));
                (facts, is_new)
            })
            .collect();
        self.files_read += facts.iter().filter(|(_, is_new)| *is_new).count();
        let facts = facts.into_iter().map(|(facts, _)| facts);
        inputs.into_iter().zip(facts).collect()
    }

    /// What all files say, in the order of their paths. Extracted requirements stand in for their files on disk.
    pub(crate) fn complete(
        &mut self,
        project: &Project,
        gathered: &Gathered,
        extracted: &Extracted,
        is_unchanged: &Unchanged<'_>,
    ) -> Vec<(Input, Arc<FileFacts>)> {
        let texts: HashMap<&str, &Arc<str>> = extracted
            .iter()
            .map(|(name, text)| (name.as_str(), text))
            .collect();
        let left = gathered
            .left
            .iter()
            .filter(|input| !texts.contains_key(&*input.name));
        let mut rows = self.read(project, left.cloned().collect(), is_unchanged);
        rows.extend(gathered.sources.iter().cloned());
        let reading = Arc::new(Reading::Requirements);
        let is_meant = crate::paths::matcher(&project.config.requirements);
        let texts: Vec<(Input, &Arc<str>)> = texts
            .into_iter()
            .filter(|(name, _)| is_meant(name))
            .map(|(name, text)| {
                let reading = Arc::clone(&reading);
                (
                    Input {
                        name: name.into(),
                        reading,
                    },
                    text,
                )
            })
            .collect();
        let known = &self.files;
        let parsed: Vec<(Input, Arc<FileFacts>, bool)> = texts
            .into_par_iter()
            .map(|(input, text)| {
                let hash = blake3::hash(text.as_bytes());
                match known.get(&input).filter(|old| old.hash == *hash.as_bytes()) {
                    Some(old) => (input, Arc::clone(old), false),
                    None => {
                        let facts = Arc::new(source::parse(&input, text));
                        (input, facts, true)
                    }
                }
            })
            .collect();
        self.files_read += parsed.iter().filter(|(.., is_new)| *is_new).count();
        rows.extend(parsed.into_iter().map(|(input, facts, _)| (input, facts)));
        rows.sort_by(|(a, _), (b, _)| target::path_order(&a.name, &b.name));
        self.files = rows.iter().cloned().collect();
        rows
    }

    /// The specifications that the files cite, by name.
    pub(crate) fn shelve(
        &mut self,
        project: &Project,
        places: &Places,
        files: &[(Input, Arc<FileFacts>)],
        is_unchanged: &Unchanged<'_>,
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
        // What extraction read in this look is not read again.
        let just_read = &self.extracted;
        let known = &self.volumes;
        let volumes: Vec<_> = orders
            .par_iter()
            .map(|order| match just_read.get(order.name) {
                Some((volume, _)) if volume.format == order.format => Arc::clone(volume),
                _ => Volume::renew(places, order, known.get(order.name), is_unchanged),
            })
            .collect();
        let cited: std::collections::HashSet<&str> = volumes.iter().map(|v| v.name.as_str()).collect();
        let configured = self
            .extracted
            .values()
            .map(|(volume, _)| Arc::clone(volume))
            .filter(|volume| !cited.contains(volume.name.as_str()))
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
