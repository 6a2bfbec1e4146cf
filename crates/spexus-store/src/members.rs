//! Who belongs to which project, and as what: by name, by group, or because the project is open to every account.

use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::row_seals::touch;
use crate::tx::Tx;
use spexus_domain::Uuid;
use spexus_domain::account::Role;
use spexus_domain::member::{GROUP_PREFIX, Member, Membership, Memberships, ProjectRole, Standing};
use std::collections::HashMap;

/// The projects that exist for an account of a role.
pub async fn of_account(conn: &mut Conn, user_id: Uuid, account: Role) -> Result<Memberships> {
    let mut groups: HashMap<Uuid, ProjectRole> = HashMap::new();
    let sql = "SELECT g.project_id, g.role FROM group_user u JOIN member_group g ON g.group_id = u.group_id WHERE u.user_id = $1";
    for row in conn.all(sql, params![user_id]).await? {
        let most = groups.entry(row.id("project_id")?).or_default();
        *most = role(&row, "role")?.max(*most);
    }
    let sql = "SELECT p.id, p.key, p.default_role, m.role AS own FROM project p \
               LEFT JOIN member m ON m.project_id = p.id AND m.user_id = $1";
    let rows = conn.all(sql, params![user_id]).await?;
    let membership = |row: &Row| {
        let project_id = row.id("id")?;
        let own = row.opt_text("own")?;
        let standing = Standing {
            default_role: role(row, "default_role")?,
            own: own.map(|name| parse(&name)).transpose()?,
            group: groups.get(&project_id).copied(),
        };
        Ok(Membership {
            project_id,
            key: row.text("key")?,
            role: standing.role(account),
        })
    };
    let all = rows.iter().map(membership).collect::<Result<Vec<_>>>()?;
    Ok(Memberships::new(all))
}

/// The members of a project: people by name, then groups.
pub async fn of_project(conn: &mut Conn, project_id: Uuid) -> Result<Vec<Member>> {
    let sql = "SELECT a.username AS name, m.user_id AS id, m.role, m.since FROM member m JOIN account a ON a.id = m.user_id \
               WHERE m.project_id = $1 ORDER BY a.username_folded";
    let mut found = Vec::new();
    for row in conn.all(sql, params![project_id]).await? {
        found.push(member(&row, row.text("name")?)?);
    }
    let sql = "SELECT g.name, m.group_id AS id, m.role, m.since FROM member_group m JOIN user_group g ON g.id = m.group_id \
               WHERE m.project_id = $1 ORDER BY g.name";
    for row in conn.all(sql, params![project_id]).await? {
        let name = format!("{GROUP_PREFIX}{}", row.text("name")?);
        found.push(member(&row, name)?);
    }
    Ok(found)
}

/// What a user was made in a project by name.
pub async fn of_user(conn: &mut Conn, project_id: Uuid, user_id: Uuid) -> Result<Option<ProjectRole>> {
    let sql = "SELECT role FROM member WHERE project_id = $1 AND user_id = $2";
    let row = conn.optional(sql, params![project_id, user_id]).await?;
    row.map(|row| role(&row, "role")).transpose()
}

/// What a group was made in a project.
pub async fn of_group(conn: &mut Conn, project_id: Uuid, group_id: Uuid) -> Result<Option<ProjectRole>> {
    let sql = "SELECT role FROM member_group WHERE project_id = $1 AND group_id = $2";
    let row = conn.optional(sql, params![project_id, group_id]).await?;
    row.map(|row| role(&row, "role")).transpose()
}

/// How many can own a project: active people who were made owners, by name or by a group. A program is not one of them.
pub async fn count_owners(conn: &mut Conn, project_id: Uuid) -> Result<i64> {
    let sql = "SELECT count(*) AS n FROM account a WHERE a.active = 1 AND a.owner_id IS NULL AND a.role <> 'Commenter' AND (\
               EXISTS (SELECT 1 FROM member m WHERE m.project_id = $1 AND m.user_id = a.id AND m.role = 'owner') OR \
               EXISTS (SELECT 1 FROM member_group g JOIN group_user u ON u.group_id = g.group_id \
               WHERE g.project_id = $1 AND g.role = 'owner' AND u.user_id = a.id \
               AND NOT EXISTS (SELECT 1 FROM member m WHERE m.project_id = $1 AND m.user_id = a.id AND m.role = 'none')))";
    conn.one(sql, params![project_id]).await?.int("n")
}

/// Makes a user something in a project, whatever the user was before.
pub async fn put(tx: &mut Tx, project_id: Uuid, user_id: Uuid, role: ProjectRole) -> Result<()> {
    touch(tx, "member", params![project_id, user_id]).await?;
    let now = tx.now();
    let sql = "INSERT INTO member (project_id, user_id, role, since) VALUES ($1, $2, $3, $4) \
               ON CONFLICT (project_id, user_id) DO UPDATE SET role = excluded.role, since = excluded.since";
    let values = params![project_id, user_id, role.name(), now];
    tx.conn.run(sql, values).await.map(drop)
}

/// Forgets what a user was made in a project.
pub async fn remove(tx: &mut Tx, project_id: Uuid, user_id: Uuid) -> Result<()> {
    touch(tx, "member", params![project_id, user_id]).await?;
    let sql = "DELETE FROM member WHERE project_id = $1 AND user_id = $2";
    tx.conn.run(sql, params![project_id, user_id]).await.map(drop)
}

/// Makes a group something in a project, whatever it was before.
pub async fn put_group(tx: &mut Tx, project_id: Uuid, group_id: Uuid, role: ProjectRole) -> Result<()> {
    touch(tx, "member_group", params![project_id, group_id]).await?;
    let now = tx.now();
    let sql = "INSERT INTO member_group (project_id, group_id, role, since) VALUES ($1, $2, $3, $4) \
               ON CONFLICT (project_id, group_id) DO UPDATE SET role = excluded.role, since = excluded.since";
    let values = params![project_id, group_id, role.name(), now];
    tx.conn.run(sql, values).await.map(drop)
}

/// Forgets what a group was made in a project.
pub async fn remove_group(tx: &mut Tx, project_id: Uuid, group_id: Uuid) -> Result<()> {
    touch(tx, "member_group", params![project_id, group_id]).await?;
    let sql = "DELETE FROM member_group WHERE project_id = $1 AND group_id = $2";
    tx.conn.run(sql, params![project_id, group_id]).await.map(drop)
}

/// A role as it stands in a row.
pub(crate) fn role(row: &Row, column: &str) -> Result<ProjectRole> {
    parse(&row.text(column)?)
}

fn parse(name: &str) -> Result<ProjectRole> {
    let known = ProjectRole::ALL.into_iter().find(|role| role.name() == name);
    known.ok_or_else(|| Error::Broken(format!("a member has the unknown role {name:?}")))
}

fn member(row: &Row, name: String) -> Result<Member> {
    Ok(Member {
        member: name,
        id: row.id("id")?,
        role: role(row, "role")?,
        since: row.time("since")?,
    })
}
