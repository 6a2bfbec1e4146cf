//! The page of the tree.

use super::query::TreeQuery;
use crate::answer::{Answer, faulty, html};
use crate::form::Params;
use crate::mark::{icon, kinds_word, status};
use crate::shell::{Crumb, Shell, View};
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use spexus_domain::item::Item;
use spexus_domain::limits::MAX_PAGE_ROWS;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::query::PageRequest;
use spexus_domain::{Kind, Refusal};
use spexus_service::item::{self, ItemQuery};

/// Roots of a page, and what is shown of one node before the rest has a page of its own.
const ROOTS: u32 = 100;
const INSIDE: u32 = 50;

#[derive(Template)]
#[template(path = "tree.html")]
struct TreePage {
    shell: Shell,
    key: String,
    /// The node whose contents are shown alone.
    within: Option<Item>,
    /// One list, or one for each kind that stands alone.
    lists: Vec<List>,
    is_empty: bool,
    back: String,
    fault: Option<String>,
}

/// Nodes under a heading.
struct List {
    heading: &'static str,
    nodes: Vec<Node>,
    next: Option<String>,
}

/// A node; those below it follow in the list, by their depth.
struct Node {
    item: Item,
    /// How many nodes above it end behind it.
    closes: usize,
    opens: bool,
    /// Whether it can hold something.
    holds: String,
    is_open: bool,
    toggle: String,
    /// Where the rest of what it holds is; empty when all of it is shown.
    rest: String,
    move_address: String,
    moving: Option<Moving>,
}

/// The form that moves a node.
struct Moving {
    /// The sibling before it and the one behind it.
    up: Option<String>,
    down: Option<String>,
    parent_kind: Option<&'static str>,
    leave: String,
}

/// The tree at `/p/KEY/tree`.
pub(crate) async fn page(visit: Visit, Path(key): Path<String>, Params(query): Params<TreeQuery>) -> Answer {
    let project = visit.project(&key).await?;
    html(&made(&visit, project, query, None).await?)
}

/// The tree again, with a move that is not possible.
pub(super) async fn again(visit: &Visit, project: Project, query: TreeQuery, refusal: &Refusal) -> Answer {
    faulty(&made(visit, project, query, Some(refusal)).await?, refusal)
}

async fn made(
    visit: &Visit,
    project: Project,
    query: TreeQuery,
    refusal: Option<&Refusal>,
) -> Answer<TreePage> {
    let t = visit.texts();
    let mut reader = Reader {
        visit,
        key: project.key.clone(),
        may_move: visit.caller.may_in(Operation::UpdateItem, project.id).is_ok(),
        left: MAX_PAGE_ROWS as usize,
        query: &query,
    };
    let mut shell = visit.shell_in(&project, View::Tree, t.tree).await?;
    let mut lists = Vec::new();
    let mut within = None;
    match query.within.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => {
            let of = Some(project.key.as_str());
            let root = item::get(visit.service(), &visit.caller, of, None, name).await?;
            shell = shell.crumbs(vec![
                Crumb::to(&project.name, format!("/p/{}", project.key)),
                Crumb::to(t.tree, format!("/p/{}/tree", project.key)),
                Crumb::here(root.reference_id.to_string()),
            ]);
            lists.push(reader.inside(&root).await?);
            within = Some(root);
        }
        None => {
            lists.push(reader.roots(Kind::Epic, query.cursor.clone()).await?);
            if query.cursor.is_none() {
                lists.push(reader.roots(Kind::SteeringDocument, None).await?);
            }
        }
    }
    Ok(TreePage {
        shell,
        within,
        is_empty: lists.iter().all(|list| list.nodes.is_empty()),
        lists,
        back: query.moving(None).text(),
        fault: refusal.map(|refusal| refusal.message.clone()),
        key: project.key,
    })
}

/// Reads nodes until the page is full.
//= specs/spexus-web.md#trees
//# A tree MUST be read level by level as far as it is open, and what does not fit into the page MUST have a page of its own.
struct Reader<'a> {
    visit: &'a Visit,
    key: String,
    may_move: bool,
    /// Rows that still fit into the page.
    left: usize,
    query: &'a TreeQuery,
}

