//! Reviews: people and agents are asked about items as they stand, and say yes or no with a reason.
//!
//! A review keeps what each item said when it was asked about. What is changed afterwards was not seen by those who approved,
//! so nobody can approve it, and an item that says something else is no longer approved.

use crate::page_key::PageKey;
use crate::{Code, Kind, Refusal, Ruled, ShownReference, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// What a review has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    /// Somebody is still asked.
    Open,
    /// Everybody who was asked approved.
    Approved,
    /// Somebody rejected.
    Rejected,
    /// It was taken back.
    Closed,
}

impl ReviewState {
    /// All of them.
    pub const ALL: [ReviewState; 4] = [
        ReviewState::Open,
        ReviewState::Approved,
        ReviewState::Rejected,
        ReviewState::Closed,
    ];

    /// As it stands in JSON, in the database and in an address.
    pub const fn name(self) -> &'static str {
        match self {
            ReviewState::Open => "open",
            ReviewState::Approved => "approved",
            ReviewState::Rejected => "rejected",
            ReviewState::Closed => "closed",
        }
    }

    /// Reads a name.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        let found = Self::ALL.into_iter().find(|state| state.name() == text);
        found.ok_or_else(|| crate::nearest::miss(field, text, Self::ALL.map(Self::name)))
    }

    /// What the verdicts of those who are asked come to.
    //= specs/spexus-service.md#reviews
    //# A review MUST be approved once everybody who is asked approved, and rejected as soon as one of them rejected.
    pub fn of(verdicts: impl IntoIterator<Item = Option<Verdict>>) -> Self {
        let mut state = ReviewState::Approved;
        for verdict in verdicts {
            match verdict {
                Some(Verdict::Rejected) => return ReviewState::Rejected,
                Some(Verdict::Approved) => {}
                None => state = ReviewState::Open,
            }
        }
        state
    }
}

/// What somebody who was asked says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Yes.
    Approved,
    /// No.
    Rejected,
}

impl Verdict {
    /// As it stands in JSON and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Approved => "approved",
            Verdict::Rejected => "rejected",
        }
    }

    /// Reads a name.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        let all = [Verdict::Approved, Verdict::Rejected];
        let found = all.into_iter().find(|verdict| verdict.name() == text);
        found.ok_or_else(|| crate::nearest::miss(field, text, all.map(Self::name)))
    }
}

/// An item that is asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ReviewedItem {
    /// The item.
    pub id: Uuid,
    /// Its reference id.
    #[schema(value_type = String)]
    pub reference_id: ShownReference,
    /// Its kind.
    pub kind: Kind,
    /// Its title now.
    pub title: String,
    /// The revision that is asked about.
    pub rev: i64,
    /// The revision it has now.
    pub current_rev: i64,
    /// Whether it still says what it said then.
    pub is_as_asked: bool,
    /// What it said then, as its hash.
    #[serde(skip)]
    pub content_hash: String,
}

/// Somebody who is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Reviewer {
    /// The name of the account.
    pub username: String,
    /// The account.
    #[serde(skip)]
    pub user_id: Uuid,
    /// What was said; nothing yet when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
}

/// A review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Review {
    /// Its id.
    pub id: Uuid,
    /// The key of its project.
    pub project: String,
    /// Its number in the project.
    pub number: i64,
    /// What it is about.
    pub title: String,
    /// What is asked.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it has come to.
    pub state: ReviewState,
    /// Who asks.
    pub created_by: String,
    /// The account that asks.
    #[serde(skip)]
    pub creator_id: Uuid,
    /// Who is asked.
    pub reviewers: Vec<Reviewer>,
    /// What is asked about.
    pub items: Vec<ReviewedItem>,
    /// Counts its changes.
    pub rev: i64,
    /// When it was asked.
    pub created_at: Timestamp,
    /// When it was changed.
    pub updated_at: Timestamp,
}

impl PageKey for Review {
    fn page_key(&self) -> String {
        // The newest first.
        format!("{:020}", i64::MAX - self.number)
    }
}

impl Review {
    /// What the history calls it.
    pub fn label(&self) -> String {
        format!("review {}", self.number)
    }

    /// Whether somebody is asked and said nothing yet.
    pub fn waits_for(&self, user_id: Uuid) -> bool {
        let waits = |one: &Reviewer| one.user_id == user_id && one.verdict.is_none();
        self.state == ReviewState::Open && self.reviewers.iter().any(waits)
    }

    /// Takes what somebody who is asked says.
    pub fn decide(&mut self, user_id: Uuid, said: (Verdict, String), now: Timestamp) -> Ruled<()> {
        let (verdict, reason) = said;
        self.check_open()?;
        //= specs/spexus-service.md#reviews
        //# Only who is asked MAY approve or reject, and a rejection MUST have a reason.
        let Some(at) = self.reviewers.iter().position(|one| one.user_id == user_id) else {
            let message = format!("only who is asked by {} says yes or no", self.label());
            let refusal = Refusal::new(Code::RuleViolated, message);
            return Err(refusal.hint(format!("{} can ask you.", self.created_by)));
        };
        if verdict == Verdict::Rejected && reason.is_empty() {
            let allowed = "what has to change";
            return Err(Refusal::field(Code::InvalidParams, "reason", "is empty", allowed));
        }
        //= specs/spexus-service.md#reviews
        //# What was changed since it was asked about MUST NOT be approved until it is asked about again.
        if verdict == Verdict::Approved
            && let Some(changed) = self.items.iter().find(|item| !item.is_as_asked)
        {
            let message = format!(
                "{} was changed since this review was asked for",
                changed.reference_id
            );
            let hint = format!("{} has to ask again for what it says now.", self.created_by);
            return Err(Refusal::new(Code::RuleViolated, message).hint(hint));
        }
        let reviewer = &mut self.reviewers[at];
        (reviewer.verdict, reviewer.reason) = (Some(verdict), reason);
        reviewer.decided_at = Some(now);
        self.settle();
        Ok(())
    }

