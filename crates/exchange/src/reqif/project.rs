//! What the elements of a document mean, and what is odd about them.

use std::collections::{HashMap, HashSet};

use super::rich_text::from_xhtml;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::xml::{ElementId, XmlTree};

/// Who made the document, and what it is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// `IDENTIFIER` of the header.
    pub identifier: String,
    /// `TITLE`.
    pub title: String,
    /// `REQ-IF-TOOL-ID`.
    pub tool: String,
    /// `SOURCE-TOOL-ID`.
    pub source_tool: String,
    /// `REQ-IF-VERSION`.
    pub version: String,
}

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DatatypeKind {
    /// True or false.
    Boolean,
    /// A moment.
    Date,
    /// One or several of a list.
    Enumeration,
    /// A whole number.
    Integer,
    /// A number.
    Real,
    /// Plain text.
    String,
    /// Formatted text.
    Xhtml,
}

/// What a value is written as.
pub type ValueKind = DatatypeKind;

impl DatatypeKind {
    /// Of the last part of an element's name: `ATTRIBUTE-VALUE-XHTML`.
    fn of(name: &str) -> Option<Self> {
        match name.rsplit('-').next()? {
            "BOOLEAN" => Some(Self::Boolean),
            "DATE" => Some(Self::Date),
            "ENUMERATION" => Some(Self::Enumeration),
            "INTEGER" => Some(Self::Integer),
            "REAL" => Some(Self::Real),
            "STRING" => Some(Self::String),
            "XHTML" => Some(Self::Xhtml),
            _ => None,
        }
    }

    /// As element names end.
    pub fn name(self) -> &'static str {
        match self {
            Self::Boolean => "BOOLEAN",
            Self::Date => "DATE",
            Self::Enumeration => "ENUMERATION",
            Self::Integer => "INTEGER",
            Self::Real => "REAL",
            Self::String => "STRING",
            Self::Xhtml => "XHTML",
        }
    }
}

/// One value of an enumeration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnumValue {
    /// `LONG-NAME`, else the identifier.
    pub name: String,
    /// `KEY`.
    pub key: String,
}

/// One attribute objects of a type may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeDefinition {
    /// `IDENTIFIER`.
    pub identifier: String,
    /// `LONG-NAME`, else the identifier.
    pub name: String,
    /// What its values are.
    pub kind: DatatypeKind,
    /// The datatype it refers to.
    pub datatype: String,
    /// `IS-EDITABLE`; true where it is not said.
    pub editable: bool,
}

/// A type of objects, relations, specifications or groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecType {
    /// `LONG-NAME`, else the identifier.
    pub name: String,
    /// The element's name: `SPEC-OBJECT-TYPE`.
    pub element: String,
    /// Its attributes in order.
    pub attributes: Vec<AttributeDefinition>,
}

/// One value of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The definition it refers to.
    pub definition: String,
    /// What it is written as.
    pub kind: ValueKind,
    /// As plain text; the names of an enumeration separated by commas.
    pub text: String,
    /// Whether it is a simplified form of a value kept beside it.
    pub simplified: bool,
    /// Where it stands.
    pub element: ElementId,
}

/// A requirement, a heading, or whatever the type says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecObject {
    /// `IDENTIFIER`, verbatim.
    pub identifier: String,
    /// `LONG-NAME`; empty where there is none.
    pub name: String,
    /// The type it refers to.
    pub object_type: String,
    /// Its values in the order they are written.
    pub values: Vec<Value>,
    /// Where it stands.
    pub element: ElementId,
}

/// A directed relation of two objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// `IDENTIFIER`, verbatim.
    pub identifier: String,
    /// The type it refers to.
    pub relation_type: String,
    /// The object it begins at.
    pub source: String,
    /// The object it ends at.
    pub target: String,
    /// Where it stands.
    pub element: ElementId,
}

/// One place of an object in a specification, and what stands below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecHierarchy {
    /// The object.
    pub object: String,
    /// What is below it.
    pub children: Vec<SpecHierarchy>,
    /// Where it stands.
    pub element: ElementId,
}

