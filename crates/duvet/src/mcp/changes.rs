//! Resource notifications: what became different between two snapshots, sent to those who subscribed.

use super::snapshots::SnapshotHolder;
use super::tree::uri;
use crate::engine::Snapshot;
use crate::requirement_index::RequirementIndex;
use mcp_server::{Change, List, Server};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Sends notifications for as long as the process lives. Call it on a thread of its own.
pub fn notify(holder: &SnapshotHolder, server: &Server) {
    let mut seen = 0;
    let mut last = holder.first();
    let mut state = state(&last);
    loop {
        let start = Instant::now();
        let now = holder.snapshot();
        if !Arc::ptr_eq(&now, &last) {
            let next = self::state(&now);
            announce(server, &state, &next);
            (last, state) = (now, next);
        }
        holder.wait(&mut seen, start.elapsed());
    }
}

/// Every address whose contents may differ between snapshots, with a hash of what it says.
type State = BTreeMap<String, blake3::Hash>;

//= specs/duvet.md#mcp-server
//# A resource whose contents changed MUST be told to those who subscribed to it.
fn announce(server: &Server, old: &State, new: &State) {
    for (path, hash) in new {
        if old.get(path) != Some(hash) {
            server.resource_changed(&uri(path), Change::Updated);
        }
    }
    for path in old.keys().filter(|path| !new.contains_key(*path)) {
        server.resource_changed(&uri(path), Change::Deleted);
    }
    // The first list of all shows the specifications.
    if old.get("/specifications") != new.get("/specifications") {
        server.list_changed(List::Resources);
    }
}

fn state(snapshot: &Snapshot) -> State {
    let requirement_index = RequirementIndex::new(snapshot);
    let mut state = State::new();
    let specifications = requirement_index.specifications();
    note(&mut state, "/specifications".to_owned(), &specifications);
    for (index, entry) in specifications.iter().enumerate() {
        let path = format!("/specifications/{}", entry.id);
        let sections = requirement_index.sections(index);
        note(&mut state, format!("{path}/sections"), &sections);
        note(&mut state, path.clone(), entry);
        for (at, section) in sections.iter().enumerate() {
            let path = format!("{path}/sections/{}", section.id);
            note(&mut state, path, &requirement_index.section(index, at));
        }
    }
    let mut below: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for index in 0..snapshot.requirement_ids.len() {
        let status = requirement_index.status(index);
        let (list, _) = status.full_path.rsplit_once('/').unwrap_or_default();
        below
            .entry(list.to_owned())
            .or_default()
            .push(status.identifier.clone());
        note(
            &mut state,
            format!("/requirements/{}", status.identifier),
            &status,
        );
        note(
            &mut state,
            format!("{}/citations", status.full_path),
            &status.citations,
        );
        note(&mut state, status.full_path.clone(), &status);
    }
    for (path, identifiers) in below {
        note(&mut state, path, &identifiers);
    }
    note(&mut state, "/requirements".to_owned(), &snapshot.requirement_ids);
    let citations = requirement_index.citations();
    note(&mut state, "/citations".to_owned(), &citations);
    for citation in citations {
        let annotation = snapshot.analysis.annotation(citation.annotation);
        note(&mut state, format!("/citations/{}", citation.id), annotation);
        note(&mut state, citation.full_path, annotation);
    }
    state
}

fn note(state: &mut State, path: String, said: &impl Serialize) {
    // What cannot be written cannot be told apart either; nothing here is such a thing.
    let text = serde_json::to_vec(said).unwrap_or_default();
    state.insert(path, blake3::hash(&text));
}
