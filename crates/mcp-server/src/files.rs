//! Files inside the roots as resources: listed, read whole or in part, and watched.
//!
//! What is asked for is resolved, opened, and then looked at once more: the file that was *opened* must lie in the
//! roots, so that exchanging a folder for a link in between leads nowhere. What nobody means to hand to an agent, such as
//! hidden files and keys, is neither listed nor read.

mod file_watcher;
mod kinds;
mod listing;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use refusal::{Code, Refusal};

use crate::root_dirs::RootDirs;
use crate::roots::RootSet;
use crate::server::Server;
use crate::server::completion::Completer;
use crate::server::context::Context;
use crate::server::registry::Listing;
use crate::server::resource::{ReadRequest, Resource, ResourceSource, ResourceTemplate};
use crate::server::tool::Stop;
use file_watcher::FileWatcher;
use mcp_protocol::ResourceContents;

/// The pattern of addresses of files.
const TEMPLATE: &str = "file:///{+path}";

/// Where the limits of files are.
#[derive(Clone, Copy, Debug)]
pub struct FileLimits {
    /// The most that is read of a file at once.
    pub max_read_bytes: u64,
    /// Files on one page of the list.
    pub page_entries: usize,
    /// Files and folders looked at for one page or one suggestion.
    pub max_walked_entries: usize,
    /// Files watched for all clients together.
    pub max_watched_files: usize,
}

impl Default for FileLimits {
    fn default() -> Self {
        Self {
            max_read_bytes: 16 << 20,
            page_entries: 100,
            max_walked_entries: 50_000,
            max_watched_files: 1_000,
        }
    }
}

/// The files inside a set of roots.
#[derive(Clone, Debug)]
pub struct Files(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    roots: Arc<RootSet>,
    limits: FileLimits,
    watcher: FileWatcher,
}

impl Files {
    /// The files inside these roots.
    pub fn new(roots: Arc<RootSet>, limits: FileLimits) -> Self {
        Self(Arc::new(Inner {
            roots,
            limits,
            watcher: FileWatcher::new(limits.max_watched_files),
        }))
    }

    /// The pattern to be added to the server, with suggestions for paths.
    pub fn template(&self) -> ResourceTemplate {
        let (reading, completing) = (self.clone(), self.clone());
        let read = move |cx: Context, request: ReadRequest| {
            let files = reading.clone();
            async move { files.read_at(&cx, &request.uri).await }
        };
        let about = "A file inside the roots, whole or from `?offset=` on for `limit=` bytes.";
        let mut template = ResourceTemplate::new(TEMPLATE, "File", about, read);
        template.completer = Some(Completer::new(move |cx, typing| {
            let files = completing.clone();
            async move {
                let client = cx.client_roots_of_session().await?;
                files
                    .run_blocking(move |files| listing::suggest(files, client.as_deref(), &typing.value))
                    .await
            }
        }));
        template
    }

    /// What stands at a `file:` address.
    pub async fn read_at(&self, cx: &Context, uri: &str) -> Result<Vec<ResourceContents>, Stop> {
        let client = cx.client_roots().await?;
        let uri = uri.to_owned();
        self.run_blocking(move |files| files.contents(client.as_deref(), &uri))
            .await
    }

    /// Does work with files on a thread that may block.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Stop> {
        let files = self.0.clone();
        let done = tokio::task::spawn_blocking(move || work(&files)).await;
        let done = done.map_err(|_| Refusal::new(Code::InternalError, "the files could not be looked at"))?;
        Ok(done?)
    }
}

impl ResourceSource for Files {
    fn list<'a>(
        &'a self,
        cx: &'a Context,
        from: &'a str,
        under: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing<Resource>, Refusal>> {
        async move {
            let client = match cx.client_roots_of_session().await {
                Ok(client) => client,
                // The rest of the list is not to be lost for a client that does not answer.
                Err(_) => {
                    return Ok(Listing {
                        entries: Vec::new(),
                        next: None,
                    });
                }
            };
            let (from, under) = (from.to_owned(), under.map(str::to_owned));
            let page = self
                .run_blocking(move |files| listing::page(files, client.as_deref(), &from, under.as_deref()));
            match page.await {
                Ok(page) => Ok(page),
                Err(Stop::Refused(refusal)) => Err(refusal),
                Err(_) => Err(Refusal::new(Code::InternalError, "the files could not be listed")),
            }
        }
        .boxed()
    }

