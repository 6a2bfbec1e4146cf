//! Accounts and sessions: who may be whom, and what ends with what.

use crate::world::{ADMIN_PASSWORD, PASSWORD, Refused, World, both};
use serde_json::json;
use spexus_domain::Ruled;
use spexus_service::Origin;
use spexus_service::account::login;
use spexus_service::account::user::{self, Tokens};

both![
    a_session_is_opened_and_closed,
    unknown_names_and_wrong_passwords_are_answered_alike,
    a_password_change_needs_the_old_one_and_ends_sessions,
    a_new_password_keeps_tokens_unless_they_are_to_go,
    the_last_administrator_stays,
    names_that_mean_something_else_are_not_given,
    changes_of_rights_bite_at_once,
    a_disabled_account_that_comes_back_has_no_keys,
    a_password_everybody_tries_first_is_not_taken,
];

async fn session(world: &World, username: &str, password: &str) -> String {
    world
        .log_in("127.0.0.1", username, password)
        .await
        .map(|opened| opened.token)
        .unwrap()
}

/// What comes of an attempt to make something.
async fn write(world: &World, secret: &str) -> Ruled<()> {
    let client = world.client(secret).await?;
    client.create("epic", json!({"title": "x"})).await.map(drop)
}

/// The number of the refusal; 0 for none.
fn number(outcome: Ruled<()>) -> u16 {
    outcome.map_or_else(|refusal| refusal.code.number(), |()| 0)
}

async fn reset(world: &World, username: &str, password: &str, tokens: Tokens) -> Ruled<()> {
    let caller = &world.admin.caller;
    user::reset_password(&world.service, caller, username, password, tokens)
        .await
        .map(drop)
}

async fn a_session_is_opened_and_closed(world: &World) {
    let opened = world.log_in("127.0.0.1", "Admin", ADMIN_PASSWORD).await;
    let opened = opened.map_err(|refusal| panic!("{refusal:?}")).unwrap();
    assert_eq!(opened.user.username, "admin");
    let admin = world.client(&opened.token).await.unwrap();
    assert_eq!(admin.caller.role.name(), "Administrator");
    let (service, origin) = (&world.service, Origin::default());
    login::logout(service, &admin.caller, &opened.token, &origin)
        .await
        .unwrap();
    world.client(&opened.token).await.map(drop).refused(1011);
    let token = world.token_of("admin", json!({"name": "t"})).await;
    login::logout(service, &admin.caller, &token, &origin)
        .await
        .refused(1054);
}

