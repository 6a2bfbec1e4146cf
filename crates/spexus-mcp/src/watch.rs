//! Telling of changes: whoever made them — REST, another agent, another node — those who watch a resource hear of it.

use crate::instructions::ActivePrompt;
use crate::resources::scheme_of;
use crate::roots::OpenFolders;
use mcp_runtime::{Change as Told, List, Server};
use spexus_domain::change::{Action, Change, Entity};
use spexus_domain::item::Item;
use spexus_domain::{Reference, Uuid};
use spexus_service::changes::{self, News};
use spexus_service::{Service, root};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Changes read at once.
const MAX_READ: u32 = 200;
/// How long to wait after the database did not answer.
const PAUSE: Duration = Duration::from_millis(200);

/// The task that tells of changes; ends with the value.
pub(crate) struct Watcher(JoinHandle<()>);

impl Watcher {
    pub(crate) fn start(
        service: Service,
        server: Server,
        prompt: Arc<ActivePrompt>,
        folders: OpenFolders,
    ) -> Self {
        Self(tokio::spawn(follow(service, server, prompt, folders)))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.abort();
    }
}

//= specs/spexus-mcp.md#changes
//# A change by anyone MUST be told to those who watch a resource it concerns.
async fn follow(service: Service, server: Server, prompt: Arc<ActivePrompt>, folders: OpenFolders) {
    let mut head = service.follow();
    let mut since = *head.borrow_and_update();
    loop {
        while since < *head.borrow_and_update() {
            let Ok(news) = changes::news(&service, since, MAX_READ, server.is_watched()).await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let Some(last) = news.last().map(|news| news.change.seq) else {
                break;
            };
            if news.iter().any(|news| root::is_concerned(&news.change))
                && folders.reload(&server).await.is_err()
            {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            tell(&server, &news);
            let prompts = news.iter().any(|news| news.change.entity == Entity::Prompt);
            prompt.passed(since, last, prompts);
            since = last;
        }
        if head.changed().await.is_err() {
            return;
        }
    }
}

/// Tells of a stretch of changes: lists once, each address once.
fn tell(server: &Server, news: &[News]) {
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
    for uri in &gone {
        server.resource_changed(uri, Told::Deleted);
    }
    for uri in changed.difference(&gone) {
        server.resource_changed(uri, Told::Updated);
    }
    if of(Entity::Item).any(|news| news.change.action != Action::Updated) {
        server.list_changed(List::Resources);
    }
    if of(Entity::Prompt).next().is_some() {
        server.list_changed(List::Prompts);
    }
    // A role decides which tools are listed.
    if of(Entity::User).next().is_some() {
        server.list_changed(List::Tools);
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
