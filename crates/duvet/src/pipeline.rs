//! The way from a project's files to what they mean together, stage by stage.
//!
//! Each stage is a function from what the stage before it gave. What a stage worked out is left in the [`Memo`], and the
//! same stage asks there first at the next pass: the pipeline knows the order of the work, the memo knows what of it is
//! still true.

use crate::aggregate;
use crate::analysis::{Analysis, MatchedFile, Project};
use crate::config::{CONFIG_PATH, Config, SpecificationSource};
use crate::diagnostic::{Code, Diagnostic};
use crate::fence::{Fence, Names};
use crate::loader::{LoadedSpecification, SpecificationRequest};
use crate::locator::SpecificationLocator;
use crate::lockfile::{LOCK_PATH, LockFile};
use crate::memo::{Extracted, Memo};
use crate::nearest::{self, NameIndex};
use crate::resolve::resolve;
use crate::source::{self, Discovered, FileFacts, Input, Reading, discover};
use crate::target;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Says of a file whether it surely holds what it held at the last pass.
pub type Unchanged<'a> = dyn Fn(&Path) -> bool + Sync + 'a;

/// The project's files as they were read at one moment, extracted requirements aside.
#[derive(Debug)]
pub struct Inputs {
    /// Every file outside the folder of extracted requirements, by path.
    pub(crate) sources: Vec<ParsedFile>,
    /// Files in that folder; those that extraction writes are not read.
    pub(crate) extracted: Vec<Input>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The lock file's text.
    pub(crate) lock: String,
}

/// A file and what it says.
pub(crate) type ParsedFile = (Input, Arc<FileFacts>);

/// Everything that a pass reads.
pub(crate) struct Loaded {
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) lock: String,
    /// Names of the requirement files that extraction writes.
    written: HashSet<String>,
    files: Vec<ParsedFile>,
    specifications: Vec<Arc<LoadedSpecification>>,
}

//= specs/duvet.md#tolerance
//# A fault in one input MUST NOT keep the report from being written.
/// Reads, matches and counts. What the memo still knows from an earlier pass is not worked out again.
pub fn analyse(project: &Project, memo: &mut Memo) -> Analysis {
    let inputs = read_inputs(project, memo);
    analyse_inputs(project, memo, inputs)
}

/// The first half: every file is found, read, hashed and parsed.
pub fn read_inputs(project: &Project, memo: &mut Memo) -> Inputs {
    let found = discover(&project.root, &project.config);
    Pass::new(project, &|_| false).read(memo, &found)
}

/// The second half: specifications are read, quotes matched and requirements counted.
pub fn analyse_inputs(project: &Project, memo: &mut Memo, inputs: Inputs) -> Analysis {
    let loaded = Pass::new(project, &|_| false).load(memo, inputs);
    conclude(project, memo, loaded)
}

/// What all that was read means together.
pub(crate) fn conclude(project: &Project, memo: &mut Memo, mut loaded: Loaded) -> Analysis {
    let matched = match_quotes(memo, &loaded.files, &loaded.specifications);
    let mut analysis = aggregate::build(&matched, &loaded.specifications, project);
    analysis.diagnostics.append(&mut loaded.diagnostics);
    suggest_texts(memo, &mut analysis.diagnostics);
    mark_stale(project, &loaded.written, &mut analysis.diagnostics);
    aggregate::sort_diagnostics(&mut analysis.diagnostics);
    analysis
}

/// One pass over a project: what it reads, and which files need not be read again.
pub(crate) struct Pass<'a> {
    project: &'a Project,
    is_unchanged: &'a Unchanged<'a>,
}

impl<'a> Pass<'a> {
    pub(crate) fn new(project: &'a Project, is_unchanged: &'a Unchanged<'a>) -> Self {
        Self {
            project,
            is_unchanged,
        }
    }

