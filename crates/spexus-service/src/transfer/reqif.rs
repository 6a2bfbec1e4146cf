//! ReqIF: carried in by identifier, carried out into the document it came in or as a new one.

use super::{Exported, Imported, Input, Progress, broken_file, sourced};
use crate::item::{self, ItemQuery};
use crate::{Service, project};
use async_recursion::async_recursion as boxed;
use exchange::archive::{Archive, ArchiveLimits, is_archive};
use exchange::reqif::{Document, FreshItem, fresh};
use exchange::xml::XmlLimits;
use exchange::{Diagnostic, Severity};
use serde_json::Value;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::{Code, Kind, Refusal, Ruled, Uuid, limits};
use std::collections::{HashMap, HashSet};
use std::io::{Read as _, Write};

/// Bytes of a document at most, and of an archive.
pub const MAX_DOCUMENT_BYTES: u64 = 512 << 20;
/// What is odd about a document is told up to here.
const MAX_TOLD: usize = 100;

/// Makes and changes items as a document or an archive of documents says, all of it or nothing.
#[boxed]
pub async fn import(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    input: Input,
    dry_run: bool,
    progress: Progress,
) -> Ruled<Imported> {
    let read = read_all(input)?;
    let (mut items, mut links, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for (name, bytes) in documents(read, &mut warnings)? {
        let document = Document::read(&bytes).map_err(|odd| refused(&odd))?;
        let reading = document
            .reading(&XmlLimits::default())
            .map_err(|odd| refused(&odd))?;
        let told = reading
            .diagnostics
            .iter()
            .filter(|odd| odd.severity > Severity::Note);
        warnings.extend(told.map(|odd| format!("{name}{odd}")));
        items.extend(reading.items());
        links.extend(reading.links());
    }
    // Two documents of an archive may hold the same object; the first one counts.
    let mut seen = HashSet::new();
    items.retain(|one| seen.insert(one.id.clone()));
    let mut imported = sourced::apply(service, caller, project, items, links, dry_run, progress).await?;
    if warnings.len() > MAX_TOLD {
        let rest = warnings.len() - MAX_TOLD;
        warnings.truncate(MAX_TOLD);
        warnings.push(format!("{rest} more of this kind"));
    }
    imported.warnings.extend(warnings);
    Ok(imported)
}

/// Writes a project: into the document it came in, where one is given, else as a new document.
//= specs/exchange.md#exporting
//# Exported into the document it came in, a project that says the same MUST give that document byte for byte.
#[boxed]
pub async fn export(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    onto: Option<Input>,
    out: &mut (dyn Write + Send),
) -> Ruled<Exported> {
    let place = project::of_request(service, caller, project).await?;
    let key = place.key.clone();
    let (written, items) = match onto {
        Some(input) => {
            let known = sourced::known(service, caller, Some(&key)).await?;
            let written = write_onto(read_all(input)?, &known)?;
            (written, known.len())
        }
        None => {
            let items = in_order(service, caller, &key).await?;
            let now = place.updated_at.to_string();
            (fresh(&place.name, &now, &items, &[]).into_bytes(), items.len())
        }
    };
    out.write_all(&written).map_err(|error| broken_file(&error))?;
    out.flush().map_err(|error| broken_file(&error))?;
    Ok(Exported {
        project: key,
        items: items as u64,
        ..Exported::default()
    })
}

fn read_all(input: Input) -> Ruled<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = input.take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| broken_file(&error))?;
    if bytes.len() as u64 > MAX_DOCUMENT_BYTES {
        let message = format!("the document has more than {MAX_DOCUMENT_BYTES} bytes");
        return Err(Refusal::new(Code::InvalidParams, message));
    }
    Ok(bytes)
}

/// The documents of an archive, or the one document, each with what stands before its diagnostics.
fn documents(bytes: Vec<u8>, warnings: &mut Vec<String>) -> Ruled<Vec<(String, Vec<u8>)>> {
    if !is_archive(&bytes) {
        return Ok(vec![(String::new(), bytes)]);
    }
    let archive = Archive::read(bytes, &ArchiveLimits::default()).map_err(|odd| refused(&odd))?;
    warnings.extend(archive.diagnostics.iter().map(|odd| odd.message.clone()));
    let named = archive
        .documents
        .into_iter()
        .map(|(name, bytes)| (format!("{name}: "), bytes));
    Ok(named.collect())
}

