//! The traps of the format, one by one; archives; a document made anew.

use std::io::Write as _;

use exchange::archive::{Archive, ArchiveLimits};
use exchange::reqif::{Change, Document, FreshItem, FreshRelation, fresh};
use exchange::xml::{Edits, XmlLimits};

fn item(identifier: &str, title: &str, text: &str, depth: usize) -> FreshItem {
    FreshItem {
        identifier: identifier.to_owned(),
        foreign_id: identifier.to_owned(),
        object_type: "requirement".to_owned(),
        title: title.to_owned(),
        text: text.to_owned(),
        attributes: vec![("status".to_owned(), "Draft".to_owned())],
        last_change: "2026-11-19T12:00:00Z".to_owned(),
        depth,
    }
}

fn document() -> String {
    let items = [
        item("REQ-001", "Stop & go", "The pump shall <stop>.\nAt once.", 0),
        item("REQ-002", "Насос", "", 1),
        item("REQ-003", "Third", "x", 0),
    ];
    let relation = FreshRelation {
        identifier: "link-1".to_owned(),
        relation_type: "depends_on".to_owned(),
        source: "REQ-001".to_owned(),
        target: "REQ-003".to_owned(),
        last_change: "2026-11-19T12:00:00Z".to_owned(),
    };
    fresh("Pumps", "2026-11-19T12:00:00Z", &items, &[relation])
}

#[test]
fn a_fresh_document_says_what_it_was_made_of() {
    let text = document();
    let document = Document::read(text.as_bytes()).unwrap();
    let reading = document.reading(&XmlLimits::default()).unwrap();
    assert_eq!(reading.diagnostics, []);
    let meaning = &reading.meaning;
    assert_eq!(meaning.header.title, "Pumps");
    let first = &meaning.objects[0];
    let values: Vec<(&str, &str)> = first
        .values
        .iter()
        .map(|value| (meaning.name_of(value), value.text.as_str()))
        .collect();
    assert_eq!(
        values,
        [
            ("ReqIF.ForeignID", "REQ-001"),
            ("ReqIF.Name", "Stop & go"),
            ("status", "Draft"),
            ("ReqIF.Text", "The pump shall <stop>.\nAt once."),
        ]
    );
    let top = &meaning.specifications[0].children;
    assert_eq!((top.len(), top[0].children.len()), (2, 1));
    assert_eq!(meaning.relations[0].source, first.identifier);
}

#[test]
fn a_value_that_says_so_already_is_left_as_it_is_written() {
    let text = document();
    let document = Document::read(text.as_bytes()).unwrap();
    let reading = document.reading(&XmlLimits::default()).unwrap();
    let object = &reading.meaning.objects[0];
    let value = object.values.last().unwrap();
    let change = Change {
        object: object.identifier.clone(),
        definition: value.definition.clone(),
        text: value.text.clone(),
    };
    let (edits, unmade) = reading.edits(&[change]);
    assert!(edits.is_empty() && unmade.is_empty());
    assert_eq!(document.write(edits), text.as_bytes());
}

#[test]
fn a_value_that_was_not_there_is_added_and_a_wrong_one_told() {
    let text = document().replace(
        "      <SPEC-ATTRIBUTES>\n",
        "<SPEC-ATTRIBUTES>\n<ATTRIBUTE-DEFINITION-INTEGER IDENTIFIER=\"n\"/>\n",
    );
    let document = Document::read(text.as_bytes()).unwrap();
    let reading = document.reading(&XmlLimits::default()).unwrap();
    let change = |text: &str| Change {
        object: "_REQ-002".to_owned(),
        definition: "n".to_owned(),
        text: text.to_owned(),
    };
    if reading.meaning.definition("n").is_none() {
        panic!("{text}");
    }
    let (_, unmade) = reading.edits(&[change("many")]);
    assert_eq!(unmade[0].reason, "\"many\" is no integer");
    let (edits, unmade) = reading.edits(&[change("7")]);
    assert_eq!(unmade, []);
    let written = document.write(edits);
    let again = Document::read(&written).unwrap();
    let again = again.reading(&XmlLimits::default()).unwrap();
    assert!(
        again.meaning.objects[1]
            .values
            .iter()
            .any(|value| value.definition == "n" && value.text == "7")
    );
}

#[test]
fn odd_things_are_told_with_their_place() {
    //= specs/exchange.md#documents
    //= type=test
    //# What is odd about a document MUST be a diagnostic with line and column; what can be read MUST be read.
    let text = document()
        .replace(
            "<SPEC-OBJECT-REF>_REQ-003</SPEC-OBJECT-REF>\n        </TARGET>",
            "<SPEC-OBJECT-REF>gone</SPEC-OBJECT-REF>\n        </TARGET>",
        )
        .replace("IDENTIFIER=\"_REQ-002\"", "IDENTIFIER=\"_REQ-001\"")
        .replace(">1.0<", ">2.1.0<");
    let document = Document::read(text.as_bytes()).unwrap();
    let reading = document.reading(&XmlLimits::default()).unwrap();
    let codes: Vec<&str> = reading.diagnostics.iter().map(|one| one.code).collect();
    for code in ["version", "duplicate-identifier", "dangling-reference"] {
        assert!(codes.contains(&code), "{code} in {:#?}", reading.diagnostics);
    }
    let twice = reading
        .diagnostics
        .iter()
        .find(|one| one.code == "duplicate-identifier")
        .unwrap();
    let line = text.lines().nth(twice.line - 1).unwrap();
    assert!(
        line[twice.column - 1..].starts_with("<SPEC-OBJECT IDENTIFIER=\"_REQ-001\""),
        "{line}"
    );
}

