//! What somebody may have meant by an id that leads nowhere.

use crate::Service;
use crate::context::{Context, reading};
use crate::item::ItemQuery;
use crate::search::{self, SearchQuery};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::permission::Operation;
use spexus_domain::{AnyId, Code, Kind, Reference, Refusal, Ruled, nearest, text};
use spexus_store::{Conn, Error, Result, items};

/// More would be a list, not a question.
const MAX_NEAR: usize = 5;
/// A title is looked for by its first words.
const MAX_WORDS_CHARS: usize = 200;

/// The items an id may have meant, the most alike first; with a kind, only of that kind. `None` when the id leads
/// somewhere, be it to an item that is deleted or of another kind: then nothing was mistyped.
#[boxed]
pub async fn near(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    wanted: &str,
) -> Ruled<Option<Vec<Item>>> {
    let wanted = wanted.trim();
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    if let Ok(id) = AnyId::parse("id", wanted) {
        let is_missing = match context.any_item(&mut conn, "id", &id).await {
            Ok(_) => false,
            // What is ambiguous or contradicts its project leads somewhere too.
            Err(Error::Refused(refusal)) => refusal.code == Code::ResourceNotFound,
            Err(error) => return Err(error.into()),
        };
        return match (is_missing, id) {
            (
                true,
                AnyId::Reference {
                    project: None,
                    reference,
                },
            ) => {
                let numbers = nearest::numbers(reference.number());
                numbered(&context, &mut conn, reference.kind(), numbers)
                    .await
                    .map(Some)
                    .map_err(Refusal::from)
            }
            // Nobody mistypes a UUID, and another project is none of ours.
            _ => Ok(None),
        };
    }
    if let Some((kind, number)) = loose(wanted, kind) {
        let mut numbers = vec![number];
        numbers.extend(nearest::numbers(number));
        return numbered(&context, &mut conn, Some(kind), numbers)
            .await
            .map(Some)
            .map_err(Refusal::from);
    }
    drop(conn);
    if wanted.is_empty() {
        return Ok(None);
    }
    titled(service, caller, project, kind, wanted).await.map(Some)
}

/// The living items of a kind with these numbers.
async fn numbered(
    context: &Context,
    conn: &mut Conn,
    kind: Option<Kind>,
    numbers: Vec<i64>,
) -> Result<Vec<Item>> {
    let mut found = Vec::new();
    let Some(kind) = kind else { return Ok(found) };
    for number in numbers {
        let reference = Reference::of_kind(kind, number);
        let id = AnyId::Reference {
            project: None,
            reference,
        };
        let item = items::by_any_id(conn, context.project()?.id, &id).await?;
        found.extend(item.filter(|item| item.deleted_at.is_none()));
        if found.len() == MAX_NEAR {
            break;
        }
    }
    Ok(found)
}

/// Items by their words.
async fn titled(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    wanted: &str,
) -> Ruled<Vec<Item>> {
    let query = SearchQuery {
        query: text::excerpt(wanted, MAX_WORDS_CHARS),
        kinds: kind.map(|kind| kind.name().to_owned()),
    };
    let filters = ItemQuery {
        project: project.map(str::to_owned),
        limit: Some(MAX_NEAR as u32),
        ..ItemQuery::default()
    };
    let hits = search::search(service, caller, &query, &filters).await?.data;
    let mut found: Vec<Item> = Vec::new();
    for hit in hits {
        if !found.iter().any(|item| item.id == hit.id) {
            found.push(super::get(service, caller, project, None, &hit.id.to_string()).await?);
        }
    }
    Ok(found)
}

/// `REQ12`, `req 12`, `REQ_012` or, where the kind is known, `12`.
fn loose(wanted: &str, kind: Option<Kind>) -> Option<(Kind, i64)> {
    let split = wanted.find(|c: char| c.is_ascii_digit())?;
    let (prefix, digits) = wanted.split_at(split);
    let number = digits.parse().ok().filter(|number| *number > 0)?;
    let prefix = prefix.trim_matches([' ', '_', '-', '#', '.']);
    let named = Kind::ALL
        .into_iter()
        .find(|kind| kind.rules().prefix.eq_ignore_ascii_case(prefix));
    match prefix {
        "" => kind.map(|kind| (kind, number)),
        _ => named.map(|kind| (kind, number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_loosely_where_it_is_clear_what_is_meant() {
        for (wanted, kind, expect) in [
            ("REQ12", None, Some((Kind::Requirement, 12))),
            ("req 012", Some(Kind::Epic), Some((Kind::Requirement, 12))),
            ("#7", Some(Kind::Epic), Some((Kind::Epic, 7))),
            ("7", None, None),
            ("Sprint 7", Some(Kind::Epic), None),
            ("Sign in", None, None),
            ("EP0", None, None),
        ] {
            assert_eq!(loose(wanted, kind), expect, "{wanted}");
        }
    }
}
