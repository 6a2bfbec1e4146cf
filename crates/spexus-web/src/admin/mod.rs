//! Administration: people, projects with their members, workflows and types, the audit trail. Whoever may not administer finds
//! none of it.

pub(crate) mod audit;
pub(crate) mod projects;
pub(crate) mod users;
pub(crate) mod workflows;

use crate::answer::{Answer, html};
use crate::mark::icon;
use crate::shell::{Crumb, Shell};
use crate::visit::Visit;
use askama::Template;
use spexus_domain::Ruled;
use spexus_domain::permission::Operation;
use spexus_service::account::user;
use spexus_service::{audit as trail, project};

#[derive(Template)]
#[template(path = "admin.html")]
struct AdminPage {
    shell: Shell,
    users: usize,
    projects: usize,
    changes: i64,
    database: bool,
}

/// What there is to administer, and how the server is.
pub(crate) async fn page(visit: Visit) -> Answer {
    visit.caller.may(Operation::ManageUsers)?;
    let (service, caller) = (visit.service(), &visit.caller);
    html(&AdminPage {
        users: user::names(service, caller).await?.data.len(),
        projects: project::list(service, caller).await?.data.len(),
        changes: trail::changes(service, caller).await?,
        database: service.ping().await.is_ok(),
        shell: visit.shell(visit.texts().administration),
    })
}

/// The frame of a page below administration.
fn shell(visit: &Visit, operation: Operation, title: &str) -> Ruled<Shell> {
    visit.caller.may(operation)?;
    let crumbs = vec![
        Crumb::to(visit.texts().administration, "/admin"),
        Crumb::here(title),
    ];
    Ok(visit.shell(title).crumbs(crumbs))
}
