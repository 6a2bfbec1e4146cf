//! Changes a server publishes: to subscribers, and to sessions that come back and missed them.

/// A list that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// The tools.
    Tools,
    /// The resources and their templates.
    Resources,
    /// The prompts.
    Prompts,
    /// The server's roots; told to those who asked for them.
    Roots,
}

impl List {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            List::Tools => "tools",
            List::Resources => "resources",
            List::Prompts => "prompts",
            List::Roots => "roots",
        }
    }
}

/// What happened to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It says something else now.
    Updated,
    /// It is gone.
    Deleted,
}

/// A change set: what happened between two positions of the change log, each topic once, each list once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// The position before the first change.
    pub since: u64,
    /// The position of the last change.
    pub up_to: u64,
    /// The topics of the resources that changed; see [`ResourceSource::subscribe`](crate::ResourceSource::subscribe).
    /// Each with the tenant whose resource it is; `None` for everybody's.
    pub resources: Vec<(String, Change, Option<String>)>,
    /// The lists that changed, each with the tenant whose list it is; `None` for everybody's.
    pub lists: Vec<(List, Option<String>)>,
    /// So much happened that everything may have changed; the rest need not be told one by one.
    pub everything: bool,
}
