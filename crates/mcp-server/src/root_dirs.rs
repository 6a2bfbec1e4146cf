//! Path containment: files behind `file:` addresses that stay inside their roots, links resolved.

use std::path::{Path, PathBuf};

use refusal::{Code, Refusal};

use mcp_protocol::uri::{canonical, path_of};

/// Folders whose files may be reached.
#[derive(Clone, Debug, Default)]
pub struct RootDirs(Vec<PathBuf>);

impl RootDirs {
    /// RootDirs that exist. Each is resolved once, so that a link to a root is no way around it.
    pub fn new<P: AsRef<Path>>(folders: impl IntoIterator<Item = P>) -> std::io::Result<Self> {
        folders
            .into_iter()
            .map(|folder| folder.as_ref().canonicalize())
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Folders that are real paths already.
    pub(crate) fn of(folders: Vec<PathBuf>) -> Self {
        Self(folders)
    }

    /// The file behind a `file:` address, when it lies inside a root, links followed.
    pub fn resolve(&self, uri: &str) -> Result<PathBuf, Refusal> {
        let wanted = path_of(&canonical(uri)?)?;
        //= specs/mcp-server.md#resource-addresses
        //# A file outside every root MUST be refused with 1039, also when its path merely begins like a root's.
        if !self.holds(&wanted) {
            return Err(Refusal::new(
                Code::UriOutOfBounds,
                format!("{uri:?} is outside the allowed roots"),
            ));
        }
        let real = wanted.canonicalize().map_err(|_| {
            Refusal::new(Code::ResourceNotFound, format!("there is no file {uri:?}")).fact("uri", uri)
        })?;
        //= specs/mcp-server.md#resource-addresses
        //# A link that leads out of the roots MUST be refused with 1038.
        if !self.holds(&real) {
            return Err(Refusal::new(
                Code::SymlinkTraversalDetected,
                format!("{uri:?} leads out of the allowed roots"),
            ));
        }
        Ok(real)
    }

    /// Whether a path lies in a root or is one, compared part by part: `/data` does not hold `/database`.
    pub fn holds(&self, path: &Path) -> bool {
        self.root_of(path).is_some()
    }

    /// The root a path lies in.
    pub fn root_of(&self, path: &Path) -> Option<&Path> {
        self.0
            .iter()
            .map(PathBuf::as_path)
            .find(|root| path.starts_with(root))
    }

    /// All folders.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(PathBuf::as_path)
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/mcp-server.md#resource-addresses
    //= type=test
    //# A file outside every root MUST be refused with 1039, also when its path merely begins like a root's.
    #[test]
    fn files_stay_inside_their_roots() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("data");
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(folder.path().join("database")).unwrap();
        std::fs::write(root.join("a b.txt"), "x").unwrap();
        std::fs::write(folder.path().join("database/secret"), "x").unwrap();
        let roots = RootDirs::new([&root]).unwrap();
        assert!(!roots.is_empty() && RootDirs::default().is_empty());
        let at = |path: &str| roots.resolve(&format!("file://{}{path}", root.display()));
        assert_eq!(at("/a%20b.txt").unwrap(), root.join("a b.txt"));
        assert_eq!(at("base/secret").unwrap_err().code, Code::UriOutOfBounds);
        assert_eq!(at("/missing").unwrap_err().code, Code::ResourceNotFound);
        assert_eq!(at("/%ff").unwrap_err().code, Code::PathInvalid);
        assert_eq!(
            roots.resolve("file:///etc/passwd").unwrap_err().code,
            Code::UriOutOfBounds
        );
        assert_eq!(roots.resolve("http://host/a").unwrap_err().code, Code::InvalidUri);
        assert_eq!(
            at("/../database/secret").unwrap_err().code,
            Code::PathTraversalDetected
        );
    }

    //= specs/mcp-server.md#resource-addresses
    //= type=test
    //# A link that leads out of the roots MUST be refused with 1038.
    #[cfg(unix)]
    #[test]
    fn links_do_not_lead_out() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("data");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(folder.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), root.join("way-out")).unwrap();
        let roots = RootDirs::new([&root]).unwrap();
        let uri = format!("file://{}/way-out", root.display());
        assert_eq!(
            roots.resolve(&uri).unwrap_err().code,
            Code::SymlinkTraversalDetected
        );
    }
}
