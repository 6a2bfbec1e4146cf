//! Tables: made once, found again, and never forced on a database that is not ours.

use crate::world::{Place, World, both, refused};
use spexus_domain::{Code, Kind};
use spexus_store::{Error, Location, Store, StoreOptions};

both![
    a_fresh_database_is_prepared_once,
    two_processes_may_prepare_at_once,
    a_foreign_database_is_refused_and_left_alone,
    a_newer_database_is_refused,
    a_running_node_notices_that_the_tables_moved_on,
    nothing_is_made_where_tables_are_not_to_be_made,
];

async fn a_fresh_database_is_prepared_once(world: World) {
    let place = world.place.another();
    let (first, fresh) = place.open().await.unwrap();
    assert!(fresh, "it was empty");
    first.ping().await.unwrap();
    let (_second, fresh) = place.open().await.unwrap();
    assert!(!fresh, "it was prepared before");
    assert_eq!(place.number("SELECT count(*) FROM schema_version").await, 1);
}

//= specs/spexus-store.md#schema
//= type=test
//# An empty database MUST be given the tables of this program's version when it is opened, also when several processes open
//# it at once.
async fn two_processes_may_prepare_at_once(world: World) {
    for _ in 0..8 {
        let place = world.place.another();
        let (one, two) = tokio::join!(place.open(), place.open());
        let fresh = [one.unwrap().1, two.unwrap().1];
        assert_eq!(
            fresh.iter().filter(|fresh| **fresh).count(),
            1,
            "exactly one of them made the tables"
        );
    }
}

//= specs/spexus-store.md#schema
//= type=test
//# A database that holds tables of another program, or of a newer version of this one, MUST be refused and left as it is.
async fn a_foreign_database_is_refused_and_left_alone(world: World) {
    let place = world.place.another();
    if let Location::File(path) = &place.location {
        std::fs::write(path, "").unwrap();
    }
    place.meddle("CREATE TABLE invoices (total integer)").await;
    assert_eq!(
        refused(place.open().await.map(|(_, fresh)| fresh)),
        Code::ServiceUnavailable
    );
    let tables = if world.is_sqlite() {
        "SELECT name FROM sqlite_master WHERE type = 'table'"
    } else {
        "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()"
    };
    assert_eq!(place.texts(tables).await, ["invoices"]);
}

async fn a_newer_database_is_refused(world: World) {
    world
        .place
        .meddle("UPDATE schema_version SET version = version + 1")
        .await;
    assert_eq!(
        refused(world.place.open().await.map(|(_, fresh)| fresh)),
        Code::ServiceUnavailable
    );
}

//= specs/spexus-store.md#schema
//= type=test
//# A write MUST be refused when another process has meanwhile brought the database to a newer version.
async fn a_running_node_notices_that_the_tables_moved_on(world: World) {
    world.epic("before").await;
    world
        .place
        .meddle("UPDATE schema_version SET version = version + 1")
        .await;
    for _ in 0..2 {
        let late = world
            .try_create(world.draft(Kind::Epic, "by an old program"))
            .await;
        assert_eq!(refused(late), Code::ServiceUnavailable);
    }
    assert_eq!(world.place.number("SELECT count(*) FROM item").await, 1);
    world
        .place
        .meddle("UPDATE schema_version SET version = version - 1")
        .await;
    world.epic("after").await;
}

//= specs/spexus-store.md#schema
//= type=test
//# A database that is empty or of an older version MUST be refused and left as it is where tables are not to be made.
async fn nothing_is_made_where_tables_are_not_to_be_made(world: World) {
    let options = StoreOptions {
        may_prepare: false,
        ..StoreOptions::default()
    };
    world.place.open_with(&options).await.unwrap();
    let place = world.place.another();
    let empty = place.open_with(&options).await.map(|(_, fresh)| fresh);
    assert_eq!(refused(empty), Code::ServiceUnavailable);
    let tables = if world.is_sqlite() {
        "SELECT count(*) FROM sqlite_master"
    } else {
        "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"
    };
    assert_eq!(place.number(tables).await, 0);
    place.open().await.unwrap();
    place.meddle("UPDATE schema_version SET version = 1").await;
    let older = place.open_with(&options).await.map(|(_, fresh)| fresh);
    assert_eq!(refused(older), Code::ServiceUnavailable);
    assert_eq!(place.number("SELECT version FROM schema_version").await, 1);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_in_words() {
    let place = Place::sqlite();
    let Location::File(path) = &place.location else {
        unreachable!("it is a file");
    };
    std::fs::write(path, "Dear diary, today I was not a database.\n".repeat(100)).unwrap();
    let refused = Store::open(&place.location, &StoreOptions::default(), crate::world::ticking()).await;
    let Err(Error::Refused(refusal)) = refused.map(|(_, fresh)| fresh) else {
        panic!("a diary was opened");
    };
    assert_eq!(refusal.code, Code::ServiceUnavailable);
    assert!(refusal.message.contains("not a database"), "{}", refusal.message);
}

#[tokio::test]
async fn a_folder_that_is_missing_is_told_as_unavailable() {
    let location = Location::File("/nowhere/at/all/store.db".into());
    let failed = Store::open(&location, &StoreOptions::default(), crate::world::ticking()).await;
    assert!(matches!(
        failed.map(|(_, fresh)| fresh),
        Err(Error::Unavailable(_))
    ));
}

#[test]
fn a_location_is_a_file_or_a_server() {
    assert_eq!(
        Location::parse("sqlite:a b.db"),
        Ok(Location::File("a b.db".into()))
    );
    assert_eq!(
        Location::parse("sqlite:///tmp/x.db"),
        Ok(Location::File("/tmp/x.db".into()))
    );
    assert!(matches!(
        Location::parse("postgres://h/db"),
        Ok(Location::Server(_))
    ));
    for bad in [
        "",
        "sqlite:",
        "mysql://h/db",
        "file.db",
        "sqlite::memory:",
        "sqlite:a\0b",
    ] {
        assert_eq!(
            Location::parse(bad).unwrap_err().faults[0].field,
            "database",
            "{bad:?}"
        );
    }
}
