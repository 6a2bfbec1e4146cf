//! A serde deserializer that knows where it is, what a type asks for, and which faults are known already.

use super::fault::{DecodeError, Problem, spoken};
use super::tree::Tree;
use crate::text;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Faults found by earlier readings, which the next one passes over.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Values that are wrong; something that suits the type is read in their stead.
    wrong: BTreeSet<String>,
    /// Members to be left out, by the path of their object and their index.
    left_out: BTreeSet<(String, usize)>,
    /// Fields that are missing, by the path of their object; something that suits the type is read for them.
    missing: BTreeSet<(String, &'static str)>,
}

impl Known {
    /// Notes a fault. Whether there may be more to be found behind it.
    pub(crate) fn note(&mut self, error: &DecodeError) -> bool {
        let path = error.path.clone().unwrap_or_default();
        match (&error.problem, error.member) {
            _ if error.is_of_stand_in => false,
            (Problem::Missing(name), _) => self.missing.insert((path, *name)),
            (Problem::Unknown { .. } | Problem::Twice(_), Some(at)) => self.left_out.insert((path, at)),
            // Nothing is known of what is inside the wrong thing.
            _ => !path.is_empty() && self.wrong.insert(path),
        }
    }
}

/// The way from the input to one of its values.
#[derive(Clone, Copy)]
enum Path<'p> {
    Input,
    Member(&'p Path<'p>, &'p str),
    Element(&'p Path<'p>, usize),
}

impl Path<'_> {
    fn render(&self) -> String {
        match self {
            Self::Input => String::new(),
            Self::Member(Self::Input, name) => (*name).to_owned(),
            Self::Member(above, name) => format!("{}.{name}", above.render()),
            Self::Element(above, at) => format!("{}[{at}]", above.render()),
        }
    }
}

/// Reads one value of an input.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'t, 'p> {
    /// `None` for what stands in for a value that is known to be wrong or missing.
    tree: Option<&'t Tree<'t>>,
    path: Path<'p>,
    known: &'p Known,
}

impl<'t, 'p> Reader<'t, 'p> {
    pub(crate) fn new(tree: &'t Tree<'t>, known: &'p Known) -> Self {
        Self {
            tree: Some(tree),
            path: Path::Input,
            known,
        }
    }

    fn below(tree: Option<&'t Tree<'t>>, path: Path<'p>, known: &'p Known) -> Self {
        let is_wrong = !known.wrong.is_empty() && known.wrong.contains(&path.render());
        Self {
            tree: tree.filter(|_| !is_wrong),
            path,
            known,
        }
    }

    /// Adds to an error where it happened.
    fn located<T>(&self, result: Result<T, DecodeError>) -> Result<T, DecodeError> {
        result.map_err(|error| error.at(self.tree.is_none(), || self.path.render()))
    }

    fn wrong_type<T>(&self, tree: &Tree<'_>, allowed: &str) -> Result<T, DecodeError> {
        let problem = format!("is of the wrong type: {}", spoken(&tree.unexpected()));
        self.located(Err(DecodeError::value(problem, allowed)))
    }

    fn text<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.tree {
            None => self.located(visitor.visit_str("")),
            Some(Tree::Text(text) | Tree::Word(text)) => self.located(visitor.visit_str(text)),
            Some(tree) => self.wrong_type(tree, "a string"),
        }
    }

    /// A whole number between two bounds.
    fn integer(&self, least: i128, most: i128) -> Result<i128, DecodeError> {
        let number = match self.tree {
            None => Some(least.max(0)),
            Some(Tree::Number(number)) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => Some(number.into()),
                (None, number) => number.map(i128::from),
            },
            Some(Tree::Word(text)) => Some(text.parse().map_err(|_| {
                let problem = format!("{:?} is not a whole number", text::excerpt(text, 60));
                DecodeError::value(problem, "a whole number").at(false, || self.path.render())
            })?),
            Some(_) => None,
        };
        let allowed = match (least, most) {
            (0, most) if most == u64::MAX.into() => "a whole number, 0 or more".to_owned(),
            (least, _) if least == i64::MIN.into() => "a whole number".to_owned(),
            (least, most) => format!("a whole number from {least} to {most}"),
        };
        match (number, self.tree) {
            (Some(number), _) if (least..=most).contains(&number) => Ok(number),
            (Some(number), _) => {
                let problem = format!("does not fit: the number {number}");
                self.located(Err(DecodeError::value(problem, allowed)))
            }
            (None, Some(tree)) => self.wrong_type(tree, &allowed),
            (None, None) => Ok(least.max(0)),
        }
    }

    fn list<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let list = match self.tree {
            None => [].as_slice(),
            Some(Tree::List(list)) => list.as_slice(),
            Some(tree) => return self.wrong_type(tree, "a list"),
        };
        let elements = Elements {
            list: list.iter().enumerate(),
            of: &self,
        };
        self.located(visitor.visit_seq(elements))
    }

    fn object<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let all = match self.tree {
            None => [].as_slice(),
            Some(Tree::Object(members)) => members.as_slice(),
            Some(tree) => return self.wrong_type(tree, "an object"),
        };
        let path = match self.known.is_empty() {
            true => String::new(),
            false => self.path.render(),
        };
        let missing = self.known.missing.iter().filter(|(object, _)| *object == path);
        let mut members = Members {
            all,
            next: 0,
            missing: missing.map(|(_, name)| *name).collect(),
            current: None,
            path: &path,
            of: &self,
        };
        let read = visitor.visit_map(&mut members);
        let member = members.next.checked_sub(1);
        self.located(read.map_err(|error| error.of_member(member)))
    }
}

