//! Working beside each other: who works on what, and holding others off for a while.

mod next;

pub use next::{OfferedWork, ReadyItem, WaitingItem, WorkQuery, next_work};

use crate::Service;
use crate::context::{Context, reading};
use crate::link::GUIDES;
use crate::people;
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::lease::{ClaimedLease, Lease, NewLease};
use spexus_domain::permission::Operation;
use spexus_domain::query::PageRequest;
use spexus_domain::{Ruled, Timestamp};
use spexus_store::links::LinkFilter;
use spexus_store::{Conn, Result, Tx, leases, links, tokens};

/// Holds an item for a while, or longer; a person takes it over from others.
//= specs/spexus-service.md#leases
//# An item MUST be held by one holder at a time, also when several claim it at the same moment; claiming again MUST renew the lease,
//# and a lease MUST end when its time is over by the clock of the service.
#[boxed]
pub async fn claim(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    id: &str,
    input: NewLease,
) -> Ruled<ClaimedLease> {
    let (seconds, intent) = (input.seconds()?, input.intent()?);
    let (place, id) = ((project, Some(id)), id.to_owned());
    let job = service.change_in(caller, Operation::UpdateItem, place, move |tx, context| {
        Box::pin(async move {
            let item = context.item(&mut tx.conn, "id", &id, None).await?;
            let caller = &context.caller;
            let now = tx.now();
            let before = leases::of_item(&mut tx.conn, item.id, now).await?;
            if let Some(before) = &before {
                before.check(caller)?;
            }
            let own = before.as_ref().filter(|before| before.is_of(caller));
            let lease = Lease {
                item: item.reference_id.clone(),
                item_id: item.id,
                project: item.project.clone(),
                project_id: item.project_id,
                user_id: caller.user_id,
                token_id: caller.token_id,
                holder: holder(&mut tx.conn, caller).await?,
                intent: match (intent.is_empty(), own) {
                    (true, Some(own)) => own.intent.clone(),
                    _ => intent,
                },
                since: own.map_or(now, |own| own.since),
                until: now.plus_seconds(seconds),
            };
            leases::put(tx, &lease).await?;
            let warnings = warnings(tx, &context, &item, now).await?;
            Ok(ClaimedLease {
                rev: item.rev,
                taken_from: before
                    .filter(|before| !before.is_of(caller))
                    .map(|before| before.holder),
                lease,
                warnings,
            })
        })
    });
    job.await
}

/// The user, with the name of the token: two agents of one person are two.
async fn holder(conn: &mut Conn, caller: &Caller) -> Result<String> {
    let token = match caller.token_id {
        Some(id) => tokens::by_id(conn, id).await?,
        None => None,
    };
    Ok(match token {
        Some((token, _)) => format!("{} ({})", caller.username, token.name),
        None => caller.username.clone(),
    })
}

/// Others who work on what an item is linked with.
//= specs/spexus-service.md#leases
//# Whoever claims an item MUST be told who else works on items it is linked with.
async fn warnings(tx: &mut Tx, context: &Context, item: &Item, now: Timestamp) -> Result<Vec<String>> {
    let caller = &context.caller;
    let page = PageRequest::default();
    let all = LinkFilter::default();
    let found = links::of_item(&mut tx.conn, item.id, &all, caller.visibility(), &page).await?;
    let mut warnings = Vec::new();
    for link in found.page.data.iter().filter(|link| link.link_type != GUIDES) {
        let other = if link.source.id == item.id {
            &link.target
        } else {
            &link.source
        };
        let lease = leases::of_item(&mut tx.conn, other.id, now).await?;
        if let Some(lease) = lease.filter(|lease| !lease.is_of(caller)) {
            let label = link.label(caller.visibility());
            warnings.push(format!(
                "{label}: {} works on {} until {}",
                lease.holder, lease.item, lease.until
            ));
        }
    }
    Ok(warnings)
}

/// Ends a lease, or hands it over to somebody; tells whose it was, if it was anybody's.
//= specs/spexus-service.md#leases
//# A lease MUST be ended or handed over by its holder or a person, and by no other agent.
#[boxed]
pub async fn release(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    id: &str,
    to: Option<&str>,
) -> Ruled<Option<Lease>> {
    let (place, id, to) = ((project, Some(id)), id.to_owned(), to.map(str::to_owned));
    let job = service.change_in(caller, Operation::UpdateItem, place, move |tx, context| {
        Box::pin(async move {
            let item = context.item(&mut tx.conn, "id", &id, None).await?;
            let now = tx.now();
            let Some(lease) = leases::of_item(&mut tx.conn, item.id, now).await? else {
                return Ok(None);
            };
            lease.check(&context.caller)?;
            let Some(to) = to else {
                leases::remove(tx, item.project_id, item.id).await?;
                return Ok(Some(lease));
            };
            let heir = people::find_active(&mut tx.conn, &context.caller, "to", &to).await?;
            let handed = Lease {
                user_id: heir.id,
                token_id: None,
                holder: heir.username,
                since: now,
                ..lease
            };
            leases::put(tx, &handed).await?;
            Ok(Some(handed))
        })
    });
    job.await
}

/// Who works on what in a project.
#[boxed]
pub async fn list(service: &Service, caller: &Caller, project: Option<&str>) -> Ruled<Vec<Lease>> {
    let now = service.store.now();
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    Ok(leases::of_project(&mut conn, context.project()?.id, now).await?)
}

/// Refuses an agent the change of what somebody else works on; tells the note of intent of its own lease.
pub(crate) async fn check(tx: &mut Tx, caller: &Caller, item: &Item) -> Result<Option<String>> {
    if !caller.is_agent {
        return Ok(None);
    }
    let now = tx.now();
    let Some(lease) = leases::of_item(&mut tx.conn, item.id, now).await? else {
        return Ok(None);
    };
    lease.check(caller)?;
    Ok(Some(lease.intent).filter(|intent| !intent.is_empty()))
}
