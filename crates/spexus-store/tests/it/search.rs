//! Search: the same answers from both engines, always current, and no text is an error.

use crate::world::{World, both, create_in};
use spexus_domain::query::{ItemFilter, PageRequest};
use spexus_domain::search::Query;
use spexus_domain::{Kind, Uuid};
use spexus_store::Store;
use spexus_store::search::{self, Sweep};

both![
    words_are_found_in_all_their_forms,
    beginnings_of_words_are_found,
    a_phrase_keeps_its_order,
    a_typing_error_is_forgiven_in_single_words,
    a_word_that_was_corrected_everywhere_is_forgiven_too,
    words_of_another_project_say_nothing_here,
    reference_ids_are_found_as_words,
    no_text_is_an_error,
    comments_are_found,
    what_is_found_is_always_current,
    a_title_counts_more_than_a_text,
    filters_narrow_a_search,
    pages_of_a_search_hold_everything_once,
    a_snippet_shows_what_was_found,
    everything_must_be_found_not_something,
    words_nobody_uses_are_forgotten,
    a_word_that_was_forgotten_is_learned_again_on_every_node,
];

async fn corpus(world: &World) {
    for (title, text) in [
        (
            "Вход в систему",
            "Пользователь вводит пароль; требования к паролю проверяются.",
        ),
        (
            "Password reset",
            "Users who forgot their passwords request a reset link by e-mail.",
        ),
        (
            "Отчёты",
            "Ежемесячный отчёт о требованиях отправляется заказчику.",
        ),
        ("Fast answers", "The system answers a request within a second."),
        ("Café menu", "Naïve résumé; ½ price; C++ and F#."),
    ] {
        world.create(world.draft(Kind::Epic, title).saying(text)).await;
    }
}

async fn check(world: &World, text: &str, expect: &[&str]) {
    let mut found = world.finds(text).await;
    found.sort();
    assert_eq!(found, expect, "{text:?}");
}

//= specs/spexus-store.md#search
//= type=test
//# Words MUST be found in all their Russian and English forms and by their beginnings.
async fn words_are_found_in_all_their_forms(world: World) {
    corpus(&world).await;
    for text in ["требование", "Требованиями", "ТРЕБОВАНИЙ"] {
        check(&world, text, &["EP-001", "EP-003"]).await;
    }
    for text in ["password", "Passwords", "PASSWORD"] {
        check(&world, text, &["EP-002"]).await;
    }
    check(&world, "answering", &["EP-004"]).await;
    check(&world, "отчетами", &["EP-003"]).await;
    check(&world, "cafe resume", &["EP-005"]).await;
    check(&world, "request", &["EP-002", "EP-004"]).await;
}

async fn beginnings_of_words_are_found(world: World) {
    corpus(&world).await;
    check(&world, "пар", &["EP-001"]).await;
    check(&world, "passw", &["EP-002"]).await;
    check(&world, "sys", &["EP-004"]).await;
    check(&world, "s", &[]).await;
}

async fn a_phrase_keeps_its_order(world: World) {
    corpus(&world).await;
    check(&world, "\"reset link\"", &["EP-002"]).await;
    check(&world, "\"link reset\"", &[]).await;
    check(&world, "«требования к паролю»", &["EP-001"]).await;
    check(&world, "\"menu naive\"", &[]).await;
}

//= specs/spexus-store.md#search
//= type=test
//# A word with one typing error SHOULD find the word that was meant.
async fn a_typing_error_is_forgiven_in_single_words(world: World) {
    corpus(&world).await;
    for text in ["pasword", "passwrod", "passwordd", "parsword"] {
        check(&world, text, &["EP-002"]).await;
    }
    check(&world, "пороль", &["EP-001"]).await;
    check(&world, "требовние", &["EP-001", "EP-003"]).await;
    check(&world, "sestem answers", &["EP-004"]).await;
    check(&world, "lnk", &[]).await;
    check(&world, "xyzzyx", &[]).await;
}

//= specs/spexus-store.md#search
//= type=test
//# The words of one project MUST NOT be offered to a search in another.
async fn words_of_another_project_say_nothing_here(world: World) {
    let other = world.another_project("other").await;
    let (here, there) = (
        world.epic("Password").await,
        world.epic_in(&other, "Pasword").await,
    );
    for (project, text, expected) in [
        (&here, "pasword", vec![here.id]),
        (&here, "passwerd", vec![here.id]),
        (&there, "pasword", vec![there.id]),
        (&there, "password", vec![there.id]),
        (&there, "passwerd", vec![]),
    ] {
        let filter = ItemFilter {
            project_id: Some(project.project_id),
            ..ItemFilter::default()
        };
        let (query, page) = (Query::parse(text), PageRequest::default());
        let found = search::search(&mut world.read().await, &query, &filter, &page).await;
        let found: Vec<Uuid> = found.unwrap().data.iter().map(|hit| hit.id).collect();
        assert_eq!(found, expected, "{text} in {}", project.project);
    }
}

