//! From a document to nodes. What does not mean anything is refused here, so that checking values cannot fail.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde_json::{Map, Number, Value};

use super::document::Document;
use super::node::{Bound, Keyword, Members, Node, NodeId, Size, Type};
use super::number;
use super::pattern::Pattern;

/// Schemas that may look at one value one after the other: references to references, choices within choices.
const MAX_CHAIN: usize = 64;

/// Keywords that explain, with a text.
const TEXTS: [&str; 7] = [
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "title",
    "description",
    "format",
];

/// The nodes of a document, itself first; or what is wrong with it.
pub(super) fn compile(source: &Value) -> Result<Vec<Node>, String> {
    let mut compiler = Compiler {
        document: Document::new(source),
        numbers: HashMap::new(),
        waiting: VecDeque::new(),
    };
    compiler.node(String::new());
    let mut nodes = Vec::new();
    while let Some(pointer) = compiler.waiting.pop_front() {
        let keywords = compiler.keywords(&pointer)?;
        nodes.push(Node { pointer, keywords });
    }
    refuse_endless(&nodes)?;
    Ok(nodes)
}

struct Compiler<'a> {
    document: Document<'a>,
    /// The numbers given to pointers, in the order of `waiting`.
    numbers: HashMap<String, NodeId>,
    waiting: VecDeque<String>,
}

/// One schema object on its way: where it stands and what is in it.
#[derive(Clone, Copy)]
struct Scope<'a> {
    pointer: &'a str,
    members: &'a Map<String, Value>,
}

impl<'a> Compiler<'a> {
    /// The number of the node at a pointer, which is compiled later if it was not asked for before.
    fn node(&mut self, pointer: String) -> NodeId {
        let next = self.numbers.len();
        let waiting = &mut self.waiting;
        *self.numbers.entry(pointer).or_insert_with_key(|pointer| {
            waiting.push_back(pointer.clone());
            next
        })
    }

    fn keywords(&mut self, pointer: &str) -> Result<Vec<Keyword>, String> {
        match self.document.at(pointer) {
            Some(Value::Bool(true)) => Ok(Vec::new()),
            Some(Value::Bool(false)) => Ok(vec![Keyword::Never]),
            Some(Value::Object(members)) => self.object(Scope { pointer, members }),
            Some(_) => Err(format!("what stands at \"#{pointer}\" is no schema")),
            None => Err(format!("the schema refers to \"#{pointer}\", which is not there")),
        }
    }

    fn object(&mut self, at: Scope<'_>) -> Result<Vec<Keyword>, String> {
        for name in TEXTS {
            at.text(name)?;
        }
        for name in at.schemas("$defs")?.into_values() {
            self.node(name);
        }
        let mut keywords = Vec::new();
        plain(at, &mut keywords)?;
        self.references(at, &mut keywords)?;
        self.choices(at, &mut keywords)?;
        self.members(at, &mut keywords)?;
        self.items(at, &mut keywords)?;
        Ok(keywords)
    }

    fn references(&mut self, at: Scope<'_>, keywords: &mut Vec<Keyword>) -> Result<(), String> {
        for (name, dynamic) in [("$ref", false), ("$dynamicRef", true)] {
            if let Some(target) = at.text(name)? {
                let pointer = self.document.resolve(target, at.pointer, dynamic)?;
                keywords.push(Keyword::All(vec![self.node(pointer)]));
            }
        }
        Ok(())
    }

    fn choices(&mut self, at: Scope<'_>, keywords: &mut Vec<Keyword>) -> Result<(), String> {
        type Choice = fn(Vec<NodeId>) -> Keyword;
        let lists: [(&str, Choice); 3] = [
            ("allOf", Keyword::All),
            ("anyOf", Keyword::Any),
            ("oneOf", Keyword::One),
        ];
        for (name, keyword) in lists {
            if let Some(nodes) = self.list(at, name)? {
                keywords.push(keyword(nodes));
            }
        }
        if let Some(node) = self.one(at, "not") {
            keywords.push(Keyword::Not(node));
        }
        let (then, otherwise) = (self.one(at, "then"), self.one(at, "else"));
        if let Some(condition) = self.one(at, "if") {
            keywords.push(Keyword::If {
                condition,
                then,
                otherwise,
            });
        }
        let dependent = self.map(at, "dependentSchemas")?;
        if !dependent.is_empty() {
            keywords.push(Keyword::DependentSchemas(dependent));
        }
        Ok(())
    }

