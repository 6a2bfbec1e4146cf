//! Working beside each other: what can be begun, who works on what, and holding others off for a while.

use crate::Service;
use crate::context::{Context, reading};
use crate::link::GUIDES;
use crate::people;
use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::item_context::line;
use spexus_domain::lease::{ClaimedLease, Lease, NewLease, holds_back};
use spexus_domain::permission::Operation;
use spexus_domain::query::{ItemFilter, Order, OrderField, PageRequest};
use spexus_domain::workflow::Workflow;
use spexus_domain::{Code, Kind, Refusal, Ruled, Timestamp, Uuid};
use spexus_store::links::LinkFilter;
use spexus_store::{Conn, Result, Tx, items, leases, links, listing, settings, tokens};
use std::collections::HashMap;
use utoipa::ToSchema;

/// Items that are looked at to find those that can be begun.
const MAX_CANDIDATES: usize = 400;
/// Items of one page of them.
const PAGE_ROWS: u32 = 100;
/// Items that wait for others, told at most.
const MAX_WAITING: usize = 20;

/// Which work is looked for.
#[derive(Clone, Debug, Default)]
pub struct WorkQuery {
    /// The project.
    pub project: Option<String>,
    /// The kind: requirement when left out.
    pub kind: Option<String>,
    /// Only below this item.
    pub under: Option<String>,
    /// How many at most; 5 when left out.
    pub limit: Option<i64>,
}

/// What can be begun now.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct OfferedWork {
    /// What can be begun, the most urgent first.
    pub ready: Vec<ReadyItem>,
    /// What waits for something else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<WaitingItem>,
    /// Who works on what.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<Lease>,
}

/// Something that can be begun.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ReadyItem {
    /// Its id.
    #[schema(value_type = String)]
    pub id: spexus_domain::ShownReference,
    /// `REQ-012 [Active] P1: Title`.
    pub line: String,
    /// Its revision.
    pub rev: i64,
    /// Why it is ready.
    pub because: String,
}

/// Something that waits.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct WaitingItem {
    /// `REQ-012 [Active] P1: Title`.
    pub line: String,
    /// What for.
    pub because: String,
}

/// What a caller can begin now, and what waits for what.
//= specs/spexus-service.md#leases
//# Work MUST be offered in the order of its priority, with the reason, when its state is open, nobody else holds it, and nothing it
//# depends on holds it back.
#[boxed]
pub async fn next_work(service: &Service, caller: &Caller, query: WorkQuery) -> Ruled<OfferedWork> {
    let limit = match query.limit.unwrap_or(5) {
        wanted @ 1..=50 => wanted as usize,
        odd => {
            return Err(Refusal::field(
                Code::InvalidParams,
                "limit",
                format!("is {odd}"),
                "1 to 50",
            ));
        }
    };
    let kind = match &query.kind {
        None => Kind::Requirement,
        Some(kind) => Kind::parse("kind", kind)?,
    };
    if !kind.rules().has_status {
        let problem = format!("{} has no status", kind.name());
        return Err(Refusal::field(
            Code::InvalidParams,
            "kind",
            problem,
            "epic, user_story or requirement",
        ));
    }
    let now = service.store.now();
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, query.project.as_deref()).await?;
    let under = match &query.under {
        Some(id) => Some(context.item(&mut conn, "under", id, None).await?),
        None => None,
    };
    let project_id = match &under {
        Some(item) => item.project_id,
        None => context.project()?.id,
    };
    let held = leases::of_project(&mut conn, project_id, now).await?;
    let workflows = workflows(&mut conn).await?;
    let mut filter = ItemFilter {
        project_id: Some(project_id),
        kinds: vec![kind],
        under: under.map(|item| item.id),
        ..ItemFilter::default()
    };
    let open = workflows.get(&kind).map(|workflow| workflow.statuses.iter());
    let open = open.into_iter().flatten().filter(|status| !status.is_final);
    filter.statuses = open.map(|status| status.name.clone()).collect();
    let mut found = Found {
        caller,
        held: &held,
        workflows: &workflows,
        work: OfferedWork {
            ready: Vec::new(),
            waiting: Vec::new(),
            leases: held.clone(),
        },
    };
    let order = Order {
        field: OrderField::Priority,
        descending: false,
    };
    let mut page = PageRequest {
        limit: PAGE_ROWS,
        ..PageRequest::default()
    };
    let mut seen = 0;
    while found.work.ready.len() < limit && seen < MAX_CANDIDATES {
        let rows = listing::items(&mut conn, &filter, order, &page).await?;
        seen += rows.data.len();
        found.judge(&mut conn, rows.data, limit).await?;
        let Some(next) = rows.next_cursor else { break };
        page.cursor = Some(next);
    }
    Ok(found.work)
}

