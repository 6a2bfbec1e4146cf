//! One request of somebody who is signed in: who it is, how they want pages, and the project an address names.

use crate::answer::{Answer, Refused};
use crate::preferences::Preferences;
use crate::saved_menu::SavedMenu;
use crate::shell::{Crumb, ProjectNav, Shell, View};
use crate::texts::Texts;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::{Ruled, Timestamp};
use spexus_http::pages::{self, App};
use spexus_service::{Service, project};

/// Extracting it is what protects a page.
pub(crate) struct Visit {
    pub(crate) app: App,
    pub(crate) caller: Caller,
    pub(crate) preferences: Preferences,
    /// The address that was asked for, with its query.
    pub(crate) path: String,
}

impl FromRequestParts<App> for Visit {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        Ok(Self {
            caller: pages::authenticate(app, parts).await?,
            app: app.clone(),
            preferences: Preferences::of(&parts.headers),
            path: parts
                .uri
                .path_and_query()
                .map_or("/", |path| path.as_str())
                .to_owned(),
        })
    }
}

impl Visit {
    pub(crate) fn service(&self) -> &Service {
        self.app.service()
    }

    pub(crate) fn texts(&self) -> &'static Texts {
        self.preferences.texts()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.service().now()
    }

    /// The project of an address; one the caller may not see is not there.
    pub(crate) async fn project(&self, key: &str) -> Ruled<Project> {
        project::get(self.service(), &self.caller, key).await
    }

    /// Whether the caller may do something in a project: what is not allowed is not shown.
    //= specs/spexus-web.md#safety
    //# A page, a form or a button that the caller may not use MUST NOT be shown, and MUST be refused when it is asked for all the
    //# same.
    pub(crate) fn may(&self, operation: Operation, project: &Project) -> bool {
        self.ask(operation, project).is_ok()
    }

    /// Refuses a page for what the caller may not do in a project.
    pub(crate) fn ask(&self, operation: Operation, project: &Project) -> Ruled<()> {
        self.caller.may_in(operation, project.id)
    }

    /// The frame of a page that belongs to no project.
    pub(crate) fn shell(&self, title: impl Into<String>) -> Shell {
        let title = title.into();
        let shell = Shell::bare(&self.preferences, title.clone());
        shell
            .signed_in(&self.caller, &self.path)
            .crumbs(vec![Crumb::here(title)])
    }

    /// The frame of a page of a project; `view` is what the navigation shows as open. The page hears of changes from the
    /// moment before it was read.
    pub(crate) async fn shell_in(
        &self,
        project: &Project,
        view: View,
        title: impl Into<String>,
    ) -> Answer<Shell> {
        let since = spexus_service::changes::now(self.service(), &self.caller, Some(&project.key)).await?;
        let title = title.into();
        let nav = ProjectNav {
            key: project.key.clone(),
            name: project.name.clone(),
            since,
            can_create: self.may(Operation::CreateItem, project),
        };
        let crumbs = vec![
            Crumb::to(&project.name, format!("/p/{}", project.key)),
            Crumb::here(&title),
        ];
        Ok(Shell {
            saved: match view.saved() {
                Some(page) => SavedMenu::of(self.service(), &self.caller, project, page, &self.path).await?,
                None => None,
            },
            ..Shell::bare(&self.preferences, title)
                .signed_in(&self.caller, &self.path)
                .within(nav, view)
                .crumbs(crumbs)
        })
    }
}
