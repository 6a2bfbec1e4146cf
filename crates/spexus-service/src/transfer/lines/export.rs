//! Writing a project as JSON lines.

use super::VERSION;
use super::record::{Header, ProjectRecord, Record, Totals};
use crate::Service;
use crate::context::{NO_PROJECT, project_of};
use crate::transfer::{Exported, Progress, broken_file};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::id::PROMPT_PREFIX;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::{Kind, Ruled, Uuid};
use spexus_store::transfer::{self, PAGE_ROWS, Snapshot};
use spexus_store::{Conn, Error, Result, prompts, settings};
use std::io::Write;

/// Writes a project as it is at one moment. Deleted items, tokens, passwords and the history stay here.
#[boxed]
pub async fn export(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    out: &mut (dyn Write + Send),
    progress: &Progress,
) -> Ruled<Exported> {
    caller.may(Operation::Read)?;
    //= specs/spexus.md#transfer
    //# A project exported as JSON lines, imported into an empty database and exported again MUST be the same, byte for byte, on
    //# both engines.
    let mut snapshot = Snapshot::begin(&service.store, caller.user_id).await?;
    let conn = snapshot.conn()?;
    let project = project_of(conn, caller, Operation::Read, project).await?;
    let mut writer = Writer {
        out,
        progress,
        written: 0,
    };
    let exported = writer.all(conn, project).await?;
    snapshot.end().await?;
    Ok(exported)
}

struct Writer<'a> {
    out: &'a mut (dyn Write + Send),
    progress: &'a Progress,
    written: u64,
}

impl Writer<'_> {
    async fn all(&mut self, conn: &mut Conn, project: Project) -> Result<Exported> {
        let (id, key) = (project.id, project.key.clone());
        self.line(&Record::Header(Header {
            format: "spexus".into(),
            version: VERSION,
        }))?;
        let mut counters = transfer::counters(conn, id).await?;
        counters.extend(transfer::counters(conn, NO_PROJECT).await?);
        // Only the numbers of what the file holds: others count things of this installation alone.
        let numbered = |prefix: &str| Kind::ALL.iter().any(|kind| kind.rules().prefix == prefix);
        counters.retain(|(prefix, _)| prefix == PROMPT_PREFIX || numbered(prefix));
        self.line(&Record::Project(ProjectRecord::new(
            project,
            counters.into_iter().collect(),
        )))?;
        self.settings(conn).await?;
        let totals = Totals {
            items: self.items(conn, id).await?,
            comments: self.comments(conn, id).await?,
            links: self.links(conn, id).await?,
        };
        self.line(&Record::End(totals))?;
        self.out.flush().map_err(|error| broken_file(&error))?;
        let left_out = transfer::count_outward_links(conn, id).await?;
        Ok(Exported {
            project: key,
            items: totals.items,
            links: totals.links,
            comments: totals.comments,
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

    /// Containers before what they contain, criteria before the requirements that serve them.
    async fn items(&mut self, conn: &mut Conn, project_id: Uuid) -> Result<u64> {
        let mut count = 0;
        for kind in Kind::ALL {
            let mut last = 0;
            loop {
                let page = transfer::items_after(conn, project_id, kind, last).await?;
                let more = page.len() == PAGE_ROWS as usize;
                for item in page {
                    last = item.reference_id.number();
                    count += 1;
                    self.line(&Record::Item(Box::new(item.into())))?;
                }
                if !more {
                    break;
                }
            }
        }
        Ok(count)
    }

    async fn comments(&mut self, conn: &mut Conn, project_id: Uuid) -> Result<u64> {
        let mut count = 0;
        for depth in 0.. {
            let before = count;
            let mut last = Uuid::nil();
            loop {
                let page = transfer::comments_after(conn, project_id, depth, last).await?;
                let more = page.len() == PAGE_ROWS as usize;
                for comment in page {
                    last = comment.id;
                    count += 1;
                    self.line(&Record::Comment(comment.into()))?;
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

    async fn links(&mut self, conn: &mut Conn, project_id: Uuid) -> Result<u64> {
        let mut count = 0;
        let mut last = Uuid::nil();
        loop {
            let page = transfer::links_after(conn, project_id, last).await?;
            let more = page.len() == PAGE_ROWS as usize;
            for link in page {
                last = link.id;
                count += 1;
                self.line(&Record::Link(link.into()))?;
            }
            if !more {
                return Ok(count);
            }
        }
    }

    fn line(&mut self, record: &Record) -> Result<()> {
        let mut text = serde_json::to_vec(record).map_err(|error| Error::Broken(error.to_string()))?;
        text.push(b'\n');
        self.out.write_all(&text).map_err(|error| broken_file(&error))?;
        self.written += 1;
        (self.progress)(self.written);
        Ok(())
    }
}
