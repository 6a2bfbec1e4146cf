//! Writing a project as JSON lines.

use super::record::{
    BaselineRecord, ChangeRecord, CommentRecord, Header, ItemRecord, LedgerEnd, LedgerRecord, LinkRecord,
    PersonRecord, ProjectRecord, Record, Totals,
};
use super::{PLAIN, WITH_HISTORY};
use crate::Service;
use crate::context::{NO_PROJECT, project_of};
use crate::transfer::{Exported, Progress, broken_file};
use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::change::FormerHead;
use spexus_domain::id::PROMPT_PREFIX;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::{Kind, Ruled, Uuid};
use spexus_store::carry::{self, Deletion};
use spexus_store::transfer::{self, PAGE_ROWS, Snapshot};
use spexus_store::{Conn, Error, Result, prompts, settings};
use std::io::Write;

/// Writes a project as it is at one moment; with its history, which holds what was deleted, or without. Tokens and passwords
/// stay here, and so do members: rights are a matter of the installation.
#[boxed]
pub async fn export(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    history: bool,
    out: &mut (dyn Write + Send),
    progress: &Progress,
) -> Ruled<Exported> {
    caller.may(Operation::Read)?;
    //= specs/spexus-service.md#carrying
    //# A history tells what its readers may not all see; who may not audit the installation MUST be refused an export of it.
    if history && let Err(refusal) = caller.may(Operation::Audit) {
        return Err(refusal.hint("Export it without its history: --no-history."));
    }
    //= specs/spexus.md#transfer
    //# A project exported as JSON lines, imported into an empty database and exported again MUST be the same, byte for byte, on
    //# both engines.
    let mut snapshot = Snapshot::begin(&service.store, caller.user_id).await?;
    let conn = snapshot.conn()?;
    let project = project_of(conn, caller, Operation::Read, project).await?;
    let mut writer = Writer {
        out,
        progress,
        history,
        written: 0,
    };
    let exported = writer.all(conn, project).await?;
    snapshot.end().await?;
    Ok(exported)
}

pub(super) struct Writer<'a> {
    out: &'a mut (dyn Write + Send),
    progress: &'a Progress,
    /// Whether the history is written, and what was deleted.
    history: bool,
    pub(super) written: u64,
}

