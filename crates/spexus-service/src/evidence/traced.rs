//! Which commit is traced, which pushes are about it, and what each is worth.

use spexus_domain::Uuid;
use spexus_domain::trace::fold::RunWorth;
use spexus_store::trace::{self, PushMark};
use spexus_store::{Conn, Result};

/// The commit that is traced once a push is kept: of the latest push that counts and has marks, else the latest that counts, else the
/// latest.
pub(super) async fn traced_commit(conn: &mut Conn, project_id: Uuid, incoming: &PushMark) -> Result<String> {
    let deciding = trace::deciding_pushes(conn, project_id).await?;
    let counts = !incoming.is_reported && !incoming.is_dirty;
    let joins = [counts && incoming.has_marks, counts, true];
    let order = |push: &PushMark| (push.ordered_at, push.number);
    for (kept, joins) in deciding.into_iter().zip(joins) {
        let incoming = joins.then(|| incoming.clone());
        if let Some(push) = kept.into_iter().chain(incoming).max_by_key(order) {
            return Ok(push.commit);
        }
    }
    Ok(incoming.commit.clone())
}

/// The pushes about a commit in the order in which they came, with the one that comes now.
pub(super) async fn pushes_at(
    conn: &mut Conn,
    project_id: Uuid,
    commit: &str,
    incoming: &PushMark,
) -> Result<Vec<PushMark>> {
    let mut pushes = trace::pushes_at(conn, project_id, commit).await?;
    pushes.push(incoming.clone());
    pushes.retain(|push| is_same_commit(&push.commit, commit));
    Ok(pushes)
}

/// The scan that counts most, the last of those.
pub(super) fn scan(at: &[PushMark]) -> Option<&PushMark> {
    let scans = at.iter().filter(|push| push.has_marks);
    scans.max_by_key(|push| (worth(push), push.number))
}

/// Whether two commits are the same, one of them perhaps in its short form.
pub(super) fn is_same_commit(a: &str, b: &str) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

pub(super) fn worth(push: &PushMark) -> RunWorth {
    match (push.is_reported, push.is_dirty) {
        (true, _) => RunWorth::Reported,
        (false, true) => RunWorth::Dirty,
        (false, false) => RunWorth::Counts,
    }
}