    fn members(&mut self, at: Scope<'_>, keywords: &mut Vec<Keyword>) -> Result<(), String> {
        let mut patterns = Vec::new();
        for (pattern, node) in self.map(at, "patternProperties")? {
            patterns.push((Pattern::compile(&pattern)?, node));
        }
        let members = Members {
            named: self.map(at, "properties")?,
            patterns,
            rest: self.one(at, "additionalProperties"),
        };
        if !members.named.is_empty() || !members.patterns.is_empty() || members.rest.is_some() {
            keywords.push(Keyword::Members(members));
        }
        if let Some(node) = self.one(at, "propertyNames") {
            keywords.push(Keyword::PropertyNames(node));
        }
        if let Some(node) = self.one(at, "unevaluatedProperties") {
            keywords.push(Keyword::UnevaluatedMembers(node));
        }
        Ok(())
    }

    fn items(&mut self, at: Scope<'_>, keywords: &mut Vec<Keyword>) -> Result<(), String> {
        let prefix = self.list(at, "prefixItems")?.unwrap_or_default();
        let rest = self.one(at, "items");
        if !prefix.is_empty() || rest.is_some() {
            keywords.push(Keyword::Items { prefix, rest });
        }
        let (least, most) = (at.count("minContains")?, at.count("maxContains")?);
        if let Some(item) = self.one(at, "contains") {
            keywords.push(Keyword::Contains {
                item,
                least: least.unwrap_or(1),
                most,
            });
        }
        if let Some(node) = self.one(at, "unevaluatedItems") {
            keywords.push(Keyword::UnevaluatedItems(node));
        }
        Ok(())
    }

    /// The schema that is a keyword's value.
    fn one(&mut self, at: Scope<'_>, name: &str) -> Option<NodeId> {
        at.members.get(name)?;
        Some(self.node(format!("{}/{name}", at.pointer)))
    }

    fn list(&mut self, at: Scope<'_>, name: &str) -> Result<Option<Vec<NodeId>>, String> {
        let Some(value) = at.members.get(name) else {
            return Ok(None);
        };
        let items = value.as_array().filter(|items| !items.is_empty());
        let items = items.ok_or_else(|| wrong(name, "a list of schemas"))?;
        let node = |index| self.node(format!("{}/{name}/{index}", at.pointer));
        Ok(Some((0..items.len()).map(node).collect()))
    }

    fn map(&mut self, at: Scope<'_>, name: &str) -> Result<BTreeMap<String, NodeId>, String> {
        let found = at.schemas(name)?.into_iter();
        Ok(found.map(|(name, pointer)| (name, self.node(pointer))).collect())
    }
}

/// The keywords without schemas in them, the cheapest first.
fn plain(at: Scope<'_>, keywords: &mut Vec<Keyword>) -> Result<(), String> {
    if let Some(value) = at.members.get("type") {
        let types = types(value).ok_or_else(|| wrong("type", "the name of a type, or a list of such"))?;
        keywords.push(Keyword::Type(types));
    }
    if let Some(value) = at.members.get("const") {
        keywords.push(Keyword::Const(value.clone()));
    }
    if let Some(value) = at.members.get("enum") {
        let values = value.as_array().ok_or_else(|| wrong("enum", "a list"))?;
        keywords.push(Keyword::Enum(values.clone()));
    }
    for (name, bound) in [
        ("minimum", Bound::Minimum),
        ("maximum", Bound::Maximum),
        ("exclusiveMinimum", Bound::ExclusiveMinimum),
        ("exclusiveMaximum", Bound::ExclusiveMaximum),
    ] {
        if let Some(number) = at.number(name)? {
            keywords.push(Keyword::Bound(bound, number.clone()));
        }
    }
    if let Some(of) = at.number("multipleOf")? {
        if of.as_f64().is_none_or(|of| of <= 0.0) {
            return Err(wrong("multipleOf", "a number above 0"));
        }
        keywords.push(Keyword::MultipleOf(of.clone()));
    }
    for (name, size) in [
        ("minLength", Size::MinLength),
        ("maxLength", Size::MaxLength),
        ("minItems", Size::MinItems),
        ("maxItems", Size::MaxItems),
        ("minProperties", Size::MinProperties),
        ("maxProperties", Size::MaxProperties),
    ] {
        if let Some(count) = at.count(name)? {
            keywords.push(Keyword::Size(size, count));
        }
    }
    if let Some(pattern) = at.text("pattern")? {
        keywords.push(Keyword::Pattern(Pattern::compile(pattern)?));
    }
    if let Some(unique) = at.members.get("uniqueItems") {
        let unique = unique
            .as_bool()
            .ok_or_else(|| wrong("uniqueItems", "true or false"))?;
        keywords.extend(unique.then_some(Keyword::UniqueItems));
    }
    if let Some(value) = at.members.get("required") {
        let names = names(value).ok_or_else(|| wrong("required", "a list of names"))?;
        keywords.push(Keyword::Required(names));
    }
    if let Some(value) = at.members.get("dependentRequired") {
        let lists = value.as_object().into_iter().flatten();
        let lists: Option<BTreeMap<_, _>> = lists
            .map(|(name, value)| Some((name.clone(), names(value)?)))
            .collect();
        let lists = lists.filter(|_| value.is_object());
        let lists = lists.ok_or_else(|| wrong("dependentRequired", "lists of names"))?;
        keywords.push(Keyword::DependentRequired(lists));
    }
    Ok(())
}

