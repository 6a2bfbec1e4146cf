//! The one way to change something: right, actor, project and transaction in one place.
//!
//! The work is a closure that gets the transaction and does the rest, rules and history included, so that a use case reads
//! as what it does. Whatever it refuses is undone. Several use cases become one transaction by being called with the service
//! that `together` gives: they need not know. What the server does on its own account (sessions of MCP clients, uses of
//! tokens, audit events) has no caller to ask for a right; it says who is named in the history instead.

use crate::Service;
use crate::context::Context;
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::{AnyId, Refusal, Ruled, Uuid};
use spexus_store::{Actor, Error, Result, Tx, directory};
use std::pin::Pin;

/// What a piece of work comes to, once it has run.
pub(crate) type Outcome<'t, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 't>>;

/// Where a change is made: the project that is named, and the id of what is changed.
pub(crate) type Target<'a> = (Option<&'a str>, Option<&'a str>);

impl Service {
    /// Runs work with a service all of whose reads and writes happen in one transaction: with a refusal, or where `keep`
    /// is not wanted, nothing of it stands. All other writes wait meanwhile, so the work must not wait for anything else.
    /// Inside such work it is a part of the transaction that is undone alone.
    //= specs/spexus-service.md#writing-once
    //# What is done together MUST be carried out whole or not at all.
    pub async fn together<T, F, Fut>(&self, caller: &Caller, keep: bool, work: F) -> Ruled<T>
    where
        F: FnOnce(Service) -> Fut,
        Fut: Future<Output = Ruled<T>>,
    {
        let work = |store| refusing(work(self.over(store)));
        let done = self.store.together(Actor::from(caller), keep, work).await;
        done.map_err(Refusal::from)
    }

    /// Runs work with a service that only reads, and reads everything at one moment. No write waits for it.
    pub async fn snapshot<T, F, Fut>(&self, caller: &Caller, work: F) -> Ruled<T>
    where
        F: FnOnce(Service) -> Fut,
        Fut: Future<Output = Ruled<T>>,
    {
        let work = |store| refusing(work(self.over(store)));
        let done = self.store.snapshot(caller.user_id, work).await;
        done.map_err(Refusal::from)
    }

    /// Changes something in a project: the one named, the one the token is bound to, or the usual one; or in that of the items
    /// the context finds. Either asks for the right there.
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
                let context = Context::new(&mut tx.conn, &caller, operation, project.as_deref()).await?;
                work(tx, context).await
            })
        });
        job.await
    }

    /// Like `change`, for what usually stays within one project: `about` is what is changed there. Where that is known the write
    /// goes on beside those of other projects; where it turns out otherwise, it is done again alone.
    pub(crate) async fn change_in<T, F>(
        &self,
        caller: &Caller,
        operation: Operation,
        (project, about): Target<'_>,
        work: F,
    ) -> Ruled<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx, Context) -> Outcome<'t, T> + Clone + Send + 'static,
    {
        let named = project.map(str::to_owned);
        let job = self.change_at(caller, operation, (project, about), move |tx, caller| {
            Box::pin(async move {
                let context = Context::new(&mut tx.conn, &caller, operation, named.as_deref()).await?;
                work(tx, context).await
            })
        });
        job.await
    }

    /// Like `change_in`, for what finds its project itself.
    pub(crate) async fn change_at<T, F>(
        &self,
        caller: &Caller,
        operation: Operation,
        place: Target<'_>,
        work: F,
    ) -> Ruled<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx, Caller) -> Outcome<'t, T> + Clone + Send + 'static,
    {
        caller.may(operation)?;
        let who = caller.clone();
        let actor = Actor::from(caller);
        let job = async {
            match self.guess_project(caller, place).await {
                Some(project) => self.store.write_in(project, actor, move |tx| work(tx, who)).await,
                None => self.store.write(actor, move |tx| work(tx, who)).await,
            }
        };
        Ok(job.await?)
    }

    /// In which project something is, as far as that is found by one look-up. It only says beside which writes it may be done;
    /// whether it is so is found out where it is done.
    async fn guess_project(&self, caller: &Caller, (project, about): Target<'_>) -> Option<Uuid> {
        if !self.store.has_lanes() {
            return None;
        }
        let mut conn = self.store.look_up().await.ok()?;
        let about = about.and_then(|id| AnyId::parse("id", id).ok());
        let named = match &about {
            Some(AnyId::Uuid(id)) => return directory::project(&mut conn, *id).await.ok()?,
            Some(AnyId::Reference { project, .. }) => project.as_deref(),
            None => None,
        };
        let context = Context::of_read(self, &mut conn, caller, named.or(project))
            .await
            .ok()?;
        context.project_if_any()
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
        let job = self.write_as(Actor::from(caller), move |tx| work(tx, who));
        Ok(job.await?)
    }

    /// Writes what needs no right: what the server does on its own account, and what comes before there is a caller.
    pub(crate) async fn write_as<T, F>(&self, actor: Actor, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> Outcome<'t, T> + Send + 'static,
    {
        self.store.write(actor, work).await
    }
}

/// Work of the service as the store knows it.
pub(crate) async fn refusing<T>(work: impl Future<Output = Ruled<T>>) -> Result<T> {
    work.await.map_err(Error::Refused)
}
