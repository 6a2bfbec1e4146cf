//! Telling of changes: whoever made them — REST, another agent, another node — those who watch a resource hear of it.

use crate::instructions::ActivePrompt;
use crate::resources::scheme_of;
use crate::roots::OpenFolders;
use crate::sessions::Kept;
use mcp_runtime::{Change as How, List, News as Told, Server};
use spexus_domain::change::{Action, Change, Entity};
use spexus_domain::item::Item;
use spexus_domain::{Reference, Uuid};
use spexus_service::changes::{self, News};
use spexus_service::{Service, root};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Changes read at once.
pub(crate) const MAX_READ: u32 = 200;
/// How long to wait after the database did not answer.
const PAUSE: Duration = Duration::from_millis(200);

/// The task that tells of changes; ends with the value.
pub(crate) struct Watcher(JoinHandle<()>);

impl Watcher {
    pub(crate) fn start(
        service: Service,
        server: Server,
        prompt: Arc<ActivePrompt>,
        kept: Option<Kept>,
        folders: OpenFolders,
    ) -> Self {
        let mut head = service.follow();
        let since = *head.borrow_and_update();
        server.begin_news(since.unsigned_abs());
        let sessions = kept.map(|kept| (kept.follow(), kept));
        let following = Following {
            service,
            server,
            prompt,
            sessions,
            folders,
        };
        Self(tokio::spawn(following.run(head, since)))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What the task follows: the history, and the sessions other nodes write to.
struct Following {
    service: Service,
    server: Server,
    prompt: Arc<ActivePrompt>,
    sessions: Option<(watch::Receiver<i64>, Kept)>,
    folders: OpenFolders,
}

impl Following {
    async fn run(mut self, mut head: watch::Receiver<i64>, mut since: i64) {
        loop {
            while since < *head.borrow_and_update() {
                since = self.tell_next(since).await;
            }
            tokio::select! {
                changed = head.changed() => if changed.is_err() { return },
                () = written_elsewhere(&mut self.sessions) => self.take_over().await,
            }
        }
    }

    //= specs/spexus-mcp.md#changes
    //# A change by anyone MUST be told to those who watch a resource it concerns.
    async fn tell_next(&self, since: i64) -> i64 {
        let read = changes::news(&self.service, since, MAX_READ, self.server.is_watched()).await;
        let Ok(news) = read else {
            tokio::time::sleep(PAUSE).await;
            return since;
        };
        let Some(last) = news.last().map(|news| news.change.seq) else {
            tokio::time::sleep(PAUSE).await;
            return since;
        };
        let of_roots = news.iter().any(|news| root::is_concerned(&news.change));
        if of_roots && self.folders.reload(&self.server).await.is_err() {
            tokio::time::sleep(PAUSE).await;
            return since;
        }
        // A client may have asked another node for what it is now to be told by this one.
        if self.server.sessions() > 0 {
            self.take_over().await;
        }
        self.server
            .tell(gather(since.unsigned_abs(), last.unsigned_abs(), &news));
        let prompts = news.iter().any(|news| news.change.entity == Entity::Prompt);
        self.prompt.passed(since, last, prompts);
        last
    }

    async fn take_over(&self) {
        if let Some((_, kept)) = &self.sessions {
            kept.take_over(&self.server).await;
        }
    }
}

/// Waits until another node may have written to a session.
async fn written_elsewhere(sessions: &mut Option<(watch::Receiver<i64>, Kept)>) {
    let Some((number, kept)) = sessions else {
        return std::future::pending().await;
    };
    // An error means that the store is gone, and with it all news.
    if number.wait_for(|number| kept.is_behind(*number)).await.is_err() {
        std::future::pending().await
    }
}

/// A stretch of changes as it is told: lists once, each address once.
pub(crate) fn gather(since: u64, up_to: u64, news: &[News]) -> Told {
    let of = |entity: Entity| news.iter().filter(move |news| news.change.entity == entity);
    let (mut gone, mut changed) = (BTreeSet::new(), BTreeSet::new());
    for News { change, paths } in news {
        for path in paths {
            concern(change, path, &mut gone, &mut changed);
        }
        if change.entity == Entity::Prompt {
            changed.extend([
                "requirements://prompts".to_owned(),
                "requirements://prompts/active".to_owned(),
            ]);
            changed.insert(format!("prompt://{}", change.entity_id));
            changed.insert(format!("prompt://{}", change.label));
        }
        if change.entity == Entity::Setting {
            changed.extend(
                ["types", "relationship-types", "workflows"].map(|part| format!("requirements://{part}")),
            );
        }
    }
    changed.retain(|uri| !gone.contains(uri));
    let gone = gone.into_iter().map(|uri| (uri, How::Deleted));
    let resources = gone
        .chain(changed.into_iter().map(|uri| (uri, How::Updated)))
        .collect();
    let mut lists = Vec::new();
    if of(Entity::Item).any(|news| news.change.action != Action::Updated) {
        lists.push(List::Resources);
    }
    if of(Entity::Prompt).next().is_some() {
        lists.push(List::Prompts);
    }
    // A role decides which tools are listed.
    if of(Entity::User).next().is_some() {
        lists.push(List::Tools);
    }
    Told {
        since,
        up_to,
        resources,
        lists,
        everything: false,
    }
}

/// The addresses a change concerns: the item's own, and those of all that contain it.
fn concern(change: &Change, path: &[Item], gone: &mut BTreeSet<String>, changed: &mut BTreeSet<String>) {
    let Some((item, above)) = path.split_last() else {
        return;
    };
    for base in addresses(item) {
        changed.insert(format!("{base}/history"));
        match change.entity {
            Entity::Link => changed.insert(format!("{base}/relationships")),
            Entity::Comment => changed.insert(format!("{base}/comments")),
            _ if change.action == Action::Deleted => gone.insert(base),
            _ => changed.insert(format!("{base}/hierarchy")) | changed.insert(base),
        };
    }
    if change.entity != Entity::Item {
        return;
    }
    let collection = item.kind.rules().path;
    changed.insert(format!("requirements://{collection}"));
    for container in above {
        changed.extend(addresses(container).map(|base| format!("{base}/hierarchy")));
    }
    if let Some(parent) = above.last() {
        changed.extend(addresses(parent).map(|base| format!("{base}/{collection}")));
    }
    // What was moved is missed where it came from.
    let left = change.fields.iter().filter(|field| field.field == "parent");
    for from in left.filter_map(|field| field.before.as_ref()?.as_str()) {
        if let (Some(_), Some(kind)) = (Reference::parse(from), item.kind.rules().parent) {
            let base = format!("{}://{from}", scheme_of(kind));
            changed.extend([format!("{base}/hierarchy"), format!("{base}/{collection}")]);
        }
    }
}

/// An item by both of its ids.
fn addresses(item: &Item) -> [String; 2] {
    let scheme = scheme_of(item.kind);
    let by_id: Uuid = item.id;
    [
        format!("{scheme}://{}", item.reference_id),
        format!("{scheme}://{by_id}"),
    ]
}
