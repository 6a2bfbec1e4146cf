//! A project, or one epic of it, read as a specification: numbered headings, prose, criteria, requirements with their state at
//! the margin. It comes in parts, because a project may be longer than anybody reads at once.

pub(crate) mod export;

use crate::answer::{Answer, html};
use crate::form::Params;
use crate::item::address;
use crate::mark::{Markup, icon, person, priority, status};
use crate::markdown;
use crate::shell::{Crumb, Shell, View};
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::item::Item;
use spexus_domain::limits::MAX_PAGE_ROWS;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::tree::Tree;
use spexus_domain::{Kind, Ruled};
use spexus_service::item::{self, ItemQuery};

/// Rows of one part.
const PART_ROWS: usize = MAX_PAGE_ROWS as usize;

/// Epics that are numbered and named in the outline.
const MAX_EPICS: usize = 2_000;

#[derive(Template)]
#[template(path = "document.html")]
struct DocumentPage {
    shell: Shell,
    project: Project,
    path: String,
    /// The epic that alone is shown.
    under: Option<String>,
    outline: Vec<Chapter>,
    rows: Vec<Row>,
    /// Where the next part begins.
    next: Option<String>,
    /// Whether this is not the first part.
    goes_on: bool,
    can_edit: bool,
}

/// An epic in the outline, with the stories this part shows of it.
struct Chapter {
    number: usize,
    epic: Item,
    stories: Vec<(String, String, String)>,
    open: bool,
    /// Whether it is the one this part begins with.
    is_first: bool,
}

/// One block of the document.
struct Row {
    item: Item,
    path: String,
    /// `1.2` for epics and stories.
    number: String,
    text: Markup,
}

/// Which part is wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Part {
    /// Only this epic.
    under: Option<String>,
    /// The epic the part begins in.
    from: Option<String>,
    /// So many rows of that epic were shown before.
    skip: Option<usize>,
}

/// The document.
pub(crate) async fn page(visit: Visit, Path(key): Path<String>, Params(part): Params<Part>) -> Answer {
    let project = visit.project(&key).await?;
    let t = visit.texts();
    let epics = epics(&visit, &project).await?;
    let path = format!("/p/{}/document", project.key);
    let mut page = DocumentPage {
        shell: visit.shell_in(&project, View::Document, t.document).await?,
        can_edit: visit.may(Operation::UpdateItem, &project),
        goes_on: part.from.is_some(),
        outline: Vec::new(),
        rows: Vec::new(),
        next: None,
        under: part.under.clone(),
        project,
        path,
    };
    if let Some(under) = &part.under {
        page.shell.crumbs.pop();
        page.shell.crumbs.push(Crumb::to(t.document, page.path.clone()));
        page.shell.crumbs.push(Crumb::here(under.clone()));
    }
    fill(&visit, &mut page, epics, &part).await?;
    html(&page)
}

/// All epics in their order.
async fn epics(visit: &Visit, project: &Project) -> Ruled<Vec<Item>> {
    let mut epics: Vec<Item> = Vec::new();
    let mut query = ItemQuery {
        project: Some(project.key.clone()),
        order_by: Some("position".into()),
        limit: Some(MAX_PAGE_ROWS),
        ..ItemQuery::default()
    };
    while epics.len() < MAX_EPICS {
        let found = item::list(visit.service(), &visit.caller, Some(Kind::Epic), &query).await?;
        epics.extend(found.data);
        query.cursor = found.next_cursor;
        if query.cursor.is_none() {
            break;
        }
    }
    Ok(epics)
}

//= specs/spexus-web.md#documents
//# Every page MUST show at most 200 rows at a time, however many there are.
async fn fill(visit: &Visit, page: &mut DocumentPage, epics: Vec<Item>, part: &Part) -> Ruled<()> {
    let wanted = part.from.as_ref().or(part.under.as_ref());
    let is = |epic: &Item, name: &str| epic.reference_id.to_string().eq_ignore_ascii_case(name);
    let begin = wanted
        .and_then(|name| epics.iter().position(|epic| is(epic, name)))
        .unwrap_or(0);
    let mut skip = part.skip.unwrap_or(0);
    for (at, epic) in epics.into_iter().enumerate() {
        let only = page.under.as_ref().is_none_or(|under| is(&epic, under));
        let mut chapter = Chapter {
            number: at + 1,
            epic,
            stories: Vec::new(),
            open: false,
            is_first: at == begin,
        };
        if at >= begin && only && page.next.is_none() {
            match page.rows.len() < PART_ROWS {
                true => {
                    chapter.open = true;
                    take(visit, page, &mut chapter, skip).await?;
                    skip = 0;
                }
                false => page.next = Some(next(page, &chapter.epic, 0)),
            }
        }
        page.outline.push(chapter);
    }
    Ok(())
}

/// Adds the rows of an epic, as many as have room.
async fn take(visit: &Visit, page: &mut DocumentPage, chapter: &mut Chapter, skip: usize) -> Ruled<()> {
    let (of, id) = (Some(page.project.key.as_str()), chapter.epic.id.to_string());
    let found = item::hierarchy(visit.service(), &visit.caller, of, &id, None).await?;
    let mut rows = Vec::new();
    flatten(found.root, chapter.number.to_string(), &mut rows);
    let all = rows.len();
    for (item, number) in rows.into_iter().skip(skip).take(PART_ROWS - page.rows.len()) {
        if item.kind == Kind::UserStory {
            let story = (item.reference_id.to_string(), number.clone(), item.heading());
            chapter.stories.push(story);
        }
        page.rows.push(Row {
            path: address(&item),
            text: markdown::rendered(&item.description),
            number,
            item,
        });
    }
    if page.rows.len() == PART_ROWS {
        let shown = skip + chapter_rows(page, chapter);
        if shown < all {
            page.next = Some(next(page, &chapter.epic, shown));
        }
    }
    Ok(())
}

/// How many of the rows shown are of this chapter: those behind the last one of another epic.
fn chapter_rows(page: &DocumentPage, chapter: &Chapter) -> usize {
    let own = format!("{}.", chapter.number);
    let mine = |row: &&Row| row.number.starts_with(&own) || row.item.id == chapter.epic.id;
    page.rows.iter().rev().take_while(mine).count()
}

fn flatten(tree: Tree, number: String, rows: &mut Vec<(Item, String)>) {
    let mut stories = 0;
    let below: Vec<Tree> = tree.children;
    let own = number.clone();
    rows.push((tree.item, number));
    for child in below {
        let number = match child.item.kind {
            Kind::UserStory => {
                stories += 1;
                format!("{own}.{stories}")
            }
            // What has no heading carries the number of what it stands in.
            _ => format!("{own}."),
        };
        flatten(child, number, rows);
    }
}

fn next(page: &DocumentPage, epic: &Item, skip: usize) -> String {
    let under = page.under.as_ref().map(|under| format!("&under={under}"));
    format!(
        "{}?from={}&skip={skip}{}",
        page.path,
        epic.reference_id,
        under.unwrap_or_default()
    )
}

impl Row {
    fn is_heading(&self) -> bool {
        matches!(self.item.kind, Kind::Epic | Kind::UserStory)
    }

    fn has_text(&self) -> bool {
        !self.item.description.trim().is_empty()
    }
}
