//! A schema document and what its references mean: pointers, anchors, and resources within it that have an `$id` of their own.

use std::collections::BTreeMap;

use serde_json::Value;

/// Keywords whose values are data, not schemas.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

pub(super) struct Document<'a> {
    root: &'a Value,
    /// The pointers of resources, and under each its anchors.
    resources: BTreeMap<String, Vec<Anchor>>,
}

struct Anchor {
    name: String,
    pointer: String,
    /// `$dynamicAnchor`: the outermost resource that has it is meant.
    dynamic: bool,
}

impl<'a> Document<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        let mut document = Self {
            root,
            resources: BTreeMap::from([(String::new(), Vec::new())]),
        };
        document.collect(root, "", "");
        document
    }

    pub(super) fn at(&self, pointer: &str) -> Option<&'a Value> {
        self.root.pointer(pointer)
    }

    /// The pointer a reference from a place leads to.
    pub(super) fn resolve(&self, reference: &str, from: &str, dynamic: bool) -> Result<String, String> {
        let missing = || format!("the schema refers to {reference:?}, which is not part of it");
        let fragment = reference.strip_prefix('#').ok_or_else(missing)?;
        let fragment = decoded(fragment).ok_or_else(missing)?;
        let base = self.resource_of(from);
        if fragment.is_empty() || fragment.starts_with('/') {
            return Ok(format!("{base}{fragment}"));
        }
        let nearest = self.anchor(base, &fragment).ok_or_else(missing)?;
        let outermost = || {
            let mut enclosing = self.resources.keys().filter(|resource| is_within(from, resource));
            enclosing.find_map(|resource| self.anchor(resource, &fragment).filter(|anchor| anchor.dynamic))
        };
        let found = match dynamic && nearest.dynamic {
            true => outermost().unwrap_or(nearest),
            false => nearest,
        };
        Ok(found.pointer.clone())
    }

    fn anchor(&self, resource: &str, name: &str) -> Option<&Anchor> {
        let anchors = self.resources.get(resource)?;
        anchors.iter().find(|anchor| anchor.name == name)
    }

    fn resource_of(&self, pointer: &str) -> &str {
        let enclosing = self
            .resources
            .keys()
            .filter(|resource| is_within(pointer, resource));
        enclosing
            .max_by_key(|resource| resource.len())
            .map_or("", String::as_str)
    }

    fn collect(&mut self, value: &Value, pointer: &str, resource: &str) {
        match value {
            Value::Object(members) => {
                let id = members.get("$id").and_then(Value::as_str);
                let resource = if id.is_some() { pointer } else { resource };
                let anchors = self.resources.entry(resource.to_owned()).or_default();
                for (keyword, dynamic) in [("$anchor", false), ("$dynamicAnchor", true)] {
                    if let Some(name) = members.get(keyword).and_then(Value::as_str) {
                        anchors.push(Anchor {
                            name: name.to_owned(),
                            pointer: pointer.to_owned(),
                            dynamic,
                        });
                    }
                }
                for (name, inner) in members.iter().filter(|(name, _)| !DATA.contains(&name.as_str())) {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    self.collect(inner, &format!("{pointer}/{name}"), resource);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.collect(item, &format!("{pointer}/{index}"), resource);
                }
            }
            _ => {}
        }
    }
}

/// Whether a pointer leads to a place within another's, or to that very place.
fn is_within(pointer: &str, outer: &str) -> bool {
    pointer
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A fragment with its `%xx` taken back.
fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        let byte = match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                rest = tail;
                let digits = [char::from(*high).to_digit(16)?, char::from(*low).to_digit(16)?];
                u8::try_from(digits[0] * 16 + digits[1]).ok()?
            }
            (b'%', _) => return None,
            _ => *first,
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok()
}
