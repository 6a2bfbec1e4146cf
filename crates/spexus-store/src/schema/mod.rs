//! The tables, and how a database of an older version gets them: numbered steps, each in one transaction, embedded in
//! the program.

mod audit_days;
#[cfg(test)]
mod former_items;
mod ledgers;

use crate::engine::{Conn, Engine, params};
use crate::error::{Error, Result};
use crate::ledger_head::Head;
use crate::pool::Location;
use crate::tx::{Actor, Tx};
use crate::{backup, row_seals, search};
use futures_util::future::BoxFuture;
use refusal::{Code, Refusal};
use spexus_domain::Uuid;

/// One step of the schema: the shared text, each engine's own, and the shared text behind it.
struct Step {
    shared: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
    after: &'static str,
}

impl Step {
    /// A step that is the same for both engines.
    const fn shared(shared: &'static str) -> Self {
        Self {
            shared,
            sqlite: "",
            postgres: "",
            after: "",
        }
    }
}

const STEPS: &[Step] = &[
    Step {
        shared: include_str!("001_tables.sql"),
        sqlite: include_str!("001_sqlite.sql"),
        postgres: include_str!("001_postgres.sql"),
        after: "",
    },
    Step::shared(include_str!("002_tables.sql")),
    Step::shared(include_str!("003_root.sql")),
    Step::shared(include_str!("004_reference.sql")),
    Step::shared(include_str!("005_page_indexes.sql")),
    Step::shared(include_str!("006_door.sql")),
    Step {
        shared: include_str!("007_staging.sql"),
        sqlite: include_str!("007_sqlite.sql"),
        postgres: include_str!("007_postgres.sql"),
        after: "",
    },
    Step::shared(include_str!("008_stems.sql")),
    Step::shared(include_str!("009_app.sql")),
    //= specs/spexus-store.md#schema
    //# What users and commenters could do in every project they MUST be able to do in each, as authors and commenters, when a database
    //# from before there were members is brought up to date.
    Step::shared(include_str!("010_members.sql")),
    //= specs/spexus-store.md#history
    //# Nothing of the history MUST be changed or removed by a statement, but for the words of a person, which can be taken out.
    Step {
        shared: include_str!("011_ledgers.sql"),
        sqlite: include_str!("011_sqlite.sql"),
        postgres: include_str!("011_postgres.sql"),
        after: "",
    },
    //= specs/spexus-store.md#keys
    //# The project MUST lead every primary, unique and foreign key of every table that grows.
    Step {
        shared: include_str!("012_directory.sql"),
        sqlite: include_str!("012_sqlite.sql"),
        postgres: include_str!("012_postgres.sql"),
        after: include_str!("012_after.sql"),
    },
    Step {
        shared: include_str!("013_lanes.sql"),
        sqlite: "",
        postgres: include_str!("013_postgres.sql"),
        after: "",
    },
    Step {
        shared: include_str!("014_carry.sql"),
        sqlite: include_str!("014_sqlite.sql"),
        postgres: include_str!("014_postgres.sql"),
        after: "",
    },
    //= specs/spexus-store.md#audit-trail
    //# Nothing of the audit trail MUST be changed or removed by a statement, but for the words of a person, which can be taken out,
    //# and the events of a day that was dropped.
    Step {
        shared: include_str!("015_audit.sql"),
        sqlite: include_str!("015_sqlite.sql"),
        postgres: include_str!("015_postgres.sql"),
        after: include_str!("015_after.sql"),
    },
    Step {
        shared: include_str!("016_segments.sql"),
        sqlite: include_str!("016_sqlite.sql"),
        postgres: include_str!("016_postgres.sql"),
        after: "",
    },
    Step::shared(include_str!("017_prefix.sql")),
    Step::shared(include_str!("018_trace.sql")),
    Step::shared(include_str!("019_lease.sql")),
    Step::shared(include_str!("020_trace_step.sql")),
    Step::shared(include_str!("021_view.sql")),
    Step::shared(include_str!("022_review.sql")),
    Step::shared(include_str!("023_trace_head.sql")),
];

/// The version since which search knows words as it does now: stemmed by these rules, and by project.
const WORDS_SINCE: i64 = 12;

/// The version since which each project has a ledger.
const LEDGERS_SINCE: i64 = 11;

/// The last version that wrote tables anew: what is older is copied before it is brought up to date.
const REWRITTEN_SINCE: i64 = 15;

