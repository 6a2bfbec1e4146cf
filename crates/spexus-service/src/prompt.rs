//! Stored prompts.

use crate::Service;
use crate::context::{NO_PROJECT, check_rev, reading};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::id::PROMPT_PREFIX;
use spexus_domain::permission::Operation;
use spexus_domain::prompt::{self, NewPrompt, Prompt, PromptPatch};
use spexus_domain::query::Page;
use spexus_domain::{AnyId, Code, Reference, Refusal, Ruled, text};
use spexus_store::{Conn, Result, Tx, items, prompts};

/// All prompts.
#[boxed]
pub async fn list(service: &Service, caller: &Caller) -> Ruled<Page<Prompt>> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    Ok(Page::whole(prompts::all(&mut conn).await?))
}

/// One prompt by any id or by its name.
#[boxed]
pub async fn get(service: &Service, caller: &Caller, id: &str) -> Ruled<Prompt> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    find(&mut conn, id).await.map_err(Refusal::from)
}

/// The active prompt, if there is one.
#[boxed]
pub async fn active(service: &Service, caller: &Caller) -> Ruled<Option<Prompt>> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    prompts::active(&mut conn).await.map_err(Refusal::from)
}

/// Makes a prompt, not yet active.
#[boxed]
pub async fn create(service: &Service, caller: &Caller, input: NewPrompt) -> Ruled<Prompt> {
    caller.may(Operation::ManagePrompts)?;
    let title = input.title.clone().unwrap_or_else(|| input.name.clone());
    prompt::check(
        &input.name,
        &title,
        &input.description,
        &input.messages,
        &input.arguments,
    )?;
    let job = service.change_anywhere(caller, Operation::ManagePrompts, move |tx, _| {
        Box::pin(async move {
            if prompts::by_name(&mut tx.conn, &input.name).await?.is_some() {
                let problem = format!("{:?} is taken", input.name);
                return Err(Refusal::field(Code::PromptDuplicate, "name", problem, "another name").into());
            }
            let number = items::next_number(&mut tx.conn, NO_PROJECT, PROMPT_PREFIX).await?;
            let prompt = Prompt {
                id: tx.new_id(),
                reference_id: Reference::of_prompt(number),
                name: input.name,
                title,
                description: input.description,
                messages: input.messages,
                arguments: input.arguments,
                active: false,
                rev: 1,
                creator: tx.actor().username.clone(),
                created_at: tx.now(),
                updated_at: tx.now(),
            };
            prompts::insert(tx, &prompt).await?;
            record(tx, Action::Created, None, &prompt).await?;
            Ok(prompt)
        })
    });
    job.await
}

/// Changes a prompt.
#[boxed]
pub async fn update(service: &Service, caller: &Caller, id: &str, patch: PromptPatch) -> Ruled<Prompt> {
    change(service, caller, id, move |before| {
        check_rev("this prompt", before.rev, patch.expect_rev)?;
        let mut prompt = before.clone();
        prompt.title = patch.title.unwrap_or(prompt.title);
        prompt.description = patch.description.unwrap_or(prompt.description);
        prompt.messages = patch.messages.unwrap_or(prompt.messages);
        prompt.arguments = patch.arguments.unwrap_or(prompt.arguments);
        prompt::check(
            &prompt.name,
            &prompt.title,
            &prompt.description,
            &prompt.messages,
            &prompt.arguments,
        )?;
        Ok(prompt)
    })
    .await
}

/// Makes a prompt the active one, or the active one inactive.
#[boxed]
pub async fn activate(service: &Service, caller: &Caller, id: &str, active: bool) -> Ruled<Prompt> {
    change(service, caller, id, move |before| {
        Ok(Prompt {
            active,
            ..before.clone()
        })
    })
    .await
}

/// Removes a prompt.
#[boxed]
pub async fn delete(service: &Service, caller: &Caller, id: &str) -> Ruled<Prompt> {
    let id = id.to_owned();
    let job = service.change_anywhere(caller, Operation::ManagePrompts, move |tx, _| {
        Box::pin(async move {
            let prompt = find(&mut tx.conn, &id).await?;
            prompts::remove(tx, prompt.id).await?;
            record(tx, Action::Deleted, Some(&prompt), &prompt).await?;
            Ok(prompt)
        })
    });
    job.await
}

async fn change(
    service: &Service,
    caller: &Caller,
    id: &str,
    edit: impl FnOnce(&Prompt) -> Ruled<Prompt> + Send + 'static,
) -> Ruled<Prompt> {
    let id = id.to_owned();
    let job = service.change_anywhere(caller, Operation::ManagePrompts, move |tx, _| {
        Box::pin(async move {
            let before = find(&mut tx.conn, &id).await?;
            let mut prompt = edit(&before)?;
            if prompt == before {
                return Ok(before);
            }
            prompt.rev += 1;
            prompt.updated_at = tx.now();
            prompts::update(tx, &prompt).await?;
            record(tx, Action::Updated, Some(&before), &prompt).await?;
            Ok(prompt)
        })
    });
    job.await
}

async fn find(conn: &mut Conn, id: &str) -> Result<Prompt> {
    let found = match AnyId::parse("id", id) {
        Ok(id) => prompts::by_any_id(conn, &id).await?,
        Err(_) => prompts::by_name(conn, id).await?,
    };
    Ok(found.ok_or_else(|| {
        Refusal::new(
            Code::PromptNotFound,
            format!("there is no prompt {:?}", text::excerpt(id, 60)),
        )
    })?)
}

async fn record(tx: &mut Tx, action: Action, before: Option<&Prompt>, after: &Prompt) -> Result<()> {
    let fields = |prompt: &Prompt| {
        Attributes::from_iter([
            ("title".to_owned(), prompt.title.clone().into()),
            ("description".to_owned(), prompt.description.clone().into()),
            (
                "messages".to_owned(),
                serde_json::to_value(&prompt.messages).unwrap_or_default(),
            ),
            (
                "arguments".to_owned(),
                serde_json::to_value(&prompt.arguments).unwrap_or_default(),
            ),
            ("active".to_owned(), prompt.active.into()),
        ])
    };
    let change = NewChange::new(Entity::Prompt, after.id, &after.name, action, after.rev)
        .fields(before.map(fields), fields(after));
    tx.record(change).await.map(drop)
}
