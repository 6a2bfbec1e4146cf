//! Addresses, taken apart: `epic://EP-001/hierarchy`, `epic://web/EP-001`, `requirements://search?query=login`.

use spexus_domain::{AnyId, Code, Kind, Refusal, Ruled, decode};
use spexus_service::item::ItemQuery;
use spexus_service::search::SearchQuery;
use std::borrow::Cow;

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
    Item(ItemAddress),
    /// How far an item of any kind has come.
    Trace(ItemAddress),
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

/// The address of an item.
#[derive(Clone, Debug)]
pub(super) struct ItemAddress {
    pub(super) kind: Kind,
    /// The project the reference is of, when the address says so.
    pub(super) project: Option<String>,
    pub(super) id: String,
    pub(super) part: Part,
    /// Where a list goes on.
    pub(super) cursor: Option<String>,
}

/// What about an item is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Itself,
    Context,
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
            return item(kind, path, query);
        }
        if scheme == "trace" {
            let found = item(Kind::Requirement, path, query)?;
            return Ok(found.and_then(|found| match found {
                Address::Item(item) if item.part == Part::Itself => Some(Address::Trace(item)),
                _ => None,
            }));
        }
        let lone = |address: Address| nothing_asked(query).map(|()| Some(address));
        Ok(match (scheme, path) {
            ("epics", "list") => Some(list(Kind::Epic, query)?),
            ("user-stories", "list") => Some(list(Kind::UserStory, query)?),
            ("requirements", "list") => Some(list(Kind::Requirement, query)?),
            ("requirements", "search") => Some(search(query)?),
            ("requirements", "types" | "requirements-types") => lone(Address::Types)?,
            ("requirements", "relationship-types") => lone(Address::LinkTypes)?,
            ("requirements", "workflows") => lone(Address::Workflows)?,
            ("requirements", "users") => lone(Address::Users)?,
            ("requirements", "prompts") => lone(Address::Prompts)?,
            ("requirements", "prompts/active") => lone(Address::ActivePrompt)?,
            ("requirements", path) => match Kind::ALL.into_iter().find(|kind| kind.rules().path == path) {
                Some(kind) => Some(list(kind, query)?),
                None => None,
            },
            ("prompt", id) if !id.is_empty() && !id.contains('/') => lone(Address::Prompt(plain(id)))?,
            _ => None,
        })
    }

    /// What kind of address it is, for logs: without the id.
    pub(super) fn form(&self) -> &'static str {
        match self {
            Address::Item(item) => match item.part {
                Part::Itself => scheme_of(item.kind),
                part => part.name(),
            },
            Address::Trace(_) => "trace",
            Address::List(kind, _) => kind.rules().path,
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

impl Part {
    /// As it stands in addresses; empty for the item itself.
    pub(super) fn name(self) -> &'static str {
        match self {
            Part::Itself => "",
            Part::Context => "context",
            Part::Hierarchy => "hierarchy",
            Part::Children(kind) => kind.rules().path,
            Part::Relationships => "relationships",
            Part::Comments => "comments",
            Part::History => "history",
        }
    }

    /// Whether it is a list that comes in pages.
    fn is_paged(self) -> bool {
        matches!(self, Part::Children(_) | Part::Comments | Part::History)
    }

    fn parse(kind: Kind, name: &str) -> Option<Self> {
        let fixed = [
            Part::Context,
            Part::Hierarchy,
            Part::Relationships,
            Part::Comments,
            Part::History,
        ];
        let children = kind.children().map(Part::Children);
        fixed.into_iter().chain(children).find(|part| part.name() == name)
    }
}

/// `REF`, `REF/part`, `project/REF` or `project/REF/part`, with `?project=` where the path names none.
//= specs/spexus-mcp.md#resources
//# An address MUST take the project before the reference or as `project`, as lists do, and MUST mean that project's item.
fn item(kind: Kind, path: &str, query: &str) -> Ruled<Option<Address>> {
    let segments: Vec<String> = path.split('/').map(plain).collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let is_id = |text: &str| AnyId::parse("id", text).is_ok();
    let named = |part: &str| Part::parse(kind, part);
    let (project, id, part) = match segments[..] {
        [id] => (None, id, Some(Part::Itself)),
        [id, part] if named(part).is_some() => (None, id, named(part)),
        [project, id] if is_id(id) => (Some(project), id, Some(Part::Itself)),
        [project, id, part] if is_id(id) => (Some(project), id, named(part)),
        _ => return Ok(None),
    };
    let Some(part) = part.filter(|_| !id.is_empty() && project != Some("")) else {
        return Ok(None);
    };
    let mut parameters = pairs(query);
    let cursor = match part.is_paged() {
        true => take_cursor(&mut parameters),
        false => None,
    };
    Ok(Some(Address::Item(ItemAddress {
        kind,
        project: project_of(project, parameters, part)?,
        id: id.to_owned(),
        part,
        cursor,
    })))
}

