//! Many items and their links at once: what a matrix and a graph are drawn from. The cost is that of what is shown, however large
//! the project is.

use crate::Service;
use crate::context::{Context, reading};
use crate::link::filter;
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::limits::MAX_PAGE_ROWS;
use spexus_domain::link::Link;
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Refusal, Ruled, Uuid};
use spexus_store::links::{End, LinkFilter};
use spexus_store::{Conn, Result, items, links, settings};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Links of one answer at most.
pub const MAX_LINKS: u32 = 2_000;
/// Items around one at most.
pub const MAX_NODES: usize = 200;
/// Steps away from an item at most.
pub const MAX_DEPTH: u32 = 6;

/// Links, and whether there were more than one answer may hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Linked {
    /// The links, oldest first.
    pub links: Vec<Link>,
    /// Whether some were left out.
    pub truncated: bool,
}

/// The items with these ids, in this order; those that are gone, deleted, in another project or not visible are left out.
#[boxed]
pub async fn several(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    ids: &[Uuid],
) -> Ruled<Vec<Item>> {
    check_number(ids)?;
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let project_id = context.project()?.id;
    let mut found = items::by_ids(&mut conn, ids).await?;
    found.retain(|item| item.project_id == project_id && item.deleted_at.is_none());
    Ok(found)
}

/// The links that items of a project are an end of; with a type name or an inverse name, only those.
//= specs/spexus-service.md#networks
//# The links among many items MUST be those of which the caller may see both ends, and an answer that was cut MUST say so.
#[boxed]
pub async fn links_of(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    ids: &[Uuid],
    link_type: Option<&str>,
) -> Ruled<Linked> {
    check_number(ids)?;
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let wanted = of_type(&mut conn, link_type).await?;
    let project_id = context.project()?.id;
    let found = links::of_items(
        &mut conn,
        project_id,
        ids,
        &wanted,
        caller.visibility(),
        MAX_LINKS,
    )
    .await?;
    let (links, truncated) = found;
    Ok(Linked { links, truncated })
}

/// In which direction links are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the source to the target: what an item points to.
    Forward,
    /// From the target to the source: what points to an item.
    Backward,
    /// Either way.
    #[default]
    Both,
}

/// An item and how many steps away it is: behind it (what points to it) below 0, in front of it above.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphNode {
    /// The item.
    pub item: Item,
    /// Steps; 0 is where the walk began.
    pub steps: i32,
}

/// What is around an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbourhood {
    /// The item first, then the others by their distance.
    pub nodes: Vec<GraphNode>,
    /// The links between these items.
    pub links: Vec<Link>,
    /// Whether there was more than one answer may hold.
    pub truncated: bool,
}

/// How far and along what one looks around.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// Steps, 1 to [`MAX_DEPTH`].
    pub depth: u32,
    /// In which direction.
    pub direction: Direction,
    /// The name or the inverse name of a type: only its links.
    pub link_type: Option<String>,
}

/// What can be reached from an item along links.
//= specs/spexus-service.md#networks
//# What is around an item MUST be found step by step along its links, in the direction that is asked for, each item at its least distance,
//# and MUST NOT lead through what the caller may not see.
#[boxed]
pub async fn around(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    id: &str,
    wanted: &Around,
) -> Ruled<Neighbourhood> {
    if !(1..=MAX_DEPTH).contains(&wanted.depth) {
        let problem = format!("{} is out of range", wanted.depth);
        let allowed = format!("1 to {MAX_DEPTH}");
        return Err(Refusal::field(Code::InvalidParams, "depth", problem, allowed));
    }
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let root = context.item(&mut conn, "id", id, None).await?;
    let filter = of_type(&mut conn, wanted.link_type.as_deref()).await?;
    let mut walk = Walk::from(&root, caller);
    if wanted.direction != Direction::Forward {
        walk.go(&mut conn, End::Target, &filter, wanted.depth).await?;
    }
    if wanted.direction != Direction::Backward {
        walk.go(&mut conn, End::Source, &filter, wanted.depth).await?;
    }
    walk.found(&mut conn, &filter).await.map_err(Refusal::from)
}