    fn read<'a>(
        &'a self,
        cx: &'a Context,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContents>>, Stop>> {
        async move {
            match uri.starts_with("file:") {
                true => self.read_at(cx, uri).await.map(Some),
                false => Ok(None),
            }
        }
        .boxed()
    }

    fn subscribe<'a>(&'a self, cx: &'a Context, uri: &'a str) -> BoxFuture<'a, Result<Option<String>, Stop>> {
        async move {
            if !uri.starts_with("file:") {
                return Ok(None);
            }
            let client = cx.client_roots_of_session().await?;
            let (server, wanted) = (Arc::downgrade(&cx.0.core), uri.to_owned());
            self.run_blocking(move |files| {
                let path = files.locate(client.as_deref(), &wanted)?;
                files.watcher.add(&server, &wanted, &path)
            })
            .await?;
            Ok(None)
        }
        .boxed()
    }

    //= specs/mcp-server.md#roots
    //# A file that a session watches MUST be watched again where the session goes on.
    fn resubscribe(&self, server: &Server, uri: &str) {
        if uri.starts_with("file:") {
            let (files, core, uri) = (self.0.clone(), Arc::downgrade(&server.0), uri.to_owned());
            tokio::task::spawn_blocking(move || {
                // A file that is gone or closed meanwhile has nothing to be told of.
                let found = files.locate(None, &uri);
                found.and_then(|path| files.watcher.add(&core, &uri, &path)).ok()
            });
        }
    }
}

impl Inner {
    // Fulfils 002 Req-Root-005
    /// The real path of a file that may be handed out.
    fn locate(&self, client: Option<&RootDirs>, uri: &str) -> Result<PathBuf, Refusal> {
        let roots = self.roots.folders();
        let path = roots.resolve(uri)?;
        //= specs/mcp-server.md#roots
        //# A file MUST be refused with 1039 that lies outside the server's roots or, when the client declares roots, outside the client's.
        if client.is_some_and(|client| !client.holds(&path)) {
            let problem = format!("{uri:?} is outside the roots the client declared");
            return Err(Refusal::new(Code::UriOutOfBounds, problem));
        }
        self.check_served(uri, &path)?;
        Ok(path)
    }

    //= specs/mcp-server.md#roots
    //# Hidden files and files named like keys or credentials MUST be neither listed nor read.
    fn check_served(&self, uri: &str, path: &Path) -> Result<(), Refusal> {
        let roots = self.roots.folders();
        let root = roots.root_of(path).unwrap_or(Path::new("/"));
        if kinds::is_served(path.strip_prefix(root).unwrap_or(path)) {
            return Ok(());
        }
        let problem = format!("{uri:?} is not served: it is hidden, or named like a key");
        Err(Refusal::new(Code::AuthzForbidden, problem)
            .hint("Ask the operator for a copy under another name."))
    }

    /// Opens a file and makes sure that what was opened is what was allowed.
    fn open(&self, client: Option<&RootDirs>, uri: &str) -> Result<(File, PathBuf, u64), Refusal> {
        let path = self.locate(client, uri)?;
        self.open_located(client, uri, path)
    }

    /// The same for a path that was allowed a moment ago; somebody may have put a link in its place since.
    fn open_located(
        &self,
        client: Option<&RootDirs>,
        uri: &str,
        path: PathBuf,
    ) -> Result<(File, PathBuf, u64), Refusal> {
        let no_file = || {
            Refusal::new(Code::ResourceNotFound, format!("there is no file {uri:?}"))
                .fact("uri", uri)
                .hint("A folder has no contents; list the resources below it with `path`.")
        };
        if !path.is_file() {
            return Err(no_file());
        }
        let file = File::open(&path).map_err(|_| no_file())?;
        let metadata = file.metadata().map_err(|_| no_file())?;
        let opened = opened_path(&file, &path);
        let inside = |opened: &PathBuf| {
            let roots = self.roots.folders();
            roots.holds(opened) && client.is_none_or(|client| client.holds(opened))
        };
        if !opened.as_ref().is_some_and(inside) || !metadata.is_file() {
            let problem = format!("{uri:?} leads out of the allowed roots");
            return Err(Refusal::new(Code::SymlinkTraversalDetected, problem));
        }
        self.check_served(uri, opened.as_deref().unwrap_or(&path))?;
        Ok((file, path, metadata.len()))
    }

    fn contents(&self, client: Option<&RootDirs>, uri: &str) -> Result<Vec<ResourceContents>, Refusal> {
        let part = Part::asked(uri)?;
        let (mut file, path, size) = self.open(client, uri)?;
        let max = self.limits.max_read_bytes;
        if part.is_none() && size > max {
            let problem = format!("{uri:?} has {size} bytes, more than the {max} that are read at once");
            return Err(
                Refusal::new(Code::MessageTooLarge, problem).hint("Read a part with `?offset=&limit=`.")
            );
        }
        let Part { offset, limit } = part.unwrap_or(Part {
            offset: 0,
            limit: max,
        });
        let unread = |_| Refusal::new(Code::ResourceNotFound, format!("{uri:?} could not be read"));
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(offset)).map_err(unread)?;
        file.take(limit.min(max))
            .read_to_end(&mut bytes)
            .map_err(unread)?;
        let mime = kinds::mime_type(&path);
        let mut contents = match kinds::text_of(bytes, offset > 0 || offset + limit < size) {
            Ok(text) => ResourceContents::text(uri, mime.unwrap_or("text/plain"), text),
            Err(bytes) => ResourceContents::blob(uri, mime.unwrap_or("application/octet-stream"), &bytes),
        };
        contents.meta.insert("size".to_owned(), size.into());
        Ok(vec![contents])
    }
}

/// A part of a file, in bytes.
struct Part {
    offset: u64,
    limit: u64,
}

