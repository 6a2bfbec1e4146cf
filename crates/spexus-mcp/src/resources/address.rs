//! Addresses, taken apart: `epic://EP-001/hierarchy`, `requirements://search?query=login`.

use spexus_domain::{Kind, Refusal, Ruled, complaint};
use spexus_service::item::ItemQuery;
use spexus_service::search::SearchQuery;

// Fulfils 003 R4.3, 003 R10.6
/// The schemes of items.
pub(crate) const SCHEMES: [(&str, Kind); 5] = [
    ("epic", Kind::Epic),
    ("user-story", Kind::UserStory),
    ("requirement", Kind::Requirement),
    ("acceptance-criteria", Kind::AcceptanceCriterion),
    ("steering-document", Kind::SteeringDocument),
];

/// The scheme of a kind.
pub(crate) fn scheme_of(kind: Kind) -> &'static str {
    SCHEMES
        .iter()
        .find(|(_, own)| *own == kind)
        .map_or("", |(scheme, _)| *scheme)
}

/// The kind of a scheme.
pub(crate) fn kind_of(scheme: &str) -> Option<Kind> {
    SCHEMES
        .iter()
        .find(|(own, _)| *own == scheme)
        .map(|(_, kind)| *kind)
}

/// What an address stands for.
#[derive(Clone, Debug)]
pub(super) enum Address {
    /// An item, or something about it.
    Item(Kind, String, Part),
    /// Items of a kind that fit filters.
    List(Kind, Box<ItemQuery>),
    /// What a search finds.
    Search(SearchQuery, Box<ItemQuery>),
    /// A stored prompt.
    Prompt(String),
    /// All prompts.
    Prompts,
    /// The active prompt.
    ActivePrompt,
    /// Requirement types.
    Types,
    /// Relationship types.
    LinkTypes,
    /// Statuses and transitions.
    Workflows,
    /// Names of users.
    Users,
}

/// What about an item is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Itself,
    Hierarchy,
    Children(Kind),
    Relationships,
    Comments,
    History,
}

impl Address {
    /// Takes an address apart; `None` when it is not one of ours. Wrong parameters are refused by name.
    pub(super) fn parse(uri: &str) -> Ruled<Option<Self>> {
        let Some((scheme, rest)) = uri.split_once("://") else {
            return Ok(None);
        };
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        if let Some(kind) = kind_of(scheme) {
            return Ok(item(kind, path).filter(|_| query.is_empty()));
        }
        Ok(match (scheme, path) {
            ("epics", "list") => Some(list(Kind::Epic, query)?),
            ("user-stories", "list") => Some(list(Kind::UserStory, query)?),
            ("requirements", "list") => Some(list(Kind::Requirement, query)?),
            ("requirements", "search") => Some(search(query)?),
            ("requirements", "types" | "requirements-types") => Some(Address::Types),
            ("requirements", "relationship-types") => Some(Address::LinkTypes),
            ("requirements", "workflows") => Some(Address::Workflows),
            ("requirements", "users") => Some(Address::Users),
            ("requirements", "prompts") => Some(Address::Prompts),
            ("requirements", "prompts/active") => Some(Address::ActivePrompt),
            ("requirements", path) => match Kind::ALL.into_iter().find(|kind| kind.rules().path == path) {
                Some(kind) => Some(list(kind, query)?),
                None => None,
            },
            ("prompt", id) if !id.is_empty() && !id.contains('/') => Some(Address::Prompt(plain(id))),
            _ => None,
        })
    }

    /// What kind of address it is, for logs: without the id.
    pub(super) fn form(&self) -> &'static str {
        match self {
            Address::Item(kind, _, Part::Itself) => scheme_of(*kind),
            Address::Item(_, _, Part::Hierarchy) => "hierarchy",
            Address::Item(_, _, Part::Children(kind)) | Address::List(kind, _) => kind.rules().path,
            Address::Item(_, _, Part::Relationships) => "relationships",
            Address::Item(_, _, Part::Comments) => "comments",
            Address::Item(_, _, Part::History) => "history",
            Address::Search(..) => "search",
            Address::Prompt(_) => "prompt",
            Address::Prompts => "prompts",
            Address::ActivePrompt => "active prompt",
            Address::Types => "requirement types",
            Address::LinkTypes => "relationship types",
            Address::Workflows => "workflows",
            Address::Users => "users",
        }
    }
}