impl Writer<'_> {
    async fn all(&mut self, conn: &mut Conn, project: Project) -> Result<Exported> {
        let (id, key) = (project.id, project.key.clone());
        self.line(&Record::Header(Header {
            format: "spexus".into(),
            version: if self.history { WITH_HISTORY } else { PLAIN },
        }))?;
        let mut counters = transfer::counters(conn, id).await?;
        counters.extend(transfer::counters(conn, NO_PROJECT).await?);
        // Only the numbers of what the file holds: others count things of this installation alone.
        let numbered = |prefix: &str| Kind::ALL.iter().any(|kind| kind.rules().prefix == prefix);
        counters.retain(|(prefix, _)| prefix == PROMPT_PREFIX || numbered(prefix));
        let mut record = ProjectRecord::new(project, counters.into_iter().collect());
        record.id = self.history.then_some(id);
        self.line(&Record::Project(record))?;
        if self.history {
            self.ledger(conn, id).await?;
        }
        self.settings(conn).await?;
        let changes = match self.history {
            true => self.changes(conn, id).await?,
            false => 0,
        };
        let mut living = Totals::default();
        let totals = Totals {
            items: self.items(conn, id, &mut living).await?,
            comments: self.comments(conn, id, &mut living).await?,
            links: self.links(conn, id, &mut living).await?,
            changes,
            baselines: match self.history {
                true => self.baselines(conn, id).await?,
                false => 0,
            },
            reviews: match self.history {
                true => self.reviews(conn, id).await?,
                false => 0,
            },
            evidence: match self.history {
                true => self.evidence(conn, id).await?,
                false => 0,
            },
        };
        self.line(&Record::End(totals))?;
        self.out.flush().map_err(|error| broken_file(&error))?;
        let left_out = transfer::count_outward_links(conn, id).await?;
        Ok(Exported {
            project: key,
            items: living.items,
            links: living.links,
            comments: living.comments,
            changes,
            links_left_out: left_out.unsigned_abs(),
        })
    }

    async fn settings(&mut self, conn: &mut Conn) -> Result<()> {
        for known in settings::requirement_types(conn).await? {
            self.line(&Record::RequirementType(known))?;
        }
        for known in settings::link_types(conn).await? {
            self.line(&Record::LinkType(known))?;
        }
        for kind in Kind::ALL {
            if let Some(workflow) = settings::workflow(conn, kind).await? {
                self.line(&Record::Workflow(workflow))?;
            }
        }
        for prompt in prompts::all(conn).await? {
            self.line(&Record::Prompt(prompt.into()))?;
        }
        Ok(())
    }

    //= specs/spexus-service.md#carrying
    //# An export with history MUST hold every change of the project's ledger with all that its hash covers, what the ledger begins
    //# with, and every item, comment and link of the project, also those that were deleted.
    async fn ledger(&mut self, conn: &mut Conn, project_id: Uuid) -> Result<()> {
        let ledger = carry::ledger(conn, project_id).await?;
        let end = |changes: i64, hash: [u8; 32]| LedgerEnd {
            changes,
            hash: hex::encode(hash),
        };
        let former = ledger.former;
        self.line(&Record::Ledger(LedgerRecord {
            installation: ledger.installation,
            former: (former != FormerHead::NONE).then(|| end(former.changes, former.hash)),
            end: end(ledger.number, ledger.hash),
        }))?;
        for (username, names) in carry::former_names(conn, project_id).await? {
            self.line(&Record::Person(PersonRecord { username, names }))?;
        }
        Ok(())
    }

    async fn changes(&mut self, conn: &mut Conn, project_id: Uuid) -> Result<u64> {
        let (mut count, mut after) = (0, 0);
        loop {
            let (page, last) = carry::changes_after(conn, project_id, after).await?;
            if page.is_empty() {
                return Ok(count);
            }
            after = last;
            for change in page {
                count += 1;
                let record =
                    ChangeRecord::try_from(change).map_err(|error| Error::Broken(error.to_string()))?;
                self.line(&record)?;
            }
        }
    }

    async fn baselines(&mut self, conn: &mut Conn, project_id: Uuid) -> Result<u64> {
        let mut count = 0;
        for (baseline, number) in carry::baselines(conn, project_id).await? {
            count += 1;
            self.line(&Record::Baseline(BaselineRecord {
                id: baseline.id,
                name: baseline.name,
                description: baseline.description,
                number,
                hash: baseline.hash,
                created_by: baseline.created_by,
                created_at: baseline.created_at,
            }))?;
        }
        Ok(count)
    }

    //= specs/spexus-service.md#reviews
    //# An export with history MUST hold the reviews of the project, and an import of it MUST keep them as they were.
    async fn reviews(&mut self, conn: &mut Conn, project_id: Uuid) -> Result<u64> {
        let mut count = 0;
        while let Some(review) = carry::review_after(conn, project_id, count).await? {
            count = review.number;
            self.line(&Record::Review(Box::new(review.into())))?;
        }
        Ok(count.unsigned_abs())
    }

    /// Containers before what they contain, criteria before the requirements that serve them.
    async fn items(&mut self, conn: &mut Conn, project_id: Uuid, living: &mut Totals) -> Result<u64> {
        let mut count = 0;
        for kind in Kind::ALL {
            let mut last = 0;
            loop {
                let page = match self.history {
                    true => carry::items_after(conn, project_id, kind, last).await?,
                    false => all_living(transfer::items_after(conn, project_id, kind, last).await?),
                };
                let more = page.len() == PAGE_ROWS as usize;
                for (item, deletion) in page {
                    last = item.reference_id.number();
                    count += 1;
                    living.items += u64::from(deletion.is_none());
                    let record = ItemRecord::from(item).deleted(deletion);
                    self.line(&Record::Item(Box::new(record)))?;
                }
                if !more {
                    break;
                }
            }
        }
        Ok(count)
    }

    async fn comments(&mut self, conn: &mut Conn, project_id: Uuid, living: &mut Totals) -> Result<u64> {
        let mut count = 0;
        for depth in 0.. {
            let before = count;
            let mut last = Uuid::nil();
            loop {
                let page = match self.history {
                    true => carry::comments_after(conn, project_id, depth, last).await?,
                    false => all_living(transfer::comments_after(conn, project_id, depth, last).await?),
                };
                let more = page.len() == PAGE_ROWS as usize;
                for (comment, deletion) in page {
                    last = comment.id;
                    count += 1;
                    living.comments += u64::from(deletion.is_none());
                    self.line(&Record::Comment(CommentRecord::from(comment).deleted(deletion)))?;
                }
                if !more {
                    break;
                }
            }
            // Where nobody was answered, nobody answers an answer.
            if count == before {
                break;
            }
        }
        Ok(count)
    }

    async fn links(&mut self, conn: &mut Conn, project_id: Uuid, living: &mut Totals) -> Result<u64> {
        let mut count = 0;
        let mut last = Uuid::nil();
        loop {
            let page = match self.history {
                true => carry::links_after(conn, project_id, last).await?,
                false => all_living(transfer::links_after(conn, project_id, last).await?),
            };
            let more = page.len() == PAGE_ROWS as usize;
            for (link, deletion) in page {
                last = link.id;
                count += 1;
                living.links += u64::from(deletion.is_none());
                self.line(&Record::Link(LinkRecord::from(link).deleted(deletion)))?;
            }
            if !more {
                return Ok(count);
            }
        }
    }

    pub(super) fn line(&mut self, record: &impl Serialize) -> Result<()> {
        let mut text = serde_json::to_vec(record).map_err(|error| Error::Broken(error.to_string()))?;
        text.push(b'\n');
        self.out.write_all(&text).map_err(|error| broken_file(&error))?;
        self.written += 1;
        (self.progress)(self.written);
        Ok(())
    }
}

fn all_living<T>(page: Vec<T>) -> Vec<(T, Option<Deletion>)> {
    page.into_iter().map(|one| (one, None)).collect()
}