    /// Refuses what cannot be done once it was taken back.
    pub fn check_open(&self) -> Ruled<()> {
        match self.state {
            ReviewState::Closed => {
                let refusal = Refusal::new(Code::RuleViolated, format!("{} is closed", self.label()));
                Err(refusal.hint("Ask for a new review."))
            }
            _ => Ok(()),
        }
    }

    /// Makes of it what the verdicts come to.
    pub fn settle(&mut self) {
        self.state = ReviewState::of(self.reviewers.iter().map(|one| one.verdict));
    }
}

/// What is needed to ask for a review.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewReview {
    /// What it is about.
    pub title: String,
    /// What is asked.
    #[serde(default)]
    pub description: String,
    /// The items, by any id.
    #[serde(default)]
    pub items: Vec<String>,
    /// The name of a baseline: everything that differs from it, too.
    pub baseline: Option<String>,
    /// Who is asked, by name: people and agents who may review in the project.
    pub reviewers: Vec<String>,
    /// The project, when it is not the caller's usual one.
    pub project: Option<String>,
}

/// What is to be changed of a review; what is left out stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewPatch {
    /// Another title.
    pub title: Option<String>,
    /// Another question.
    pub description: Option<String>,
    /// Who is asked from now on; what they said stays.
    pub reviewers: Option<Vec<String>>,
    /// Asks everybody again, about the items as they are now.
    #[serde(default)]
    pub ask_again: bool,
    /// Takes it back.
    #[serde(default)]
    pub close: bool,
    /// The revision this was made for.
    pub expect_rev: Option<i64>,
}

/// What somebody says who is asked.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewVerdict {
    /// approved or rejected.
    pub verdict: String,
    /// Why; needed to reject.
    #[serde(default)]
    pub reason: String,
    /// The revision of the review that was looked at.
    pub expect_rev: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Approved, Rejected};

    fn review(verdicts: &[Option<Verdict>]) -> Review {
        let reviewer = |(at, verdict): (usize, &Option<Verdict>)| Reviewer {
            username: format!("user{at}"),
            user_id: Uuid::from_u128(at as u128 + 1),
            verdict: *verdict,
            reason: String::new(),
            decided_at: None,
        };
        Review {
            id: Uuid::nil(),
            project: "web".into(),
            number: 1,
            title: "Passkeys".into(),
            description: String::new(),
            state: ReviewState::of(verdicts.iter().copied()),
            created_by: "ann".into(),
            creator_id: Uuid::nil(),
            reviewers: verdicts.iter().enumerate().map(reviewer).collect(),
            items: vec![ReviewedItem {
                id: Uuid::nil(),
                reference_id: crate::Reference::of_kind(Kind::Requirement, 1).into(),
                kind: Kind::Requirement,
                title: "Passkeys work".into(),
                rev: 1,
                current_rev: 1,
                is_as_asked: true,
                content_hash: String::new(),
            }],
            rev: 1,
            created_at: Timestamp(1),
            updated_at: Timestamp(1),
        }
    }

    //= specs/spexus-service.md#reviews
    //= type=test
    //# A review MUST be approved once everybody who is asked approved, and rejected as soon as one of them rejected.
    #[test]
    fn a_review_is_what_its_verdicts_come_to() {
        for (verdicts, state) in [
            (&[None, None][..], ReviewState::Open),
            (&[Some(Approved), None], ReviewState::Open),
            (&[Some(Approved), Some(Approved)], ReviewState::Approved),
            (&[Some(Approved), Some(Rejected)], ReviewState::Rejected),
            (&[None, Some(Rejected)], ReviewState::Rejected),
        ] {
            assert_eq!(review(verdicts).state, state, "{verdicts:?}");
        }
    }

    //= specs/spexus-service.md#reviews
    //= type=test
    //# Only who is asked MAY approve or reject, and a rejection MUST have a reason.
    #[test]
    fn only_who_is_asked_decides_and_a_no_has_its_reason() {
        let mut asked = review(&[None, None]);
        let (one, now) = (Uuid::from_u128(1), Timestamp(5));
        let stranger = asked.decide(Uuid::from_u128(9), (Approved, String::new()), now);
        assert_eq!(stranger.unwrap_err().code, Code::RuleViolated);
        let bare = asked.decide(one, (Rejected, String::new()), now).unwrap_err();
        assert_eq!(bare.faults[0].field, "reason");
        assert!(asked.waits_for(one));
        asked.decide(one, (Rejected, "too vague".into()), now).unwrap();
        assert_eq!(
            (asked.state, asked.waits_for(one)),
            (ReviewState::Rejected, false)
        );
        asked.decide(one, (Approved, String::new()), now).unwrap();
        assert_eq!(asked.state, ReviewState::Open, "the other one is still asked");
    }

    //= specs/spexus-service.md#reviews
    //= type=test
    //# What was changed since it was asked about MUST NOT be approved until it is asked about again.
    #[test]
    fn what_was_changed_since_is_not_approved() {
        let mut asked = review(&[None]);
        asked.items[0].is_as_asked = false;
        let (one, now) = (Uuid::from_u128(1), Timestamp(5));
        let refused = asked.decide(one, (Approved, String::new()), now).unwrap_err();
        assert!(refused.message.contains("REQ-001"), "{refused:?}");
        asked.decide(one, (Rejected, "it moved".into()), now).unwrap();
        asked.state = ReviewState::Closed;
        assert!(asked.decide(one, (Rejected, "x".into()), now).is_err());
    }
}
