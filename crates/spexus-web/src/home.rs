//! The page one begins at: the projects, and what is new.

use crate::answer::{Answer, html};
use crate::shell::Shell;
use crate::visit::Visit;
use askama::Template;
use spexus_domain::project::Project;
use spexus_service::project;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    shell: Shell,
    projects: Vec<Project>,
}

/// Home.
pub(crate) async fn page(visit: Visit) -> Answer {
    let projects = project::list(visit.service(), &visit.caller).await?;
    html(&HomePage {
        shell: visit.shell(visit.texts().home),
        projects: projects.data,
    })
}
