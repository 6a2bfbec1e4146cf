//! Search: across everything, or among requirements.

use super::items::{paging, rows};
use super::spec::{Invocation, Spec, read, take};
use crate::render::{Answer, hit_line, rows_of};
use crate::schema::{Field, object, text};
use mcp_protocol::Arguments;
use serde_json::{Value, json};
use spexus_domain::search::Hit;
use spexus_domain::{Code, Kind, Refusal, Ruled};
use spexus_service::item::ItemQuery;
use spexus_service::search::{SearchQuery, search};

/// The tools of search.
pub(super) fn tools() -> Vec<Spec> {
    vec![search_global(), search_requirements()]
}

// Fulfils 003 R7.3
fn search_global() -> Spec {
    let description = "Finds items of all kinds and their comments by words, beginnings of words, \"phrases\" or a reference id; best first.";
    let mut fields = vec![
        text("query", "").required(),
        text(
            "kinds",
            "epic, user_story, acceptance_criterion, requirement, steering_document; by commas",
        ),
        text("status", ""),
        text("assignee", "user name, me or none"),
        text("under", "only inside this container"),
    ];
    fields.extend(short_paging());
    Spec::new(
        "search_global",
        "Search everything",
        description,
        |invocation, arguments| run(invocation, arguments, None),
    )
    .lean()
    .takes(object(fields), rows())
}

// Fulfils 003 R7.4
fn search_requirements() -> Spec {
    let description = "Finds requirements by words, filters or both; best first.";
    let mut fields = vec![
        text("query", ""),
        text("status", ""),
        text("priority", ""),
        text("type", "requirement type"),
        text("assignee", "user name, me or none"),
        text("under", "only inside this container"),
    ];
    fields.extend(short_paging());
    let run = |invocation, arguments| run(invocation, arguments, Some(Kind::Requirement));
    Spec::new("search_requirements", "Search requirements", description, run).takes(object(fields), rows())
}

/// Hits have one form; what chooses another one is left out.
fn short_paging() -> impl Iterator<Item = Field> {
    paging()
        .into_iter()
        .filter(|field| !matches!(field.name(), "detail" | "fields"))
}

// Fulfils 003 R7.5, 003 R7.8
async fn run(invocation: Invocation, arguments: Arguments, only: Option<Kind>) -> Ruled<Answer> {
    let mut arguments = arguments.0;
    let query = take(&mut arguments, "query");
    let kinds = take(&mut arguments, "kinds");
    //= specs/spexus-mcp.md#tools
    //# A search for nothing at all MUST be refused with the name of the argument.
    if only.is_none() && query.as_deref().is_none_or(|query| query.trim().is_empty()) {
        return Err(Refusal::field(
            Code::InvalidParams,
            "query",
            "is empty",
            "words or a reference id",
        ));
    }
    let wanted = SearchQuery {
        query: query.unwrap_or_default(),
        kinds: only.map(|kind| kind.name().to_owned()).or(kinds),
    };
    let filters: ItemQuery = read(arguments)?;
    //= specs/spexus-mcp.md#tools
    //# A search by a tool and the same search by REST MUST find the same things in the same order.
    let found = search(&invocation.service, &invocation.caller, &wanted, &filters).await?;
    let rows = found.data.iter().map(row).collect();
    let mut answer = rows_of("matches", rows, found.total(), found.next_cursor.as_deref());
    //= specs/spexus-mcp.md#tools
    //# A search that finds nothing with words in it that look like operators MUST say that there are none.
    if found.data.is_empty()
        && wanted
            .query
            .split_whitespace()
            .any(|word| OPERATORS.contains(&word))
    {
        answer.text.push_str(NO_OPERATORS);
        answer.value["hint"] = json!(NO_OPERATORS.trim());
    }
    Ok(answer)
}

/// What people type who expect operators.
const OPERATORS: [&str; 6] = ["OR", "AND", "NOT", "||", "&&", "|"];
const NO_OPERATORS: &str =
    " Every word has to occur, and OR, AND and NOT are words like others: search once for each alternative.";

/// A hit in an item is one line; one in a comment says which.
fn row(hit: &Hit) -> Value {
    json!(hit_line(hit))
}
