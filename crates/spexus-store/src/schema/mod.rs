//! The tables, and how a database of an older version gets them: numbered steps, each in one transaction, embedded in
//! the program.

mod audit_days;
mod ledgers;

use crate::chain::Head;
use crate::engine::{Conn, Engine, params};
use crate::error::{Error, Result};
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
    //= specs/spexus-store.md#audit-trail
    //# Nothing of the audit trail MUST be changed or removed by a statement, but for the words of a person, which can be taken out,
    //# and the events of a day that was dropped.
    Step {
        shared: include_str!("014_audit.sql"),
        sqlite: include_str!("014_sqlite.sql"),
        postgres: include_str!("014_postgres.sql"),
        after: include_str!("014_after.sql"),
    },
];

/// The version since which search knows words as it does now: stemmed by these rules, and by project.
const WORDS_SINCE: i64 = 12;

/// The version since which each project has a ledger.
const LEDGERS_SINCE: i64 = 11;

/// The last version that wrote tables anew: what is older is copied before it is brought up to date.
const REWRITTEN_SINCE: i64 = 12;

/// The version since which each day of the audit trail is chained.
const AUDIT_DAYS_SINCE: i64 = 13;

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
type Work = for<'t> fn(&'t mut Tx) -> BoxFuture<'t, Result<()>>;

