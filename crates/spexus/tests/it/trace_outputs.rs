//! What `spexus trace export` writes: every form says what the check says, and none believes what people wrote.

use crate::serving::Server;
use crate::world::{PASSWORD, World, read};
use base64::Engine as _;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A title that tries to be a formula, an element, an attribute and the end of each.
const HOSTILE: &str = "=1+cmd|' /C calc'!A0 <script>alert(1)</script> \"x\" onload='y' & ]]> MUST stay text";

/// Three requirements: one whose tests passed, one hostile whose test failed, one of which nothing is known.
fn project(world: &World) {
    world.json(&["project", "create", "web"]);
    let create = |kind: &str, title: &str, more: &[&str]| {
        world.json(
            &[
                &["item", "create", kind, "--project", "web", "--title", title],
                more,
            ]
            .concat(),
        )
    };
    create("epic", "Sums", &[]);
    create("user_story", "Adding", &["--parent", "EP-001"]);
    create("requirement", "Sums MUST add up", &["--parent", "US-001"]);
    create(
        "requirement",
        HOSTILE,
        &[
            "--parent",
            "US-001",
            "--description",
            "</div><img src=x onerror=alert(2)>\nAnd SHOULD.",
        ],
    );
    create("requirement", "Nobody looked at this", &["--parent", "US-001"]);
    std::fs::create_dir_all(world.path("tree/src")).unwrap();
    world.file("tree/Cargo.toml", "[package]\nname = \"adder\"\n");
    world.file(
        "tree/src/lib.rs",
        "//= spexus:REQ-001\n//# Sums MUST add up\npub fn add() {}\n\nmod tests {\n    // verifies REQ-001\n    #[test]\n    fn adds() {}\n\n    \
         // verifies REQ-002\n    #[test]\n    fn stays() {}\n}\n",
    );
    let junit = world.file(
        "junit.xml",
        "<testsuites><testsuite name=\"adder\"><testcase classname=\"adder\" name=\"tests::adds\"/><testcase classname=\"adder\" \
         name=\"tests::stays\"><failure message=\"&lt;b&gt;=2\"/></testcase></testsuite></testsuites>",
    );
    let push = [
        "trace",
        "push",
        "--project",
        "web",
        "--commit",
        COMMIT,
        "--scan",
        "tree",
        "--junit",
        &junit,
    ];
    world.json(&[&push[..], &["--command", "cargo nextest run"]].concat());
}

fn export(world: &World, form: &str, more: &[&str]) -> String {
    let command = ["trace", "export", "--project", "web", "--format", form];
    world.run(&[&command[..], more].concat()).ok()
}