/// A document within the document: an ordered tree of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specification {
    /// `IDENTIFIER`, verbatim.
    pub identifier: String,
    /// `LONG-NAME`, else the identifier.
    pub name: String,
    /// The objects at the top.
    pub children: Vec<SpecHierarchy>,
    /// Where it stands.
    pub element: ElementId,
}

/// What a document says.
#[derive(Clone, Debug, Default)]
pub struct Meaning {
    /// The header.
    pub header: Header,
    /// Values of enumerations by identifier.
    pub enum_values: HashMap<String, EnumValue>,
    /// Enumerations: the identifiers of their values, by identifier of the datatype.
    pub enumerations: HashMap<String, Vec<String>>,
    /// Types by identifier.
    pub types: HashMap<String, SpecType>,
    /// Objects in the order of the document.
    pub objects: Vec<SpecObject>,
    /// Relations in the order of the document.
    pub relations: Vec<Relation>,
    /// Specifications in the order of the document.
    pub specifications: Vec<Specification>,
    /// Elements of tools, kept and not read.
    pub tool_extensions: usize,
    by_definition: HashMap<String, (String, usize)>,
}

impl Meaning {
    /// The definition a value refers to.
    pub fn definition(&self, identifier: &str) -> Option<&AttributeDefinition> {
        let (owner, at) = self.by_definition.get(identifier)?;
        self.types.get(owner)?.attributes.get(*at)
    }

    /// What a value is called: the name of its definition.
    pub fn name_of<'m>(&'m self, value: &'m Value) -> &'m str {
        self.definition(&value.definition)
            .map_or(&value.definition, |definition| &definition.name)
    }
}

/// Hierarchies inside hierarchies; the tree itself is not deeper than XML allows, this guards the recursion.
const MAX_HIERARCHY_DEPTH: usize = 200;

pub(super) fn project(
    tree: &XmlTree<'_>,
    max_diagnostics: usize,
) -> Result<(Meaning, Vec<Diagnostic>), Diagnostic> {
    let mut reader = Projector {
        tree,
        odd: Diagnostics::of(tree.text, max_diagnostics),
        meaning: Meaning::default(),
        identifiers: HashSet::new(),
    };
    let root = tree.root();
    if tree.name(root) != "REQ-IF" {
        let at = tree.whole(root).start;
        reader.odd.add(
            Severity::Error,
            "no-reqif",
            at,
            format!("<{}> is no <REQ-IF>", tree.qualified_name(root)),
        );
        return Err(reader.odd.finish().swap_remove(0));
    }
    reader.document(root);
    Ok((reader.meaning, reader.odd.finish()))
}

struct Projector<'t, 'a> {
    tree: &'t XmlTree<'a>,
    odd: Diagnostics<'a>,
    meaning: Meaning,
    identifiers: HashSet<String>,
}

impl Projector<'_, '_> {
    fn document(&mut self, root: ElementId) {
        let tree = self.tree;
        self.namespaces(root);
        for part in tree.children(root) {
            match tree.name(part) {
                "THE-HEADER" => self.header(part),
                "CORE-CONTENT" => self.content(part),
                "TOOL-EXTENSIONS" => {
                    self.meaning.tool_extensions = tree.children(part).count();
                    self.note(
                        part,
                        "tool-extension",
                        "extensions of a tool are kept and not read",
                    );
                }
                other => self.warn(
                    part,
                    "unknown-element",
                    format!("<{other}> is not known here and kept"),
                ),
            }
        }
        self.dangling();
    }

    fn namespaces(&mut self, root: ElementId) {
        let prefix = self
            .tree
            .qualified_name(root)
            .split_once(':')
            .map(|(prefix, _)| prefix);
        let declared = match prefix {
            Some(prefix) => self
                .tree
                .attribute(root, &format!("xmlns:{prefix}"))
                .or_else(|| self.tree.attribute(root, prefix)),
            None => self.tree.attribute(root, "xmlns"),
        };
        match declared.as_deref() {
            Some("http://www.omg.org/spec/ReqIF/20110401/reqif.xsd") => {}
            Some(other) => self.warn(root, "namespace", format!("the namespace is {other:?}")),
            None => self.warn(root, "namespace", "there is no namespace"),
        }
        if prefix.is_some() {
            self.note(root, "prefix", "the elements have a prefix");
        }
    }