//= specs/spexus-service.md#logging-in
//= type=test
//# An unknown name, a disabled account and a wrong password MUST be answered alike.
async fn unknown_names_and_wrong_passwords_are_answered_alike(world: &World) {
    world.user("gone", "User").await;
    world.admin.disable_user("gone").await.unwrap();
    let mut answers = vec![];
    for (username, password) in [
        ("admin", "wrong"),
        ("nobody", "wrong"),
        ("gone", PASSWORD),
        ("", ""),
        ("admin'--", "x"),
    ] {
        let answer = world.log_in("127.0.0.1", username, password).await;
        answers.push(format!("{:?}", answer.map(drop).refused(1013)));
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
}

//= specs/spexus-service.md#accounts
//= type=test
//# A new password MUST end all sessions of the account.
async fn a_password_change_needs_the_old_one_and_ends_sessions(world: &World) {
    let token = world.user("kim", "User").await;
    let sessions = [
        session(world, "kim", PASSWORD).await,
        session(world, "kim", PASSWORD).await,
    ];
    let kim = world.client(&sessions[0]).await.unwrap();
    let change = async |old: &str, new: &str| {
        let origin = Origin::default();
        user::change_password(&world.service, &kim.caller, old, new, Tokens::Keep, &origin).await
    };
    change("wrong", "even longer").await.refused(1013);
    change(PASSWORD, "short").await.refused(1021);
    change(PASSWORD, "even longer").await.unwrap();
    for session in &sessions {
        world.client(session).await.map(drop).refused(1011);
    }
    world.client(&token).await.map(drop).unwrap();
    world
        .log_in("127.0.0.1", "kim", PASSWORD)
        .await
        .map(drop)
        .refused(1013);
    session(world, "kim", "even longer").await;
}

//= specs/spexus-service.md#accounts
//= type=test
//# A new password MUST revoke the tokens of the account when that is asked for, and keep them otherwise.
async fn a_new_password_keeps_tokens_unless_they_are_to_go(world: &World) {
    let token = world.user("kim", "User").await;
    reset(world, "kim", "another long one", Tokens::Keep)
        .await
        .unwrap();
    assert_eq!(number(write(world, &token).await), 0);
    reset(world, "kim", "yet another one", Tokens::Revoke)
        .await
        .unwrap();
    assert_eq!(number(write(world, &token).await), 1011);
}

//= specs/spexus-service.md#accounts
//= type=test
//# A password that is among those tried first, made of fewer than four different characters, or the user's own name MUST be refused when it is chosen.
async fn a_password_everybody_tries_first_is_not_taken(world: &World) {
    world.user("kim", "User").await;
    for known in ["12345678", "kim12345!", "Password1", "abcabcabc"] {
        reset(world, "kim", known, Tokens::Keep).await.refused(1021);
        let user = json!({"username": "new", "password": known, "role": "User"});
        if known != "kim12345!" {
            world.admin.create_user(user).await.refused(1021);
        }
    }
    world
        .log_in("127.0.0.1", "kim", PASSWORD)
        .await
        .map(drop)
        .unwrap();
}

//= specs/spexus-service.md#accounts
//= type=test
//# The last active administrator MUST keep the role and the account.
async fn the_last_administrator_stays(world: &World) {
    let admin = &world.admin;
    let demoted = || json!({"role": "User"});
    admin.update_user("admin", demoted()).await.refused(1054);
    admin
        .update_user("admin", json!({"active": false}))
        .await
        .refused(1054);
    admin.disable_user("me").await.refused(1054);
    world.user("root", "Administrator").await;
    admin.disable_user("root").await.unwrap();
    admin.update_user("admin", demoted()).await.refused(1054);
    world.user("root2", "Administrator").await;
    admin.update_user("admin", demoted()).await.unwrap();
}

async fn names_that_mean_something_else_are_not_given(world: &World) {
    for name in ["me", "None", "0191d5e5-0000-7000-8000-000000000000"] {
        let user = json!({"username": name, "password": PASSWORD, "role": "User"});
        let refusal = world.admin.create_user(user).await.refused(1021);
        assert_eq!(refusal.faults[0].field, "username");
    }
}

async fn changes_of_rights_bite_at_once(world: &World) {
    let admin = &world.admin;
    let token = world.user("kim", "User").await;
    let first = session(world, "kim", PASSWORD).await;
    let both = async |session: &str| {
        (
            number(write(world, &token).await),
            number(write(world, session).await),
        )
    };
    assert_eq!(both(&first).await, (0, 0));
    admin
        .update_user("kim", json!({"role": "Commenter"}))
        .await
        .unwrap();
    assert_eq!(both(&first).await, (1014, 1014));
    admin.update_user("kim", json!({"role": "User"})).await.unwrap();
    reset(world, "kim", "another one", Tokens::Keep).await.unwrap();
    assert_eq!(
        both(&first).await,
        (0, 1011),
        "a new password ends sessions, not tokens"
    );
    let second = session(world, "kim", "another one").await;
    let known = admin.tokens(Some("kim")).await.unwrap();
    admin
        .revoke(crate::client::uuid(&known["data"][0]["id"]))
        .await
        .unwrap();
    assert_eq!(both(&second).await, (1011, 0));
    admin.disable_user("kim").await.unwrap();
    assert_eq!(number(write(world, &second).await), 1011);
    world
        .log_in("127.0.0.1", "kim", "another one")
        .await
        .map(drop)
        .refused(1013);
}

//= specs/spexus-service.md#accounts
//= type=test
//# An account that is disabled MUST lose its tokens and sessions with the same transaction.
async fn a_disabled_account_that_comes_back_has_no_keys(world: &World) {
    let token = world.user("kim", "User").await;
    let opened = session(world, "kim", PASSWORD).await;
    world.admin.disable_user("kim").await.unwrap();
    world
        .admin
        .update_user("kim", json!({"active": true}))
        .await
        .unwrap();
    for secret in [token, opened] {
        world.client(&secret).await.map(drop).refused(1011);
    }
    session(world, "kim", PASSWORD).await;
}
