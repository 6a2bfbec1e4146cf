//! The page of the table.

use super::cell::Sheet;
use super::column::{Column, Field};
use super::form::{self, CellForm};
use super::query::{TableQuery, USUAL_ORDER};
use super::rows::{self, NOBODY, Rows, known_values};
use super::undo::Done;
use crate::answer::{Answer, faulty, html};
use crate::form::Params;
use crate::mark::{Markup, icon, kind_word, kinds_word, person, priority_word, status};
use crate::shell::{Shell, View};
use crate::texts::{Texts, fill};
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use spexus_domain::item::{Item, Priority};
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::query::Total;
use spexus_domain::{Kind, Refusal, text};

/// Values of one filter that are offered; other people are named.
const MAX_CHOICES: usize = 200;

#[derive(Template)]
#[template(path = "table.html")]
struct TablePage {
    shell: Shell,
    key: String,
    heading: &'static str,
    total: String,
    query: TableQuery,
    chips: Vec<Chip>,
    filters: Vec<Filter>,
    kinds: Vec<Choice>,
    orders: Vec<Choice>,
    groupings: Vec<Choice>,
    columns: Vec<ColumnChoice>,
    heads: Vec<Head>,
    /// Columns in all.
    span: usize,
    groups: Vec<GroupRow>,
    may_edit: bool,
    fields: Vec<Choice>,
    /// Everything a bulk change can be told.
    words: Vec<String>,
    next: Option<String>,
    first: Option<String>,
    done: Option<Done>,
    undo_address: String,
}

/// A filter that is set, and the address without it.
struct Chip {
    field: &'static str,
    value: String,
    without: String,
}

/// A filter with the values it can have.
struct Filter {
    name: &'static str,
    words: &'static str,
    choices: Vec<Choice>,
}

/// A value that can be chosen.
struct Choice {
    value: String,
    words: String,
    is_chosen: bool,
}

struct ColumnChoice {
    column: Column,
    words: &'static str,
    is_shown: bool,
}

/// The head of a column: what it says and, where the column is an order, the address that sorts by it.
struct Head {
    words: &'static str,
    class: &'static str,
    sort: Option<String>,
    /// As assistive software is told; empty when the table is not sorted by it.
    sorted: &'static str,
}

/// A group with its head and its rows.
struct GroupRow {
    head: Option<Markup>,
    total: String,
    rows: Vec<RowCells>,
}

/// One row.
struct RowCells {
    reference: String,
    address: String,
    rev: i64,
    cells: Vec<Markup>,
}

/// The table at `/p/KEY/table`.
pub(crate) async fn page(visit: Visit, Path(key): Path<String>, Params(query): Params<TableQuery>) -> Answer {
    let project = visit.project(&key).await?;
    let query = query.tidy();
    let open = form::open(&visit, &project.key, &query).await?;
    html(&made(&visit, project, query, open).await?)
}

/// The table again with a cell open and what is wrong with it.
pub(super) async fn again(visit: &Visit, project: Project, cell: CellForm, refusal: &Refusal) -> Answer {
    let query = cell.back.clone();
    faulty(&made(visit, project, query, Some(cell)).await?, refusal)
}

