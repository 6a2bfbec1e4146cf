//! Tree, board, search, palette, matrix and graph: what they show, what they let happen, and to whom.

use crate::harness::{Browser, Page, World, both};
use spexus_domain::Kind;
use spexus_domain::item::ItemPatch;
use spexus_domain::link::NewLink;
use spexus_service::account::user;
use spexus_service::{item, link, member, project};

both![
    a_tree_opens_level_by_level_and_moves_its_nodes,
    a_move_that_is_refused_leaves_the_form_open,
    a_board_offers_the_steps_there_are,
    search_finds_words_and_marks_them,
    the_palette_reaches_pages_and_items,
    a_matrix_shows_links_gaps_and_suspects,
    the_links_of_a_cell_are_made_confirmed_and_ended,
    a_graph_shows_what_is_around_and_says_it_as_a_list,
    a_reader_looks_and_changes_nothing,
];

async fn seeded(world: &World) {
    world.seed().await;
    for title in ["Second", "Third"] {
        world.item(Kind::Requirement, Some("US-001"), title, "").await;
    }
    world.item(Kind::Epic, None, "Pay", "").await;
    world
        .item(Kind::UserStory, Some("EP-001"), "Without a password", "")
        .await;
}

async fn set(world: &World, reference: &str, patch: ItemPatch) {
    let of = Some("default");
    item::update(&world.service, &world.admin, of, None, reference, patch)
        .await
        .unwrap();
}

async fn join(world: &World, source: &str, link_type: &str, target: &str) {
    let new = NewLink {
        source: source.into(),
        target: target.into(),
        link_type: link_type.into(),
    };
    link::create(&world.service, &world.admin, Some("default"), new)
        .await
        .unwrap();
}

/// A member who only reads, signed in.
async fn reader(world: &World) -> Browser {
    let input = serde_json::json!({"username": "rita", "password": "long enough", "role": "Commenter"});
    let input = serde_json::from_value(input).unwrap();
    user::create(&world.service, &world.admin, input).await.unwrap();
    let role = serde_json::from_value(serde_json::json!({"role": "reader"})).unwrap();
    member::put(&world.service, &world.admin, Some("default"), "rita", role)
        .await
        .unwrap();
    world.signed_in_as("rita", "long enough").await
}

/// The references of a page, in the order in which rows, cards and nodes show them.
fn shown(page: &Page) -> Vec<String> {
    let main = page.text.split("<main").nth(1).unwrap();
    let parts = main.split("data-ref=\"").skip(1);
    parts
        .map(|part| part.split('"').next().unwrap().to_owned())
        .collect()
}

//= specs/spexus-web.md#trees
//= type=test
//# A tree MUST be read level by level as far as it is open, and what does not fit into the page MUST have a page of its own.
async fn a_tree_opens_level_by_level_and_moves_its_nodes(world: &mut World) {
    seeded(world).await;
    let mut browser = world.signed_in().await;
    let closed = browser.see("/p/default/tree").await;
    assert_eq!(shown(&closed), ["EP-001", "EP-002"]);
    closed
        .shows("href=\"/p/default/tree?open=EP-001\"")
        .shows("aria-expanded=\"false\"");
    let open = browser.see("/p/default/tree?open=EP-001,US-001").await;
    let all = [
        "EP-001", "US-001", "AC-001", "REQ-001", "REQ-002", "REQ-003", "US-002", "EP-002",
    ];
    assert_eq!(shown(&open), all);
    let main = open.text.split("<main").nth(1).unwrap();
    assert_eq!(
        main.matches("<ul").count(),
        main.matches("</ul>").count(),
        "{main}"
    );
    assert_eq!(
        main.matches("<li").count(),
        main.matches("</li>").count(),
        "{main}"
    );
    let within = browser.see("/p/default/tree?within=US-001").await;
    assert_eq!(shown(&within), ["AC-001", "REQ-001", "REQ-002", "REQ-003"]);
    let moving = browser.see("/p/default/tree?open=EP-001&moving=US-002").await;
    moving
        .shows("name=\"item\" value=\"US-002@1\"")
        .shows("name=\"before\" value=\"US-001\"");
    let up = [
        ("item", "US-002@1"),
        ("before", "US-001"),
        ("back", "open=EP-001"),
    ];
    let done = browser.post("/p/default/tree/move", &up).await;
    assert_eq!(
        (done.status, done.header("location")),
        (303, "/p/default/tree?open=EP-001")
    );
    assert_eq!(
        shown(&browser.see("/p/default/tree?open=EP-001").await),
        ["EP-001", "US-002", "US-001", "EP-002"]
    );
    let into = [("item", "US-002@2"), ("parent", "EP-002"), ("back", "")];
    assert_eq!(browser.post("/p/default/tree/move", &into).await.status, 303);
    let both = browser.see("/p/default/tree?open=EP-001,EP-002").await;
    assert_eq!(shown(&both), ["EP-001", "US-001", "EP-002", "US-002"]);
    for wrong in ["?within=EP-999", "?cursor=x", "?colour=1"] {
        assert!(
            browser.get(&format!("/p/default/tree{wrong}")).await.status >= 400,
            "{wrong}"
        );
    }
}

