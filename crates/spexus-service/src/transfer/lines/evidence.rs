//! Evidence in and out: what was pushed, document by document, what people said about it, and where items stand. It goes where the
//! history goes, because its digests are sealed there, and comes to nothing without the ids it names.

use super::export::Writer;
use super::history::of_file;
use super::import::{Reader, refused};
use super::record::{self, HeadRecord, PartRecord, PushRecord, Record, StateRecord, TraceReviewRecord};
use crate::evidence::TraceKeeper;
use spexus_domain::trace::ReviewKind;
use spexus_domain::trace::record::PartKind;
use spexus_domain::{Uuid, text};
use spexus_store::trace::{self, PushDigest, PushRow, ReviewRow, StateRow, head_of_digest};
use spexus_store::{Conn, Error, Result, Tx};

/// Evidence that is being read.
#[derive(Default)]
pub(super) struct ReadEvidence {
    /// The push whose documents are read, with the digest of those that came.
    open: Option<(PushRow, PushDigest)>,
    keeper: TraceKeeper,
}

impl Writer<'_> {
    /// Writes all evidence of a project, and tells in how many lines.
    pub(super) async fn evidence(&mut self, conn: &mut Conn, project_id: Uuid) -> Result<u64> {
        let before = self.written;
        let mut number = 0;
        while let Some((push, pushed_by)) = trace::push_after(conn, project_id, number).await? {
            number = push.number;
            let (id, mut after) = (push.id, -1);
            self.line(&Record::Push(PushRecord {
                id,
                number,
                digest: hex::encode(push.digest),
                commit: push.commit,
                ordered_at: push.ordered_at,
                is_dirty: push.is_dirty,
                is_reported: push.is_reported,
                has_marks: push.has_marks,
                head: push.head,
                pushed_by,
                pushed_at: push.pushed_at,
            }))?;
            while let Some((place, kind, body)) = trace::next_part(conn, (project_id, id), after).await? {
                after = place;
                self.line(&Record::Part(PartRecord {
                    push: id,
                    ordinal: place,
                    kind,
                    body,
                }))?;
            }
        }
        let mut after = Uuid::nil();
        loop {
            let page = trace::states_after(conn, project_id, after).await?;
            let Some((_, last)) = page.last() else { break };
            after = last.item_id;
            for (item, row) in page {
                self.line(&Record::State(Box::new(StateRecord {
                    item,
                    trace: row.trace,
                    content_hash: row.content_hash,
                    confirmed_hash: row.confirmed_hash,
                    ground: row.ground,
                })))?;
            }
        }
        for (item, row) in trace::named_reviews(conn, project_id).await? {
            self.line(&Record::TraceReview(TraceReviewRecord {
                item,
                kind: row.kind,
                why: row.why,
                reviewer: row.reviewer,
                content_hash: row.content_hash,
                fingerprint: row.fingerprint,
                reviewed_at: row.reviewed_at,
                expires_at: row.expires_at,
            }))?;
        }
        if let Some(head) = trace::head(conn, project_id).await? {
            self.line(&Record::TraceHead(HeadRecord { body: head.body }))?;
        }
        Ok(self.written - before)
    }
}

impl Reader {
    pub(super) async fn push(&mut self, tx: &mut Tx, wanted: PushRecord) -> Result<()> {
        if !self.takes_evidence()? {
            return Ok(());
        }
        self.end_push()?;
        let project_id = self.target()?.id;
        let person = self.people.find(tx, "pushed_by", &wanted.pushed_by).await?;
        let row = PushRow {
            id: wanted.id,
            number: wanted.number,
            digest: record::hash("digest", &wanted.digest)?,
            commit: text::name("commit", &wanted.commit)?,
            ordered_at: wanted.ordered_at,
            is_dirty: wanted.is_dirty,
            is_reported: wanted.is_reported,
            has_marks: wanted.has_marks,
            head: wanted.head,
            pushed_by: person.id,
            pushed_at: wanted.pushed_at,
        };
        trace::insert_carried_push(tx, project_id, &row).await?;
        let head = head_of_digest(&row.commit, row.is_dirty, row.is_reported, &row.head);
        let digest = PushDigest::new(&head);
        self.evidence.open = Some((row, digest));
        Ok(())
    }