    fn header(&mut self, part: ElementId) {
        let Some(header) = self.tree.child(part, "REQ-IF-HEADER") else {
            return self.warn(part, "no-header", "there is no REQ-IF-HEADER");
        };
        let text = |name| {
            self.tree
                .child(header, name)
                .map(|id| self.tree.text_of(id).trim().to_owned())
                .unwrap_or_default()
        };
        self.meaning.header = Header {
            identifier: self
                .tree
                .attribute(header, "IDENTIFIER")
                .unwrap_or_default()
                .into_owned(),
            title: text("TITLE"),
            tool: text("REQ-IF-TOOL-ID"),
            source_tool: text("SOURCE-TOOL-ID"),
            version: text("REQ-IF-VERSION"),
        };
        let version = self.meaning.header.version.clone();
        if version != "1.0" {
            self.note(
                header,
                "version",
                format!("the version is {version:?}, the standard fixes \"1.0\""),
            );
        }
    }

    fn content(&mut self, part: ElementId) {
        let tree = self.tree;
        let Some(content) = tree.child(part, "REQ-IF-CONTENT") else {
            return self.warn(part, "no-content", "there is no REQ-IF-CONTENT");
        };
        for section in tree.children(content) {
            match tree.name(section) {
                "DATATYPES" => self.each(section, Self::datatype),
                "SPEC-TYPES" => self.each(section, Self::spec_type),
                "SPEC-OBJECTS" => self.each(section, Self::object),
                "SPEC-RELATIONS" => self.each(section, Self::relation),
                "SPECIFICATIONS" => self.each(section, Self::specification),
                "SPEC-RELATION-GROUPS" => {}
                other => self.warn(
                    section,
                    "unknown-element",
                    format!("<{other}> is not known here and kept"),
                ),
            }
        }
    }

    fn each(&mut self, section: ElementId, read: fn(&mut Self, ElementId)) {
        let tree = self.tree;
        tree.children(section).for_each(|id| read(self, id));
    }

    fn datatype(&mut self, id: ElementId) {
        let identifier = self.identifier(id);
        if self.tree.name(id) != "DATATYPE-DEFINITION-ENUMERATION" {
            return;
        }
        let Some(values) = self.tree.child(id, "SPECIFIED-VALUES") else {
            return self.warn(id, "no-values", "an enumeration has no values");
        };
        let mut known = Vec::new();
        let tree = self.tree;
        for value in tree.children(values) {
            let own = self.identifier(value);
            let key = tree
                .child(value, "PROPERTIES")
                .and_then(|id| tree.child(id, "EMBEDDED-VALUE"));
            let key = key
                .and_then(|id| tree.attribute(id, "KEY"))
                .unwrap_or_default()
                .into_owned();
            if key.is_empty() {
                self.note(value, "no-key", "a value of an enumeration has no KEY");
            }
            let name = self.long_name(value).unwrap_or_else(|| own.clone());
            self.meaning
                .enum_values
                .insert(own.clone(), EnumValue { name, key });
            known.push(own);
        }
        self.meaning.enumerations.insert(identifier, known);
    }

    fn spec_type(&mut self, id: ElementId) {
        let (tree, identifier) = (self.tree, self.identifier(id));
        let mut attributes = Vec::new();
        for definition in tree
            .child(id, "SPEC-ATTRIBUTES")
            .into_iter()
            .flat_map(|part| tree.children(part))
        {
            let own = self.identifier(definition);
            let Some(kind) = DatatypeKind::of(tree.name(definition)) else {
                self.warn(
                    definition,
                    "unknown-element",
                    format!("<{}> defines no attribute", tree.name(definition)),
                );
                continue;
            };
            let datatype = tree
                .child(definition, "TYPE")
                .and_then(|part| tree.children(part).next());
            self.meaning
                .by_definition
                .insert(own.clone(), (identifier.clone(), attributes.len()));
            attributes.push(AttributeDefinition {
                name: self.long_name(definition).unwrap_or_else(|| own.clone()),
                identifier: own,
                kind,
                datatype: datatype
                    .map(|id| tree.text_of(id).trim().to_owned())
                    .unwrap_or_default(),
                editable: tree
                    .attribute(definition, "IS-EDITABLE")
                    .is_none_or(|value| value != "false"),
            });
        }
        let name = self.long_name(id).unwrap_or_else(|| identifier.clone());
        let element = tree.name(id).to_owned();
        self.meaning.types.insert(
            identifier,
            SpecType {
                name,
                element,
                attributes,
            },
        );
    }

