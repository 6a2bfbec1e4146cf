//! Telling of changes: whoever made them — REST, another agent, another node — those who watch a resource hear of it.

use crate::guard::tenants;
use crate::instructions::ActivePrompt;
use crate::mark::Mark;
use crate::resources::topic;
use crate::roots::OpenFolders;
use crate::sessions::DatabaseSessionStore;
use mcp_server::{Change as How, ChangeSet, List, Server};
use spexus_domain::change::{Action, Change, Entity};
use spexus_domain::item::Item;
use spexus_domain::{Ruled, Uuid};
use spexus_service::account::token;
use spexus_service::changes::{self, News};
use spexus_service::{Service, root};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Changes read at once.
pub(crate) const MAX_READ: u32 = 200;
/// How long to wait after the database did not answer.
const PAUSE: Duration = Duration::from_millis(200);

/// The topics of resources, each with the project it belongs to.
type Topics = BTreeMap<String, Option<Uuid>>;

/// The task that tells of changes; ends with the value.
pub(crate) struct Watcher(JoinHandle<()>);

impl Watcher {
    pub(crate) fn start(
        service: Service,
        server: Server,
        prompt: Arc<ActivePrompt>,
        kept: Option<DatabaseSessionStore>,
        folders: OpenFolders,
    ) -> Self {
        let mut head = service.follow();
        let since = *head.borrow_and_update();
        server.begin_at(Mark::at(since).number());
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
    sessions: Option<(watch::Receiver<i64>, DatabaseSessionStore)>,
    folders: OpenFolders,
}

impl Following {
    async fn run(mut self, mut head: watch::Receiver<i64>, since: i64) {
        let mut since = Mark::at(since);
        if let Ok(Some(mark)) = Mark::read(&self.service, since.seq).await {
            since = mark;
            self.server.begin_at(mark.number());
        }
        loop {
            while since.seq < *head.borrow_and_update() {
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
    async fn tell_next(&self, since: Mark) -> Mark {
        let read = changes::news(&self.service, since.seq, MAX_READ, self.server.has_subscribers()).await;
        let Ok(news) = read else {
            tokio::time::sleep(PAUSE).await;
            return since;
        };
        let Some(last) = news.last().map(|news| Mark::behind(&news.change)) else {
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
        if news.iter().any(|news| is_of_rights(&news.change))
            && self.settle_sight(since, &news).await.is_err()
        {
            tokio::time::sleep(PAUSE).await;
            return since;
        }
        self.server.publish(gather(since.number(), last.number(), &news));
        let prompts = news.iter().any(|news| news.change.entity == Entity::Prompt);
        self.prompt.passed(since.seq, last.seq, prompts);
        last
    }

    /// Lets every session and listener see from now on what its token sees now, before anything that came after is told. Those
    /// who see less hear of their tools while they still see it.
    //= specs/spexus-mcp.md#rights
    //# Whoever is no longer a member of a project MUST be told nothing of it from then on, by sessions and listeners that are open.
    async fn settle_sight(&self, since: Mark, news: &[News]) -> Ruled<()> {
        let before = ChangeSet {
            since: since.number(),
            up_to: since.number(),
            lists: tool_lists(news),
            ..ChangeSet::default()
        };
        self.server.publish(before);
        for owner in self.server.owners() {
            if let Ok(holder) = Uuid::try_parse(&owner) {
                let seen = token::sight(&self.service, holder).await?;
                self.server.belong_to(&owner, tenants(seen).as_deref());
            }
        }
        Ok(())
    }

    async fn take_over(&self) {
        if let Some((_, kept)) = &self.sessions {
            kept.take_over(&self.server).await;
        }
    }
}

/// Whether a change may have changed what somebody may see or do.
fn is_of_rights(change: &Change) -> bool {
    matches!(
        change.entity,
        Entity::User | Entity::Token | Entity::Project | Entity::Member | Entity::Group
    )
}

/// Waits until another node may have written to a session.
async fn written_elsewhere(sessions: &mut Option<(watch::Receiver<i64>, DatabaseSessionStore)>) {
    let Some((number, kept)) = sessions else {
        return std::future::pending().await;
    };
    loop {
        // An error means that the store is gone, and with it all news.
        let Ok(number) = number
            .wait_for(|number| kept.is_behind(*number))
            .await
            .map(|number| *number)
        else {
            return std::future::pending().await;
        };
        // The database may tell us of our own write before the write itself came back.
        kept.settled(number).await;
        if kept.is_behind(number) {
            return;
        }
    }
}

/// A stretch of changes as it is told: lists once, each topic once.
//= specs/spexus-mcp.md#changes
//# News MUST be matched by item and project, so that equal references of two projects are never taken for each other.
pub(crate) fn gather(since: u64, up_to: u64, news: &[News]) -> ChangeSet {
    let of = |entity: Entity| news.iter().filter(move |news| news.change.entity == entity);
    let (mut gone, mut changed) = (Topics::new(), Topics::new());
    for News { change, paths, left } in news {
        for path in paths {
            concern(change, path, left.as_ref(), &mut gone, &mut changed);
        }
        if change.entity == Entity::Prompt {
            let topics = [
                "requirements://prompts".to_owned(),
                "requirements://prompts/active".to_owned(),
                topic::of_prompt(change.entity_id),
            ];
            changed.extend(topics.map(|topic| (topic, None)));
        }
        if change.entity == Entity::Setting {
            let parts = ["types", "relationship-types", "workflows"];
            changed.extend(parts.map(|part| (format!("requirements://{part}"), None)));
        }
    }
    changed.retain(|topic, _| !gone.contains_key(topic));
    let told = |how: How| {
        move |(topic, project): (String, Option<Uuid>)| (topic, how, project.map(|id| id.to_string()))
    };
    let gone = gone.into_iter().map(told(How::Deleted));
    let resources = gone.chain(changed.into_iter().map(told(How::Updated))).collect();
    // Items that come or go change the list of their own project.
    let moved = of(Entity::Item).filter(|news| news.change.action != Action::Updated);
    // So does what its references are shown with.
    let renamed = of(Entity::Project).filter(|news| {
        let mut fields = news.change.fields.iter();
        fields.any(|field| field.field == "prefix_references")
    });
    let projects: BTreeSet<_> = moved.chain(renamed).map(|news| news.change.project_id).collect();
    let mut lists: Vec<_> = projects
        .into_iter()
        .map(|project| (List::Resources, project.map(|id| id.to_string())))
        .collect();
    if of(Entity::Prompt).next().is_some() {
        lists.push((List::Prompts, None));
    }
    lists.extend(tool_lists(news));
    ChangeSet {
        since,
        up_to,
        resources,
        lists,
        everything: false,
    }
}

/// Roles decide which tools are listed: those of accounts and groups for anybody, those in a project for who sees it.
fn tool_lists(news: &[News]) -> Vec<(List, Option<String>)> {
    let mut whose = BTreeSet::new();
    for News { change, .. } in news {
        match change.entity {
            Entity::User | Entity::Group => whose.insert(None),
            Entity::Member | Entity::Project => whose.insert(change.project_id.map(|id| id.to_string())),
            _ => false,
        };
    }
    whose.into_iter().map(|tenant| (List::Tools, tenant)).collect()
}

/// The topics a change concerns: the item's own, and those of all that contain it.
fn concern(change: &Change, path: &[Item], left: Option<&Item>, gone: &mut Topics, changed: &mut Topics) {
    let Some((item, above)) = path.split_last() else {
        return;
    };
    let project = Some(item.project_id);
    let of = |item: &Item, part: &str| (topic::of_item(item.kind, item.id, part), project);
    // A context tells of neighbours, too, so any change in the project may be one of it.
    changed.extend([
        of(item, "history"),
        (topic::of_contexts(item.project_id), project),
    ]);
    match change.entity {
        Entity::Link => changed.extend([of(item, "relationships")]),
        Entity::Comment => changed.extend([of(item, "comments")]),
        _ if change.action == Action::Deleted => gone.extend([of(item, "")]),
        _ => changed.extend([of(item, "hierarchy"), of(item, "")]),
    }
    if change.entity != Entity::Item {
        return;
    }
    let collection = item.kind.rules().path;
    changed.extend([
        (topic::of_list(item.kind, item.project_id), project),
        (topic::of_search(item.project_id), project),
    ]);
    changed.extend(above.iter().map(|container| of(container, "hierarchy")));
    // What was moved is missed where it came from.
    for parent in above.last().into_iter().chain(left) {
        changed.extend([of(parent, collection), of(parent, "hierarchy")]);
    }
}
