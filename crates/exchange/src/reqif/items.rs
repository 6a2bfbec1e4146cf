//! The objects of a document as things an importer knows. Which attribute is the title and which the text differs from tool
//! to tool; the names are data.

use std::collections::{HashMap, HashSet};

use super::Reading;
use super::project::{Meaning, SpecHierarchy, SpecObject};
use crate::source::{LineIndex, SourceItem, SourceLevel, SourceLink};

/// Names of the attribute that holds the title, most telling first: the recommended ones, then those of tools.
const TITLES: &[&str] = &[
    "ReqIF.Name",
    "ReqIF.ChapterName",
    "TITLE",
    "Title",
    "Object Heading",
    "Name",
    "Object Short Text",
    "Summary",
];
/// Names of the attribute that holds the text.
const TEXTS: &[&str] = &[
    "ReqIF.Text",
    "STATEMENT",
    "Statement",
    "Object Text",
    "TEXT",
    "Text",
    "Description",
    "ReqIF.Description",
    "COMMENT",
];
/// What the title of an object that has none is cut to, of its text.
const TITLE_CHARS: usize = 120;

impl Reading<'_> {
    /// Everything in the order of its specifications, then what stands in none.
    pub fn items(&self) -> Vec<SourceItem> {
        let mut walk = Walk {
            meaning: &self.meaning,
            objects: self
                .meaning
                .objects
                .iter()
                .map(|object| (object.identifier.as_str(), object))
                .collect(),
            lines: LineIndex::of(self.tree.text),
            reading: self,
            seen: HashSet::new(),
            items: Vec::new(),
        };
        for specification in &self.meaning.specifications {
            let line = walk.line(specification.element);
            let group = specification.identifier.clone();
            walk.group(&group, &specification.name, line);
            walk.places(
                &specification.children,
                &group,
                &mut Section::of(&group, &specification.name, line),
            );
        }
        let rest: Vec<&SpecObject> = self
            .meaning
            .objects
            .iter()
            .filter(|object| !walk.seen.contains(object.identifier.as_str()))
            .collect();
        if !rest.is_empty() {
            let group = format!("{}/in-no-specification", self.meaning.header.identifier);
            let line = walk.line(rest[0].element);
            walk.group(&group, "In no specification", line);
            let mut section = Section::of(&group, "In no specification", line);
            for object in rest {
                walk.statement(object, &group, &mut section);
            }
        }
        walk.items
    }

    /// The relations of objects.
    pub fn links(&self) -> Vec<SourceLink> {
        let lines = LineIndex::of(self.tree.text);
        let name = |relation_type: &str| {
            self.meaning
                .types
                .get(relation_type)
                .map_or("", |one| one.name.as_str())
                .to_owned()
        };
        let link = |relation: &super::Relation| SourceLink {
            source: relation.source.clone(),
            target: relation.target.clone(),
            name: name(&relation.relation_type),
            line: lines.line(self.tree.whole(relation.element).start),
        };
        self.meaning.relations.iter().map(link).collect()
    }
}

/// Where statements go that no heading has taken: made when the first one comes.
struct Section {
    group: String,
    title: String,
    line: usize,
    id: Option<String>,
}

impl Section {
    fn of(group: &str, title: &str, line: usize) -> Self {
        Self {
            group: group.to_owned(),
            title: title.to_owned(),
            line,
            id: None,
        }
    }
}

struct Walk<'m, 't> {
    meaning: &'m Meaning,
    objects: HashMap<&'m str, &'m SpecObject>,
    lines: LineIndex,
    reading: &'m Reading<'t>,
    seen: HashSet<&'m str>,
    items: Vec<SourceItem>,
}