impl<'a> Scope<'a> {
    fn text(self, name: &str) -> Result<Option<&'a str>, String> {
        let text = self.members.get(name).map(Value::as_str);
        text.map(|text| text.ok_or_else(|| wrong(name, "a text")))
            .transpose()
    }

    fn number(self, name: &str) -> Result<Option<&'a Number>, String> {
        let number = self.members.get(name).map(Value::as_number);
        number
            .map(|number| number.ok_or_else(|| wrong(name, "a number")))
            .transpose()
    }

    fn count(self, name: &str) -> Result<Option<u64>, String> {
        let fits = |number: &&Number| number::is_integer(number);
        let count = |number: &Number| {
            let float = number.as_f64().filter(|value| *value >= 0.0);
            number.as_u64().or_else(|| float.map(|value| value as u64))
        };
        let number = self.members.get(name).map(Value::as_number);
        number
            .map(|number| {
                let count = number.filter(fits).and_then(count);
                count.ok_or_else(|| wrong(name, "a whole number from 0"))
            })
            .transpose()
    }

    /// The pointers to the schemas in an object, by name.
    fn schemas(self, keyword: &str) -> Result<BTreeMap<String, String>, String> {
        let Some(value) = self.members.get(keyword) else {
            return Ok(BTreeMap::new());
        };
        let members = value
            .as_object()
            .ok_or_else(|| wrong(keyword, "an object of schemas"))?;
        let pointer = |name: &str| {
            let name = name.replace('~', "~0").replace('/', "~1");
            format!("{}/{keyword}/{name}", self.pointer)
        };
        Ok(members.keys().map(|name| (name.clone(), pointer(name))).collect())
    }
}

fn types(value: &Value) -> Option<Vec<Type>> {
    match value {
        Value::String(name) => Some(vec![Type::named(name)?]),
        Value::Array(names) => names.iter().map(|name| Type::named(name.as_str()?)).collect(),
        _ => None,
    }
}

fn names(value: &Value) -> Option<Vec<String>> {
    let names = value.as_array()?.iter();
    names.map(|name| name.as_str().map(str::to_owned)).collect()
}

fn wrong(keyword: &str, wanted: &str) -> String {
    format!("{keyword:?} is not {wanted}")
}

/// A schema that comes back to itself without going into the value would be checked for ever, and one with very many
/// steps for very long.
fn refuse_endless(nodes: &[Node]) -> Result<(), String> {
    let after = |node: &Node| -> Vec<NodeId> { node.keywords.iter().flat_map(Keyword::in_place).collect() };
    let mut before = vec![0_usize; nodes.len()];
    for next in nodes.iter().flat_map(after) {
        before[next] += 1;
    }
    let mut chain = vec![1_usize; nodes.len()];
    let mut ready: Vec<NodeId> = (0..nodes.len()).filter(|node| before[*node] == 0).collect();
    let mut done = 0;
    while let Some(node) = ready.pop() {
        done += 1;
        for next in after(&nodes[node]) {
            chain[next] = chain[next].max(chain[node] + 1);
            before[next] -= 1;
            if before[next] == 0 {
                ready.push(next);
            }
        }
    }
    if done < nodes.len() {
        return Err("the schema refers to itself without end".to_owned());
    }
    if chain.iter().any(|length| *length > MAX_CHAIN) {
        return Err(format!(
            "more than {MAX_CHAIN} schemas follow each other for one value"
        ));
    }
    Ok(())
}
