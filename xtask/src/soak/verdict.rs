//! The end of a run: the database is held against what the writers were told, and against its own history.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use super::fault::Fault;
use super::ledger::Ledger;
use super::node::Node;

/// Fields that the history tells of and an item shows under the same name.
const REPLAYED: &[&str] = &["title", "description", "status", "priority"];

/// What a run came to.
pub(super) struct Verdict {
    faults: BTreeMap<&'static str, usize>,
    acknowledged: usize,
    refused: usize,
    unanswered: usize,
    lost: Vec<String>,
    duplicates: Vec<String>,
    refused_yet_done: Vec<String>,
    chain_is_whole: bool,
    chain: Value,
    unexplained: Vec<String>,
    longest_pause_ms: u128,
    paused_by: &'static str,
}

impl Verdict {
    pub(super) fn reach(node: &Node, ledger: &Ledger, faults: Vec<Fault>) -> Result<Self> {
        let answers = ledger.answers();
        let items = items(node)?;
        let mut titles = BTreeMap::<&str, usize>::new();
        for item in items.values() {
            *titles
                .entry(item["title"].as_str().unwrap_or_default())
                .or_default() += 1;
        }
        let gone = answers
            .created
            .iter()
            .filter(|title| !titles.contains_key(title.as_str()));
        let behind = answers
            .revisions
            .iter()
            .filter(|(id, rev)| items.get(*id).and_then(|item| item["rev"].as_i64()) < Some(**rev));
        let lost = gone
            .cloned()
            .chain(behind.map(|(id, rev)| format!("revision {rev} of {id}")))
            .collect();
        let twice = titles.iter().filter(|(_, count)| **count > 1);
        let done = answers
            .refused
            .iter()
            .filter(|title| titles.contains_key(title.as_str()));
        let (chain_is_whole, chain) = node.verify_chain()?;
        let mut counted = BTreeMap::new();
        for fault in faults {
            *counted.entry(fault.name()).or_default() += 1;
        }
        Ok(Self {
            faults: counted,
            acknowledged: answers.acknowledged,
            refused: answers.refusals,
            unanswered: answers.unanswered,
            lost,
            duplicates: twice.map(|(title, _)| (*title).to_owned()).collect(),
            refused_yet_done: done.cloned().collect(),
            chain_is_whole,
            chain,
            unexplained: unexplained(&items, &replay(node)?),
            longest_pause_ms: answers.longest_pause.as_millis(),
            paused_by: answers.paused_by,
        })
    }

    pub(super) fn is_clean(&self) -> bool {
        self.chain_is_whole
            && [
                &self.lost,
                &self.duplicates,
                &self.refused_yet_done,
                &self.unexplained,
            ]
            .iter()
            .all(|faults| faults.is_empty())
    }

    pub(super) fn table(&self, engine: &str, seed: u64) -> String {
        let mut text = format!("soak on {engine}, seed {seed}\n");
        for (fault, count) in &self.faults {
            let _ = writeln!(text, "  {fault:<34} {count}");
        }
        let rows = [
            ("writes acknowledged", self.acknowledged.to_string()),
            ("writes refused", self.refused.to_string()),
            ("writes without an answer", self.unanswered.to_string()),
            ("acknowledged and lost", summary(&self.lost)),
            ("done twice", summary(&self.duplicates)),
            ("refused and done all the same", summary(&self.refused_yet_done)),
            (
                "chain",
                if self.chain_is_whole {
                    "whole".into()
                } else {
                    self.chain.to_string()
                },
            ),
            ("items their history does not explain", summary(&self.unexplained)),
            (
                "longest pause",
                format!("{} ms, after: {}", self.longest_pause_ms, self.paused_by),
            ),
        ];
        for (name, value) in rows {
            let _ = writeln!(text, "  {name:<38} {value}");
        }
        text
    }