    fn object(&mut self, id: ElementId) {
        if self.tree.name(id) != "SPEC-OBJECT" {
            let name = self.tree.name(id);
            return self.warn(id, "unknown-element", format!("<{name}> is no SPEC-OBJECT"));
        }
        let object = SpecObject {
            identifier: self.identifier(id),
            name: self
                .tree
                .attribute(id, "LONG-NAME")
                .unwrap_or_default()
                .into_owned(),
            object_type: self.reference(id, "TYPE"),
            values: self.values(id),
            element: id,
        };
        self.meaning.objects.push(object);
    }

    fn values(&mut self, owner: ElementId) -> Vec<Value> {
        let tree = self.tree;
        let mut values = Vec::new();
        for id in tree
            .child(owner, "VALUES")
            .into_iter()
            .flat_map(|part| tree.children(part))
        {
            let Some(kind) = DatatypeKind::of(tree.name(id)) else {
                self.warn(id, "unknown-element", format!("<{}> is no value", tree.name(id)));
                continue;
            };
            values.push(Value {
                definition: self.reference(id, "DEFINITION"),
                kind,
                text: self.value_text(id, kind),
                simplified: tree
                    .attribute(id, "IS-SIMPLIFIED")
                    .is_some_and(|value| value == "true"),
                element: id,
            });
        }
        values
    }

    fn value_text(&mut self, id: ElementId, kind: ValueKind) -> String {
        let tree = self.tree;
        match kind {
            DatatypeKind::Xhtml => match tree.child(id, "THE-VALUE") {
                Some(value) => {
                    if tree.descendants(value).any(|inner| tree.name(inner) == "object") {
                        self.note(
                            value,
                            "embedded-object",
                            "an embedded object is kept and not read",
                        );
                    }
                    from_xhtml(tree, value)
                }
                None => {
                    self.warn(id, "no-value", "a value is empty");
                    String::new()
                }
            },
            DatatypeKind::Enumeration => {
                let mut names = Vec::new();
                for value in tree
                    .child(id, "VALUES")
                    .into_iter()
                    .flat_map(|part| tree.children(part))
                {
                    let identifier = tree.text_of(value).trim().to_owned();
                    match self.meaning.enum_values.get(&identifier) {
                        Some(known) => names.push(known.name.clone()),
                        None => {
                            self.warn(
                                value,
                                "dangling-reference",
                                format!("{identifier:?} is no value of an enumeration"),
                            );
                            names.push(identifier);
                        }
                    }
                }
                names.join(", ")
            }
            _ => match tree.attribute(id, "THE-VALUE") {
                Some(value) => value.into_owned(),
                None => {
                    self.warn(id, "no-value", "a value is empty");
                    String::new()
                }
            },
        }
    }

    fn relation(&mut self, id: ElementId) {
        let relation = Relation {
            identifier: self.identifier(id),
            relation_type: self.reference(id, "TYPE"),
            source: self.reference(id, "SOURCE"),
            target: self.reference(id, "TARGET"),
            element: id,
        };
        self.meaning.relations.push(relation);
    }

    fn specification(&mut self, id: ElementId) {
        let identifier = self.identifier(id);
        let name = self.long_name(id);
        if name.is_none() {
            self.warn(id, "no-long-name", "a specification has no LONG-NAME");
        }
        let children = self.hierarchies(id, 0);
        self.meaning.specifications.push(Specification {
            name: name.unwrap_or_else(|| identifier.clone()),
            identifier,
            children,
            element: id,
        });
    }

