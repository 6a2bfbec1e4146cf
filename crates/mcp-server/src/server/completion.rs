//! Suggestions for arguments while they are typed.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::server::context::Context;
use crate::server::tool::Stop;

/// What is being typed.
#[derive(Clone, Debug, Default)]
pub struct Completing {
    /// The argument's name.
    pub argument: String,
    /// What was typed so far.
    pub value: String,
    /// Arguments that are already filled in.
    pub context: BTreeMap<String, String>,
}

type Suggest = dyn Fn(Context, Completing) -> BoxFuture<'static, Result<Vec<String>, Stop>> + Send + Sync;

/// Suggests values; the runtime cuts the list to what one answer may hold.
#[derive(Clone)]
pub struct Completer(pub(crate) Arc<Suggest>);

impl Completer {
    /// A completer from a function.
    pub fn new<F, Fut, E>(suggest: F) -> Self
    where
        F: Fn(Context, Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<String>, E>> + Send + 'static,
        E: Into<Stop>,
    {
        Self(Arc::new(move |cx, completing| {
            suggest(cx, completing).map(|r| r.map_err(Into::into)).boxed()
        }))
    }
}

impl fmt::Debug for Completer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Completer")
    }
}
