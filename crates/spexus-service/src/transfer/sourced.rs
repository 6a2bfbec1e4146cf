//! Things of other tools as rows: each is known again by the id it has in its source, which its item carries in the
//! attribute [`SOURCE_ID`]. What a source says for the first time is made, what it said before is changed.

use super::Imported;
use super::rows::{self, Row, RowLink};
use crate::item::{self, ItemQuery};
use crate::transfer::Progress;
use crate::{Service, project, settings};
use exchange::{SourceItem, SourceLevel, SourceLink};
use serde_json::Value;
use spexus_domain::account::Caller;
use spexus_domain::attribute::{AttributeRule, AttributeType, Attributes};
use spexus_domain::item::{Item, ItemPatch};
use spexus_domain::{Code, Kind, Refusal, Ruled, limits, text};
use std::collections::{BTreeMap, HashMap};

/// The attribute that holds the id a thing has in its source.
pub const SOURCE_ID: &str = "source_id";

/// The type of a link whose name nothing here has.
const PLAIN_LINK: &str = "relates_to";

/// The living items of a project that came from a source, by the id they have there.
pub(super) async fn known(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
) -> Ruled<HashMap<String, Item>> {
    let mut query = ItemQuery {
        project: project.map(str::to_owned),
        order_by: Some("created_at".to_owned()),
        limit: Some(200),
        ..ItemQuery::default()
    };
    let mut found = HashMap::new();
    loop {
        let page = item::list(service, caller, None, &query).await?;
        for item in page.data {
            if let Some(Value::String(id)) = item.attributes.get(SOURCE_ID) {
                found.entry(id.clone()).or_insert(item);
            }
        }
        match page.next_cursor {
            Some(cursor) => query.cursor = Some(cursor),
            None => return Ok(found),
        }
    }
}

/// Makes and changes items as a source says, all of it or nothing.
//= specs/exchange.md#importing
//# A second import of the same source MUST change the items of the first one, found by the identifiers of the source.
pub(super) async fn apply(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    items: Vec<SourceItem>,
    links: Vec<SourceLink>,
    dry_run: bool,
    progress: Progress,
) -> Ruled<Imported> {
    let place = project::of_request(service, caller, project).await?;
    let rules = &place.attributes;
    if !takes(rules, SOURCE_ID) {
        let message = format!(
            "the project {} has rules for attributes, and none for {SOURCE_ID}",
            place.key
        );
        let hint = format!(
            "Add an attribute {SOURCE_ID} of type text for all kinds; it holds the identifier of the source."
        );
        return Err(Refusal::new(Code::RuleViolated, message).hint(hint));
    }
    let known = known(service, caller, project).await?;
    let names: HashMap<String, String> = items
        .iter()
        .enumerate()
        .map(|(number, one)| {
            let item = known.get(&one.id).map(|item| item.reference_id.to_string());
            (one.id.clone(), item.unwrap_or_else(|| format!("source {number}")))
        })
        .collect();
    let mut left_out = BTreeMap::new();
    let rows: Vec<Ruled<Row>> = items
        .into_iter()
        .map(|one| Ok(row(one, &known, &names, rules, &mut left_out)))
        .collect();
    let types = settings::link_types(service, caller).await?.data;
    let known_type = |name: &str| types.iter().any(|one| one.name == name || one.inverse == name);
    let links = links
        .into_iter()
        .filter_map(|link| {
            let name = link.name.trim().to_lowercase().replace([' ', '-'], "_");
            Some(RowLink {
                line: link.line as u64,
                source: names.get(&link.source)?.clone(),
                target: names.get(&link.target)?.clone(),
                link_type: if known_type(&name) {
                    name
                } else {
                    PLAIN_LINK.to_owned()
                },
            })
        })
        .collect();
    let mut imported = rows::apply(
        service,
        caller,
        project,
        Box::new(rows.into_iter()),
        links,
        dry_run,
        progress,
    )
    .await?;
    for (name, count) in left_out {
        imported.warnings.push(format!(
            "The field {name:?} was left out of {count} items: no attribute of the project takes it."
        ));
    }
    Ok(imported)
}

fn row(
    one: SourceItem,
    known: &HashMap<String, Item>,
    names: &HashMap<String, String>,
    rules: &[AttributeRule],
    left_out: &mut BTreeMap<String, usize>,
) -> Row {
    let present = known.get(&one.id);
    let kind = present.map_or_else(|| kind_of(one.level), |item| item.kind);
    let mut attributes = Attributes::new();
    attributes.insert(SOURCE_ID.to_owned(), one.id.clone().into());
    for (name, value) in one.fields {
        let fits = text::name("name", &name).is_ok()
            && value.chars().count() <= limits::MAX_ATTRIBUTE_CHARS
            && !value.contains('\0');
        match fits && takes(rules, &name) && attributes.len() < limits::MAX_ATTRIBUTES {
            true => drop(attributes.insert(name, value.into())),
            false => *left_out.entry(name).or_default() += 1,
        }
    }
    Row {
        line: one.line as u64,
        name: names.get(&one.id).cloned().unwrap_or_default(),
        kind: present.is_none().then_some(kind),
        // Where people moved it here it stays.
        parent: one
            .parent
            .filter(|_| present.is_none())
            .and_then(|parent| names.get(&parent).cloned()),
        patch: ItemPatch {
            title: Some(one.title.chars().take(limits::MAX_TITLE_CHARS).collect()),
            description: Some(one.text),
            attributes: Some(attributes),
            ..ItemPatch::default()
        },
    }
}

fn kind_of(level: SourceLevel) -> Kind {
    match level {
        SourceLevel::Group => Kind::Epic,
        SourceLevel::Section => Kind::UserStory,
        SourceLevel::Statement => Kind::Requirement,
        SourceLevel::Criterion => Kind::AcceptanceCriterion,
    }
}

/// Whether items may carry a text of this name.
fn takes(rules: &[AttributeRule], name: &str) -> bool {
    rules.is_empty()
        || rules
            .iter()
            .any(|rule| rule.name == name && rule.value_type == AttributeType::Text)
}
