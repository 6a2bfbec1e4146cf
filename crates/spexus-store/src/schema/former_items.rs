//! Items, comments and links as programs before version 12 left them, for tests of the upgrade.

use crate::engine::{Conn, params};
use crate::links::LinkFilter;
use spexus_domain::Uuid;
use spexus_domain::link::LinkType;
use spexus_domain::query::{ItemFilter, PageRequest};
use spexus_domain::visibility::Visibility;

pub(super) const OTHER_PROJECT: Uuid = Uuid::from_u128(19);
const INNER: Uuid = Uuid::from_u128(21);
const ELSEWHERE: Uuid = Uuid::from_u128(24);

/// An epic that is in one made after it, one that is deleted and has a number of its own, one in another project, a comment with
/// an answer, and a link between the projects.
pub(super) async fn insert(conn: &mut Conn, project: Uuid) {
    let sql = "INSERT INTO project (id, key, name, description, attributes, rev, created_at, updated_at) \
               VALUES ($1, 'other', 'other', '', '[]', 1, 7, 7)";
    conn.run(sql, params![OTHER_PROJECT]).await.unwrap();
    for (of, id, number, deleted) in [
        (project, INNER, 1_i64, None),
        (project, Uuid::from_u128(22), 2, None),
        (project, Uuid::from_u128(23), 3, Some(7_i64)),
        (OTHER_PROJECT, ELSEWHERE, 1, None),
    ] {
        let sql = "INSERT INTO item (id, project_id, kind, number, position, title, description, creator_id, attributes, rev, \
                   content_hash, created_at, updated_at, deleted_at) VALUES ($1, $2, 'epic', $3, 1, 'Cobblestone', '', $4, '{}', 1, \
                   'x', 7, 7, $5)";
        let values = params![id, of, number, Uuid::from_u128(9), deleted];
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
    let values = params![link, project, &depends.name, INNER, ELSEWHERE, user];
    conn.run(sql, values).await.unwrap();
}

/// What `insert` left is there, by its ids and from both ends of the link, and words of a project are its own.
pub(super) async fn are_kept(conn: &mut Conn, project: Uuid, version: usize) {
    let inner = crate::items::by_id(conn, INNER).await.unwrap().unwrap();
    assert_eq!(inner.parent.unwrap().id, Uuid::from_u128(22));
    let gone = crate::items::by_id(conn, Uuid::from_u128(23))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((gone.project_id, gone.deleted_at.is_some()), (project, true));
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
    if version >= super::WORDS_SINCE as usize {
        // Its index stays as it is, and what was written past the program is not in it.
        return;
    }
    for (of, found) in [(project, 2), (OTHER_PROJECT, 1)] {
        let filter = ItemFilter {
            project_id: Some(of),
            ..ItemFilter::default()
        };
        // Misspelt, so that the words of the project are asked.
        let query = spexus_domain::search::Query::parse("Cobblestome");
        let hits = crate::search::search(conn, &query, &filter, &page).await.unwrap();
        assert_eq!(hits.data.len(), found);
    }
}
