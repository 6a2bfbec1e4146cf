//! A caller and everything they can do, in the JSON in which surfaces get it and give it. What cannot be read as the domain's
//! types stops the test: how surfaces tell so is their own affair.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use spexus_domain::account::Caller;
use spexus_domain::item_context::ContextRequest;
use spexus_domain::query::PageRequest;
use spexus_domain::{Kind, Ruled, Uuid};
use spexus_service::account::{token, user, whoami};
use spexus_service::lease::{self, WorkQuery};
use spexus_service::review::ReviewQuery;
use spexus_service::{
    Service, baseline, batch, changes, comment, group, item, link, member, plan, project, prompt, report,
    review, saved_view, search, settings,
};

/// Somebody who does things, in the project they name or in none.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) service: Service,
    pub(crate) caller: Caller,
    project: Option<String>,
}

fn to_json<T: Serialize>(outcome: Ruled<T>) -> Ruled<Value> {
    outcome.map(|value| json!(value))
}

fn from_json<T: DeserializeOwned>(input: Value) -> T {
    let text = input.to_string();
    serde_json::from_value(input).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn kind(name: &str) -> Kind {
    Kind::parse("kind", name).unwrap()
}

/// The UUID a text is.
pub(crate) fn uuid(id: &Value) -> Uuid {
    Uuid::try_parse(id.as_str().unwrap()).unwrap()
}

/// The references on a page.
pub(crate) fn references(page: &Value) -> Vec<&str> {
    let rows = page["data"].as_array().unwrap().iter();
    rows.map(|row| row["reference_id"].as_str().unwrap()).collect()
}

/// The text something is.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// The first page of anything.
pub(crate) fn page(limit: Option<u32>, cursor: Option<&str>) -> PageRequest {
    PageRequest::new(limit, cursor.map(str::to_owned)).unwrap()
}

impl Client {
    pub(crate) fn new(service: &Service, caller: Caller) -> Self {
        Self {
            service: service.clone(),
            caller,
            project: None,
        }
    }

    /// The same person, naming a project with everything they do.
    pub(crate) fn naming(&self, project: &str) -> Self {
        Self {
            project: Some(project.to_owned()),
            ..self.clone()
        }
    }

    pub(crate) fn named(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// Names the project where an input does not.
    fn placed(&self, mut input: Value) -> Value {
        if let (Some(project), None) = (&self.project, input.get("project")) {
            input["project"] = json!(project);
        }
        input
    }

    // Items

    pub(crate) async fn create(&self, of: &str, input: Value) -> Ruled<Value> {
        self.create_once(of, input, None).await
    }

    pub(crate) async fn create_once(&self, of: &str, input: Value, key: Option<&str>) -> Ruled<Value> {
        let input = from_json(self.placed(input));
        to_json(item::create(&self.service, &self.caller, kind(of), input, key).await)
    }

    pub(crate) async fn get(&self, id: &str) -> Ruled<Value> {
        to_json(item::get(&self.service, &self.caller, self.named(), None, id).await)
    }

    pub(crate) async fn update(&self, id: &str, patch: Value) -> Ruled<Value> {
        to_json(
            item::update(
                &self.service,
                &self.caller,
                self.named(),
                None,
                id,
                from_json(patch),
            )
            .await,
        )
    }

    pub(crate) async fn move_to(&self, id: &str, to: Value) -> Ruled<Value> {
        to_json(item::move_to(&self.service, &self.caller, self.named(), None, id, from_json(to)).await)
    }

    pub(crate) async fn preview(&self, id: &str) -> Ruled<Value> {
        to_json(item::preview(&self.service, &self.caller, self.named(), None, id).await)
    }

    pub(crate) async fn delete(&self, id: &str, force: bool) -> Ruled<Value> {
        to_json(item::delete(&self.service, &self.caller, self.named(), None, id, force, None).await)
    }

    pub(crate) async fn restore(&self, id: &str) -> Ruled<Value> {
        to_json(item::restore(&self.service, &self.caller, self.named(), None, id).await)
    }

    pub(crate) async fn list(&self, of: &str, query: Value) -> Ruled<Value> {
        let query = from_json(self.placed(query));
        to_json(item::list(&self.service, &self.caller, Some(kind(of)), &query).await)
    }

    pub(crate) async fn children(&self, id: &str) -> Ruled<Value> {
        let page = page(None, None);
        to_json(item::children(&self.service, &self.caller, self.named(), None, id, vec![], page).await)
    }

    pub(crate) async fn hierarchy(&self, id: &str, depth: Option<u32>) -> Ruled<Value> {
        to_json(item::hierarchy(&self.service, &self.caller, self.named(), id, depth).await)
    }

    pub(crate) async fn path(&self, id: &str) -> Ruled<Value> {
        to_json(item::path(&self.service, &self.caller, self.named(), id).await)
    }

    pub(crate) async fn history(&self, id: &str) -> Ruled<Value> {
        self.history_page(id, page(None, None)).await
    }

    pub(crate) async fn history_page(&self, id: &str, page: PageRequest) -> Ruled<Value> {
        to_json(item::history(&self.service, &self.caller, self.named(), None, id, page).await)
    }

    pub(crate) async fn changes(&self) -> Ruled<Value> {
        to_json(changes::since(&self.service, &self.caller, self.named(), "0", Some(200)).await)
    }

    pub(crate) async fn batch(&self, input: Value) -> Ruled<Value> {
        self.batch_once(input, None).await
    }

    pub(crate) async fn batch_once(&self, input: Value, key: Option<&str>) -> Ruled<Value> {
        let input = from_json(self.placed(input));
        to_json(batch::run(&self.service, &self.caller, input, key).await)
    }

    pub(crate) async fn search(&self, query: &str, filters: Value) -> Ruled<Value> {
        let mut filters = self.placed(filters);
        let mut wanted = json!({ "query": query });
        if let Some(kinds) = filters.as_object_mut().unwrap().remove("kinds") {
            wanted["kinds"] = kinds;
        }
        to_json(
            search::search(
                &self.service,
                &self.caller,
                &from_json(wanted),
                &from_json(filters),
            )
            .await,
        )
    }

    // Agents

    pub(crate) async fn context(&self, id: &str, request: ContextRequest) -> Ruled<Value> {
        to_json(item::context(&self.service, &self.caller, self.named(), id, request).await)
    }

    pub(crate) async fn several(&self, ids: &[&str]) -> Ruled<Value> {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        to_json(item::several(&self.service, &self.caller, self.named(), &ids).await)
    }

    pub(crate) async fn whoami(&self) -> Ruled<Value> {
        to_json(whoami::whoami(&self.service, &self.caller).await)
    }

    pub(crate) async fn plan(&self, input: Value, key: Option<&str>) -> Ruled<Value> {
        let input = from_json(self.placed(input));
        to_json(plan::import(&self.service, &self.caller, input, key).await)
    }

    pub(crate) async fn next_work(&self, query: WorkQuery) -> Ruled<Value> {
        let project = query.project.or_else(|| self.project.clone());
        let query = WorkQuery { project, ..query };
        to_json(lease::next_work(&self.service, &self.caller, query).await)
    }

    pub(crate) async fn claim(&self, id: &str, minutes: i64, intent: &str) -> Ruled<Value> {
        let input = from_json(json!({ "minutes": minutes, "intent": intent }));
        to_json(lease::claim(&self.service, &self.caller, self.named(), id, input).await)
    }

    pub(crate) async fn release(&self, id: &str, to: Option<&str>) -> Ruled<Value> {
        to_json(lease::release(&self.service, &self.caller, self.named(), id, to).await)
    }

    pub(crate) async fn leases(&self) -> Ruled<Value> {
        to_json(lease::list(&self.service, &self.caller, self.named()).await)
    }

    // Links and comments

    pub(crate) async fn link(&self, source: &str, link_type: &str, target: &str) -> Ruled<Value> {
        let input = json!({"source": source, "target": target, "type": link_type});
        to_json(link::create(&self.service, &self.caller, self.named(), from_json(input)).await)
    }

    pub(crate) async fn links(&self, id: &str, link_type: Option<&str>) -> Ruled<Value> {
        let page = PageRequest::default();
        self.link_page(id, link_type, page).await
    }

    pub(crate) async fn link_page(
        &self,
        id: &str,
        link_type: Option<&str>,
        page: PageRequest,
    ) -> Ruled<Value> {
        to_json(
            link::list(
                &self.service,
                &self.caller,
                self.named(),
                None,
                id,
                link_type,
                page,
            )
            .await,
        )
    }

    pub(crate) async fn confirm(&self, id: Uuid) -> Ruled<Value> {
        to_json(link::confirm(&self.service, &self.caller, id).await)
    }

    pub(crate) async fn unlink(&self, id: Uuid) -> Ruled<Value> {
        to_json(link::delete(&self.service, &self.caller, id).await)
    }

    pub(crate) async fn comment(&self, on: &str, input: Value) -> Ruled<Value> {
        to_json(
            comment::create(
                &self.service,
                &self.caller,
                self.named(),
                None,
                on,
                from_json(input),
            )
            .await,
        )
    }

    pub(crate) async fn comments(&self, on: &str, resolved: Option<bool>) -> Ruled<Value> {
        let page = page(None, None);
        to_json(
            comment::list(
                &self.service,
                &self.caller,
                self.named(),
                None,
                on,
                resolved,
                page,
            )
            .await,
        )
    }

    pub(crate) async fn get_comment(&self, id: Uuid) -> Ruled<Value> {
        to_json(comment::get(&self.service, &self.caller, id).await)
    }

    pub(crate) async fn update_comment(&self, id: Uuid, patch: Value) -> Ruled<Value> {
        to_json(comment::update(&self.service, &self.caller, id, from_json(patch)).await)
    }

    pub(crate) async fn delete_comment(&self, id: Uuid) -> Ruled<Value> {
        to_json(comment::delete(&self.service, &self.caller, id).await)
    }

    // The project

    pub(crate) async fn create_project(&self, input: Value) -> Ruled<Value> {
        to_json(project::create(&self.service, &self.caller, from_json(input)).await)
    }

    pub(crate) async fn get_project(&self, key: &str) -> Ruled<Value> {
        to_json(project::get(&self.service, &self.caller, key).await)
    }

    pub(crate) async fn update_project(&self, key: &str, patch: Value) -> Ruled<Value> {
        to_json(project::update(&self.service, &self.caller, key, from_json(patch)).await)
    }

    pub(crate) async fn projects(&self) -> Vec<String> {
        let found = project::list(&self.service, &self.caller).await.unwrap();
        found.data.into_iter().map(|project| project.key).collect()
    }

    pub(crate) async fn members(&self) -> Ruled<Value> {
        to_json(member::list(&self.service, &self.caller, self.named()).await)
    }

    pub(crate) async fn put_member(&self, who: &str, role: &str) -> Ruled<Value> {
        let input = from_json(json!({ "role": role }));
        to_json(member::put(&self.service, &self.caller, self.named(), who, input).await)
    }

    pub(crate) async fn remove_member(&self, who: &str) -> Ruled<()> {
        member::remove(&self.service, &self.caller, self.named(), who).await
    }

    pub(crate) async fn groups(&self) -> Vec<String> {
        let found = group::list(&self.service, &self.caller).await.unwrap();
        found.data.into_iter().map(|group| group.name).collect()
    }

    pub(crate) async fn create_group(&self, name: &str) -> Ruled<Value> {
        let input = from_json(json!({ "name": name }));
        to_json(group::create(&self.service, &self.caller, input).await)
    }

    pub(crate) async fn change_group(&self, name: &str, user: &str, is_in: bool) -> Ruled<Value> {
        to_json(match is_in {
            true => group::add(&self.service, &self.caller, name, user).await,
            false => group::remove(&self.service, &self.caller, name, user).await,
        })
    }

    pub(crate) async fn delete_group(&self, name: &str) -> Ruled<Value> {
        to_json(group::delete(&self.service, &self.caller, name).await)
    }

    pub(crate) async fn workflow(&self, of: &str) -> Ruled<Value> {
        to_json(settings::workflow(&self.service, &self.caller, kind(of)).await)
    }

    pub(crate) async fn put_workflow(&self, of: &str, input: Value) -> Ruled<Value> {
        to_json(settings::put_workflow(&self.service, &self.caller, kind(of), from_json(input)).await)
    }

    pub(crate) async fn baseline(&self, name: &str) -> Ruled<Value> {
        let input = self.placed(json!({ "name": name }));
        to_json(baseline::create(&self.service, &self.caller, from_json(input)).await)
    }

    pub(crate) async fn save_view(&self, input: Value) -> Ruled<Value> {
        let input = from_json(self.placed(input));
        to_json(saved_view::create(&self.service, &self.caller, input).await)
    }

    pub(crate) async fn views(&self) -> Ruled<Value> {
        to_json(saved_view::list(&self.service, &self.caller, self.named()).await)
    }

    pub(crate) async fn view(&self, id: &str) -> Ruled<Value> {
        to_json(saved_view::get(&self.service, &self.caller, self.named(), id).await)
    }

    pub(crate) async fn update_view(&self, id: &str, patch: Value) -> Ruled<Value> {
        let patch = from_json(patch);
        to_json(saved_view::update(&self.service, &self.caller, self.named(), id, patch).await)
    }

    pub(crate) async fn delete_view(&self, id: &str) -> Ruled<Value> {
        to_json(saved_view::delete(&self.service, &self.caller, self.named(), id).await)
    }

    pub(crate) async fn ask_review(&self, input: Value) -> Ruled<Value> {
        let input = from_json(self.placed(input));
        to_json(review::create(&self.service, &self.caller, input).await)
    }

    pub(crate) async fn reviews(&self, wanted: Value) -> Ruled<Value> {
        let query = ReviewQuery {
            project: self.project.clone(),
            state: wanted["state"].as_str().map(str::to_owned),
            asks_me: wanted["asks_me"] == true,
        };
        to_json(review::list(&self.service, &self.caller, &query).await)
    }

    pub(crate) async fn review(&self, number: i64) -> Ruled<Value> {
        to_json(review::get(&self.service, &self.caller, self.named(), number).await)
    }

    pub(crate) async fn update_review(&self, number: i64, patch: Value) -> Ruled<Value> {
        let patch = from_json(patch);
        to_json(review::update(&self.service, &self.caller, self.named(), number, patch).await)
    }

    pub(crate) async fn close_review(&self, number: i64) -> Ruled<Value> {
        self.update_review(number, json!({"close": true})).await
    }

    pub(crate) async fn decide(&self, number: i64, said: Value) -> Ruled<Value> {
        let said = from_json(said);
        to_json(review::decide(&self.service, &self.caller, self.named(), number, said).await)
    }

    /// Whether what an item says now was approved by a review.
    pub(crate) async fn is_approved(&self, id: &str) -> bool {
        let item = item::get(&self.service, &self.caller, self.named(), None, id).await;
        let found = review::of_item(&self.service, &self.caller, &item.unwrap()).await;
        found.unwrap().is_approved
    }

    pub(crate) async fn difference(&self, query: Value) -> Ruled<Value> {
        to_json(baseline::difference(&self.service, &self.caller, &from_json(self.placed(query))).await)
    }

    pub(crate) async fn status(&self, under: Option<&str>) -> Ruled<Value> {
        to_json(report::status(&self.service, &self.caller, self.named(), under).await)
    }

    pub(crate) async fn gaps(&self, query: Value) -> Ruled<Value> {
        to_json(report::gaps(&self.service, &self.caller, &from_json(self.placed(query))).await)
    }

    pub(crate) async fn create_prompt(&self, input: Value) -> Ruled<Value> {
        to_json(prompt::create(&self.service, &self.caller, from_json(input)).await)
    }

    pub(crate) async fn get_prompt(&self, id: &str) -> Ruled<Value> {
        to_json(prompt::get(&self.service, &self.caller, id).await)
    }

    pub(crate) async fn active_prompt(&self) -> Ruled<Value> {
        to_json(prompt::active(&self.service, &self.caller).await)
    }

    pub(crate) async fn activate_prompt(&self, id: &str, active: bool) -> Ruled<Value> {
        to_json(prompt::activate(&self.service, &self.caller, id, active).await)
    }

    pub(crate) async fn delete_prompt(&self, id: &str) -> Ruled<Value> {
        to_json(prompt::delete(&self.service, &self.caller, id).await)
    }

    // Accounts

    pub(crate) async fn create_user(&self, input: Value) -> Ruled<Value> {
        to_json(user::create(&self.service, &self.caller, from_json(input)).await)
    }

    pub(crate) async fn get_user(&self, name: &str) -> Ruled<Value> {
        to_json(user::get(&self.service, &self.caller, name).await)
    }

    pub(crate) async fn people(&self) -> Ruled<Value> {
        to_json(user::names(&self.service, &self.caller).await)
    }

    pub(crate) async fn update_user(&self, name: &str, patch: Value) -> Ruled<Value> {
        to_json(user::update(&self.service, &self.caller, name, from_json(patch)).await)
    }

    pub(crate) async fn disable_user(&self, name: &str) -> Ruled<Value> {
        to_json(user::disable(&self.service, &self.caller, name).await)
    }

    pub(crate) async fn create_token(&self, of: Option<&str>, input: Value) -> Ruled<Value> {
        to_json(token::create(&self.service, &self.caller, of, from_json(input)).await)
    }

    pub(crate) async fn tokens(&self, of: Option<&str>) -> Ruled<Value> {
        to_json(token::list(&self.service, &self.caller, of).await)
    }

    pub(crate) async fn revoke(&self, id: Uuid) -> Ruled<Value> {
        to_json(token::revoke(&self.service, &self.caller, id).await)
    }
}
