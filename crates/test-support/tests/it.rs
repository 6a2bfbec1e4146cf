//! The throw-away PostgreSQL, from outside: databases are fresh, shared servers are swept, nothing outlives a kill.

#![allow(clippy::unwrap_used, reason = "a test's failure is a panic")]

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::{Connection as _, PgConnection, Row as _};

#[tokio::test]
async fn every_caller_gets_an_empty_database_of_its_own() {
    let (Some(one), Some(two)) = (test_support::fresh_database(), test_support::fresh_database()) else {
        return;
    };
    assert_ne!(one, two);
    for url in [one, two] {
        let mut db = PgConnection::connect(&url).await.unwrap();
        sqlx::raw_sql("CREATE TABLE a (b text)")
            .execute(&mut db)
            .await
            .unwrap();
        let row = sqlx::query("SELECT lower('ПРИВЕТ')")
            .fetch_one(&mut db)
            .await
            .unwrap();
        assert_eq!(
            row.get::<String, _>(0),
            "привет",
            "the locale knows letters beyond ASCII"
        );
    }
}

#[tokio::test]
async fn a_durable_server_keeps_what_it_committed_before_a_crash() {
    let Some(mut server) = test_support::durable_postgres() else {
        return;
    };
    let url = server.fresh_database();
    let mut db = PgConnection::connect(&url).await.unwrap();
    for statement in ["CREATE TABLE a (b text)", "INSERT INTO a VALUES ('kept')"] {
        sqlx::raw_sql(statement).execute(&mut db).await.unwrap();
    }
    server.crash().unwrap();
    assert!(
        sqlx::raw_sql("SELECT 1").execute(&mut db).await.is_err(),
        "it is down"
    );
    server.recover().unwrap();
    let mut db = PgConnection::connect(&url).await.unwrap();
    let row = sqlx::query("SELECT b FROM a").fetch_one(&mut db).await.unwrap();
    assert_eq!(row.get::<String, _>(0), "kept");
}

#[test]
fn nothing_is_left_after_a_kill() {
    let Some((mut runner, url)) = lend() else { return };
    let address = address(&url);
    assert!(
        TcpStream::connect(&address).is_ok(),
        "{address} answers while it is lent"
    );
    runner.kill().unwrap();
    runner.wait().unwrap();
    wait_until("the server is gone", || TcpStream::connect(&address).is_err());
}

#[tokio::test]
async fn a_shared_server_is_swept_when_its_user_ends() {
    let Some((mut runner, url)) = lend() else { return };
    let user = Command::new(env!("CARGO_BIN_EXE_with-postgres"))
        .args(["sh", "-c", "echo $SPEXUS_TEST_POSTGRES"])
        .env(test_support::ADMIN_URL_VARIABLE, &url)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(user.stdout).unwrap().trim(),
        url,
        "a lent server is lent on"
    );

    let test = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "every_caller_gets_an_empty_database_of_its_own"])
        .env(test_support::ADMIN_URL_VARIABLE, &url)
        .output()
        .unwrap();
    assert!(test.status.success());
    let mut db = PgConnection::connect(&url).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while databases(&mut db).await > 0 {
        assert!(
            Instant::now() < deadline,
            "the databases of a finished test process are still there"
        );
        tokio::task::yield_now().await;
    }
    runner.kill().unwrap();
    runner.wait().unwrap();
}

#[test]
fn the_exit_code_is_the_commands() {
    let status = Command::new(env!("CARGO_BIN_EXE_with-postgres"))
        .args(["sh", "-c", "exit 7"])
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(7));
}

/// A process that lends a server until it is ended, and the server's URL.
fn lend() -> Option<(Child, String)> {
    let mut runner = Command::new(env!("CARGO_BIN_EXE_with-postgres"))
        .args(["sh", "-c", "echo $SPEXUS_TEST_POSTGRES; exec cat"])
        .env_remove(test_support::ADMIN_URL_VARIABLE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(runner.stdout.take().unwrap())
        .read_line(&mut url)
        .unwrap();
    let url = url.trim().to_owned();
    (!url.is_empty()).then_some((runner, url))
}

fn address(url: &str) -> String {
    let after_password = url.split_once('@').unwrap().1;
    after_password.split_once('/').unwrap().0.to_owned()
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

async fn databases(db: &mut PgConnection) -> i64 {
    let count = "SELECT count(*) FROM pg_database WHERE datname LIKE 'test\\_%'";
    sqlx::query(count).fetch_one(db).await.unwrap().get(0)
}
