//! A document made anew, for what never was in one. It keeps to the order and the names of the standard's schema.

use super::rich_text::to_xhtml;
use crate::xml::escape;

/// One object of the new document, and how deep it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreshItem {
    /// Made an `IDENTIFIER` of; stable from export to export.
    pub identifier: String,
    /// What people call it.
    pub foreign_id: String,
    /// The type of the object.
    pub object_type: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Further attributes by name, as text.
    pub attributes: Vec<(String, String)>,
    /// When it was changed, as XML has it.
    pub last_change: String,
    /// 0 at the top; at most one more than that of the item before.
    pub depth: usize,
}

/// One relation of the new document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreshRelation {
    /// Made an `IDENTIFIER` of.
    pub identifier: String,
    /// The type of the relation.
    pub relation_type: String,
    /// `identifier` of the item it begins at.
    pub source: String,
    /// `identifier` of the item it ends at.
    pub target: String,
    /// When it was changed.
    pub last_change: String,
}

const NAMES: [&str; 3] = ["ReqIF.ForeignID", "ReqIF.Name", "ReqIF.Text"];

/// Writes a document of one specification.
pub fn fresh(title: &str, now: &str, items: &[FreshItem], relations: &[FreshRelation]) -> String {
    let mut out = Writer {
        out: String::new(),
        depth: 0,
        now,
    };
    out.out.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let space = "xmlns=\"http://www.omg.org/spec/ReqIF/20110401/reqif.xsd\" xmlns:xhtml=\"http://www.w3.org/1999/xhtml\"";
    out.element("REQ-IF", space, |out| {
        out.element("THE-HEADER", "", |out| out.header(title));
        out.element("CORE-CONTENT", "", |out| {
            out.element("REQ-IF-CONTENT", "", |out| out.content(title, items, relations));
        });
    });
    out.out
}

struct Writer<'n> {
    out: String,
    depth: usize,
    now: &'n str,
}

