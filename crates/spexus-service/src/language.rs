//! Language: what the texts of a project leave open, one by one and together.

use crate::Service;
use crate::item::{self, ItemQuery};
use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::{Code, Kind, Refusal, Ruled};
use spexus_lint::{Finding, Options, SetEntry, SetFinding, check, check_set};

/// Items judged at once; more are judged part by part, with `under`.
pub const MAX_JUDGED_ITEMS: usize = 20_000;

/// The kinds whose text demands something.
const KINDS: [Kind; 2] = [Kind::Requirement, Kind::AcceptanceCriterion];

/// What was found in one item.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ItemFindings {
    /// Its name within the project.
    pub reference_id: String,
    /// The revision that was judged.
    pub rev: i64,
    /// `description`, or `title` where there is none.
    pub field: &'static str,
    /// The text that was judged.
    pub text: String,
    /// What was found, in characters of the text.
    pub findings: Vec<Finding>,
}

/// What was found in a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProjectFindings {
    /// How many items were judged.
    pub judged: usize,
    /// Those of which something is to be said.
    pub items: Vec<ItemFindings>,
    /// What two items say together.
    pub together: Vec<SetFinding>,
}

/// Judges one item as its text is now.
#[boxed]
pub async fn of_item(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    id: &str,
    options: &Options,
) -> Ruled<ItemFindings> {
    let item = item::get(service, caller, project, None, id).await?;
    Ok(judged(&item, options))
}

/// Judges the requirements and acceptance criteria of a project, or of what is below one item.
//= specs/spexus-lint.md#projects
//# A project MUST be judged with the rights of whoever asks: what the caller may not see is not judged and not named.
#[boxed]
pub async fn of_project(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    under: Option<&str>,
    options: &Options,
) -> Ruled<ProjectFindings> {
    let mut items = Vec::new();
    for kind in KINDS {
        let mut query = ItemQuery {
            project: project.map(str::to_owned),
            under: under.map(str::to_owned),
            order_by: Some("created_at".to_owned()),
            limit: Some(200),
            ..ItemQuery::default()
        };
        loop {
            let page = item::list(service, caller, Some(kind), &query).await?;
            items.extend(page.data.iter().map(|item| judged(item, options)));
            if items.len() > MAX_JUDGED_ITEMS {
                let message = format!("more than {MAX_JUDGED_ITEMS} items are too many to be judged at once");
                return Err(
                    Refusal::new(Code::InvalidParams, message).hint("Name a part of the project with under.")
                );
            }
            match page.next_cursor {
                Some(cursor) => query.cursor = Some(cursor),
                None => break,
            }
        }
    }
    let entries: Vec<SetEntry<'_>> = items
        .iter()
        .map(|item| SetEntry {
            id: &item.reference_id,
            text: &item.text,
        })
        .collect();
    let together = check_set(&entries, options);
    Ok(ProjectFindings {
        judged: items.len(),
        together,
        items: items
            .into_iter()
            .filter(|item| !item.findings.is_empty())
            .collect(),
    })
}

fn judged(item: &Item, options: &Options) -> ItemFindings {
    let (field, text) = match item.description.trim() {
        "" => ("title", &item.title),
        _ => ("description", &item.description),
    };
    ItemFindings {
        reference_id: item.reference_id.to_string(),
        rev: item.rev,
        field,
        text: text.clone(),
        findings: check(text, options),
    }
}
