//! Prompts: found by every name, and at most one of them active.

use crate::world::{World, both, refused};
use spexus_domain::prompt::{Argument, MessageTemplate, Prompt, Speaker};
use spexus_domain::{AnyId, Code, Reference, Uuid};
use spexus_store::{Result, Tx, items, prompts};

both![
    a_prompt_comes_back_by_every_name,
    at_most_one_prompt_is_active,
    a_name_is_taken_once,
    a_removed_prompt_is_gone,
    prompt_numbers_are_never_reused,
];

/// What the service layer does to create a prompt.
pub(crate) async fn insert(tx: &mut Tx, name: &str, active: bool) -> Result<Prompt> {
    let number = items::next_number(&mut tx.conn, Uuid::nil(), "PROMPT").await?;
    let prompt = Prompt {
        id: tx.new_id(),
        reference_id: Reference::of_prompt(number),
        name: name.to_owned(),
        title: name.to_owned(),
        description: String::new(),
        messages: vec![MessageTemplate {
            role: Speaker::User,
            text: "Look at {{item}}.".into(),
        }],
        arguments: vec![Argument {
            name: "item".into(),
            description: String::new(),
            required: true,
        }],
        active,
        rev: 1,
        creator: tx.actor().username.clone(),
        created_at: tx.now(),
        updated_at: tx.now(),
    };
    prompts::insert(tx, &prompt).await?;
    Ok(prompt)
}

async fn make(world: &World, name: &'static str) -> Result<Prompt> {
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { insert(tx, name, false).await })
        })
        .await
}

async fn activate(world: &World, prompt: &Prompt) {
    let prompt = Prompt {
        active: true,
        rev: prompt.rev + 1,
        ..prompt.clone()
    };
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { prompts::update(tx, &prompt).await })
        })
        .await
        .unwrap();
}

async fn a_prompt_comes_back_by_every_name(world: World) {
    let made = make(&world, "analyst").await.unwrap();
    let mut conn = world.read().await;
    for id in [made.id.to_string().as_str(), "PROMPT-001", "prompt-1"] {
        let id = AnyId::parse("id", id).unwrap();
        let found = prompts::by_any_id(&mut conn, &id).await.unwrap();
        assert_eq!(found.as_ref(), Some(&made), "{id}");
    }
    let found = prompts::by_name(&mut conn, "analyst").await.unwrap();
    assert_eq!(found, Some(made));
    let item = AnyId::parse("id", "EP-001").unwrap();
    assert_eq!(prompts::by_any_id(&mut conn, &item).await.unwrap(), None);
}

async fn at_most_one_prompt_is_active(world: World) {
    let (a, b) = (make(&world, "a").await.unwrap(), make(&world, "b").await.unwrap());
    assert_eq!(prompts::active(&mut world.read().await).await.unwrap(), None);
    for prompt in [&a, &b, &a] {
        activate(&world, prompt).await;
        let mut conn = world.read().await;
        let active = prompts::active(&mut conn).await.unwrap().unwrap();
        assert_eq!(active.name, prompt.name);
        let all = prompts::all(&mut conn).await.unwrap();
        assert_eq!(all.iter().filter(|prompt| prompt.active).count(), 1);
    }
    let second = world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { insert(tx, "c", true).await })
        })
        .await;
    assert_eq!(refused(second), Code::EntityDuplicate);
}

async fn a_name_is_taken_once(world: World) {
    make(&world, "analyst").await.unwrap();
    assert_eq!(refused(make(&world, "analyst").await), Code::EntityDuplicate);
}

async fn remove(world: &World, id: Uuid) {
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { prompts::remove(tx, id).await })
        })
        .await
        .unwrap();
}

async fn a_removed_prompt_is_gone(world: World) {
    let made = make(&world, "analyst").await.unwrap();
    remove(&world, made.id).await;
    assert_eq!(prompts::all(&mut world.read().await).await.unwrap(), []);
}

async fn prompt_numbers_are_never_reused(world: World) {
    let made = make(&world, "a").await.unwrap();
    remove(&world, made.id).await;
    let next = make(&world, "b").await.unwrap();
    assert_eq!(next.reference_id.to_string(), "PROMPT-002");
}
