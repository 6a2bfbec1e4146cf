//! The one way to change something: right, actor, project and transaction in one place.
//!
//! The work is a closure that gets the transaction and does the rest, rules and history included, so that a use case reads
//! as what it does. Whatever it refuses is undone. What the server does on its own account (sessions of MCP clients, uses
//! of tokens, audit events) has no caller to ask for a right and writes through the store.

use crate::Service;
use crate::context::Context;
use spexus_domain::Ruled;
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_store::{Actor, Result, Tx};
use std::pin::Pin;

/// What a piece of work comes to, once it has run.
pub(crate) type Outcome<'t, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 't>>;

impl Service {
    /// Changes something in a project: the one named, the one the token is bound to, or the default one.
    pub(crate) async fn change<T, F>(
        &self,
        caller: &Caller,
        operation: Operation,
        project: Option<&str>,
        work: F,
    ) -> Ruled<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx, Context) -> Outcome<'t, T> + Send + 'static,
    {
        let project = project.map(str::to_owned);
        let job = self.change_anywhere(caller, operation, move |tx, caller| {
            Box::pin(async move {
                let context = Context::new(&mut tx.conn, &caller, project.as_deref()).await?;
                work(tx, context).await
            })
        });
        job.await
    }

    /// Changes something that names its own place, or belongs to no project.
    pub(crate) async fn change_anywhere<T, F>(
        &self,
        caller: &Caller,
        operation: Operation,
        work: F,
    ) -> Ruled<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx, Caller) -> Outcome<'t, T> + Send + 'static,
    {
        //= specs/spexus-service.md#permissions
        //# Every use case MUST ask for its right before it reads or writes anything.
        caller.may(operation)?;
        let who = caller.clone();
        let job = self.store.write(Actor::from(caller), move |tx| work(tx, who));
        Ok(job.await?)
    }
}
