//! A schema taken apart: every schema object of a document is a node, and what it demands is a list of keywords.
//!
//! Nodes refer to each other by number, so that a schema may refer to itself.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use super::pattern::Pattern;

/// The number of a node; the document itself is the first.
pub(super) type NodeId = usize;

/// One schema object, or `true` or `false` in place of one.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// JSON pointer to it in the document.
    pub(super) pointer: String,
    pub(super) keywords: Vec<Keyword>,
}

/// What a schema object demands. Keywords that only mean something together are one.
#[derive(Debug)]
pub(super) enum Keyword {
    /// The schema `false`.
    Never,
    Type(Vec<Type>),
    Enum(Vec<Value>),
    Const(Value),
    Bound(Bound, Number),
    MultipleOf(Number),
    Size(Size, u64),
    Pattern(Pattern),
    UniqueItems,
    Required(Vec<String>),
    /// Members that another member asks for.
    DependentRequired(BTreeMap<String, Vec<String>>),
    /// `allOf` and references.
    All(Vec<NodeId>),
    Any(Vec<NodeId>),
    One(Vec<NodeId>),
    Not(NodeId),
    If {
        condition: NodeId,
        then: Option<NodeId>,
        otherwise: Option<NodeId>,
    },
    DependentSchemas(BTreeMap<String, NodeId>),
    Members(Members),
    PropertyNames(NodeId),
    Items {
        prefix: Vec<NodeId>,
        rest: Option<NodeId>,
    },
    Contains {
        item: NodeId,
        least: u64,
        most: Option<u64>,
    },
    UnevaluatedMembers(NodeId),
    UnevaluatedItems(NodeId),
}

/// `properties`, `patternProperties` and `additionalProperties`.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub(super) named: BTreeMap<String, NodeId>,
    pub(super) patterns: Vec<(Pattern, NodeId)>,
    pub(super) rest: Option<NodeId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Type {
    const NAMES: [(&str, Type); 7] = [
        ("null", Type::Null),
        ("boolean", Type::Boolean),
        ("integer", Type::Integer),
        ("number", Type::Number),
        ("string", Type::String),
        ("array", Type::Array),
        ("object", Type::Object),
    ];

    pub(super) fn named(name: &str) -> Option<Type> {
        Self::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, kind)| *kind)
    }

    pub(super) fn name(self) -> &'static str {
        let row = Self::NAMES.iter().find(|(_, kind)| *kind == self);
        row.map_or("", |(name, _)| name)
    }
}

/// Which bound of a number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    Minimum,
    Maximum,
    ExclusiveMinimum,
    ExclusiveMaximum,
}

/// Which size is bounded, and on which side.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    MinLength,
    MaxLength,
    MinItems,
    MaxItems,
    MinProperties,
    MaxProperties,
}

impl Keyword {
    /// The keyword in a document, for a reader who wants to look it up.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Keyword::Never => "",
            Keyword::Type(_) => "type",
            Keyword::Enum(_) => "enum",
            Keyword::Const(_) => "const",
            Keyword::Bound(Bound::Minimum, _) => "minimum",
            Keyword::Bound(Bound::Maximum, _) => "maximum",
            Keyword::Bound(Bound::ExclusiveMinimum, _) => "exclusiveMinimum",
            Keyword::Bound(Bound::ExclusiveMaximum, _) => "exclusiveMaximum",
            Keyword::MultipleOf(_) => "multipleOf",
            Keyword::Size(Size::MinLength, _) => "minLength",
            Keyword::Size(Size::MaxLength, _) => "maxLength",
            Keyword::Size(Size::MinItems, _) => "minItems",
            Keyword::Size(Size::MaxItems, _) => "maxItems",
            Keyword::Size(Size::MinProperties, _) => "minProperties",
            Keyword::Size(Size::MaxProperties, _) => "maxProperties",
            Keyword::Pattern(_) => "pattern",
            Keyword::UniqueItems => "uniqueItems",
            Keyword::Required(_) => "required",
            Keyword::DependentRequired(_) => "dependentRequired",
            Keyword::All(_) => "allOf",
            Keyword::Any(_) => "anyOf",
            Keyword::One(_) => "oneOf",
            Keyword::Not(_) => "not",
            Keyword::If { .. } => "if",
            Keyword::DependentSchemas(_) => "dependentSchemas",
            Keyword::Members(_) => "properties",
            Keyword::PropertyNames(_) => "propertyNames",
            Keyword::Items { .. } => "items",
            Keyword::Contains { .. } => "contains",
            Keyword::UnevaluatedMembers(_) => "unevaluatedProperties",
            Keyword::UnevaluatedItems(_) => "unevaluatedItems",
        }
    }

    /// The nodes that look at the same value as the one this keyword stands in.
    pub(super) fn in_place(&self) -> Vec<NodeId> {
        match self {
            Keyword::All(nodes) | Keyword::Any(nodes) | Keyword::One(nodes) => nodes.clone(),
            Keyword::Not(node) => vec![*node],
            Keyword::If {
                condition,
                then,
                otherwise,
            } => [Some(*condition), *then, *otherwise]
                .into_iter()
                .flatten()
                .collect(),
            Keyword::DependentSchemas(nodes) => nodes.values().copied().collect(),
            _ => Vec::new(),
        }
    }
}
