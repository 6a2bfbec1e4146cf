//! The records, as they stand on a line.

use serde::{Deserialize, Serialize};
use spexus_domain::anchor::Anchor;
use spexus_domain::attribute::{AttributeRule, Attributes};
use spexus_domain::comment::Comment;
use spexus_domain::item::{Item, Priority};
use spexus_domain::link::LinkType;
use spexus_domain::project::Project;
use spexus_domain::prompt::{Argument, MessageTemplate, Prompt};
use spexus_domain::requirement_type::RequirementType;
use spexus_domain::workflow::Workflow;
use spexus_domain::{Reference, Timestamp, Uuid};
use spexus_store::transfer::LinkRow;
use std::collections::BTreeMap;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(super) enum Record {
    Header(Header),
    Project(ProjectRecord),
    RequirementType(RequirementType),
    LinkType(LinkType),
    Workflow(Workflow),
    Prompt(PromptRecord),
    Item(Box<ItemRecord>),
    Comment(CommentRecord),
    Link(LinkRecord),
    End(Totals),
}

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) format: String,
    pub(super) version: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProjectRecord {
    pub(super) key: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) attributes: Vec<AttributeRule>,
    /// The last number given out for each prefix, so that none is given out twice.
    #[serde(default)]
    pub(super) counters: BTreeMap<String, i64>,
    pub(super) rev: i64,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PromptRecord {
    pub(super) id: Uuid,
    pub(super) reference_id: Reference,
    pub(super) name: String,
    pub(super) title: String,
    #[serde(default)]
    pub(super) description: String,
    pub(super) messages: Vec<MessageTemplate>,
    #[serde(default)]
    pub(super) arguments: Vec<Argument>,
    pub(super) active: bool,
    pub(super) creator: String,
    pub(super) rev: i64,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ItemRecord {
    pub(super) id: Uuid,
    pub(super) reference_id: Reference,
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) priority: Option<Priority>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) requirement_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) acceptance_criterion: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) assignee: Option<String>,
    pub(super) creator: String,
    pub(super) position: i64,
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub(super) attributes: Attributes,
    pub(super) rev: i64,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommentRecord {
    pub(super) id: Uuid,
    pub(super) item: Reference,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent_id: Option<Uuid>,
    pub(super) author: String,
    pub(super) content: String,
    pub(super) resolved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) anchor: Option<Anchor>,
    pub(super) rev: i64,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkRecord {
    pub(super) id: Uuid,
    #[serde(rename = "type")]
    pub(super) link_type: String,
    pub(super) source: Reference,
    pub(super) target: Reference,
    /// What the source said when the link was confirmed; left out when it still says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) target_hash: Option<String>,
    pub(super) created_by: String,
    pub(super) rev: i64,
    pub(super) created_at: Timestamp,
}

/// The last line: what must have come before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Totals {
    pub(super) items: u64,
    pub(super) links: u64,
    pub(super) comments: u64,
}

impl ProjectRecord {
    pub(super) fn new(project: Project, counters: BTreeMap<String, i64>) -> Self {
        Self {
            key: project.key,
            name: project.name,
            description: project.description,
            attributes: project.attributes,
            counters,
            rev: project.rev,
            created_at: project.created_at,
            updated_at: project.updated_at,
        }
    }
}

impl From<Prompt> for PromptRecord {
    fn from(prompt: Prompt) -> Self {
        Self {
            id: prompt.id,
            reference_id: prompt.reference_id,
            name: prompt.name,
            title: prompt.title,
            description: prompt.description,
            messages: prompt.messages,
            arguments: prompt.arguments,
            active: prompt.active,
            creator: prompt.creator,
            rev: prompt.rev,
            created_at: prompt.created_at,
            updated_at: prompt.updated_at,
        }
    }
}

impl From<Item> for ItemRecord {
    fn from(item: Item) -> Self {
        Self {
            id: item.id,
            reference_id: item.reference_id,
            title: item.title,
            description: item.description,
            status: item.status,
            priority: item.priority,
            requirement_type: item.requirement_type,
            parent: item.parent.map(|parent| parent.reference_id),
            acceptance_criterion: item.acceptance_criterion.map(|criterion| criterion.reference_id),
            assignee: item.assignee.map(|person| person.username),
            creator: item.creator.username,
            position: item.position,
            attributes: item.attributes,
            rev: item.rev,
            created_at: item.created_at,
            updated_at: item.updated_at,
        }
    }
}

impl From<Comment> for CommentRecord {
    fn from(comment: Comment) -> Self {
        Self {
            id: comment.id,
            item: comment.item,
            parent_id: comment.parent_id,
            author: comment.author,
            content: comment.content,
            resolved: comment.resolved,
            anchor: comment.anchor,
            rev: comment.rev,
            created_at: comment.created_at,
            updated_at: comment.updated_at,
        }
    }
}

impl From<LinkRow> for LinkRecord {
    fn from(link: LinkRow) -> Self {
        Self {
            id: link.id,
            link_type: link.link_type,
            source: link.source.1,
            target: link.target.1,
            source_hash: (!link.source_confirmed).then_some(link.source_hash),
            target_hash: (!link.target_confirmed).then_some(link.target_hash),
            created_by: link.created_by.1,
            rev: link.rev,
            created_at: link.created_at,
        }
    }
}
