//! URI templates (the part of RFC 6570 that MCP servers use): patterns of addresses, and the variables an address gives.

use std::collections::BTreeMap;

use refusal::{Code, Refusal};

use crate::uri;

/// A URI template: a pattern of addresses, taken apart.
#[derive(Debug)]
pub struct UriTemplate {
    pieces: Vec<Piece>,
    queries: Vec<String>,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    /// One part of the path.
    Part(String),
    /// The rest of the path.
    Rest(String),
}

impl UriTemplate {
    /// Takes a template apart. It must begin with a scheme and close every brace.
    pub fn parse(source: &str) -> Result<UriTemplate, Refusal> {
        let wrong =
            |problem: &str| Refusal::new(Code::InvalidUri, format!("the template {source:?} {problem}"));
        let mut pattern = UriTemplate {
            pieces: Vec::new(),
            queries: Vec::new(),
        };
        let mut rest = source;
        while let Some((text, after)) = rest.split_once('{') {
            if !text.is_empty() {
                pattern.pieces.push(Piece::Text(text.to_owned()));
            }
            let (inner, after) = after.split_once('}').ok_or_else(|| wrong("has an open brace"))?;
            match inner.as_bytes().first() {
                None => return Err(wrong("has an empty variable")),
                Some(b'?' | b'&') => pattern.queries.extend(inner[1..].split(',').map(str::to_owned)),
                Some(b'+') => pattern.pieces.push(Piece::Rest(inner[1..].to_owned())),
                Some(_) if inner.ends_with('*') => pattern
                    .pieces
                    .push(Piece::Rest(inner.trim_end_matches('*').to_owned())),
                Some(_) => pattern.pieces.push(Piece::Part(inner.to_owned())),
            }
            rest = after;
        }
        if !rest.is_empty() {
            pattern.pieces.push(Piece::Text(rest.to_owned()));
        }
        if !matches!(pattern.pieces.first(), Some(Piece::Text(_))) {
            return Err(wrong("must begin with a scheme"));
        }
        Ok(pattern)
    }

    /// The values of the variables, when the address fits.
    pub fn fit(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let (address, query) = match uri.split_once('?') {
            Some((address, query)) if !self.queries.is_empty() => (address, query),
            _ => (uri, ""),
        };
        let mut values = BTreeMap::new();
        if !fit_pieces(&self.pieces, address, &mut values) {
            return None;
        }
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            if self.queries.iter().any(|known| known == name) {
                values.insert(name.to_owned(), plain(value)?);
            }
        }
        Some(values)
    }
}

/// Fits the pieces from left to right; a variable ends where the next text begins.
fn fit_pieces(pieces: &[Piece], address: &str, values: &mut BTreeMap<String, String>) -> bool {
    let Some((piece, rest)) = pieces.split_first() else {
        return address.is_empty();
    };
    let (name, whole) = match piece {
        Piece::Text(text) => {
            return address
                .strip_prefix(text.as_str())
                .is_some_and(|after| fit_pieces(rest, after, values));
        }
        Piece::Part(name) => (name, false),
        Piece::Rest(name) => (name, true),
    };
    let limit = if whole {
        address.len()
    } else {
        address.find('/').unwrap_or(address.len())
    };
    let end = match rest.first() {
        None => limit,
        Some(Piece::Text(text)) => match address.find(text.as_str()).filter(|at| *at <= limit) {
            Some(at) => at,
            None => return false,
        },
        Some(_) => limit,
    };
    let Some(value) = plain(&address[..end]).filter(|value| !value.is_empty()) else {
        return false;
    };
    values.insert(name.clone(), value);
    fit_pieces(rest, &address[end..], values)
}

fn plain(text: &str) -> Option<String> {
    String::from_utf8(uri::decode(text.as_bytes())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, uri: &str, expect: Option<&[(&str, &str)]>) {
        let found = UriTemplate::parse(template).unwrap().fit(uri);
        let expect = expect.map(|pairs| {
            pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect()
        });
        assert_eq!(found, expect, "{template} on {uri}");
    }

    #[test]
    fn addresses_fit_patterns() {
        check(
            "test://template/{id}/data",
            "test://template/7/data",
            Some(&[("id", "7")]),
        );
        check("test://template/{id}/data", "test://template/7/8/data", None);
        check("test://template/{id}/data", "test://template//data", None);
        check(
            "x:///{kind}/{id}",
            "x:///epic/EP%201",
            Some(&[("kind", "epic"), ("id", "EP 1")]),
        );
        check(
            "x:///{kind}/{+path}",
            "x:///spec/a/b:c/d",
            Some(&[("kind", "spec"), ("path", "a/b:c/d")]),
        );
        check(
            "x:///all{?offset,limit}",
            "x:///all?limit=5&other=1",
            Some(&[("limit", "5")]),
        );
        check("x:///all{?offset,limit}", "x:///all", Some(&[]));
        check("x:///{a}-{b}", "x:///1-2", Some(&[("a", "1"), ("b", "2")]));
        for broken in ["x:///{a", "x:///{}", "{a}/b"] {
            assert_eq!(
                UriTemplate::parse(broken).unwrap_err().code,
                Code::InvalidUri,
                "{broken}"
            );
        }
    }
}
