//! What creating and changing share: turning names into what they stand for, and checking them against the rules.

use crate::context::Context;
use crate::people;
use spexus_domain::item::{Item, Person, Pointer};
use spexus_domain::workflow::Workflow;
use spexus_domain::{Code, Kind, Refusal, Uuid, nearest};
use spexus_store::{Conn, Error, Result, settings};

/// The workflow of a kind that has a status.
pub(crate) async fn workflow(conn: &mut Conn, kind: Kind) -> Result<Workflow> {
    let workflow = settings::workflow(conn, kind).await?;
    workflow.ok_or_else(|| Error::Broken(format!("the kind {} has no workflow", kind.name())))
}

/// A requirement type by name; the first one when nobody says.
pub(crate) async fn requirement_type(conn: &mut Conn, wanted: Option<&str>) -> Result<Option<String>> {
    let types = settings::requirement_types(conn).await?;
    let Some(wanted) = wanted else {
        return Ok(types.into_iter().next().map(|first| first.name));
    };
    match nearest::find(&types, |known| &known.name, wanted) {
        Some(found) => Ok(Some(found.name.clone())),
        None => Err(nearest::miss("type", wanted, types.iter().map(|known| known.name.as_str())).into()),
    }
}

/// The criterion a requirement serves: one of its own story.
//= specs/spexus-service.md#rules
//# The criterion a requirement serves MUST belong to the requirement's own story.
pub(crate) async fn criterion(
    conn: &mut Conn,
    context: &Context,
    wanted: &str,
    (story, project_id): (Option<Uuid>, Uuid),
) -> Result<Pointer> {
    let field = "acceptance_criterion";
    let kind = Some(Kind::AcceptanceCriterion);
    let found = context
        .item_beside(conn, (field, wanted), kind, project_id)
        .await?;
    if found.parent.as_ref().map(|parent| parent.id) == story {
        return Ok(pointer(&found));
    }
    let owner = found
        .parent
        .as_ref()
        .map(|parent| parent.reference_id.to_string())
        .unwrap_or_default();
    let problem = format!(
        "{} belongs to {owner}, not to the story of this requirement",
        found.reference_id
    );
    Err(Refusal::field(
        Code::RuleViolated,
        field,
        problem,
        "a criterion of the same story",
    )
    .into())
}

/// Who is to work on it.
pub(crate) async fn assignee(conn: &mut Conn, context: &Context, wanted: &str) -> Result<Person> {
    let user = people::find_active(conn, &context.caller, "assignee", wanted).await?;
    Ok(Person {
        id: user.id,
        username: user.username,
    })
}

pub(crate) fn pointer(item: &Item) -> Pointer {
    Pointer {
        id: item.id,
        reference_id: item.reference_id.clone(),
    }
}
