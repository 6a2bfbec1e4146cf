//! What an import brings for the installation as a whole. An installation without items takes all of it; one with items
//! keeps what it has and only gains what it lacks, because other projects rely on it.

use super::record::PromptRecord;
use crate::context::NO_PROJECT;
use crate::transfer::people::People;
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::id::PROMPT_PREFIX;
use spexus_domain::link::LinkType;
use spexus_domain::prompt::{self, Prompt};
use spexus_domain::requirement_type::RequirementType;
use spexus_domain::workflow::Workflow;
use spexus_domain::{Reference, Uuid, nearest};
use spexus_store::{Result, Tx, items, prompts, settings, transfer};

/// How settings are taken over.
pub(super) struct Taking {
    /// Whether the installation has no items, so that everything is taken.
    pub(super) everything: bool,
    cleared: bool,
}

impl Taking {
    pub(super) fn new(everything: bool) -> Self {
        Self {
            everything,
            cleared: false,
        }
    }

    pub(super) async fn requirement_type(&mut self, tx: &mut Tx, wanted: RequirementType) -> Result<()> {
        self.clear(tx).await?;
        wanted.check()?;
        let known = settings::requirement_types(&mut tx.conn).await?;
        if nearest::find(&known, |known| &known.name, &wanted.name).is_some() {
            return Ok(());
        }
        settings::put_requirement_type(tx, &wanted).await?;
        note(tx, &format!("requirement type {}", wanted.name), &wanted).await
    }

    pub(super) async fn link_type(&mut self, tx: &mut Tx, wanted: LinkType) -> Result<()> {
        self.clear(tx).await?;
        wanted.check()?;
        let known = settings::link_types(&mut tx.conn).await?;
        let taken = |other: &LinkType| {
            [&other.name, &other.inverse]
                .iter()
                .any(|name| [&wanted.name, &wanted.inverse].contains(name))
        };
        if known.iter().any(taken) {
            return Ok(());
        }
        settings::put_link_type(tx, &wanted).await?;
        note(tx, &format!("link type {}", wanted.name), &wanted).await
    }

    pub(super) async fn workflow(&mut self, tx: &mut Tx, wanted: Workflow) -> Result<()> {
        wanted.check()?;
        let known = settings::workflow(&mut tx.conn, wanted.kind).await?;
        if !self.everything || known.as_ref() == Some(&wanted) || !wanted.kind.rules().has_status {
            return Ok(());
        }
        settings::put_workflow(tx, &wanted).await?;
        note(tx, &format!("workflow of {}", wanted.kind.name()), &wanted).await
    }

    pub(super) async fn prompt(
        &mut self,
        tx: &mut Tx,
        people: &mut People,
        wanted: PromptRecord,
    ) -> Result<()> {
        self.clear(tx).await?;
        prompt::check(
            &wanted.name,
            &wanted.title,
            &wanted.description,
            &wanted.messages,
            &wanted.arguments,
        )?;
        if prompts::by_name(&mut tx.conn, &wanted.name).await?.is_some() {
            return Ok(());
        }
        let creator = people.find(tx, "creator", &wanted.creator).await?;
        let reference_id = if self.everything {
            wanted.reference_id
        } else {
            Reference::of_prompt(items::next_number(&mut tx.conn, NO_PROJECT, PROMPT_PREFIX).await?)
        };
        let prompt = Prompt {
            id: wanted.id,
            reference_id,
            name: wanted.name,
            title: wanted.title,
            description: wanted.description,
            messages: wanted.messages,
            arguments: wanted.arguments,
            active: wanted.active && self.everything,
            rev: wanted.rev,
            creator: creator.username.clone(),
            created_at: wanted.created_at,
            updated_at: wanted.updated_at,
        };
        let me = tx.actor().clone();
        tx.act_as(creator.id, &creator.username);
        let written = prompts::insert(tx, &prompt).await;
        tx.act_as(me.user_id, &me.username);
        written?;
        let fields = Attributes::from_iter([
            ("title".to_owned(), prompt.title.into()),
            ("active".to_owned(), prompt.active.into()),
        ]);
        let change = NewChange::new(
            Entity::Prompt,
            prompt.id,
            prompt.name,
            Action::Created,
            prompt.rev,
        )
        .fields(None, fields);
        tx.record(change).await.map(drop)
    }

    /// Makes room for the types and prompts of the file, once, before the first of them.
    async fn clear(&mut self, tx: &mut Tx) -> Result<()> {
        if self.everything && !self.cleared {
            self.cleared = true;
            transfer::clear_shipped(tx).await?;
        }
        Ok(())
    }
}

async fn note(tx: &mut Tx, label: &str, value: &impl serde::Serialize) -> Result<()> {
    let fields = match serde_json::to_value(value) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => Attributes::new(),
    };
    let change = NewChange::new(Entity::Setting, Uuid::nil(), label, Action::Updated, 1).fields(None, fields);
    tx.record(change).await.map(drop)
}
