//! The records, as they stand on a line.

use super::import::refused;
use super::review::ReviewRecord;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use spexus_domain::anchor::Anchor;
use spexus_domain::attribute::{AttributeRule, Attributes};
use spexus_domain::comment::Comment;
use spexus_domain::item::{Item, Priority};
use spexus_domain::link::LinkType;
use spexus_domain::project::Project;
use spexus_domain::prompt::{Argument, MessageTemplate, Prompt};
use spexus_domain::requirement_type::RequirementType;
use spexus_domain::trace::{ItemTrace, ReviewKind};
use spexus_domain::workflow::Workflow;
use spexus_domain::{Reference, Refusal, Ruled, Timestamp, Uuid};
use spexus_store::carry::{Deletion, SealedChange};
use spexus_store::transfer::LinkRow;
use std::collections::{BTreeMap, BTreeSet};

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(super) enum Record {
    Header(Header),
    Project(ProjectRecord),
    Ledger(LedgerRecord),
    Person(PersonRecord),
    RequirementType(RequirementType),
    LinkType(LinkType),
    Workflow(Workflow),
    Prompt(PromptRecord),
    Item(Box<ItemRecord>),
    Comment(CommentRecord),
    Link(LinkRecord),
    Baseline(BaselineRecord),
    Review(Box<ReviewRecord>),
    Push(PushRecord),
    Part(PartRecord),
    State(Box<StateRecord>),
    TraceReview(TraceReviewRecord),
    TraceHead(HeadRecord),
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
    /// The project itself, where its history comes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Uuid>,
    pub(super) key: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) attributes: Vec<AttributeRule>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) prefix_references: bool,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deleted_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deletion_id: Option<Uuid>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deleted_at: Option<Timestamp>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deleted_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deletion_id: Option<Uuid>,
}

/// Where the ledger of the project began, and where it ends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LedgerRecord {
    /// The installation it began at, by the hash of the first change of its own ledger.
    pub(super) installation: String,
    /// The one chain that installation had before there were ledgers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) former: Option<LedgerEnd>,
    pub(super) end: LedgerEnd,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LedgerEnd {
    pub(super) changes: i64,
    pub(super) hash: String,
}

/// Somebody with the other names the history tells them by.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PersonRecord {
    pub(super) username: String,
    pub(super) names: BTreeSet<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BaselineRecord {
    pub(super) id: Uuid,
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    /// The change of the ledger it was made behind.
    pub(super) number: i64,
    pub(super) hash: String,
    pub(super) created_by: String,
    pub(super) created_at: Timestamp,
}

/// A push of evidence; its documents stand behind it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PushRecord {
    pub(super) id: Uuid,
    pub(super) number: i64,
    pub(super) digest: String,
    pub(super) commit: String,
    pub(super) ordered_at: Timestamp,
    pub(super) is_dirty: bool,
    pub(super) is_reported: bool,
    pub(super) has_marks: bool,
    /// What else is known of it, as the text its digest covers.
    pub(super) head: String,
    pub(super) pushed_by: String,
    pub(super) pushed_at: Timestamp,
}

/// A document of a push: marks, results of tests or lines that ran, a record on each line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartRecord {
    pub(super) push: Uuid,
    pub(super) ordinal: i64,
    pub(super) kind: String,
    pub(super) body: String,
}

/// Where an item stands.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StateRecord {
    pub(super) item: Reference,
    pub(super) trace: ItemTrace,
    pub(super) content_hash: String,
    pub(super) confirmed_hash: String,
    pub(super) ground: String,
}

/// What somebody said about the evidence of an item.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceReviewRecord {
    pub(super) item: Reference,
    pub(super) kind: ReviewKind,
    pub(super) why: String,
    pub(super) reviewer: String,
    pub(super) content_hash: String,
    pub(super) fingerprint: String,
    pub(super) reviewed_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<Timestamp>,
}

/// What is known of the traced commit.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeadRecord {
    pub(super) body: String,
}

/// How the line of a change begins. It is read apart from all others, because its fields are kept to the byte: they are
/// what its hash covers.
pub(super) const CHANGE_LINE: &[u8] = br#"{"record":"change","#;

/// A change of the ledger, with all that its hash covers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeRecord {
    record: ChangeTag,
    number: i64,
    at: Timestamp,
    user_id: Uuid,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    user: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    client: String,
    entity: String,
    entity_id: Uuid,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    other_item_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    label: String,
    action: String,
    rev: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    salt: String,
    /// The hash of the words, where they were taken out; else it is computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload_hash: Option<String>,
    hash: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ChangeTag {
    Change,
}

/// No fields, as they are stored.
const NO_FIELDS: &str = "{}";

impl TryFrom<SealedChange> for ChangeRecord {
    type Error = serde_json::Error;

    fn try_from(change: SealedChange) -> Result<Self, Self::Error> {
        let payload_hash = change.is_erased().then(|| hex::encode(change.payload_hash));
        let fields = |text: String| match text.as_str() {
            NO_FIELDS => Ok(None),
            _ => RawValue::from_string(text).map(Some),
        };
        Ok(Self {
            record: ChangeTag::Change,
            number: change.number,
            at: change.at,
            user_id: change.user_id,
            user: change.username,
            token_id: change.token_id,
            client: change.client,
            entity: change.entity,
            entity_id: change.entity_id,
            item_id: change.item_id,
            other_item_id: change.other_item_id,
            label: change.label,
            action: change.action,
            rev: change.rev,
            before: fields(change.before)?,
            after: fields(change.after)?,
            salt: hex::encode(change.salt),
            payload_hash,
            hash: hex::encode(change.hash),
        })
    }
}