impl Reader<'_> {
    /// What stands alone of a kind.
    async fn roots(&mut self, kind: Kind, cursor: Option<String>) -> Answer<List> {
        let wanted = ItemQuery {
            project: Some(self.key.clone()),
            order_by: Some("position".to_owned()),
            limit: Some(ROOTS),
            cursor,
            ..ItemQuery::default()
        };
        let page = item::list(self.visit.service(), &self.visit.caller, Some(kind), &wanted).await?;
        let heading = kinds_word(self.visit.texts(), kind);
        self.list(heading, page.data, page.next_cursor).await
    }

    /// What one node holds, page by page.
    async fn inside(&mut self, root: &Item) -> Answer<List> {
        let page = PageRequest::new(Some(ROOTS), self.query.cursor.clone())?;
        let found = self.children(root, page).await?;
        self.list(self.visit.texts().contents, found.0, found.1).await
    }

    async fn children(&self, of: &Item, page: PageRequest) -> Answer<(Vec<Item>, Option<String>)> {
        let (service, caller) = (self.visit.service(), &self.visit.caller);
        let id = of.id.to_string();
        let found = item::children(service, caller, Some(&self.key), None, &id, Vec::new(), page).await?;
        Ok((found.data, found.next_cursor))
    }

    async fn list(&mut self, heading: &'static str, items: Vec<Item>, next: Option<String>) -> Answer<List> {
        self.left = self.left.saturating_sub(items.len());
        let mut nodes = Vec::new();
        self.branch(items, &mut nodes).await?;
        // The outermost list ends in the template.
        if let Some(last) = nodes.last_mut() {
            last.closes -= 1;
        }
        let next = next.map(|cursor| {
            let there = TreeQuery {
                cursor: Some(cursor),
                moving: None,
                ..self.query.clone()
            };
            there.address(&self.key)
        });
        Ok(List { heading, nodes, next })
    }

    /// Siblings, each with what is open below it.
    async fn branch(&mut self, items: Vec<Item>, nodes: &mut Vec<Node>) -> Answer<()> {
        let names: Vec<(Kind, String)> = items
            .iter()
            .map(|item| (item.kind, item.reference_id.to_string()))
            .collect();
        let last = items.len().saturating_sub(1);
        for (at, item) in items.into_iter().enumerate() {
            let beside = |at: Option<usize>| {
                let (kind, name) = names.get(at?)?;
                // What stands alone has an order within its kind only.
                (item.parent.is_some() || *kind == item.kind).then(|| name.clone())
            };
            let mut node = self.node(&item, beside(at.checked_sub(1)), beside(Some(at + 1)));
            let below = match node.is_open {
                true => self.below(&item, &mut node).await?,
                false => Vec::new(),
            };
            node.opens = !below.is_empty();
            nodes.push(node);
            if !below.is_empty() {
                Box::pin(self.branch(below, nodes)).await?;
            }
            if at == last
                && let Some(node) = nodes.last_mut()
            {
                node.closes += 1;
            }
        }
        Ok(())
    }

    /// What is shown below an open node.
    async fn below(&mut self, item: &Item, node: &mut Node) -> Answer<Vec<Item>> {
        let alone = TreeQuery {
            within: Some(item.reference_id.to_string()),
            ..TreeQuery::default()
        };
        let room = INSIDE.min(u32::try_from(self.left).unwrap_or(INSIDE));
        if room == 0 {
            node.rest = alone.address(&self.key);
            return Ok(Vec::new());
        }
        let (items, next) = self.children(item, PageRequest::new(Some(room), None)?).await?;
        self.left = self.left.saturating_sub(items.len());
        if next.is_some() {
            node.rest = alone.address(&self.key);
        }
        Ok(items)
    }

    fn node(&self, item: &Item, up: Option<String>, down: Option<String>) -> Node {
        let reference = item.reference_id.to_string();
        let holds: Vec<&str> = item.kind.children().map(Kind::name).collect();
        let is_moving = self.may_move && self.query.moving.as_deref() == Some(reference.as_str());
        Node {
            closes: 0,
            opens: false,
            is_open: self.query.opened().contains(&reference.as_str()) && !holds.is_empty(),
            holds: holds.join(","),
            toggle: self.query.toggled(&reference).address(&self.key),
            rest: String::new(),
            move_address: match self.may_move {
                true => self.query.moving(Some(&reference)).address(&self.key),
                false => String::new(),
            },
            moving: is_moving.then(|| Moving {
                up,
                down,
                parent_kind: item.kind.rules().parent.map(|kind| kind.rules().prefix),
                leave: self.query.moving(None).address(&self.key),
            }),
            item: item.clone(),
        }
    }
}
