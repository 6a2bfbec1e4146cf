//! Everything that can be verified, in parts that are looked at at once: pieces of ledgers, ranges of items, and the rest. All
//! connections see one moment, and what they find is put together in the order of the parts, so that it does not depend on how
//! many there were.

use crate::Store;
use crate::audit_verification::{self, TrailVerdict};
use crate::chain::{self, Begun, ChainFault, Verdict};
use crate::engine::Conn;
use crate::error::{Error, Result};
use crate::ledger_walk::{self, Piece, Walked};
use crate::moment::{self, MomentConn};
use crate::replay::{self, Known, Range};
use crate::state_verdict::StateVerdict;
use parking_lot::Mutex;
use spexus_domain::Uuid;
use spexus_domain::checkpoint::Checkpoint;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Hears how many changes were looked at since it heard last; every change is looked at twice, once in its ledger and once
/// for what it made.
pub type OnProgress = Arc<dyn Fn(u64) + Send + Sync>;

/// Ranges of items for each connection, so that none has to wait long for the last.
const RANGES_PER_CONNECTION: i64 = 8;

/// How much is looked at at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Connections.
    pub connections: usize,
    /// Changes of a ledger in one piece.
    pub piece_changes: i64,
    /// Ranges of items.
    pub ranges: i64,
}

impl Effort {
    /// One thing after the other.
    pub const SEQUENTIAL: Self = Self {
        connections: 1,
        piece_changes: i64::MAX,
        ranges: 1,
    };

    /// As much as the machine has cores for and others can spare connections.
    fn of(store: &Store) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let connections = cores.min(store.spare_connections()).max(1);
        Self {
            connections,
            piece_changes: chain::PIECE_CHANGES,
            ranges: RANGES_PER_CONNECTION * connections as i64,
        }
    }
}

/// A part of the work.
enum Part {
    Ledger(usize, Piece),
    Items(usize, Range),
    Former,
    Rest,
    Trail,
}

/// What a part found.
enum Found {
    Ledger(usize, Walked),
    Items(usize, StateVerdict),
    Former(Option<ChainFault>),
    Rest(StateVerdict),
    Trail(TrailVerdict),
}

/// What all parts share.
struct Job {
    begun: Begun,
    known: Known,
    parts: Mutex<VecDeque<Part>>,
    progress: OnProgress,
}

/// Verifies every ledger, also against checkpoints, the present state against a replay of them, and the audit trail.
pub async fn verify(
    store: &Store,
    owner: Uuid,
    checkpoints: Vec<Checkpoint>,
    progress: OnProgress,
) -> Result<Verdict> {
    verify_with(store, owner, checkpoints, progress, Effort::of(store)).await
}

/// The same with as much at once as is said.
//= specs/spexus-store.md#history
//# Verification in several parts at once MUST find the same as in one.
pub async fn verify_with(
    store: &Store,
    owner: Uuid,
    checkpoints: Vec<Checkpoint>,
    progress: OnProgress,
    effort: Effort,
) -> Result<Verdict> {
    if store.is_in_transaction() {
        let mut conn = store.read().await?;
        let work = Arc::new(plan(&mut conn, &checkpoints, progress, Effort::SEQUENTIAL).await?);
        let mut found = Vec::new();
        look(&mut conn, &work, &mut found).await?;
        return gather(&mut conn, &work, found).await;
    }
    let permit = store.snapshot_permit(owner).await?;
    let mut conns = moment::begin(store.readers(), effort.connections).await?;
    let first = conns.first_mut().ok_or_else(lost)?.conn()?;
    let work = Arc::new(plan(first, &checkpoints, progress, effort).await?);
    // Dropped with what is waited for here, so that nothing goes on for nobody.
    let mut workers = JoinSet::new();
    for mut conn in conns {
        let work = work.clone();
        workers.spawn(async move {
            let mut found = Vec::new();
            look(conn.conn()?, &work, &mut found).await?;
            Ok::<(MomentConn, Vec<Found>), Error>((conn, found))
        });
    }
    let (mut conns, mut found) = (Vec::new(), Vec::new());
    while let Some(worker) = workers.join_next().await {
        let (conn, some) = worker.map_err(|_| lost())??;
        conns.push(conn);
        found.extend(some);
    }
    let first = conns.first_mut().ok_or_else(lost)?.conn()?;
    let verdict = gather(first, &work, found).await;
    moment::end(conns, permit).await;
    verdict
}

