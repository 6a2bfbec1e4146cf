//! A new item.

use super::address;
use super::fields::{Input, ItemForm, typed_over};
use crate::answer::{Answer, faulty, html, see};
use crate::form::{Faults, Form, Params};
use crate::mark::{icon, kind_word};
use crate::shell::{Crumb, Shell, View};
use crate::texts::fill;
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use serde_json::Value;
use spexus_domain::attribute::Attributes;
use spexus_domain::item::{Item, NewItem, Priority};
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::{Kind, Ruled, Uuid};
use spexus_service::item;

#[derive(Template)]
#[template(path = "item_new.html")]
struct NewPage {
    shell: Shell,
    path: String,
    /// Makes the same form sent twice one item.
    once: String,
    kinds: Vec<(Kind, &'static str)>,
    form: ItemForm,
}

/// What is to be made, and where.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ItemRequest {
    kind: Option<String>,
    parent: Option<String>,
}

/// The form; what there is to choose depends on the kind.
pub(crate) async fn form(
    visit: Visit,
    Path(key): Path<String>,
    Params(wanted): Params<ItemRequest>,
) -> Answer {
    let project = visit.project(&key).await?;
    visit.ask(Operation::CreateItem, &project)?;
    let kind = Kind::parse("kind", wanted.kind.as_deref().unwrap_or("requirement"))?;
    let mut values = Input::from([("priority".to_owned(), "3".to_owned())]);
    values.extend(wanted.parent.map(|parent| ("parent".to_owned(), parent)));
    let once = Uuid::now_v7().to_string();
    html(&page(&visit, &project, kind, once, values, Faults::default()).await?)
}

async fn page(
    visit: &Visit,
    project: &Project,
    kind: Kind,
    once: String,
    values: Input,
    faults: Faults,
) -> Answer<NewPage> {
    let t = visit.texts();
    let title = fill(t.new_item, &[&kind_word(t, kind)]);
    let crumbs = vec![
        Crumb::to(&project.name, format!("/p/{}", project.key)),
        Crumb::here(title.as_str()),
    ];
    Ok(NewPage {
        shell: visit.shell_in(project, View::Inside, title).await?.crumbs(crumbs),
        path: format!("/p/{}", project.key),
        once,
        kinds: Kind::ALL.map(|kind| (kind, kind_word(t, kind))).to_vec(),
        form: ItemForm::new(visit, project, kind, values, faults).await?,
    })
}

/// Makes it. The same form sent again, by a second press or the way back, leads to what was made.
//= specs/spexus-web.md#documents
//# A form that was sent twice MUST make one thing.
pub(crate) async fn create(visit: Visit, Path(key): Path<String>, Form(mut typed): Form<Input>) -> Answer {
    let project = visit.project(&key).await?;
    let kind = Kind::parse("kind", &typed.remove("kind").unwrap_or_default())?;
    let once = typed.remove("once").unwrap_or_default();
    if typed.remove("preview").is_some() {
        let page = page(&visit, &project, kind, once, typed, Faults::default()).await?;
        return html(&NewPage {
            form: page.form.previewed(),
            ..page
        });
    }
    match make(&visit, &project, kind, &once, typed.clone()).await {
        Ok(item) => Ok(see(&address(&item))),
        Err(refusal) if refusal.faults.is_empty() => Err(refusal.into()),
        Err(refusal) => {
            let page = page(&visit, &project, kind, once, typed, Faults::of(&refusal)).await?;
            faulty(&page, &refusal)
        }
    }
}

async fn make(visit: &Visit, project: &Project, kind: Kind, once: &str, mut typed: Input) -> Ruled<Item> {
    let parent = typed.remove("parent").filter(|parent| !parent.is_empty());
    let fields = typed_over(&Attributes::new(), &project.attributes, typed)?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let attributes = fields
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix("attributes.")?.to_owned(), value.clone())));
    let input = NewItem {
        project: Some(project.key.clone()),
        title: text("title").unwrap_or_default(),
        description: text("description").unwrap_or_default(),
        parent,
        status: text("status"),
        priority: fields
            .get("priority")
            .and_then(Value::as_i64)
            .and_then(Priority::from_number),
        requirement_type: text("type"),
        acceptance_criterion: text("acceptance_criterion"),
        assignee: text("assignee"),
        attributes: attributes.collect(),
        intent: None,
    };
    item::create(
        visit.service(),
        &visit.caller,
        kind,
        input,
        Some(once).filter(|once| !once.is_empty()),
    )
    .await
}