    /// Reads the project's files, those in the folder of extracted requirements aside.
    pub(crate) fn read(&self, memo: &mut Memo, found: &Discovered) -> Inputs {
        let folder = format!("{}/", self.project.config.extracted.display());
        let (extracted, sources): (Vec<Input>, Vec<Input>) = found
            .inputs
            .iter()
            .cloned()
            .partition(|input| input.name.starts_with(&folder));
        memo.progress.done.store(0, Ordering::Relaxed);
        memo.progress.total.store(sources.len(), Ordering::Relaxed);
        memo.files_read = 0;
        let is_unchanged = |path: &Path| {
            let is_linked = path.to_str().is_some_and(|name| found.linked.contains(name));
            !is_linked && (self.is_unchanged)(path)
        };
        let sources = Pass::new(self.project, &is_unchanged).parse_files(memo, sources);
        let mut diagnostics = found.diagnostics.clone();
        let fence = Fence::new(&self.project.root, &self.project.config.allowed);
        let lock = fence.read_settings(&self.project.root.join(LOCK_PATH));
        let lock = lock.unwrap_or_else(|problem| {
            let message = format!("the lock file cannot be read: {problem}");
            diagnostics.push(Diagnostic::of_file(Code::FileUnreadable, message, LOCK_PATH));
            String::new()
        });
        Inputs {
            sources,
            extracted,
            diagnostics,
            lock,
        }
    }

    /// Reads what the inputs need beside them: configured specifications, their requirements, cited specifications.
    pub(crate) fn load(&self, memo: &mut Memo, mut inputs: Inputs) -> Loaded {
        let locator = SpecificationLocator::new(&self.project.root, &self.project.config);
        let mut diagnostics = std::mem::take(&mut inputs.diagnostics);
        let extracted = self.extract_requirements(memo, &locator, &mut diagnostics);
        diagnostics.extend(unread(&self.project.config, &extracted));
        let files = self.parse_requirements(memo, &inputs, &extracted);
        let specifications = self.load_specifications(memo, &locator, &files);
        diagnostics.extend(check_lock(&inputs.lock, &specifications));
        Loaded {
            diagnostics,
            lock: inputs.lock,
            written: extracted.into_iter().map(|(name, _)| name).collect(),
            files,
            specifications,
        }
    }

    fn parse_files(&self, memo: &mut Memo, inputs: Vec<Input>) -> Vec<ParsedFile> {
        let (known, progress) = (&memo.files, &memo.progress);
        let facts: Vec<(Arc<FileFacts>, bool)> = inputs
            .par_iter()
            .map(|input| {
                progress.done.fetch_add(1, Ordering::Relaxed);
                let old = known.get(input).filter(|old| old.hash != [0; 32]);
                let is_unchanged = |old: &&Arc<FileFacts>| {
                    old.names == Names::One && (self.is_unchanged)(Path::new(&*input.name))
                };
                if let Some(old) = old.filter(is_unchanged) {
                    return (Arc::clone(old), false);
                }
                let facts = source::read(&self.project.root, input, old);
                let is_new = old.is_none_or(|old| !Arc::ptr_eq(old, &facts));
                (facts, is_new)
            })
            .collect();
        memo.files_read += facts.iter().filter(|(_, is_new)| *is_new).count();
        let facts = facts.into_iter().map(|(facts, _)| facts);
        inputs.into_iter().zip(facts).collect()
    }