/// A walk along links, breadth first.
struct Walk<'a> {
    caller: &'a Caller,
    root: (Uuid, Uuid),
    /// Steps of each item that was reached.
    steps: HashMap<Uuid, i32>,
    order: Vec<Uuid>,
    truncated: bool,
}

impl<'a> Walk<'a> {
    fn from(root: &Item, caller: &'a Caller) -> Self {
        Self {
            caller,
            root: (root.project_id, root.id),
            steps: HashMap::from([(root.id, 0)]),
            order: vec![root.id],
            truncated: false,
        }
    }

    /// Follows links from this end of theirs to the other one.
    async fn go(&mut self, conn: &mut Conn, from: End, filter: &LinkFilter, depth: u32) -> Result<()> {
        let filter = LinkFilter {
            end: Some(from),
            link_type: filter.link_type.clone(),
        };
        let sign = if from == End::Source { 1 } else { -1 };
        let mut front = BTreeSet::from([self.root]);
        for step in 1..=i32::try_from(depth).unwrap_or(i32::MAX) {
            let mut next = BTreeSet::new();
            for (project, ids) in by_project(&front) {
                let (found, more) =
                    links::of_items(conn, project, &ids, &filter, self.caller.visibility(), MAX_LINKS)
                        .await?;
                self.truncated |= more;
                for link in found {
                    let end = if from == End::Source {
                        &link.target
                    } else {
                        &link.source
                    };
                    let place = (end.project_id, end.id);
                    if self.reach(place.1, sign * step) {
                        next.insert(place);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            front = next;
        }
        Ok(())
    }

    /// Whether an item is reached for the first time, and there is room for it.
    fn reach(&mut self, id: Uuid, steps: i32) -> bool {
        if self.steps.contains_key(&id) {
            return false;
        }
        if self.order.len() >= MAX_NODES {
            self.truncated = true;
            return false;
        }
        self.steps.insert(id, steps);
        self.order.push(id);
        true
    }

    /// The items, and all links among them.
    async fn found(mut self, conn: &mut Conn, filter: &LinkFilter) -> Result<Neighbourhood> {
        let node = |item: Item| {
            let steps = self.steps.get(&item.id).copied()?;
            (item.deleted_at.is_none()).then_some(GraphNode { item, steps })
        };
        let mut nodes: Vec<GraphNode> = items::by_ids(conn, &self.order)
            .await?
            .into_iter()
            .filter_map(node)
            .collect();
        nodes.sort_by_key(|node| node.steps.abs());
        let filter = LinkFilter {
            end: Some(End::Source),
            link_type: filter.link_type.clone(),
        };
        let mut among = Vec::new();
        let places = nodes
            .iter()
            .map(|node| (node.item.project_id, node.item.id))
            .collect();
        for (project, ids) in by_project(&places) {
            let (found, more) =
                links::of_items(conn, project, &ids, &filter, self.caller.visibility(), MAX_LINKS).await?;
            self.truncated |= more;
            among.extend(
                found
                    .into_iter()
                    .filter(|link| self.steps.contains_key(&link.target.id)),
            );
        }
        Ok(Neighbourhood {
            nodes,
            links: among,
            truncated: self.truncated,
        })
    }
}

fn by_project(front: &BTreeSet<(Uuid, Uuid)>) -> BTreeMap<Uuid, Vec<Uuid>> {
    let mut found: BTreeMap<Uuid, Vec<Uuid>> = BTreeMap::new();
    for (project, id) in front {
        found.entry(*project).or_default().push(*id);
    }
    found
}

async fn of_type(conn: &mut Conn, link_type: Option<&str>) -> Result<LinkFilter> {
    match link_type {
        Some(wanted) => Ok(filter(&settings::link_types(conn).await?, wanted)?),
        None => Ok(LinkFilter::default()),
    }
}

fn check_number(ids: &[Uuid]) -> Ruled<()> {
    let most = MAX_PAGE_ROWS as usize;
    if ids.len() <= most {
        return Ok(());
    }
    let problem = format!("has {} entries", ids.len());
    Err(Refusal::field(
        Code::InvalidParams,
        "ids",
        problem,
        format!("at most {most}"),
    ))
}
