//! What a token can make of itself, and how many there can be.

use crate::harness::{Server, on_both};
use reqwest::Method;
use serde_json::{Value, json};

async fn make(server: &Server, with: &str, wanted: Value) -> crate::harness::Reply {
    server
        .send(with, Method::POST, "/api/v1/tokens", Some(wanted), &[])
        .await
}

fn secret(made: &Value) -> String {
    made["token"].as_str().unwrap().to_owned()
}

on_both! {
    // Found by review (S-M2): a token of one hour made one that never ended.
    //= specs/spexus-service.md#tokens
    //= type=test
    //# A token MUST NOT be made with one that stops working earlier.
    async fn a_token_makes_none_that_outlives_it(server) {
        let hour = make(server, &server.token, json!({"name": "hour", "scopes": ["admin"], "expires": "1h"})).await.created();
        let hour_secret = secret(&hour);
        for later in ["never", "2h", "2099-01-01"] {
            let error = make(server, &hour_secret, json!({"name": "x", "scopes": ["admin"], "expires": later})).await.refused(400, 1021);
            assert_eq!(error["fields"][0]["field"], "expires", "{later}");
        }
        let silent = make(server, &hour_secret, json!({"name": "silent", "scopes": ["admin"]})).await.created();
        assert_eq!(silent["expires_at"], hour["expires_at"], "as long as it can be");
        make(server, &hour_secret, json!({"name": "shorter", "scopes": ["admin"], "expires": "30m"})).await.created();
        server.jump(3_700);
        assert_eq!(make(server, &secret(&silent), json!({"name": "late"})).await.status, 401);
    }

    //= specs/spexus-service.md#tokens
    //= type=test
    //# A token that is made without saying what for MUST be for reading, and MUST stop working after 90 days.
    async fn a_token_made_without_a_word_reads_for_ninety_days(server) {
        let made = make(server, &server.token, json!({"name": "plain"})).await.created();
        assert_eq!(made["scopes"], json!(["read"]));
        let plain = secret(&made);
        assert_eq!(server.as_token(&plain, Method::GET, "/api/v1/epics", None).await.0, 200);
        assert_eq!(server.as_token(&plain, Method::POST, "/api/v1/epics", Some(json!({"title": "x"}))).await.0, 403);
        server.jump(89 * 86_400);
        assert_eq!(server.as_token(&plain, Method::GET, "/api/v1/epics", None).await.0, 200);
        server.jump(2 * 86_400);
        assert_eq!(server.as_token(&plain, Method::GET, "/api/v1/epics", None).await.0, 401);
    }

    //= specs/spexus-service.md#tokens
    //= type=test
    //# A user MUST NOT have more working tokens than the limit.
    async fn a_user_has_so_many_tokens_and_no_more(server) {
        server.user("kim", "User").await;
        let path = "/api/v1/tokens?user=kim";
        server.post(path, json!({"name": "short", "expires": "1h"})).await.created();
        for at in 2..100 {
            server.post(path, json!({"name": format!("t{at}")})).await.created();
        }
        let error = server.post(path, json!({"name": "one too many"})).await.refused(409, 1054);
        assert_eq!(error["facts"]["max_tokens_per_user"], "100");
        make(server, &server.token, json!({"name": "another user's"})).await.created();
        server.jump(3_700);
        server.post(path, json!({"name": "in place of the expired one"})).await.created();
    }
}