    /// Requirement files of the configured specifications, as they would be written.
    fn extract_requirements(
        &self,
        memo: &mut Memo,
        locator: &SpecificationLocator,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Extracted {
        let config = &self.project.config;
        let (specifications, known) = (&memo.specifications, &memo.extracted);
        let read = |configured: &SpecificationSource| {
            let (file, line, excerpt) = config.locations.of(&configured.source);
            let request = SpecificationRequest {
                name: &configured.source,
                format: configured.format,
                cited: (file, line),
                beside: CONFIG_PATH,
                excerpt,
            };
            let known_text = specifications.get(&*target::key(request.name));
            let loaded = LoadedSpecification::renew(locator, &request, known_text, self.is_unchanged);
            let files = match known.get(&*target::key(&configured.source)) {
                Some((known, files)) if Arc::ptr_eq(known, &loaded) => files.clone(),
                _ => crate::extraction::render(&loaded, config),
            };
            (loaded, files)
        };
        let rows: Vec<(Arc<LoadedSpecification>, Extracted)> =
            config.specifications.par_iter().map(read).collect();
        let mut all = Vec::new();
        let mut extracted = HashMap::new();
        for (configured, (loaded, files)) in config.specifications.iter().zip(rows) {
            diagnostics.extend(loaded.diagnostic.clone());
            all.extend(files.iter().cloned());
            let name = &configured.source;
            let key = target::key(name).into_owned();
            memo.specifications.insert(key.clone(), Arc::clone(&loaded));
            extracted.insert(key, (loaded, files));
        }
        memo.extracted = extracted;
        all
    }

    /// What all files say, in the order of their paths. Extracted requirements stand in for their files on disk.
    fn parse_requirements(&self, memo: &mut Memo, inputs: &Inputs, extracted: &Extracted) -> Vec<ParsedFile> {
        let texts: HashMap<&str, &Arc<str>> = extracted
            .iter()
            .map(|(name, text)| (name.as_str(), text))
            .collect();
        let on_disk = inputs.extracted.iter();
        let on_disk = on_disk.filter(|input| !texts.contains_key(&*input.name));
        let mut files = self.parse_files(memo, on_disk.cloned().collect());
        files.extend(inputs.sources.iter().cloned());
        let reading = Arc::new(Reading::of_requirements(&self.project.config));
        let is_meant = crate::paths::matcher(&self.project.config.requirements);
        let texts: Vec<(Input, &Arc<str>)> = texts
            .into_iter()
            .filter(|(name, _)| is_meant(name))
            .map(|(name, text)| {
                let input = Input {
                    name: name.into(),
                    reading: Arc::clone(&reading),
                };
                (input, text)
            })
            .collect();
        let known = &memo.files;
        let parsed: Vec<(ParsedFile, bool)> = texts
            .into_par_iter()
            .map(|(input, text)| {
                let hash = blake3::hash(text.as_bytes());
                match known.get(&input).filter(|old| old.hash == *hash.as_bytes()) {
                    Some(old) => ((input, Arc::clone(old)), false),
                    None => {
                        let facts = Arc::new(source::parse(&input, text, hash));
                        ((input, facts), true)
                    }
                }
            })
            .collect();
        memo.files_read += parsed.iter().filter(|(_, is_new)| *is_new).count();
        files.extend(parsed.into_iter().map(|(file, _)| file));
        files.sort_by(|(a, _), (b, _)| target::path_order(&a.name, &b.name));
        memo.files = files.iter().cloned().collect();
        files
    }

    /// The specifications that the files cite, by name.
    fn load_specifications(
        &self,
        memo: &mut Memo,
        locator: &SpecificationLocator,
        files: &[ParsedFile],
    ) -> Vec<Arc<LoadedSpecification>> {
        let requests = requests(self.project, files);
        // What extraction read in this pass is not read again.
        let just_read = &memo.extracted;
        let known = &memo.specifications;
        let cited: Vec<_> = requests
            .par_iter()
            .map(|request| match just_read.get(&*target::key(request.name)) {
                Some((loaded, _)) if loaded.format == request.format => Arc::clone(loaded),
                _ => {
                    let known = known.get(&*target::key(request.name));
                    LoadedSpecification::renew(locator, request, known, self.is_unchanged)
                }
            })
            .collect();
        let names: HashSet<_> = cited.iter().map(|loaded| loaded.key()).collect();
        let configured = memo.extracted.values().map(|(loaded, _)| Arc::clone(loaded));
        let uncited = configured.filter(|loaded| !names.contains(&loaded.key()));
        let all: Vec<_> = cited.iter().cloned().chain(uncited).collect();
        memo.specifications = all
            .into_iter()
            .map(|loaded| (loaded.key().into_owned(), loaded))
            .collect();
        cited
    }
}

/// A configuration in another folder has its requirements beside it, where no pattern may look.
fn unread(config: &Config, extracted: &Extracted) -> Option<Diagnostic> {
    let is_meant = crate::paths::matcher(&config.requirements);
    if extracted.is_empty() || extracted.iter().any(|(name, _)| is_meant(name)) {
        return None;
    }
    let folder = config.extracted.display();
    let message = format!("the requirements in `{folder}` are extracted and not read");
    let help = format!("add `[[requirement]]` with `pattern = \"{folder}/**/*.toml\"`");
    let found = Diagnostic::of_file(Code::RequirementsUnread, message, &*config.locations.file);
    Some(found.help(help))
}

/// One request for each cited specification, in the order of their names.
fn requests<'f>(project: &'f Project, files: &'f [ParsedFile]) -> Vec<SpecificationRequest<'f>> {
    let formats: HashMap<Cow<'_, str>, _> = project
        .config
        .specifications
        .iter()
        .map(|s| (target::key(&s.source), s.format))
        .collect();
    let mut requests: HashMap<&str, SpecificationRequest<'_>> = HashMap::new();
    // Citations of one specification stand together: most of them need no search.
    let mut last: Option<&Arc<target::Target>> = None;
    for (_, facts) in files {
        for (index, annotation) in facts.annotations.iter().enumerate() {
            if annotation.format.is_none() && last.is_some_and(|last| Arc::ptr_eq(last, &annotation.target)) {
                continue;
            }
            last = Some(&annotation.target);
            let key = annotation.target.key();
            let request = requests.entry(key).or_insert_with(|| SpecificationRequest {
                name: &annotation.target.specification,
                format: formats.get(key).copied().flatten(),
                cited: (&annotation.source, annotation.line),
                beside: &annotation.source,
                excerpt: facts.cited_lines.excerpt(index),
            });
            request.format = request.format.or(annotation.format);
        }
    }
    let mut requests: Vec<_> = requests.into_values().collect();
    requests.sort_unstable_by(|a, b| target::order(a.name).cmp(&target::order(b.name)));
    requests
}

/// Texts that are not the locked ones.
fn check_lock(lock: &str, specifications: &[Arc<LoadedSpecification>]) -> Vec<Diagnostic> {
    let (lock, mut found) = LockFile::parse(lock);
    let check = |loaded: &Arc<LoadedSpecification>| lock.check(&loaded.name, || loaded.hash());
    found.extend(specifications.iter().filter_map(check));
    found
}

/// Every quote against its specification.
fn match_quotes(
    memo: &mut Memo,
    files: &[ParsedFile],
    specifications: &[Arc<LoadedSpecification>],
) -> Vec<Arc<MatchedFile>> {
    let by_name: ByName<'_> = specifications
        .iter()
        .map(|loaded| (loaded.key(), loaded))
        .collect();
    let known = &memo.matched;
    let matched: Vec<Arc<MatchedFile>> = files
        .par_iter()
        .map(|(input, facts)| match known.get(input) {
            Some(old) if Arc::ptr_eq(&old.facts, facts) && are_current(&old.specifications, &by_name) => {
                Arc::clone(old)
            }
            _ => match_file(facts, &by_name),
        })
        .collect();
    let inputs = files.iter().map(|(input, _)| input.clone());
    memo.matched = inputs.zip(matched.iter().cloned()).collect();
    matched
}

type ByName<'a> = HashMap<Cow<'a, str>, &'a Arc<LoadedSpecification>>;

fn are_current(used: &[Arc<LoadedSpecification>], by_name: &ByName<'_>) -> bool {
    used.iter().all(|loaded| {
        by_name
            .get(&*loaded.key())
            .is_some_and(|now| Arc::ptr_eq(now, loaded))
    })
}

fn match_file(facts: &Arc<FileFacts>, by_name: &ByName<'_>) -> Arc<MatchedFile> {
    let mut file = MatchedFile {
        facts: Arc::clone(facts),
        matches: Vec::with_capacity(facts.annotations.len()),
        diagnostics: Vec::new(),
        specifications: Vec::new(),
    };
    let mut last: Option<(&Arc<target::Target>, &Arc<LoadedSpecification>)> = None;
    for (index, annotation) in facts.annotations.iter().enumerate() {
        let target = &annotation.target;
        let loaded = match last.filter(|(last, _)| Arc::ptr_eq(last, target)) {
            Some((_, loaded)) => loaded,
            // Every specification that a file cites was requested from the same list of files, so it is there.
            None => by_name[target.key()],
        };
        last = Some((target, loaded));
        let (found, diagnostic) = resolve(annotation, loaded);
        file.matches.push(found);
        let excerpt = || facts.cited_lines.excerpt(index);
        file.diagnostics
            .extend(diagnostic.map(|diagnostic| diagnostic.showing(excerpt())));
        if !file.specifications.iter().any(|known| Arc::ptr_eq(known, loaded)) {
            file.specifications.push(Arc::clone(loaded));
        }
    }
    Arc::new(file)
}

/// One slip in so many characters of a path.
const MIN_CHARS_PER_SLIP: usize = 8;

//= specs/duvet.md#tolerance
//# A citation of a text that is not here MUST be reported with the nearest name of one that is.
/// A path or an address with a slip of the hand in it is that of a text which is not here.
fn suggest_texts(memo: &Memo, diagnostics: &mut [Diagnostic]) {
    let is_missing = |found: &Diagnostic| found.code == Code::SpecificationMissing;
    let all = memo.specifications.values();
    let (here, missing): (Vec<_>, Vec<_>) = all.partition(|loaded| loaded.specification.is_some());
    let mut here: Vec<&str> = here.into_iter().map(|loaded| loaded.name.as_str()).collect();
    here.sort_unstable();
    let index = NameIndex::new(here.iter().map(|name| (*name, "")));
    let suggested: HashMap<&str, &str> = missing
        .into_iter()
        .filter_map(|loaded| {
            let found = loaded.diagnostic.as_ref().filter(|found| is_missing(found))?;
            let name = here[index.nearest(&loaded.name, |number| (here[number], ""))?];
            // Much of a path is its folder, which says little: fewer slips are allowed than in a word.
            let limit = (name.chars().count() / MIN_CHARS_PER_SLIP).max(2);
            nearest::within(&loaded.name, name, limit)?;
            Some((found.message.as_str(), name))
        })
        .collect();
    for found in diagnostics.iter_mut().filter(|found| is_missing(found)) {
        if let Some(name) = suggested.get(found.message.as_str()) {
            let usual = found.help.take().unwrap_or_default();
            found.help = Some(format!("did you mean `{name}`? If not, {usual}"));
        }
    }
}

/// A requirement file that extraction no longer writes and whose text is gone is left over from an earlier one.
//= specs/duvet.md#tolerance
//# A requirement file left over from an earlier extraction MUST be reported as stale and not as a broken citation.
fn mark_stale(project: &Project, written: &HashSet<String>, diagnostics: &mut [Diagnostic]) {
    let folder = format!("{}/", project.config.extracted.display());
    let is_lost = |code| {
        matches!(
            code,
            Code::SectionUnknown | Code::QuoteMissing | Code::QuoteMoved | Code::QuoteDrifted
        ) || code == Code::QuoteMeaningChanged
    };
    for diagnostic in diagnostics {
        let is_left = diagnostic.file.starts_with(&folder) && !written.contains(diagnostic.file.as_str());
        if is_left && is_lost(diagnostic.code) {
            diagnostic.code = Code::RequirementStale;
            diagnostic.severity = diagnostic.code.severity();
            diagnostic.help = Some("the specification no longer says this; delete the file".to_owned());
        }
    }
}