impl Writer<'_> {
    fn element(&mut self, name: &str, attributes: &str, inside: impl FnOnce(&mut Self)) {
        let blank = if attributes.is_empty() { "" } else { " " };
        self.line(&format!("<{name}{blank}{attributes}>"));
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.line(&format!("</{name}>"));
    }

    fn line(&mut self, text: &str) {
        self.out.extend(std::iter::repeat_n("  ", self.depth));
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn named(&self, identifier: &str, name: &str) -> String {
        format!(
            "IDENTIFIER=\"{}\" LAST-CHANGE=\"{}\" LONG-NAME=\"{}\"",
            id(identifier),
            self.now,
            escape(name, true)
        )
    }

    fn header(&mut self, title: &str) {
        let now = self.now.to_owned();
        self.element("REQ-IF-HEADER", "IDENTIFIER=\"_header\"", |out| {
            out.line(&format!("<CREATION-TIME>{now}</CREATION-TIME>"));
            out.line("<REQ-IF-TOOL-ID>Spexus</REQ-IF-TOOL-ID>");
            out.line("<REQ-IF-VERSION>1.0</REQ-IF-VERSION>");
            out.line("<SOURCE-TOOL-ID>Spexus</SOURCE-TOOL-ID>");
            out.line(&format!("<TITLE>{}</TITLE>", escape(title, false)));
        });
    }

    fn content(&mut self, title: &str, items: &[FreshItem], relations: &[FreshRelation]) {
        let mut types: Vec<&str> = items.iter().map(|item| item.object_type.as_str()).collect();
        let mut kinds: Vec<&str> = relations
            .iter()
            .map(|relation| relation.relation_type.as_str())
            .collect();
        for list in [&mut types, &mut kinds] {
            list.sort_unstable();
            list.dedup();
        }
        self.element("DATATYPES", "", |out| {
            let text = out.named("datatype-string", "String");
            out.line(&format!(
                "<DATATYPE-DEFINITION-STRING {text} MAX-LENGTH=\"2147483647\"/>"
            ));
            let rich = out.named("datatype-xhtml", "XHTML");
            out.line(&format!("<DATATYPE-DEFINITION-XHTML {rich}/>"));
        });
        self.element("SPEC-TYPES", "", |out| {
            let of_specification = out.named("type-specification", "Specification");
            out.line(&format!("<SPECIFICATION-TYPE {of_specification}/>"));
            for name in &types {
                out.object_type(name, &attribute_names(items, name));
            }
            for name in &kinds {
                let named = out.named(&format!("relation-{name}"), name);
                out.line(&format!("<SPEC-RELATION-TYPE {named}/>"));
            }
        });
        self.element("SPEC-OBJECTS", "", |out| {
            items.iter().for_each(|item| out.object(item))
        });
        self.element("SPEC-RELATIONS", "", |out| {
            relations.iter().for_each(|relation| out.relation(relation))
        });
        self.element("SPECIFICATIONS", "", |out| {
            let named = out.named("specification", title);
            out.element("SPECIFICATION", &named, |out| {
                out.reference("TYPE", "SPECIFICATION-TYPE-REF", "type-specification");
                if !items.is_empty() {
                    out.element("CHILDREN", "", |out| out.hierarchy(items, 0));
                }
            });
        });
    }

    fn object_type(&mut self, name: &str, attributes: &[&str]) {
        let named = self.named(&format!("type-{name}"), name);
        self.element("SPEC-OBJECT-TYPE", &named, |out| {
            out.element("SPEC-ATTRIBUTES", "", |out| {
                for attribute in NAMES.iter().chain(attributes) {
                    let kind = if *attribute == NAMES[2] { "XHTML" } else { "STRING" };
                    let own = out.named(&definition(name, attribute), attribute);
                    out.element(&format!("ATTRIBUTE-DEFINITION-{kind}"), &own, |out| {
                        let datatype = format!("datatype-{}", kind.to_lowercase());
                        out.reference("TYPE", &format!("DATATYPE-DEFINITION-{kind}-REF"), &datatype);
                    });
                }
            });
        });
    }

    fn object(&mut self, item: &FreshItem) {
        let own = format!(
            "IDENTIFIER=\"{}\" LAST-CHANGE=\"{}\" LONG-NAME=\"{}\"",
            id(&item.identifier),
            escape(&item.last_change, true),
            escape(&item.title, true)
        );
        self.element("SPEC-OBJECT", &own, |out| {
            out.element("VALUES", "", |out| {
                let fixed = [(NAMES[0], &item.foreign_id), (NAMES[1], &item.title)];
                let further = item.attributes.iter().map(|(name, text)| (name.as_str(), text));
                for (name, text) in fixed.into_iter().chain(further) {
                    let value = format!("THE-VALUE=\"{}\"", escape(text, true));
                    out.element("ATTRIBUTE-VALUE-STRING", &value, |out| {
                        out.reference(
                            "DEFINITION",
                            "ATTRIBUTE-DEFINITION-STRING-REF",
                            &definition(&item.object_type, name),
                        );
                    });
                }
                out.element("ATTRIBUTE-VALUE-XHTML", "", |out| {
                    let own = definition(&item.object_type, NAMES[2]);
                    out.reference("DEFINITION", "ATTRIBUTE-DEFINITION-XHTML-REF", &own);
                    out.line(&format!(
                        "<THE-VALUE>{}</THE-VALUE>",
                        to_xhtml(&item.text, "xhtml")
                    ));
                });
            });
            out.reference(
                "TYPE",
                "SPEC-OBJECT-TYPE-REF",
                &format!("type-{}", item.object_type),
            );
        });
    }

    fn relation(&mut self, relation: &FreshRelation) {
        let own = format!(
            "IDENTIFIER=\"{}\" LAST-CHANGE=\"{}\"",
            id(&relation.identifier),
            escape(&relation.last_change, true)
        );
        self.element("SPEC-RELATION", &own, |out| {
            out.reference("TARGET", "SPEC-OBJECT-REF", &relation.target);
            out.reference("SOURCE", "SPEC-OBJECT-REF", &relation.source);
            out.reference(
                "TYPE",
                "SPEC-RELATION-TYPE-REF",
                &format!("relation-{}", relation.relation_type),
            );
        });
    }

    /// The items of one depth, each with those below it.
    fn hierarchy(&mut self, items: &[FreshItem], depth: usize) {
        let mut at = 0;
        while at < items.len() {
            let below = items[at + 1..]
                .iter()
                .take_while(|item| item.depth > depth)
                .count();
            let item = &items[at];
            let own = format!(
                "IDENTIFIER=\"{}\" LAST-CHANGE=\"{}\"",
                id(&format!("place-{}", item.identifier)),
                escape(&item.last_change, true)
            );
            let children = &items[at + 1..=at + below];
            self.element("SPEC-HIERARCHY", &own, |out| {
                out.reference("OBJECT", "SPEC-OBJECT-REF", &item.identifier);
                if !children.is_empty() {
                    out.element("CHILDREN", "", |out| out.hierarchy(children, depth + 1));
                }
            });
            at += below + 1;
        }
    }

    fn reference(&mut self, part: &str, element: &str, identifier: &str) {
        self.element(part, "", |out| {
            out.line(&format!("<{element}>{}</{element}>", id(identifier)))
        });
    }
}

fn attribute_names<'i>(items: &'i [FreshItem], object_type: &str) -> Vec<&'i str> {
    let of_type = items.iter().filter(|item| item.object_type == object_type);
    let mut names: Vec<&str> = of_type
        .flat_map(|item| &item.attributes)
        .map(|(name, _)| name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn definition(object_type: &str, attribute: &str) -> String {
    format!("attribute-{object_type}-{attribute}")
}

/// An `xsd:ID`: begins with an underscore, holds letters, digits, dots, dashes; anything else by its number.
fn id(name: &str) -> String {
    let mut out = String::from("_");
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') => out.push(c),
            c => out.push_str(&format!("_{:x}_", u32::from(c))),
        }
    }
    out
}