impl Part {
    fn asked(uri: &str) -> Result<Option<Self>, Refusal> {
        let Some((_, query)) = uri.split_once('?') else {
            return Ok(None);
        };
        let (mut offset, mut limit) = (0, u64::MAX);
        for pair in query.split('#').next().unwrap_or_default().split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let number = value.parse::<u64>().ok();
            match (name, number) {
                ("offset", Some(number)) => offset = number,
                ("limit", Some(number)) => limit = number,
                _ => {
                    let problem = format!("{pair:?} means nothing for a file");
                    return Err(Refusal::field(
                        Code::InvalidParams,
                        "uri",
                        problem,
                        "offset and limit, in bytes",
                    ));
                }
            }
        }
        Ok(Some(Self {
            offset,
            limit: limit.min(u64::MAX - offset),
        }))
    }
}

/// Where an open file really is.
#[cfg(target_os = "linux")]
fn opened_path(file: &File, _path: &Path) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    // The kernel's own word on the open file, whatever became of the names that led to it.
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

/// Where an open file really is: at the path it was opened by, when that still leads to the same file without a link.
#[cfg(all(unix, not(target_os = "linux")))]
fn opened_path(file: &File, path: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let real = path.canonicalize().ok()?;
    let (own, there) = (file.metadata().ok()?, std::fs::symlink_metadata(&real).ok()?);
    (own.dev() == there.dev() && own.ino() == there.ino()).then_some(real)
}

/// Where an open file really is, as far as names can tell.
#[cfg(not(unix))]
fn opened_path(_file: &File, path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// Resources of some other kind, and after them the files inside the roots.
pub struct WithFiles<S> {
    rest: S,
    files: Files,
}

impl<S: ResourceSource> WithFiles<S> {
    /// The resources of `rest`, then the files.
    pub fn new(rest: S, files: Files) -> Self {
        Self { rest, files }
    }
}

/// What stands before the places of pages: of the files, of the rest with files to come, and of a part of the rest. A
/// client that pages need not say again what it asked for.
const OF_FILES: &str = "file:";
const OF_ALL: &str = "all:";
const OF_PART: &str = "part:";

impl<S: ResourceSource> ResourceSource for WithFiles<S> {
    fn list<'a>(
        &'a self,
        cx: &'a Context,
        from: &'a str,
        under: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing<Resource>, Refusal>> {
        async move {
            let kinds = [OF_FILES, OF_ALL, OF_PART];
            let asked = kinds
                .into_iter()
                .find_map(|kind| Some((kind, from.strip_prefix(kind)?)));
            let (kind, from) = asked.unwrap_or(match under {
                None => (OF_ALL, from),
                Some(under) if under.starts_with("file:") => (OF_FILES, from),
                Some(_) => (OF_PART, from),
            });
            let mut page = match kind {
                OF_FILES => self.files.list(cx, from, under).await?,
                _ => self.rest.list(cx, from, under).await?,
            };
            page.next = page.next.map(|next| format!("{kind}{next}"));
            if page.next.is_none() && kind == OF_ALL && self.files.0.roots.is_open() {
                page.next = Some(OF_FILES.to_owned());
            }
            Ok(page)
        }
        .boxed()
    }

    fn read<'a>(
        &'a self,
        cx: &'a Context,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContents>>, Stop>> {
        match uri.starts_with("file:") {
            true => self.files.read(cx, uri),
            false => self.rest.read(cx, uri),
        }
    }

    fn subscribe<'a>(&'a self, cx: &'a Context, uri: &'a str) -> BoxFuture<'a, Result<Option<String>, Stop>> {
        match uri.starts_with("file:") {
            true => self.files.subscribe(cx, uri),
            false => self.rest.subscribe(cx, uri),
        }
    }

    fn resubscribe(&self, server: &Server, uri: &str) {
        match uri.starts_with("file:") {
            true => self.files.resubscribe(server, uri),
            false => self.rest.resubscribe(server, uri),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    //= specs/mcp-server.md#roots
    //= type=test
    //# Hidden files and files named like keys or credentials MUST be neither listed nor read.
    #[test]
    fn a_link_put_in_place_of_an_allowed_file_does_not_lead_to_a_hidden_one() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().canonicalize().unwrap();
        let (plain, hidden) = (base.join("plain.txt"), base.join(".env"));
        std::fs::write(&plain, "plain").unwrap();
        std::fs::write(&hidden, "secret").unwrap();
        let roots = Arc::new(RootSet::new(std::slice::from_ref(&base), &[]).unwrap());
        let files = Files::new(roots, FileLimits::default());
        let uri = format!("file://{}", plain.display());
        let located = files.0.locate(None, &uri).unwrap();
        assert!(files.0.open_located(None, &uri, located.clone()).is_ok());
        std::fs::remove_file(&plain).unwrap();
        std::os::unix::fs::symlink(&hidden, &plain).unwrap();
        let refused = files.0.open_located(None, &uri, located).unwrap_err();
        assert_eq!(refused.code, Code::AuthzForbidden);
    }
}
