//! Answers that stay small enough to be read. A tool that gives rows is asked again for as many as fit, so that its cursor
//! leads to the first row that was left out. What has no rows is cut where it is longest, and says what was cut and how to
//! get the rest.

use super::{Invocation, Run, Spec};
use crate::render::Answer;
use futures_util::FutureExt;
use mcp_protocol::Arguments;
use mcp_server::Stop;
use serde_json::{Map, Value, json};
use spexus_domain::text::grouped;
use std::sync::Arc;

/// Texts that are shorter than this are not cut.
const MIN_TEXT_BYTES: usize = 200;
/// An object with more members than this is a list by name.
const MAX_MEMBERS: usize = 30;
/// What a cursor may take that is not there yet.
const CURSOR_BYTES: usize = 200;
/// What the words about a cut may take, beside how to get the rest.
const NOTE_BYTES: usize = 400;

impl Spec {
    //= specs/spexus-mcp.md#answers
    //# Every answer of a tool MUST stay below the bytes an answer may have; what was cut MUST be said, and how to get the rest.
    /// Keeps the answers of a tool below so many bytes.
    pub(crate) fn fitting(self, max_bytes: usize) -> Self {
        let takes = |name: &str| self.input["properties"].get(name).is_some();
        let fit = Fit {
            inner: self.run,
            max_bytes,
            // What writes is done once.
            pages: takes("limit") && !self.effect.writes(),
            offsets: takes("offset"),
            rest: match (self.rest, self.effect.writes()) {
                ("", true) => "Everything was done; only this answer is cut.",
                ("", false) => "Ask for less at once.",
                (rest, _) => rest,
            },
        };
        let fit = Arc::new(fit);
        let run: Arc<Run> = Arc::new(move |work, arguments| {
            let fit = fit.clone();
            async move { fit.run(work, arguments).await }.boxed()
        });
        Self { run, ..self }
    }
}

/// A tool and what its answers may have.
struct Fit {
    inner: Arc<Run>,
    max_bytes: usize,
    /// Whether it can be asked for fewer rows.
    pages: bool,
    /// Whether it can be asked for a text from a character on.
    offsets: bool,
    /// How to get what was cut.
    rest: &'static str,
}

impl Fit {
    //= specs/spexus-mcp.md#answers
    //# A list MUST end before its answer exceeds the bytes an answer may have, and MUST then say that it was cut and how to go on.
    async fn run(&self, work: Invocation, arguments: Arguments) -> Result<Answer, Stop> {
        let again = self.pages.then(|| (work.clone(), arguments.clone()));
        let answer = (self.inner)(work, arguments).await?;
        let rows = rows_that_fit(&answer.value, self.max_bytes);
        let (Some(rows), Some((work, mut fewer))) = (rows, again) else {
            return Ok(self.cut(answer));
        };
        fewer.0.insert("limit".to_owned(), json!(rows.max(1)));
        Ok(self.cut((self.inner)(work, fewer).await?))
    }

