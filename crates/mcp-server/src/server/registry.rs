//! What a server has: tools, resources, templates, prompts and methods of its own.
//!
//! Each family is an immutable snapshot behind one pointer. Readers take the pointer and never wait; a change builds a
//! new snapshot and swaps it in. Lists are written when a snapshot is made, not when they are asked for; what a part of
//! the users may see is a snapshot of its own, made when the first of them asks.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use bytes::Bytes;
use refusal::{Code, Refusal};
use serde_json::Value;

use crate::index_key::{IndexKey, touched};
use crate::server::guard::Entry;
use crate::server::method::CustomMethod;
use crate::server::prompt::{self, Prompt};
use crate::server::resource::{self, Resource, ResourceTemplate};
use crate::server::tool::{self, Tool};

// Fulfils 002 Req-Perf-001
/// One family: entries by key, and the bytes of their list.
#[derive(Debug)]
pub(crate) struct Snapshot<T> {
    entries: BTreeMap<Arc<str>, Arc<T>>,
    /// The same by hash: a tree of 100,000 names is deep enough to be felt.
    by_key: HashMap<IndexKey<Arc<str>>, Arc<T>>,
    first_page: Bytes,
    first_page_ends: Option<Arc<str>>,
    /// The whole answer, when everything fits on one page.
    whole: Bytes,
    /// What each audience sees of it.
    views: ArcSwap<HashMap<String, Arc<Snapshot<T>>>>,
    page_entries: usize,
}

/// How many audiences a family keeps the list of. One more makes it start anew.
const MAX_VIEWS: usize = 256;

/// One page of what a source lists.
#[derive(Clone, Debug)]
pub struct Listing<T> {
    /// The entries of this page.
    pub entries: Vec<T>,
    /// Where the next page starts, in the source's own words; `None` at the end.
    pub next: Option<String>,
}

/// Something that is listed.
pub(crate) trait Listed {
    /// The name of the list's member: `tools`, `resources`.
    const MEMBER: &'static str;
    /// Its entry in the list, written.
    fn entry(&self) -> &Bytes;
    /// What a guard calls the entry with this key.
    fn named(key: &str) -> Entry<'_>;
}

impl<T: Listed> Snapshot<T> {
    fn new(entries: BTreeMap<Arc<str>, Arc<T>>, page_entries: usize) -> Self {
        let by_key = entries
            .iter()
            .map(|(key, entry)| (IndexKey(key.clone()), entry.clone()));
        let mut family = Self {
            by_key: by_key.collect(),
            entries,
            first_page: Bytes::new(),
            first_page_ends: None,
            whole: Bytes::new(),
            views: ArcSwap::default(),
            page_entries,
        };
        let (body, ends) = family.write_page(None);
        family.whole = list_text::<T>(&body, None);
        family.first_page = body;
        family.first_page_ends = ends;
        family
    }

    /// The whole list, written when the family was made; `None` when it has several pages.
    //= specs/mcp-server.md#registry
    //# A list MUST be written once and served from memory until it changes.
    pub(crate) fn whole(&self) -> Option<Bytes> {
        self.first_page_ends.is_none().then(|| self.whole.clone())
    }