/// A misspelt word that once stood somewhere is no longer a word once it was corrected.
async fn a_word_that_was_corrected_everywhere_is_forgiven_too(world: World) {
    let epic = world.epic("pasword").await;
    world.edit(&epic, |item| item.title = "password".into()).await;
    check(&world, "pasword", &["EP-001"]).await;
    check(&world, "passwort", &["EP-001"]).await;
}

async fn reference_ids_are_found_as_words(world: World) {
    world
        .create(world.draft(Kind::Epic, "a").saying("see REQ-012 and US-7"))
        .await;
    check(&world, "REQ-012", &["EP-001"]).await;
    check(&world, "us-7", &["EP-001"]).await;
    check(&world, "REQ-013", &[]).await;
}

//= specs/spexus-store.md#search
//= type=test
//# A search MUST answer for any text.
async fn no_text_is_an_error(world: World) {
    corpus(&world).await;
    let texts = [
        "",
        " ",
        "\"",
        "\"\"",
        "''",
        "'",
        "*",
        "a*",
        "*a",
        "^a",
        "a^",
        "(",
        ")",
        "(a",
        "a)",
        "a AND",
        "AND",
        "OR",
        "NOT",
        "a NOT b",
        "NEAR(a b)",
        "NEAR",
        "title:password",
        "{title body}:x",
        "-a",
        "+a",
        "a:b",
        "a & b",
        "a | b",
        "!a",
        "a <-> b",
        "a:*",
        "a:ABCD",
        "\\",
        "\\'",
        "'; DROP TABLE item; --",
        "%",
        "_",
        "$1",
        "?",
        "\0",
        "a\0b",
        "user's (login)",
        "½",
        "Ⅷ",
        "ﬁ",
        "İ",
        "ß",
        "हिन्दी",
        "日本語",
        "𠀀",
        "👍",
        "\u{1e940}",
        "\u{16f00}",
        "ᱚ",
        "\u{300}",
        "a\u{300}\u{301}",
        "\u{202e}abc",
        "\u{feff}",
        "\u{10ffff}",
        "\"ᱚ 𞤀\"",
        "\"½ ¾\" x",
        "٣٤",
        "ⅷ ⅸ",
    ];
    for text in texts {
        world.finds(text).await;
        world.finds(&format!("password {text}")).await;
        world.finds(&format!("\"{text} {text}\"")).await;
    }
    world.finds(&"слово ".repeat(500)).await;
    world.finds(&"я".repeat(5_000)).await;
    world.finds(&"𠀀".repeat(1_000)).await;
    // What has a NUL never gets this far; the domain refuses it.
    for text in texts.iter().filter(|text| !text.contains('\0')) {
        world.create(world.draft(Kind::Epic, "any").saying(text)).await;
    }
    for (text, word) in [
        ("हिन्दी भाषा", "हिन्दी"),
        ("日本語 テスト", "日本語"),
        ("ꓮ ᱚᱛ", "ᱚᱛ"),
    ] {
        let item = world.create(world.draft(Kind::Epic, "any").saying(text)).await;
        let found = world.finds(word).await;
        assert!(
            found.contains(&item.reference_id.to_string()),
            "{word}: {found:?}"
        );
    }
}

async fn comments_are_found(world: World) {
    corpus(&world).await;
    let epic = world.epic("discussed").await;
    let comment = world.comment(&epic, "А что с паролями администраторов?").await;
    let hits = world.search("администратор").await;
    assert_eq!(hits.len(), 1);
    assert_eq!((hits[0].id, hits[0].comment_id), (epic.id, Some(comment.id)));
    assert_eq!(hits[0].title, "discussed");
    assert!(
        hits[0].snippet.contains("**администраторов**"),
        "{}",
        hits[0].snippet
    );
}

//= specs/spexus-store.md#search
//= type=test
//# A search MUST show every write from the moment it is acknowledged.
async fn what_is_found_is_always_current(world: World) {
    let epic = world.epic("alpha").await;
    check(&world, "alpha", &["EP-001"]).await;
    let epic = world.edit(&epic, |item| item.title = "beta".into()).await;
    check(&world, "alpha", &[]).await;
    check(&world, "beta", &["EP-001"]).await;
    let deletion = world.delete(&[&epic]).await;
    check(&world, "beta", &[]).await;
    world.restore(deletion).await;
    check(&world, "beta", &["EP-001"]).await;
    let documents = world.place.number("SELECT count(*) FROM search_doc").await;
    assert_eq!(documents, 1, "nothing is left behind");
}

//= specs/spexus-store.md#search
//= type=test
//# A match in a title MUST rank above a match in a text.
async fn a_title_counts_more_than_a_text(world: World) {
    let body = world
        .create(world.draft(Kind::Epic, "something").saying("about gateways"))
        .await;
    let title = world
        .create(world.draft(Kind::Epic, "gateway").saying("about something"))
        .await;
    world
        .create(world.draft(Kind::Epic, "other").saying("nothing of it"))
        .await;
    let expect = [title.reference_id.to_string(), body.reference_id.to_string()];
    assert_eq!(world.finds("gateway").await, expect);
}