    pub(super) fn keep(&self, folder: &Path, engine: &str, kills: usize) -> Result<()> {
        fs::create_dir_all(folder)?;
        let figures = json!({
            "engine": engine, "faults": self.faults, "acknowledged": self.acknowledged, "refused": self.refused,
            "unanswered": self.unanswered, "lost": self.lost.len(), "duplicates": self.duplicates.len(),
            "refused_yet_done": self.refused_yet_done.len(), "chain_is_whole": self.chain_is_whole,
            "unexplained": self.unexplained.len(), "longest_pause_ms": u64::try_from(self.longest_pause_ms)?,
            "paused_by": self.paused_by,
        });
        let path = folder.join(format!("{engine}-{kills}.json"));
        fs::write(&path, serde_json::to_string_pretty(&figures)? + "\n")
            .with_context(|| path.display().to_string())
    }
}

/// A count, and the first few of what was counted.
fn summary(faults: &[String]) -> String {
    match faults {
        [] => "0".into(),
        some => format!(
            "{}: {}",
            some.len(),
            some.iter().take(5).cloned().collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Every epic, by id.
fn items(node: &Node) -> Result<BTreeMap<String, Value>> {
    let mut items = BTreeMap::new();
    let mut cursor = None::<String>;
    loop {
        let after = cursor
            .map(|cursor| format!("&cursor={cursor}"))
            .unwrap_or_default();
        let page = node.get(&format!("/api/v1/epics?limit=200{after}"))?;
        for item in page["data"].as_array().into_iter().flatten() {
            items.insert(item["id"].as_str().unwrap_or_default().to_owned(), item.clone());
        }
        cursor = page["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            return Ok(items);
        }
    }
}

/// What the items should be by the history alone: every change applied in its order.
fn replay(node: &Node) -> Result<BTreeMap<String, Map<String, Value>>> {
    let mut state = BTreeMap::<String, Map<String, Value>>::new();
    let mut since = "0".to_owned();
    loop {
        let page = node.get(&format!("/api/v1/changes?limit=200&since={since}"))?;
        let changes = page["data"].as_array().cloned().unwrap_or_default();
        for change in changes.iter().filter(|change| change["entity"] == "item") {
            let item = state
                .entry(change["entity_id"].as_str().unwrap_or_default().to_owned())
                .or_default();
            for change in change["fields"].as_array().into_iter().flatten() {
                let name = change["field"].as_str().unwrap_or_default();
                item.insert(name.to_owned(), change["after"].clone());
            }
            item.insert("rev".into(), change["rev"].clone());
        }
        since = page["next_since"].as_str().context("next_since")?.to_owned();
        if changes.is_empty() {
            return Ok(state);
        }
    }
}

/// Items that differ from what their history says, in either direction.
fn unexplained(
    items: &BTreeMap<String, Value>,
    history: &BTreeMap<String, Map<String, Value>>,
) -> Vec<String> {
    let mut found = Vec::new();
    for (id, item) in items {
        let Some(replayed) = history.get(id) else {
            found.push(format!("{id} has no history"));
            continue;
        };
        for field in REPLAYED.iter().chain(&["rev"]) {
            let (now, then) = (item.get(*field), replayed.get(*field));
            if is_something(now) != is_something(then) || (is_something(now) && now != then) {
                found.push(format!("{field} of {id}"));
            }
        }
    }
    found.extend(
        history
            .keys()
            .filter(|id| !items.contains_key(*id))
            .map(|id| format!("{id} is gone")),
    );
    found
}

/// An absent field and an empty one are the same.
fn is_something(value: Option<&Value>) -> bool {
    value.is_some_and(|value| !value.is_null() && value != "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_that_differs_from_its_history_is_found() {
        let item = |title: &str, rev: i64| json!({"title": title, "rev": rev, "description": ""});
        let items = |title: &str| BTreeMap::from([("a".to_owned(), item(title, 2))]);
        let history = |rev: i64| {
            let fields = Map::from_iter([("title".to_owned(), json!("x")), ("rev".to_owned(), json!(rev))]);
            BTreeMap::from([("a".to_owned(), fields)])
        };
        assert_eq!(unexplained(&items("x"), &history(2)), Vec::<String>::new());
        assert_eq!(unexplained(&items("y"), &history(2)), ["title of a"]);
        assert_eq!(unexplained(&items("x"), &history(3)), ["rev of a"]);
        assert_eq!(unexplained(&items("x"), &BTreeMap::new()), ["a has no history"]);
        assert_eq!(unexplained(&BTreeMap::new(), &history(2)), ["a is gone"]);
    }
}