/// The version since which each day of the audit trail is chained.
const AUDIT_DAYS_SINCE: i64 = 15;

/// The version this program works with.
pub(crate) const VERSION: i64 = STEPS.len() as i64;

/// Brings a database to this program's version; several processes may try at once. Tells whether it was empty.
pub(crate) async fn prepare(conn: &mut Conn, location: Option<&Location>, may_prepare: bool) -> Result<bool> {
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
    //= specs/spexus-store.md#schema
    //# An upgrade that is interrupted at any point MUST leave the database as it was.
    // All steps are one transaction, and the copy has its name only once it is whole.
    begin(conn).await?;
    //= specs/spexus-store.md#schema
    //# A database of an older version MUST keep all it holds when it is brought to this program's version.
    let found = known_version(conn).await?;
    if let (1..REWRITTEN_SINCE, Some(location)) = (found, location) {
        back_up(conn, location).await?;
    }
    for (at, step) in STEPS.iter().enumerate().skip(usize::try_from(found).unwrap_or(0)) {
        apply(conn, step, at as i64 + 1).await?;
    }
    //= specs/spexus-store.md#search
    //# Where an older version knew words by other rules, the index MUST be written anew when its database is brought to this
    //# program's version.
    if (1..WORDS_SINCE).contains(&found) {
        in_tx(conn, |tx| Box::pin(search::rebuild(tx))).await?;
    }
    if (1..VERSION).contains(&found) {
        in_tx(conn, |tx| Box::pin(row_seals::seal_found(tx))).await?;
    }
    conn.script("COMMIT").await?;
    Ok(found == 0)
}

/// Copies everything as it is, before it is written anew. Nobody writes meanwhile.
//= specs/spexus-store.md#schema
//# Before the tables of a database are written anew, a copy of the whole database MUST be made beside it.
async fn back_up(conn: &mut Conn, location: &Location) -> Result<()> {
    match location {
        Location::File(path) => {
            let mut name = path.clone().into_os_string();
            name.push(format!(".before-v{REWRITTEN_SINCE}"));
            backup::before_upgrade(location, name.as_ref()).await
        }
        Location::Server(_) => {
            let schema = format!("spexus_before_v{REWRITTEN_SINCE}");
            let sql = include_str!("backup_postgres.sql").replace("{backup}", &schema);
            conn.script(sql).await.map_err(|error| no_backup(&schema, &error))
        }
    }
}

fn no_backup(schema: &str, error: &Error) -> Error {
    tracing::error!(%error, schema, "the database cannot be copied before the upgrade");
    let problem =
        format!("the database cannot be copied into the schema {schema} before it is brought up to date");
    let hint = format!(
        "Let the user of the database make schemas, or make this one: CREATE SCHEMA {schema} AUTHORIZATION that_user."
    );
    Refusal::field(Code::ServiceUnavailable, "database", problem, "")
        .hint(hint)
        .into()
}

/// Work that needs a transaction as jobs of the writer have it.
type UpgradeJob = for<'t> fn(&'t mut Tx) -> BoxFuture<'t, Result<()>>;

/// Does a part of an upgrade in the transaction it is already in, as the program itself.
async fn in_tx(conn: &mut Conn, work: UpgradeJob) -> Result<()> {
    let head = Head::read(conn).await?;
    let (lent, back) = conn.checkout();
    let mut tx = Tx::new(lent);
    tx.begin_behind(head);
    let actor = Actor {
        user_id: Uuid::nil(),
        username: "upgrade".into(),
        token_id: None,
        client: format!("spexus {}", env!("CARGO_PKG_VERSION")),
    };
    tx.begin_job(actor, head.at.max(spexus_domain::Timestamp(0)));
    let done = work(&mut tx).await;
    drop(tx);
    let returned = back.await;
    conn.take_back(returned.map_err(|_| Error::Unavailable("a connection was lost".into()))?);
    done
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
            conn.run(crate::lane::LOCK_INSTALLATION, params![])
                .await
                .map(drop)
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
    if version == LEDGERS_SINCE {
        ledgers::carry_over(conn).await?;
        conn.script(include_str!("011_after.sql")).await?;
    }
    if version == AUDIT_DAYS_SINCE {
        audit_days::carry_over(conn).await?;
    }
    for text in [own, step.after] {
        if !text.is_empty() {
            conn.script(text).await?;
        }
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
mod tests;
