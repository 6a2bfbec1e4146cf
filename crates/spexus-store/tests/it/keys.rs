//! Keys: led by the project wherever a table grows, and the two rows of a link of two projects.

use crate::world::{World, both};
use spexus_domain::Kind;
use spexus_domain::item::Item;
use spexus_domain::link::Link;
use spexus_domain::query::PageRequest;
use spexus_domain::visibility::Visibility;
use spexus_store::links::{self, LinkFilter};
use spexus_store::{deletion, items};

both![
    the_project_leads_every_key,
    a_link_of_two_projects_has_two_rows_that_agree,
    an_end_in_another_project_falls_and_comes_back_with_both_rows,
    an_id_is_listed_once,
];

/// Tables of the installation: they do not grow with what people write in projects.
const OF_THE_INSTALLATION: [&str; 20] = [
    "account",
    "app",
    "audit",
    "audit_day",
    "former_history",
    "group_user",
    "idempotency",
    "link_type",
    "login_failure",
    "login_network",
    "mcp_session",
    "project",
    "prompt",
    "requirement_type",
    "root",
    "secret",
    "token",
    "user_group",
    "web_session",
    "workflow",
];

/// Keys of tables that grow that the project does not lead, each with its reason.
const EXCEPTIONS: [(&str, &str); 21] = [
    ("directory primary (id)", "it says which project an id is in"),
    ("change unique (seq)", "the order of arrival over all ledgers"),
    (
        "search_doc primary (doc)",
        "the number the index of SQLite knows a document by",
    ),
    ("item foreign (type)", "types belong to the installation"),
    ("item foreign (assignee_id)", "people belong to the installation"),
    ("item foreign (creator_id)", "people belong to the installation"),
    ("comment foreign (author_id)", "people belong to the installation"),
    ("link foreign (type)", "types belong to the installation"),
    ("link foreign (created_by)", "people belong to the installation"),
    (
        "baseline foreign (created_by)",
        "people belong to the installation",
    ),
    ("lease foreign (user_id)", "people belong to the installation"),
    ("review foreign (created_by)", "people belong to the installation"),
    (
        "review_person foreign (user_id)",
        "people belong to the installation",
    ),
    (
        "saved_view foreign (owner_id)",
        "people belong to the installation",
    ),
    ("member foreign (user_id)", "people belong to the installation"),
    (
        "member_group foreign (group_id)",
        "groups belong to the installation",
    ),
    ("staged_import primary (id)", "gone with its import"),
    ("staged_item primary (import_id, ordinal)", "gone with its import"),
    (
        "staged_comment primary (import_id, ordinal)",
        "gone with its import",
    ),
    ("staged_link primary (import_id, ordinal)", "gone with its import"),
    (
        "staged_change primary (import_id, ordinal)",
        "gone with its import",
    ),
];

/// Every primary, unique and foreign key, as `table kind (columns)`.
async fn keys(world: &World) -> Vec<String> {
    const SQLITE: [&str; 3] = [
        "SELECT m.name || ' primary (' || (SELECT group_concat(name, ', ') FROM (SELECT name FROM pragma_table_info(m.name) \
         WHERE pk > 0 ORDER BY pk)) || ')' FROM sqlite_master m WHERE m.type = 'table' AND m.name NOT LIKE 'search_text%' \
         AND EXISTS (SELECT 1 FROM pragma_table_info(m.name) WHERE pk > 0)",
        "SELECT m.name || ' unique (' || (SELECT group_concat(coalesce(name, '?'), ', ') FROM (SELECT name \
         FROM pragma_index_info(x.name) ORDER BY seqno)) || ')' FROM sqlite_master m JOIN pragma_index_list(m.name) x \
         WHERE m.type = 'table' AND m.name NOT LIKE 'search_text%' AND x.\"unique\" = 1 AND x.origin <> 'pk'",
        "SELECT m.name || ' foreign (' || group_concat(f.\"from\", ', ' ORDER BY f.seq) || ')' FROM sqlite_master m \
         JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table' GROUP BY m.name, f.id",
    ];
    const POSTGRES: [&str; 2] = [
        "SELECT r.relname || CASE WHEN i.indisprimary THEN ' primary (' ELSE ' unique (' END || (SELECT \
         string_agg(coalesce(CAST(a.attname AS text), '?'), ', ' ORDER BY k.place) FROM unnest(CAST(i.indkey AS int2[])) \
         WITH ORDINALITY k (num, place) LEFT JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.num) || ')' \
         FROM pg_index i JOIN pg_class r ON r.oid = i.indrelid \
         WHERE r.relnamespace = CAST(current_schema() AS regnamespace) AND i.indisunique",
        "SELECT r.relname || ' foreign (' || (SELECT string_agg(CAST(a.attname AS text), ', ' ORDER BY k.place) \
         FROM unnest(c.conkey) WITH ORDINALITY k (num, place) JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.num) \
         || ')' FROM pg_constraint c JOIN pg_class r ON r.oid = c.conrelid \
         WHERE r.relnamespace = CAST(current_schema() AS regnamespace) AND c.contype = 'f'",
    ];
    let questions = if world.is_sqlite() {
        &SQLITE[..]
    } else {
        &POSTGRES[..]
    };
    let mut keys = Vec::new();
    for sql in questions {
        keys.extend(world.place.texts(sql).await);
    }
    keys
}

