//! Comments: threads on an item, resolvable, and anchored to a piece of its text when they are about one.

use crate::{Ruled, ShownReference, Timestamp, anchor::Anchor, decode, limits, text};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Comment {
    /// Its id.
    pub id: Uuid,
    /// The item it is about.
    pub item_id: Uuid,
    /// The reference id of that item.
    pub item: ShownReference,
    /// The comment it answers.
    pub parent_id: Option<Uuid>,
    /// How deep in its thread it stands; 0 begins one.
    pub depth: usize,
    /// Who wrote it.
    pub author: String,
    /// Who wrote it, for programs.
    #[serde(skip)]
    pub author_id: Uuid,
    /// What it says.
    pub content: String,
    /// Whether the thread it begins is settled.
    pub resolved: bool,
    /// The piece of the description it is about.
    pub anchor: Option<Anchor>,
    /// Grows with every change.
    pub rev: i64,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// What is needed to write a comment.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewComment {
    /// What it says.
    pub content: String,
    /// The comment it answers.
    #[serde(default, alias = "parent_comment_id", deserialize_with = "decode::uuid")]
    pub parent_id: Option<Uuid>,
    /// The piece of the description it is about.
    pub anchor: Option<NewAnchor>,
}

/// Where a new comment is anchored.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAnchor {
    /// Words of the description, exactly.
    pub quote: String,
    /// The character the quote starts at; needed only when it stands more than once.
    pub start: Option<usize>,
}

/// What can be changed about a comment; a field left out stays as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CommentPatch {
    /// What it says.
    pub content: Option<String>,
    /// Whether the thread is settled.
    pub resolved: Option<bool>,
    /// The revision this change was made against.
    pub expect_rev: Option<i64>,
}

/// Refuses content no comment may have.
pub fn content(text: &str) -> Ruled<String> {
    text::required_paragraphs("content", text, limits::MAX_COMMENT_CHARS)
}