    //= specs/mcp-server.md#registry
    //# A lookup by name MUST take at most logarithmic time and MUST NOT wait for a writer.
    pub(crate) fn get(&self, key: &str) -> Option<&Arc<T>> {
        self.by_key.get(key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Arc<T>> {
        self.entries.values().inspect(|_| touched(1))
    }

    /// The part of the family an audience sees, made at its first request.
    //= specs/mcp-server.md#registry
    //# A list MUST hold the entries the client's audience sees, and no others.
    pub(crate) fn seen_by(&self, audience: &str, shows: impl Fn(Entry<'_>) -> bool) -> Arc<Self> {
        let known = self.views.load_full();
        if let Some(view) = known.get(audience) {
            return view.clone();
        }
        let seen = self.entries.iter().filter(|(key, _)| shows(T::named(key)));
        let entries = seen.map(|(key, value)| (key.clone(), value.clone())).collect();
        let view = Arc::new(Self::new(entries, self.page_entries));
        let mut views = match known.len() < MAX_VIEWS {
            true => (*known).clone(),
            false => HashMap::new(),
        };
        views.insert(audience.to_owned(), view.clone());
        // What was forgotten meanwhile stays forgotten, and this view with it: it may show what was true before.
        self.views.compare_and_swap(&known, Arc::new(views));
        view
    }

    /// The entries after a key, joined by commas, and the key to go on from when there are more.
    pub(crate) fn page(&self, after: Option<&str>) -> (Bytes, Option<Arc<str>>) {
        match after {
            None => (self.first_page.clone(), self.first_page_ends.clone()),
            Some(_) => self.write_page(after),
        }
    }

    fn write_page(&self, after: Option<&str>) -> (Bytes, Option<Arc<str>>) {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = self.entries.range::<str, _>((from, Bound::Unbounded));
        let mut out = Vec::new();
        let mut last = None;
        for (key, value) in rest.by_ref().take(self.page_entries) {
            if !out.is_empty() {
                out.push(b',');
            }
            out.extend_from_slice(value.entry());
            last = Some(key.clone());
        }
        (out.into(), last.filter(|_| rest.next().is_some()))
    }
}

/// All families.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) tools: Collection<tool::Registered>,
    pub(crate) resources: Collection<resource::Registered>,
    pub(crate) templates: Collection<resource::RegisteredTemplate>,
    pub(crate) prompts: Collection<prompt::Registered>,
    pub(crate) methods: ArcSwap<BTreeMap<String, Arc<CustomMethod>>>,
}

impl Registry {
    pub(crate) fn new(page_entries: usize) -> Self {
        Self {
            // Many clients read one page of tools and no more, so there is only one.
            tools: Collection::new(usize::MAX),
            resources: Collection::new(page_entries),
            templates: Collection::new(page_entries),
            prompts: Collection::new(page_entries),
            methods: ArcSwap::default(),
        }
    }

    /// Grows with every change of any family. Read before what is looked at, so that what is kept under a number is
    /// never older than it.
    pub(crate) fn generation(&self) -> u64 {
        let changes = [
            &self.tools.changes,
            &self.resources.changes,
            &self.templates.changes,
            &self.prompts.changes,
        ];
        changes.iter().map(|count| count.load(Ordering::Acquire)).sum()
    }

    pub(crate) fn exchange_tools(&self, gone: &[String], tools: Vec<Tool>) -> Result<(), Refusal> {
        let registered: Result<Vec<_>, _> = tools
            .into_iter()
            .map(|tool| tool::Registered::new(tool).map(|r| (r.tool.name.as_str().into(), Arc::new(r))))
            .collect();
        self.tools.exchange(gone, &registered?, |name| {
            duplicate(Code::ToolDuplicate, "tool", name)
        })
    }

    pub(crate) fn exchange_resources(
        &self,
        gone: &[String],
        resources: Vec<Resource>,
    ) -> Result<(), Refusal> {
        let registered: Result<Vec<_>, _> = resources
            .into_iter()
            .map(|r| resource::Registered::new(r).map(|r| (r.resource.uri.as_str().into(), Arc::new(r))))
            .collect();
        self.resources.exchange(gone, &registered?, |uri| {
            duplicate(Code::ResourceDuplicate, "resource", uri)
        })
    }

    pub(crate) fn exchange_templates(
        &self,
        gone: &[String],
        templates: Vec<ResourceTemplate>,
    ) -> Result<(), Refusal> {
        let key = |r: &resource::RegisteredTemplate| r.template.uri_template.as_str().into();
        let registered: Result<Vec<_>, _> = templates
            .into_iter()
            .map(|t| resource::RegisteredTemplate::new(t).map(|r| (key(&r), Arc::new(r))))
            .collect();
        self.templates.exchange(gone, &registered?, |uri| {
            duplicate(Code::ResourceDuplicate, "template", uri)
        })
    }

    pub(crate) fn exchange_prompts(&self, gone: &[String], prompts: Vec<Prompt>) -> Result<(), Refusal> {
        let registered: Result<Vec<_>, _> = prompts
            .into_iter()
            .map(|p| prompt::Registered::new(p).map(|r| (r.prompt.name.as_str().into(), Arc::new(r))))
            .collect();
        self.prompts.exchange(gone, &registered?, |name| {
            duplicate(Code::PromptDuplicate, "prompt", name)
        })
    }
}

/// A family that changes.
#[derive(Debug)]
pub(crate) struct Collection<T> {
    family: ArcSwap<Snapshot<T>>,
    page_entries: usize,
    /// How often an entry came or went.
    changes: AtomicU64,
}

impl<T: Listed> Collection<T> {
    fn new(page_entries: usize) -> Self {
        Self {
            family: ArcSwap::from_pointee(Snapshot::new(BTreeMap::new(), page_entries)),
            page_entries,
            changes: AtomicU64::new(0),
        }
    }

    pub(crate) fn load(&self) -> Arc<Snapshot<T>> {
        self.family.load_full()
    }

    /// Forgets what each audience sees.
    pub(crate) fn forget_views(&self) {
        self.family.load().views.store(Arc::default());
    }

    /// Takes some entries out and puts others in, in one step: all of it or nothing.
    fn exchange(
        &self,
        gone: &[String],
        fresh: &[(Arc<str>, Arc<T>)],
        duplicate: impl Fn(&str) -> Refusal,
    ) -> Result<(), Refusal> {
        let mut refused = None;
        self.family.rcu(|current| {
            let mut entries = current.entries.clone();
            refused = None;
            for key in gone {
                entries.remove(key.as_str());
            }
            for (key, value) in fresh {
                if entries.insert(key.clone(), value.clone()).is_some() {
                    refused = Some(duplicate(key));
                    return current.clone();
                }
            }
            Arc::new(Snapshot::new(entries, self.page_entries))
        });
        self.changes.fetch_add(1, Ordering::Release);
        refused.map_or(Ok(()), Err)
    }

    /// Puts an entry in the place of another.
    pub(crate) fn replace(&self, key: &str, value: T) {
        let value = Arc::new(value);
        self.family.rcu(|current| {
            let mut entries = current.entries.clone();
            entries.insert(key.into(), value.clone());
            Snapshot::new(entries, self.page_entries)
        });
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Takes an entry out; false when it was not there.
    pub(crate) fn remove(&self, key: &str) -> bool {
        let before = self.family.rcu(|current| {
            let mut entries = current.entries.clone();
            entries.remove(key);
            Snapshot::new(entries, self.page_entries)
        });
        self.changes.fetch_add(1, Ordering::Release);
        before.entries.contains_key(key)
    }
}

impl Listed for tool::Registered {
    const MEMBER: &'static str = "tools";
    fn entry(&self) -> &Bytes {
        &self.entry
    }
    fn named(key: &str) -> Entry<'_> {
        Entry::Tool(key)
    }
}

impl Listed for resource::Registered {
    const MEMBER: &'static str = "resources";
    fn entry(&self) -> &Bytes {
        &self.entry
    }
    fn named(key: &str) -> Entry<'_> {
        Entry::Resource(key)
    }
}

impl Listed for resource::RegisteredTemplate {
    const MEMBER: &'static str = "resourceTemplates";
    fn entry(&self) -> &Bytes {
        &self.entry
    }
    fn named(key: &str) -> Entry<'_> {
        Entry::Template(key)
    }
}

