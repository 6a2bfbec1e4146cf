//! ReqIF in and out, as people who have another tool meet it.

use crate::world::{World, read};

const DOCUMENT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- from a tool -->
<REQ-IF xmlns="http://www.omg.org/spec/ReqIF/20110401/reqif.xsd" xmlns:xhtml="http://www.w3.org/1999/xhtml">
 <THE-HEADER><REQ-IF-HEADER IDENTIFIER="h"><REQ-IF-VERSION>1.0</REQ-IF-VERSION><TITLE>Pumps</TITLE></REQ-IF-HEADER></THE-HEADER>
 <CORE-CONTENT><REQ-IF-CONTENT>
  <SPEC-TYPES><SPEC-OBJECT-TYPE IDENTIFIER="t" LONG-NAME="Requirement"><SPEC-ATTRIBUTES>
   <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="n" LONG-NAME="ReqIF.Name"/>
   <ATTRIBUTE-DEFINITION-XHTML IDENTIFIER="x" LONG-NAME="ReqIF.Text"/>
   <ATTRIBUTE-DEFINITION-STRING IDENTIFIER="r" LONG-NAME="Risk"/>
  </SPEC-ATTRIBUTES></SPEC-OBJECT-TYPE><SPEC-RELATION-TYPE IDENTIFIER="d" LONG-NAME="Depends on"/></SPEC-TYPES>
  <SPEC-OBJECTS>
   <SPEC-OBJECT IDENTIFIER="o1"><VALUES>
     <ATTRIBUTE-VALUE-STRING THE-VALUE='Stop &amp; go'><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>n</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
     <ATTRIBUTE-VALUE-XHTML><DEFINITION><ATTRIBUTE-DEFINITION-XHTML-REF>x</ATTRIBUTE-DEFINITION-XHTML-REF></DEFINITION><THE-VALUE><xhtml:p>The pump <xhtml:b>shall</xhtml:b> stop.</xhtml:p></THE-VALUE></ATTRIBUTE-VALUE-XHTML>
     <ATTRIBUTE-VALUE-STRING THE-VALUE="low"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>r</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>
    </VALUES><TYPE><SPEC-OBJECT-TYPE-REF>t</SPEC-OBJECT-TYPE-REF></TYPE></SPEC-OBJECT>
   <SPEC-OBJECT IDENTIFIER="o2" LONG-NAME="Second"><TYPE><SPEC-OBJECT-TYPE-REF>t</SPEC-OBJECT-TYPE-REF></TYPE></SPEC-OBJECT>
  </SPEC-OBJECTS>
  <SPEC-RELATIONS><SPEC-RELATION IDENTIFIER="l"><TARGET><SPEC-OBJECT-REF>o2</SPEC-OBJECT-REF></TARGET><SOURCE><SPEC-OBJECT-REF>o1</SPEC-OBJECT-REF></SOURCE><TYPE><SPEC-RELATION-TYPE-REF>d</SPEC-RELATION-TYPE-REF></TYPE></SPEC-RELATION></SPEC-RELATIONS>
  <SPECIFICATIONS><SPECIFICATION IDENTIFIER="s" LONG-NAME="Pump"><CHILDREN>
   <SPEC-HIERARCHY IDENTIFIER="p1"><OBJECT><SPEC-OBJECT-REF>o1</SPEC-OBJECT-REF></OBJECT></SPEC-HIERARCHY>
   <SPEC-HIERARCHY IDENTIFIER="p2"><OBJECT><SPEC-OBJECT-REF>o2</SPEC-OBJECT-REF></OBJECT></SPEC-HIERARCHY>
  </CHILDREN></SPECIFICATION></SPECIFICATIONS>
 </REQ-IF-CONTENT></CORE-CONTENT>
</REQ-IF>
"#;

#[test]
fn a_document_comes_in_changes_and_leaves_as_it_was_but_for_the_change() {
    for world in World::both() {
        let file = world.file("pumps.reqif", DOCUMENT);
        let tried = world.json(&["import", &file, "--dry-run"]);
        assert_eq!(tried["created"], 4, "{tried}");
        assert_eq!(world.json(&["item", "list", "requirement"])["total_count"], 0);

        let imported = world.json(&["import", &file, "--format", "reqif"]);
        assert_eq!(
            (&imported["created"], &imported["links"]),
            (&4.into(), &1.into()),
            "{imported}"
        );
        let item = world.json(&["item", "get", "REQ-001"]);
        assert_eq!(item["title"], "Stop & go");
        assert_eq!(item["description"], "The pump shall stop.");
        assert_eq!(item["attributes"]["Risk"], "low");

        //= specs/exchange.md#exporting
        //= type=test
        //# Exported into the document it came in, a project that says the same MUST give that document byte for byte.
        let out = world.path("out.reqif").display().to_string();
        world
            .run(&["export", "--format", "reqif", "--onto", &file, "--output", &out])
            .ok();
        assert_eq!(read(&out), DOCUMENT);

        world.json(&["item", "update", "REQ-001", "--attribute", "Risk=<high>"]);
        world
            .run(&["export", "--format", "reqif", "--onto", &file, "--output", &out])
            .ok();
        assert_eq!(read(&out), DOCUMENT.replace("\"low\"", "\"&lt;high&gt;\""));

        //= specs/exchange.md#importing
        //= type=test
        //# A second import of the same source MUST change the items of the first one, found by the identifiers of the source.
        let newer = world.file("newer.reqif", &DOCUMENT.replace("stop.", "halt."));
        let again = world.json(&["import", &newer]);
        assert_eq!(
            (&again["created"], &again["updated"]),
            (&0.into(), &1.into()),
            "{again}"
        );
        assert_eq!(
            world.json(&["item", "get", "REQ-001"])["description"],
            "The pump shall halt."
        );
    }
}

#[test]
fn a_fresh_export_comes_in_again_elsewhere() {
    let world = World::new();
    world.json(&["demo", "--items", "60", "--seed", "3"]);
    let out = world.path("fresh.reqif").display().to_string();
    world.run(&["export", "--format", "reqif", "--output", &out]).ok();
    world.json(&["project", "create", "other"]);
    let imported = world.json(&["import", &out, "--project", "other"]);
    let of = |project: &str, kind: &str| {
        let found = world.json(&["item", "list", kind, "--project", project, "--limit", "200"]);
        found["data"].as_array().unwrap().len()
    };
    assert_eq!(
        imported["warnings"].as_array().map_or(0, Vec::len),
        0,
        "{imported}"
    );
    assert!(of("default", "requirement") > 10);
    assert!(of("other", "requirement") >= of("default", "requirement"));
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place_and_nothing_is_written() {
    //= specs/exchange.md#importing
    //= type=test
    //# A document that cannot be read MUST be refused with its place, and nothing MUST be written.
    let world = World::new();
    for (text, message) in [
        (DOCUMENT.replace("</SPEC-TYPES>", ""), "closes <SPEC-TYPES>"),
        (
            DOCUMENT.replace("<!-- from a tool -->", "<!DOCTYPE a [<!ENTITY b \"c\">]>"),
            "line 2, column 1: a document type declaration",
        ),
        ("no XML".to_owned(), "text outside of the root element"),
    ] {
        let file = world.file("bad.reqif", &text);
        let refused = world.refused(1, &["import", &file]);
        assert!(
            refused["message"].as_str().unwrap().contains(message),
            "{refused}"
        );
    }
    assert_eq!(world.json(&["item", "list", "epic"])["total_count"], 0);
}