impl<'m> Walk<'m, '_> {
    fn line(&self, element: usize) -> usize {
        self.lines.line(self.reading.tree.whole(element).start)
    }

    fn group(&mut self, id: &str, title: &str, line: usize) {
        self.items.push(SourceItem {
            id: id.to_owned(),
            level: SourceLevel::Group,
            parent: None,
            title: title.to_owned(),
            text: String::new(),
            fields: Vec::new(),
            line,
        });
    }

    /// An object with others below it is a section, any other a statement of the section before it.
    fn places(&mut self, places: &'m [SpecHierarchy], group: &str, section: &mut Section) {
        for place in places {
            let Some(object) = self.objects.get(place.object.as_str()).copied() else {
                continue;
            };
            if place.children.is_empty() {
                self.statement(object, group, section);
                continue;
            }
            // An object that stands as a statement elsewhere holds nothing; what is below it joins the section before.
            let is_statement =
                |one: &SourceItem| one.id == object.identifier && one.level != SourceLevel::Section;
            if self.seen.contains(object.identifier.as_str()) && self.items.iter().any(is_statement) {
                self.places(&place.children, group, section);
                continue;
            }
            if self.seen.insert(&object.identifier) {
                let (title, text, fields) = self.said(object);
                self.items.push(SourceItem {
                    id: object.identifier.clone(),
                    level: SourceLevel::Section,
                    parent: Some(group.to_owned()),
                    title,
                    text,
                    fields,
                    line: self.line(object.element),
                });
            }
            let mut own = Section {
                id: Some(object.identifier.clone()),
                ..Section::of(group, "", 0)
            };
            self.places(&place.children, group, &mut own);
        }
    }

    fn statement(&mut self, object: &'m SpecObject, group: &str, section: &mut Section) {
        if !self.seen.insert(&object.identifier) {
            return;
        }
        let parent = section
            .id
            .get_or_insert_with(|| format!("{}/statements", section.group))
            .clone();
        if !section.title.is_empty() {
            self.items.push(SourceItem {
                id: parent.clone(),
                level: SourceLevel::Section,
                parent: Some(group.to_owned()),
                title: std::mem::take(&mut section.title),
                text: String::new(),
                fields: Vec::new(),
                line: section.line,
            });
        }
        let (title, text, fields) = self.said(object);
        self.items.push(SourceItem {
            id: object.identifier.clone(),
            level: SourceLevel::Statement,
            parent: Some(parent),
            title,
            text,
            fields,
            line: self.line(object.element),
        });
    }

    fn said(&self, object: &SpecObject) -> (String, String, Vec<(String, String)>) {
        let of = |names| {
            role(self.meaning, object, names)
                .map(|value| value.text.trim().to_owned())
                .unwrap_or_default()
        };
        let text: String = of(TEXTS);
        let mut title: String = of(TITLES);
        if title.is_empty() {
            title.clone_from(&object.name);
        }
        if title.trim().is_empty() {
            title = text
                .lines()
                .next()
                .unwrap_or_default()
                .chars()
                .take(TITLE_CHARS)
                .collect();
        }
        if title.trim().is_empty() {
            title.clone_from(&object.identifier);
        }
        let taken = [
            role(self.meaning, object, TITLES),
            role(self.meaning, object, TEXTS),
        ];
        let further = object
            .values
            .iter()
            .filter(|value| !taken.contains(&Some(value)) && !value.text.is_empty());
        let fields = further
            .map(|value| (self.meaning.name_of(value).to_owned(), value.text.clone()))
            .collect();
        (
            title.split_whitespace().collect::<Vec<_>>().join(" "),
            text,
            fields,
        )
    }
}

/// The value whose attribute has the first of the names.
fn role<'m>(meaning: &Meaning, object: &'m SpecObject, names: &[&str]) -> Option<&'m super::Value> {
    names.iter().find_map(|name| {
        object.values.iter().find(|value| {
            meaning
                .definition(&value.definition)
                .is_some_and(|one| one.name == *name)
                && !value.text.trim().is_empty()
        })
    })
}

impl Reading<'_> {
    /// The changes that make an object say what an item says, where the document has an attribute for it. A title that was made
    /// of the text or of the identifier has none.
    pub fn changes(
        &self,
        was: &SourceItem,
        title: &str,
        text: &str,
        field: impl Fn(&str) -> Option<String>,
    ) -> Vec<super::Change> {
        let Some(object) = self
            .meaning
            .objects
            .iter()
            .find(|object| object.identifier == was.id)
        else {
            return Vec::new();
        };
        let mut changes = Vec::new();
        let mut push = |value: Option<&super::Value>, was: &str, is: &str| {
            if let Some(value) = value.filter(|_| was != is) {
                changes.push(super::Change {
                    object: object.identifier.clone(),
                    definition: value.definition.clone(),
                    text: is.to_owned(),
                });
            }
        };
        let (own_title, own_text) = (
            role(&self.meaning, object, TITLES),
            role(&self.meaning, object, TEXTS),
        );
        push(own_title, &was.title, title);
        push(own_text, &was.text, text);
        for value in object
            .values
            .iter()
            .filter(|value| ![own_title, own_text].contains(&Some(value)))
        {
            let name = self.meaning.name_of(value);
            let once = was.fields.iter().filter(|(known, _)| known == name).count() == 1;
            if let Some(is) = field(name).filter(|_| once) {
                push(Some(value), &value.text, &is);
            }
        }
        changes
    }
}
