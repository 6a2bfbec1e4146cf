//! The fields of an item as a form: what can be chosen, what was typed, and what that means.

use crate::answer::Answer;
use crate::form::Faults;
use crate::mark::{Markup, priority_word};
use crate::markdown;
use crate::texts::Texts;
use crate::visit::Visit;
use serde_json::Value;
use spexus_domain::attribute::{AttributeRule, AttributeType, Attributes};
use spexus_domain::item::{Item, ItemPatch, Priority};
use spexus_domain::limits::MAX_PAGE_ROWS;
use spexus_domain::project::Project;
use spexus_domain::query::PageRequest;
use spexus_domain::workflow::Workflow;
use spexus_domain::{Code, Kind, Refusal, Ruled};
use spexus_service::item::list::ItemQuery;
use spexus_service::{account, item, settings};
use std::collections::BTreeMap;

/// What a form sent, by name.
pub(crate) type Input = BTreeMap<String, String>;

/// What the names of attributes begin with in forms and histories.
const ATTRIBUTE: &str = "attributes.";

/// A form for an item: what stands in it, what can be chosen and what is wrong.
pub(super) struct ItemForm {
    pub(super) kind: Kind,
    pub(super) values: Input,
    pub(super) faults: Faults,
    pub(super) statuses: Vec<Choice>,
    pub(super) priorities: Vec<Choice>,
    pub(super) types: Vec<Choice>,
    pub(super) people: Vec<Choice>,
    pub(super) criteria: Vec<Choice>,
    pub(super) parents: Vec<Choice>,
    pub(super) attributes: Vec<AttributeField>,
    /// Whether attributes can be made up.
    pub(super) free_attributes: bool,
    /// The text as it would look, where that is asked for.
    pub(super) preview: Option<Markup>,
}

/// One of several.
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) words: String,
    pub(super) chosen: bool,
    /// Whether it cannot be chosen now; the words say why.
    pub(super) barred: bool,
}

/// An attribute as a field.
pub(super) struct AttributeField {
    pub(super) name: String,
    pub(super) field: String,
    pub(super) value: String,
    pub(super) required: bool,
    pub(super) is_number: bool,
    /// Empty where any text fits.
    pub(super) options: Vec<Choice>,
}

impl ItemForm {
    /// The form of an item that is, with what was typed over what stands.
    pub(super) async fn of(
        visit: &Visit,
        project: &Project,
        item: &Item,
        typed: Input,
        faults: Faults,
    ) -> Answer<Self> {
        let mut values = texts(&item.fields());
        values.extend(typed);
        let mut form = Self::bare(visit, project, item.kind, values, faults).await?;
        if let Some(from) = &item.status {
            let workflow = settings::workflow(visit.service(), &visit.caller, item.kind).await?;
            form.statuses = steps(visit.texts(), &workflow, from, form.value("status"));
        }
        let parent = item.parent.as_ref().map(|parent| parent.id.to_string());
        if let (Kind::Requirement, Some(story)) = (item.kind, parent) {
            form.criteria = criteria(visit, project, &story, form.value("acceptance_criterion")).await?;
        }
        Ok(form)
    }

    /// The form of an item that is to be.
    pub(super) async fn new(
        visit: &Visit,
        project: &Project,
        kind: Kind,
        values: Input,
        faults: Faults,
    ) -> Answer<Self> {
        let mut form = Self::bare(visit, project, kind, values, faults).await?;
        if let Some(above) = kind.rules().parent {
            let query = ItemQuery {
                project: Some(project.key.clone()),
                order_by: Some("-updated_at".into()),
                limit: Some(MAX_PAGE_ROWS),
                ..ItemQuery::default()
            };
            let found = item::list::list(visit.service(), &visit.caller, Some(above), &query).await?;
            form.parents = found
                .data
                .iter()
                .map(|item| named(item, form.value("parent")))
                .collect();
        }
        Ok(form)
    }