impl Known {
    fn is_empty(&self) -> bool {
        self.wrong.is_empty() && self.left_out.is_empty() && self.missing.is_empty()
    }
}

macro_rules! integers {
    ($($deserialize:ident $visit:ident $type:ty),*) => {
        $(
            fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
                let number = self.integer(<$type>::MIN.into(), <$type>::MAX.into())?;
                self.located(visitor.$visit(number as $type))
            }
        )*
    };
}

impl<'de> Deserializer<'de> for Reader<'_, '_> {
    type Error = DecodeError;

    integers! {
        deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16, deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64, deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32, deserialize_u64 visit_u64 u64
    }

    forward_to_deserialize_any! { i128 u128 char bytes byte_buf unit unit_struct }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let read = match self.tree {
            None | Some(Tree::Null) => visitor.visit_unit(),
            Some(Tree::Bool(value)) => visitor.visit_bool(*value),
            Some(Tree::Number(number)) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => visitor.visit_i64(number),
                (None, Some(number)) => visitor.visit_u64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            Some(Tree::Text(text) | Tree::Word(text)) => visitor.visit_str(text),
            Some(Tree::List(_)) => return self.list(visitor),
            Some(Tree::Object(_)) => return self.object(visitor),
        };
        self.located(read)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let value = match self.tree {
            None => Some(false),
            Some(Tree::Bool(value)) => Some(*value),
            Some(Tree::Word(word)) => word.parse().ok(),
            Some(_) => None,
        };
        match (value, self.tree) {
            (Some(value), _) => self.located(visitor.visit_bool(value)),
            (None, Some(Tree::Word(word))) => {
                let problem = format!("{:?} is not a truth value", text::excerpt(word, 60));
                self.located(Err(DecodeError::value(problem, "true or false")))
            }
            (None, tree) => self.wrong_type(tree.unwrap_or(&Tree::Null), "true or false"),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let number = match self.tree {
            None => Some(0.0),
            Some(Tree::Number(number)) => number.as_f64(),
            Some(Tree::Word(word)) => word.parse().ok(),
            Some(_) => None,
        };
        match number {
            Some(number) => self.located(visitor.visit_f64(number)),
            None => self.wrong_type(self.tree.unwrap_or(&Tree::Null), "a number"),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.text(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.text(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.tree {
            None | Some(Tree::Null) => self.located(visitor.visit_none()),
            Some(_) => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.list(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, DecodeError> {
        self.list(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.list(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.object(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.object(visitor)
    }

    /// The enums that are sent are names.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let name = match self.tree {
            None => variants.first().copied().unwrap_or_default(),
            Some(Tree::Text(text) | Tree::Word(text)) => &**text,
            Some(tree) => return self.wrong_type(tree, "a string"),
        };
        let name: StrDeserializer<'_, DecodeError> = name.into_deserializer();
        self.located(visitor.visit_enum(name))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }
}

/// The elements of a list.
struct Elements<'t, 'r> {
    list: std::iter::Enumerate<std::slice::Iter<'t, Tree<'t>>>,
    of: &'r Reader<'t, 'r>,
}

impl<'de> SeqAccess<'de> for Elements<'_, '_> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some((at, tree)) = self.list.next() else {
            return Ok(None);
        };
        let reader = Reader::below(Some(tree), Path::Element(&self.of.path, at), self.of.known);
        reader.located(seed.deserialize(reader)).map(Some)
    }
}

/// The members of an object, and what stands in for those that are missing.
struct Members<'t, 'r> {
    all: &'t [(Cow<'t, str>, Tree<'t>)],
    next: usize,
    missing: Vec<&'static str>,
    current: Option<(&'t str, Option<&'t Tree<'t>>)>,
    path: &'r str,
    of: &'r Reader<'t, 'r>,
}

impl<'t> Members<'t, '_> {
    fn advance(&mut self) -> Option<(&'t str, Option<&'t Tree<'t>>)> {
        while let Some((name, tree)) = self.all.get(self.next) {
            self.next += 1;
            let left_out = &self.of.known.left_out;
            if left_out.is_empty() || !left_out.contains(&(self.path.to_owned(), self.next - 1)) {
                return Some((&**name, Some(tree)));
            }
        }
        self.missing.pop().map(|name| (name, None))
    }
}

impl<'de> MapAccess<'de> for Members<'_, '_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        self.current = self.advance();
        let Some((name, _)) = self.current else {
            return Ok(None);
        };
        let name: StrDeserializer<'_, DecodeError> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        let (name, tree) = self.current.take().unwrap_or_default();
        let reader = Reader::below(tree, Path::Member(&self.of.path, name), self.of.known);
        reader.located(seed.deserialize(reader))
    }
}
