//! The tables, and how a database of an older version gets them: numbered steps, each in one transaction, embedded in
//! the program.

use crate::engine::{Conn, Engine, params};
use crate::error::{Error, Result};
use crate::search;
use crate::tx::Tx;
use refusal::{Code, Refusal};

/// One step of the schema: the shared text and each engine's own.
struct Step {
    shared: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

const STEPS: &[Step] = &[
    Step {
        shared: include_str!("001_tables.sql"),
        sqlite: include_str!("001_sqlite.sql"),
        postgres: include_str!("001_postgres.sql"),
    },
    Step {
        shared: include_str!("002_tables.sql"),
        sqlite: "",
        postgres: "",
    },
    Step {
        shared: include_str!("003_root.sql"),
        sqlite: "",
        postgres: "",
    },
    Step {
        shared: include_str!("004_reference.sql"),
        sqlite: "",
        postgres: "",
    },
    Step {
        shared: include_str!("005_page_indexes.sql"),
        sqlite: "",
        postgres: "",
    },
    Step {
        shared: include_str!("006_door.sql"),
        sqlite: "",
        postgres: "",
    },
    Step {
        shared: include_str!("007_staging.sql"),
        sqlite: include_str!("007_sqlite.sql"),
        postgres: include_str!("007_postgres.sql"),
    },
    Step {
        shared: include_str!("008_stems.sql"),
        sqlite: "",
        postgres: "",
    },
    Step {
        shared: include_str!("009_app.sql"),
        sqlite: "",
        postgres: "",
    },
    //= specs/spexus-store.md#schema
    //# What users and commenters could do in every project they MUST be able to do in each, as authors and commenters, when a database
    //# from before there were members is brought up to date.
    Step {
        shared: include_str!("010_members.sql"),
        sqlite: "",
        postgres: "",
    },
];

/// The version since which words are stemmed as they are now.
const STEMS_SINCE: i64 = 8;

/// The version this program works with.
pub(crate) const VERSION: i64 = STEPS.len() as i64;

/// Brings a database to this program's version; several processes may try at once. Tells whether it was empty.
pub(crate) async fn prepare(conn: &mut Conn, may_prepare: bool) -> Result<bool> {
    let found = known_version(conn).await?;
    if found == VERSION {
        return Ok(false);
    }
    //= specs/spexus-store.md#schema
    //# A database that is empty or of an older version MUST be refused and left as it is where tables are not to be made.
    if !may_prepare {
        return Err(not_prepared(found).into());
    }
    //= specs/spexus-store.md#schema
    //# An empty database MUST be given the tables of this program's version when it is opened, also when several processes open
    //# it at once.
    // A step may have to write a large table anew.
    conn.without_limit();
    begin(conn).await?;
    //= specs/spexus-store.md#schema
    //# A database of an older version MUST keep all it holds when it is brought to this program's version.
    let found = known_version(conn).await?;
    for (at, step) in STEPS.iter().enumerate().skip(usize::try_from(found).unwrap_or(0)) {
        apply(conn, step, at as i64 + 1).await?;
    }
    if (1..STEMS_SINCE).contains(&found) {
        reindex(conn).await?;
    }
    conn.script("COMMIT").await?;
    Ok(found == 0)
}

//= specs/spexus-store.md#search
//# Where an older version stemmed words by other rules, the index MUST be written anew when its database is brought to this
//# program's version.
async fn reindex(conn: &mut Conn) -> Result<()> {
    let (lent, back) = conn.checkout();
    let mut tx = Tx::new(lent);
    let rebuilt = search::rebuild(&mut tx).await;
    drop(tx);
    let returned = back.await;
    conn.take_back(returned.map_err(|_| Error::Unavailable("a connection was lost".into()))?);
    rebuilt
}

/// The version of a database, unless it is one this program cannot know.
async fn known_version(conn: &mut Conn) -> Result<i64> {
    let found = version(conn).await?;
    refuse_newer(found)?;
    Ok(found)
}

fn not_prepared(found: i64) -> Refusal {
    let problem = match found {
        0 => "there is nothing in the database yet".to_owned(),
        _ => format!("the database has version {found}, this program works with version {VERSION}"),
    };
    let hint = match found {
        0 => "Make it with `spexus init`, or name another with --database.",
        _ => "Make a backup, stop programs of the older version, and bring it up to date with `spexus init`.",
    };
    Refusal::field(Code::ServiceUnavailable, "database", problem, "").hint(hint)
}

/// Refuses a version this program cannot know.
pub(crate) fn refuse_newer(found: i64) -> Result<()> {
    if found <= VERSION {
        return Ok(());
    }
    let message = format!("the database has version {found}, this program knows up to {VERSION}");
    Err(Refusal::new(Code::ServiceUnavailable, message)
        .hint("Use a newer spexus, or another database.")
        .into())
}

async fn begin(conn: &mut Conn) -> Result<()> {
    match conn.engine() {
        Engine::Sqlite => conn.script("BEGIN IMMEDIATE").await,
        Engine::Postgres => {
            conn.script("BEGIN; SET LOCAL statement_timeout = 0").await?;
            conn.run(crate::writer::POSTGRES_LOCK, params![]).await.map(drop)
        }
    }
}

async fn apply(conn: &mut Conn, step: &Step, version: i64) -> Result<()> {
    let (words, own) = match conn.engine() {
        Engine::Sqlite => (SQLITE_WORDS, step.sqlite),
        Engine::Postgres => (POSTGRES_WORDS, step.postgres),
    };
    let shared = words
        .iter()
        .fold(step.shared.to_owned(), |text, (from, to)| text.replace(from, to));
    conn.script(shared).await?;
    if !own.is_empty() {
        conn.script(own).await?;
    }
    if version == 1 {
        let (text, int) = (words[2].1, words[1].1);
        conn.script(format!(
            "CREATE TABLE schema_version (version {int} NOT NULL, program {text} NOT NULL)"
        ))
        .await?;
        conn.run(
            "INSERT INTO schema_version (version, program) VALUES ($1, $2)",
            params![version, env!("CARGO_PKG_VERSION")],
        )
        .await?;
    } else {
        conn.run(
            "UPDATE schema_version SET version = $1, program = $2",
            params![version, env!("CARGO_PKG_VERSION")],
        )
        .await?;
    }
    Ok(())
}

/// The version of a database; 0 when it is empty. A database of another program is refused, not overwritten.
async fn version(conn: &mut Conn) -> Result<i64> {
    let tables = match conn.engine() {
        Engine::Sqlite => "SELECT name FROM sqlite_master WHERE type = 'table'",
        Engine::Postgres => {
            "SELECT CAST(tablename AS text) AS name FROM pg_tables WHERE schemaname = current_schema()"
        }
    };
    let names = conn.all(tables, params![]).await?;
    let names = names
        .iter()
        .map(|row| row.text("name"))
        .collect::<Result<Vec<_>>>()?;
    if names.iter().any(|name| name == "schema_version") {
        return conn
            .one("SELECT version FROM schema_version", params![])
            .await?
            .int("version");
    }
    //= specs/spexus-store.md#schema
    //# A database that holds tables of another program, or of a newer version of this one, MUST be refused and left as it is.
    match names.first() {
        None => Ok(0),
        Some(name) => Err(Error::Refused(
            Refusal::new(
                Code::ServiceUnavailable,
                format!("the database belongs to another program: it has a table {name:?}"),
            )
            .hint("Name an empty database, or one that spexus made."),
        )),
    }
}

const SQLITE_WORDS: &[(&str, &str)] = &[
    ("{id}", "BLOB"),
    ("{int}", "INTEGER"),
    ("{text}", "TEXT"),
    ("{bytes}", "BLOB"),
    ("{strict}", "STRICT"),
    // For tables whose key is most of the row: it is not kept twice.
    ("{packed}", "STRICT, WITHOUT ROWID"),
    ("{serial}", "INTEGER PRIMARY KEY"),
];

const POSTGRES_WORDS: &[(&str, &str)] = &[
    ("{id}", "UUID"),
    ("{int}", "BIGINT"),
    // Plain byte order, so that both engines sort and page names alike.
    ("{text}", "TEXT COLLATE \"C\""),
    ("{bytes}", "BYTEA"),
    ("{strict}", ""),
    ("{packed}", ""),
    ("{serial}", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;
    use crate::{Location, Store, StoreOptions};
    use std::sync::Arc;
    use uuid::Uuid;

    /// A database as an older program left it, with something in it.
    async fn left_by(version: usize, location: &Location) {
        let pool = Pool::for_writing(location, &StoreOptions::default())
            .await
            .unwrap();
        let mut conn = pool.acquire().await.unwrap();
        begin(&mut conn).await.unwrap();
        for (at, step) in STEPS.iter().enumerate().take(version) {
            apply(&mut conn, step, at as i64 + 1).await.unwrap();
        }
        let sql = "INSERT INTO account (id, username, username_folded, role, active, password_hash, rev, created_at, updated_at) \
                   VALUES ($1, 'kim', 'kim', 'Administrator', 1, 'x', 1, 7, 7)";
        conn.run(sql, params![Uuid::from_u128(9)]).await.unwrap();
        conn.script("COMMIT").await.unwrap();
        drop(conn);
        pool.close().await;
    }

    async fn is_kept(version: usize, location: &Location) {
        left_by(version, location).await;
        let clock: crate::Clock = Arc::new(|| spexus_domain::Timestamp(8));
        let (store, fresh) = Store::open(location, &StoreOptions::default(), clock)
            .await
            .unwrap();
        assert!(!fresh, "it was not empty");
        let mut conn = store.read().await.unwrap();
        assert_eq!(super::version(&mut conn).await.unwrap(), VERSION);
        let kim = crate::accounts::by_name(&mut conn, "kim").await.unwrap();
        assert_eq!(kim.unwrap().user.id, Uuid::from_u128(9), "from version {version}");
        // Every table of today is there.
        crate::copy::fingerprint(&mut conn).await.unwrap();
        drop(conn);
        store.close().await;
    }

    /// The last version without members.
    const BEFORE_MEMBERS: usize = 9;

    async fn members_are_mapped(location: &Location) {
        left_by(BEFORE_MEMBERS, location).await;
        let pool = Pool::for_writing(location, &StoreOptions::default())
            .await
            .unwrap();
        let mut conn = pool.acquire().await.unwrap();
        for (id, key) in [(1, "default"), (2, "web")] {
            let sql = "INSERT INTO project (id, key, name, description, attributes, rev, created_at, updated_at) \
                       VALUES ($1, $2, 'x', '', '[]', 1, 7, 7)";
            conn.run(sql, params![Uuid::from_u128(id), key]).await.unwrap();
        }
        for (id, name, role) in [(11, "sam", "User"), (12, "carl", "Commenter")] {
            let sql = "INSERT INTO account (id, username, username_folded, role, active, password_hash, rev, created_at, \
                       updated_at) VALUES ($1, $2, $2, $3, 1, 'x', 1, 7, 7)";
            conn.run(sql, params![Uuid::from_u128(id), name, role])
                .await
                .unwrap();
        }
        drop(conn);
        pool.close().await;
        let clock: crate::Clock = Arc::new(|| spexus_domain::Timestamp(8));
        let opened = Store::open(location, &StoreOptions::default(), clock).await;
        let (store, _) = opened.unwrap();
        let mut conn = store.read().await.unwrap();
        for project in [1, 2] {
            let members = crate::members::of_project(&mut conn, Uuid::from_u128(project)).await;
            let roles: Vec<(String, &str)> = members
                .unwrap()
                .into_iter()
                .map(|member| (member.member, member.role.name()))
                .collect();
            assert_eq!(
                roles,
                [("carl".to_owned(), "commenter"), ("sam".to_owned(), "author")],
                "administrators need no place of their own"
            );
        }
        let open = crate::projects::all(&mut conn).await.unwrap();
        let open: Vec<(&str, &str)> = open
            .iter()
            .map(|project| (project.key.as_str(), project.default_role.name()))
            .collect();
        assert_eq!(open, [("default", "author"), ("web", "none")]);
        drop(conn);
        store.close().await;
    }

    //= specs/spexus-store.md#schema
    //= type=test
    //# What users and commenters could do in every project they MUST be able to do in each, as authors and commenters, when a database
    //# from before there were members is brought up to date.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn whoever_worked_everywhere_is_a_member_everywhere() {
        let folder = tempfile::tempdir().unwrap();
        members_are_mapped(&Location::File(folder.path().join("old.db"))).await;
        if let Some(url) = test_support::fresh_database() {
            members_are_mapped(&Location::Server(url)).await;
        }
    }

    //= specs/spexus-store.md#schema
    //= type=test
    //# A database of an older version MUST keep all it holds when it is brought to this program's version.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_database_of_every_older_version_is_brought_up_to_date_with_what_it_holds() {
        for version in 1..STEPS.len() {
            let folder = tempfile::tempdir().unwrap();
            is_kept(version, &Location::File(folder.path().join("old.db"))).await;
            if let Some(url) = test_support::fresh_database() {
                is_kept(version, &Location::Server(url)).await;
            }
        }
    }
}
