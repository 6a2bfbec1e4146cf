//! The door: logging in and out, tokens, sessions, and the trail of it.

use crate::harness::{ADMIN_PASSWORD, Server, on_both};
use reqwest::Method;
use serde_json::{Value, json};

async fn try_login(server: &Server, username: &str, password: &str) -> crate::harness::Reply {
    let body = json!({"username": username, "password": password});
    server
        .send("", Method::POST, "/api/v1/auth/login", Some(body), &[])
        .await
}

async fn profile(server: &Server, secret: &str) -> crate::harness::Reply {
    server
        .send(secret, Method::GET, "/api/v1/auth/profile", None, &[])
        .await
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Fails so often that the next attempt has to wait two seconds.
async fn fail_six_times(server: &Server, username: &str) {
    for _ in 0..6 {
        try_login(server, username, "wrong").await.refused(401, 1013);
    }
}

on_both! {
    //= specs/spexus-http.md#sessions
    //= type=test
    //# The cookie of a session MUST be hidden from scripts and never sent along from other sites.
    async fn a_session_is_opened_and_closed(server) {
        let reply = try_login(server, "Admin", ADMIN_PASSWORD).await;
        let cookie = reply.headers["set-cookie"].to_str().unwrap().to_owned();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains("Secure"), "{cookie}");
        let session = reply.ok();
        let secret = text(&session["token"]);
        assert!(cookie.starts_with(&format!("spexus_session={secret};")));
        assert_eq!(session["user"]["username"], "admin");
        assert_eq!(profile(server, &secret).await.ok()["role"], "Administrator");
        let closed = server.send(&secret, Method::POST, "/api/v1/auth/logout", None, &[]).await;
        assert_eq!(closed.status, 204);
        assert!(closed.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
        profile(server, &secret).await.refused(401, 1011);
        let token = server.post("/api/v1/tokens", json!({"name": "t"})).await.created();
        server.send(&text(&token["token"]), Method::POST, "/api/v1/auth/logout", None, &[]).await.refused(409, 1054);
    }

    //= specs/spexus-service.md#logging-in
    //= type=test
    //# An unknown name, a disabled account and a wrong password MUST be answered alike.
    async fn unknown_names_and_wrong_passwords_are_answered_alike(server) {
        server.user("gone", "User").await;
        server.delete("/api/v1/users/gone").await.ok();
        let mut answers = vec![];
        for (username, password) in [("admin", "wrong"), ("nobody", "wrong"), ("gone", "long enough"), ("", ""), ("admin'--", "x")] {
            let reply = try_login(server, username, password).await;
            assert_eq!(reply.headers["www-authenticate"], "Bearer realm=\"spexus\"");
            reply.headers.get("set-cookie").is_none().then_some(()).unwrap();
            answers.push((reply.status, reply.body));
        }
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{answers:?}");
    }

    //= specs/spexus-service.md#logging-in
    //= type=test
    //# After five failed logins of a name from a network, each further one MUST double the wait, up to 15 minutes.
    async fn failures_slow_the_next_attempt_down(server) {
        server.user("kim", "User").await;
        fail_six_times(server, "kim").await;
        for password in ["wrong", "long enough"] {
            let reply = try_login(server, "KIM", password).await;
            assert_eq!(reply.headers["retry-after"], "2", "whatever the letter case and the password");
            reply.refused(429, 1056);
        }
        try_login(server, "admin", ADMIN_PASSWORD).await.ok();
        server.jump(3);
        try_login(server, "kim", "wrong").await.refused(401, 1013);
        assert_eq!(try_login(server, "kim", "long enough").await.headers["retry-after"], "4");
        server.jump(5);
        try_login(server, "kim", "long enough").await.ok();
        try_login(server, "kim", "wrong").await.refused(401, 1013);
        try_login(server, "kim", "long enough").await.ok();
    }

    async fn nobody_waits_longer_than_a_quarter_of_an_hour(server) {
        server.user("kim", "User").await;
        fail_six_times(server, "kim").await;
        for _ in 0..70 {
            server.jump(1_000);
            try_login(server, "kim", "wrong").await.refused(401, 1013);
        }
        assert_eq!(try_login(server, "kim", "long enough").await.headers["retry-after"], "900");
        server.jump(901);
        try_login(server, "kim", "long enough").await.ok();
    }

    // Found here: a clock set back kept a name out until the old time was reached again.
    //= specs/spexus-service.md#logging-in
    //= type=test
    //# A clock that is set back MUST NOT make anyone wait longer.
    async fn a_clock_set_back_makes_nobody_wait_longer(server) {
        server.user("kim", "User").await;
        fail_six_times(server, "kim").await;
        server.jump(-36_000);
        assert_eq!(try_login(server, "kim", "long enough").await.headers["retry-after"], "2");
        server.jump(3);
        try_login(server, "kim", "long enough").await.ok();
    }

    // Found here: guesses sent at once all passed before the first of them was counted.
    async fn a_flood_of_guesses_is_slowed_down_like_a_trickle(server) {
        server.user("kim", "User").await;
        let server = &*server;
        let guesses = (0..60).map(|_| async move { try_login(server, "kim", "wrong").await.status });
        let answers = futures_util::future::join_all(guesses).await;
        let tried = answers.iter().filter(|status| **status == 401).count();
        assert!((1..=10).contains(&tried) && answers.iter().all(|status| [401, 429].contains(status)), "{answers:?}");
    }

    async fn tokens_and_sessions_expire_with_the_clock(server) {
        let made = server.post("/api/v1/tokens", json!({"name": "hour", "expires": "1h"})).await.created();
        let (hour, session) = (text(&made["token"]), text(&server.login("admin", ADMIN_PASSWORD).await["token"]));
        let forever = text(&server.post("/api/v1/tokens", json!({"name": "forever"})).await.created()["token"]);
        server.jump(-7_200);
        profile(server, &hour).await.ok();
        server.jump(7_200 + 3_590);
        profile(server, &hour).await.ok();
        server.jump(20);
        profile(server, &hour).await.refused(401, 1012);
        profile(server, &session).await.ok();
        server.jump(12 * 3_600);
        profile(server, &session).await.refused(401, 1012);
        profile(server, &forever).await.ok();
    }

    //= specs/spexus-service.md#tokens
    //= type=test
    //# The secret of a token MUST be shown once, when it is made, and kept nowhere but as a keyed hash.
    async fn a_token_is_shown_once_and_its_use_is_noted(server) {
        let made = server.post("/api/v1/tokens", json!({"name": "laptop", "scopes": ["read", "comment"]})).await.created();
        let secret = text(&made["token"]);
        assert_eq!((secret.len(), &secret[..8]), (51, "mcp_pat_"));
        server.service.flush().await;
        // The first one is the harness' own.
        let listed = server.get("/api/v1/tokens").await.ok();
        assert_eq!((&listed["data"][1]["last_used_at"], &listed["data"][1]["scopes"]), (&Value::Null, &json!(["read", "comment"])));
        profile(server, &secret).await.ok();
        server.service.flush().await;
        let listed = server.get("/api/v1/tokens").await.ok();
        assert!(listed["data"][1]["last_used_at"].is_string(), "{listed}");
        for path in ["/api/v1/tokens", "/api/v1/changes?limit=200", "/api/v1/audit/events?limit=200", "/api/v1/users/me"] {
            assert!(!server.get(path).await.ok().to_string().contains(&secret[8..]), "{path} shows the secret");
        }
        assert_eq!(server.delete(&format!("/api/v1/tokens/{}", text(&made["id"]))).await.ok()["name"], "laptop");
        profile(server, &secret).await.refused(401, 1011);
    }

    async fn other_peoples_tokens_do_not_exist(server) {
        let kim = server.user("kim", "User").await;
        let made = server.post("/api/v1/tokens", json!({"name": "mine"})).await.created();
        let path = format!("/api/v1/tokens/{}", text(&made["id"]));
        server.send(&kim, Method::DELETE, &path, None, &[]).await.refused(404, 1046);
        server.send(&kim, Method::GET, "/api/v1/tokens?user=admin", None, &[]).await.refused(403, 1014);
        server.send(&kim, Method::POST, "/api/v1/tokens?user=admin", Some(json!({"name": "x"})), &[]).await.refused(403, 1014);
        server.send(&kim, Method::GET, "/api/v1/users/admin", None, &[]).await.refused(403, 1014);
        let (_, people) = server.as_token(&kim, Method::GET, "/api/v1/users", None).await;
        assert!(people["data"][0].get("email").is_none() && people["data"][0]["username"].is_string());
    }

    //= specs/spexus-service.md#audit
    //= type=test
    //# Logins, failed logins, logouts, uses of tokens and refused tokens MUST be noted with name, address and program.
    async fn what_happens_at_the_door_is_noted(server) {
        let token = server.user("kim", "User").await;
        let session = text(&server.login("kim", "long enough").await["token"]);
        server.send(&session, Method::POST, "/api/v1/auth/logout", None, &[]).await;
        let headers = [("User-Agent", "audit-test/1")];
        server.send(&token, Method::GET, "/api/v1/epics", None, &headers).await.ok();
        server.send("mcp_pat_wrong", Method::GET, "/api/v1/epics", None, &headers).await.refused(401, 1011);
        try_login(server, "kim", "wrong").await.refused(401, 1013);
        try_login(server, "odd\n\u{1b}[31m", "wrong").await.refused(401, 1013);
        // Found here: PostgreSQL takes no NUL and answered 500.
        let error = try_login(server, "nul\u{0}", "wrong").await.refused(400, 1021);
        assert_eq!(error["fields"][0]["field"], "username");
        server.service.flush().await;
        let trail = server.get("/api/v1/audit/events?limit=200").await.ok();
        let events = trail["data"].as_array().unwrap();
        let find = |event: &str, username: &str| events.iter().find(|row| row["event"] == event && row["username"] == username);
        for (event, username) in [("login", "kim"), ("logout", "kim"), ("login_failed", "kim"), ("token_used", "kim"), ("token_refused", "")] {
            let row = find(event, username).unwrap_or_else(|| panic!("no {event} in {trail}"));
            assert_eq!(row["address"], "127.0.0.1");
        }
        assert_eq!(find("token_used", "kim").unwrap()["client"], "audit-test/1");
        let odd = events.iter().find(|row| text(&row["username"]).starts_with("odd")).unwrap();
        assert!(!text(&odd["username"]).contains(char::is_control));
    }

    //= specs/spexus-http.md#sessions
    //= type=test
    //# A write with a cookie MUST be refused unless its Origin is the address the server is reached by.
    async fn a_cookie_writes_only_from_our_own_pages(server) {
        let secret = text(&server.login("admin", ADMIN_PASSWORD).await["token"]);
        let cookie = format!("theme=dark; spexus_session={secret}; other=1");
        let own = server.url.clone();
        let create = |origin: Option<String>| {
            let cookie = cookie.clone();
            let server = &*server;
            async move {
                let mut headers = vec![("Cookie", cookie.as_str())];
                headers.extend(origin.as_deref().map(|origin| ("Origin", origin)));
                server.send("", Method::POST, "/api/v1/epics", Some(json!({"title": "x"})), &headers).await.status
            }
        };
        assert_eq!(server.send("", Method::GET, "/api/v1/epics", None, &[("Cookie", &cookie)]).await.status, 200);
        assert_eq!(create(Some(own.clone())).await, 201);
        for foreign in [None, Some("null".to_owned()), Some("https://evil.example".into()), Some(format!("{own}.evil.example")), Some(format!("http://x@{}", &own[7..]))] {
            assert_eq!(create(foreign.clone()).await, 403, "{foreign:?}");
        }
        assert_eq!(server.send("", Method::GET, "/api/v1/epics", None, &[("Cookie", "spexus_session=")]).await.status, 401);
    }

    //= specs/spexus-service.md#accounts
    //= type=test
    //# A new password MUST end all sessions of the account.
    async fn a_password_change_needs_the_old_one_and_ends_sessions(server) {
        let token = server.user("kim", "User").await;
        let sessions = [text(&server.login("kim", "long enough").await["token"]), text(&server.login("kim", "long enough").await["token"])];
        let change = |old: &str, new: &str| Some(json!({"current_password": old, "new_password": new}));
        let path = "/api/v1/auth/password";
        server.send(&sessions[0], Method::POST, path, change("wrong", "even longer"), &[]).await.refused(401, 1013);
        server.send(&sessions[0], Method::POST, path, change("long enough", "short"), &[]).await.refused(400, 1021);
        assert_eq!(server.send(&sessions[0], Method::POST, path, change("long enough", "even longer"), &[]).await.status, 204);
        for session in &sessions {
            profile(server, session).await.refused(401, 1011);
        }
        profile(server, &token).await.ok();
        try_login(server, "kim", "long enough").await.refused(401, 1013);
        server.login("kim", "even longer").await;
    }

    //= specs/spexus-service.md#accounts
    //= type=test
    //# The last active administrator MUST keep the role and the account.
    async fn the_last_administrator_stays(server) {
        server.patch("/api/v1/users/admin", json!({"role": "User"})).await.refused(409, 1054);
        server.patch("/api/v1/users/admin", json!({"active": false})).await.refused(409, 1054);
        server.delete("/api/v1/users/me").await.refused(409, 1054);
        server.user("root", "Administrator").await;
        server.delete("/api/v1/users/root").await.ok();
        server.patch("/api/v1/users/admin", json!({"role": "User"})).await.refused(409, 1054);
        server.user("root2", "Administrator").await;
        server.patch("/api/v1/users/admin", json!({"role": "User"})).await.ok();
    }

    async fn names_that_mean_something_else_are_not_given(server) {
        for name in ["me", "None", "0191d5e5-0000-7000-8000-000000000000"] {
            let body = json!({"username": name, "password": "long enough", "role": "User"});
            let error = server.post("/api/v1/users", body).await.refused(400, 1021);
            assert_eq!(error["fields"][0]["field"], "username");
        }
    }

    async fn broken_authorization_is_refused_and_never_a_fault(server) {
        let long = format!("Bearer mcp_pat_{}", "x".repeat(8_000));
        for value in ["Bearer", "Bearer ", "Basic YWRtaW46eA==", "bearer mcp_pat_x", "mcp_pat_x", "Bearer spexus_session_' OR 1=1", &long, "Bearer é"] {
            let reply = server.send("", Method::GET, "/api/v1/epics", None, &[("Authorization", value)]).await;
            assert_eq!(reply.status, 401, "{value}: {}", reply.body);
        }
    }
}
