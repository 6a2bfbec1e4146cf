//! A project at a glance.

use crate::answer::{Answer, html};
use crate::mark::{kinds_word, status};
use crate::shell::{Shell, View};
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use spexus_domain::Kind;
use spexus_domain::project::Project;
use spexus_service::report;

#[derive(Template)]
#[template(path = "project.html")]
struct ProjectPage {
    shell: Shell,
    project: Project,
    kinds: Vec<KindRow>,
}

struct KindRow {
    name: &'static str,
    total: i64,
    statuses: Vec<(String, i64)>,
}

/// The project.
pub(crate) async fn page(visit: Visit, Path(key): Path<String>) -> Answer {
    let project = visit.project(&key).await?;
    let found = report::status(visit.service(), &visit.caller, Some(&project.key), None).await?;
    let t = visit.texts();
    let row = |kind: Kind| {
        let counts = found.kinds.get(kind.name())?;
        Some(KindRow {
            name: kinds_word(t, kind),
            total: counts.total,
            statuses: counts
                .by_status
                .iter()
                .map(|(name, count)| (name.clone(), *count))
                .collect(),
        })
    };
    html(&ProjectPage {
        shell: visit.shell_in(&project, View::Overview, t.overview).await?,
        kinds: Kind::ALL.into_iter().filter_map(row).collect(),
        project,
    })
}