/// A hash as it stands in a file.
pub(super) fn hash(field: &str, text: &str) -> Ruled<[u8; 32]> {
    let mut hash = [0; 32];
    match hex::decode_to_slice(text, &mut hash) {
        Ok(()) => Ok(hash),
        Err(_) => Err(refused(field, "is no hash", "64 hex digits")),
    }
}

impl TryFrom<ChangeRecord> for SealedChange {
    type Error = Refusal;

    fn try_from(record: ChangeRecord) -> Ruled<Self> {
        let fields =
            |raw: Option<Box<RawValue>>| raw.map_or_else(|| NO_FIELDS.to_owned(), |raw| raw.get().to_owned());
        let salt = hex::decode(&record.salt).map_err(|_| refused("salt", "is no salt", "hex digits"))?;
        let mut change = Self {
            number: record.number,
            at: record.at,
            user_id: record.user_id,
            username: record.user,
            token_id: record.token_id,
            client: record.client,
            entity: record.entity,
            entity_id: record.entity_id,
            item_id: record.item_id,
            other_item_id: record.other_item_id,
            label: record.label,
            action: record.action,
            rev: record.rev,
            before: fields(record.before),
            after: fields(record.after),
            salt,
            payload_hash: [0; 32],
            hash: hash("hash", &record.hash)?,
        };
        change.payload_hash = match (change.is_erased(), &record.payload_hash) {
            (true, Some(kept)) => hash("payload_hash", kept)?,
            _ => change.payload().hash(&change.salt),
        };
        Ok(change)
    }
}

/// The last line: what must have come before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Totals {
    pub(super) items: u64,
    pub(super) links: u64,
    pub(super) comments: u64,
    #[serde(default, skip_serializing_if = "is_none")]
    pub(super) changes: u64,
    #[serde(default, skip_serializing_if = "is_none")]
    pub(super) baselines: u64,
    #[serde(default, skip_serializing_if = "is_none")]
    pub(super) reviews: u64,
    /// Lines of evidence.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(super) evidence: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl ProjectRecord {
    pub(super) fn new(project: Project, counters: BTreeMap<String, i64>) -> Self {
        Self {
            id: None,
            key: project.key,
            name: project.name,
            description: project.description,
            attributes: project.attributes,
            prefix_references: project.prefix_references,
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
            reference_id: item.reference_id.plain().clone(),
            title: item.title,
            description: item.description,
            status: item.status,
            priority: item.priority,
            requirement_type: item.requirement_type,
            parent: item.parent.map(|parent| parent.reference_id.plain().clone()),
            acceptance_criterion: item
                .acceptance_criterion
                .map(|criterion| criterion.reference_id.plain().clone()),
            assignee: item.assignee.map(|person| person.username),
            creator: item.creator.username,
            position: item.position,
            attributes: item.attributes,
            rev: item.rev,
            created_at: item.created_at,
            updated_at: item.updated_at,
            deleted_at: None,
            deletion_id: None,
        }
    }
}

impl From<Comment> for CommentRecord {
    fn from(comment: Comment) -> Self {
        Self {
            id: comment.id,
            item: comment.item.plain().clone(),
            parent_id: comment.parent_id,
            author: comment.author,
            content: comment.content,
            resolved: comment.resolved,
            anchor: comment.anchor,
            rev: comment.rev,
            created_at: comment.created_at,
            updated_at: comment.updated_at,
            deleted_at: None,
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
            deleted_at: None,
            deletion_id: None,
        }
    }
}

impl ItemRecord {
    /// The same, deleted.
    pub(super) fn deleted(mut self, deletion: Option<Deletion>) -> Self {
        self.deleted_at = deletion.map(|deletion| deletion.at);
        self.deletion_id = deletion.and_then(|deletion| deletion.id);
        self
    }

    pub(super) fn deletion(&self) -> Option<Deletion> {
        let id = self.deletion_id;
        self.deleted_at.map(|at| Deletion { at, id })
    }
}

impl CommentRecord {
    /// The same, deleted.
    pub(super) fn deleted(mut self, deletion: Option<Deletion>) -> Self {
        self.deleted_at = deletion.map(|deletion| deletion.at);
        self
    }

    pub(super) fn deletion(&self) -> Option<Deletion> {
        self.deleted_at.map(|at| Deletion { at, id: None })
    }
}

impl LinkRecord {
    /// The same, deleted.
    pub(super) fn deleted(mut self, deletion: Option<Deletion>) -> Self {
        self.deleted_at = deletion.map(|deletion| deletion.at);
        self.deletion_id = deletion.and_then(|deletion| deletion.id);
        self
    }

    pub(super) fn deletion(&self) -> Option<Deletion> {
        let id = self.deletion_id;
        self.deleted_at.map(|at| Deletion { at, id })
    }
}