async fn made(
    visit: &Visit,
    project: Project,
    query: TableQuery,
    open: Option<CellForm>,
) -> Answer<TablePage> {
    let t = visit.texts();
    let kind = query.kind()?;
    let columns = query.columns(kind)?;
    let rows = rows::read(visit, &project.key, &query).await?;
    let may_edit = visit.caller.may_in(Operation::UpdateItem, project.id).is_ok();
    let heading = kind.map_or(t.all_items, |kind| kinds_word(t, kind));
    let shell = visit.shell_in(&project, View::Table, heading).await?;
    let open = match &open {
        Some(cell) => Some((cell.reference.clone(), cell.field, cell.markup()?)),
        None => None,
    };
    let sheet = Sheet::new(visit, &project.key, &query, may_edit);
    let mut filters = Vec::new();
    for field in [Field::Status, Field::Priority, Field::Type, Field::Owner] {
        if field.is_of(kind) {
            let mut known = known_values(visit, kind, field).await?;
            known.truncate(MAX_CHOICES);
            filters.push(filter(t, &query, field, known));
        }
    }
    let total = counted(t, &rows);
    let words: Vec<String> = filters
        .iter()
        .flat_map(|filter| filter.choices.iter().map(|choice| choice.words.clone()))
        .collect();
    let grouping = query.group(kind)?;
    let next = rows.next.clone().map(|cursor| {
        let there = TableQuery {
            cursor: Some(cursor),
            ..query.still()
        };
        there.address(&project.key)
    });
    Ok(TablePage {
        shell,
        heading,
        total,
        chips: chips(t, &project.key, &query),
        filters,
        kinds: kinds(t, kind),
        orders: orders(t, &query),
        groupings: groupings(t, kind, grouping),
        columns: column_choices(t, kind, &columns),
        heads: columns
            .iter()
            .map(|column| head(t, &project.key, &query, *column))
            .collect(),
        span: columns.len() + 1 + usize::from(may_edit),
        groups: rows
            .groups
            .into_iter()
            .map(|group| group_row(&sheet, &columns, grouping, group, open.as_ref()))
            .collect(),
        may_edit,
        fields: fields(t, kind),
        words,
        next,
        first: query
            .cursor
            .is_some()
            .then(|| query.with(|_| {}).address(&project.key)),
        done: Done::read(query.undo.as_deref()),
        undo_address: query.still().text(),
        key: project.key,
        query,
    })
}

fn group_row(
    sheet: &Sheet<'_>,
    columns: &[Column],
    grouping: Option<Field>,
    group: rows::Group,
    open: Option<&(String, Field, Markup)>,
) -> GroupRow {
    let t = sheet.t;
    let head = group.value.zip(grouping).map(|(value, field)| match field {
        Field::Status => status(&value),
        Field::Owner if value == NOBODY => Markup(t.nobody.to_owned()),
        Field::Owner => person(&value),
        _ => Markup(crate::mark::escaped(&value)),
    });
    let row = |item: &Item| {
        let reference = item.reference_id.to_string();
        let cell = |column: &Column| match open {
            Some((name, field, form)) if *name == reference && *column == Column::Of(*field) => {
                Markup(format!(
                    "<td class=\"{} edit\" data-field=\"{}\">{form}</td>",
                    column.class(),
                    field.name()
                ))
            }
            _ => sheet.cell(*column, item),
        };
        RowCells {
            address: sheet.address(item),
            rev: item.rev,
            cells: columns.iter().map(cell).collect(),
            reference,
        }
    };
    GroupRow {
        head,
        total: group.total.map(|total| number(t, total)).unwrap_or_default(),
        rows: group.items.iter().map(row).collect(),
    }
}

/// How many rows there are, as the list knows it.
fn counted(t: &Texts, rows: &Rows) -> String {
    match rows.total {
        Some(total) => fill(t.items_counted, &[&number(t, total)]),
        None => fill(t.items_shown, &[&rows.shown()]),
    }
}

fn number(t: &Texts, total: Total) -> String {
    match total {
        Total::Exact(rows) => text::grouped(rows),
        Total::AtLeast(rows) => fill(t.at_least, &[&text::grouped(rows)]),
    }
}

/// The filters that are set. Removing one is a link, so that every state has an address.
fn chips(t: &Texts, key: &str, query: &TableQuery) -> Vec<Chip> {
    let mut chips = Vec::new();
    let mut chip = |field: &'static str, value: &Option<String>, without: fn(&mut TableQuery)| {
        if let Some(value) = value {
            chips.push(Chip {
                field,
                value: value.replace(',', ", "),
                without: query.with(without).address(key),
            });
        }
    };
    chip(t.status, &query.status, |table| table.status = None);
    chip(t.priority, &priorities(t, query), |table| table.priority = None);
    chip(t.requirement_type, &query.requirement_type, |table| {
        table.requirement_type = None
    });
    chip(t.owner, &query.owner, |table| table.owner = None);
    chip(t.belongs_to, &query.under, |table| table.under = None);
    chip(t.words, &query.query, |table| table.query = None);
    chips
}

