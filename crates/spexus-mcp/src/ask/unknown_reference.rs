//! References that lead nowhere: "REQ-12" where there is a REQ-121, or a title where an id should be. Nothing has
//! happened yet when that turns out, so the person says which was meant and the tool runs again.

use super::Asker;
use crate::render::{self, Answer};
use crate::resources::sees_several;
use crate::tools::{Invocation, Run};
use mcp_protocol::{Arguments, Elicited};
use mcp_server::{Elicitation, Stop};
use serde_json::{Value, json};
use spexus_domain::item::Item;
use spexus_domain::{Code, Kind, Refusal, text};
use spexus_service::item;

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
            Some(found) => drop(arguments.0.insert(unknown.field.to_owned(), found)),
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
    async fn ask(&self, asker: &Asker) -> Result<Option<Value>, Stop> {
        let ids = self.ids();
        let mut names: Vec<String> = self.near.iter().map(render::line).collect();
        names
            .iter_mut()
            .for_each(|name| name.retain(|c| !render::is_invisible(c)));
        let schema = json!({
            "type": "object",
            "properties": { self.field: { "type": "string", "title": self.field, "enum": ids, "enumNames": names } },
            "required": [self.field],
        });
        let question = Elicitation::new(
            format!("There is no {:?}. Which one was meant?", self.wanted),
            schema,
        );
        let key = format!("which.{}", self.field);
        Ok(match asker.cx.elicit(&key, &question).await? {
            Elicited::Accepted(mut fields) => fields.remove(self.field),
            _ => None,
        })
    }

    /// Each of them by a name that means no other.
    fn ids(&self) -> Vec<String> {
        let id = |item: &Item| match self.several {
            true => format!("{}/{}", item.project, item.reference_id),
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
