//! The menu on every page that can be looked at in several ways: what was saved of it, and the form that saves it as it is.

use spexus_domain::Ruled;
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::saved_view::{self as rule, SavedView, ViewPage};
use spexus_service::{Service, saved_view};

/// The menu on a page.
pub(crate) struct SavedMenu {
    pub(crate) views: Vec<SavedView>,
    pub(crate) page: &'static str,
    pub(crate) query: String,
    pub(crate) can_share: bool,
}

impl SavedMenu {
    /// For the page that is open at an address, where it is one that can be saved.
    pub(crate) async fn of(
        service: &Service,
        caller: &Caller,
        project: &Project,
        page: ViewPage,
        address: &str,
    ) -> Ruled<Option<Self>> {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let here = format!("/p/{}/{}", project.key, page.name());
        let Ok(query) = rule::query("query", query) else {
            return Ok(None);
        };
        if path != here || caller.may_in(Operation::SaveView, project.id).is_err() {
            return Ok(None);
        }
        let found = saved_view::list(service, caller, Some(&project.key)).await?;
        let views = found.data.into_iter().filter(|view| view.page == page);
        Ok(Some(Self {
            views: views.collect(),
            page: page.name(),
            query,
            can_share: caller.may_in(Operation::ShareView, project.id).is_ok(),
        }))
    }

    /// Whether a view is what the page shows.
    pub(crate) fn is_open(&self, view: &SavedView) -> bool {
        view.query == self.query
    }
}
