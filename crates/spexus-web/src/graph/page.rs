//! The page of the graph.

use super::layout::{HEIGHT, Layout, WIDTH, layout};
use crate::answer::{Answer, html};
use crate::form::Params;
use crate::mark::{icon, status};
use crate::shell::{Shell, View};
use crate::texts::{Texts, fill};
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::link::Link;
use spexus_domain::text::excerpt;
use spexus_service::network::{self, Around, Direction, GraphNode, MAX_DEPTH, Neighbourhood};
use spexus_service::settings;

/// Steps when nothing else is asked for.
const USUAL_DEPTH: u32 = 2;
/// Characters of a title that fit into a node.
const NODE_CHARS: usize = 26;

/// What a graph is asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GraphQuery {
    /// The item in the middle.
    #[serde(default)]
    from: String,
    /// `in`, `out` or `both`.
    #[serde(default)]
    way: String,
    depth: Option<u32>,
    /// The name of a link type.
    #[serde(default)]
    link: String,
}

#[derive(Template)]
#[template(path = "graph.html")]
struct GraphPage {
    shell: Shell,
    key: String,
    query: GraphQuery,
    depth: u32,
    ways: Vec<(&'static str, &'static str, bool)>,
    types: Vec<String>,
    picture: Option<Picture>,
    rows: Vec<ListRow>,
    truncated: bool,
    title: String,
}

/// The drawing, ready to be written.
struct Picture {
    width: i32,
    height: i32,
    heads: Vec<(i32, String)>,
    edges: Vec<EdgeMark>,
    nodes: Vec<NodeMark>,
}

struct EdgeMark {
    path: String,
    is_suspect: bool,
    words: String,
}

struct NodeMark {
    x: i32,
    y: i32,
    reference: String,
    project: String,
    short: String,
    words: String,
    is_source: bool,
}

/// A row of the list that says the same.
struct ListRow {
    reference: String,
    project: String,
    title: String,
    status: Option<String>,
    because: String,
    steps: String,
    is_suspect: bool,
}

/// The graph at `/p/KEY/graph`.
//= specs/spexus-web.md#networks
//# A graph MUST show at most 200 items, MUST say when there are more, and MUST say the same as a list.
pub(crate) async fn page(visit: Visit, Path(key): Path<String>, Params(query): Params<GraphQuery>) -> Answer {
    let project = visit.project(&key).await?;
    let t = visit.texts();
    let depth = query.depth.unwrap_or(USUAL_DEPTH);
    let given = |text: &String| (!text.trim().is_empty()).then(|| text.trim().to_owned());
    let found = match given(&query.from) {
        None => None,
        Some(from) => {
            let wanted = Around {
                depth,
                direction: direction(&query.way),
                link_type: given(&query.link),
            };
            let of = Some(project.key.as_str());
            Some(network::around(visit.service(), &visit.caller, of, &from, &wanted).await?)
        }
    };
    let types = settings::link_types(visit.service(), &visit.caller).await?;
    let title = match &found {
        Some(found) => fill(t.around, &[&found.nodes[0].item.reference_id]),
        None => t.graph.to_owned(),
    };
    let shell = visit.shell_in(&project, View::Graph, title.clone()).await?;
    html(&GraphPage {
        shell,
        ways: ways(t, &query.way),
        types: types.data.into_iter().map(|known| known.name).collect(),
        picture: found.as_ref().map(|found| picture(t, found, &layout(found))),
        rows: found.as_ref().map(|found| rows(t, found)).unwrap_or_default(),
        truncated: found.as_ref().is_some_and(|found| found.truncated),
        key: project.key,
        depth,
        title,
        query,
    })
}

fn direction(way: &str) -> Direction {
    match way {
        "in" => Direction::Backward,
        "out" => Direction::Forward,
        _ => Direction::Both,
    }
}

fn ways(t: &Texts, chosen: &str) -> Vec<(&'static str, &'static str, bool)> {
    let rows = [("both", t.way_both), ("in", t.way_in), ("out", t.way_out)];
    rows.map(|(way, words)| (way, words, way == chosen)).to_vec()
}

fn picture(t: &Texts, found: &Neighbourhood, layout: &Layout) -> Picture {
    let head = |steps: i32, count: usize| match steps {
        0 => t.layer_self.to_owned(),
        ahead if ahead > 0 => fill(t.layer_out, &[&ahead, &count]),
        behind => fill(t.layer_in, &[&behind.abs(), &count]),
    };
    Picture {
        width: layout.width,
        height: layout.height,
        heads: layout
            .layers
            .iter()
            .map(|layer| (layer.x, head(layer.steps, layer.count)))
            .collect(),
        edges: layout
            .edges
            .iter()
            .map(|edge| {
                let link = &found.links[edge.at];
                EdgeMark {
                    path: edge.path.clone(),
                    is_suspect: link.suspect,
                    words: sentence(link),
                }
            })
            .collect(),
        nodes: layout
            .nodes
            .iter()
            .map(|placed| {
                let item = &found.nodes[placed.at].item;
                NodeMark {
                    x: placed.x,
                    y: placed.y,
                    reference: item.reference_id.to_string(),
                    project: item.project.clone(),
                    short: excerpt(&item.heading(), NODE_CHARS),
                    words: format!("{} {}", item.reference_id, item.heading()),
                    is_source: found.nodes[placed.at].steps == 0,
                }
            })
            .collect(),
    }
}

fn sentence(link: &Link) -> String {
    format!(
        "{} {} {}",
        link.source.reference_id,
        link.link_type.replace('_', " "),
        link.target.reference_id
    )
}

fn rows(t: &Texts, found: &Neighbourhood) -> Vec<ListRow> {
    found
        .nodes
        .iter()
        .skip(1)
        .map(|node| row(t, found, node))
        .collect()
}

fn row(t: &Texts, found: &Neighbourhood, node: &GraphNode) -> ListRow {
    let nearer = |id| {
        let other = found.nodes.iter().find(|other| other.item.id == id);
        other.is_some_and(|other| other.steps.abs() < node.steps.abs())
    };
    let leads = |link: &&Link| {
        (link.source.id == node.item.id && nearer(link.target.id))
            || (link.target.id == node.item.id && nearer(link.source.id))
    };
    let because: Vec<&Link> = found.links.iter().filter(leads).collect();
    let steps = if node.steps > 0 { t.steps_out } else { t.steps_in };
    ListRow {
        reference: node.item.reference_id.to_string(),
        project: node.item.project.clone(),
        title: node.item.heading(),
        status: node.item.status.clone(),
        because: because
            .iter()
            .map(|link| sentence(link))
            .collect::<Vec<_>>()
            .join(", "),
        steps: fill(steps, &[&node.steps.abs()]),
        is_suspect: because.iter().any(|link| link.suspect),
    }
}
