//! Cursors of lists: where the next page starts, as a signed text.

use refusal::{Code, Refusal};

use crate::fields::Fields;
use crate::signer::Signer;

/// A pagination cursor: where a page of a list starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// After this key of the registry.
    AfterKey(String),
    /// In the list of a source, at a position only the source understands; empty means its start.
    InSource(String),
}

impl Cursor {
    /// The cursor as a client carries it, good for this list alone.
    pub fn sign(&self, signer: &Signer, list: &str) -> String {
        let content = match self {
            Cursor::AfterKey(key) => format!("k{key}"),
            Cursor::InSource(at) => format!("s{at}"),
        };
        signer.sign(list, content.as_bytes())
    }

    /// The cursor a request names; `None` is the start. Both spellings of the field are read.
    pub fn requested(fields: &Fields<'_>, signer: &Signer, list: &str) -> Result<Option<Cursor>, Refusal> {
        let cursor = match fields.text("cursor")? {
            Some(cursor) => cursor,
            None => match fields.text("next_cursor")? {
                Some(cursor) => cursor,
                None => return Ok(None),
            },
        };
        let content = signer
            .verify(list, &cursor)
            .and_then(|bytes| String::from_utf8(bytes).ok());
        match content.as_deref().and_then(|c| c.split_at_checked(1)) {
            Some(("k", key)) => Ok(Some(Cursor::AfterKey(key.to_owned()))),
            Some(("s", at)) => Ok(Some(Cursor::InSource(at.to_owned()))),
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
    fn cursors_survive_the_round_trip_and_only_on_their_own_list() {
        let signer = Signer::new([1; 32]);
        for cursor in [Cursor::AfterKey("файл".into()), Cursor::InSource(String::new())] {
            let params = format!(r#"{{"cursor":"{}"}}"#, cursor.sign(&signer, "prompts/list"));
            let fields = Fields::of(Some(&params)).unwrap();
            assert_eq!(
                Cursor::requested(&fields, &signer, "prompts/list").unwrap(),
                Some(cursor)
            );
            let other = Cursor::requested(&fields, &signer, "resources/list").unwrap_err();
            assert_eq!(other.code, Code::InvalidParams);
        }
    }
}
