//! Baselines: naming a moment, and telling what changed since.

use super::items::{pages, project, rows};
use super::spec::{Effect, Invocation, Spec, read};
use super::structure::page_request;
use crate::Toolset;
use crate::render::{Answer, part_of, rows_of};
use crate::schema::{answer, number, object, text};
use mcp_protocol::Arguments;
use serde_json::json;
use spexus_domain::Ruled;
use spexus_domain::baseline::{Baseline, ItemDifference, NewBaseline};
use spexus_domain::permission::Operation;
use spexus_service::baseline::{self, DiffQuery};

/// The tools of baselines.
pub(super) fn tools() -> Vec<Spec> {
    vec![
        Spec::new(
            "list_baselines",
            "List baselines",
            "Lists the named moments of the project.",
            run_list,
        )
        .set(Toolset::Author)
        .takes(object([project()].into_iter().chain(pages())), rows()),
        Spec::new(
            "create_baseline",
            "Create a baseline",
            "Names this moment, to compare with later.",
            run_create,
        )
        .does(Effect::Add, Operation::CreateBaseline)
        .set(Toolset::Author)
        .takes(
            object([text("name", "").required(), text("description", ""), project()]),
            answer(&[("baseline", "object")]),
        ),
        Spec::new(
            "diff_baselines",
            "Compare baselines",
            "Tells which items were added, removed or changed between two baselines.",
            run_diff,
        )
        .set(Toolset::Author)
        .takes(
            object([
                text("from", "name").required(),
                text("to", "name; now when left out"),
                number("limit", "1-200, default 50"),
                text("cursor", ""),
                text("count", "exact: count all"),
                project(),
            ]),
            rows(),
        ),
    ]
}

async fn run_list(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let found = baseline::list(&invocation.service, &invocation.caller, arguments.text("project")).await?;
    let page = page_request(&arguments)?;
    let row = |one: &Baseline| {
        json!(format!(
            "{} at {} by {}",
            one.name, one.created_at, one.created_by
        ))
    };
    Ok(part_of("baselines", found, &page, row))
}

async fn run_create(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let input: NewBaseline = read(arguments.0)?;
    let made = baseline::create(&invocation.service, &invocation.caller, input).await?;
    Ok(Answer::new(
        format!("Created the baseline {}.", made.name),
        json!({ "baseline": made }),
    ))
}

async fn run_diff(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let query: DiffQuery = read(arguments.0)?;
    let found = baseline::difference(&invocation.service, &invocation.caller, &query).await?;
    let row = |one: &ItemDifference| {
        let fields: Vec<&str> = one.fields.iter().map(|field| field.field.as_str()).collect();
        json!({ "item": one.reference_id, "title": one.title, "difference": one.difference, "fields": fields })
    };
    let rows = found.data.iter().map(row).collect();
    Ok(rows_of(
        "differences",
        rows,
        found.total(),
        found.next_cursor.as_deref(),
    ))
}
