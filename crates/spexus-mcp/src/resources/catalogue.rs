//! The forms of addresses, as they are told to clients and in the reference.

use super::address::SCHEMES;
use spexus_domain::Kind;

/// One form of address.
pub(crate) struct Form {
    pub(crate) template: String,
    pub(crate) name: String,
    pub(crate) description: String,
    /// The kind its id is of, for completion.
    pub(crate) kind: Option<Kind>,
}

/// Collections that are always there: address, name, what they hold.
pub(crate) const COLLECTIONS: [(&str, &str, &str); 11] = [
    (
        "requirements://epics",
        "Epics",
        "All epics, in pages; filters as in epics://list.",
    ),
    (
        "requirements://user-stories",
        "User stories",
        "All user stories, in pages.",
    ),
    (
        "requirements://requirements",
        "Requirements",
        "All requirements, in pages.",
    ),
    (
        "requirements://acceptance-criteria",
        "Acceptance criteria",
        "All acceptance criteria, in pages.",
    ),
    (
        "requirements://steering-documents",
        "Steering documents",
        "All steering documents, in pages.",
    ),
    ("requirements://prompts", "Prompts", "The stored prompts."),
    (
        "requirements://prompts/active",
        "Active prompt",
        "The prompt agents are given when they connect.",
    ),
    (
        "requirements://types",
        "Requirement types",
        "The names `type` takes.",
    ),
    (
        "requirements://relationship-types",
        "Relationship types",
        "How items can be linked.",
    ),
    (
        "requirements://workflows",
        "Workflows",
        "Statuses and transitions of every kind.",
    ),
    ("requirements://users", "Users", "Who can be assigned."),
];

/// Every form with variables.
pub(crate) fn forms() -> Vec<Form> {
    let form = |template: &str, name: &str, description: &str, kind| Form {
        template: template.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        kind,
    };
    let mut forms = vec![
        form(
            "epics://list?status={status}&priority={priority}",
            "Epics by filter",
            "Epics with this status and priority; both may be empty. Also assignee, creator, order_by, limit, cursor.",
            Some(Kind::Epic),
        ),
        form(
            "user-stories://list?epic_id={epic_id}&status={status}",
            "User stories by filter",
            "User stories of an epic with this status; both may be empty.",
            Some(Kind::UserStory),
        ),
        form(
            "requirements://search?query={query}&type={type}",
            "Requirements by words",
            "Requirements found by words, of this type; both may be empty.",
            Some(Kind::Requirement),
        ),
        form(
            "trace://{id}",
            "Trace",
            "How far an item has come to a test that passed, and which link is the weakest.",
            Some(Kind::Requirement),
        ),
        form(
            "prompt://{id}",
            "Prompt",
            "A stored prompt, by PROMPT-001, UUID or name.",
            None,
        ),
    ];
    for (scheme, kind) in SCHEMES {
        let label = kind.rules().label;
        let mut add = |part: &str, what: &str| {
            let tail = if part.is_empty() {
                String::new()
            } else {
                format!("/{part}")
            };
            forms.push(Form {
                template: format!("{scheme}://{{id}}{tail}"),
                name: format!("{label} {part}").trim_end().to_owned(),
                description: what.to_owned(),
                kind: Some(kind),
            });
        };
        add("", "The item with its text, by reference id or UUID.");
        add(
            "context",
            "Everything that is needed to work on it, in one answer.",
        );
        if kind.children().next().is_some() {
            add("hierarchy", "The whole tree below it.");
        }
        for child in kind.children() {
            add(child.rules().path, "What it directly contains, in order.");
        }
        add("relationships", "Its links in both directions.");
        add("comments", "The comments on it.");
        add("history", "Who changed it, when and what.");
    }
    forms
}
