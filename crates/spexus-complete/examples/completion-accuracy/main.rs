//! Measures how well texts are completed: the model is taught nine of ten texts and guesses the tenth, ten times over.
//! Prints one JSON object for the demonstration project, and one for the Markdown files of a folder when one is named.
//! `cargo xtask bench completion` runs it.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a chore: what goes wrong ends it, and what it finds is printed"
)]

use serde_json::json;
use spexus_complete::measure;
use spexus_domain::Timestamp;
use spexus_service::account::login;
use spexus_service::item::{self, ItemQuery};
use spexus_service::transfer::demo;
use spexus_service::{Service, ServiceOptions};
use spexus_store::Location;
use std::path::Path;
use std::sync::Arc;

const DEMO_ITEMS: u64 = 2_000;

#[tokio::main]
async fn main() {
    report("demo", &demo_texts().await);
    if let Some(folder) = std::env::args().nth(1) {
        report("prose", &sentences(Path::new(&folder)));
    }
}

fn report(name: &str, texts: &[String]) {
    let found = measure(texts);
    println!(
        "{}",
        json!({
            "texts": name,
            "count": texts.len(),
            "tokens": found.tokens,
            "top_1": found.top_1,
            "top_5": found.top_5,
            "perplexity": found.perplexity,
            "baseline_top_1": found.baseline_top_1,
            "baseline_top_5": found.baseline_top_5,
            "baseline_perplexity": found.baseline_perplexity,
        })
    );
}

/// What the items of a demonstration project say, each text once: a sentence that was taught word for word proves nothing.
async fn demo_texts() -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::File(folder.path().join("demo.db"));
    let clock = Arc::new(|| Timestamp(1_790_000_000_000_000));
    let options = ServiceOptions::for_testing();
    let (service, _) = Service::open(&location, options, clock).await.unwrap();
    let caller = login::local(&service, None, "measure").await.unwrap();
    let quiet = Arc::new(|_| ());
    demo::fill(&service, &caller, None, DEMO_ITEMS, 1, quiet)
        .await
        .unwrap();
    let mut query = ItemQuery {
        order_by: Some("created_at".to_owned()),
        limit: Some(200),
        ..ItemQuery::default()
    };
    let mut texts = Vec::new();
    loop {
        let page = item::list(&service, &caller, None, &query).await.unwrap();
        texts.extend(
            page.data
                .into_iter()
                .flat_map(|item| [item.title, item.description]),
        );
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            break;
        }
    }
    service.close().await;
    distinct(texts)
}

/// The sentences of the Markdown files in a folder: what people wrote, hardly ever twice.
fn sentences(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    files.sort();
    let lines = files.iter().flat_map(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    distinct(lines.filter(|line| line.ends_with('.')).collect())
}

fn distinct(mut texts: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    texts.retain(|text| !text.is_empty() && seen.insert(text.clone()));
    texts
}
