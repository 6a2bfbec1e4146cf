//! The frame around every page: navigation, where one is, search, who one is, and what was just done.

use crate::preferences::{Language, Preferences};
use crate::saved_menu::SavedMenu;
use crate::texts::Texts;
use spexus_domain::account::{Caller, Role};
use spexus_domain::saved_view::ViewPage;

/// What the navigation of a project leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Overview,
    Document,
    Tree,
    Board,
    Table,
    Matrix,
    Graph,
    Trace,
    Reviews,
    Baselines,
    /// A page of one item, or another one without a place of its own.
    Inside,
}

impl View {
    /// The pages of a project: the view, the last part of its address, its icon.
    pub(crate) const PLACES: [(View, &'static str, &'static str); 10] = [
        (View::Overview, "", "home"),
        (View::Document, "/document", "doc"),
        (View::Tree, "/tree", "tree"),
        (View::Board, "/board", "board"),
        (View::Table, "/table", "table"),
        (View::Matrix, "/matrix", "matrix"),
        (View::Graph, "/graph", "graph"),
        (View::Trace, "/trace", "steps"),
        (View::Reviews, "/reviews", "review"),
        (View::Baselines, "/baselines", "flagpole"),
    ];

    /// As what it can be saved.
    pub(crate) fn saved(self) -> Option<ViewPage> {
        ViewPage::ALL
            .into_iter()
            .find(|page| Self::of_saved(*page) == self)
    }

    /// What a saved view shows.
    pub(crate) const fn of_saved(page: ViewPage) -> Self {
        match page {
            ViewPage::Table => View::Table,
            ViewPage::Board => View::Board,
            ViewPage::Tree => View::Tree,
            ViewPage::Matrix => View::Matrix,
            ViewPage::Graph => View::Graph,
        }
    }

    /// The keys that lead there.
    const fn keys(self) -> &'static str {
        match self {
            View::Overview => "g o",
            View::Document => "g d",
            View::Tree => "g t",
            View::Board => "g b",
            View::Table => "g l",
            View::Matrix => "g m",
            View::Graph => "g n",
            View::Trace => "g c",
            View::Reviews => "g r",
            View::Baselines => "g s",
            View::Inside => "",
        }
    }

    pub(crate) const fn words(self, t: &Texts) -> &'static str {
        match self {
            View::Overview | View::Inside => t.overview,
            View::Document => t.document,
            View::Tree => t.tree,
            View::Board => t.board,
            View::Table => t.table,
            View::Matrix => t.matrix,
            View::Graph => t.graph,
            View::Trace => t.traceability,
            View::Reviews => t.reviews,
            View::Baselines => t.baselines,
        }
    }
}

/// One step of the way to where one is.
pub(crate) struct Crumb {
    pub(crate) name: String,
    /// Empty for the page itself.
    pub(crate) path: String,
}

impl Crumb {
    pub(crate) fn to(name: impl Into<String>, path: impl Into<String>) -> Self {
        let (name, path) = (name.into(), path.into());
        Self { name, path }
    }

    pub(crate) fn here(name: impl Into<String>) -> Self {
        Self::to(name, "")
    }
}

/// The project a page is of.
pub(crate) struct ProjectNav {
    pub(crate) key: String,
    pub(crate) name: String,
    /// From where on the page hears of changes.
    pub(crate) since: String,
    pub(crate) can_create: bool,
}

/// A row of the navigation of a project.
pub(crate) struct NavRow {
    pub(crate) path: String,
    pub(crate) icon: &'static str,
    pub(crate) words: &'static str,
    pub(crate) keys: &'static str,
    pub(crate) is_open: bool,
}

/// The frame of a page.
pub(crate) struct Shell {
    pub(crate) t: &'static Texts,
    pub(crate) language: Language,
    pub(crate) theme: &'static str,
    pub(crate) title: String,
    /// The address of the page, to come back to.
    pub(crate) path: String,
    /// Empty when nobody is signed in.
    pub(crate) user: String,
    pub(crate) is_administrator: bool,
    pub(crate) project: Option<ProjectNav>,
    pub(crate) view: View,
    pub(crate) crumbs: Vec<Crumb>,
    /// What was saved of the page that is open.
    pub(crate) saved: Option<SavedMenu>,
}

impl Shell {
    /// For whoever it may be.
    pub(crate) fn bare(preferences: &Preferences, title: String) -> Self {
        Self {
            t: preferences.texts(),
            language: preferences.language,
            theme: preferences.theme,
            title,
            path: "/".to_owned(),
            user: String::new(),
            is_administrator: false,
            project: None,
            view: View::Inside,
            crumbs: Vec::new(),
            saved: None,
        }
    }

    pub(crate) fn signed_in(mut self, caller: &Caller, path: &str) -> Self {
        self.user = caller.username.clone();
        self.is_administrator = caller.role == Role::Administrator;
        self.path = path.to_owned();
        self
    }

    pub(crate) fn within(mut self, project: ProjectNav, view: View) -> Self {
        (self.project, self.view) = (Some(project), view);
        self
    }

    pub(crate) fn crumbs(mut self, crumbs: Vec<Crumb>) -> Self {
        self.crumbs = crumbs;
        self
    }

    /// The navigation of the project.
    pub(crate) fn views(&self) -> Vec<NavRow> {
        let Some(project) = &self.project else {
            return Vec::new();
        };
        let row = |(view, path, icon): (View, &str, &'static str)| NavRow {
            path: format!("/p/{}{path}", project.key),
            icon,
            words: view.words(self.t),
            keys: view.keys(),
            is_open: view == self.view,
        };
        View::PLACES.into_iter().map(row).collect()
    }

    /// The theme after this one, in the order of the button that goes round.
    pub(crate) fn next_theme(&self) -> &'static str {
        match self.theme {
            "" => "light",
            "light" => "dark",
            _ => "",
        }
    }
}
