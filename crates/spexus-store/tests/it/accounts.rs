//! Accounts, tokens, sessions, kept answers and what happened at the door.

use crate::world::{World, both, refused, user};
use spexus_domain::account::{Role, Scope, Token, User};
use spexus_domain::audit::AuditEvent;
use spexus_domain::query::PageRequest;
use spexus_domain::requirement_type::RequirementType;
use spexus_domain::workflow::Workflow;
use spexus_domain::{Code, Kind, Timestamp, Uuid};
use spexus_store::{Result, accounts, audit, idempotency, projects, settings, tokens};

both![
    an_account_is_found_in_any_letter_case,
    names_and_addresses_are_taken_once,
    a_changed_account_shows_at_once,
    a_name_with_a_nul_is_nobody,
    a_token_is_found_by_its_hash_and_stops_when_removed,
    a_token_name_is_taken_once_for_each_user,
    a_session_opens_and_closes,
    sessions_that_ended_are_swept,
    an_answer_is_given_twice_and_the_work_done_once,
    an_answer_is_forgotten_after_a_day,
    what_happened_at_the_door_is_told_newest_first,
    projects_are_kept,
    settings_are_kept,
    a_secret_is_kept_as_it_was_first,
];

async fn add(world: &World, wanted: User) -> Result<()> {
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { accounts::insert(tx, &wanted, "a hash").await })
        })
        .await
}

async fn an_account_is_found_in_any_letter_case(world: World) {
    let mut anna = user("Анна");
    anna.email = None;
    add(&world, anna.clone()).await.unwrap();
    let mut conn = world.read().await;
    for name in ["Анна", "анна", "АННА"] {
        let found = accounts::by_name(&mut conn, name).await.unwrap().unwrap();
        assert_eq!((&found.user, found.password_hash.as_str()), (&anna, "a hash"));
    }
    assert!(accounts::by_name(&mut conn, "anna").await.unwrap().is_none());
    let names: Vec<String> = accounts::all(&mut conn)
        .await
        .unwrap()
        .into_iter()
        .map(|user| user.username)
        .collect();
    assert_eq!(names, ["kim", "Анна"]);
}

async fn names_and_addresses_are_taken_once(world: World) {
    assert_eq!(refused(add(&world, user("KIM")).await), Code::EntityDuplicate);
    let mut lee = user("lee");
    lee.email = Some("Kim@Example.org".into());
    assert_eq!(refused(add(&world, lee).await), Code::EntityDuplicate);
    for name in ["lee", "max"] {
        let mut without = user(name);
        without.email = None;
        add(&world, without).await.unwrap();
    }
}

async fn a_changed_account_shows_at_once(world: World) {
    add(&world, user("lee")).await.unwrap();
    assert_eq!(
        accounts::count_administrators(&mut world.read().await)
            .await
            .unwrap(),
        2
    );
    let changed = User {
        role: Role::Commenter,
        rev: 2,
        ..world.user.clone()
    };
    let wanted = changed.clone();
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                accounts::update(tx, &wanted).await?;
                accounts::set_password(tx, wanted.id, "another hash").await
            })
        })
        .await
        .unwrap();
    let mut conn = world.read().await;
    let now = accounts::by_name(&mut conn, "kim").await.unwrap().unwrap();
    assert_eq!((now.user.role, now.user.rev), (Role::Commenter, 3));
    assert_eq!(now.password_hash, "another hash");
    assert_eq!(accounts::count_administrators(&mut conn).await.unwrap(), 1);
}

/// PostgreSQL cannot even be asked for such a name; that is no fault of the server.
async fn a_name_with_a_nul_is_nobody(world: World) {
    match accounts::by_name(&mut world.read().await, "k\0m").await {
        Ok(found) => assert!(found.is_none()),
        answer => assert_eq!(refused(answer.map(drop)), Code::InvalidParams),
    }
}

fn token(name: &str) -> Token {
    Token {
        id: Uuid::now_v7(),
        user: "kim".into(),
        name: name.into(),
        scopes: vec![Scope::Read, Scope::Comment],
        project: Some("default".into()),
        project_id: None,
        agent: false,
        expires_at: Some(Timestamp(5)),
        last_used_at: None,
        created_at: Timestamp(1),
    }
}

async fn add_token(world: &World, wanted: &Token, hash: u8) -> Result<()> {
    let (wanted, user, project) = (wanted.clone(), world.user.id, world.project.id);
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { tokens::insert(tx, &wanted, user, Some(project), [hash; 32]).await })
        })
        .await
}

