//! Methods a server adds to those of the protocol.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::server::context::Context;
use crate::server::tool::Stop;

type Run = dyn Fn(Context, Value) -> BoxFuture<'static, Result<Value, Stop>> + Send + Sync;

/// A method a server adds to those of the protocol.
#[derive(Clone)]
pub struct CustomMethod {
    pub(crate) name: String,
    pub(crate) run: Arc<Run>,
}

impl CustomMethod {
    /// A method that takes its parameters as a value and answers with an object.
    pub fn new<F, Fut, E>(name: impl Into<String>, run: F) -> Self
    where
        F: Fn(Context, Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, E>> + Send + 'static,
        E: Into<Stop>,
    {
        let run = move |cx, params| run(cx, params).map(|r| r.map_err(Into::into)).boxed();
        Self {
            name: name.into(),
            run: Arc::new(run),
        }
    }
}

impl fmt::Debug for CustomMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomMethod")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