/// What the check says: each requirement with its state, and whether it is a gap.
fn checked(world: &World) -> Vec<(String, String, bool)> {
    let found = world
        .run(&["trace", "check", "--project", "web", "--json"])
        .expect(1)
        .json();
    let gaps: Vec<&str> = found["gaps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|gap| gap["reference_id"].as_str().unwrap())
        .collect();
    let state = |id: &str| {
        let shown = world.json(&["trace", "show", id, "--project", "web"]);
        (
            id.to_owned(),
            shown["state"].as_str().unwrap().to_owned(),
            gaps.contains(&id),
        )
    };
    ["REQ-001", "REQ-002", "REQ-003"].map(state).to_vec()
}

//= specs/spexus.md#evidence
//= type=test
//# Every form of `spexus trace export` MUST show the states and gaps of `spexus trace check`.
#[test]
fn every_form_says_what_the_check_says() {
    for world in World::both() {
        project(&world);
        let expected = checked(&world);
        assert_eq!(expected[0].1, "passed");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();

        let sheet = export(&world, "csv", &[]);
        let mut reader = csv::Reader::from_reader(sheet.as_bytes());
        let mut rows: Vec<_> = reader
            .records()
            .map(|row| row.unwrap())
            .map(|row| (row[0].to_owned(), row[2].to_owned(), &row[4] == "yes"))
            .collect();
        rows.dedup();
        assert_eq!(rows, expected, "{sheet}");

        let page = export(&world, "html", &[]);
        for (id, state, is_gap) in &expected {
            let article = page.split(&format!("<article id=\"{id}\">")).nth(1).unwrap();
            let tone = if *is_gap { "bad" } else { "good" };
            let shown = article.split("<span class=\"").nth(1).unwrap();
            assert!(shown.starts_with(&format!("{tone}\">{state}")), "{id}: {shown}");
        }

        let statement: Value = serde_json::from_str(&export(&world, "statement", &[])).unwrap();
        let rows = statement["predicate"]["requirements"].as_array().unwrap();
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (text(&row["id"]), text(&row["state"]), row["gap"] == true))
            .collect();
        assert_eq!(rows, expected);

        let folder = world.path("lobster").display().to_string();
        export(&world, "lobster", &["--output", &folder]);
        let lobster =
            |name: &str| -> Value { serde_json::from_str(&read(world.path("lobster").join(name))).unwrap() };
        let requirements = lobster("requirements.lobster");
        assert_eq!(
            (&requirements["schema"], &requirements["version"]),
            (&json!("lobster-req-trace"), &json!(4))
        );
        let rows = requirements["data"].as_array().unwrap();
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (text(&row["tag"]), text(&row["status"])))
            .collect();
        let tags: Vec<_> = expected
            .iter()
            .map(|(id, state, _)| (format!("req {id}"), state.clone()))
            .collect();
        assert_eq!(rows, tags);
        let activity = &lobster("activity.lobster")["data"];
        assert_eq!(
            (&activity[0]["status"], &activity[1]["status"]),
            (&json!("ok"), &json!("fail"))
        );
        assert_eq!(activity[0]["refs"], json!(["req REQ-001"]));
        assert_eq!(
            lobster("implementation.lobster")["data"][0]["location"]["line"],
            1
        );

        let reqstool: Value = serde_json::from_str(&export(&world, "reqstool", &[])).unwrap();
        assert_eq!(reqstool["requirements"].as_object().unwrap().len(), 3);
        assert_eq!(
            reqstool["svcs"]["web:SVC_REQ-001"]["requirement_ids"],
            json!(["web:REQ-001"])
        );
        assert_eq!(reqstool["requirements"]["web:REQ-003"]["significance"], "shall");
        let result = |name: &str| reqstool["test_results"][name][0]["status"].clone();
        assert_eq!(
            (
                result("web:adder::tests::adds"),
                result("web:adder::tests::stays")
            ),
            (json!("passed"), json!("failed"))
        );

        let book = world.path("matrix.xlsx").display().to_string();
        export(&world, "xlsx", &["--output", &book]);
        let (strings, sheets) = workbook(&book);
        for (id, state, _) in &expected {
            assert!(
                strings.contains(&format!(">{id}<")) && strings.contains(&format!(">{state}<")),
                "{id}"
            );
        }
        assert!(
            !sheets.contains("<f>") && !sheets.contains("<f "),
            "no cell is a formula"
        );
    }
}

/// The strings of a workbook, and its sheets.
fn workbook(path: &str) -> (String, String) {
    let mut book = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut part = |name: &str| {
        let mut text = String::new();
        book.by_name(name).unwrap().read_to_string(&mut text).unwrap();
        text
    };
    let sheets = [
        "xl/worksheets/sheet1.xml",
        "xl/worksheets/sheet2.xml",
        "xl/worksheets/sheet3.xml",
    ];
    let sheets: String = sheets.into_iter().map(&mut part).collect();
    (part("xl/sharedStrings.xml"), sheets)
}

