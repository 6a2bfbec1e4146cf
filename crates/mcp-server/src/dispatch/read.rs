//! What stands at an address: found, cut to a part, or sent in pieces.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use refusal::{Code, Refusal};
use serde_json::{Map, json};

use super::resources::not_found;
use crate::server::context::Context;
use crate::server::guard::Access;
use crate::server::resource::{ReadRequest, Registered};
use crate::server::tool::Stop;
use mcp_protocol::{Outcome, ResourceContents};

pub(super) async fn answer(cx: Context, uri: String) -> Result<Outcome, Stop> {
    //= specs/mcp-server.md#resources
    //# A resource the client may not read MUST be refused with 1014 before it is looked up.
    cx.0.core.check(&cx, Access::ReadResource(&uri))?;
    let contents = match look_up(&cx, &uri).await? {
        Some(contents) => contents,
        None => page_of(&cx, &uri).await?.ok_or_else(|| not_found(&uri))?,
    };
    let size: usize = contents.iter().map(ResourceContents::wire_bytes).sum();
    let limits = &cx.0.core.settings.limits;
    if size > limits.stream_above_bytes && cx.wants_progress() {
        return stream(&cx, &contents, size).await;
    }
    if size > limits.max_answer_bytes {
        let refusal = Refusal::new(
            Code::MessageTooLarge,
            format!("{uri:?} has {size} bytes, more than one answer may have"),
        );
        return Err(refusal
            .hint("Send `_meta.progressToken` to get it in pieces, or read a part with `?offset=&limit=`.")
            .into());
    }
    Ok(Outcome::value(json!({ "contents": *contents })).cacheable())
}

/// Looks in the registry, then among the patterns, then in the source.
async fn look_up(cx: &Context, uri: &str) -> Result<Option<Arc<Vec<ResourceContents>>>, Stop> {
    let core = &cx.0.core;
    let request = |variables| ReadRequest {
        uri: uri.to_owned(),
        variables,
    };
    let registered = core.registry.resources.load().get(uri).cloned();
    if let Some(registered) = registered {
        return read_registered(cx, &registered, request(Default::default()))
            .await
            .map(Some);
    }
    let fitting = core
        .registry
        .templates
        .load()
        .values()
        .find_map(|t| Some((t.clone(), t.fit(uri)?)));
    if let Some((template, variables)) = fitting {
        return Ok(Some(Arc::new(
            template.read(cx.clone(), request(variables)).await?,
        )));
    }
    match &core.resource_source {
        Some(source) => Ok(source.read(cx, uri).await?.map(Arc::new)),
        None => Ok(None),
    }
}

async fn read_registered(
    cx: &Context,
    registered: &Registered,
    request: ReadRequest,
) -> Result<Arc<Vec<ResourceContents>>, Stop> {
    let cache = &cx.0.core.cache;
    let uri = request.uri.clone();
    if let Some(kept) = cache.get(&uri).filter(|_| registered.resource.cached) {
        return Ok(kept);
    }
    let generation = cache.generation();
    let contents = Arc::new(registered.read(cx.clone(), request).await?);
    if registered.resource.cached {
        cache.keep(&uri, contents.clone(), generation);
    }
    Ok(contents)
}

/// A part of a text, asked for by `?offset=&limit=` behind its address.
async fn page_of(cx: &Context, uri: &str) -> Result<Option<Arc<Vec<ResourceContents>>>, Stop> {
    let Some((base, query)) = uri.split_once('?') else {
        return Ok(None);
    };
    let number = |name: &str| {
        query
            .split('&')
            .find_map(|p| p.strip_prefix(name)?.strip_prefix('=')?.parse::<usize>().ok())
    };
    let (offset, limit) = (number("offset"), number("limit"));
    if offset.is_none() && limit.is_none() {
        return Ok(None);
    }
    let Some(whole) = look_up(cx, base).await? else {
        return Ok(None);
    };
    let (from, count) = (
        offset.unwrap_or(0),
        limit.unwrap_or(cx.0.core.settings.limits.stream_chunk_bytes),
    );
    let part = |contents: &ResourceContents| {
        let mut part = contents.clone();
        part.uri = uri.to_owned();
        part.text = contents
            .text
            .as_deref()
            .map(|text| slice(text, from, count).to_owned());
        part.blob = contents.blob.as_deref().map(|blob| {
            let bytes = STANDARD.decode(blob).unwrap_or_default();
            STANDARD.encode(
                bytes
                    .get(from..bytes.len().min(from.saturating_add(count)))
                    .unwrap_or_default(),
            )
        });
        part
    };
    Ok(Some(Arc::new(whole.iter().map(part).collect())))
}

// Fulfils 002 Req-Res-010
/// Sends what was read piece by piece as progress, and answers with what holds it together.
//= specs/mcp-server.md#resources
//# A resource above the streaming limit MUST be sent in pieces under the client's progress token, and its answer MUST carry its size and hash.
async fn stream(cx: &Context, contents: &[ResourceContents], total: usize) -> Result<Outcome, Stop> {
    let settings = &cx.0.core.settings;
    let (mut sent, mut index, mut heads) = (0, 0usize, Vec::new());
    for one in contents {
        let (bytes, kind) = match (&one.text, &one.blob) {
            (Some(text), _) => (text.as_bytes().to_vec(), "text"),
            (None, Some(blob)) => (STANDARD.decode(blob).unwrap_or_default(), "blob"),
            (None, None) => (Vec::new(), "text"),
        };
        let (mut offset, first) = (0, index);
        while offset < bytes.len() {
            let end = piece_end(&bytes, offset, settings.limits.stream_chunk_bytes, kind == "text");
            let piece = match kind {
                "text" => String::from_utf8_lossy(&bytes[offset..end]).into_owned(),
                _ => STANDARD.encode(&bytes[offset..end]),
            };
            sent += piece.len();
            let chunk = json!({ "index": index, "offset": offset, "uri": one.uri, kind: piece });
            let meta = json!({ settings.chunk_key.clone(): chunk });
            cx.progress_with(sent as f64, Some(total.max(sent) as f64), None, Some(meta))
                .await;
            (offset, index) = (end, index + 1);
        }
        let hash = blake3::hash(&bytes).to_hex().to_string();
        let mut meta = Map::new();
        meta.insert("size".to_owned(), json!(bytes.len()));
        meta.insert("blake3".to_owned(), json!(hash));
        meta.insert("chunks".to_owned(), json!(index - first));
        heads.push(ResourceContents {
            uri: one.uri.clone(),
            mime_type: one.mime_type.clone(),
            text: (kind == "text").then(String::new),
            blob: (kind == "blob").then(String::new),
            meta,
        });
    }
    Ok(Outcome::value(json!({ "contents": heads })))
}

/// Where a piece ends: at the limit, or before it when a character would be cut.
fn piece_end(bytes: &[u8], offset: usize, size: usize, text: bool) -> usize {
    let mut end = bytes.len().min(offset + size.max(4));
    while text && end < bytes.len() && (bytes[end] & 0b1100_0000) == 0b1000_0000 {
        end -= 1;
    }
    end
}

/// A part of a text by bytes, widened to whole characters at its start and narrowed at its end.
fn slice(text: &str, from: usize, count: usize) -> &str {
    let start = text.floor_char_boundary(from.min(text.len()));
    let end = text
        .floor_char_boundary(from.saturating_add(count).min(text.len()))
        .max(start);
    &text[start..end]
}
