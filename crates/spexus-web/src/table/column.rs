//! The columns there are, and the fields that can be edited in a cell.

use crate::texts::Texts;
use spexus_domain::{Kind, Ruled, nearest};

/// A field that is edited in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Title,
    Status,
    Priority,
    Type,
    Owner,
}

impl Field {
    pub(super) const ALL: [Field; 5] = [
        Field::Title,
        Field::Status,
        Field::Priority,
        Field::Type,
        Field::Owner,
    ];

    /// As addresses and forms name it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Field::Title => "title",
            Field::Status => "status",
            Field::Priority => "priority",
            Field::Type => "type",
            Field::Owner => "owner",
        }
    }

    /// As the service names it.
    pub(super) const fn of_item(self) -> &'static str {
        match self {
            Field::Owner => "assignee",
            other => other.name(),
        }
    }

    pub(super) const fn words(self, t: &Texts) -> &'static str {
        match self {
            Field::Title => t.title,
            Field::Status => t.status,
            Field::Priority => t.priority,
            Field::Type => t.requirement_type,
            Field::Owner => t.owner,
        }
    }

    /// The key that opens the cell of the row one is at.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Field::Title => "e",
            Field::Status => "s",
            Field::Priority => "p",
            Field::Type => "t",
            Field::Owner => "a",
        }
    }

    pub(super) fn parse(name: &str, text: &str) -> Ruled<Self> {
        let found = Field::ALL.into_iter().find(|field| field.name() == text.trim());
        found.ok_or_else(|| nearest::miss(name, text, Field::ALL.map(Field::name)))
    }

    /// Whether a kind has it; any kind where there are several.
    pub(super) fn is_of(self, kind: Option<Kind>) -> bool {
        let Some(kind) = kind else { return true };
        let rules = kind.rules();
        match self {
            Field::Title => true,
            Field::Status => rules.has_status,
            Field::Priority => rules.has_priority,
            Field::Type => rules.has_type,
            Field::Owner => rules.has_assignee,
        }
    }
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Of(Field),
    Parent,
    Creator,
    Changed,
    Made,
    Revision,
}

impl Column {
    pub(super) const ALL: [Column; 10] = [
        Column::Of(Field::Title),
        Column::Of(Field::Status),
        Column::Of(Field::Priority),
        Column::Of(Field::Type),
        Column::Of(Field::Owner),
        Column::Parent,
        Column::Creator,
        Column::Changed,
        Column::Made,
        Column::Revision,
    ];

    pub(super) const USUAL: [Column; 6] = [
        Column::Of(Field::Title),
        Column::Of(Field::Status),
        Column::Of(Field::Priority),
        Column::Of(Field::Type),
        Column::Of(Field::Owner),
        Column::Changed,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Column::Of(field) => field.name(),
            Column::Parent => "parent",
            Column::Creator => "creator",
            Column::Changed => "changed",
            Column::Made => "made",
            Column::Revision => "revision",
        }
    }

    pub(super) const fn words(self, t: &Texts) -> &'static str {
        match self {
            Column::Of(field) => field.words(t),
            Column::Parent => t.belongs_to,
            Column::Creator => t.creator,
            Column::Changed => t.changed,
            Column::Made => t.made,
            Column::Revision => t.revision,
        }
    }

    pub(super) fn parse(text: &str) -> Ruled<Self> {
        let found = Column::ALL
            .into_iter()
            .find(|column| column.name() == text.trim());
        found.ok_or_else(|| nearest::miss("columns", text, Column::ALL.map(Column::name)))
    }

    pub(super) fn is_of(self, kind: Option<Kind>) -> bool {
        match self {
            Column::Of(field) => field.is_of(kind),
            Column::Parent => kind.is_none_or(|kind| kind.rules().parent.is_some()),
            _ => true,
        }
    }

    /// The order of the list that this column shows, when there is one.
    pub(super) const fn order(self) -> Option<&'static str> {
        match self {
            Column::Of(Field::Title) => Some("title"),
            Column::Of(Field::Status) => Some("status"),
            Column::Of(Field::Priority) => Some("priority"),
            Column::Changed => Some("updated_at"),
            Column::Made => Some("created_at"),
            _ => None,
        }
    }

    /// The class of its cells.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Column::Of(Field::Title) => "t",
            Column::Changed | Column::Made | Column::Revision => "num dim opt2",
            Column::Of(Field::Type) | Column::Parent | Column::Creator => "opt2",
            Column::Of(_) => "",
        }
    }
}