//= specs/spexus.md#evidence
//= type=test
//# The report in HTML MUST need nothing but itself, and MUST show what people wrote as text.
#[test]
fn what_people_wrote_stays_text_in_every_form() {
    let world = World::new();
    project(&world);
    let page = export(&world, "html", &[]);
    for alive in [
        "<script",
        "<img",
        "<b>",
        "<link",
        "<iframe",
        "href=\"http",
        "url(",
        "@import",
    ] {
        assert!(!page.contains(alive), "{alive} in the page");
    }
    assert!(
        page.contains("&lt;script&gt;alert(1)&lt;/script&gt; &quot;x&quot;"),
        "{page}"
    );
    assert!(
        page.contains("&lt;img src=x onerror=alert(2)&gt;\nAnd SHOULD."),
        "lines stay lines"
    );
    assert!(page.contains("default-src 'none'"));
    let sheet = export(&world, "csv", &[]);
    assert!(sheet.contains("\"'=1+cmd|"), "{sheet}");
    let mut reader = csv::Reader::from_reader(sheet.as_bytes());
    let cells: Vec<String> = reader
        .records()
        .flat_map(|row| row.unwrap().iter().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    assert!(
        cells.iter().all(|cell| !cell.starts_with(['=', '+', '@'])),
        "{cells:?}"
    );
    let book = world.path("matrix.xlsx").display().to_string();
    export(&world, "xlsx", &["--output", &book]);
    assert!(
        workbook(&book).0.contains("=1+cmd|' /C calc'!A0 &lt;script&gt;"),
        "a string, as it was written"
    );
}

//= specs/spexus.md#evidence
//= type=test
//# A signed statement MUST be a DSSE envelope over an in-toto statement that names the commit, each requirement with its state, and the
//# runs that verified it with their digests.
#[test]
fn others_can_check_a_signed_statement() {
    let world = World::new();
    project(&world);
    let key = world.path("release.key").display().to_string();
    world.json(&["audit", "key", &key]);
    let archive = world.file("adder.tar.gz", "not really");
    let signed = export(&world, "statement", &["--key", &key, "--artifact", &archive]);
    let envelope: Value = serde_json::from_str(&signed).unwrap();
    let base64 = |value: &Value| {
        base64::engine::general_purpose::STANDARD
            .decode(value.as_str().unwrap())
            .unwrap()
    };
    let payload = base64(&envelope["payload"]);
    let statement: Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["subject"][0]["digest"]["gitCommit"], COMMIT);
    assert_eq!(statement["subject"][1]["name"], "adder.tar.gz");
    let predicate = &statement["predicate"];
    let verified = &predicate["requirements"][0];
    assert_eq!(
        (&verified["id"], &verified["state"]),
        (&json!("REQ-001"), &json!("passed"))
    );
    let run = &predicate["runs"][0];
    assert_eq!(verified["tests"][0]["runs"], json!([run["id"]]));
    assert_eq!(
        (&run["command"], run["reports"][0]["passed"].as_u64()),
        (&json!("cargo nextest run"), Some(1))
    );
    let changes = world.json(&["changes", "--project", "web"]).to_string();
    assert!(
        changes.contains(run["digest"]["blake3"].as_str().unwrap()),
        "the ledger seals the same digest"
    );

    let signature = &envelope["signatures"][0];
    assert!(is_signed(
        &world,
        &payload,
        signature["keyid"].as_str().unwrap(),
        &base64(&signature["sig"])
    ));
    let altered = String::from_utf8(payload).unwrap().replace("passed", "failed");
    assert!(!is_signed(
        &world,
        altered.as_bytes(),
        signature["keyid"].as_str().unwrap(),
        &base64(&signature["sig"])
    ));
}

/// Whether OpenSSL, which knows nothing of us, finds the envelope of these bytes signed by the key.
fn is_signed(world: &World, payload: &[u8], key: &str, signature: &[u8]) -> bool {
    let head = format!("DSSEv1 28 application/vnd.in-toto+json {} ", payload.len());
    std::fs::write(world.path("signed"), [head.as_bytes(), payload].concat()).unwrap();
    std::fs::write(world.path("signature"), signature).unwrap();
    let der = [
        hex::decode("302a300506032b6570032100").unwrap(),
        hex::decode(key).unwrap(),
    ]
    .concat();
    std::fs::write(world.path("public.der"), der).unwrap();
    let arguments =
        "pkeyutl -verify -pubin -keyform DER -inkey public.der -rawin -in signed -sigfile signature";
    let done = Command::new("openssl")
        .current_dir(world.path("."))
        .args(arguments.split(' '))
        .output()
        .expect("openssl is here");
    String::from_utf8_lossy(&done.stdout).contains("Verified Successfully")
}

