//! What checking a token costs, with as many tokens in the database as asked for. `cargo xtask bench rest` runs it and
//! sets the figure against a point read.
//!
//! Arguments: a database file and the number of tokens. It fills the database up to that number, checks one token many
//! times the way a server does, and prints the seconds one check takes: the median of many short rounds.
#![allow(clippy::print_stdout, reason = "the benchmark reads the figure from here")]

use spexus_domain::Timestamp;
use spexus_domain::account::NewToken;
use spexus_service::account::{login, token};
use spexus_service::{Origin, Service, ServiceOptions};
use spexus_store::Location;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

const ROUNDS: usize = 101;
const CHECKS: u32 = 1_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which file?")?;
    let tokens: usize = arguments.next().ok_or("how many tokens?")?.parse()?;
    let clock = Arc::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    });
    let options = ServiceOptions {
        admin_password: Some("only for measuring".into()),
        ..ServiceOptions::default()
    };
    let (service, _) = Service::open(&Location::File(file.into()), options, clock).await?;
    let secret = fill(&service, tokens).await?;
    let origin = Origin::default();
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CHECKS {
            token::authenticate(&service, &secret, &origin).await?;
        }
        rounds.push(start.elapsed().as_secs_f64() / f64::from(CHECKS));
    }
    rounds.sort_by(f64::total_cmp);
    println!("{}", rounds[ROUNDS / 2]);
    service.close().await;
    Ok(())
}

/// Makes tokens, many at once so that they share flushes, and gives the secret of the last one.
async fn fill(service: &Service, tokens: usize) -> Result<String, Box<dyn std::error::Error>> {
    let caller = login::local(service, None, "token_check").await?;
    let mut secret = String::new();
    let mut made = 0;
    while made < tokens {
        let group = (tokens - made).min(200);
        let making: Vec<_> = (0..group)
            .map(|at| {
                let (service, caller, name) =
                    (service.clone(), caller.clone(), format!("{tokens}-{}", made + at));
                tokio::spawn(async move {
                    token::create(
                        &service,
                        &caller,
                        None,
                        NewToken {
                            name,
                            ..NewToken::default()
                        },
                    )
                    .await
                })
            })
            .collect();
        for token in making {
            secret = token.await??.token;
        }
        made += group;
    }
    Ok(secret)
}