/// Takes `cursor` out of the parameters.
fn take_cursor(parameters: &mut Vec<(String, String)>) -> Option<String> {
    let at = parameters.iter().position(|(name, _)| name == "cursor")?;
    Some(parameters.remove(at).1)
}

/// The project of the path or of the parameter; both must mean the same.
fn project_of(in_path: Option<&str>, parameters: Vec<(String, String)>, part: Part) -> Ruled<Option<String>> {
    let mut project = in_path.map(str::to_owned);
    for (name, value) in parameters {
        if name != "project" {
            let allowed = if part.is_paged() {
                "project or cursor"
            } else {
                "project"
            };
            return Err(unknown(&name, allowed));
        }
        if project
            .as_ref()
            .is_some_and(|known| !known.eq_ignore_ascii_case(&value))
        {
            let problem = format!("{value:?} is not the project of the address");
            return Err(Refusal::field(
                Code::InvalidParams,
                "project",
                problem,
                "one project",
            ));
        }
        project = Some(value);
    }
    Ok(project)
}

/// Refuses parameters where none are taken.
fn nothing_asked(query: &str) -> Ruled<()> {
    match pairs(query).first() {
        Some((name, _)) => Err(unknown(name, "no parameters")),
        None => Ok(()),
    }
}

fn unknown(name: &str, allowed: &str) -> Refusal {
    let name = spexus_domain::text::excerpt(name, 60);
    Refusal::field(Code::InvalidParams, name, "is not a parameter here", allowed)
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
    let text = |(name, value): (String, String)| (Cow::Owned(name), Cow::Owned(value));
    decode::pairs(pairs.into_iter().map(text))
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
        check("trace://REQ-012", "trace");
        check("trace://web/US-1", "trace");
        check("trace://REQ-012/history", "nothing");
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

    //= specs/spexus-mcp.md#resources
    //= type=test
    //# An address MUST take the project before the reference or as `project`, as lists do, and MUST mean that project's item.
    #[test]
    fn an_address_names_its_project_in_the_path_or_as_a_parameter() {
        let project = |uri: &str| match Address::parse(uri).unwrap() {
            Some(Address::Item(item)) => (item.project.unwrap_or_default(), item.id, item.part),
            other => panic!("{uri}: {other:?}"),
        };
        let web = |part| ("web".to_owned(), "REQ-001".to_owned(), part);
        assert_eq!(project("requirement://web/REQ-001"), web(Part::Itself));
        assert_eq!(project("requirement://web/REQ-001/history"), web(Part::History));
        assert_eq!(project("requirement://REQ-001?project=web"), web(Part::Itself));
        assert_eq!(
            project("requirement://REQ-001/history?project=web"),
            web(Part::History)
        );
        assert_eq!(
            project("requirement://web/REQ-001?project=web"),
            web(Part::Itself)
        );
        assert_eq!(project("requirement://WEB-REQ-001/history").1, "WEB-REQ-001");
        assert_eq!(project("requirement://web/WEB-REQ-001").0, "web");
        // A project may be called like a reference or like a part.
        assert_eq!(project("epic://ep-1/EP-2").0, "ep-1");
        assert_eq!(project("epic://history/EP-2/history").0, "history");
        check("requirement:///REQ-001", "nothing");
        check("requirement://web/REQ-001/nonsense", "nothing");
        check("requirement://web/REQ-001/history/more", "nothing");
        for (uri, field) in [
            ("requirement://web/REQ-001?project=default", "project"),
            ("requirement://REQ-001?colour=red", "colour"),
            ("requirement://REQ-001?cursor=x", "cursor"),
            ("requirement://REQ-001/relationships?cursor=x", "cursor"),
            ("requirement://REQ-001/history?cursor=x&cursor=y", "cursor"),
            ("requirements://types?project=web", "project"),
            ("prompt://PROMPT-001?project=web", "project"),
        ] {
            assert_eq!(Address::parse(uri).unwrap_err().faults[0].field, field, "{uri}");
        }
    }

    #[test]
    fn a_wrong_parameter_is_refused_by_name() {
        let refusal = Address::parse("epics://list?colour=red").unwrap_err();
        assert_eq!(refusal.faults[0].field, "colour");
        let refusal = Address::parse("epics://list?limit=many").unwrap_err();
        assert_eq!(refusal.faults[0].field, "limit");
    }
}