fn priorities(t: &Texts, query: &TableQuery) -> Option<String> {
    let word = |part: &str| match Priority::parse("priority", part) {
        Ok(priority) => priority_word(t, priority).to_owned(),
        Err(_) => part.to_owned(),
    };
    let set = query.priority.as_deref()?;
    Some(set.split(',').map(word).collect::<Vec<_>>().join(","))
}

fn filter(t: &Texts, query: &TableQuery, field: Field, known: Vec<String>) -> Filter {
    let set: Vec<&str> = query
        .filter(field)
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .collect();
    let choice = |value: String| Choice {
        is_chosen: set.contains(&value.as_str()),
        words: match field {
            Field::Priority => Priority::parse("priority", &value)
                .map_or_else(|_| value.clone(), |p| priority_word(t, p).to_owned()),
            Field::Owner if value == NOBODY => t.nobody.to_owned(),
            _ => value.clone(),
        },
        value,
    };
    Filter {
        name: field.name(),
        words: field.words(t),
        choices: known.into_iter().map(choice).collect(),
    }
}

fn kinds(t: &Texts, chosen: Option<Kind>) -> Vec<Choice> {
    let mut kinds: Vec<Choice> = Kind::ALL
        .into_iter()
        .map(|kind| Choice {
            value: kind.name().to_owned(),
            words: kind_word(t, kind).to_owned(),
            is_chosen: chosen == Some(kind),
        })
        .collect();
    kinds.push(Choice {
        value: "all".to_owned(),
        words: t.all_items.to_owned(),
        is_chosen: chosen.is_none(),
    });
    kinds
}

fn orders(t: &Texts, query: &TableQuery) -> Vec<Choice> {
    let set = query.sort.as_deref().unwrap_or(USUAL_ORDER);
    let rows = [
        ("created_at", t.order_made),
        ("-created_at", t.order_newest),
        ("-updated_at", t.order_changed),
        ("priority", t.order_priority),
        ("title", t.order_title),
        ("status", t.order_status),
    ];
    let choice = |(value, words): (&str, &'static str)| Choice {
        value: value.to_owned(),
        words: words.to_owned(),
        is_chosen: value == set,
    };
    rows.into_iter().map(choice).collect()
}

fn groupings(t: &Texts, kind: Option<Kind>, chosen: Option<Field>) -> Vec<Choice> {
    let fields = [Field::Status, Field::Type, Field::Owner].into_iter();
    let mut all = vec![Choice {
        value: String::new(),
        words: t.no_groups.to_owned(),
        is_chosen: chosen.is_none(),
    }];
    all.extend(
        fields
            .filter(|field| kind.is_some() && field.is_of(kind))
            .map(|field| Choice {
                value: field.name().to_owned(),
                words: field.words(t).to_owned(),
                is_chosen: chosen == Some(field),
            }),
    );
    all
}

fn column_choices(t: &Texts, kind: Option<Kind>, shown: &[Column]) -> Vec<ColumnChoice> {
    let columns = Column::ALL.into_iter().filter(|column| column.is_of(kind));
    columns
        .map(|column| ColumnChoice {
            words: column.words(t),
            is_shown: shown.contains(&column),
            column,
        })
        .collect()
}

fn fields(t: &Texts, kind: Option<Kind>) -> Vec<Choice> {
    let fields = Field::ALL.into_iter().filter(|field| field.is_of(kind));
    fields
        .map(|field| Choice {
            value: field.name().to_owned(),
            words: field.words(t).to_owned(),
            is_chosen: false,
        })
        .collect()
}

fn head(t: &'static Texts, key: &str, query: &TableQuery, column: Column) -> Head {
    let set = query.sort.as_deref().unwrap_or(USUAL_ORDER);
    let order = column.order().filter(|_| query.query.is_none());
    let sort = order.map(|order| {
        let turned = if set == order {
            format!("-{order}")
        } else {
            order.to_owned()
        };
        query.with(|table| table.sort = Some(turned)).address(key)
    });
    let sorted = match order {
        Some(order) if set == order => "ascending",
        Some(order) if set.strip_prefix('-') == Some(order) => "descending",
        _ => "",
    };
    Head {
        words: column.words(t),
        class: column.class(),
        sort,
        sorted,
    }
}
