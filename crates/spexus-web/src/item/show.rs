//! An item with everything that belongs to it.

use crate::answer::{Answer, html};
use crate::mark::{Markup, kind_word, person, priority, status};
use crate::markdown;
use crate::shell::{Crumb, Shell, View};
use crate::visit::Visit;
use crate::when::when;
use askama::Template;
use axum::extract::Path;
use spexus_domain::item::Item;
use spexus_service::item;

#[derive(Template)]
#[template(path = "item.html")]
struct ItemPage {
    shell: Shell,
    item: Item,
    text: Markup,
    made: Markup,
    changed: Markup,
}

/// The item at `/p/KEY/REQ-012`.
pub(crate) async fn page(visit: Visit, Path((key, reference)): Path<(String, String)>) -> Answer {
    let project = visit.project(&key).await?;
    let of = Some(project.key.as_str());
    let item = item::get(visit.service(), &visit.caller, of, None, &reference).await?;
    let above = item::path(visit.service(), &visit.caller, of, &item.id.to_string()).await?;
    let mut crumbs = vec![Crumb::to(&project.name, format!("/p/{}", project.key))];
    for step in &above.data {
        crumbs.push(match step.id == item.id {
            true => Crumb::here(step.reference_id.to_string()),
            false => Crumb::to(
                step.reference_id.to_string(),
                format!("/p/{}/{}", project.key, step.reference_id),
            ),
        });
    }
    let title = format!("{} {}", item.reference_id, item.heading());
    html(&ItemPage {
        shell: visit
            .shell_in(&project, View::Inside, title)
            .await?
            .crumbs(crumbs),
        text: markdown::rendered(&item.description),
        made: when(visit.texts(), item.created_at, visit.now()),
        changed: when(visit.texts(), item.updated_at, visit.now()),
        item,
    })
}