    async fn bare(
        visit: &Visit,
        project: &Project,
        kind: Kind,
        values: Input,
        faults: Faults,
    ) -> Answer<Self> {
        let rules = kind.rules();
        let chosen = |name: &str| values.get(name).map(String::as_str).unwrap_or_default();
        let (mut types, mut people) = (Vec::new(), Vec::new());
        if rules.has_type {
            let known = settings::requirement_types(visit.service(), &visit.caller).await?;
            types = known
                .data
                .iter()
                .map(|known| Choice::plain(&known.name, chosen("type")))
                .collect();
        }
        if rules.has_assignee {
            let known = account::user::names(visit.service(), &visit.caller).await?;
            let active = known
                .data
                .iter()
                .filter(|known| known.active || known.username == chosen("assignee"));
            people = active
                .map(|known| Choice::plain(&known.username, chosen("assignee")))
                .collect();
        }
        let words = |number: i64| {
            let priority = Priority::from_number(number)?;
            let value = number.to_string();
            Some(Choice {
                chosen: value == chosen("priority"),
                words: priority_word(visit.texts(), priority).to_owned(),
                value,
                barred: false,
            })
        };
        let priorities = if rules.has_priority {
            (1..=4).filter_map(words).collect()
        } else {
            Vec::new()
        };
        Ok(Self {
            attributes: attribute_fields(visit.texts(), &project.attributes, kind, &values),
            free_attributes: project.attributes.is_empty(),
            kind,
            faults,
            priorities,
            types,
            people,
            statuses: Vec::new(),
            criteria: Vec::new(),
            parents: Vec::new(),
            preview: None,
            values,
        })
    }

    /// The same form with its text as it would look.
    //= specs/spexus-web.md#documents
    //# What is typed MUST be shown as it would look before it is saved, made by the same renderer, also without a script.
    pub(super) fn previewed(mut self) -> Self {
        self.preview = Some(markdown::rendered(self.value("description")));
        self
    }

    pub(super) fn value(&self, name: &str) -> &str {
        self.values.get(name).map(String::as_str).unwrap_or_default()
    }