//= specs/spexus-web.md#trees
//= type=test
//# A node MUST be moved by a form for the revision that was shown, and a move that is refused MUST leave the form open with the reason.
async fn a_move_that_is_refused_leaves_the_form_open(world: &mut World) {
    seeded(world).await;
    let mut browser = world.signed_in().await;
    for (fields, reason) in [
        (
            [
                ("item", "US-002@7"),
                ("parent", "EP-002"),
                ("back", "open=EP-001"),
            ],
            "has revision 1 now, not 7",
        ),
        (
            [
                ("item", "US-002@1"),
                ("parent", "US-001"),
                ("back", "open=EP-001"),
            ],
            "parent",
        ),
    ] {
        let page = browser.post("/p/default/tree/move", &fields).await;
        assert!((400..500).contains(&page.status), "{}", page.text);
        page.shows("class=\"err\" role=\"alert\"")
            .shows(reason)
            .shows("value=\"US-002@1\"");
    }
    let nothing = browser.post("/p/default/tree/move", &[("item", "US-002")]).await;
    assert!((400..500).contains(&nothing.status));
}

async fn a_board_offers_the_steps_there_are(world: &mut World) {
    seeded(world).await;
    let mut browser = world.signed_in().await;
    let board = browser.see("/p/default/board").await;
    assert_eq!(shown(&board), ["US-001", "US-002"]);
    board.shows("data-status=\"Done\" data-from=\"In Progress\"");
    let steps = browser.see("/p/default/board?step=US-001").await;
    steps
        .shows("name=\"to\" value=\"Draft\"")
        .lacks("name=\"to\" value=\"Done\"");
    steps.shows("no step leads from &#34;Backlog&#34; to &#34;Done&#34;");
    let step = [("item", "US-001@1"), ("to", "Draft"), ("back", "kind=user_story")];
    let done = browser.post("/p/default/board/step", &step).await;
    assert_eq!(
        (done.status, done.header("location")),
        (303, "/p/default/board?kind=user_story")
    );
    let stale = browser.post("/p/default/board/step", &step).await;
    assert_eq!(stale.status, 412);
    stale.shows("role=\"alert\"").shows("has revision 2 now, not 1");
    let refused = [("item", "US-001@2"), ("to", "Done"), ("back", "")];
    let refused = browser.post("/p/default/board/step", &refused).await;
    refused.shows("no step leads from &#34;Draft&#34; to &#34;Done&#34;");
    assert_eq!(
        shown(&browser.see("/p/default/board?kind=requirement").await).len(),
        3
    );
    assert_eq!(
        shown(&browser.see("/p/default/board?under=EP-002").await).len(),
        0
    );
    assert!(
        browser
            .get("/p/default/board?kind=acceptance_criterion")
            .await
            .status
            >= 400
    );
}

