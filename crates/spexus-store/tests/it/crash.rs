//! Crashes: a process that is killed in the middle of its writes has lost nothing it said was done.
//!
//! The test executable starts itself as the victim (see [`the_victim`]): it creates items as fast as it can, from several
//! tasks, and prints the reference id of each when the store has answered. The parent kills it with SIGKILL after a
//! number of lines that differs from round to round, reads what was still in the pipe, and looks at the database.

use crate::world::{Place, World, actor_of, create_in};
use spexus_domain::Kind;
use spexus_store::Location;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};

const DATABASE: &str = "SPEXUS_STORE_CRASH_DATABASE";
const ROUNDS: usize = 30;
const VICTIM: &str = "crash::the_victim";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_write_is_ever_missing_sqlite() {
    kill_again_and_again(World::on_sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_write_is_ever_missing_postgres() {
    if let Some(world) = World::on_postgres().await {
        kill_again_and_again(world).await;
    }
}

async fn kill_again_and_again(world: World) {
    let mut acknowledged = Vec::new();
    for round in 0..ROUNDS {
        let before = acknowledged.len();
        acknowledged.extend(kill_after(&world.place.url(), 1 + (round * 7) % 23));
        assert!(acknowledged.len() > before, "the victim did something");
        // PostgreSQL may still be ending the victim's last transaction; taking the writer's lock waits for that.
        world.epic("after the crash").await;
        everything_is_there(&world, &acknowledged).await;
        nothing_is_half_written(&world.place).await;
    }
}

/// Lets a victim write until it has printed so many lines, kills it, and returns all that it had said was done.
fn kill_after(database: &str, lines: usize) -> Vec<String> {
    let mut victim = start(database);
    let mut said = BufReader::new(victim.stdout.take().unwrap());
    let mut acknowledged = Vec::new();
    let mut line = String::new();
    while acknowledged.len() < lines {
        line.clear();
        assert!(
            said.read_line(&mut line).unwrap() > 0,
            "the victim ended by itself"
        );
        acknowledged.extend(reference_in(&line));
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    // The last line may be cut off: without its end it says nothing.
    let whole = rest.rfind('\n').map_or("", |end| &rest[..end]);
    acknowledged.extend(whole.lines().filter_map(reference_in));
    acknowledged
}

fn start(database: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", VICTIM, "--nocapture", "--test-threads=1"])
        .env(DATABASE, database)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn reference_in(line: &str) -> Option<String> {
    Some(line.trim().strip_prefix("done ")?.to_owned())
}

/// What the tests above start in a process of its own, to kill it; without a database it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_victim() {
    let Ok(url) = std::env::var(DATABASE) else { return };
    let place = Place::of(Location::parse(&url).unwrap());
    let (store, _) = place.open().await.unwrap();
    let world = World::again(store, place).await;
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (store, user, draft) = (
            world.store.clone(),
            world.user.clone(),
            world.draft(Kind::Epic, "written before a crash"),
        );
        writers.spawn(async move {
            loop {
                let made = create_in(&store, actor_of(&user), draft.clone()).await.unwrap();
                let line = format!("done {}\n", made.reference_id);
                std::io::stdout().write_all(line.as_bytes()).unwrap();
            }
        });
    }
    writers.join_next().await;
}

async fn everything_is_there(world: &World, acknowledged: &[String]) {
    let there = world.place.texts("SELECT CAST(number AS text) FROM item").await;
    let there: BTreeSet<String> = there.iter().map(|number| format!("EP-{number:0>3}")).collect();
    let missing: Vec<&String> = acknowledged.iter().filter(|id| !there.contains(*id)).collect();
    assert!(missing.is_empty(), "acknowledged and missing: {missing:?}");
    world.chain_is_whole().await;
}

//= specs/spexus-store.md#history
//= type=test
//# A change and its row in the ledger MUST be committed in one transaction.
async fn nothing_is_half_written(place: &Place) {
    let half = [
        "(SELECT count(*) FROM item WHERE NOT EXISTS (SELECT 1 FROM change WHERE change.item_id = item.id))",
        "(SELECT count(*) FROM item WHERE NOT EXISTS (SELECT 1 FROM search_doc WHERE search_doc.item_id = item.id))",
        "(SELECT count(*) FROM change WHERE NOT EXISTS (SELECT 1 FROM item WHERE item.id = change.item_id))",
        "abs((SELECT max(number) FROM item) - (SELECT last FROM counter WHERE prefix = 'EP'))",
        "abs((SELECT count(*) FROM item) - (SELECT last FROM counter WHERE prefix = 'EP'))",
        "abs((SELECT count(*) FROM item) - (SELECT CAST(sum(n) AS bigint) FROM item_count))",
    ];
    let all = format!("SELECT {}", half.join(" + "));
    if place.number(&all).await != 0 {
        for one in half {
            assert_eq!(place.number(&format!("SELECT {one}")).await, 0, "{one}");
        }
    }
}