/// Does a part of an upgrade in the transaction it is already in, as the program itself.
async fn in_tx(conn: &mut Conn, work: Work) -> Result<()> {
    let head = Head::read(conn).await?;
    let (lent, back) = conn.checkout();
    let mut tx = Tx::new(lent);
    tx.set_head(head);
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
mod tests {
    use super::*;
    use crate::links::LinkFilter;
    use crate::pool::Pool;
    use crate::{Location, Store, StoreOptions};
    use spexus_domain::change::{FormerHead, FormerRow, Payload};
    use spexus_domain::link::LinkType;
    use spexus_domain::query::{ItemFilter, PageRequest};
    use spexus_domain::visibility::Visibility;
    use std::sync::Arc;
    use uuid::Uuid;

    const PROJECT: Uuid = Uuid::from_u128(11);
    const OTHER_PROJECT: Uuid = Uuid::from_u128(19);
    const INNER: Uuid = Uuid::from_u128(21);
    const ELSEWHERE: Uuid = Uuid::from_u128(24);

    /// A connection on which tables of an older version are being made.
    async fn making(version: usize, location: &Location) -> (Pool, Conn) {
        let pool = Pool::for_writing(location, &StoreOptions::default())
            .await
            .unwrap();
        let mut conn = pool.acquire().await.unwrap();
        begin(&mut conn).await.unwrap();
        let found = super::version(&mut conn).await.unwrap();
        for (at, step) in STEPS.iter().enumerate().take(version).skip(found as usize) {
            apply(&mut conn, step, at as i64 + 1).await.unwrap();
        }
        (pool, conn)
    }

    /// A database as an older program left it, with something in it.
    async fn left_by(version: usize, location: &Location) {
        let (pool, mut conn) = making(version.min(BEFORE_LEDGERS), location).await;
        let sql = "INSERT INTO account (id, username, username_folded, role, active, password_hash, rev, created_at, updated_at) \
                   VALUES ($1, 'kim', 'kim', 'Administrator', 1, 'x', 1, 7, 7)";
        conn.run(sql, params![Uuid::from_u128(9)]).await.unwrap();
        let sql = "INSERT INTO project (id, key, name, description, attributes, rev, created_at, updated_at) \
                   VALUES ($1, 'web', 'web', '', '[]', 1, 7, 7)";
        conn.run(sql, params![PROJECT]).await.unwrap();
        let mut head = FormerHead::NONE;
        for project in [None, Some(PROJECT), Some(PROJECT)] {
            head = former_change(&mut conn, head, project).await;
        }
        let sql = "INSERT INTO baseline (id, project_id, name, description, seq, hash, created_by, created_at) \
                   VALUES ($1, $2, 'first', '', 3, $3, $4, 7)";
        let (id, user) = (Uuid::from_u128(12), Uuid::from_u128(9));
        conn.run(sql, params![id, PROJECT, head.hash, user])
            .await
            .unwrap();
        former_change(&mut conn, head, None).await;
        former_items(&mut conn).await;
        if version as i64 >= WORDS_SINCE {
            in_tx(&mut conn, |tx| Box::pin(search::rebuild(tx)))
                .await
                .unwrap();
        }
        for (id, at) in [(21, 7), (22, 86_400_000_007_i64), (23, 8)] {
            let sql = "INSERT INTO audit (id, at, event, username, address, client, detail) VALUES ($1, $2, 'login', 'kim', '', '', '')";
            conn.run(sql, params![Uuid::from_u128(id), at]).await.unwrap();
        }
        conn.script("COMMIT").await.unwrap();
        drop(conn);
        pool.close().await;
        if version > BEFORE_LEDGERS {
            let (pool, mut conn) = making(version, location).await;
            conn.script("COMMIT").await.unwrap();
            drop(conn);
            pool.close().await;
        }
    }

    /// An epic that is in one made after it, one that is deleted and has a number of its own, one in another project, a comment with
    /// an answer, and a link between the projects.
    async fn former_items(conn: &mut Conn) {
        let sql = "INSERT INTO project (id, key, name, description, attributes, rev, created_at, updated_at) \
                   VALUES ($1, 'other', 'other', '', '[]', 1, 7, 7)";
        conn.run(sql, params![OTHER_PROJECT]).await.unwrap();
        for (project, id, number, deleted) in [
            (PROJECT, INNER, 1_i64, None),
            (PROJECT, Uuid::from_u128(22), 2, None),
            (PROJECT, Uuid::from_u128(23), 3, Some(7_i64)),
            (OTHER_PROJECT, ELSEWHERE, 1, None),
        ] {
            let sql = "INSERT INTO item (id, project_id, kind, number, position, title, description, creator_id, attributes, rev, \
                       content_hash, created_at, updated_at, deleted_at) VALUES ($1, $2, 'epic', $3, 1, 'Cobblestone', '', $4, '{}', 1, \
                       'x', 7, 7, $5)";
            let values = params![id, project, number, Uuid::from_u128(9), deleted];
            conn.run(sql, values).await.unwrap();
        }
        let sql = "UPDATE item SET parent_id = $1 WHERE id = $2";
        conn.run(sql, params![Uuid::from_u128(22), INNER]).await.unwrap();
        for (id, parent) in [(31, None), (32, Some(Uuid::from_u128(31)))] {
            let sql = "INSERT INTO comment (id, item_id, parent_id, depth, author_id, content, resolved, rev, created_at, updated_at) \
                       VALUES ($1, $2, $3, 0, $4, 'said', 0, 1, 7, 7)";
            let values = params![Uuid::from_u128(id), INNER, parent, Uuid::from_u128(9)];
            conn.run(sql, values).await.unwrap();
        }
        let depends = LinkType::shipped().remove(0);
        let definition = serde_json::to_string(&depends).unwrap();
        let sql = "INSERT INTO link_type (name, definition, ordinal) VALUES ($1, $2, 0)";
        conn.run(sql, params![&depends.name, definition]).await.unwrap();
        let sql = "INSERT INTO link (id, project_id, type, source_id, target_id, source_hash, target_hash, rev, created_by, created_at) \
                   VALUES ($1, $2, $3, $4, $5, 'x', 'x', 1, $6, 7)";
        let (link, user) = (Uuid::from_u128(41), Uuid::from_u128(9));
        let values = params![link, PROJECT, &depends.name, INNER, ELSEWHERE, user];
        conn.run(sql, values).await.unwrap();
    }

    /// What `former_items` left is there, by its ids and from both ends of the link, and words of a project are its own.
    async fn items_are_kept(conn: &mut Conn) {
        let inner = crate::items::by_id(conn, INNER).await.unwrap().unwrap();
        assert_eq!(inner.parent.unwrap().id, Uuid::from_u128(22));
        let gone = crate::items::by_id(conn, Uuid::from_u128(23))
            .await
            .unwrap()
            .unwrap();
        assert_eq!((gone.project_id, gone.deleted_at.is_some()), (PROJECT, true));
        let page = PageRequest::default();
        let said = crate::comments::of_item(conn, INNER, None, &page).await.unwrap();
        assert_eq!(said.data.len(), 2);
        for end in [INNER, ELSEWHERE] {
            let filter = LinkFilter::default();
            let found = crate::links::of_item(conn, end, &filter, Visibility::EVERY, &page).await;
            let found = found.unwrap().page.data;
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].source.id, found[0].target.id), (INNER, ELSEWHERE));
        }
        let rows = conn.all("SELECT project_id FROM link", params![]).await.unwrap();
        assert_eq!(rows.len(), 2, "one for each project");
        for (project, found) in [(PROJECT, 2), (OTHER_PROJECT, 1)] {
            let filter = ItemFilter {
                project_id: Some(project),
                ..ItemFilter::default()
            };
            // Misspelt, so that the words of the project are asked.
            let query = spexus_domain::search::Query::parse("Cobblestome");
            let hits = crate::search::search(conn, &query, &filter, &page).await.unwrap();
            assert_eq!(hits.data.len(), found);
        }
    }

    /// Adds a change as older programs did.
    async fn former_change(conn: &mut Conn, head: FormerHead, project_id: Option<Uuid>) -> FormerHead {
        let payload = Payload {
            username: "kim",
            client: "cli",
            label: "a thing",
            before: "{}",
            after: r#"{"name":"thing"}"#,
        };
        let row = FormerRow {
            seq: head.changes + 1,
            at: spexus_domain::Timestamp(7),
            user_id: Uuid::from_u128(9),
            token_id: None,
            project_id,
            entity: "setting",
            entity_id: Uuid::from_u128(10),
            item_id: None,
            other_item_id: None,
            action: "created",
            rev: 1,
            payload,
        };
        let hash = row.hash(&head.hash);
        let sql = "INSERT INTO change (seq, at, user_id, username, client, project_id, entity, entity_id, label, action, rev, \
                   before, after, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
        let FormerRow { payload, .. } = &row;
        let values = params![
            row.seq,
            row.at,
            row.user_id,
            payload.username,
            payload.client,
            row.project_id,
            row.entity,
            row.entity_id,
            payload.label,
            row.action,
            row.rev,
            payload.before,
            payload.after,
            hash,
        ];
        conn.run(sql, values).await.unwrap();
        FormerHead {
            changes: row.seq,
            hash,
        }
    }

    async fn open(location: &Location) -> Store {
        let clock: crate::Clock = Arc::new(|| spexus_domain::Timestamp(8));
        let (store, fresh) = Store::open(location, &StoreOptions::default(), clock)
            .await
            .unwrap();
        assert!(!fresh, "it was not empty");
        store
    }

    async fn is_kept(version: usize, location: &Location) {
        let store = open(location).await;
        let mut conn = store.read().await.unwrap();
        assert_eq!(super::version(&mut conn).await.unwrap(), VERSION);
        let kim = crate::accounts::by_name(&mut conn, "kim").await.unwrap();
        assert_eq!(kim.unwrap().user.id, Uuid::from_u128(9), "from version {version}");
        // Every table of today is there.
        crate::copy::fingerprint(&mut conn).await.unwrap();
        let verdict = crate::chain::verify(&mut conn).await.unwrap();
        assert_eq!(
            (verdict.fault, verdict.changes),
            (None, 5),
            "and what the upgrade found"
        );
        let all = crate::changes::since(&mut conn, None, 0, 9).await.unwrap();
        let places: Vec<_> = all.iter().map(|change| (change.seq, change.number)).collect();
        assert_eq!(places, [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)]);
        assert_eq!((all[1].project_id, all[1].fields.len()), (Some(PROJECT), 1));
        items_are_kept(&mut conn).await;
        let state = crate::replay::compare_all(&mut conn, &|_| {}).await.unwrap();
        // What these rows are derived into was never made.
        let is_sealed = |fault: &&crate::state_verdict::StateFault| {
            crate::evidence::sealed().any(|(name, _)| name == fault.entity)
        };
        let differing = state.differences.iter().find(is_sealed);
        assert_eq!(differing, None, "it was sealed as it was");
        let trail = crate::audit_verification::verify(&mut conn).await.unwrap();
        assert_eq!((trail.days, trail.events, trail.faults), (2, 3, vec![]));
        drop(conn);
        store.close().await;
    }

    /// The last version without ledgers.
    const BEFORE_LEDGERS: usize = 10;

    /// The last version without members.
    const BEFORE_MEMBERS: usize = 9;

    async fn members_are_mapped(location: &Location) {
        left_by(BEFORE_MEMBERS, location).await;
        let pool = Pool::for_writing(location, &StoreOptions::default())
            .await
            .unwrap();
        let mut conn = pool.acquire().await.unwrap();
        let sql = "INSERT INTO project (id, key, name, description, attributes, rev, created_at, updated_at) \
                   VALUES ($1, 'default', 'x', '', '[]', 1, 7, 7)";
        let default = Uuid::from_u128(1);
        conn.run(sql, params![default]).await.unwrap();
        for (id, name, role) in [(13, "sam", "User"), (14, "carl", "Commenter")] {
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
        for project in [default, PROJECT, OTHER_PROJECT] {
            let members = crate::members::of_project(&mut conn, project).await;
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
        assert_eq!(open, [("default", "author"), ("other", "none"), ("web", "none")]);
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

    fn some_file() -> (tempfile::TempDir, Location) {
        let folder = tempfile::tempdir().unwrap();
        let file = Location::File(folder.path().join("old.db"));
        (folder, file)
    }

    /// A place on each engine.
    fn places() -> (tempfile::TempDir, Vec<Location>) {
        let (folder, file) = some_file();
        let server = test_support::fresh_database().map(Location::Server);
        (folder, std::iter::once(file).chain(server).collect())
    }

    //= specs/spexus-store.md#schema
    //= type=test
    //# A database of an older version MUST keep all it holds when it is brought to this program's version.
    //= specs/spexus-store.md#search
    //= type=test
    //# Where an older version knew words by other rules, the index MUST be written anew when its database is brought to this
    //# program's version.
    //= specs/spexus-store.md#schema
    //= type=test
    //# What the history of an older version could not tell MUST be sealed as it stood when its database was brought up to date.
    //= specs/spexus-store.md#schema
    //= type=test
    //# The events of an older version MUST be chained by the days they happened on.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_database_of_every_older_version_is_brought_up_to_date_with_what_it_holds() {
        for version in 1..VERSION as usize {
            let (_folder, places) = places();
            for place in places {
                left_by(version, &place).await;
                is_kept(version, &place).await;
            }
        }
    }

    //= specs/spexus-store.md#schema
    //= type=test
    //# An upgrade that is interrupted at any point MUST leave the database as it was.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_interrupted_upgrade_leaves_the_database_as_it_was() {
        let (_folder, places) = places();
        for place in places {
            left_by(4, &place).await;
            for interrupted_behind in 5..=STEPS.len() {
                let (pool, conn) = making(interrupted_behind, &place).await;
                // The process is gone in the middle of it.
                conn.abandon();
                pool.close().await;
                let (pool, mut conn) = making(4, &place).await;
                assert_eq!(super::version(&mut conn).await.unwrap(), 4);
                let rows = conn
                    .all("SELECT project_id FROM change", params![])
                    .await
                    .unwrap();
                assert_eq!(rows.len(), 4, "behind step {interrupted_behind}");
                conn.script("ROLLBACK").await.unwrap();
                drop(conn);
                pool.close().await;
            }
            is_kept(4, &place).await;
        }
    }

    //= specs/spexus-store.md#schema
    //= type=test
    //# The former history MUST be verified before it is brought into ledgers, and every ledger MUST begin with its last hash.
    //= specs/spexus-store.md#history
    //= type=test
    //# A fault of the former history that was found when it was brought into ledgers MUST be told by every verification.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_fault_of_the_former_history_is_told_for_good() {
        let (_folder, places) = places();
        for place in places {
            left_by(9, &place).await;
            let (pool, mut conn) = making(9, &place).await;
            conn.script("UPDATE change SET label = 'forged' WHERE seq = 2; COMMIT")
                .await
                .unwrap();
            drop(conn);
            pool.close().await;
            for _ in 0..2 {
                let store = open(&place).await;
                let mut conn = store.read().await.unwrap();
                let fault = crate::chain::verify(&mut conn).await.unwrap().fault.unwrap();
                assert_eq!(fault.seq, 2, "{fault:?}");
                drop(conn);
                store.close().await;
            }
        }
    }

    /// What is forged after the upgrade is found by the former chain even where all ledgers were computed anew.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_former_chain_is_still_evidence() {
        let (_folder, places) = places();
        for place in places {
            left_by(9, &place).await;
            let store = open(&place).await;
            let mut conn = store.read().await.unwrap();
            let row = conn
                .one("SELECT changes, head FROM former_history", params![])
                .await
                .unwrap();
            let former = FormerHead {
                changes: row.int("changes").unwrap(),
                hash: row.bytes("head").unwrap().try_into().unwrap(),
            };
            assert_eq!(former.changes, 4);
            let first = crate::chain::LedgerHead::read(&mut conn, PROJECT, 1)
                .await
                .unwrap();
            assert_eq!((first.number, first.hash), (0, former.genesis(PROJECT)));
            drop(conn);
            store.close().await;
        }
    }

    //= specs/spexus-store.md#schema
    //= type=test
    //# Before the tables of a database are written anew, a copy of the whole database MUST be made beside it.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn several_nodes_upgrade_once_and_the_copy_is_the_way_back() {
        for version in [9, 11] {
            nodes_upgrade_and_go_back(version).await;
        }
    }

    async fn nodes_upgrade_and_go_back(version: usize) {
        let (_folder, places) = places();
        for place in places {
            left_by(version, &place).await;
            let nodes = (0..4).map(|_| {
                let place = place.clone();
                tokio::spawn(async move { open(&place).await })
            });
            for node in futures_util::future::join_all(nodes).await {
                node.unwrap().close().await;
            }
            is_kept(version, &place).await;
            restore(&place).await;
            let (pool, mut conn) = making(version, &place).await;
            assert_eq!(
                super::version(&mut conn).await.unwrap(),
                version as i64,
                "as the older program left it"
            );
            if version > BEFORE_LEDGERS {
                let rewritten = conn.script("UPDATE change SET label = 'forged'").await;
                assert!(
                    rewritten.is_err(),
                    "what keeps the history is in the copy as well"
                );
            }
            conn.script("ROLLBACK").await.unwrap();
            drop(conn);
            pool.close().await;
            is_kept(version, &place).await;
        }
    }

    /// Puts the copy in the place of the database, as `docs/operate.md` has it.
    async fn restore(place: &Location) {
        match place {
            Location::File(path) => {
                for suffix in ["-wal", "-shm"] {
                    let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
                }
                std::fs::rename(format!("{}.before-v{REWRITTEN_SINCE}", path.display()), path).unwrap();
            }
            Location::Server(_) => {
                let pool = Pool::for_writing(place, &StoreOptions::default()).await.unwrap();
                let mut conn = pool.acquire().await.unwrap();
                let schema = format!("spexus_before_v{REWRITTEN_SINCE}");
                conn.script(format!(
                    "ALTER SCHEMA public RENAME TO spexus_after; ALTER SCHEMA {schema} RENAME TO public"
                ))
                .await
                .unwrap();
                drop(conn);
                pool.close().await;
            }
        }
    }
}