/// The table and the first column of a key.
fn lead(key: &str) -> (&str, &str) {
    let (table, rest) = key.split_once(' ').unwrap();
    let columns = rest.split_once('(').unwrap().1;
    (table, columns.split([',', ')']).next().unwrap())
}

//= specs/spexus-store.md#keys
//= type=test
//# The project MUST lead every primary, unique and foreign key of every table that grows.
async fn the_project_leads_every_key(world: World) {
    let keys = keys(&world).await;
    for known in [
        "item primary (project_id, id)",
        "item unique (project_id, kind, number)",
        "item foreign (project_id, parent_id)",
        "comment foreign (project_id, item_id)",
        "link unique (project_id, source_id, target_id, type)",
        "link foreign (target_project_id, target_id)",
        "change primary (ledger, number)",
        "search_form primary (project_id, form, word)",
    ] {
        assert!(
            keys.iter().any(|key| key == known),
            "{known} is not among {keys:#?}"
        );
    }
    // The installation's ledger has the nil UUID for its project.
    let leaders = ["project_id", "ledger", "source_project_id", "target_project_id"];
    let is_led = |key: &&String| {
        let (table, first) = lead(key);
        leaders.contains(&first)
            || OF_THE_INSTALLATION.contains(&table)
            || EXCEPTIONS.iter().any(|(exception, _)| exception == key)
    };
    let others: Vec<&String> = keys.iter().filter(|key| !is_led(key)).collect();
    assert_eq!(others, Vec::<&String>::new(), "the project does not lead them");
    for (exception, reason) in EXCEPTIONS {
        let is_there = keys.iter().any(|key| key == exception);
        let only_sqlite = exception.starts_with("search_doc");
        assert_eq!(
            is_there,
            world.is_sqlite() || !only_sqlite,
            "{exception}: {reason}"
        );
    }
}

/// How many rows links have, and how many of them have no other that says the same in the other project.
async fn rows(world: &World) -> (i64, i64) {
    const ALONE: &str = "SELECT count(*) FROM link l WHERE l.source_project_id <> l.target_project_id AND NOT EXISTS \
        (SELECT 1 FROM link o WHERE o.id = l.id AND o.project_id <> l.project_id \
        AND o.project_id IN (l.source_project_id, l.target_project_id) AND o.type = l.type \
        AND o.source_project_id = l.source_project_id AND o.source_id = l.source_id \
        AND o.target_project_id = l.target_project_id AND o.target_id = l.target_id \
        AND o.source_hash = l.source_hash AND o.target_hash = l.target_hash AND o.rev = l.rev \
        AND o.created_by = l.created_by AND o.created_at = l.created_at \
        AND o.deleted_at IS NOT DISTINCT FROM l.deleted_at AND o.deletion_id IS NOT DISTINCT FROM l.deletion_id)";
    let all = world.place.number("SELECT count(*) FROM link").await;
    (all, world.place.number(ALONE).await)
}

async fn living_rows(world: &World) -> i64 {
    world
        .place
        .number("SELECT count(*) FROM link WHERE deleted_at IS NULL")
        .await
}

async fn links_of(world: &World, item: &Item) -> Vec<Link> {
    let (filter, page) = (LinkFilter::default(), PageRequest::default());
    let mut conn = world.read().await;
    let found = links::of_item(&mut conn, item.id, &filter, Visibility::EVERY, &page).await;
    found.unwrap().page.data
}

