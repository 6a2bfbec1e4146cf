//! The members of a JSON object as raw pieces, for parameters that are decoded one by one after routing.

use std::borrow::Cow;

use refusal::{Code, Refusal};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::envelope;

/// An object's members, in the order they were written.
#[derive(Clone, Debug, Default)]
pub struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// The members of `params`; none when there are no parameters. An array has no names and is refused.
    pub fn of(params: Option<&'a str>) -> Result<Fields<'a>, Refusal> {
        match params {
            None => Ok(Fields::default()),
            Some(text) if text.starts_with('{') => serde_json::from_str(text).map_err(|e| {
                Refusal::new(Code::InvalidParams, format!("the parameters cannot be read: {e}"))
            }),
            Some(_) => Err(Refusal::new(
                Code::InvalidParams,
                "the parameters must be an object",
            )),
        }
    }

    /// A member's own text. A member that is `null` counts as absent.
    pub fn raw(&self, name: &str) -> Option<&'a str> {
        let found = self.0.iter().rev().find(|(key, _)| key == name)?;
        Some(found.1.get()).filter(|text| *text != "null")
    }

    /// True when the member was written at all, be it as `null`.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// A member that must be a string when it is there.
    pub fn text(&self, name: &'static str) -> Result<Option<Cow<'a, str>>, Refusal> {
        match self.raw(name) {
            None => Ok(None),
            Some(raw) => envelope::text(raw)
                .map(Some)
                .ok_or_else(|| Refusal::field(Code::FieldTypeMismatch, name, "is not a string", "a string")),
        }
    }

    /// A member that must be there and be a string.
    pub fn required_text(&self, name: &'static str) -> Result<Cow<'a, str>, Refusal> {
        self.text(name)?.ok_or_else(|| missing(name))
    }

    /// A member decoded to a type, when it is there.
    pub fn decode<T: DeserializeOwned>(&self, name: &'static str) -> Result<Option<T>, Refusal> {
        match self.raw(name) {
            None => Ok(None),
            Some(raw) => serde_json::from_str(raw).map(Some).map_err(|e| {
                Refusal::field(Code::FieldTypeMismatch, name, format!("cannot be read: {e}"), "")
            }),
        }
    }
}

/// The refusal for a member that must be there.
pub fn missing(name: &'static str) -> Refusal {
    Refusal::field(Code::MissingRequiredField, name, "is missing", "a value")
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut members = Vec::with_capacity(4);
                while let Some(Name(key)) = map.next_key::<Name<'de>>()? {
                    members.push((key, map.next_value()?));
                }
                Ok(Fields(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// A name that borrows when it can; serde's own `Cow` always copies.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_and_typed() {
        let fields = Fields::of(Some(r#"{"name":"a\"b","n":5,"gone":null}"#)).unwrap();
        assert_eq!(fields.text("name").unwrap().unwrap(), "a\"b");
        assert_eq!(fields.raw("gone"), None);
        assert!(fields.has("gone") && !fields.has("never"));
        assert_eq!(fields.text("n").unwrap_err().code, Code::FieldTypeMismatch);
        assert_eq!(
            fields.required_text("never").unwrap_err().code,
            Code::MissingRequiredField
        );
        assert_eq!(fields.decode::<u8>("n").unwrap(), Some(5));
        assert_eq!(Fields::of(Some("[1]")).unwrap_err().code, Code::InvalidParams);
    }
}