    /// Cuts what is still too long.
    fn cut(&self, mut answer: Answer) -> Answer {
        if bytes(&answer.value) <= self.max_bytes {
            return answer;
        }
        answer.whole = Some(answer.value.clone());
        let value = &mut answer.value;
        cut(value, self.max_bytes, self.rest);
        if self.offsets && value["cut"].get("item.description").is_some() {
            let shown = value["item"]["description"].as_str().unwrap_or_default();
            let offset = value["offset"].as_u64().unwrap_or(0);
            value["next_offset"] = json!(offset + count(shown.chars().count()));
        }
        answer
    }
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn bytes(value: &Value) -> usize {
    value.to_string().len() + 1
}

/// The lists of rows of an answer.
fn lists(answer: &Value) -> Vec<&Vec<Value>> {
    let own = ["rows", "changes"]
        .iter()
        .filter_map(|name| answer[*name].as_array());
    let findings = answer["findings"].as_object().into_iter().flatten();
    let inner = findings.filter_map(|(_, finding)| finding["items"].as_array());
    own.chain(inner).collect()
}

/// How many rows of each list fit; nothing when all of them do.
fn rows_that_fit(answer: &Value, max_bytes: usize) -> Option<usize> {
    let all = bytes(answer);
    if all <= max_bytes {
        return None;
    }
    let lists = lists(answer);
    let of_rows: usize = lists.iter().flat_map(|rows| rows.iter()).map(bytes).sum();
    // What stands around the rows, and the cursors that may not be there yet.
    let mut left = max_bytes.saturating_sub(all - of_rows.min(all) + CURSOR_BYTES * lists.len());
    let longest = lists.iter().map(|rows| rows.len()).max().unwrap_or(0);
    let fits = |at: &usize| {
        let size: usize = lists.iter().filter_map(|rows| rows.get(*at)).map(bytes).sum();
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    Some((0..longest).take_while(fits).count())
}

/// Cuts the longest texts and lists until the answer fits, and says which and how to get the rest.
fn cut(answer: &mut Value, max_bytes: usize, rest: &str) {
    let room = max_bytes.saturating_sub(NOTE_BYTES + rest.len());
    let mut cuts = Map::new();
    loop {
        let over = bytes(answer).saturating_sub(room);
        if over == 0 {
            break;
        }
        let (place, longest) = longest(answer);
        let before = cuts.get(&place).and_then(|cut: &Value| cut["of"].as_u64());
        // By half at most, so that of two long ones something is left of both.
        let by = over.min(bytes(longest).div_ceil(2));
        let Some((shown, of)) = shorten(longest, by) else {
            break;
        };
        cuts.insert(place, json!({ "shown": shown, "of": before.unwrap_or(of) }));
    }
    if let Value::Object(answer) = answer {
        let cuts = cuts.into_iter().map(|(place, cut)| (place, json!(summary(&cut))));
        answer.insert("truncated".to_owned(), json!(true));
        answer.insert("cut".to_owned(), Value::Object(cuts.collect()));
        answer.entry("rest").or_insert_with(|| json!(rest));
    }
}

/// `120 of 9,999`.
fn summary(cut: &Value) -> String {
    let number = |name: &str| grouped(cut[name].as_i64().unwrap_or(0));
    format!("{} of {}", number("shown"), number("of"))
}

/// What takes most of a value: a text, or a list that is long by its number, and where it stands.
fn longest(value: &mut Value) -> (String, &mut Value) {
    let mut place = String::new();
    let mut value = value;
    loop {
        let all = bytes(value);
        let heaviest = match &*value {
            Value::Array(list) => {
                let sizes = list.iter().map(bytes).enumerate();
                sizes
                    .max_by_key(|(_, size)| *size)
                    .map(|(at, size)| (at.to_string(), size, 1))
            }
            Value::Object(members) => {
                let sizes = members.iter().map(|(name, member)| (name, bytes(member)));
                let largest = sizes.max_by_key(|(_, size)| *size);
                largest.map(|(name, size)| (name.clone(), size, MAX_MEMBERS))
            }
            _ => None,
        };
        let members = match &*value {
            Value::Array(list) => list.len(),
            Value::Object(members) => members.len(),
            _ => 0,
        };
        match heaviest {
            Some((name, size, few)) if members <= few || size * 2 >= all => {
                place = match place.as_str() {
                    "" => name.clone(),
                    place => format!("{place}.{name}"),
                };
                value = match value {
                    Value::Array(list) => &mut list[name.parse::<usize>().unwrap_or(0)],
                    other => &mut other[name.as_str()],
                };
            }
            _ => return (place, value),
        }
    }
}

/// Takes at least so many bytes away from the end, where there are as many. Tells how much is left of how much; nothing when
/// it cannot become shorter.
fn shorten(value: &mut Value, over: usize) -> Option<(u64, u64)> {
    match value {
        Value::String(text) if text.len() > MIN_TEXT_BYTES => {
            let of = text.chars().count();
            let mut end = text.len().saturating_sub(over).max(MIN_TEXT_BYTES / 2);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            Some((count(text.chars().count()), count(of)))
        }
        Value::Array(list) if !list.is_empty() => {
            let (of, mut left) = (list.len(), over);
            while let Some(last) = list.pop_if(|_| left > 0) {
                left = left.saturating_sub(bytes(&last));
            }
            Some((count(list.len()), count(of)))
        }
        Value::Object(members) if members.len() > MAX_MEMBERS => {
            let (of, mut left) = (members.len(), over);
            let mut kept = members.len();
            for (name, member) in members.iter().rev() {
                if left == 0 {
                    break;
                }
                left = left.saturating_sub(name.len() + 3 + bytes(member));
                kept -= 1;
            }
            *members = std::mem::take(members).into_iter().take(kept).collect();
            Some((count(kept), count(of)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[&str]) -> Value {
        json!({ "rows": rows, "total_count": 9, "truncated": false })
    }

    #[test]
    fn rows_are_counted_by_their_bytes_and_all_that_fit_is_left_alone() {
        let text = "x".repeat(1_000);
        let rows = vec![text.as_str(); 10];
        assert_eq!(rows_that_fit(&answer(&rows), 20_000), None);
        assert_eq!(rows_that_fit(&answer(&rows), 5_000), Some(4));
        assert_eq!(rows_that_fit(&answer(&rows), 900), Some(0));
        let findings = json!({ "findings": { "a": { "items": rows }, "b": { "items": rows } } });
        assert_eq!(rows_that_fit(&findings, 5_000), Some(2));
    }

    #[test]
    fn what_is_longest_is_cut_first_and_says_so() {
        let long = "д".repeat(50_000);
        let mut value = json!({ "item": { "id": "REQ-001", "title": "Short", "description": long } });
        cut(&mut value, 48_000, "Ask for the rest.");
        assert!(value.to_string().len() < 48_000);
        let shown = value["item"]["description"].as_str().unwrap().chars().count();
        assert!(shown > 20_000, "{shown}");
        assert_eq!(
            (&value["truncated"], &value["rest"]),
            (&json!(true), &json!("Ask for the rest."))
        );
        let told = format!("{} of 50,000", grouped(i64::try_from(shown).unwrap()));
        assert_eq!(value["cut"], json!({ "item.description": told }));
        assert_eq!(value["item"]["title"], "Short");
    }

    #[test]
    fn lists_by_number_and_by_name_are_cut_at_their_ends() {
        let items: Vec<String> = (1..=9_999).map(|number| format!("REQ-{number:04}")).collect();
        let people: Map<String, Value> = (0..5_000)
            .map(|at| (format!("user-{at:04}"), json!(at)))
            .collect();
        let mut value = json!({ "items": items, "kinds": { "epic": { "total": 1, "by_assignee": people } } });
        cut(&mut value, 10_000, "");
        assert!(value.to_string().len() <= 10_000, "{}", value.to_string().len());
        assert_eq!(value["items"][0], "REQ-0001");
        assert_eq!(value["kinds"]["epic"]["total"], 1);
        assert!(
            value["cut"]["items"].as_str().unwrap().ends_with(" of 9,999"),
            "{}",
            value["cut"]
        );
        let people = value["cut"]["kinds.epic.by_assignee"].as_str().unwrap();
        assert!(people.ends_with(" of 5,000"), "{people}");
    }

    #[test]
    fn what_cannot_become_shorter_ends_the_search() {
        let mut value = json!({ "a": "x".repeat(100), "b": "y".repeat(100) });
        cut(&mut value, 50, "");
        assert_eq!(value["truncated"], true);
    }
}