/// An item here, one in another project, and a link from the first to the second.
async fn linked(world: &World) -> (Item, Item, Link) {
    let other = world.another_project("other").await;
    let (here, there) = (world.epic("here").await, world.epic_in(&other, "there").await);
    let id = world.link("depends_on", &here, &there).await.unwrap();
    let link = links::by_id(&mut world.read().await, id).await.unwrap().unwrap();
    (here, there, link)
}

//= specs/spexus-store.md#keys
//= type=test
//# A link of two projects MUST have a row in each, written in one transaction, and the two MUST always say the same.
async fn a_link_of_two_projects_has_two_rows_that_agree(world: World) {
    let (here, there, link) = linked(&world).await;
    let inside = world.epic("inside").await;
    world.link("depends_on", &here, &inside).await.unwrap();
    assert_eq!(rows(&world).await, (3, 0), "one of two projects, one of one");
    for (item, count) in [(&here, 2), (&there, 1)] {
        assert_eq!(
            links_of(&world, item).await.len(),
            count,
            "each link once at each end"
        );
    }
    world.edit(&there, |item| item.title.push('!')).await;
    for end in [&here, &there] {
        assert!(links_of(&world, end).await[0].suspect);
    }
    let confirmed = link.clone();
    let job = world.store.write(world.actor(), move |tx| {
        Box::pin(async move { links::confirm(tx, &confirmed).await })
    });
    job.await.unwrap();
    assert_eq!(rows(&world).await, (3, 0), "confirmed");
    for end in [&here, &there] {
        assert!(!links_of(&world, end).await[0].suspect);
    }
    let job = world.store.write(world.actor(), move |tx| {
        Box::pin(async move { links::soft_delete(tx, &[link], None).await })
    });
    job.await.unwrap();
    assert_eq!(
        (rows(&world).await, living_rows(&world).await),
        ((3, 0), 1),
        "ended"
    );
    world.link("depends_on", &here, &there).await.unwrap();
    assert_eq!(
        (rows(&world).await, living_rows(&world).await),
        ((5, 0), 3),
        "made again"
    );
}

async fn an_end_in_another_project_falls_and_comes_back_with_both_rows(world: World) {
    let (here, there, link) = linked(&world).await;
    for end in [&here, &there] {
        let deletion = world.delete(&[end]).await;
        assert_eq!((rows(&world).await, living_rows(&world).await), ((2, 0), 0));
        let (project, other) = (end.project_id, if end.id == here.id { &there } else { &here });
        assert!(links_of(&world, other).await.is_empty());
        let falling = deletion::links(&mut world.read().await, other.id, 9).await;
        assert!(falling.unwrap().is_empty());
        let job = world.store.write(world.actor(), move |tx| {
            Box::pin(async move {
                let fallen = items::deleted_by(&mut tx.conn, project, deletion).await?;
                let ids: Vec<_> = fallen.iter().map(|(id, _)| *id).collect();
                let fallen = items::by_ids(&mut tx.conn, &ids).await?;
                items::undelete(tx, &fallen).await?;
                links::undelete_by(tx, project, deletion).await
            })
        });
        let back: Vec<_> = job.await.unwrap().iter().map(|link| link.id).collect();
        assert_eq!(back, [link.id], "told once");
        assert_eq!((rows(&world).await, living_rows(&world).await), ((2, 0), 2));
    }
}

//= specs/spexus-store.md#keys
//= type=test
//# An item, a comment and a link MUST be found by their ids alone, by way of the directory, and an id MUST be listed there once.
async fn an_id_is_listed_once(world: World) {
    let (here, _, link) = linked(&world).await;
    let comment = world.comment(&here, "said").await;
    for id in [here.id, comment.id, link.id] {
        let listed = spexus_store::directory::project(&mut world.read().await, id).await;
        assert_eq!(listed.unwrap(), Some(world.project.id));
    }
    assert_eq!(world.place.number("SELECT count(*) FROM directory").await, 4);
    let mut twin = world.draft(Kind::Epic, "the same id elsewhere");
    twin.project = world.another_project("third").await;
    twin.id = Some(here.id);
    world.try_create(twin).await.unwrap_err();
    let kept = items::by_id(&mut world.read().await, here.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(kept.project_id, world.project.id);
    assert_eq!(world.place.number("SELECT count(*) FROM item").await, 2);
}
