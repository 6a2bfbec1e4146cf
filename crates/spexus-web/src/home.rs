//! The page one begins at: the projects, what waits for one, and what is new.

use crate::answer::{Answer, html};
use crate::item::address;
use crate::mark::{Markup, icon, person, priority, status};
use crate::review;
use crate::shell::Shell;
use crate::visit::Visit;
use crate::when::when;
use askama::Template;
use spexus_domain::Ruled;
use spexus_domain::item::Item;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_service::item::{self, ItemQuery};
use spexus_service::project;
use spexus_service::review::ReviewQuery;

/// Projects whose items are looked through for what is new.
const MAX_LOOKED_THROUGH: usize = 12;

/// Rows of each list.
const SHOWN_ROWS: usize = 20;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    shell: Shell,
    projects: Vec<Project>,
    assigned: Vec<Row>,
    recent: Vec<Row>,
    /// Reviews that wait for one.
    asked: Vec<review::list::Row>,
    can_make: bool,
}

impl HomePage {
    /// Id, heading, rows, and what is said when there are none.
    fn lists(&self) -> [(&'static str, &'static str, &[Row], &'static str); 2] {
        let t = self.shell.t;
        [
            ("mine", t.assigned_to_you, &self.assigned, t.nothing_assigned),
            ("recent", t.recently_changed, &self.recent, t.empty_here),
        ]
    }
}

/// An item that is mine or new.
struct Row {
    item: Item,
    path: String,
    changed: Markup,
}

/// Home.
pub(crate) async fn page(visit: Visit) -> Answer {
    let projects = project::list(visit.service(), &visit.caller).await?.data;
    let (mut assigned, mut recent, mut asked) = (Vec::new(), Vec::new(), Vec::new());
    for project in projects.iter().take(MAX_LOOKED_THROUGH) {
        assigned.extend(newest(&visit, project, Some("me")).await?);
        recent.extend(newest(&visit, project, None).await?);
        asked.extend(waiting(&visit, project).await?);
    }
    asked.truncate(SHOWN_ROWS);
    html(&HomePage {
        shell: visit.shell(visit.texts().home),
        assigned: rows(&visit, assigned),
        recent: rows(&visit, recent),
        asked,
        can_make: visit.caller.may(Operation::ManageProjects).is_ok(),
        projects,
    })
}

/// The reviews of a project that wait for the caller.
//= specs/spexus-web.md#reviews
//# What somebody is asked to review MUST be shown at home until it is answered.
async fn waiting(visit: &Visit, project: &Project) -> Ruled<Vec<review::list::Row>> {
    let query = ReviewQuery {
        project: Some(project.key.clone()),
        state: None,
        asks_me: true,
    };
    let found = spexus_service::review::list(visit.service(), &visit.caller, &query).await?;
    let rows = found.data.into_iter().take(SHOWN_ROWS);
    Ok(rows.map(|one| review::list::Row::of(visit, one)).collect())
}

/// The items of a project that changed last; of one person, or all.
async fn newest(visit: &Visit, project: &Project, assignee: Option<&str>) -> Ruled<Vec<Item>> {
    let query = ItemQuery {
        project: Some(project.key.clone()),
        assignee: assignee.map(str::to_owned),
        order_by: Some("-updated_at".into()),
        limit: u32::try_from(SHOWN_ROWS).ok(),
        ..ItemQuery::default()
    };
    Ok(item::list(visit.service(), &visit.caller, None, &query)
        .await?
        .data)
}

fn rows(visit: &Visit, mut items: Vec<Item>) -> Vec<Row> {
    items.sort_by_key(|item| std::cmp::Reverse(item.updated_at));
    items.truncate(SHOWN_ROWS);
    let row = |item: Item| Row {
        path: address(&item),
        changed: when(visit.texts(), item.updated_at, visit.now()),
        item,
    };
    items.into_iter().map(row).collect()
}
