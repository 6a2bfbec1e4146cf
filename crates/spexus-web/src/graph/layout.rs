//! Where the nodes and edges of a graph stand: a column for each distance, and within a column an order that keeps edges short.

use spexus_domain::Uuid;
use spexus_domain::link::Link;
use spexus_service::network::Neighbourhood;
use std::collections::HashMap;

/// Sizes in the units of the picture.
pub(super) const WIDTH: i32 = 190;
pub(super) const HEIGHT: i32 = 40;
const COLUMN: i32 = 238;
const ROW: i32 = 50;
const TOP: i32 = 26;
/// Rounds of ordering: more change little.
const ROUNDS: usize = 4;

/// A node in its place; its number in the neighbourhood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) at: usize,
    pub(super) x: i32,
    pub(super) y: i32,
}

/// A column: how many steps away it is, and where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    pub(super) steps: i32,
    pub(super) x: i32,
    pub(super) count: usize,
}

/// An edge: its way, and the number of its link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) at: usize,
    pub(super) path: String,
}

/// A whole picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) nodes: Vec<Placed>,
    pub(super) layers: Vec<Layer>,
    pub(super) edges: Vec<Edge>,
    pub(super) width: i32,
    pub(super) height: i32,
}

/// Lays out a neighbourhood. What the item points to stands left of it, what points to it right.
pub(super) fn layout(found: &Neighbourhood) -> Layout {
    let mut columns = columns(found);
    order(&mut columns, found);
    let tallest = columns.iter().map(|(_, nodes)| nodes.len()).max().unwrap_or(0);
    let tall = size(tallest) * ROW;
    let mut layout = Layout {
        width: (size(columns.len()) * COLUMN - (COLUMN - WIDTH)).max(WIDTH),
        height: TOP + tall,
        ..Layout::default()
    };
    let mut places = HashMap::new();
    for (column, (steps, nodes)) in columns.iter().enumerate() {
        let x = size(column) * COLUMN;
        let above = (tall - size(nodes.len()) * ROW) / 2;
        layout.layers.push(Layer {
            steps: *steps,
            x,
            count: nodes.len(),
        });
        for (row, at) in nodes.iter().enumerate() {
            let y = TOP + above + size(row) * ROW;
            places.insert(found.nodes[*at].item.id, (x, y));
            layout.nodes.push(Placed { at: *at, x, y });
        }
    }
    let edges = found.links.iter().enumerate();
    layout.edges = edges.filter_map(|(at, link)| edge(at, link, &places)).collect();
    layout
}

/// The nodes of each distance, from the left: what is pointed to has positive steps.
fn columns(found: &Neighbourhood) -> Vec<(i32, Vec<usize>)> {
    let mut columns: Vec<(i32, Vec<usize>)> = Vec::new();
    for (at, node) in found.nodes.iter().enumerate() {
        match columns.iter_mut().find(|(steps, _)| *steps == node.steps) {
            Some((_, nodes)) => nodes.push(at),
            None => columns.push((node.steps, vec![at])),
        }
    }
    columns.sort_by_key(|(steps, _)| -steps);
    columns
}

/// Puts each node near the middle of those it is linked with in the column beside, to and fro.
fn order(columns: &mut [(i32, Vec<usize>)], found: &Neighbourhood) {
    let numbers: HashMap<Uuid, usize> = found
        .nodes
        .iter()
        .enumerate()
        .map(|(at, node)| (node.item.id, at))
        .collect();
    let mut beside: HashMap<usize, Vec<usize>> = HashMap::new();
    for link in &found.links {
        if let (Some(source), Some(target)) = (numbers.get(&link.source.id), numbers.get(&link.target.id)) {
            beside.entry(*source).or_default().push(*target);
            beside.entry(*target).or_default().push(*source);
        }
    }
    for round in 0..ROUNDS {
        let there = 1..columns.len();
        let turn: Vec<(usize, usize)> = match round % 2 {
            0 => there.map(|at| (at - 1, at)).collect(),
            _ => there.rev().map(|at| (at, at - 1)).collect(),
        };
        for (fixed, moved) in turn {
            let rows: HashMap<usize, usize> = columns[fixed]
                .1
                .iter()
                .enumerate()
                .map(|(row, at)| (*at, row))
                .collect();
            let spread = columns[moved].1.len();
            let middle = |(row, at): (usize, &usize)| {
                let near: Vec<usize> = beside
                    .get(at)
                    .into_iter()
                    .flatten()
                    .filter_map(|other| rows.get(other).copied())
                    .collect();
                // Twice a thousandth of a row: whole numbers sort alike everywhere.
                match near.len() {
                    0 => row * 1000 * rows.len().max(1) / spread.max(1),
                    many => near.iter().sum::<usize>() * 1000 / many,
                }
            };
            let keys: HashMap<usize, usize> = columns[moved]
                .1
                .iter()
                .enumerate()
                .map(|(row, at)| (*at, middle((row, at))))
                .collect();
            columns[moved]
                .1
                .sort_by_key(|at| keys.get(at).copied().unwrap_or_default());
        }
    }
}

/// The way of an edge from its source to its target.
fn edge(at: usize, link: &Link, places: &HashMap<Uuid, (i32, i32)>) -> Option<Edge> {
    let (from, to) = (places.get(&link.source.id)?, places.get(&link.target.id)?);
    let middle = HEIGHT / 2;
    let (y1, y2) = (from.1 + middle, to.1 + middle);
    let path = if from.0 == to.0 {
        // Within a column it goes round on the right.
        let x = from.0 + WIDTH;
        let out = x + (COLUMN - WIDTH) - 8;
        format!("M{x} {y1}C{out} {y1} {out} {y2} {x} {y2}")
    } else {
        let (x1, x2) = if from.0 < to.0 {
            (from.0 + WIDTH, to.0)
        } else {
            (from.0, to.0 + WIDTH)
        };
        let half = i32::midpoint(x1, x2);
        format!("M{x1} {y1}C{half} {y1} {half} {y2} {x2} {y2}")
    };
    Some(Edge { at, path })
}

fn size(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX / ROW)
}
