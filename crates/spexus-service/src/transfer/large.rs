//! How an import is carried out. A small one is one write like any other. A large one is tried on a scratch copy, staged
//! in short steps between which others write, and shown by one last transaction that first makes sure that nothing it relies
//! on was changed meanwhile.

use super::{at_line, refused_at};
use crate::Service;
use crate::transaction::refusing;
use spexus_domain::account::Caller;
use spexus_domain::{Code, Refusal, Ruled, Uuid};
use spexus_store::scratch_copy::{CopyExtent, ScratchCopy};
use spexus_store::staging::{self, Chunk, OtherChange, Publication, Shift, Staged};
use spexus_store::{Actor, Conn, Error, Result, Store, Tx};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How often a step that did not get its turn is tried again.
const MAX_TRIES: u32 = 6;

/// What the last step may take before it is told how long others waited.
const MAX_UNTOLD_HOLD: Duration = Duration::from_secs(2);

/// Changes of others that are looked at in one go.
const OTHERS_AT_ONCE: u32 = 1_000;

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What is done with the items a file or a plan speaks of, by a service all of whose reads and writes are one transaction;
/// and what it noted.
pub(super) type ImportJob<T> =
    Box<dyn FnOnce(Service, Notes) -> BoxFuture<'static, Ruled<(T, Notes)>> + Send>;

/// What an import notes while it is carried out, for the moment at which it is shown.
#[derive(Default)]
pub(super) struct Notes {
    /// The project everything goes into.
    pub(super) project: Option<(Uuid, String)>,
    /// The empty project it takes the place of.
    pub(super) instead_of: Option<Uuid>,
    /// Whether the project must have been empty all the time.
    pub(super) is_alone: bool,
    /// Whether the database had any item when the scratch copy was made; `None` where there is none.
    pub(super) had_items: Option<bool>,
    /// The real database, while all else happens in the scratch copy.
    pub(super) live: Option<Store>,
    /// Items the file speaks of that were so already, by the line.
    unchanged: HashMap<Uuid, u64>,
    /// Reference ids of the file that nothing had, by the line.
    absent: HashMap<String, u64>,
    /// The last change of each line.
    lines: Vec<(i64, u64)>,
}

impl Notes {
    /// Notes where a line ended.
    pub(super) fn line(&mut self, seq: i64, line: u64) {
        self.lines.push((seq, line));
    }

    /// Notes that an item was as a line says.
    pub(super) fn unchanged(&mut self, id: Uuid, line: u64) {
        self.unchanged.insert(id, line);
    }

    /// Notes that nothing had the reference id of a line.
    pub(super) fn absent(&mut self, reference: String, line: u64) {
        self.absent.insert(reference, line);
    }

    /// The line that made a change.
    pub(super) fn line_of(&self, seq: i64) -> Option<u64> {
        let at = self.lines.partition_point(|(end, _)| *end < seq);
        self.lines.get(at).map(|(_, line)| *line)
    }
}

/// How a large import came to be shown.
#[derive(Default)]
pub(super) struct Shown {
    /// By how much the numbers it gave out moved.
    pub(super) shift: Shift,
    /// How long the last step took.
    held: Duration,
}

impl Shown {
    /// What to say when others waited longer than a transaction of many steps may usually hold them up.
    pub(super) fn warning(&self) -> Option<String> {
        (self.held > MAX_UNTOLD_HOLD).then(|| {
            let seconds = self.held.as_secs_f64();
            format!("Other writes waited up to {seconds:.1} s while everything was shown; a smaller file takes less.")
        })
    }
}

/// Carries out what fits into one transaction.
pub(super) async fn direct<T>(
    service: &Service,
    caller: &Caller,
    dry_run: bool,
    work: ImportJob<T>,
) -> Ruled<T> {
    let work = |service| work(service, Notes::default());
    let (done, _) = service.together(caller, !dry_run, work).await?;
    Ok(done)
}

