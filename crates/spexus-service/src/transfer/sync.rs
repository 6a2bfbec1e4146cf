//! Folders of specifications and a project that follow each other, field by field.
//!
//! A map file remembers what each text was when both sides last agreed. What changed on one side since is taken over by the
//! other; what changed on both is a clash, shown with both texts, and neither is touched. A thing that is new in a file is
//! made here; one that is gone from the files is told and stays.

use super::sourced::{self, SOURCE_ID};
use super::{Imported, Progress};
use crate::{Service, project};
use async_recursion::async_recursion as boxed;
use exchange::folder::{FolderFormat, PlacedItem, edit, read};
use exchange::merge::{Merged, fingerprint, merge};
use exchange::xml::Edits;
use exchange::{SourceItem, SourceLevel};
use serde::{Deserialize, Serialize};
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::{Code, Refusal, Ruled};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Files of one folder at most.
pub const MAX_FILES: usize = 10_000;

/// A file of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncFile {
    /// Its path within the folder, with `/` between folders.
    pub path: String,
    /// What it holds.
    pub text: String,
}

/// What both sides were when they last agreed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncMap {
    /// The key of the project the folder follows.
    pub project: String,
    /// By the id of the source.
    pub items: BTreeMap<String, Agreed>,
}

/// The fingerprints of one thing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreed {
    /// Of its title.
    pub title: String,
    /// Of its text.
    pub text: String,
}

/// Both sides changed one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Clash {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The item.
    pub reference_id: String,
    /// `title` or `description`.
    pub field: &'static str,
    /// What the file says.
    pub in_file: String,
    /// What the item says.
    pub in_project: String,
}

/// What a sync did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Synced {
    /// What became of the project.
    pub imported: Imported,
    /// The files that say something else now, with what they say.
    #[serde(skip)]
    pub written: Vec<SyncFile>,
    /// Their names.
    pub files: Vec<String>,
    /// What changed on both sides.
    pub clashes: Vec<Clash>,
    /// Items whose text is in no file any more.
    pub gone: Vec<String>,
    /// What both sides agree on now.
    #[serde(skip)]
    pub map: SyncMap,
}

impl Synced {
    //= specs/exchange.md#folders
    //# A folder and a project that say the same MUST both be left as they are.
    /// Whether both sides say the same.
    pub fn is_in_sync(&self) -> bool {
        self.imported.created + self.imported.updated == 0
            && self.files.is_empty()
            && self.clashes.is_empty()
            && self.gone.is_empty()
    }
}

/// Compares a folder with a project and changes the project; the files that are to change come back with their new text.
//= specs/exchange.md#folders
//# A text that changed on one side since both last agreed MUST be taken over by the other side.
#[boxed]
pub async fn sync(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    files: &[SyncFile],
    base: &SyncMap,
    dry_run: bool,
    progress: Progress,
) -> Ruled<Synced> {
    let place = project::of_request(service, caller, project).await?;
    if !base.project.is_empty() && base.project != place.key {
        let message = format!(
            "the folder follows the project {}, not {}",
            base.project, place.key
        );
        return Err(Refusal::new(Code::RuleViolated, message)
            .hint("Name that project, or remove the map file to begin anew."));
    }
    let known = sourced::known(service, caller, Some(&place.key)).await?;
    let mut plan = Plan {
        base,
        known: &known,
        rows: Vec::new(),
        synced: Synced::default(),
        seen: HashSet::new(),
    };
    plan.synced.map.project.clone_from(&place.key);
    for file in files {
        plan.file(file);
    }
    plan.gone();
    let Plan { rows, mut synced, .. } = plan;
    synced.imported =
        sourced::apply(service, caller, Some(&place.key), rows, vec![], dry_run, progress).await?;
    Ok(synced)
}

struct Plan<'a> {
    base: &'a SyncMap,
    known: &'a HashMap<String, Item>,
    rows: Vec<SourceItem>,
    synced: Synced,
    seen: HashSet<String>,
}

impl Plan<'_> {
    fn file(&mut self, file: &SyncFile) {
        let Some(format) = FolderFormat::of(&file.path) else {
            return;
        };
        let mut edits = Edits::default();
        for placed in read(&file.path, &file.text, format) {
            self.item(&placed, &file.text, &mut edits);
        }
        if !edits.is_empty() {
            self.synced.files.push(file.path.clone());
            self.synced.written.push(SyncFile {
                path: file.path.clone(),
                text: edits.apply(&file.text),
            });
        }
    }

    fn item(&mut self, placed: &PlacedItem, text: &str, edits: &mut Edits) {
        let said = &placed.item;
        self.seen.insert(said.id.clone());
        let Some(item) = self.known.get(&said.id) else {
            self.agree(said, &said.title, &said.text);
            return self.rows.push(said.clone());
        };
        let base = self.base.items.get(&said.id);
        // What no file names and no text stands in is ours to name.
        let made_up = placed.place.title.is_none();
        let title = match made_up {
            true => Merged::Same,
            false => merge(base.map(|base| base.title.as_str()), &said.title, &item.title),
        };
        let body = match placed.item.level {
            SourceLevel::Group => Merged::Same,
            SourceLevel::Section if said.text.is_empty() && made_up => Merged::Same,
            _ => merge(base.map(|base| base.text.as_str()), &said.text, &item.description),
        };
        edit(
            placed,
            text,
            (title == Merged::TakeProject).then_some(&*item.title),
            (body == Merged::TakeProject).then_some(&*item.description),
            edits,
        );
        let mut row = said.clone();
        if made_up || title != Merged::TakeFile {
            row.title.clone_from(&item.title);
        }
        if body != Merged::TakeFile {
            row.text.clone_from(&item.description);
        }
        for (field, merged, in_file, in_project) in [
            ("title", title, &said.title, &item.title),
            ("description", body, &said.text, &item.description),
        ] {
            if merged == Merged::Clash {
                self.clash(placed, item, field, in_file, in_project);
            }
        }
        let agreed = |merged: Merged, was: Option<&String>, is: &str| match merged {
            Merged::Clash => was.cloned().unwrap_or_default(),
            _ => fingerprint(is),
        };
        let now = Agreed {
            title: agreed(title, base.map(|base| &base.title), &row.title),
            text: agreed(body, base.map(|base| &base.text), &row.text),
        };
        self.synced.map.items.insert(said.id.clone(), now);
        self.rows.push(row);
    }

    fn agree(&mut self, said: &SourceItem, title: &str, text: &str) {
        let now = Agreed {
            title: fingerprint(title),
            text: fingerprint(text),
        };
        self.synced.map.items.insert(said.id.clone(), now);
    }

    //= specs/exchange.md#folders
    //# A text that changed on both sides MUST be shown with both texts and MUST be left as it is on both.
    fn clash(
        &mut self,
        placed: &PlacedItem,
        item: &Item,
        field: &'static str,
        in_file: &str,
        in_project: &str,
    ) {
        self.synced.clashes.push(Clash {
            file: placed.place.file.clone(),
            line: placed.item.line,
            reference_id: item.reference_id.to_string(),
            field,
            in_file: in_file.to_owned(),
            in_project: in_project.to_owned(),
        });
    }

    /// What the map knows and no file says any more.
    fn gone(&mut self) {
        let gone: BTreeSet<&String> = self
            .base
            .items
            .keys()
            .filter(|id| !self.seen.contains(*id))
            .collect();
        for id in gone {
            if let Some(item) = self.known.get(id) {
                self.synced
                    .gone
                    .push(format!("{} ({SOURCE_ID} {id})", item.reference_id));
            }
        }
    }
}
