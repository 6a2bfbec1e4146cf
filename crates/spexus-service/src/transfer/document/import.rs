//! Reading a document.

use super::parse::Parser;
use crate::Service;
use crate::transfer::rows;
use crate::transfer::{Imported, Input, Progress};
use async_recursion::async_recursion as boxed;
use spexus_domain::Ruled;
use spexus_domain::account::Caller;

/// Makes and changes items as the document says, all of it or nothing.
#[boxed]
pub async fn import(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    input: Input,
    dry_run: bool,
    progress: Progress,
) -> Ruled<Imported> {
    rows::apply(
        service,
        caller,
        project,
        Box::new(Parser::new(input)),
        vec![],
        dry_run,
        progress,
    )
    .await
}
