//! Answers of lists that stay small enough to be read: where the rows of a page take more bytes than an answer may have, the
//! page is asked for again with as many rows as fit, so that its cursor leads to the first row that was left out.

use super::{Run, Spec};
use crate::render::Answer;
use futures_util::FutureExt;
use serde_json::{Value, json};
use spexus_domain::text;
use std::sync::Arc;

/// What a text that was cut keeps at least.
const MIN_TEXT_CHARS: usize = 200;

impl Spec {
    //= specs/spexus-mcp.md#answers
    //# A list MUST end before its answer exceeds the bytes an answer may have, and MUST then say that it was cut and how to go on.
    /// Keeps the answers of a tool that lists below so many bytes.
    pub(crate) fn fitting(self, max_bytes: usize) -> Self {
        let lists = ["limit", "cursor"]
            .iter()
            .all(|name| self.input["properties"].get(name).is_some());
        if !lists || self.effect.writes() {
            return self;
        }
        let inner = self.run;
        let run: Arc<Run> = Arc::new(move |work, arguments| {
            let inner = inner.clone();
            async move {
                let answer = inner(work.clone(), arguments.clone()).await?;
                let Some(rows) = rows_that_fit(&answer, max_bytes) else {
                    return Ok(answer);
                };
                let mut fewer = arguments;
                fewer.0.insert("limit".to_owned(), json!(rows.max(1)));
                let mut answer = inner(work, fewer).await?;
                if rows == 0 {
                    shorten(&mut answer.value, max_bytes);
                }
                Ok(answer)
            }
            .boxed()
        });
        Self { run, ..self }
    }
}

/// How many rows fit; nothing when all of them do.
fn rows_that_fit(answer: &Answer, max_bytes: usize) -> Option<usize> {
    let bytes = |value: &Value| value.to_string().len() + 1;
    let rows = answer.value["rows"].as_array()?;
    let all = bytes(&answer.value);
    if all <= max_bytes {
        return None;
    }
    let of_rows: usize = rows.iter().map(bytes).sum();
    // What stands around the rows, and a cursor that may not be there yet.
    let mut left = max_bytes.saturating_sub(all - of_rows.min(all) + 300);
    let fits = |row: &&Value| {
        let size = bytes(row);
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    Some(rows.iter().take_while(fits).count())
}

/// Cuts the long texts of the only row, and says which.
fn shorten(answer: &mut Value, max_bytes: usize) {
    let Some(Value::Object(row)) = answer["rows"].get_mut(0) else {
        return;
    };
    let mut chars = max_bytes / 4;
    let mut cut = Vec::new();
    for (name, value) in row.iter_mut() {
        let Value::String(long) = value else { continue };
        let shown = long.chars().count();
        if shown > chars.max(MIN_TEXT_CHARS) {
            *long = text::excerpt(long, chars.max(MIN_TEXT_CHARS));
            cut.push(name.clone());
        }
        chars = chars.saturating_sub(shown);
    }
    row.insert("cut".to_owned(), json!(cut));
    answer["truncated"] = json!(true);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[&str]) -> Answer {
        Answer::new("", json!({ "rows": rows, "total_count": 9, "truncated": false }))
    }

    #[test]
    fn rows_are_counted_by_their_bytes_and_all_that_fit_is_left_alone() {
        let text = "x".repeat(1_000);
        let rows = vec![text.as_str(); 10];
        assert_eq!(rows_that_fit(&answer(&rows), 20_000), None);
        assert_eq!(rows_that_fit(&answer(&rows), 5_000), Some(4));
        assert_eq!(rows_that_fit(&answer(&rows), 900), Some(0));
    }

    #[test]
    fn a_row_that_is_too_long_alone_keeps_its_beginning_and_says_so() {
        let mut value = json!({ "rows": [{ "id": "REQ-001", "description": "д".repeat(50_000) }] });
        shorten(&mut value, 48_000);
        assert!(value.to_string().len() < 48_000);
        assert_eq!(value["rows"][0]["cut"], json!(["description"]));
        assert_eq!(value["truncated"], true);
    }
}