    fn hierarchies(&mut self, owner: ElementId, depth: usize) -> Vec<SpecHierarchy> {
        let tree = self.tree;
        let mut found = Vec::new();
        if depth > MAX_HIERARCHY_DEPTH {
            self.warn(
                owner,
                "too-deep",
                format!("below {MAX_HIERARCHY_DEPTH} levels a hierarchy is kept and not read"),
            );
            return found;
        }
        for id in tree
            .child(owner, "CHILDREN")
            .into_iter()
            .flat_map(|part| tree.children(part))
        {
            self.identifier(id);
            found.push(SpecHierarchy {
                object: self.reference(id, "OBJECT"),
                children: self.hierarchies(id, depth + 1),
                element: id,
            });
        }
        found
    }

    fn dangling(&mut self) {
        let objects: HashSet<&str> = self
            .meaning
            .objects
            .iter()
            .map(|object| object.identifier.as_str())
            .collect();
        let mut odd = Vec::new();
        for relation in &self.meaning.relations {
            for (end, what) in [(&relation.source, "source"), (&relation.target, "target")] {
                if !objects.contains(end.as_str()) {
                    odd.push((
                        relation.element,
                        format!("the {what} {end:?} of a relation is no object"),
                    ));
                }
            }
        }
        let mut placed = HashSet::new();
        let mut stack: Vec<&SpecHierarchy> = self
            .meaning
            .specifications
            .iter()
            .flat_map(|one| &one.children)
            .collect();
        while let Some(place) = stack.pop() {
            if !objects.contains(place.object.as_str()) {
                odd.push((
                    place.element,
                    format!("{:?} in a hierarchy is no object", place.object),
                ));
            }
            placed.insert(place.object.as_str());
            stack.extend(&place.children);
        }
        let mut types = Vec::new();
        for object in &self.meaning.objects {
            if !self.meaning.types.contains_key(&object.object_type) {
                types.push((
                    object.element,
                    format!("the type {:?} of an object is not defined", object.object_type),
                ));
            }
            for value in &object.values {
                if self.meaning.definition(&value.definition).is_none() {
                    types.push((
                        value.element,
                        format!("the attribute {:?} is not defined", value.definition),
                    ));
                }
            }
        }
        let alone: Vec<ElementId> = self
            .meaning
            .objects
            .iter()
            .filter(|object| !placed.contains(object.identifier.as_str()))
            .map(|object| object.element)
            .collect();
        for (element, message) in odd.into_iter().chain(types) {
            self.warn(element, "dangling-reference", message);
        }
        for element in alone {
            self.note(element, "in-no-hierarchy", "an object stands in no specification");
        }
    }

    fn identifier(&mut self, id: ElementId) -> String {
        let Some(identifier) = self.tree.attribute(id, "IDENTIFIER") else {
            let name = self.tree.name(id);
            self.warn(id, "no-identifier", format!("<{name}> has no IDENTIFIER"));
            return format!("element-{id}");
        };
        if !self.identifiers.insert(identifier.clone().into_owned()) {
            self.warn(id, "duplicate-identifier", format!("{identifier:?} stands twice"));
        }
        identifier.into_owned()
    }

    fn long_name(&self, id: ElementId) -> Option<String> {
        self.tree
            .attribute(id, "LONG-NAME")
            .map(|name| name.into_owned())
            .filter(|name| !name.is_empty())
    }

    /// What stands in the one element of a part: `<TYPE><SPEC-OBJECT-TYPE-REF>x</…></TYPE>`.
    fn reference(&mut self, id: ElementId, part: &str) -> String {
        let found = self
            .tree
            .child(id, part)
            .and_then(|part| self.tree.children(part).next());
        match found {
            Some(reference) => self.tree.text_of(reference).trim().to_owned(),
            None => {
                let name = self.tree.name(id);
                self.warn(id, "no-reference", format!("<{name}> has no {part}"));
                String::new()
            }
        }
    }

    fn warn(&mut self, id: ElementId, code: &'static str, message: impl Into<String>) {
        let at = self.tree.whole(id).start;
        self.odd.warn(code, at, message);
    }

    fn note(&mut self, id: ElementId, code: &'static str, message: impl Into<String>) {
        let at = self.tree.whole(id).start;
        self.odd.note(code, at, message);
    }
}