    pub(super) async fn part(&mut self, tx: &mut Tx, wanted: PartRecord) -> Result<()> {
        if !self.takes_evidence()? {
            return Ok(());
        }
        let project_id = self.target()?.id;
        let open = self.evidence.open.as_mut();
        let Some((push, digest)) = open.filter(|(push, _)| push.id == wanted.push) else {
            let problem = "does not stand behind its push";
            return Err(refused("push", problem, "documents behind their push").into());
        };
        let kind = PartKind::ALL.into_iter().find(|kind| kind.name() == wanted.kind);
        let kind = kind.ok_or_else(|| refused("kind", "is not known", "marks, tests or coverage"))?;
        digest.add_part(wanted.ordinal, kind.name(), &wanted.body);
        let ordinal =
            usize::try_from(wanted.ordinal).map_err(|_| refused("ordinal", "is negative", "a number"))?;
        trace::insert_part(tx, (project_id, push.id), ordinal, kind, wanted.body).await
    }

    /// Holds what came of a push against its digest, which its change in the ledger tells.
    //= specs/spexus-service.md#carrying
    //# Evidence MUST come with the history of its project, and a push that is not what its digest says MUST be refused.
    fn end_push(&mut self) -> Result<()> {
        match self.evidence.open.take() {
            Some((push, digest)) if digest.finish() != push.digest => {
                let problem = format!("is not that of push {}", push.number);
                Err(refused("digest", problem, "the documents as they were exported").into())
            }
            _ => Ok(()),
        }
    }

    pub(super) async fn state(&mut self, tx: &mut Tx, wanted: StateRecord) -> Result<()> {
        if !self.takes_evidence()? {
            return Ok(());
        }
        let project = self.target()?.clone();
        let known = of_file(&mut tx.conn, &project, ("item", true), &wanted.item).await?;
        let row = StateRow {
            item_id: known.id,
            trace: wanted.trace,
            content_hash: wanted.content_hash,
            confirmed_hash: wanted.confirmed_hash,
            ground: wanted.ground,
        };
        self.evidence.keeper.add(&wanted.item, &row)?;
        trace::put_states(tx, project.id, &[row]).await
    }

    pub(super) async fn trace_review(&mut self, tx: &mut Tx, wanted: TraceReviewRecord) -> Result<()> {
        if !self.takes_evidence()? {
            return Ok(());
        }
        let project = self.target()?.clone();
        let known = of_file(&mut tx.conn, &project, ("item", true), &wanted.item).await?;
        let kind: ReviewKind = wanted.kind;
        let row = ReviewRow {
            item_id: known.id,
            kind,
            why: wanted.why,
            reviewer: wanted.reviewer,
            content_hash: wanted.content_hash,
            fingerprint: wanted.fingerprint,
            reviewed_at: wanted.reviewed_at,
            expires_at: wanted.expires_at,
        };
        trace::put_carried_review(tx, project.id, &row).await
    }

    pub(super) async fn trace_head(&mut self, tx: &mut Tx, wanted: HeadRecord) -> Result<()> {
        if !self.takes_evidence()? {
            return Ok(());
        }
        let project_id = self.target()?.id;
        let keys = std::mem::take(&mut self.evidence.keeper).keys(&wanted.body)?;
        trace::put_head(tx, project_id, &wanted.body, Some(keys)).await
    }

    /// Before anything that stands behind evidence.
    pub(super) fn end_evidence(&mut self) -> Result<()> {
        self.end_push()
    }

    /// Whether evidence is taken: it belongs to a file with history, and goes with it.
    fn takes_evidence(&mut self) -> Result<bool> {
        self.refuse_without_history().map_err(Error::Refused)?;
        self.read.evidence += 1;
        Ok(self.carries())
    }
}