impl Listed for prompt::Registered {
    const MEMBER: &'static str = "prompts";
    fn entry(&self) -> &Bytes {
        &self.entry
    }
    fn named(key: &str) -> Entry<'_> {
        Entry::Prompt(key)
    }
}

/// The text of a list's answer.
pub(crate) fn list_text<T: Listed>(entries: &[u8], next: Option<&str>) -> Bytes {
    let mut out = Vec::with_capacity(entries.len() + 64);
    out.extend_from_slice(b"{\"");
    out.extend_from_slice(T::MEMBER.as_bytes());
    out.extend_from_slice(b"\":[");
    out.extend_from_slice(entries);
    out.push(b']');
    if let Some(next) = next {
        // A signed cursor is base64url: nothing in it needs escaping.
        out.extend_from_slice(format!(",\"nextCursor\":\"{next}\"").as_bytes());
    }
    out.push(b'}');
    out.into()
}

/// Entries of a list, and more behind them.
pub(crate) fn with_entries(before: &[u8], more: &[Value]) -> Vec<u8> {
    let mut out = before.to_vec();
    for entry in more {
        if !out.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(entry.to_string().as_bytes());
    }
    out
}

fn duplicate(code: Code, what: &str, name: &str) -> Refusal {
    Refusal::new(code, format!("there is a {what} {name:?} already"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index_key::counting;
    use crate::server::Server;
    use crate::settings::Info;
    use crate::transport::lines;
    use mcp_protocol::ToolResult;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    const CALLS: usize = 1_000;

    /// Entries touched by `CALLS` calls that come in as text and are answered as text, spread over all tools.
    async fn touched_by_calls(tools: usize) -> usize {
        let server = Server::builder(Info::new("test", "1.0.0")).build();
        let name = |n: usize| format!("tool_{n:06}");
        let ready = |n| Tool::ready(name(n), "One of many.", |_| Ok(ToolResult::text("found")));
        server.add_tools((0..tools).map(ready).collect()).unwrap();
        let mut input = String::from(
            r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}"#,
        );
        for call in 0..CALLS {
            let name = name(call * 7_919 % tools);
            input.push_str(&format!(
                "\n{{\"jsonrpc\":\"2.0\",\"id\":{call},\"method\":\"tools/call\",\"params\":{{\"name\":\"{name}\",\"arguments\":{{}}}}}}"
            ));
        }
        input.push('\n');
        counting::take();
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(theirs);
        let served = lines::serve(&server, reader, writer, http::Extensions::new());
        let (mut answers, mut requests) = tokio::io::split(ours);
        let mut said = String::new();
        let talk = async {
            let write = async {
                requests.write_all(input.as_bytes()).await.unwrap();
                requests.shutdown().await.unwrap();
            };
            let (_, read) = tokio::join!(write, answers.read_to_string(&mut said));
            read.unwrap();
        };
        tokio::join!(served, talk);
        assert_eq!(said.matches("found").count(), CALLS);
        counting::take()
    }

    // proves 002 Req-Perf-001
    //= specs/mcp-server.md#registry
    //= type=test
    //# A lookup by name MUST take at most logarithmic time and MUST NOT wait for a writer.
    #[tokio::test]
    async fn a_call_touches_as_many_entries_among_100_000_tools_as_among_10() {
        // Names that share a tag of the hash cost a comparison more; how they are hashed is another matter for each
        // server, and one of twenty in which no two of ten do says what a call takes.
        let mut least = usize::MAX;
        for _ in 0..20 {
            least = least.min(touched_by_calls(10).await);
        }
        assert_eq!(least, CALLS, "one for each call among 10 tools");
        let touched = touched_by_calls(100_000).await;
        assert!(
            (CALLS..CALLS + CALLS / 4).contains(&touched),
            "{CALLS} calls among 100,000 tools touched {touched} entries"
        );
    }
}