/// Carries out what does not, and tells how it came to be shown.
//= specs/spexus.md#transfer
//# An import of more than 500 lines MUST let others write while it runs, and MUST show everything it brings at once.
pub(super) async fn staged<T>(
    service: &Service,
    caller: &Caller,
    extent: CopyExtent,
    dry_run: bool,
    work: ImportJob<T>,
) -> Ruled<(T, Shown)> {
    let (store, actor) = (&service.store, Actor::from(caller));
    let mut scratch = ScratchCopy::begin(store, actor.clone(), extent).await?;
    let notes = Notes {
        had_items: Some(scratch.had_items()),
        live: Some(store.clone()),
        ..Notes::default()
    };
    let work = |copy| refusing(work(service.over(copy), notes));
    let (done, notes) = scratch.run(store, work).await?;
    if scratch.finish().await? == 0 {
        return Ok((done, Shown::default()));
    }
    let shown = match dry_run {
        true => {
            try_out(store, &mut scratch, &notes).await?;
            Shown::default()
        }
        false => show(store, &actor, scratch, notes).await?,
    };
    Ok((done, shown))
}

/// Looks for what only the real database can refuse.
async fn try_out(store: &Store, scratch: &mut ScratchCopy, notes: &Notes) -> Result<()> {
    let (nothing, mut after) = (
        Staged {
            id: Uuid::nil(),
            first_doc: 0,
        },
        0,
    );
    while let Some(chunk) = Chunk::read(scratch, nothing, after, 0).await? {
        after = chunk.last();
        refuse_taken(store, &chunk, notes).await?;
    }
    Ok(())
}

/// Stages everything and shows it. What is left of it is taken away, whatever became of it.
async fn show(store: &Store, actor: &Actor, mut scratch: ScratchCopy, notes: Notes) -> Result<Shown> {
    let staged = patiently(|| Box::pin(begin(store, actor))).await?;
    let shown = match stage(store, actor, &mut scratch, &notes, staged).await {
        Ok(()) => publish(store, actor, scratch, notes, staged).await,
        Err(error) => Err(error),
    };
    if shown.is_err()
        && let Err(error) = patiently(|| Box::pin(give_up(store, actor, staged.id))).await
    {
        tracing::warn!(%error, "an import that failed could not be given up; it is swept later");
    }
    if let Err(error) = staging::sweep(store).await {
        tracing::warn!(%error, "what an import left behind could not be swept yet");
    }
    shown
}

async fn stage(
    store: &Store,
    actor: &Actor,
    scratch: &mut ScratchCopy,
    notes: &Notes,
    staged: Staged,
) -> Result<()> {
    let (mut after, mut next_doc) = (0, staged.first_doc);
    while let Some(chunk) = Chunk::read(scratch, staged, after, next_doc).await? {
        after = chunk.last();
        next_doc += chunk.documents();
        refuse_taken(store, &chunk, notes).await?;
        let chunk = Arc::new(chunk);
        patiently(|| Box::pin(write(store, actor, chunk.clone()))).await?;
    }
    Ok(())
}

async fn begin(store: &Store, actor: &Actor) -> Result<Staged> {
    store
        .write(actor.clone(), |tx| Box::pin(staging::begin(tx)))
        .await
}

async fn write(store: &Store, actor: &Actor, chunk: Arc<Chunk>) -> Result<()> {
    let job = store.write(actor.clone(), move |tx| {
        Box::pin(async move { chunk.write(tx).await })
    });
    job.await
}

async fn give_up(store: &Store, actor: &Actor, import: Uuid) -> Result<()> {
    let job = store.write(actor.clone(), move |tx| Box::pin(staging::give_up(tx, import)));
    job.await
}

async fn publish(
    store: &Store,
    actor: &Actor,
    mut scratch: ScratchCopy,
    notes: Notes,
    staged: Staged,
) -> Result<Shown> {
    let publication = Arc::new(Publication::of(&mut scratch, staged).await?);
    let project = notes.project.as_ref().map_or(Uuid::nil(), |(id, _)| *id);
    let mut checked = scratch.base_seq();
    // What others did up to now is looked at before the writer is taken.
    checked = check(&mut store.read().await?, &mut scratch, &notes, checked).await?;
    let relied = Arc::new(Mutex::new((scratch, notes)));
    let last = LastStep {
        publication,
        relied,
        checked,
        project,
    };
    patiently(|| Box::pin(last.clone().take(store, actor))).await
}

/// What the transaction needs that shows everything.
#[derive(Clone)]
struct LastStep {
    publication: Arc<Publication>,
    relied: Arc<Mutex<(ScratchCopy, Notes)>>,
    /// Up to where the changes of others were looked at.
    checked: i64,
    project: Uuid,
}

