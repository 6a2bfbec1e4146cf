//! References that lead nowhere: "REQ-12" where there is a REQ-121, or a title where an id should be. Nothing has
//! happened yet when that turns out, so the person says which was meant and the tool runs again.

use super::{Asker, MAX_TITLE_CHARS};
use crate::render::{self, Answer};
use crate::resources::sees_several;
use crate::tools::{Invocation, Run};
use mcp_protocol::{Arguments, Elicited};
use mcp_server::{Elicitation, Stop};
use serde_json::{Value, json};
use spexus_domain::item::Item;
use spexus_domain::{Code, Kind, Refusal, text};
use spexus_service::item;
use std::hash::{DefaultHasher, Hash, Hasher};

/// References one call may have wrong before it is refused.
const MAX_UNKNOWN: usize = 4;

/// The arguments that name items, and of which kind.
const REFERENCES: [(&str, Option<Kind>); 14] = [
    ("id", None),
    ("epic", None),
    ("epic_id", Some(Kind::Epic)),
    ("user_story", Some(Kind::UserStory)),
    ("user_story_id", Some(Kind::UserStory)),
    ("requirement_id", Some(Kind::Requirement)),
    ("acceptance_criteria_id", Some(Kind::AcceptanceCriterion)),
    ("acceptance_criterion", Some(Kind::AcceptanceCriterion)),
    ("steering_document_id", Some(Kind::SteeringDocument)),
    ("source", None),
    ("target", None),
    ("under", None),
    ("parent", None),
    ("after", None),
];

/// The argument by which a tool that changes an item is told the revision it was seen in.
const EXPECTED_REVISION: &str = "expect_rev";

/// The argument that names the item a tool changes, where the tool can be bound to a revision of it.
pub(crate) fn subject_of(input: &Value) -> Option<&'static str> {
    input["properties"].get(EXPECTED_REVISION)?;
    let required = input["required"].as_array()?;
    let names = |(name, _): &(&'static str, _)| required.iter().any(|one| one == name);
    REFERENCES.into_iter().find(names).map(|(name, _)| name)
}

/// A reference that leads nowhere, and what it may have meant.
struct UnknownReference {
    field: &'static str,
    wanted: String,
    near: Vec<Item>,
    /// Whether a reference alone may mean items of several projects.
    several: bool,
}

/// Runs a tool; a reference that leads nowhere is put to the person, where the client can ask, and told with what it may
/// have meant, where it cannot.
//= specs/spexus-mcp.md#asking
//# A reference that leads nowhere but resembles others MUST be put to the person, where the client can ask, and MUST be refused with those others where it cannot.
pub(crate) async fn until_found(
    run: &Run,
    subject: Option<&str>,
    invocation: Invocation,
    mut arguments: Arguments,
) -> Result<Answer, Stop> {
    for _ in 0..MAX_UNKNOWN {
        let refusal = match run(invocation.clone(), arguments.clone()).await {
            Err(Stop::Refused(refusal)) if is_unknown_reference(&refusal) => refusal,
            other => return other,
        };
        let Some(unknown) = find(&invocation, &arguments).await else {
            return Err(refusal.into());
        };
        let asker = invocation.asker.as_ref().filter(|asker| asker.cx.can_elicit());
        let Some(asker) = asker else {
            return Err(unknown.to_refusal(refusal).into());
        };
        match unknown.ask(asker).await? {
            Some(meant) => {
                if subject == Some(unknown.field) && arguments.get(EXPECTED_REVISION).is_none() {
                    arguments.0.insert(EXPECTED_REVISION.to_owned(), json!(meant.rev));
                }
                arguments.0.insert(unknown.field.to_owned(), json!(meant.id));
            }
            None => return Err(unknown.to_refusal(refusal).into()),
        }
    }
    run(invocation, arguments).await
}

fn is_unknown_reference(refusal: &Refusal) -> bool {
    matches!(refusal.code, Code::ResourceNotFound | Code::InvalidParams)
}

/// The first argument that names nothing but resembles something.
async fn find(invocation: &Invocation, arguments: &Arguments) -> Option<UnknownReference> {
    let project = arguments.text("project");
    for (field, kind) in REFERENCES {
        let Some(wanted) = arguments.text(field) else {
            continue;
        };
        // Whoever may not look around is told what the tool said.
        let near = item::near(&invocation.service, &invocation.caller, project, kind, wanted)
            .await
            .ok()?;
        if let Some(near) = near.filter(|near| !near.is_empty()) {
            let several =
                project.is_none() && sees_several(&invocation.service, &invocation.caller).await.ok()?;
            return Some(UnknownReference {
                field,
                wanted: text::excerpt(wanted, 60),
                several,
                near,
            });
        }
    }
    None
}

impl UnknownReference {
    /// Which of them it is; `None` when the person says none.
    //= specs/spexus-mcp.md#asking
    //# The question which one was meant MUST name the title, the reference and the project of each, and its answer MUST be bound to that item, in that revision where the tool can be.
    async fn ask(&self, asker: &Asker) -> Result<Option<&Item>, Stop> {
        let ids: Vec<String> = self.near.iter().map(|item| item.id.to_string()).collect();
        let names: Vec<String> = self.near.iter().map(shown).collect();
        let question = format!(
            "There is no {:?}. Which one was meant: {}?",
            self.wanted,
            names.join(" or ")
        );
        let schema = json!({
            "type": "object",
            "properties": { self.field: { "type": "string", "title": self.field, "enum": ids, "enumNames": names } },
            "required": [self.field],
        });
        // The key binds the answer to what was shown: these items in these revisions.
        let mut seen = DefaultHasher::new();
        self.near
            .iter()
            .for_each(|item| (item.id, item.rev).hash(&mut seen));
        let key = format!("which.{}.{:016x}", self.field, seen.finish());
        let meant = match asker.cx.elicit(&key, &Elicitation::new(question, schema)).await? {
            Elicited::Accepted(mut fields) => fields.remove(self.field),
            _ => None,
        };
        let is_meant = |item: &&Item| meant.as_ref().is_some_and(|meant| *meant == json!(item.id));
        Ok(self.near.iter().find(is_meant))
    }

    /// Each of them by a name that means no other.
    fn ids(&self) -> Vec<String> {
        let id = |item: &Item| match self.several {
            true => item.reference_id.in_project(&item.project),
            false => item.reference_id.to_string(),
        };
        self.near.iter().map(id).collect()
    }

    /// The refusal, with what may have been meant.
    fn to_refusal(&self, refusal: Refusal) -> Refusal {
        let ids = self.ids();
        let named = |(item, id): (&Item, &String)| format!("{id} ({})", text::excerpt(&item.heading(), 60));
        let near: Vec<String> = self.near.iter().zip(&ids).map(named).collect();
        let hint = format!("Did you mean {}?", near.join(" or "));
        refusal.hint(hint).fact("candidates", ids.join(","))
    }
}

/// `REQ-001 "Passkeys MUST work" in the project web`.
fn shown(item: &Item) -> String {
    let mut title = text::excerpt(&item.heading(), MAX_TITLE_CHARS);
    title.retain(|c| !render::is_invisible(c));
    format!("{} {title:?} in the project {}", item.reference_id, item.project)
}