async fn filters_narrow_a_search(world: World) {
    let epic = world.epic("login").await;
    let story = world.story(&epic, "login").await;
    world.requirement(&story, "login").await;
    world.comment(&story, "login").await;
    let search = async |filter: ItemFilter| {
        let page = world.search_page("login", &filter, &PageRequest::default()).await;
        assert_eq!(page.total_count, Some(page.data.len() as i64));
        let mut found: Vec<String> = page.data.iter().map(|hit| hit.reference_id.to_string()).collect();
        found.sort();
        found
    };
    let any = ItemFilter::default();
    assert_eq!(
        search(any.clone()).await,
        ["EP-001", "REQ-001", "US-001", "US-001"]
    );
    let kinds = ItemFilter {
        kinds: vec![Kind::Requirement],
        ..any.clone()
    };
    assert_eq!(search(kinds).await, ["REQ-001"]);
    let under = ItemFilter {
        under: Some(epic.id),
        ..any.clone()
    };
    assert_eq!(search(under).await, ["REQ-001", "US-001", "US-001"]);
    let elsewhere = ItemFilter {
        project_id: Some(Uuid::nil()),
        ..any.clone()
    };
    assert!(search(elsewhere).await.is_empty());
    let status = ItemFilter {
        statuses: vec!["Done".into()],
        ..any
    };
    assert!(search(status).await.is_empty());
}

async fn pages_of_a_search_hold_everything_once(world: World) {
    for n in 0..9 {
        world.epic(&format!("login {n}")).await;
    }
    for limit in 1..=10 {
        let mut seen = Vec::new();
        let mut request = PageRequest {
            limit,
            ..PageRequest::default()
        };
        loop {
            let page = world.search_page("login", &ItemFilter::default(), &request).await;
            assert_eq!(page.total_count, Some(9));
            seen.extend(page.data.into_iter().map(|hit| hit.id));
            match page.next_cursor {
                None => break,
                cursor => request.cursor = cursor,
            }
        }
        assert_eq!(seen.len(), 9, "by {limit}");
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 9, "by {limit}");
    }
}

async fn a_snippet_shows_what_was_found(world: World) {
    corpus(&world).await;
    let hits = world.search("требование").await;
    let snippets: Vec<&str> = hits.iter().map(|hit| hit.snippet.as_str()).collect();
    assert!(
        snippets.iter().all(|snippet| snippet.contains("**")),
        "{snippets:?}"
    );
}

async fn everything_must_be_found_not_something(world: World) {
    corpus(&world).await;
    check(&world, "reset link", &["EP-002"]).await;
    check(&world, "reset second", &[]).await;
}

const FORMS: &str = "SELECT count(*) FROM search_form";

/// Looks at every word once, and tells how many were forgotten.
async fn sweep(store: &Store) -> usize {
    let mut sweep = Sweep::default();
    let mut forgotten = 0;
    loop {
        forgotten += sweep.step(store).await.unwrap();
        if sweep.is_at_start() {
            return forgotten;
        }
    }
}

//= specs/spexus-store.md#search
//= type=test
//# Words that are in no document any more MUST be forgotten.
/// A text of new words leaves some ten rows for each of them behind, also when the item goes.
async fn words_nobody_uses_are_forgotten(world: World) {
    corpus(&world).await;
    let before = world.place.number(FORMS).await;
    assert_eq!(sweep(&world.store).await, 0, "all of them are in use");
    assert_eq!(world.place.number(FORMS).await, before);
    let words: Vec<String> = (0..500).map(|at| format!("zq{at}xw")).collect();
    let draft = world.draft(Kind::Epic, "password").saying(&words.join(" "));
    let item = world.create(draft).await;
    let comment = world.epic("zq7xw is used elsewhere too").await;
    assert!(world.place.number(FORMS).await > before + 500);
    world.delete(&[&item]).await;
    let kept = world.place.number(FORMS).await;
    assert_eq!(sweep(&world.store).await, 499, "one is still in use");
    assert!(world.place.number(FORMS).await < kept - 499);
    check(&world, "zq7xv", &[&comment.reference_id.to_string()]).await;
    check(&world, "pasword", &["EP-002"]).await;
    world.delete(&[&comment]).await;
    sweep(&world.store).await;
    assert_eq!(world.place.number(FORMS).await, before);
}

async fn a_word_that_was_forgotten_is_learned_again_on_every_node(world: World) {
    let (other, _) = world.place.open().await.unwrap();
    let draft = |title: &str| world.draft(Kind::Epic, title);
    // Both nodes know the word; the first one forgets it.
    let first = world.create(draft("chrysanthemum")).await;
    let second = create_in(&other, world.actor(), draft("chrysanthemum"))
        .await
        .unwrap();
    let third = create_in(&other, world.actor(), draft("chrysanthemum"))
        .await
        .unwrap();
    world.delete(&[&first, &second, &third]).await;
    assert_eq!(sweep(&world.store).await, 1);
    for store in [&other, &world.store] {
        let item = create_in(store, world.actor(), draft("chrysanthemum"))
            .await
            .unwrap();
        check(&world, "chrysanthenum", &[&item.reference_id.to_string()]).await;
        world.delete(&[&item]).await;
        assert_eq!(sweep(&world.store).await, 1);
    }
}