async fn a_token_is_found_by_its_hash_and_stops_when_removed(world: World) {
    let laptop = token("laptop");
    add_token(&world, &laptop, 1).await.unwrap();
    add_token(&world, &token("server"), 2).await.unwrap();
    let mut conn = world.read().await;
    let grant = tokens::grant_by_hash(&mut conn, [1; 32]).await.unwrap().unwrap();
    assert_eq!(grant.token_id, laptop.id);
    assert_eq!(grant.scopes, laptop.scopes);
    assert_eq!(
        (grant.project_id, grant.expires_at),
        (Some(world.project.id), laptop.expires_at)
    );
    assert_eq!(grant.user, world.user);
    assert_eq!(tokens::of_user(&mut conn, world.user.id).await.unwrap().len(), 2);

    let id = laptop.id;
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { tokens::note_use(tx, &[(id, Timestamp(77))]).await })
        })
        .await
        .unwrap();
    let (used, owner) = tokens::by_id(&mut conn, id).await.unwrap().unwrap();
    assert_eq!(owner, world.user.id);
    assert_eq!(
        used,
        Token {
            project_id: Some(world.project.id),
            last_used_at: Some(Timestamp(77)),
            ..laptop
        }
    );

    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { tokens::remove(tx, id).await })
        })
        .await
        .unwrap();
    assert!(tokens::grant_by_hash(&mut conn, [1; 32]).await.unwrap().is_none());
}

async fn a_token_name_is_taken_once_for_each_user(world: World) {
    add_token(&world, &token("laptop"), 1).await.unwrap();
    let again = add_token(&world, &token("laptop"), 2).await;
    assert_eq!(refused(again), Code::EntityDuplicate);
}

async fn open_session(world: &World, hash: u8, seconds: i64) -> accounts::Session {
    let user = world.user.id;
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                let session = accounts::Session {
                    id: tx.new_id(),
                    user_id: user,
                    expires_at: tx.now().plus_seconds(seconds),
                };
                accounts::open_session(tx, &session, [hash; 32]).await?;
                Ok(session)
            })
        })
        .await
        .unwrap()
}

async fn a_session_opens_and_closes(world: World) {
    let session = open_session(&world, 1, 60).await;
    open_session(&world, 2, 60).await;
    open_session(&world, 3, 60).await;
    let mut conn = world.read().await;
    let found = accounts::session_by_hash(&mut conn, [1; 32]).await.unwrap();
    assert_eq!(found, Some((session, world.user.clone())));
    let user = world.user.id;
    let closed = world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                let closed = [
                    accounts::close_session(tx, [1; 32]).await?,
                    accounts::close_session(tx, [1; 32]).await?,
                ];
                accounts::close_sessions(tx, user).await?;
                Ok(closed)
            })
        })
        .await
        .unwrap();
    assert_eq!(closed, [true, false]);
    for hash in 1..=3 {
        assert_eq!(
            accounts::session_by_hash(&mut conn, [hash; 32]).await.unwrap(),
            None
        );
    }
}

async fn sessions_that_ended_are_swept(world: World) {
    open_session(&world, 1, 0).await;
    open_session(&world, 2, 60).await;
    assert_eq!(world.place.number("SELECT count(*) FROM web_session").await, 1);
}

async fn recall(world: &World, key: &'static str, request: u8) -> Result<Option<String>> {
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { idempotency::recall(tx, key, [request; 32]).await })
        })
        .await
}

async fn remember(world: &World, key: &'static str, request: u8) {
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { idempotency::remember(tx, key, [request; 32], "the answer").await })
        })
        .await
        .unwrap();
}

async fn an_answer_is_given_twice_and_the_work_done_once(world: World) {
    assert_eq!(recall(&world, "k", 1).await.unwrap(), None);
    remember(&world, "k", 1).await;
    assert_eq!(
        recall(&world, "k", 1).await.unwrap().as_deref(),
        Some("the answer")
    );
    assert_eq!(refused(recall(&world, "k", 2).await), Code::RuleViolated);
    assert_eq!(recall(&world, "other", 1).await.unwrap(), None);
}

async fn an_answer_is_forgotten_after_a_day(world: World) {
    remember(&world, "old", 1).await;
    world
        .place
        .meddle("UPDATE idempotency SET created_at = created_at - 86400000000")
        .await;
    assert_eq!(
        recall(&world, "old", 2).await.unwrap(),
        None,
        "the key is free again"
    );
    remember(&world, "old", 2).await;
    assert_eq!(world.place.number("SELECT count(*) FROM idempotency").await, 1);
}

