//! Writing a project as a document.

use super::{BETWEEN, CRITERIA, REQUIREMENTS, escaped};
use crate::Service;
use crate::context::Context;
use crate::transfer::{Exported, Progress, broken_file};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::permission::Operation;
use spexus_domain::query::{ItemFilter, Order, OrderField, PageRequest};
use spexus_domain::{Kind, Ruled, Uuid};
use spexus_store::transfer::{PAGE_ROWS, Snapshot};
use spexus_store::{Conn, Result, listing};
use std::io::Write;

/// Writes a project, or with `epic` one epic, as a document.
#[boxed]
pub async fn export(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    epic: Option<&str>,
    out: &mut (dyn Write + Send),
    progress: &Progress,
) -> Ruled<Exported> {
    caller.may(Operation::Read)?;
    let mut snapshot = Snapshot::begin(&service.store, caller.user_id).await?;
    let conn = snapshot.conn()?;
    let context = Context::new(conn, caller, Operation::Read, project).await?;
    let mut writer = Writer {
        out,
        progress,
        items: 0,
    };
    let project = match epic {
        Some(id) => {
            let epic = context.item(conn, "epic", id, Some(Kind::Epic)).await?;
            writer.epic(conn, &epic).await?;
            epic.project
        }
        None => {
            let project = context.project()?;
            writer.project(conn, project.id).await?;
            project.key.clone()
        }
    };
    let items = writer.items;
    snapshot.end().await?;
    Ok(Exported {
        project,
        items,
        ..Exported::default()
    })
}

struct Writer<'a> {
    out: &'a mut (dyn Write + Send),
    progress: &'a Progress,
    items: u64,
}

impl Writer<'_> {
    async fn project(&mut self, conn: &mut Conn, project_id: Uuid) -> Result<()> {
        let of = |kind| ItemFilter {
            project_id: Some(project_id),
            kinds: vec![kind],
            ..ItemFilter::default()
        };
        let mut cursor = None;
        loop {
            let (epics, next) = page(conn, &of(Kind::Epic), cursor).await?;
            for epic in &epics {
                self.epic(conn, epic).await?;
            }
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        loop {
            let (documents, next) = page(conn, &of(Kind::SteeringDocument), cursor).await?;
            for document in &documents {
                self.chapter("#", document)?;
            }
            cursor = next;
            if cursor.is_none() {
                return Ok(self.out.flush().map_err(|error| broken_file(&error))?);
            }
        }
    }

    async fn epic(&mut self, conn: &mut Conn, epic: &Item) -> Result<()> {
        self.chapter("#", epic)?;
        let inside = children(epic.id, Kind::UserStory);
        let mut cursor = None;
        loop {
            let (stories, next) = page(conn, &inside, cursor).await?;
            for story in &stories {
                self.chapter("##", story)?;
                self.list(conn, CRITERIA, &children(story.id, Kind::AcceptanceCriterion))
                    .await?;
                self.list(conn, REQUIREMENTS, &children(story.id, Kind::Requirement))
                    .await?;
            }
            cursor = next;
            if cursor.is_none() {
                return Ok(());
            }
        }
    }

    fn chapter(&mut self, marks: &str, item: &Item) -> Result<()> {
        let mut text = format!("{marks} {} {}\n\n", item.reference_id, item.title);
        let facts = facts(item);
        if !facts.is_empty() {
            text.push_str(&format!("{facts}\n\n"));
        }
        if !item.description.is_empty() {
            let lines: Vec<String> = item.description.split('\n').map(escaped).collect();
            text.push_str(&format!("{}\n\n", lines.join("\n")));
        }
        self.put(&text)
    }

    async fn list(&mut self, conn: &mut Conn, heading: &str, inside: &ItemFilter) -> Result<()> {
        let mut cursor = None;
        let mut first = true;
        loop {
            let (items, next) = page(conn, inside, cursor).await?;
            for item in &items {
                let heading = if first {
                    format!("### {heading}\n\n")
                } else {
                    String::new()
                };
                first = false;
                self.put(&format!("{heading}{}\n", bullet(item)))?;
            }
            cursor = next;
            if cursor.is_none() {
                return Ok(());
            }
        }
    }

    fn put(&mut self, text: &str) -> Result<()> {
        self.out
            .write_all(text.as_bytes())
            .map_err(|error| broken_file(&error))?;
        self.items += 1;
        (self.progress)(self.items);
        Ok(())
    }
}

/// A bullet: reference and title in bold, then facts and text, indented. Without a title the text stands beside it.
fn bullet(item: &Item) -> String {
    let mut lines: Vec<&str> = item.description.split('\n').collect();
    if item.description.is_empty() {
        lines.clear();
    }
    let facts = facts(item);
    let mut text = if item.title.is_empty() {
        let first = if lines.is_empty() { "" } else { lines.remove(0) };
        format!("- **{}** {first}\n", item.reference_id)
    } else {
        format!("- **{} {}**\n", item.reference_id, item.title)
    };
    if !facts.is_empty() {
        text.push_str(&format!("  {facts}\n"));
    }
    if !item.title.is_empty() && !lines.is_empty() {
        text.push('\n');
    }
    for line in lines {
        text.push_str(format!("  {line}").trim_end_matches(' '));
        text.push('\n');
    }
    text
}

/// What else there is to say, on one line.
fn facts(item: &Item) -> String {
    let mut facts = Vec::new();
    facts.extend(item.status.as_ref().map(|status| format!("Status: {status}")));
    facts.extend(
        item.priority
            .map(|priority| format!("Priority: {}", priority.number())),
    );
    facts.extend(item.requirement_type.as_ref().map(|name| format!("Type: {name}")));
    facts.extend(
        item.acceptance_criterion
            .as_ref()
            .map(|pointer| format!("Serves: {}", pointer.reference_id)),
    );
    facts.extend(
        item.assignee
            .as_ref()
            .map(|person| format!("Assignee: {}", person.username)),
    );
    facts.join(BETWEEN)
}

fn children(parent: Uuid, kind: Kind) -> ItemFilter {
    ItemFilter {
        parent: Some(parent),
        kinds: vec![kind],
        ..ItemFilter::default()
    }
}

async fn page(
    conn: &mut Conn,
    filter: &ItemFilter,
    cursor: Option<String>,
) -> Result<(Vec<Item>, Option<String>)> {
    let order = Order {
        field: OrderField::Position,
        descending: false,
    };
    let request = PageRequest {
        limit: PAGE_ROWS,
        cursor,
        ..PageRequest::default()
    };
    let page = listing::items(conn, filter, order, &request).await?;
    Ok((page.data, page.next_cursor))
}
