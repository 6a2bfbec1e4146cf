//! Comments: threads, anchors, pages.

use crate::world::{World, both, refused};
use spexus_domain::anchor::Anchor;
use spexus_domain::comment::Comment;
use spexus_domain::query::PageRequest;
use spexus_domain::{Code, Kind, Timestamp, Uuid};
use spexus_store::{comments, deletion};

both![
    a_comment_comes_back_as_it_was_written,
    a_thread_knows_its_answers,
    comments_page_oldest_first_even_at_the_same_moment,
    settled_comments_can_be_told_from_open_ones,
    an_anchor_moves_with_its_text,
    a_removed_comment_is_gone_from_everywhere,
    comments_hide_with_their_item_and_come_back,
];

async fn page(world: &World, item: Uuid, resolved: Option<bool>, page: &PageRequest) -> Vec<String> {
    let found = comments::of_item(&mut world.read().await, item, resolved, page)
        .await
        .unwrap();
    found.data.into_iter().map(|comment| comment.content).collect()
}

async fn a_comment_comes_back_as_it_was_written(world: World) {
    let draft = world.draft(Kind::Epic, "t").saying("Система должна отвечать.");
    let epic = world.create(draft).await;
    let mut comment = world.comment(&epic, "почему?").await;
    comment.id = Uuid::nil();
    comment.anchor = Some(Anchor::locate(&epic.description, "должна", None).unwrap());
    let written = world.add_comment(comment).await;
    let read = comments::by_id(&mut world.read().await, written.id)
        .await
        .unwrap();
    assert_eq!(read, Some((written, world.project.id)));
}

async fn a_thread_knows_its_answers(world: World) {
    let epic = world.epic("t").await;
    let first = world.comment(&epic, "a").await;
    let answer = world.reply(&epic, Some(&first), "b").await;
    world.reply(&epic, Some(&answer), "c").await;
    let mut conn = world.read().await;
    assert_eq!(comments::count_replies(&mut conn, first.id).await.unwrap(), 1);
    assert_eq!(deletion::count_comments(&mut conn, epic.id).await.unwrap(), 3);
    let all = comments::of_item(&mut conn, epic.id, None, &PageRequest::default())
        .await
        .unwrap();
    let depths: Vec<usize> = all.data.iter().map(|comment| comment.depth).collect();
    assert_eq!(depths, [0, 1, 2]);
    assert_eq!(all.data[1].parent_id, Some(first.id));
}

async fn comments_page_oldest_first_even_at_the_same_moment(world: World) {
    let epic = world.epic("t").await;
    let template = world.comment(&epic, "0").await;
    for n in 1..7 {
        let comment = Comment {
            id: Uuid::nil(),
            content: n.to_string(),
            created_at: Timestamp(template.created_at.0 + 10 + n / 3),
            ..template.clone()
        };
        world.add_comment(comment).await;
    }
    for limit in 1..=8 {
        let mut seen = Vec::new();
        let mut request = PageRequest {
            limit,
            ..PageRequest::default()
        };
        loop {
            let found = comments::of_item(&mut world.read().await, epic.id, None, &request)
                .await
                .unwrap();
            assert_eq!(found.total_count, Some(7));
            seen.extend(found.data.into_iter().map(|comment| comment.content));
            match found.next_cursor {
                None => break,
                cursor => request.cursor = cursor,
            }
        }
        assert_eq!(seen.concat(), "0123456", "by {limit}");
    }
    let foreign = PageRequest {
        limit: 1,
        cursor: Some("WzFd".into()),
        ..PageRequest::default()
    };
    let answer = comments::of_item(&mut world.read().await, epic.id, None, &foreign).await;
    assert_eq!(refused(answer), Code::InvalidParams);
}

async fn settled_comments_can_be_told_from_open_ones(world: World) {
    let epic = world.epic("t").await;
    let settled = world.comment(&epic, "settled").await;
    world.comment(&epic, "open").await;
    let project = world.project.id;
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                let settled = Comment {
                    resolved: true,
                    rev: 2,
                    content: "settled now".into(),
                    ..settled
                };
                comments::update(tx, project, &settled).await
            })
        })
        .await
        .unwrap();
    let all = PageRequest::default();
    assert_eq!(page(&world, epic.id, Some(true), &all).await, ["settled now"]);
    assert_eq!(page(&world, epic.id, Some(false), &all).await, ["open"]);
    assert_eq!(page(&world, epic.id, None, &all).await.len(), 2);
}

async fn an_anchor_moves_with_its_text(world: World) {
    let text = "The system must answer.";
    let epic = world.create(world.draft(Kind::Epic, "t").saying(text)).await;
    let mut comment = world.comment(&epic, "free").await;
    comment.id = Uuid::nil();
    comment.anchor = Some(Anchor::locate(text, "must", None).unwrap());
    let comment = world.add_comment(comment).await;
    let mut conn = world.read().await;
    let anchored = comments::anchored(&mut conn, epic.id).await.unwrap();
    assert_eq!(anchored.len(), 1, "only those that have an anchor");
    let moved = anchored[0].1.follow(text, &format!("Listen. {text}"));
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { comments::move_anchor(tx, comment.id, &moved).await })
        })
        .await
        .unwrap();
    let now = comments::by_id(&mut conn, comment.id).await.unwrap().unwrap().0;
    assert_eq!(now.anchor.map(|anchor| anchor.start), Some(19));
}

async fn a_removed_comment_is_gone_from_everywhere(world: World) {
    let epic = world.epic("t").await;
    let comment = world.comment(&epic, "unmistakable").await;
    assert_eq!(world.finds("unmistakable").await, ["EP-001"]);
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { comments::soft_delete(tx, comment.id).await })
        })
        .await
        .unwrap();
    assert!(
        page(&world, epic.id, None, &PageRequest::default())
            .await
            .is_empty()
    );
    assert!(world.finds("unmistakable").await.is_empty());
    let mut conn = world.read().await;
    assert_eq!(deletion::count_comments(&mut conn, epic.id).await.unwrap(), 0);
    assert_eq!(comments::by_id(&mut conn, comment.id).await.unwrap(), None);
}

async fn comments_hide_with_their_item_and_come_back(world: World) {
    let epic = world.epic("t").await;
    let comment = world.comment(&epic, "unmistakable").await;
    let deletion = world.delete(&[&epic]).await;
    let mut conn = world.read().await;
    assert_eq!(comments::by_id(&mut conn, comment.id).await.unwrap(), None);
    world.restore(deletion).await;
    assert!(comments::by_id(&mut conn, comment.id).await.unwrap().is_some());
    assert_eq!(world.finds("unmistakable").await, ["EP-001"]);
}
