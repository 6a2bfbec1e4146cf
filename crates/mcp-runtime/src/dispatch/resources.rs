//! `resources/*` and `subscriptions/listen`.

use std::sync::Arc;

use futures_util::FutureExt;
use refusal::{Code, Refusal};
use serde_json::{Value, json};

use super::sight::seen;
use super::{Door, Plan, Step, reading};
use crate::answer::{Outcome, RpcError};
use crate::context::{Call, Context};
use crate::core::Core;
use crate::cursor::Place;
use crate::envelope::Request;
use crate::fields::{self, Fields};
use crate::guard::Access;
use crate::hub::Filter;
use crate::input::Rounds;
use crate::registry::{Family, Listing, list_text};
use crate::resource::{Registered, RegisteredTemplate, ResourceSource};
use crate::session::Terms;
use crate::session_store::SessionEdit;
use crate::tool::Stop;
use crate::uri;
use crate::version::Era;

const LIST: &str = "resources/list";
const TEMPLATES: &str = "resources/templates/list";

// Fulfils 002 Req-Res-001, 002 Req-Res-012
pub(super) fn list(
    door: &Door<'_>,
    request: &Request<'_>,
    fields: &Fields<'_>,
    terms: &Terms,
) -> Result<Step, RpcError> {
    let core = door.core;
    let under = fields.text("path")?.map(|path| address_of_path(core, &path));
    let place = Place::asked(fields, &core.seal, LIST)?;
    let source = core.resource_source.clone();
    let after = match place {
        Some(Place::Source(from)) => return Ok(from_source(door, source, from, under)),
        Some(Place::After(key)) => Some(key),
        None => None,
    };
    let resources = seen(door, request, terms, &core.registry.resources)?;
    if let (None, None, None, Some(whole)) = (&after, &source, &under, resources.whole()) {
        return Ok(Step::Now(Outcome::text(whole)));
    }
    if let Some(under) = under {
        return Ok(list_under(door, &resources, source, under));
    }
    if resources.len() == 0 {
        return Ok(from_source(door, source, String::new(), None));
    }
    let (entries, ends) = resources.page(after.as_deref());
    let next = ends
        .map(|key| Place::After(key.to_string()))
        .or_else(|| first_of_source(source.is_some()));
    let next = next.map(|place| place.seal(&core.seal, LIST));
    Ok(Step::Now(Outcome::text(list_text::<Registered>(
        &entries,
        next.as_deref(),
    ))))
}

pub(super) fn templates(
    door: &Door<'_>,
    request: &Request<'_>,
    fields: &Fields<'_>,
    terms: &Terms,
) -> Result<Step, RpcError> {
    let core = door.core;
    let after = match Place::asked(fields, &core.seal, TEMPLATES)? {
        Some(Place::After(key)) => Some(key),
        _ => None,
    };
    let (entries, ends) = seen(door, request, terms, &core.registry.templates)?.page(after.as_deref());
    let next = ends.map(|key| Place::After(key.to_string()).seal(&core.seal, TEMPLATES));
    Ok(Step::Now(Outcome::text(list_text::<RegisteredTemplate>(
        &entries,
        next.as_deref(),
    ))))
}

// Fulfils 002 Req-Res-002
pub(super) fn read(door: &Door<'_>, fields: &Fields<'_>, terms: &Terms) -> Result<Step, RpcError> {
    let uri = asked_address(door.core, fields)?;
    let rounds = match terms.version.era() {
        Era::Handshake => None,
        Era::Stateless => {
            let purpose = format!("resources/read {uri}");
            let rounds = Rounds::read(fields, &door.core.seal, &purpose)?;
            Some(Box::new((purpose, rounds)))
        }
    };
    let mut plan = Plan::new(door.core, move |cx| reading::answer(cx, uri).boxed());
    plan.rounds = rounds;
    Ok(Step::Later(plan))
}

// Fulfils 002 Req-Res-004
//= specs/mcp-runtime.md#changes
//# A session MUST hear of a resource from the answer to its subscription until the answer to its unsubscription.
pub(super) fn subscribe(door: &Door<'_>, fields: &Fields<'_>) -> Result<Step, RpcError> {
    let uri = asked_address(door.core, fields)?;
    let run = |cx: Context| {
        async move {
            let call = &cx.0;
            call.core.check(&cx, Access::WatchResource(&uri))?;
            known_address(&call.core, &uri)?;
            let max = call.core.settings.limits.max_subscriptions_per_session;
            if call.session.lock_watched().len() >= max {
                return Err(Refusal::new(
                    Code::QuotaExceeded,
                    format!("a session may watch {max} resources"),
                )
                .into());
            }
            watch_in_source(&cx, &uri).await?;
            call.session.lock_watched().insert(uri.clone());
            call.core.hub.watch(&call.session, &uri);
            keep_session(call, SessionEdit::Watch(uri)).await
        }
        .boxed()
    };
    Ok(Step::Later(Plan::new(door.core, run)))
}

