//! Cursors of lists: where the next page starts, as a sealed text.

use refusal::{Code, Refusal};

use crate::fields::Fields;
use crate::seal::Seal;

/// Where a page starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// After this key of the registry.
    After(String),
    /// In the list of a source, at a place only the source understands; empty means its start.
    Source(String),
}

impl Place {
    pub(crate) fn seal(&self, seal: &Seal, list: &str) -> String {
        let content = match self {
            Place::After(key) => format!("k{key}"),
            Place::Source(at) => format!("s{at}"),
        };
        seal.close(list, content.as_bytes())
    }

    /// The place a request asks for; `None` is the start. Both spellings of the field are read.
    pub(crate) fn asked(fields: &Fields<'_>, seal: &Seal, list: &str) -> Result<Option<Place>, Refusal> {
        let cursor = match fields.text("cursor")? {
            Some(cursor) => cursor,
            None => match fields.text("next_cursor")? {
                Some(cursor) => cursor,
                None => return Ok(None),
            },
        };
        let content = seal
            .open(list, &cursor)
            .and_then(|bytes| String::from_utf8(bytes).ok());
        match content.as_deref().and_then(|c| c.split_at_checked(1)) {
            Some(("k", key)) => Ok(Some(Place::After(key.to_owned()))),
            Some(("s", at)) => Ok(Some(Place::Source(at.to_owned()))),
            _ => Err(Refusal::field(
                Code::InvalidParams,
                "cursor",
                "was not made by this server for this list",
                "the `nextCursor` of the page before",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_survive_the_round_trip_and_only_on_their_own_list() {
        let seal = Seal::new([1; 32]);
        for place in [Place::After("файл".into()), Place::Source(String::new())] {
            let params = format!(r#"{{"cursor":"{}"}}"#, place.seal(&seal, "prompts/list"));
            let fields = Fields::of(Some(&params)).unwrap();
            assert_eq!(Place::asked(&fields, &seal, "prompts/list").unwrap(), Some(place));
            let other = Place::asked(&fields, &seal, "resources/list").unwrap_err();
            assert_eq!(other.code, Code::InvalidParams);
        }
    }
}