//= specs/spexus-web.md#search
//= type=test
//# What was found MUST be shown with its place, and the words found MUST be marked in it.
async fn search_finds_words_and_marks_them(world: &mut World) {
    seeded(world).await;
    world
        .item(
            Kind::Requirement,
            Some("US-001"),
            "<b>bold</b> passkey",
            "A \"passkey\" <script>.",
        )
        .await;
    let mut browser = world.signed_in().await;
    let found = browser.see("/search?query=passkeys").await;
    found.shows("data-ref=\"REQ-001\"").shows("<mark>");
    let found = browser.see("/search?query=bold&project=default").await;
    found
        .shows("data-ref=\"REQ-004\"")
        .lacks("<script>.")
        .lacks("<b>bold");
    assert_eq!(shown(&browser.see("/search?query=REQ-002").await)[0], "REQ-002");
    assert_eq!(
        shown(&browser.see("/search?query=passkey&kinds=user_story").await),
        ["US-001"]
    );
    browser
        .see("/search?query=zebra")
        .await
        .shows("Nothing was found.");
    browser.see("/search").await.lacks("data-ref");
    let private =
        serde_json::from_value(serde_json::json!({"key": "private", "default_role": "none"})).unwrap();
    project::create(&world.service, &world.admin, private)
        .await
        .unwrap();
    let mut rita = reader(world).await;
    assert!(rita.get("/search?query=x&project=private").await.status >= 400);
    rita.see("/search?query=passkeys")
        .await
        .shows("data-ref=\"REQ-001\"")
        .lacks("private");
}

//= specs/spexus-web.md#search
//= type=test
//# The palette MUST reach every page the caller may see and every item of their projects, and nothing else.
async fn the_palette_reaches_pages_and_items(world: &mut World) {
    seeded(world).await;
    let mut browser = world.signed_in().await;
    let all = browser.see("/palette?project=default").await;
    for view in [
        "document",
        "tree",
        "board",
        "table",
        "matrix",
        "graph",
        "trace",
        "baselines",
    ] {
        all.shows(&format!("href=\"/p/default/{view}\""));
    }
    let palette = |page: &Page| page.text.split("id=\"palette\"").nth(1).unwrap().to_owned();
    assert!(palette(&all).contains("href=\"/admin\""));
    let some = palette(&browser.see("/palette?project=default&query=passk").await);
    assert!(
        some.contains("/p/default/REQ-001") && !some.contains("/board"),
        "{some}"
    );
    let by_number = palette(&browser.see("/palette?project=default&query=REQ-003").await);
    assert!(by_number.contains("/p/default/REQ-003"), "{by_number}");
    let places = palette(&browser.see("/palette?project=default&query=boa").await);
    assert!(places.contains("/p/default/board"), "{places}");
    browser.see("/keys").await.shows("<kbd>g b</kbd>");
    let mut rita = reader(world).await;
    assert!(!palette(&rita.see("/palette").await).contains("href=\"/admin\""));
}