// Fulfils 002 Req-Res-005
pub(super) fn unsubscribe(door: &Door<'_>, fields: &Fields<'_>) -> Result<Step, RpcError> {
    let uri = asked_address(door.core, fields)?;
    let run = |cx: Context| {
        async move {
            cx.0.session.lock_watched().remove(&uri);
            cx.0.core.hub.unwatch(&cx.0.session, &uri);
            keep_session(&cx.0, SessionEdit::Unwatch(uri)).await
        }
        .boxed()
    };
    Ok(Step::Later(Plan::new(door.core, run)))
}

/// Holds the request open; it ends when the client closes it or the server stops.
pub(super) fn listen(door: &Door<'_>, fields: &Fields<'_>) -> Result<Step, RpcError> {
    let mut filter: Filter = fields
        .decode("notifications")?
        .ok_or_else(|| fields::missing("notifications"))?;
    let watched = std::mem::take(&mut filter.resource_subscriptions);
    filter.resource_subscriptions = watched
        .iter()
        .map(|u| uri::canonical(u))
        .collect::<Result<_, _>>()?;
    let run = |cx: Context| {
        async move {
            for uri in &filter.resource_subscriptions {
                cx.0.core.check(&cx, Access::WatchResource(uri))?;
                watch_in_source(&cx, uri).await?;
            }
            let listening = Listening(cx.0.clone());
            cx.0.core.hub.listen(&cx.0, filter);
            std::future::pending::<()>().await;
            drop(listening);
            Ok(Outcome::empty())
        }
        .boxed()
    };
    Ok(Step::Later(Plan {
        timeout: None,
        ..Plan::new(door.core, run)
    }))
}

pub(super) fn first_of_source(there_is_one: bool) -> Option<Place> {
    there_is_one.then(|| Place::Source(String::new()))
}

/// Takes the listener out of the hub however its request ends.
struct Listening(Arc<Call>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.core.hub.unlisten(&self.0);
    }
}

/// Lets the source refuse, and begin to look before the subscription is answered.
async fn watch_in_source(cx: &Context, uri: &str) -> Result<(), Stop> {
    match &cx.0.core.resource_source {
        Some(source) => source.watch(cx, uri).await,
        None => Ok(()),
    }
}

/// What a client asked of its session is kept before it is told so.
pub(super) async fn keep_session(call: &Call, edit: SessionEdit) -> Result<Outcome, Stop> {
    if !call.session.is_line() {
        call.core.sessions.edit(&call.core, &call.session, edit).await?;
    }
    Ok(Outcome::empty())
}

fn from_source(
    door: &Door<'_>,
    source: Option<Arc<dyn ResourceSource>>,
    from: String,
    under: Option<String>,
) -> Step {
    match source {
        Some(source) => Step::Later(Plan::new(door.core, move |cx| {
            list_source(cx, source, from, under).boxed()
        })),
        None => Step::Now(Outcome::text(list_text::<Registered>(b"", None))),
    }
}

/// A part of the tree: registered resources that lie in it, else those of the source.
fn list_under(
    door: &Door<'_>,
    resources: &Family<Registered>,
    source: Option<Arc<dyn ResourceSource>>,
    under: String,
) -> Step {
    let inside = |own: &str| {
        own.strip_prefix(under.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || under.ends_with('/'))
    };
    let found: Vec<Value> = resources
        .values()
        .filter(|r| inside(&r.resource.uri))
        .map(|r| r.resource.entry())
        .collect();
    if found.is_empty() {
        return from_source(door, source, String::new(), Some(under));
    }
    Step::Now(Outcome::value(json!({ "resources": found })).cacheable())
}

async fn list_source(
    cx: Context,
    source: Arc<dyn ResourceSource>,
    from: String,
    under: Option<String>,
) -> Result<Outcome, Stop> {
    let Listing { entries, next } = source.list(&cx, &from, under.as_deref()).await?;
    let entries: Vec<Value> = entries.iter().map(|resource| resource.entry()).collect();
    let mut answer = json!({ "resources": entries });
    if let Some(next) = next {
        answer["nextCursor"] = json!(Place::Source(next).seal(&cx.0.core.seal, LIST));
    }
    Ok(Outcome::value(answer).cacheable())
}

/// The canonical address a request asks for, given as `uri` or as `path`.
fn asked_address(core: &Core, fields: &Fields<'_>) -> Result<String, Refusal> {
    if let Some(uri) = fields.text("uri")? {
        return uri::canonical(&uri);
    }
    let path = fields.text("path")?.ok_or_else(|| fields::missing("uri"))?;
    uri::canonical(&address_of_path(core, &path))
}

fn address_of_path(core: &Core, path: &str) -> String {
    match &core.settings.path_base {
        Some(base) if !path.contains("://") => format!("{base}{path}"),
        _ => path.to_owned(),
    }
}

fn known_address(core: &Core, uri: &str) -> Result<(), Refusal> {
    let known = core.resource_source.is_some()
        || core.registry.resources.load().get(uri).is_some()
        || core
            .registry
            .templates
            .load()
            .values()
            .any(|t| t.fit(uri).is_some());
    if known { Ok(()) } else { Err(not_found(uri)) }
}

pub(super) fn not_found(uri: &str) -> Refusal {
    Refusal::new(Code::ResourceNotFound, format!("there is no resource {uri:?}")).fact("uri", uri)
}
