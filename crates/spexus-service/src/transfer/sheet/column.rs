//! The columns of a sheet.

use spexus_domain::item::{Item, Pointer};
use spexus_domain::{Ruled, nearest};

/// What a sheet has when nobody says.
pub const DEFAULT_COLUMNS: &str =
    "reference_id,kind,title,description,status,priority,type,parent,acceptance_criterion,assignee,rev";

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Field(Field),
    Attribute(String),
}

/// The fields an item has everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Id,
    ReferenceId,
    Project,
    Kind,
    Title,
    Description,
    Status,
    Priority,
    Type,
    Parent,
    AcceptanceCriterion,
    Assignee,
    Creator,
    Position,
    Rev,
    CreatedAt,
    UpdatedAt,
}

const FIELDS: &[(&str, Field)] = &[
    ("reference_id", Field::ReferenceId),
    ("kind", Field::Kind),
    ("title", Field::Title),
    ("description", Field::Description),
    ("status", Field::Status),
    ("priority", Field::Priority),
    ("type", Field::Type),
    ("parent", Field::Parent),
    ("acceptance_criterion", Field::AcceptanceCriterion),
    ("assignee", Field::Assignee),
    ("rev", Field::Rev),
    ("id", Field::Id),
    ("project", Field::Project),
    ("creator", Field::Creator),
    ("position", Field::Position),
    ("created_at", Field::CreatedAt),
    ("updated_at", Field::UpdatedAt),
];

impl Column {
    /// Reads the name of a column; `attributes.NAME` is what the project adds.
    pub(super) fn parse(field: &str, name: &str) -> Ruled<Self> {
        let name = name.trim().trim_start_matches('\u{feff}');
        if let Some(attribute) = name.strip_prefix("attributes.") {
            return Ok(Self::Attribute(attribute.to_owned()));
        }
        match nearest::find(FIELDS, |(known, _)| known, name) {
            Some((_, found)) => Ok(Self::Field(*found)),
            None => Err(nearest::miss(
                field,
                name,
                FIELDS.iter().map(|(known, _)| *known).chain(["attributes.NAME"]),
            )),
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Attribute(name) => format!("attributes.{name}"),
            Self::Field(field) => {
                let named = FIELDS.iter().find(|(_, known)| known == field);
                named.map(|(name, _)| *name).unwrap_or_default().to_owned()
            }
        }
    }

    /// The cell of an item.
    pub(super) fn cell(&self, item: &Item) -> String {
        let reference = |pointer: &Option<Pointer>| {
            pointer
                .as_ref()
                .map(|p| p.reference_id.to_string())
                .unwrap_or_default()
        };
        match self {
            Self::Attribute(name) => match item.attributes.get(name) {
                None => String::new(),
                Some(serde_json::Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
            },
            Self::Field(field) => match field {
                Field::Id => item.id.to_string(),
                Field::ReferenceId => item.reference_id.to_string(),
                Field::Project => item.project.clone(),
                Field::Kind => item.kind.name().to_owned(),
                Field::Title => item.title.clone(),
                Field::Description => item.description.clone(),
                Field::Status => item.status.clone().unwrap_or_default(),
                Field::Priority => item
                    .priority
                    .map(|priority| priority.number().to_string())
                    .unwrap_or_default(),
                Field::Type => item.requirement_type.clone().unwrap_or_default(),
                Field::Parent => reference(&item.parent),
                Field::AcceptanceCriterion => reference(&item.acceptance_criterion),
                Field::Assignee => item
                    .assignee
                    .as_ref()
                    .map(|person| person.username.clone())
                    .unwrap_or_default(),
                Field::Creator => item.creator.username.clone(),
                Field::Position => item.position.to_string(),
                Field::Rev => item.rev.to_string(),
                Field::CreatedAt => item.created_at.to_string(),
                Field::UpdatedAt => item.updated_at.to_string(),
            },
        }
    }
}
