//! Real data that lies outside of the repository.

use std::path::{Path, PathBuf};

/// The folder of corpora, named by `SPEXUS_CORPORA` or beside the workspace. Where there is none a test says so loudly and has nothing to
/// do; where `SPEXUS_REQUIRE_CORPORA` is set, that is a failure.
#[expect(
    clippy::print_stderr,
    reason = "whoever reads what the tests say has to see it"
)]
pub fn corpora() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let given = std::env::var_os("SPEXUS_CORPORA").map(PathBuf::from);
    // A worktree lies one folder deeper than the main checkout.
    let near = ["../shared/corpora", "../../shared/corpora"].map(|path| workspace.join(path));
    let found = given.into_iter().chain(near).find(|folder| folder.is_dir());
    if found.is_none() {
        let wanted = "set SPEXUS_CORPORA or put them at ../shared/corpora beside the workspace";
        assert!(
            std::env::var_os("SPEXUS_REQUIRE_CORPORA").is_none(),
            "the corpora are required: {wanted}"
        );
        eprintln!("SKIPPED: no corpora; {wanted}");
    }
    found
}
