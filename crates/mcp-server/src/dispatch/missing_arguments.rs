//! Required arguments the model left out: the person is asked for them, when that is all that is wrong with a call.

use refusal::{Code, Refusal};
use serde_json::{Map, Value, json};

use crate::ask::Elicitation;
use crate::server::context::Context;
use crate::server::tool::{Registered, Stop};
use mcp_protocol::{Arguments, Elicited, Terms, is_flat};

/// Whether asking the person for what is missing can mend the call.
pub(super) fn can_be_asked(
    registered: &Registered,
    terms: &Terms,
    given: &Arguments,
    refusal: &Refusal,
) -> bool {
    let missing = missing(registered, given);
    !missing.is_empty()
        && terms.client.capabilities.has("elicitation.form")
        && registered.input.only_lacks(&given.0, refusal)
        && missing.values().all(is_flat)
}

/// The arguments with what the person added. Complete ones pass as they are.
//= specs/mcp-server.md#elicitation
//# A tool that asks for missing arguments MUST get them from the person where the client can ask and nothing else is wrong, and MUST NOT run without them.
pub(super) async fn complete(
    cx: &Context,
    registered: &Registered,
    given: Arguments,
) -> Result<Arguments, Stop> {
    let fields = missing(registered, &given);
    if fields.is_empty() {
        return Ok(given);
    }
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    let (what, names) = (
        registered.tool.title.as_deref().unwrap_or(&registered.tool.name),
        names.join(", "),
    );
    let schema =
        json!({ "type": "object", "properties": fields, "required": fields.keys().collect::<Vec<_>>() });
    let question = Elicitation::new(format!("{what}: what is missing is {names}."), schema);
    let key = format!("{}.missing", registered.tool.name);
    match cx.elicit(&key, &question).await? {
        Elicited::Accepted(answers) => {
            let mut all = given.0;
            // What was not asked for stays as the model gave it.
            all.extend(answers.into_iter().filter(|(name, _)| fields.contains_key(name)));
            let mut all = Value::Object(all);
            registered.input.admit(&mut all)?;
            match all {
                Value::Object(arguments) => Ok(Arguments(arguments)),
                _ => Ok(Arguments::default()),
            }
        }
        _ => Err(Refusal::field(
            Code::MissingRequiredField,
            names,
            "is missing, and the person did not give it",
            "",
        )
        .hint("Nothing was done. Call again with the missing arguments.")
        .into()),
    }
}

/// The required arguments that were not given, each with what the form shows for it.
fn missing(registered: &Registered, given: &Arguments) -> Map<String, Value> {
    let schema = registered.input.source();
    let lacking = registered.input.lacking(&given.0);
    lacking
        .filter(|_| registered.tool.asks_for_missing)
        .filter_map(|name| {
            Some((
                name.to_owned(),
                shown(schema.pointer(&format!("/properties/{name}"))?),
            ))
        })
        .collect()
}

/// What is required must say something: an empty text would be as good as none.
fn shown(field: &Value) -> Value {
    let mut field = field.clone();
    if field.get("type") == Some(&json!("string"))
        && field.get("enum").is_none()
        && field.get("minLength").is_none()
    {
        field["minLength"] = json!(1);
    }
    field
}