#[test]
fn an_export_refuses_what_its_form_cannot_obey() {
    let world = World::new();
    project(&world);
    let refused = |more: &[&str]| {
        let error = world.refused(1, &[&["trace", "export", "--project", "web"], more].concat());
        error["details"].to_string() + error["message"].as_str().unwrap()
    };
    assert!(refused(&["--format", "csv", "--key", "k"]).contains("for statements only"));
    assert!(refused(&["--format", "lobster"]).contains("three files"));
    assert!(refused(&["--format", "html", "--level", "high"]).contains("level"));
    assert!(refused(&["--format", "statement", "--artifact", "gone"]).contains("gone cannot be read"));
    world
        .run(&[
            "trace",
            "export",
            "--project",
            "web",
            "--format",
            "statement",
            "--key",
            "gone",
        ])
        .expect(78);
    // A short commit may mean another one some day.
    world.json(&["project", "create", "short"]);
    let junit = world.path("junit.xml").display().to_string();
    world.json(&[
        "trace",
        "push",
        "--project",
        "short",
        "--commit",
        &COMMIT[..12],
        "--junit",
        &junit,
    ]);
    let short = world.refused(
        1,
        &["trace", "export", "--project", "short", "--format", "statement"],
    );
    assert!(
        short["message"].as_str().unwrap().contains("all its digits"),
        "{short}"
    );
}

/// The page a person sees who signed in.
fn page(server: &Server, path: &str) -> String {
    let ask = |head: &str, more: &str, body: &str| {
        let (mut stream, host) = (TcpStream::connect(server.address()).unwrap(), server.address());
        let length = body.len();
        write!(
            stream,
            "{head} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n{more}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let form = format!("username=admin&password={}", PASSWORD.replace(' ', "+"));
    let kind = format!(
        "Origin: http://{}\r\nContent-Type: application/x-www-form-urlencoded",
        server.address()
    );
    let signed_in = ask("POST /login", &kind, &form);
    let cookie = signed_in
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.unwrap_or_else(|| panic!("{signed_in}"));
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    ask(&format!("GET {path}"), &cookie, "")
}

/// The references in `data-ref` of the rows of a page.
fn references(page: &str) -> Vec<&str> {
    let rows = page.split("<tr data-ref=\"").skip(1);
    rows.map(|row| row.split('"').next().unwrap()).collect()
}

#[test]
fn the_command_line_rest_and_the_page_agree() {
    for world in World::both() {
        project(&world);
        let token = world.json(&[
            "token", "create", "--user", "admin", "--name", "t", "--scope", "admin",
        ]);
        let token = token["token"].as_str().unwrap().to_owned();
        let server = Server::start(world.command(&["serve", "--listen", "127.0.0.1:0"]));
        let rest = |path: &str| -> Value {
            let answer = server.get(path, &token);
            let (_, body) = answer.split_once("\r\n\r\n").unwrap();
            serde_json::from_str(body).unwrap_or_else(|why| panic!("{why}: {answer}"))
        };
        for level in ["claimed", "passed", "affirmed"] {
            let check = ["trace", "check", "--project", "web", "--level", level, "--json"];
            let said: Value = serde_json::from_str(&world.run(&check).out).unwrap();
            assert_eq!(
                said,
                rest(&format!("/api/v1/trace/check?project=web&level={level}")),
                "{level}"
            );
            let gaps = rest(&format!("/api/v1/trace/gaps?project=web&level={level}"));
            assert_eq!(said["gaps"], gaps["data"], "{level}");
            let page = page(&server, &format!("/p/web/trace?level={level}"));
            let listed: Vec<&str> = said["gaps"]
                .as_array()
                .unwrap()
                .iter()
                .map(|gap| gap["reference_id"].as_str().unwrap())
                .collect();
            assert_eq!(references(&page), listed, "{level}: {page}");
        }
        for id in ["REQ-001", "REQ-002", "REQ-003"] {
            let shown = world.json(&["trace", "show", id, "--project", "web"]);
            assert_eq!(
                shown,
                rest(&format!("/api/v1/requirements/{id}/trace?project=web"))
            );
            let page = page(&server, &format!("/p/web/{id}"));
            let why = page
                .split("id=\"why\"")
                .nth(1)
                .unwrap()
                .split("</section>")
                .next()
                .unwrap();
            assert!(
                why.contains(&format!("data-s=\"{}\"", shown["state"].as_str().unwrap())),
                "{why}"
            );
        }
    }
}