//= specs/spexus-web.md#networks
//= type=test
//# A matrix MUST be read by windows of at most 200 rows, and MUST mark rows without a link and links that are suspect.
async fn a_matrix_shows_links_gaps_and_suspects(world: &mut World) {
    seeded(world).await;
    let serves = ItemPatch {
        acceptance_criterion: Some(Some("AC-001".into())),
        ..ItemPatch::default()
    };
    set(world, "REQ-001", serves).await;
    join(world, "REQ-002", "depends_on", "REQ-001").await;
    join(world, "REQ-003", "depends_on", "REQ-002").await;
    let changed = ItemPatch {
        title: Some("Changed".into()),
        ..ItemPatch::default()
    };
    set(world, "REQ-003", changed).await;
    let mut browser = world.signed_in().await;
    let serving = browser.see("/p/default/matrix").await;
    serving
        .shows("title=\"REQ-001 – AC-001: linked\"")
        .shows("class=\"gap\"");
    assert_eq!(shown(&serving), ["REQ-001", "REQ-002", "REQ-003"]);
    let depends = browser
        .see("/p/default/matrix?rows=requirement&columns=requirement&link=depends_on")
        .await;
    depends
        .shows("REQ-002 – REQ-001: linked")
        .shows("REQ-003 – REQ-002: suspect");
    depends.lacks("REQ-001 – REQ-002");
    let required = browser
        .see("/p/default/matrix?columns=requirement&link=is_required_by")
        .await;
    required
        .shows("REQ-001 – REQ-002: linked")
        .lacks("REQ-002 – REQ-001");
    let gaps = browser
        .see("/p/default/matrix?columns=requirement&link=depends_on&gaps=1")
        .await;
    assert_eq!(shown(&gaps), ["REQ-001", "REQ-003"]);
    let window = browser.see("/p/default/matrix?limit=2").await;
    assert_eq!(shown(&window), ["REQ-001", "REQ-002"]);
    window.shows("rel=\"next\"");
    let file = browser
        .see("/p/default/matrix.csv?columns=requirement&link=depends_on")
        .await;
    assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
    assert_eq!(
        file.text,
        "reference_id,title,REQ-001,REQ-002\r\nREQ-001,Passkeys work,,\r\nREQ-002,Second,linked,\r\nREQ-003,Changed,,suspect\r\n"
    );
    for wrong in ["?link=nonsense", "?rows=thing", "?limit=201"] {
        assert!(
            browser.get(&format!("/p/default/matrix{wrong}")).await.status >= 400,
            "{wrong}"
        );
    }
}

