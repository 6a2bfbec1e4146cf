//! Cells: what they show, and the way to edit them, which is a link that works without a script.

use super::column::{Column, Field};
use super::query::TableQuery;
use crate::mark::{Markup, escaped, icon, person, priority, status};
use crate::texts::{Texts, fill};
use crate::visit::Visit;
use crate::when::when;
use spexus_domain::Timestamp;
use spexus_domain::item::Item;

/// What all cells of a page have in common.
pub(super) struct Sheet<'a> {
    pub(super) t: &'static Texts,
    pub(super) now: Timestamp,
    pub(super) project: &'a str,
    /// Whether the caller may change items here.
    pub(super) may_edit: bool,
    /// The beginning of the address that opens a cell; the cell follows.
    edit: String,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(visit: &Visit, project: &'a str, query: &TableQuery, may_edit: bool) -> Self {
        let still = query.still().address(project);
        let mark = if still.contains('?') { '&' } else { '?' };
        Self {
            t: visit.texts(),
            now: visit.now(),
            project,
            may_edit,
            edit: escaped(&format!("{still}{mark}edit=")),
        }
    }

    /// The address of an item.
    pub(super) fn address(&self, item: &Item) -> String {
        escaped(&format!("/p/{}/{}", self.project, item.reference_id))
    }

    /// One cell of a row.
    pub(super) fn cell(&self, column: Column, item: &Item) -> Markup {
        let class = column.class();
        let class = if class.is_empty() {
            String::new()
        } else {
            format!(" class=\"{class}\"")
        };
        let content = match column {
            Column::Of(field) => return Markup(self.field(field, item, &class)),
            Column::Parent => item.parent.as_ref().map_or_else(String::new, |parent| {
                let name = escaped(&parent.reference_id.to_string());
                format!(
                    "<a class=\"ref\" href=\"/p/{}/{name}\">{name}</a>",
                    escaped(self.project)
                )
            }),
            Column::Creator => person(&item.creator.username).0,
            Column::Changed => when(self.t, item.updated_at, self.now).0,
            Column::Made => when(self.t, item.created_at, self.now).0,
            Column::Revision => item.rev.to_string(),
        };
        Markup(format!("<td{class}>{content}</td>"))
    }

    /// A cell that can be edited. The title leads to the item and has a pen beside it; the others are links to their own editing.
    fn field(&self, field: Field, item: &Item, class: &str) -> String {
        let name = field.name();
        if !field.is_of(Some(item.kind)) {
            return format!("<td{class}></td>");
        }
        let shown = self.shown(field, item);
        let editable = self.may_edit && (field != Field::Status || item.status.is_some());
        let (open, key) = (format!("{}{}.{name}", self.edit, item.reference_id), field.key());
        let value = escaped(&value(field, item));
        let how = fill(self.t.change_field, &[&field.words(self.t)]);
        match (field, editable) {
            (Field::Title, true) => format!(
                "<td{class} data-field=\"{name}\"><a href=\"{}\">{shown}</a> <a class=\"cell pen\" href=\"{open}\" data-key=\"{key}\" \
                 title=\"{how}\">{}<span class=\"sr\">{how}</span></a></td>",
                self.address(item),
                icon("edit")
            ),
            (Field::Title, false) => {
                format!("<td{class}><a href=\"{}\">{shown}</a></td>", self.address(item))
            }
            (_, true) => format!(
                "<td{class} data-field=\"{name}\" data-value=\"{value}\"><a class=\"cell\" href=\"{open}\" data-key=\"{key}\" title=\"{how}\">{shown}</a></td>"
            ),
            (_, false) => format!("<td{class}>{shown}</td>"),
        }
    }

    fn shown(&self, field: Field, item: &Item) -> String {
        let nothing = || format!("<span class=\"dim\">{}</span>", self.t.nothing);
        match field {
            Field::Title => escaped(&item.heading()),
            Field::Status => item
                .status
                .as_deref()
                .map_or_else(String::new, |name| status(name).0),
            Field::Priority => item
                .priority
                .as_ref()
                .map_or_else(nothing, |value| priority(self.t, value).0),
            Field::Type => item.requirement_type.as_deref().map_or_else(nothing, escaped),
            Field::Owner => match &item.assignee {
                Some(who) => person(&who.username).0,
                None => format!("<span class=\"dim\">{}</span>", self.t.nobody),
            },
        }
    }
}

/// What a field says now, as a form would send it.
pub(super) fn value(field: Field, item: &Item) -> String {
    match field {
        Field::Title => item.title.clone(),
        Field::Status => item.status.clone().unwrap_or_default(),
        Field::Priority => item
            .priority
            .map(|value| value.number().to_string())
            .unwrap_or_default(),
        Field::Type => item.requirement_type.clone().unwrap_or_default(),
        Field::Owner => item
            .assignee
            .as_ref()
            .map(|who| who.username.clone())
            .unwrap_or_default(),
    }
}
