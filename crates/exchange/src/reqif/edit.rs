//! Changes of a document that touch the value they change and nothing else.

use super::Reading;
use super::project::{DatatypeKind, SpecObject, Value};
use super::rich_text::to_xhtml;
use crate::xml::{Edits, ElementId, XmlTree, escape};

/// One change: the value of an attribute of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `IDENTIFIER` of the object.
    pub object: String,
    /// `IDENTIFIER` of the attribute's definition.
    pub definition: String,
    /// The value as plain text.
    pub text: String,
}

/// A change that could not be made, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmade {
    /// The change.
    pub change: Change,
    /// Why.
    pub reason: String,
}

impl Reading<'_> {
    //= specs/exchange.md#documents
    //# A change of a value MUST change the element of that value and nothing else.
    /// Turns changes into edits of the text. A value that says so already is left as it is written.
    pub fn edits(&self, changes: &[Change]) -> (Edits, Vec<Unmade>) {
        let mut edits = Edits::default();
        let mut unmade = Vec::new();
        for change in changes {
            if let Err(reason) = self.edit(change, &mut edits) {
                unmade.push(Unmade {
                    change: change.clone(),
                    reason,
                });
            }
        }
        (edits, unmade)
    }

    fn edit(&self, change: &Change, edits: &mut Edits) -> Result<(), String> {
        let mut objects = self.meaning.objects.iter();
        let object = objects.find(|object| object.identifier == change.object);
        let object = object.ok_or_else(|| format!("there is no object {:?}", change.object))?;
        match object
            .values
            .iter()
            .find(|value| value.definition == change.definition)
        {
            Some(value) if value.text == change.text => Ok(()),
            Some(value) => self.change_value(value, &change.text, edits),
            None => self.add_value(object, change, edits),
        }
    }

    fn change_value(&self, value: &Value, text: &str, edits: &mut Edits) -> Result<(), String> {
        let tree = &self.tree;
        match value.kind {
            DatatypeKind::Xhtml => {
                let place = tree.child(value.element, "THE-VALUE");
                let place = place.ok_or("the value has no THE-VALUE to write into")?;
                let xhtml = to_xhtml(text, &self.xhtml_prefix());
                match tree.element(place).is_empty_tag {
                    true => {
                        let name = tree.qualified_name(place);
                        edits.replace(tree.whole(place), format!("<{name}>{xhtml}</{name}>"));
                    }
                    false => edits.replace(tree.content(place), xhtml),
                }
            }
            DatatypeKind::Enumeration => {
                let references = self.enum_references(value.element, &value.definition, text)?;
                let place = tree
                    .child(value.element, "VALUES")
                    .ok_or("the value has no VALUES to write into")?;
                match tree.element(place).is_empty_tag {
                    true => {
                        let name = tree.qualified_name(place);
                        edits.replace(tree.whole(place), format!("<{name}>{references}</{name}>"));
                    }
                    false => edits.replace(tree.content(place), references),
                }
            }
            kind => {
                check(kind, text)?;
                let place = tree.attribute_place(value.element, "THE-VALUE");
                let place = place.ok_or("the value has no THE-VALUE to write into")?;
                edits.replace(place, escape(text, true));
            }
        }
        Ok(())
    }

    fn add_value(&self, object: &SpecObject, change: &Change, edits: &mut Edits) -> Result<(), String> {
        let tree = &self.tree;
        let definition = self.meaning.definition(&change.definition);
        let definition =
            definition.ok_or_else(|| format!("there is no attribute {:?}", change.definition))?;
        let prefix = tree
            .qualified_name(object.element)
            .split_once(':')
            .map_or("", |(prefix, _)| prefix);
        let tag = |name: &str| match prefix {
            "" => name.to_owned(),
            prefix => format!("{prefix}:{name}"),
        };
        let kind = definition.kind.name();
        let (value, reference) = (
            tag(&format!("ATTRIBUTE-VALUE-{kind}")),
            tag(&format!("ATTRIBUTE-DEFINITION-{kind}-REF")),
        );
        let own = escape(&definition.identifier, false);
        let definition_part = format!("<{0}><{reference}>{own}</{reference}></{0}>", tag("DEFINITION"));
        let written = match definition.kind {
            DatatypeKind::Xhtml => {
                let xhtml = to_xhtml(&change.text, &self.xhtml_prefix());
                format!(
                    "<{value}>{definition_part}<{0}>{xhtml}</{0}></{value}>",
                    tag("THE-VALUE")
                )
            }
            DatatypeKind::Enumeration => {
                let references = self.enum_references(object.element, &change.definition, &change.text)?;
                format!(
                    "<{value}>{definition_part}<{0}>{references}</{0}></{value}>",
                    tag("VALUES")
                )
            }
            kind => {
                check(kind, &change.text)?;
                format!(
                    "<{value} THE-VALUE=\"{}\">{definition_part}</{value}>",
                    escape(&change.text, true)
                )
            }
        };
        match tree.child(object.element, "VALUES") {
            Some(values) if tree.element(values).is_empty_tag => {
                let name = tree.qualified_name(values);
                edits.replace(tree.whole(values), format!("<{name}>{written}</{name}>"));
            }
            Some(values) => {
                let end = last_child_end(tree, values);
                edits.replace(end..end, written);
            }
            None if tree.element(object.element).is_empty_tag => {
                return Err("the object has no type to take values".to_owned());
            }
            None => {
                let end = last_child_end(tree, object.element);
                edits.replace(end..end, format!("<{0}>{written}</{0}>", tag("VALUES")));
            }
        }
        Ok(())
    }

    /// The references to the values of an enumeration that are called so.
    fn enum_references(&self, owner: ElementId, definition: &str, text: &str) -> Result<String, String> {
        let prefix = self
            .tree
            .qualified_name(owner)
            .split_once(':')
            .map_or(String::new(), |(prefix, _)| format!("{prefix}:"));
        let datatype = self
            .meaning
            .definition(definition)
            .map_or("", |definition| &definition.datatype);
        let none = Vec::new();
        let values = self.meaning.enumerations.get(datatype).unwrap_or(&none);
        let mut out = String::new();
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let called = |identifier: &&String| {
                self.meaning
                    .enum_values
                    .get(*identifier)
                    .is_some_and(|value| value.name == name)
            };
            let found = values.iter().find(called);
            let found =
                found.ok_or_else(|| format!("{name:?} is no value of the enumeration {datatype:?}"))?;
            out.push_str(&format!(
                "<{prefix}ENUM-VALUE-REF>{}</{prefix}ENUM-VALUE-REF>",
                escape(found, false)
            ));
        }
        Ok(out)
    }

    /// The prefix that stands for XHTML in this document.
    fn xhtml_prefix(&self) -> String {
        let (tree, root) = (&self.tree, self.tree.root());
        let of_xhtml = |name: &&str| {
            name.starts_with("xmlns:")
                && tree
                    .attribute(root, name)
                    .is_some_and(|value| value.contains("xhtml"))
        };
        let declared = tree.attribute_names(root).find(of_xhtml);
        declared.map_or_else(|| "xhtml".to_owned(), |name| name["xmlns:".len()..].to_owned())
    }
}

fn last_child_end(tree: &XmlTree<'_>, id: ElementId) -> usize {
    tree.children(id)
        .last()
        .map_or(tree.content(id).start, |child| tree.whole(child).end)
}

fn check(kind: DatatypeKind, text: &str) -> Result<(), String> {
    let fits = match kind {
        DatatypeKind::Boolean => ["true", "false", "0", "1"].contains(&text),
        DatatypeKind::Integer => text.parse::<i128>().is_ok(),
        DatatypeKind::Real => text.parse::<f64>().is_ok(),
        _ => true,
    };
    match fits {
        true => Ok(()),
        false => Err(format!("{text:?} is no {}", kind.name().to_lowercase())),
    }
}
