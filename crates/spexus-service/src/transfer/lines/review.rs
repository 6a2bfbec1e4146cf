//! Reviews in a file with history: who was asked, about what, and what they said.

use super::history::unfit;
use super::import::Reader;
use serde::{Deserialize, Serialize};
use spexus_domain::review::{Review, ReviewState, ReviewedItem, Reviewer, Verdict};
use spexus_domain::{Kind, Reference, Timestamp, Uuid};
use spexus_store::{Result, Tx, carry};

/// A review, with people by their names and items by their ids.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReviewRecord {
    id: Uuid,
    number: i64,
    title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    description: String,
    state: ReviewState,
    created_by: String,
    rev: i64,
    created_at: Timestamp,
    updated_at: Timestamp,
    items: Vec<AskedItem>,
    reviewers: Vec<AskedPerson>,
}

/// What was asked about, as it stood then.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedItem {
    id: Uuid,
    rev: i64,
    content_hash: String,
}

/// Who was asked, and what was said.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedPerson {
    username: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decided_at: Option<Timestamp>,
}

impl From<Review> for ReviewRecord {
    fn from(review: Review) -> Self {
        let item = |item: ReviewedItem| AskedItem {
            id: item.id,
            rev: item.rev,
            content_hash: item.content_hash,
        };
        let person = |person: Reviewer| AskedPerson {
            username: person.username,
            verdict: person.verdict,
            reason: person.reason,
            decided_at: person.decided_at,
        };
        Self {
            id: review.id,
            number: review.number,
            title: review.title,
            description: review.description,
            state: review.state,
            created_by: review.created_by,
            rev: review.rev,
            created_at: review.created_at,
            updated_at: review.updated_at,
            items: review.items.into_iter().map(item).collect(),
            reviewers: review.reviewers.into_iter().map(person).collect(),
        }
    }
}

impl Reader {
    /// Keeps a review as it came, where the project comes with its history.
    //= specs/spexus-service.md#reviews
    //# An export with history MUST hold the reviews of the project, and an import of it MUST keep them as they were.
    pub(super) async fn review(&mut self, tx: &mut Tx, wanted: ReviewRecord) -> Result<()> {
        self.refuse_without_history()?;
        self.read.reviews += 1;
        if !self.carries() {
            return Ok(());
        }
        let project = self.target()?.clone();
        let creator = self.people.find(tx, "created_by", &wanted.created_by).await?;
        let mut reviewers = Vec::with_capacity(wanted.reviewers.len());
        for asked in wanted.reviewers {
            let person = self.people.find(tx, "reviewers", &asked.username).await?;
            reviewers.push(Reviewer {
                username: person.username,
                user_id: person.id,
                verdict: asked.verdict,
                reason: asked.reason,
                decided_at: asked.decided_at,
            });
        }
        let review = Review {
            id: wanted.id,
            project: project.key,
            number: wanted.number,
            title: wanted.title,
            description: wanted.description,
            state: wanted.state,
            created_by: creator.username,
            creator_id: creator.id,
            reviewers,
            items: wanted.items.into_iter().map(asked_about).collect(),
            rev: wanted.rev,
            created_at: wanted.created_at,
            updated_at: wanted.updated_at,
        };
        match carry::insert_review(tx, project.id, &review).await? {
            true => Ok(()),
            false => {
                let problem = format!(
                    "review {} is about an item that is not in the file",
                    review.number
                );
                Err(unfit("items", problem).into())
            }
        }
    }
}

/// What is written of an item is its id, its revision and its hash.
fn asked_about(asked: AskedItem) -> ReviewedItem {
    ReviewedItem {
        id: asked.id,
        reference_id: Reference::of_kind(Kind::Requirement, 0).into(),
        kind: Kind::Requirement,
        title: String::new(),
        rev: asked.rev,
        current_rev: asked.rev,
        is_as_asked: true,
        content_hash: asked.content_hash,
    }
}