async fn plan(
    conn: &mut Conn,
    checkpoints: &[Checkpoint],
    progress: OnProgress,
    effort: Effort,
) -> Result<Job> {
    let mut parts = VecDeque::from([Part::Former, Part::Rest, Part::Trail]);
    let ranges = Range::split(conn, effort.ranges).await?;
    parts.extend(
        ranges
            .into_iter()
            .enumerate()
            .map(|(at, range)| Part::Items(at, range)),
    );
    let begun = Begun::read(conn, checkpoints).await?;
    let pieces = chain::pieces(conn, &begun, effort.piece_changes).await?;
    parts.extend(
        pieces
            .into_iter()
            .enumerate()
            .map(|(at, piece)| Part::Ledger(at, piece)),
    );
    Ok(Job {
        begun,
        known: Known::read(conn).await?,
        parts: Mutex::new(parts),
        progress,
    })
}

/// Takes parts, one after the other, until there are none.
async fn look(conn: &mut Conn, work: &Job, found: &mut Vec<Found>) -> Result<()> {
    loop {
        let part = work.parts.lock().pop_front();
        let Some(part) = part else { return Ok(()) };
        found.push(match part {
            Part::Ledger(at, piece) => Found::Ledger(
                at,
                ledger_walk::walk(conn, piece, &work.begun, &*work.progress).await?,
            ),
            Part::Items(at, range) => {
                let compared = replay::range(conn, &work.known, range, &*work.progress).await;
                Found::Items(at, readable(compared.map(|compared| compared.verdict))?)
            }
            Part::Former => Found::Former(chain::recompute_former(conn, &work.begun).await?),
            Part::Rest => {
                let mut verdict = StateVerdict::default();
                let compared = replay::compare_rest(conn, &work.known, &mut verdict).await;
                Found::Rest(readable(compared.map(|()| verdict))?)
            }
            Part::Trail => Found::Trail(audit_verification::verify(conn).await?),
        });
    }
}

/// Rows that cannot even be read are what was looked for, not a reason to stop.
fn readable(compared: Result<StateVerdict>) -> Result<StateVerdict> {
    match compared {
        Err(Error::Broken(problem)) => {
            let mut verdict = StateVerdict::default();
            let problem = format!("some rows cannot be read, so nothing can be said of others: {problem}");
            verdict.note("database", Uuid::nil(), "", problem);
            Ok(verdict)
        }
        compared => compared,
    }
}

/// Puts together what was found, in the order of the parts.
async fn gather(conn: &mut Conn, work: &Job, found: Vec<Found>) -> Result<Verdict> {
    let (mut pieces, mut ranges, mut former, mut rest, mut trail) = (vec![], vec![], None, None, None);
    for one in found {
        match one {
            Found::Ledger(at, walked) => pieces.push((at, walked)),
            Found::Items(at, verdict) => ranges.push((at, verdict)),
            Found::Former(fault) => former = fault,
            Found::Rest(verdict) => rest = Some(verdict),
            Found::Trail(verdict) => trail = Some(verdict),
        }
    }
    pieces.sort_unstable_by_key(|(at, _)| *at);
    ranges.sort_unstable_by_key(|(at, _)| *at);
    let pieces = pieces.into_iter().map(|(_, walked)| walked).collect();
    let mut verdict = chain::finish(conn, &work.begun, pieces, former).await?;
    let mut state = StateVerdict::default();
    for part in ranges.into_iter().map(|(_, part)| part).chain(rest) {
        state.append(part);
    }
    verdict.state = Some(state);
    verdict.trail = trail;
    Ok(verdict)
}

fn lost() -> Error {
    Error::Unavailable("a verification was lost".into())
}