#[test]
fn bytes_of_an_older_encoding_come_back_as_they_were() {
    let bytes = b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<REQ-IF><THE-HEADER><REQ-IF-HEADER IDENTIFIER=\"a\"><TITLE>Gr\xfc\xdfe</TITLE></REQ-IF-HEADER></THE-HEADER></REQ-IF>";
    let document = Document::read(bytes).unwrap();
    assert_eq!(document.write(Edits::default()), bytes);
    assert_eq!(
        document
            .reading(&XmlLimits::default())
            .unwrap()
            .meaning
            .header
            .title,
        "Grüße"
    );
    assert!(
        Document::read(b"<a>\xff</a>")
            .unwrap_err()
            .message
            .contains("byte 3 is no UTF-8")
    );
    assert!(
        Document::read(b"\xff\xfe<\0a\0")
            .unwrap_err()
            .message
            .contains("UTF-16")
    );
}

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        out.start_file(*name, zip::write::SimpleFileOptions::default())
            .unwrap();
        out.write_all(content).unwrap();
    }
    out.finish().unwrap().into_inner()
}

#[test]
fn an_archive_is_read_within_its_limits() {
    //= specs/exchange.md#documents
    //= type=test
    //# A name in an archive that leads out of it MUST NOT be read, and an archive larger than its limits MUST be refused.
    let text = document();
    let bytes = archive(&[
        ("../../etc/x.reqif", b"<a/>"),
        ("a.reqif", text.as_bytes()),
        ("b.png", b"png"),
    ]);
    let read = Archive::read(bytes.clone(), &ArchiveLimits::default()).unwrap();
    assert_eq!(read.documents.len(), 1);
    assert_eq!(read.attachments, ["b.png"]);
    assert_eq!(read.diagnostics[0].code, "archive-path");
    assert_eq!(read.write(&[]).unwrap(), bytes);

    let changed = read
        .write(&[("a.reqif".to_owned(), b"<REQ-IF/>".to_vec())])
        .unwrap();
    let again = Archive::read(changed, &ArchiveLimits::default()).unwrap();
    assert_eq!(again.documents[0].1, b"<REQ-IF/>");
    assert_eq!(again.attachments, ["b.png"]);

    let bomb = archive(&[("a.reqif", &vec![b' '; 40 << 20])]);
    let refused = Archive::read(bomb, &ArchiveLimits::default()).unwrap_err();
    assert!(refused.message.contains("unpacks to more than"), "{refused}");
    let many: Vec<(String, &[u8])> = (0..20).map(|n| (format!("{n}.reqif"), &b"<a/>"[..])).collect();
    let many: Vec<(&str, &[u8])> = many
        .iter()
        .map(|(name, content)| (name.as_str(), *content))
        .collect();
    let few = ArchiveLimits {
        max_entries: 10,
        ..ArchiveLimits::default()
    };
    assert!(
        Archive::read(archive(&many), &few)
            .unwrap_err()
            .message
            .contains("20 files, 10 at most")
    );
    assert!(Archive::read(b"PK\x03\x04 no".to_vec(), &ArchiveLimits::default()).is_err());
}

/// Found in a file of the corpus: below a statement stood others, and a requirement became the parent of requirements.
#[test]
fn what_stands_below_an_object_that_is_a_statement_elsewhere_joins_the_section_before() {
    let place = "<SPEC-HIERARCHY IDENTIFIER=\"x\"><OBJECT><SPEC-OBJECT-REF>_REQ-003</SPEC-OBJECT-REF></OBJECT><CHILDREN><SPEC-HIERARCHY IDENTIFIER=\"y\"><OBJECT><SPEC-OBJECT-REF>_REQ-004</SPEC-OBJECT-REF></OBJECT></SPEC-HIERARCHY></CHILDREN></SPEC-HIERARCHY>\n        </CHILDREN>\n      </SPECIFICATION>";
    let text = document();
    let end = text.rfind("</CHILDREN>").unwrap();
    let close = text[end..].find("</SPECIFICATION>").unwrap() + end + "</SPECIFICATION>".len();
    let text = format!("{}{place}{}", &text[..end], &text[close..]);
    let extra = "<SPEC-OBJECT IDENTIFIER=\"_REQ-004\" LONG-NAME=\"Fourth\"><TYPE><SPEC-OBJECT-TYPE-REF>_type-requirement</SPEC-OBJECT-TYPE-REF></TYPE></SPEC-OBJECT></SPEC-OBJECTS>";
    let text = text.replace("</SPEC-OBJECTS>", extra);
    let document = Document::read(text.as_bytes()).unwrap();
    let items = document.reading(&XmlLimits::default()).unwrap().items();
    let fourth = items.iter().find(|one| one.id == "_REQ-004").unwrap();
    let parent = items
        .iter()
        .find(|one| Some(&one.id) == fourth.parent.as_ref())
        .unwrap();
    assert_eq!(parent.level, exchange::SourceLevel::Section);
}
