//! A model for each project that is written in, made of its items and kept current by the feed of changes.

use crate::model::{Learned, Model};
use crate::words;
use spexus_domain::account::Caller;
use spexus_domain::change::Entity;
use spexus_domain::item::Item;
use spexus_domain::{Code, Ruled, Uuid};
use spexus_service::item::{self, ItemQuery};
use spexus_service::{Service, changes, project};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Mutex;

/// Tokens a model is taught at most; the texts that changed last come first.
const MAX_LEARNED_TOKENS: usize = 200_000;
/// Models kept; the one not used for the longest time goes first.
const MAX_MODELS: usize = 8;
/// Items that are looked up one by one; after more changes the model is made anew.
const MAX_CATCH_UP: usize = 2_000;
const PAGE_ROWS: u32 = 200;

/// The models of the projects that are written in.
pub(crate) struct ProjectModels {
    service: Service,
    models: Mutex<HashMap<Uuid, UsedModel>>,
}

/// A model and when it was last used.
type UsedModel = (Instant, Arc<Mutex<Trained>>);

/// A model and how far it has come.
#[derive(Debug, Default)]
pub(crate) struct Trained {
    pub(crate) model: Model,
    texts: HashMap<Uuid, [Learned; 2]>,
    /// The last change it knows; `None` before it was made.
    known: Option<String>,
}

impl ProjectModels {
    pub(crate) fn new(service: &Service) -> Self {
        Self {
            service: service.clone(),
            models: Mutex::default(),
        }
    }

    /// The model of a project, current. The caller's right is asked with every call.
    pub(crate) async fn trained(&self, caller: &Caller, project: Option<&str>) -> Ruled<Arc<Mutex<Trained>>> {
        let place = project::of_request(&self.service, caller, project).await?;
        let trained = self.model(place.id).await;
        let mut held = trained.lock().await;
        if held.is_current(&self.service, caller, project).await? == Currency::Stale {
            *held = Trained::default();
            held.make(&self.service, caller, project).await?;
        }
        drop(held);
        Ok(trained)
    }

    async fn model(&self, key: Uuid) -> Arc<Mutex<Trained>> {
        let mut models = self.models.lock().await;
        if models.len() >= MAX_MODELS && !models.contains_key(&key) {
            let oldest = models
                .iter()
                .min_by_key(|(_, (used, _))| *used)
                .map(|(key, _)| *key);
            oldest.and_then(|oldest| models.remove(&oldest));
        }
        let used = models
            .entry(key)
            .or_insert_with(|| (Instant::now(), Arc::default()));
        used.0 = Instant::now();
        used.1.clone()
    }
}

#[derive(PartialEq, Eq)]
enum Currency {
    Current,
    Stale,
}

impl Trained {
    /// Learns from what changed since it last looked.
    async fn is_current(
        &mut self,
        service: &Service,
        caller: &Caller,
        project: Option<&str>,
    ) -> Ruled<Currency> {
        let mut changed = BTreeSet::new();
        let Some(mut known) = self.known.clone() else {
            changes::now(service, caller, project).await?;
            return Ok(Currency::Stale);
        };
        loop {
            let read = changes::since(service, caller, project, &known, Some(PAGE_ROWS)).await;
            let news = match read {
                // The history is another one now.
                Err(refusal) if refusal.code == Code::InvalidParams => return Ok(Currency::Stale),
                read => read?,
            };
            let Some(last) = news.last() else { break };
            known = changes::behind(last);
            changed.extend(
                news.iter()
                    .filter(|one| one.entity == Entity::Item)
                    .map(|one| one.entity_id),
            );
            if changed.len() > MAX_CATCH_UP {
                return Ok(Currency::Stale);
            }
        }
        for id in changed {
            self.unlearn(id);
            match item::get(service, caller, project, None, &id.to_string()).await {
                Ok(item) => self.learn(&item),
                Err(refusal) if refusal.code == Code::ResourceNotFound => {}
                Err(refusal) => return Err(refusal),
            }
        }
        self.known = Some(known);
        let full = self.model.tokens() > MAX_LEARNED_TOKENS + MAX_LEARNED_TOKENS / 4;
        Ok(if full { Currency::Stale } else { Currency::Current })
    }

    /// Learns the project from its items.
    async fn make(&mut self, service: &Service, caller: &Caller, project: Option<&str>) -> Ruled<()> {
        let known = changes::now(service, caller, project).await?;
        let mut query = ItemQuery {
            project: project.map(str::to_owned),
            order_by: Some("-updated_at".to_owned()),
            limit: Some(PAGE_ROWS),
            ..ItemQuery::default()
        };
        loop {
            let page = item::list(service, caller, None, &query).await?;
            page.data.iter().for_each(|item| self.learn(item));
            query.cursor = page.next_cursor;
            if query.cursor.is_none() || self.model.tokens() >= MAX_LEARNED_TOKENS {
                break;
            }
        }
        self.known = Some(known);
        Ok(())
    }

    fn learn(&mut self, item: &Item) {
        let mut one = |text: &str| self.model.learn(&words::tokens(text));
        let learned = [one(&item.title), one(&item.description)];
        if learned.iter().any(|text| text.len() > 0) {
            self.texts.insert(item.id, learned);
        }
    }

    fn unlearn(&mut self, id: Uuid) {
        for text in self.texts.remove(&id).into_iter().flatten() {
            self.model.forget(&text);
        }
    }
}