    /// What is chosen from a list: field, label, choices, and what choosing none is called where that is possible.
    pub(super) fn selects(
        &self,
        t: &'static Texts,
    ) -> [(&'static str, &'static str, &[Choice], &'static str); 5] {
        [
            ("status", t.status, &self.statuses, ""),
            ("priority", t.priority, &self.priorities, ""),
            ("type", t.requirement_type, &self.types, ""),
            ("assignee", t.owner, &self.people, t.nobody),
            (
                "acceptance_criterion",
                t.acceptance_criterion,
                &self.criteria,
                t.none,
            ),
        ]
    }

    /// What is wrong with what has no field of its own here.
    pub(super) fn other_faults(&self) -> Option<String> {
        let mut shown = vec![
            "title",
            "description",
            "status",
            "priority",
            "type",
            "assignee",
            "acceptance_criterion",
        ];
        shown.extend(self.attributes.iter().map(|field| field.field.as_str()));
        shown.extend(
            ["parent", self.kind.parent_field()]
                .into_iter()
                .filter(|_| !self.parents.is_empty()),
        );
        self.faults.beside(&shown)
    }

    pub(super) fn parent_fault(&self) -> Option<String> {
        self.faults
            .at("parent")
            .or_else(|| self.faults.at(self.kind.parent_field()))
    }
}

impl Choice {
    fn plain(value: &str, chosen: &str) -> Self {
        Self {
            value: value.to_owned(),
            words: value.to_owned(),
            chosen: value == chosen,
            barred: false,
        }
    }
}

/// The statuses, those that cannot be reached with the reason.
fn steps(t: &Texts, workflow: &Workflow, from: &str, chosen: &str) -> Vec<Choice> {
    let row = |name: &String| {
        let barred = workflow.step(from, name).is_err();
        Choice {
            words: match barred {
                true => format!("{name} ({})", crate::texts::fill(t.not_from, &[&from])),
                false => name.clone(),
            },
            value: name.clone(),
            chosen: name == chosen,
            barred,
        }
    };
    workflow.statuses.iter().map(|status| row(&status.name)).collect()
}

async fn criteria(visit: &Visit, project: &Project, story: &str, chosen: &str) -> Answer<Vec<Choice>> {
    let page = PageRequest::new(Some(MAX_PAGE_ROWS), None)?;
    let (of, kinds) = (Some(project.key.as_str()), vec![Kind::AcceptanceCriterion]);
    let found = item::read::children(visit.service(), &visit.caller, of, None, story, kinds, page).await?;
    Ok(found.data.iter().map(|item| named(item, chosen)).collect())
}

fn named(item: &Item, chosen: &str) -> Choice {
    let value = item.reference_id.to_string();
    Choice {
        words: format!("{value} {}", item.heading()),
        chosen: value.eq_ignore_ascii_case(chosen),
        value,
        barred: false,
    }
}

fn attribute_fields(t: &Texts, rules: &[AttributeRule], kind: Kind, values: &Input) -> Vec<AttributeField> {
    let value = |field: &str| values.get(field).cloned().unwrap_or_default();
    if rules.is_empty() {
        let given = values.keys().filter_map(|name| name.strip_prefix(ATTRIBUTE));
        return given
            .map(|name| AttributeField::text(name, value(&format!("{ATTRIBUTE}{name}"))))
            .collect();
    }
    let ours = rules
        .iter()
        .filter(|rule| rule.kinds.is_empty() || rule.kinds.contains(&kind));
    let row = |rule: &AttributeRule| {
        let field = AttributeField::text(&rule.name, value(&format!("{ATTRIBUTE}{}", rule.name)));
        let choice = |value: &str, words: &str| Choice {
            words: words.to_owned(),
            ..Choice::plain(value, &field.value)
        };
        let options = match rule.value_type {
            AttributeType::Boolean => vec![choice("true", t.yes), choice("false", t.no)],
            AttributeType::Choice => rule.options.iter().map(|option| choice(option, option)).collect(),
            AttributeType::Text | AttributeType::Number => Vec::new(),
        };
        AttributeField {
            required: rule.required,
            is_number: rule.value_type == AttributeType::Number,
            options,
            ..field
        }
    };
    ours.map(row).collect()
}

impl AttributeField {
    fn text(name: &str, value: String) -> Self {
        Self {
            name: name.to_owned(),
            field: format!("{ATTRIBUTE}{name}"),
            value,
            required: false,
            is_number: false,
            options: Vec::new(),
        }
    }
}

/// Fields as they are typed.
pub(super) fn texts(fields: &Attributes) -> Input {
    fields
        .iter()
        .map(|(name, value)| (name.clone(), shown(value)))
        .collect()
}

/// A value as it is typed.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What the fields are when what was typed stands over what was there; a name the form cannot have sent is refused.
pub(super) fn typed_over(
    before: &Attributes,
    rules: &[AttributeRule],
    mut typed: Input,
) -> Ruled<Attributes> {
    let mut fields = before.clone();
    let (name, value) = (typed.remove("new.name"), typed.remove("new.value"));
    if let (Some(name), Some(value)) = (name, value)
        && !name.trim().is_empty()
    {
        typed.insert(format!("{ATTRIBUTE}{}", name.trim()), value);
    }
    for (name, text) in typed {
        let value = match name.as_str() {
            "title" => text.trim().into(),
            "description" => text.into(),
            "priority" => Priority::parse("priority", &text)?.number().into(),
            "status" | "type" | "assignee" | "acceptance_criterion" => text.into(),
            _ => match name.strip_prefix(ATTRIBUTE) {
                Some(attribute) => attribute_value(before.get(&name), rules, attribute, &text)?,
                None => {
                    let allowed = "the fields of the form";
                    return Err(Refusal::field(
                        Code::InvalidParams,
                        name,
                        "is not a field of an item",
                        allowed,
                    ));
                }
            },
        };
        // What may be empty and is, is not there; a title and a text are there though empty.
        if value == "" && !["title", "description"].contains(&name.as_str()) {
            fields.remove(&name);
        } else {
            fields.insert(name, value);
        }
    }
    Ok(fields)
}

/// The value of an attribute: of the type of its rule, or of that which it had.
fn attribute_value(before: Option<&Value>, rules: &[AttributeRule], name: &str, text: &str) -> Ruled<Value> {
    let rule = rules.iter().find(|rule| rule.name == name);
    let wanted = rule.map(|rule| rule.value_type);
    let number = wanted == Some(AttributeType::Number) || before.is_some_and(Value::is_number);
    let boolean = wanted == Some(AttributeType::Boolean) || before.is_some_and(Value::is_boolean);
    if text.is_empty() || !(number || boolean) {
        return Ok(text.into());
    }
    let value: Option<Value> = serde_json::from_str(text.trim()).ok();
    match value.filter(|value| value.is_number() && number || value.is_boolean() && boolean) {
        Some(value) => Ok(value),
        None if wanted.is_none() => Ok(text.into()),
        None => {
            let allowed = if number { "a number" } else { "true or false" };
            let field = format!("{ATTRIBUTE}{name}");
            Err(Refusal::field(
                Code::InvalidParams,
                field,
                format!("is not {allowed}"),
                allowed,
            ))
        }
    }
}

/// The change that makes one of the other.
pub(super) fn patch(before: &Attributes, after: &Attributes, rev: i64) -> Ruled<ItemPatch> {
    let mut patch = ItemPatch {
        expect_rev: Some(rev),
        ..ItemPatch::default()
    };
    let mut attributes = Attributes::new();
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
    {
        let value = after.get(name).cloned().unwrap_or(Value::Null);
        let text = value.as_str().map(str::to_owned);
        match name.as_str() {
            "title" => patch.title = text,
            "description" => patch.description = text,
            "status" => patch.status = text,
            "type" => patch.requirement_type = text,
            "priority" => patch.priority = Some(Priority::parse("priority", &value.to_string())?),
            "assignee" => patch.assignee = Some(text),
            "acceptance_criterion" => patch.acceptance_criterion = Some(text),
            name => {
                if let Some(name) = name.strip_prefix(ATTRIBUTE) {
                    attributes.insert(name.to_owned(), value);
                }
            }
        }
    }
    patch.attributes = Some(attributes).filter(|attributes| !attributes.is_empty());
    Ok(patch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> Attributes {
        value.as_object().unwrap().clone()
    }

    fn input(pairs: &[(&str, &str)]) -> Input {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn only_what_differs_is_changed() {
        let before = fields(
            json!({"title": "A", "description": "x", "priority": 2, "assignee": "kim", "attributes.cost": 3, "position": 1}),
        );
        let typed = input(&[
            ("title", " A "),
            ("description", "y"),
            ("priority", "2"),
            ("assignee", ""),
            ("attributes.cost", "4"),
            ("new.name", "release"),
            ("new.value", "0.5"),
        ]);
        let after = typed_over(&before, &[], typed).unwrap();
        let patch = patch(&before, &after, 7).unwrap();
        assert_eq!(
            patch,
            ItemPatch {
                description: Some("y".into()),
                assignee: Some(None),
                attributes: Some(fields(json!({"cost": 4, "release": "0.5"}))),
                expect_rev: Some(7),
                ..ItemPatch::default()
            }
        );
    }

    #[test]
    fn a_field_that_is_none_is_refused() {
        let refusal = typed_over(&Attributes::new(), &[], input(&[("rev", "1")])).unwrap_err();
        assert_eq!(refusal.faults[0].field, "rev");
    }
}
