//! A window of a matrix: some rows, the columns they lead to, and what joins them.

use super::query::{MatrixQuery, SERVES};
use crate::answer::Answer;
use crate::visit::Visit;
use spexus_domain::item::Item;
use spexus_domain::link::{LinkEnd, find_type};
use spexus_domain::query::Total;
use spexus_domain::{Kind, Uuid};
use spexus_service::{item, network, settings};
use std::collections::{BTreeMap, HashMap};

/// The head of a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) id: Uuid,
    pub(super) reference: String,
    pub(super) project: String,
    pub(super) title: String,
    number: i64,
}

impl Column {
    /// Where it stands among the columns.
    pub(super) fn place(&self) -> (String, i64) {
        (self.project.clone(), self.number)
    }
}

/// What a cell says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Linked,
    Suspect,
}

/// Rows with what they lead to.
pub(super) struct Window {
    pub(super) rows: Vec<Item>,
    pub(super) columns: Vec<Column>,
    /// What each row has in each column, shown or not.
    cells: HashMap<Uuid, BTreeMap<Uuid, State>>,
    pub(super) total: Total,
    pub(super) next: Option<String>,
    /// Columns that did not fit.
    pub(super) columns_left_out: usize,
    /// Whether some links were left out.
    pub(super) truncated: bool,
}

/// Columns of a page at most; whoever wants to see more takes fewer rows.
const MAX_COLUMNS: usize = 60;

impl Window {
    pub(super) fn cell(&self, row: Uuid, column: Uuid) -> Option<State> {
        self.cells.get(&row)?.get(&column).copied()
    }

    /// How many links a row has, and how many of them are suspect.
    pub(super) fn counts(&self, row: Uuid) -> (usize, usize) {
        let cells = self.cells.get(&row);
        let all = cells.map_or(0, BTreeMap::len);
        (
            all,
            cells
                .into_iter()
                .flatten()
                .filter(|(_, state)| **state == State::Suspect)
                .count(),
        )
    }

    /// Whether a row has no link, or a suspect one.
    fn wants_care(&self, row: Uuid) -> bool {
        let (all, suspect) = self.counts(row);
        all == 0 || suspect > 0
    }

    fn join(&mut self, row: Uuid, column: Uuid, state: State) {
        let cell = self.cells.entry(row).or_default().entry(column).or_insert(state);
        if state == State::Suspect {
            *cell = state;
        }
    }

    /// Leaves out what needs no care.
    fn keep_gaps(&mut self) {
        let kept: Vec<bool> = self.rows.iter().map(|row| self.wants_care(row.id)).collect();
        let mut kept = kept.into_iter();
        self.rows.retain(|_| kept.next().unwrap_or(true));
        let shown: Vec<&BTreeMap<Uuid, State>> = self
            .rows
            .iter()
            .filter_map(|row| self.cells.get(&row.id))
            .collect();
        self.columns
            .retain(|column| shown.iter().any(|cells| cells.contains_key(&column.id)));
    }
}

/// Reads a window: the rows of one page, and the links of all of them at once.
//= specs/spexus-web.md#networks
//# A matrix MUST be read by windows of at most 200 rows, and MUST mark rows without a link and links that are suspect.
pub(super) async fn read(visit: &Visit, project: &str, query: &MatrixQuery) -> Answer<Window> {
    let mut window = read_whole(visit, project, query).await?;
    window.columns_left_out = window.columns.len().saturating_sub(MAX_COLUMNS);
    window.columns.truncate(MAX_COLUMNS);
    Ok(window)
}

/// The same with every column.
pub(super) async fn read_whole(visit: &Visit, project: &str, query: &MatrixQuery) -> Answer<Window> {
    let (rows, columns) = query.kinds()?;
    let page = item::list(visit.service(), &visit.caller, Some(rows), &query.items(project)).await?;
    let mut window = Window {
        columns: Vec::new(),
        cells: HashMap::new(),
        total: page.total(),
        next: page.next_cursor,
        rows: page.data,
        columns_left_out: 0,
        truncated: false,
    };
    match query.link()?.as_deref() {
        Some(SERVES) => serving(visit, project, &mut window).await?,
        link => linking(visit, project, link, columns, &mut window).await?,
    }
    if query.only_gaps() {
        window.keep_gaps();
    }
    Ok(window)
}

/// The criteria that requirements serve.
async fn serving(visit: &Visit, project: &str, window: &mut Window) -> Answer<()> {
    let mut ids: Vec<Uuid> = Vec::new();
    let served: Vec<(Uuid, Uuid)> = window
        .rows
        .iter()
        .filter_map(|row| Some((row.id, row.acceptance_criterion.as_ref()?.id)))
        .collect();
    for (row, criterion) in served {
        window.join(row, criterion, State::Linked);
        ids.push(criterion);
    }
    ids.sort_unstable();
    ids.dedup();
    let found = network::several(visit.service(), &visit.caller, Some(project), &ids).await?;
    window.columns = found
        .into_iter()
        .map(|item| Column {
            id: item.id,
            number: item.reference_id.number(),
            reference: item.reference_id.to_string(),
            title: item.heading(),
            project: item.project,
        })
        .collect();
    window.columns.sort_by_key(|column| column.number);
    Ok(())
}

/// The other ends of links, where they are of the kind of the columns.
async fn linking(
    visit: &Visit,
    project: &str,
    link: Option<&str>,
    columns: Kind,
    window: &mut Window,
) -> Answer<()> {
    let ids: Vec<Uuid> = window.rows.iter().map(|row| row.id).collect();
    let found = network::links_of(visit.service(), &visit.caller, Some(project), &ids, link).await?;
    window.truncated = found.truncated;
    // A type that has a direction reads one way only.
    let way = match link {
        Some(name) => {
            let types = settings::link_types(visit.service(), &visit.caller).await?.data;
            let (known, inverse) = find_type(&types, name)?;
            (!known.is_symmetric()).then_some(inverse)
        }
        None => None,
    };
    let mut heads: BTreeMap<(String, i64), Column> = BTreeMap::new();
    for link in &found.links {
        for (here, there, inverse) in [
            (&link.source, &link.target, false),
            (&link.target, &link.source, true),
        ] {
            if !ids.contains(&here.id) || there.kind != columns || way.is_some_and(|way| way != inverse) {
                continue;
            }
            let head = head(there);
            heads.insert((head.project.clone(), head.number), head);
            window.join(
                here.id,
                there.id,
                if link.suspect {
                    State::Suspect
                } else {
                    State::Linked
                },
            );
        }
    }
    window.columns = heads.into_values().collect();
    Ok(())
}

fn head(end: &LinkEnd) -> Column {
    Column {
        id: end.id,
        number: end.reference_id.number(),
        reference: end.reference_id.to_string(),
        project: end.project.clone(),
        title: end.title.clone(),
    }
}