async fn the_links_of_a_cell_are_made_confirmed_and_ended(world: &mut World) {
    seeded(world).await;
    let mut browser = world.signed_in().await;
    let back = "columns=requirement&link=depends_on";
    let cell = "/p/default/matrix/cell";
    browser
        .see(&format!("{cell}?row=REQ-001&link=depends_on"))
        .await
        .shows("<option selected>depends_on</option>");
    let add = [
        ("row", "REQ-002"),
        ("column", "REQ-001"),
        ("link", "depends_on"),
        ("do", "add"),
        ("back", back),
    ];
    let done = browser.post(cell, &add).await;
    assert_eq!(
        (done.status, done.header("location")),
        (303, "/p/default/matrix?columns=requirement&link=depends_on")
    );
    let twice = browser.post(cell, &add).await;
    assert_eq!(twice.status, 409, "{}", twice.text);
    twice.shows("role=\"alert\"");
    let lost = browser
        .post(
            cell,
            &[
                ("row", "REQ-002"),
                ("column", "REQ-999"),
                ("link", "depends_on"),
                ("do", "add"),
            ],
        )
        .await;
    assert!((400..500).contains(&lost.status));
    lost.shows("value=\"REQ-999\"").shows("aria-invalid");
    let changed = ItemPatch {
        title: Some("Changed".into()),
        ..ItemPatch::default()
    };
    set(world, "REQ-001", changed).await;
    let page = browser
        .see(&format!("{cell}?row=REQ-002&column=REQ-001&link=depends_on"))
        .await;
    let id = page
        .text
        .split("name=\"id\" value=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .to_owned();
    page.shows("value=\"confirm\"");
    for action in ["confirm", "remove"] {
        let fields = [
            ("row", "REQ-002"),
            ("column", "REQ-001"),
            ("id", &id),
            ("do", action),
            ("back", back),
        ];
        assert_eq!(browser.post(cell, &fields).await.status, 303, "{action}");
    }
    let serve = [
        ("row", "REQ-002"),
        ("column", "AC-001"),
        ("link", "serves"),
        ("rev", "1"),
        ("do", "add"),
    ];
    assert_eq!(browser.post(cell, &serve).await.status, 303);
    browser
        .see("/p/default/matrix")
        .await
        .shows("REQ-002 – AC-001: linked");
    let end = [
        ("row", "REQ-002"),
        ("column", "AC-001"),
        ("id", "serves"),
        ("rev", "2"),
        ("do", "remove"),
    ];
    assert_eq!(browser.post(cell, &end).await.status, 303);
    browser.see("/p/default/matrix").await.lacks("REQ-002 – AC-001");
}

//= specs/spexus-web.md#networks
//= type=test
//# A graph MUST show at most 200 items, MUST say when there are more, and MUST say the same as a list.
async fn a_graph_shows_what_is_around_and_says_it_as_a_list(world: &mut World) {
    seeded(world).await;
    join(world, "REQ-002", "depends_on", "REQ-001").await;
    join(world, "REQ-003", "depends_on", "REQ-002").await;
    let mut browser = world.signed_in().await;
    browser.see("/p/default/graph").await.lacks("<svg class=\"net\"");
    let graph = browser.see("/p/default/graph?from=REQ-002").await;
    graph
        .shows("<title>REQ-003 depends on REQ-002</title>")
        .shows("marker-end");
    let (drawn, listed) = (
        graph.text.split("<table").next().unwrap(),
        graph.text.split("<table").nth(1).unwrap(),
    );
    for reference in ["REQ-001", "REQ-003"] {
        assert!(
            drawn.contains(&format!("data-ref=\"{reference}\"")),
            "{reference} is not drawn"
        );
        assert!(
            listed.contains(&format!("data-ref=\"{reference}\"")),
            "{reference} is not listed"
        );
    }
    let one_way = browser.see("/p/default/graph?from=REQ-002&way=in&depth=1").await;
    one_way
        .lacks("data-ref=\"REQ-001\"")
        .shows("data-ref=\"REQ-003\"");
    browser
        .see("/p/default/graph?from=REQ-002&link=blocks")
        .await
        .shows("There is no link.");
    for at in 0..205 {
        let far = world.item(Kind::Epic, None, &format!("Far {at}"), "").await;
        join(world, "EP-001", "relates_to", &far.reference_id.to_string()).await;
    }
    let large = browser.see("/p/default/graph?from=EP-001").await;
    large.shows("There is more than 200 items around");
    assert_eq!(large.text.matches("<a class=\"g").count(), 200);
    for wrong in [
        "?from=REQ-999",
        "?from=REQ-001&depth=7",
        "?from=REQ-001&link=nonsense",
    ] {
        assert!(
            browser.get(&format!("/p/default/graph{wrong}")).await.status >= 400,
            "{wrong}"
        );
    }
}

//= specs/spexus-web.md#safety
//= type=test
//# A page, a form or a button that the caller may not use MUST NOT be shown, and MUST be refused when it is asked for all the same.
async fn a_reader_looks_and_changes_nothing(world: &mut World) {
    seeded(world).await;
    join(world, "REQ-002", "depends_on", "REQ-001").await;
    let changed = ItemPatch {
        title: Some("Changed".into()),
        ..ItemPatch::default()
    };
    set(world, "REQ-001", changed).await;
    let mut rita = reader(world).await;
    let tree = rita.see("/p/default/tree?open=EP-001&moving=US-001").await;
    tree.shows("data-ref=\"US-001\"")
        .lacks("draggable=\"true\"")
        .lacks("tree/move\"><input");
    rita.see("/p/default/board?step=US-001")
        .await
        .lacks("name=\"to\"")
        .lacks("draggable=\"true\"");
    let cell = rita
        .see("/p/default/matrix/cell?row=REQ-002&column=REQ-001")
        .await;
    cell.shows("depends_on")
        .lacks("value=\"confirm\"")
        .lacks("value=\"remove\"")
        .lacks("value=\"add\"");
    let id = spexus_domain::Uuid::nil().to_string();
    for (path, fields) in [
        ("tree/move", vec![("item", "US-001@1"), ("parent", "EP-002")]),
        ("board/step", vec![("item", "US-001@1"), ("to", "Draft")]),
        (
            "matrix/cell",
            vec![
                ("row", "REQ-003"),
                ("column", "REQ-001"),
                ("link", "depends_on"),
                ("do", "add"),
            ],
        ),
        (
            "matrix/cell",
            vec![
                ("row", "REQ-002"),
                ("column", "REQ-001"),
                ("id", &id),
                ("do", "confirm"),
            ],
        ),
    ] {
        let page = rita.post(&format!("/p/default/{path}"), &fields).await;
        assert!(matches!(page.status, 403 | 404), "{path}: {}", page.status);
    }
}