async fn what_happened_at_the_door_is_told_newest_first(world: World) {
    for n in 0..7 {
        world
            .store
            .write(world.actor(), move |tx| {
                Box::pin(async move {
                    let event = AuditEvent {
                        id: tx.new_id(),
                        at: tx.now(),
                        event: "login_failed".into(),
                        username: format!("user {n}"),
                        token_id: None,
                        address: "::1".into(),
                        client: String::new(),
                        detail: String::new(),
                        target_id: None,
                        target: String::new(),
                        times: 1,
                    };
                    audit::insert(tx, &[event]).await
                })
            })
            .await
            .unwrap();
    }
    for limit in 1..=8 {
        let mut seen = Vec::new();
        let mut request = PageRequest {
            limit,
            ..PageRequest::default()
        };
        loop {
            let page = audit::page(
                &mut world.read().await,
                &spexus_domain::audit::EventFilter::default(),
                &request,
            )
            .await
            .unwrap();
            assert_eq!(page.total_count, Some(7));
            seen.extend(page.data.into_iter().map(|event| event.username));
            match page.next_cursor {
                None => break,
                cursor => request.cursor = cursor,
            }
        }
        let expect: Vec<String> = (0..7).rev().map(|n| format!("user {n}")).collect();
        assert_eq!(seen, expect, "by {limit}");
    }
}

async fn projects_are_kept(world: World) {
    let mut other = crate::world::project("another");
    let wanted = other.clone();
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { projects::insert(tx, &wanted).await })
        })
        .await
        .unwrap();
    other.name = "Другой".into();
    other.rev = 2;
    let changed = other.clone();
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { projects::update(tx, &changed).await })
        })
        .await
        .unwrap();
    let mut conn = world.read().await;
    assert_eq!(
        projects::by_id(&mut conn, other.id).await.unwrap(),
        Some(other.clone())
    );
    assert_eq!(
        projects::by_key(&mut conn, "another").await.unwrap(),
        Some(other.clone())
    );
    assert_eq!(projects::by_key(&mut conn, "nothing").await.unwrap(), None);
    assert_eq!(
        projects::all(&mut conn).await.unwrap(),
        [other, world.project.clone()]
    );
}

async fn settings_are_kept(world: World) {
    let mut conn = world.read().await;
    assert_eq!(
        settings::requirement_types(&mut conn).await.unwrap(),
        RequirementType::shipped()
    );
    assert_eq!(
        settings::link_types(&mut conn).await.unwrap(),
        spexus_domain::link::LinkType::shipped()
    );
    let shipped = Workflow::shipped(Kind::Epic);
    assert_eq!(settings::workflow(&mut conn, Kind::Epic).await.unwrap(), shipped);
    assert_eq!(
        settings::workflow(&mut conn, Kind::SteeringDocument)
            .await
            .unwrap(),
        None
    );
    let epic = world.epic("in use").await;
    let story = world.story(&epic, "s").await;
    world.requirement(&story, "r").await;
    world.link("depends_on", &epic, &story).await.unwrap();
    assert_eq!(
        settings::statuses_in_use(&mut conn, Kind::Epic).await.unwrap(),
        ["Draft"]
    );
    assert_eq!(
        settings::count_of_requirement_type(&mut conn, "Functional")
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        settings::count_of_link_type(&mut conn, "depends_on")
            .await
            .unwrap(),
        1
    );
    let mut changed = shipped.unwrap();
    changed.rev = 9;
    changed.transitions.pop();
    let wanted = changed.clone();
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                settings::put_workflow(tx, &wanted).await?;
                settings::remove_requirement_type(tx, "Data").await?;
                settings::remove_link_type(tx, "guides").await
            })
        })
        .await
        .unwrap();
    assert_eq!(
        settings::workflow(&mut conn, Kind::Epic).await.unwrap(),
        Some(changed)
    );
    assert_eq!(settings::requirement_types(&mut conn).await.unwrap().len(), 4);
    assert_eq!(settings::link_types(&mut conn).await.unwrap().len(), 7);
}

async fn a_secret_is_kept_as_it_was_first(world: World) {
    for value in [1, 2] {
        world
            .store
            .write(world.actor(), move |tx| {
                Box::pin(async move { settings::put_secret(tx, "key", [value; 32]).await })
            })
            .await
            .unwrap();
    }
    let kept = settings::secret(&mut world.read().await, "key").await.unwrap();
    assert_eq!(kept, Some(vec![1; 32]));
}