async fn workflows(conn: &mut Conn) -> Result<HashMap<Kind, Workflow>> {
    let mut all = HashMap::new();
    for kind in Kind::ALL {
        if let Some(workflow) = settings::workflow(conn, kind).await? {
            all.insert(kind, workflow);
        }
    }
    Ok(all)
}

/// What was found so far.
struct Found<'a> {
    caller: &'a Caller,
    held: &'a [Lease],
    workflows: &'a HashMap<Kind, Workflow>,
    work: OfferedWork,
}

impl Found<'_> {
    async fn judge(&mut self, conn: &mut Conn, candidates: Vec<Item>, limit: usize) -> Result<()> {
        let ids: Vec<Uuid> = candidates.iter().map(|item| item.id).collect();
        let waits = leases::dependencies(conn, &ids).await?;
        let others: Vec<Uuid> = waits.iter().map(|(_, other)| *other).collect();
        let parents = candidates
            .iter()
            .filter_map(|item| Some(item.parent.as_ref()?.id));
        let all: Vec<Uuid> = others.iter().copied().chain(parents).collect();
        let known: HashMap<Uuid, Item> = items::by_ids(conn, &all)
            .await?
            .into_iter()
            .map(|item| (item.id, item))
            .collect();
        for item in candidates {
            if self.work.ready.len() == limit {
                break;
            }
            self.judge_one(item, &waits, &known);
        }
        Ok(())
    }

    fn judge_one(&mut self, item: Item, waits: &[(Uuid, Uuid)], known: &HashMap<Uuid, Item>) {
        let parent = item.parent.as_ref().and_then(|parent| known.get(&parent.id));
        // What is below something finished or given up is no work.
        if parent.is_some_and(|parent| self.is_over(parent)) {
            return;
        }
        let lease = self.held.iter().find(|lease| lease.item_id == item.id);
        let mut reasons = Vec::new();
        if let Some(lease) = lease.filter(|lease| !lease.is_of(self.caller)) {
            reasons.push(format!("{} works on it until {}", lease.holder, lease.until));
        }
        let all = waits.iter().filter(|(waiting, _)| *waiting == item.id);
        let mut settled = 0;
        for (_, other) in all {
            match known
                .get(other)
                .filter(|other| self.caller.sees(other.project_id))
            {
                Some(other)
                    if other.deleted_at.is_none() && holds_back(other, self.workflows.get(&other.kind)) =>
                {
                    let elsewhere = match other.project_id == item.project_id {
                        true => String::new(),
                        false => format!("{}/", other.project),
                    };
                    reasons.push(format!("it waits for {elsewhere}{}", line(other)));
                }
                _ => settled += 1,
            }
        }
        if !reasons.is_empty() {
            if self.work.waiting.len() < MAX_WAITING {
                self.work.waiting.push(WaitingItem {
                    line: line(&item),
                    because: reasons.join("; "),
                });
            }
            return;
        }
        let mut because = match settled {
            0 => "it depends on nothing".to_owned(),
            settled => format!("all {settled} it depends on are settled"),
        };
        if lease.is_some() {
            because.push_str("; you hold it");
        }
        if item
            .assignee
            .as_ref()
            .is_some_and(|person| person.id == self.caller.user_id)
        {
            because.push_str("; it is assigned to you");
        }
        if let Some(parent) = parent {
            because.push_str(&format!("; in {}", line(parent)));
        }
        self.work.ready.push(ReadyItem {
            line: line(&item),
            rev: item.rev,
            because,
            id: item.reference_id,
        });
    }

    fn is_over(&self, item: &Item) -> bool {
        let workflow = self.workflows.get(&item.kind);
        let status = item.status.as_deref().unwrap_or_default();
        workflow.is_some_and(|workflow| {
            workflow
                .statuses
                .iter()
                .any(|one| one.name == status && one.is_final)
        })
    }
}

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