//= specs/exchange.md#importing
//# A document that cannot be read MUST be refused with its place, and nothing MUST be written.
fn refused(odd: &Diagnostic) -> Refusal {
    Refusal::new(Code::InvalidParams, odd.to_string())
        .hint("Nothing was imported. Correct the document where it is at fault, or export it again from the tool it is from.")
        .fact("line", odd.line.to_string())
}

fn write_onto(bytes: Vec<u8>, known: &HashMap<String, Item>) -> Ruled<Vec<u8>> {
    let mut written = HashSet::new();
    if !is_archive(&bytes) {
        return write_document(&bytes, known, &mut written);
    }
    let archive = Archive::read(bytes, &ArchiveLimits::default()).map_err(|odd| refused(&odd))?;
    let changed = archive
        .documents
        .iter()
        .map(|(name, bytes)| Ok((name.clone(), write_document(bytes, known, &mut written)?)))
        .collect::<Ruled<Vec<_>>>()?;
    archive.write(&changed).map_err(|odd| refused(&odd))
}

/// Of an object that stands in several documents of an archive the first one was taken in, and is written.
fn write_document(
    bytes: &[u8],
    known: &HashMap<String, Item>,
    written: &mut HashSet<String>,
) -> Ruled<Vec<u8>> {
    let document = Document::read(bytes).map_err(|odd| refused(&odd))?;
    let reading = document
        .reading(&XmlLimits::default())
        .map_err(|odd| refused(&odd))?;
    let mut changes = Vec::new();
    for was in reading.items() {
        if let Some(item) = known.get(&was.id)
            && written.insert(was.id.clone())
        {
            // A title that had to be cut on its way in is not cut on its way out.
            let cut: String = was.title.chars().take(limits::MAX_TITLE_CHARS).collect();
            let title = if item.title == cut {
                &was.title
            } else {
                &item.title
            };
            let field = |name: &str| {
                item.attributes
                    .get(name)
                    .and_then(Value::as_str)
                    .map(str::to_owned)
            };
            changes.extend(reading.changes(&was, title, &item.description, field));
        }
    }
    let (edits, unmade) = reading.edits(&changes);
    match unmade.first() {
        None => Ok(document.write(edits)),
        Some(first) => {
            let message = format!(
                "{} cannot be written into the document: {}",
                first.change.object, first.reason
            );
            Err(Refusal::new(Code::RuleViolated, message))
        }
    }
}

/// Epics, their stories, and what is in those.
async fn in_order(service: &Service, caller: &Caller, project: &str) -> Ruled<Vec<FreshItem>> {
    let mut below: HashMap<Option<Uuid>, Vec<Item>> = HashMap::new();
    for kind in [
        Kind::Epic,
        Kind::UserStory,
        Kind::AcceptanceCriterion,
        Kind::Requirement,
    ] {
        let mut query = ItemQuery {
            project: Some(project.to_owned()),
            order_by: Some("position".to_owned()),
            limit: Some(200),
            ..ItemQuery::default()
        };
        loop {
            let page = item::list(service, caller, Some(kind), &query).await?;
            for item in page.data {
                below
                    .entry(item.parent.as_ref().map(|parent| parent.id))
                    .or_default()
                    .push(item);
            }
            match page.next_cursor {
                Some(cursor) => query.cursor = Some(cursor),
                None => break,
            }
        }
    }
    let mut items = Vec::new();
    let mut open: Vec<(Item, usize)> = below
        .remove(&None)
        .unwrap_or_default()
        .into_iter()
        .rev()
        .map(|item| (item, 0))
        .collect();
    while let Some((item, depth)) = open.pop() {
        let inside = below.remove(&Some(item.id)).unwrap_or_default();
        open.extend(inside.into_iter().rev().map(|inner| (inner, depth + 1)));
        items.push(as_object(&item, depth));
    }
    Ok(items)
}

fn as_object(item: &Item, depth: usize) -> FreshItem {
    let told = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut attributes: Vec<(String, String)> = item
        .attributes
        .iter()
        .map(|(name, value)| (name.clone(), told(value)))
        .collect();
    attributes.extend(item.status.clone().map(|status| ("status".to_owned(), status)));
    FreshItem {
        identifier: item.id.to_string(),
        foreign_id: item.reference_id.to_string(),
        object_type: item.kind.rules().label.to_owned(),
        title: item.title.clone(),
        text: item.description.clone(),
        attributes,
        last_change: item.updated_at.to_string(),
        depth,
    }
}
