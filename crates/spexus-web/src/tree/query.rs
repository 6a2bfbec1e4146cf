//! What a tree shows, as it stands in its address.

use crate::form;
use serde::Deserialize;

/// Nodes that can be open at once.
pub(super) const MAX_OPEN: usize = 60;

/// Everything a tree is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TreeQuery {
    /// The nodes that are open, separated by commas.
    #[serde(default)]
    pub(super) open: String,
    /// The node whose contents are shown alone, page by page.
    pub(super) within: Option<String>,
    pub(super) cursor: Option<String>,
    /// The node that is to be moved.
    pub(super) moving: Option<String>,
}

impl TreeQuery {
    /// The state of a tree as a form carries it back; what does not fit is the closed tree.
    pub(super) fn carried(text: &str) -> Self {
        form::decoded(text.as_bytes()).unwrap_or_default()
    }

    pub(super) fn opened(&self) -> Vec<&str> {
        let names = self
            .open
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        names.take(MAX_OPEN).collect()
    }

    /// The same tree with a node opened, or closed when it was open.
    pub(super) fn toggled(&self, reference: &str) -> Self {
        let mut open = self.opened();
        match open.iter().position(|name| *name == reference) {
            Some(at) => {
                open.remove(at);
            }
            None => open.push(reference),
        }
        Self {
            open: open.join(","),
            moving: None,
            ..self.clone()
        }
    }

    pub(super) fn moving(&self, reference: Option<&str>) -> Self {
        Self {
            moving: reference.map(str::to_owned),
            ..self.clone()
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = form_urlencoded::Serializer::new(String::new());
        let open = (!self.open.is_empty()).then_some(&self.open);
        let within = self.within.as_ref().filter(|name| !name.is_empty());
        let pairs = [
            ("open", open),
            ("within", within),
            ("cursor", self.cursor.as_ref()),
            ("moving", self.moving.as_ref()),
        ];
        for (name, value) in pairs {
            if let Some(value) = value {
                text.append_pair(name, value);
            }
        }
        text.finish()
    }

    pub(super) fn address(&self, project: &str) -> String {
        let text = self.text();
        let mark = if text.is_empty() { "" } else { "?" };
        format!("/p/{project}/tree{mark}{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_stands_in_the_address() {
        let tree = TreeQuery::default().toggled("EP-001").toggled("US-002");
        assert_eq!(tree.address("web"), "/p/web/tree?open=EP-001%2CUS-002");
        assert_eq!(tree.toggled("EP-001").opened(), ["US-002"]);
        assert_eq!(TreeQuery::carried(&tree.text()), tree);
        assert_eq!(TreeQuery::carried("colour=1"), TreeQuery::default());
    }
}