fn item(kind: Kind, path: &str) -> Option<Address> {
    let (id, part) = path.split_once('/').unwrap_or((path, ""));
    if id.is_empty() {
        return None;
    }
    let part = match part {
        "" => Part::Itself,
        "hierarchy" => Part::Hierarchy,
        "relationships" => Part::Relationships,
        "comments" => Part::Comments,
        "history" => Part::History,
        other => Part::Children(kind.children().find(|child| child.rules().path == other)?),
    };
    Some(Address::Item(kind, plain(id), part))
}

// Fulfils 003 R5.3, 003 R5.4
//= specs/spexus-mcp.md#resources
//# A parameter that is unknown or does not fit MUST be refused with its name and what is allowed.
fn list(kind: Kind, query: &str) -> Ruled<Address> {
    Ok(Address::List(kind, Box::new(filters(pairs(query))?)))
}

// Fulfils 003 R5.5
fn search(query: &str) -> Ruled<Address> {
    let mut pairs = pairs(query);
    let mut wanted = SearchQuery {
        kinds: Some(Kind::Requirement.name().to_owned()),
        ..SearchQuery::default()
    };
    pairs.retain(|(name, value)| match name.as_str() {
        "query" | "q" => {
            wanted.query.clone_from(value);
            false
        }
        "kinds" | "entity_types" => {
            wanted.kinds = Some(value.clone());
            false
        }
        _ => true,
    });
    Ok(Address::Search(wanted, Box::new(filters(pairs)?)))
}

/// The parameters of a query; one that is empty was left open in a template.
fn pairs(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

// Fulfils 003 R5.7
fn filters(pairs: Vec<(String, String)>) -> Ruled<ItemQuery> {
    let text = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish();
    let reader = serde_urlencoded::Deserializer::new(form_urlencoded::parse(text.as_bytes()));
    serde_path_to_error::deserialize(reader).map_err(|error: serde_path_to_error::Error<_>| -> Refusal {
        complaint::refusal(&error.path().to_string(), &error.inner().to_string())
    })
}

fn plain(text: &str) -> String {
    // A path is not a form: `+` is a plus. The decoder of forms is the one at hand.
    form_urlencoded::parse(format!("x={}", text.replace('+', "%2B")).as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(uri: &str, expect: &str) {
        let found = Address::parse(uri).unwrap();
        assert_eq!(found.as_ref().map_or("nothing", Address::form), expect, "{uri}");
    }

    // proves 003 R10.6
    // proves 003 R16.5
    #[test]
    fn addresses_are_taken_apart() {
        check("epic://EP-001", "epic");
        check("epic://EP-001/hierarchy", "hierarchy");
        check("epic://EP-001/user-stories", "user-stories");
        check("epic://EP-001/requirements", "nothing");
        check("user-story://US-001/acceptance-criteria", "acceptance-criteria");
        check("requirement://REQ-1/relationships", "relationships");
        check("requirement://REQ-1/nonsense", "nothing");
        check("acceptance-criteria://AC-1/comments", "comments");
        check("steering-document://STD-1/history", "history");
        check("epics://list?status=Draft&priority=", "epics");
        check("user-stories://list?epic_id=EP-1&status=", "user-stories");
        check("requirements://search?query=a%20b&type=", "search");
        check("requirements://acceptance-criteria", "acceptance-criteria");
        check("requirements://types", "requirement types");
        check("prompt://PROMPT-001", "prompt");
        check("epic://", "nothing");
        check("mailto:someone", "nothing");
        check("file:///etc/passwd", "nothing");
    }

    #[test]
    fn a_wrong_parameter_is_refused_by_name() {
        let refusal = Address::parse("epics://list?colour=red").unwrap_err();
        assert_eq!(refusal.faults[0].field, "colour");
        let refusal = Address::parse("epics://list?limit=many").unwrap_err();
        assert_eq!(refusal.faults[0].field, "limit");
    }
}
