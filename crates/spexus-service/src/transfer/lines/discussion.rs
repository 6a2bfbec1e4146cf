//! What the items of a file are joined by: comments and links, with the times and names they bring.

use super::import::{Reader, known, refused};
use super::record::{CommentRecord, LinkRecord};
use crate::comment::joined;
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::comment::{self, Comment};
use spexus_domain::limits::MAX_COMMENT_DEPTH;
use spexus_domain::link::find_type;
use spexus_domain::told;
use spexus_store::transfer::{self, LinkRow};
use spexus_store::{Result, Tx, comments, links, settings};

impl Reader {
    pub(super) async fn comment(&mut self, tx: &mut Tx, wanted: CommentRecord) -> Result<()> {
        let project = self.target()?.clone();
        let item = known(&mut tx.conn, &project, "item", &wanted.item).await?;
        let depth = match wanted.parent_id {
            None => 0,
            Some(parent) => match comments::by_id(&mut tx.conn, parent).await? {
                Some((parent, _)) if parent.item_id == item.id && parent.depth < MAX_COMMENT_DEPTH => {
                    parent.depth + 1
                }
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
            item: wanted.item,
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
        let fields = Attributes::from_iter([
            ("content".to_owned(), comment.content.clone().into()),
            ("resolved".to_owned(), comment.resolved.into()),
        ]);
        let label = format!("comment on {}", comment.item);
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
        let source = known(&mut tx.conn, &project, "source", &wanted.source).await?;
        let target = known(&mut tx.conn, &project, "target", &wanted.target).await?;
        if self.link_types.is_none() {
            self.link_types = Some(settings::link_types(&mut tx.conn).await?);
        }
        let types = self.link_types.as_deref().unwrap_or_default();
        let (link_type, swapped) = find_type(types, &wanted.link_type)?;
        let kinds = wanted.source.kind().zip(wanted.target.kind());
        if let (Some((from, to)), false) = (kinds, swapped) {
            link_type.check_ends((source.id, from), (target.id, to))?;
        }
        if link_type.acyclic && links::leads_to(&mut tx.conn, &link_type.name, target.id, source.id).await? {
            return Err(link_type.cycle(&wanted.source, &wanted.target).into());
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
        transfer::insert_link(tx, project.id, &link).await?;
        self.read.links += 1;
        let here = (tx.actor().user_id, tx.now());
        let change = change
            .made(link.created_by.0, link.created_at, link.created_at, here)
            .telling(told::HASHES, vec![link.source_hash, link.target_hash]);
        tx.record(change).await.map(drop)
    }
}