impl LastStep {
    async fn take(self, store: &Store, actor: &Actor) -> Result<Shown> {
        let job = store.write_long(actor.clone(), move |tx| {
            Box::pin(async move {
                let (scratch, notes) = &mut *self.relied.lock().await;
                let begun = Instant::now();
                check(&mut tx.conn, scratch, notes, self.checked).await?;
                let shift = staging::publish(tx, &self.publication, self.project).await?;
                let held = begun.elapsed();
                Ok(Shown { shift, held })
            })
        });
        job.await
    }
}

/// Tries again what did not get its turn.
async fn patiently<'a, T>(mut attempt: impl FnMut() -> BoxFuture<'a, Result<T>>) -> Result<T> {
    let mut tries = 0;
    loop {
        tries += 1;
        match attempt().await {
            Err(Error::Refused(refusal))
                if tries < MAX_TRIES
                    && matches!(refusal.code, Code::DependencyUnavailable | Code::QueueCapExceeded) => {}
            Err(Error::Unavailable(_)) if tries < MAX_TRIES => {}
            outcome => return outcome,
        }
    }
}

async fn refuse_taken(store: &Store, chunk: &Chunk, notes: &Notes) -> Result<()> {
    match chunk.taken(&mut store.read().await?).await? {
        None => Ok(()),
        Some((seq, refusal)) => Err(with_line(notes.line_of(seq), refusal).into()),
    }
}

/// Refuses to go on when something the import relies on was changed; tells up to where it looked.
//= specs/spexus.md#transfer
//# An import that relies on something that was changed while it ran MUST be refused with the line, and MUST leave nothing.
async fn check(conn: &mut Conn, scratch: &mut ScratchCopy, notes: &Notes, since: i64) -> Result<i64> {
    let mut checked = since;
    loop {
        let others = staging::changes_since(conn, checked, OTHERS_AT_ONCE).await?;
        for other in &others {
            if let Some(line) = conflict(scratch, notes, other).await? {
                return Err(with_line(line, changed_meanwhile(other)).into());
            }
            checked = other.seq;
        }
        if others.len() < OTHERS_AT_ONCE as usize {
            return Ok(checked);
        }
    }
}

/// Whether a change of somebody else is in the way, and of which line, where it is one.
async fn conflict(
    scratch: &mut ScratchCopy,
    notes: &Notes,
    other: &OtherChange,
) -> Result<Option<Option<u64>>> {
    if let Some(seq) = scratch.relies_on(other).await? {
        return Ok(Some(notes.line_of(seq)));
    }
    let here = notes
        .project
        .as_ref()
        .is_some_and(|(id, _)| other.project_id == Some(*id) || other.entity_id == *id)
        || (notes.instead_of.is_some() && other.project_id == notes.instead_of);
    let (is_item, is_made) = (other.entity == "item", other.action == "created");
    let noted = match other.entity.as_str() {
        "item" => {
            let absent = || notes.absent.get(&other.label).filter(|_| here && is_made);
            notes.unchanged.get(&other.entity_id).or_else(absent)
        }
        _ => None,
    };
    if let Some(line) = noted {
        return Ok(Some(Some(*line)));
    }
    let same_key = notes.project.as_ref().is_some_and(|(_, key)| *key == other.label);
    let in_the_way = match other.entity.as_str() {
        "setting" => true,
        "project" => here || same_key,
        "prompt" => notes.is_alone,
        _ => is_item && notes.is_alone && (here || (is_made && notes.had_items == Some(false))),
    };
    Ok(in_the_way.then_some(None))
}

fn changed_meanwhile(other: &OtherChange) -> Refusal {
    let OtherChange {
        label, action, user, ..
    } = other;
    let message = format!("{label} was {action} by {user} while the import ran");
    Refusal::new(Code::StaleRevision, message).hint("Nothing was imported. Import the file again.")
}

fn with_line(line: Option<u64>, refusal: Refusal) -> Refusal {
    match line {
        Some(line) => refused_at(line, refusal),
        None => refusal,
    }
}

/// Says in which line something was refused, and notes where the line ended.
pub(super) fn at<T>(notes: &mut Notes, tx: &Tx, line: u64, outcome: Result<T>) -> Result<T> {
    let outcome = outcome.map_err(|error| at_line(line, error))?;
    notes.line(tx.seq(), line);
    Ok(outcome)
}
