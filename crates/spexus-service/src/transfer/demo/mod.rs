//! A believable project of any size: epics, stories, criteria and requirements in English and Russian, with statuses,
//! people, links and comments. The same seed writes the same project.

mod dice;
mod phrases;
mod plan;
mod write;

use super::Progress;
use super::large::{self, ImportJob, Notes};
use super::people::People;
use crate::Service;
use async_recursion::async_recursion as boxed;
use dice::Dice;
use plan::Planner;
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::{Code, Refusal, Ruled};
use spexus_store::scratch_copy::CopyExtent;
use spexus_store::staging::MAX_DIRECT_OPERATIONS;
use spexus_store::{Result, Tx};
use write::Writer;

/// Items made at most by one call.
pub const MAX_ITEMS: u64 = 10_000_000;

/// Items that are shown together; a few more, because epics are not torn apart.
const PART_ITEMS: u64 = 5_000;

/// What was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Filled {
    /// The key of the project.
    pub project: String,
    /// Items.
    pub items: u64,
    /// Links.
    pub links: u64,
    /// Comments.
    pub comments: u64,
    /// Accounts.
    pub users: u64,
}

/// Fills a project with this many items. What the project has already stays.
#[boxed]
pub async fn fill(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    items: u64,
    seed: u64,
    progress: Progress,
) -> Ruled<Filled> {
    for operation in [Operation::CreateItem, Operation::ManageUsers] {
        caller.may(operation)?;
    }
    if !(1..=MAX_ITEMS).contains(&items) {
        let allowed = format!("1 to {MAX_ITEMS}");
        return Err(Refusal::field(
            Code::InvalidParams,
            "items",
            format!("{items} is out of range"),
            allowed,
        ));
    }
    let mut people = People::new(&service.passwords).await?;
    let mut planner = Planner::new(Dice::new(seed), items);
    let mut filled = Filled::default();
    while !planner.is_done() {
        let part = Part {
            people,
            planner,
            progress: progress.clone(),
        };
        let (owned, named) = (caller.clone(), project.map(str::to_owned));
        let work: ImportJob<(People, Planner, Filled)> = Box::new(move |service, notes| {
            Box::pin(async move {
                let named = named.as_deref();
                let job = service.change(&owned, Operation::CreateItem, named, move |tx, context| {
                    Box::pin(async move { part.write(tx, context.project()?.clone(), notes).await })
                });
                job.await
            })
        });
        let made;
        (people, planner, made) = if items <= MAX_DIRECT_OPERATIONS as u64 {
            large::direct(service, caller, false, work).await?
        } else {
            large::staged(service, caller, CopyExtent::Nothing, false, work)
                .await?
                .0
        };
        filled = Filled {
            project: made.project,
            items: filled.items + made.items,
            links: filled.links + made.links,
            comments: filled.comments + made.comments,
            users: filled.users + made.users,
        };
    }
    Ok(filled)
}

/// Some of what is to be made.
struct Part {
    people: People,
    planner: Planner,
    progress: Progress,
}

impl Part {
    async fn write(
        self,
        tx: &mut Tx,
        project: Project,
        mut notes: Notes,
    ) -> Result<((People, Planner, Filled), Notes)> {
        let Self {
            people,
            mut planner,
            progress,
        } = self;
        notes.project = Some((project.id, project.key.clone()));
        let mut writer = Writer::begin(tx, project, &people).await?;
        while !planner.is_done() && writer.filled.items < PART_ITEMS {
            let epic = planner.next_epic();
            writer.epic(tx, epic).await?;
            progress(planner.made());
        }
        let filled = writer.finish(tx).await?;
        Ok(((people, planner, filled), notes))
    }
}
