//! The first start: an empty database gets what every installation needs.

use crate::account::password::Passwords;
use crate::context::NO_PROJECT;
use serde::Serialize;
use spexus_domain::account::{Role, User};
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::id::PROMPT_PREFIX;
use spexus_domain::link::LinkType;
use spexus_domain::member::ProjectRole;
use spexus_domain::project::{DEFAULT_KEY, Project};
use spexus_domain::prompt::{self, Prompt};
use spexus_domain::requirement_type::RequirementType;
use spexus_domain::workflow::Workflow;
use spexus_domain::{Code, Kind, Reference, Refusal, Ruled, Uuid, password};
use spexus_store::{Actor, Result, Store, Tx, accounts, items, projects, prompts, settings};

/// The name of the first administrator.
pub(crate) const ADMIN: &str = "admin";

/// What the first start made.
#[derive(Clone, Serialize)]
pub struct FirstStart {
    /// The name of the first administrator.
    pub username: String,
    /// The password, when it was made up here; shown once and never again.
    pub password: Option<String>,
}

/// Sets up an empty database; `None` when it was set up before.
pub(crate) async fn set_up(
    store: &Store,
    passwords: &Passwords,
    admin_password: Option<&str>,
) -> Ruled<Option<FirstStart>> {
    let mut conn = store.read().await?;
    if !accounts::all(&mut conn).await?.is_empty() {
        return Ok(None);
    }
    drop(conn);
    if let Some(password) = admin_password {
        password::chosen("SPEXUS_ADMIN_PASSWORD", password, ADMIN)?;
    }
    let made_up = admin_password.is_none().then(random_password).transpose()?;
    let chosen = admin_password.or(made_up.as_deref()).unwrap_or_default();
    let password_hash = passwords.hash(chosen).await?;
    let key = random_bytes()?;
    let actor = Actor {
        user_id: Uuid::nil(),
        username: "system".into(),
        token_id: None,
        client: "setup".into(),
    };
    let made = store
        .write(actor, move |tx| {
            Box::pin(async move {
                // Two processes may start on one empty database; the first one wins.
                if !accounts::all(&mut tx.conn).await?.is_empty() {
                    return Ok(false);
                }
                settings::put_secret(tx, TOKEN_KEY, key).await?;
                make_admin(tx, &password_hash).await?;
                make_project(tx).await?;
                make_settings(tx).await?;
                make_prompt(tx).await?;
                Ok(true)
            })
        })
        .await?;
    Ok(made.then(|| FirstStart {
        username: ADMIN.into(),
        password: made_up,
    }))
}

const TOKEN_KEY: &str = "token_key";

/// The key this installation hashes tokens with.
pub(crate) async fn token_key(store: &Store) -> Ruled<[u8; 32]> {
    let mut conn = store.read().await?;
    let kept = settings::secret(&mut conn, TOKEN_KEY).await?;
    kept.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| {
        Refusal::new(Code::ServiceUnavailable, "the database has no key for tokens")
            .hint("Restore it from a backup, or give the key as SPEXUS_TOKEN_KEY.")
    })
}

/// Random bytes from the operating system.
pub(crate) fn random_bytes() -> Ruled<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| {
        Refusal::new(
            Code::ServiceUnavailable,
            "the operating system gives no random numbers",
        )
    })?;
    Ok(bytes)
}

/// Four groups of letters that are hard to confuse: about 95 bits.
fn random_password() -> Ruled<String> {
    const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
    let bytes = random_bytes()?;
    let letters: Vec<char> = bytes
        .iter()
        .take(20)
        .map(|byte| char::from(LETTERS[usize::from(byte % 32)]))
        .collect();
    let groups: Vec<String> = letters.chunks(5).map(|group| group.iter().collect()).collect();
    Ok(groups.join("-"))
}

async fn make_admin(tx: &mut Tx, password_hash: &str) -> Result<()> {
    let (id, now) = (tx.new_id(), tx.now());
    let user = User {
        id,
        username: ADMIN.into(),
        email: None,
        role: Role::Administrator,
        active: true,
        owner: None,
        owner_id: None,
        rev: 1,
        created_at: now,
        updated_at: now,
    };
    accounts::insert(tx, &user, password_hash).await?;
    tx.act_as(id, ADMIN);
    note(tx, Entity::User, id, ADMIN).await
}

async fn make_project(tx: &mut Tx) -> Result<()> {
    let (id, now) = (tx.new_id(), tx.now());
    let project = Project {
        id,
        key: DEFAULT_KEY.into(),
        name: "Default".into(),
        description: "The project everything belongs to until you name another.".into(),
        attributes: vec![],
        // Whoever gets an account on a new installation can begin; other projects are closed until somebody is named.
        default_role: ProjectRole::Author,
        prefix_references: false,
        rev: 1,
        created_at: now,
        updated_at: now,
    };
    projects::insert(tx, &project).await?;
    note(tx, Entity::Project, id, DEFAULT_KEY).await
}

async fn make_settings(tx: &mut Tx) -> Result<()> {
    for requirement_type in RequirementType::shipped() {
        settings::put_requirement_type(tx, &requirement_type).await?;
    }
    for link_type in LinkType::shipped() {
        settings::put_link_type(tx, &link_type).await?;
    }
    for workflow in Kind::ALL.into_iter().filter_map(Workflow::shipped) {
        settings::put_workflow(tx, &workflow).await?;
    }
    let id = tx.new_id();
    note(tx, Entity::Setting, id, "shipped settings").await
}

async fn make_prompt(tx: &mut Tx) -> Result<()> {
    let shipped = prompt::shipped();
    let (id, now, creator) = (tx.new_id(), tx.now(), tx.actor().username.clone());
    let number = items::next_number(&mut tx.conn, NO_PROJECT, PROMPT_PREFIX).await?;
    let prompt = Prompt {
        id,
        reference_id: Reference::of_prompt(number),
        title: shipped.title.unwrap_or_else(|| shipped.name.clone()),
        name: shipped.name,
        description: shipped.description,
        messages: shipped.messages,
        arguments: shipped.arguments,
        active: true,
        rev: 1,
        creator,
        created_at: now,
        updated_at: now,
    };
    prompts::insert(tx, &prompt).await?;
    note(tx, Entity::Prompt, id, &prompt.name).await
}

async fn note(tx: &mut Tx, entity: Entity, entity_id: Uuid, label: &str) -> Result<()> {
    tx.record(NewChange::new(entity, entity_id, label, Action::Created, 1))
        .await
        .map(drop)
}
