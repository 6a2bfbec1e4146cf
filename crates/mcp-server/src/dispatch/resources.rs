//! `resources/*` and `subscriptions/listen`.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use refusal::{Code, Refusal};
use serde_json::{Value, json};

use super::visibility::visible;
use super::{AnsweredNotice, Incoming, Job, Routed, read};
use crate::server::context::{Call, Context};
use crate::server::core::Core;
use crate::server::guard::Access;
use crate::server::registry::{Listing, Snapshot, list_text, with_entries};
use crate::server::resource::{Registered, RegisteredTemplate, ResourceSource};
use crate::server::tool::Stop;
use crate::session::store::{SessionEdit, Subscription};
use crate::subscription::{Filter, Topics};
use mcp_protocol::{Cursor, Fields, Outcome, RpcError, Terms, envelope::Request, fields, uri};

const LIST: &str = "resources/list";
const TEMPLATES: &str = "resources/templates/list";

// Fulfils 002 Req-Res-001, 002 Req-Res-012
pub(super) fn list(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    fields: &Fields<'_>,
    terms: &Terms,
) -> Result<Routed, RpcError> {
    let core = incoming.core;
    let under = fields.text("path")?.map(|path| address_of_path(core, &path));
    let cursor = Cursor::requested(fields, &core.signer, LIST)?;
    let source = core.resource_source.clone();
    let after = match cursor {
        Some(Cursor::InSource(from)) => return Ok(from_source(incoming, source, from, under)),
        Some(Cursor::AfterKey(key)) => Some(key),
        None => None,
    };
    let resources = visible(incoming, request, terms, &core.registry.resources)?;
    if let (None, None, None, Some(whole)) = (&after, &source, &under, resources.whole()) {
        return Ok(Routed::Now(Outcome::text(whole)));
    }
    if let Some(under) = under {
        return Ok(list_under(incoming, &resources, source, under));
    }
    let (entries, ends) = resources.page(after.as_deref());
    //= specs/mcp-server.md#registry
    //# What a source holds MUST begin on the page on which the registered entries end.
    if let (None, Some(source)) = (&ends, source) {
        return Ok(Routed::Later(Job::reading(core, move |cx| {
            list_source(cx, source, String::new(), None, entries).boxed()
        })));
    }
    let next = ends.map(|key| Cursor::AfterKey(key.to_string()).sign(&core.signer, LIST));
    Ok(Routed::Now(Outcome::text(list_text::<Registered>(
        &entries,
        next.as_deref(),
    ))))
}

pub(super) fn templates(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    fields: &Fields<'_>,
    terms: &Terms,
) -> Result<Routed, RpcError> {
    let core = incoming.core;
    let after = match Cursor::requested(fields, &core.signer, TEMPLATES)? {
        Some(Cursor::AfterKey(key)) => Some(key),
        _ => None,
    };
    let (entries, ends) = visible(incoming, request, terms, &core.registry.templates)?.page(after.as_deref());
    let next = ends.map(|key| Cursor::AfterKey(key.to_string()).sign(&core.signer, TEMPLATES));
    Ok(Routed::Now(Outcome::text(list_text::<RegisteredTemplate>(
        &entries,
        next.as_deref(),
    ))))
}

// Fulfils 002 Req-Res-002
pub(super) fn read(incoming: &Incoming<'_>, fields: &Fields<'_>, terms: &Terms) -> Result<Routed, RpcError> {
    let uri = asked_address(incoming.core, fields)?;
    let rounds = incoming.rounds(terms, fields, || format!("resources/read {uri}"))?;
    let mut job = Job::reading(incoming.core, move |cx| read::answer(cx, uri).boxed());
    job.rounds = rounds;
    Ok(Routed::Later(job))
}

// Fulfils 002 Req-Res-004
//= specs/mcp-server.md#changes
//# A session MUST hear of a resource from the answer to its subscription until the answer to its unsubscription.
pub(super) fn subscribe(incoming: &Incoming<'_>, fields: &Fields<'_>) -> Result<Routed, RpcError> {
    let uri = asked_address(incoming.core, fields)?;
    let run = |cx: Context| {
        async move {
            let call = &cx.0;
            call.core.check(&cx, Access::SubscribeResource(&uri))?;
            known_address(&call.core, &uri)?;
            if !call.session.lock_subscriptions().contains_key(&uri) {
                check_room(call, 1, uri.len())?;
            }
            let topic = subscribe_in_source(&cx, &uri).await?;
            let before = call
                .session
                .lock_subscriptions()
                .insert(uri.clone(), topic.clone());
            if let Some(before) = before.filter(|before| *before != topic) {
                call.core.broker.unsubscribe(&call.session, &uri, &before);
            }
            call.core.broker.subscribe(&call.session, &uri, &topic);
            keep_session(call, SessionEdit::Subscribe(Subscription { uri, topic })).await
        }
        .boxed()
    };
    Ok(Routed::Later(Job::new(incoming.core, run)))
}

// Fulfils 002 Req-Res-005
pub(super) fn unsubscribe(incoming: &Incoming<'_>, fields: &Fields<'_>) -> Result<Routed, RpcError> {
    let uri = asked_address(incoming.core, fields)?;
    let run = |cx: Context| {
        async move {
            if let Some(topic) = cx.0.session.lock_subscriptions().remove(&uri) {
                cx.0.core.broker.unsubscribe(&cx.0.session, &uri, &topic);
            }
            keep_session(&cx.0, SessionEdit::Unsubscribe(uri)).await
        }
        .boxed()
    };
    Ok(Routed::Later(Job::new(incoming.core, run)))
}

