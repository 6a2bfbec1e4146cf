//! What the items of a file are joined by: comments and links, with the times and names they bring.

use super::history::of_file;
use super::import::{Reader, refused};
use super::record::{CommentRecord, LinkRecord};
use crate::comment::joined;
use spexus_domain::Uuid;
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::comment::{self, Comment};
use spexus_domain::limits::MAX_COMMENT_DEPTH;
use spexus_domain::link::find_type;
use spexus_domain::told;
use spexus_store::transfer::{self, LinkRow};
use spexus_store::{Result, Tx, carry, comments, links, settings};

impl Reader {
    pub(super) async fn comment(&mut self, tx: &mut Tx, wanted: CommentRecord) -> Result<()> {
        let project = self.target()?.clone();
        let deletion = wanted.deletion();
        self.refuse_deleted(deletion)?;
        if self.leaves_out(&wanted) {
            self.left_out.1.insert(wanted.id);
            self.read.comments += 1;
            return Ok(());
        }
        let is_carried = self.carries();
        let item = of_file(&mut tx.conn, &project, ("item", is_carried), &wanted.item).await?;
        let depth = match wanted.parent_id {
            None => 0,
            Some(parent) => match place_of(tx, project.id, parent, is_carried).await? {
                Some((on, depth)) if on == item.id && depth < MAX_COMMENT_DEPTH => depth + 1,
                _ => {
                    return Err(refused(
                        "parent_id",
                        "is not a comment on the same item that can be answered",
                        "a comment above this line",
                    )
                    .into());
                }
            },
        };
        let author = self.people.find(tx, "author", &wanted.author).await?;
        let comment = Comment {
            id: wanted.id,
            item_id: item.id,
            item: wanted.item.into(),
            parent_id: wanted.parent_id,
            depth,
            author: author.username,
            author_id: author.id,
            content: comment::content(&wanted.content)?,
            resolved: wanted.resolved,
            anchor: wanted.anchor,
            rev: wanted.rev.max(1),
            created_at: wanted.created_at,
            updated_at: wanted.updated_at,
        };
        comments::insert(tx, project.id, &comment).await?;
        self.read.comments += 1;
        match deletion {
            Some(deletion) => carry::mark_comment_deleted(tx, project.id, comment.id, deletion).await?,
            None => self.living.comments += 1,
        }
        if is_carried {
            return carry::note_line(tx, comment.id, self.line).await;
        }
        let fields = Attributes::from_iter([
            ("content".to_owned(), comment.content.clone().into()),
            ("resolved".to_owned(), comment.resolved.into()),
        ]);
        let label = format!("comment on {}", comment.item.plain());
        let here = (tx.actor().user_id, tx.now());
        let change = NewChange::new(Entity::Comment, comment.id, label, Action::Created, comment.rev)
            .in_project(project.id)
            .on_item(item.id, None)
            .fields(None, fields)
            .made(comment.author_id, comment.created_at, comment.updated_at, here);
        tx.record(joined(change, &comment)).await.map(drop)
    }

    pub(super) async fn link(&mut self, tx: &mut Tx, wanted: LinkRecord) -> Result<()> {
        let project = self.target()?.clone();
        let deletion = wanted.deletion();
        self.refuse_deleted(deletion)?;
        if deletion.is_some() && !self.carries() {
            self.read.links += 1;
            return Ok(());
        }
        let is_deleted = deletion.is_some();
        let source = of_file(&mut tx.conn, &project, ("source", is_deleted), &wanted.source).await?;
        let target = of_file(&mut tx.conn, &project, ("target", is_deleted), &wanted.target).await?;
        if self.link_types.is_none() {
            self.link_types = Some(settings::link_types(&mut tx.conn).await?);
        }
        let types = self.link_types.as_deref().unwrap_or_default();
        let (link_type, swapped) = find_type(types, &wanted.link_type)?;
        let kinds = wanted.source.kind().zip(wanted.target.kind());
        if let (Some((from, to)), false) = (kinds, swapped) {
            link_type.check_ends((source.id, from), (target.id, to))?;
        }
        if link_type.acyclic
            && !is_deleted
            && links::leads_to(&mut tx.conn, &link_type.name, target.id, source.id).await?
        {
            return Err(link_type
                .cycle(&wanted.source.into(), &wanted.target.into())
                .into());
        }
        let name = link_type.name.clone();
        let maker = self.people.find(tx, "created_by", &wanted.created_by).await?;
        let fields = Attributes::from_iter([
            ("type".to_owned(), name.clone().into()),
            ("source".to_owned(), wanted.source.to_string().into()),
            ("target".to_owned(), wanted.target.to_string().into()),
        ]);
        let change = NewChange::new(
            Entity::Link,
            wanted.id,
            format!("{} {name} {}", wanted.source, wanted.target),
            Action::Created,
            wanted.rev.max(1),
        )
        .in_project(project.id)
        .on_item(source.id, Some(target.id))
        .fields(None, fields);
        let link = LinkRow {
            id: wanted.id,
            link_type: name,
            source_confirmed: wanted.source_hash.is_none(),
            target_confirmed: wanted.target_hash.is_none(),
            source_hash: wanted.source_hash.unwrap_or(source.content_hash),
            target_hash: wanted.target_hash.unwrap_or(target.content_hash),
            source: (source.id, wanted.source),
            target: (target.id, wanted.target),
            rev: wanted.rev.max(1),
            created_by: (maker.id, maker.username),
            created_at: wanted.created_at,
        };
        match deletion {
            Some(deletion) => carry::insert_deleted_link(tx, project.id, &link, deletion).await?,
            None => {
                transfer::insert_link(tx, project.id, &link).await?;
                self.living.links += 1;
            }
        }
        self.read.links += 1;
        if self.carries() {
            return carry::note_line(tx, link.id, self.line).await;
        }
        let here = (tx.actor().user_id, tx.now());
        let change = change
            .made(link.created_by.0, link.created_at, link.created_at, here)
            .telling(told::HASHES, vec![link.source_hash, link.target_hash]);
        tx.record(change).await.map(drop)
    }
}

/// The item and the depth of a comment above the line; of a deleted one as well, where what was deleted comes too.
async fn place_of(
    tx: &mut Tx,
    project_id: Uuid,
    id: Uuid,
    is_carried: bool,
) -> Result<Option<(Uuid, usize)>> {
    if is_carried {
        return carry::comment_place(&mut tx.conn, project_id, id).await;
    }
    let found = comments::by_id(&mut tx.conn, id).await?;
    Ok(found.map(|(comment, _)| (comment.item_id, comment.depth)))
}