/// Holds the request open; it ends when the client closes it or the server stops.
pub(super) fn listen(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    fields: &Fields<'_>,
) -> Result<Routed, RpcError> {
    let mut filter: Filter = fields
        .decode("notifications")?
        .ok_or_else(|| fields::missing("notifications"))?;
    let watched = std::mem::take(&mut filter.resource_subscriptions);
    filter.resource_subscriptions = watched
        .iter()
        .map(|u| uri::canonical(u))
        .collect::<Result<_, _>>()?;
    let notice = AnsweredNotice::of(incoming.core, request);
    let run = |cx: Context| {
        async move {
            let bytes = filter.resource_subscriptions.iter().map(String::len).sum();
            check_room(&cx.0, filter.resource_subscriptions.len(), bytes)?;
            let _open = cx.0.session.quota.open_stream(&cx.0.core.settings.limits)?;
            let mut topics = Topics::new();
            for uri in &filter.resource_subscriptions {
                cx.0.core.check(&cx, Access::SubscribeResource(uri))?;
                let topic = subscribe_in_source(&cx, uri).await?;
                topics.entry(topic).or_default().push(uri.clone());
            }
            let tenant = cx.0.core.guard.as_ref().and_then(|guard| guard.tenant(&cx));
            let listening = Listening(cx.0.clone());
            cx.0.core.broker.listen(cx.0.clone(), filter, topics, tenant);
            if let Some(notice) = notice {
                notice.done(&cx.0, None);
            }
            std::future::pending::<()>().await;
            drop(listening);
            Ok(Outcome::empty())
        }
        .boxed()
    };
    Ok(Routed::Later(Job {
        timeout: None,
        ..Job::new(incoming.core, run)
    }))
}

/// Takes the listener out of the hub however its request ends.
struct Listening(Arc<Call>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.core.broker.unlisten(&*self.0);
    }
}

/// Refuses more subscriptions than a session may have, in number or in bytes.
//= specs/mcp-server.md#limits
//# Subscriptions and listened-to addresses of a session MUST be limited in number and in bytes; beyond either they MUST be refused with 1059.
fn check_room(call: &Call, more: usize, bytes: usize) -> Result<(), Refusal> {
    let limits = &call.core.settings.limits;
    let (max, max_bytes) = (
        limits.max_subscriptions_per_session,
        limits.max_subscription_bytes_per_session,
    );
    let (count, held) = call.core.broker.subscriptions_of(&call.session);
    let message = if count + more > max {
        format!("a session may watch {max} resources")
    } else if held + bytes > max_bytes {
        format!("the addresses a session watches may have {max_bytes} bytes together")
    } else {
        return Ok(());
    };
    Err(Refusal::new(Code::QuotaExceeded, message).hint("Unsubscribe from what you need no longer."))
}

/// Lets the source refuse, and begin to look before the subscription is answered; gives the topic of its news.
async fn subscribe_in_source(cx: &Context, uri: &str) -> Result<String, Stop> {
    let topic = match &cx.0.core.resource_source {
        Some(source) => source.subscribe(cx, uri).await?,
        None => None,
    };
    Ok(topic.unwrap_or_else(|| uri.to_owned()))
}

/// What a client asked of its session is kept before it is told so.
pub(super) async fn keep_session(call: &Call, edit: SessionEdit) -> Result<Outcome, Stop> {
    if !call.session.is_line() {
        call.core.sessions.edit(&call.core, &call.session, edit).await?;
    }
    Ok(Outcome::empty())
}

fn from_source(
    incoming: &Incoming<'_>,
    source: Option<Arc<dyn ResourceSource>>,
    from: String,
    under: Option<String>,
) -> Routed {
    match source {
        Some(source) => Routed::Later(Job::reading(incoming.core, move |cx| {
            list_source(cx, source, from, under, Bytes::new()).boxed()
        })),
        None => Routed::Now(Outcome::text(list_text::<Registered>(b"", None))),
    }
}

/// A part of the tree: registered resources that lie in it, else those of the source.
fn list_under(
    incoming: &Incoming<'_>,
    resources: &Snapshot<Registered>,
    source: Option<Arc<dyn ResourceSource>>,
    under: String,
) -> Routed {
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
        return from_source(incoming, source, String::new(), Some(under));
    }
    Routed::Now(Outcome::value(json!({ "resources": found })).cacheable())
}

/// A page of the source, behind entries that were written already.
async fn list_source(
    cx: Context,
    source: Arc<dyn ResourceSource>,
    from: String,
    under: Option<String>,
    before: Bytes,
) -> Result<Outcome, Stop> {
    let Listing { entries, next } = source.list(&cx, &from, under.as_deref()).await?;
    let entries: Vec<Value> = entries.iter().map(|resource| resource.entry()).collect();
    let next = next.map(|next| Cursor::InSource(next).sign(&cx.0.core.signer, LIST));
    let all = with_entries(&before, &entries);
    Ok(Outcome::text(list_text::<Registered>(&all, next.as_deref())))
}

/// The canonical address a request asks for, given as `uri` or as `path`.
fn asked_address(core: &Core, fields: &Fields<'_>) -> Result<String, Refusal> {
    if let Some(uri) = fields.text("uri")? {
        // Where paths mean something, one is understood wherever an address is.
        let uri = if uri.starts_with('/') {
            address_of_path(core, &uri)
        } else {
            uri.into_owned()
        };
        return uri::canonical(&uri).map_err(|refusal| refusal.inside("uri."));
    }
    let path = fields.text("path")?.ok_or_else(|| fields::missing("uri"))?;
    uri::canonical(&address_of_path(core, &path)).map_err(|refusal| refusal.inside("path."))
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
