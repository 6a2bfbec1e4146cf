//! The document as a file: Markdown, CSV, or one HTML file that needs nothing else.

use crate::answer::Answer;
use crate::form::Params;
use crate::mark::escaped;
use crate::markdown;
use crate::visit::Visit;
use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;
use serde::Deserialize;
use spexus_domain::{Code, Refusal, Ruled, nearest};
use spexus_service::transfer::{Progress, document, sheet};
use std::io::{Error, Write};
use std::sync::Arc;

/// The largest file a page makes; more is written by the command.
const MAX_EXPORT_BYTES: usize = 32 << 20;

const FORMS: [(&str, &str); 3] = [
    ("md", "text/markdown; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
];

/// What is to be written, and as what.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportRequest {
    form: String,
    under: Option<String>,
}

/// The file.
pub(crate) async fn file(
    visit: Visit,
    Path(key): Path<String>,
    Params(wanted): Params<ExportRequest>,
) -> Answer {
    let project = visit.project(&key).await?;
    let found = FORMS.into_iter().find(|(form, _)| *form == wanted.form);
    let (form, kind) =
        found.ok_or_else(|| nearest::miss("form", &wanted.form, FORMS.map(|(form, _)| form)))?;
    let text = written(&visit, &project.key, wanted.under.clone(), form).await?;
    let text = match form {
        "html" => whole_page(&project.name, visit.preferences.language.code(), &text),
        _ => text,
    };
    let name = wanted
        .under
        .map_or_else(|| project.key.clone(), |under| format!("{}-{under}", project.key));
    let name: String = name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .collect();
    let disposition = HeaderValue::try_from(format!("attachment; filename=\"{name}.{form}\""));
    let disposition = disposition.unwrap_or(HeaderValue::from_static("attachment"));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    Ok((headers, text).into_response())
}

async fn written(visit: &Visit, key: &str, epic: Option<String>, form: &str) -> Ruled<String> {
    let (service, caller) = (visit.service(), &visit.caller);
    let quiet: Progress = Arc::new(|_| {});
    let mut out = Bounded(Vec::new());
    let done = match form {
        "csv" => {
            let layout = sheet::Layout {
                epic,
                mark: true,
                ..sheet::Layout::default()
            };
            sheet::export(service, caller, Some(key), &layout, &mut out, &quiet).await
        }
        _ => document::export(service, caller, Some(key), epic.as_deref(), &mut out, &quiet).await,
    };
    if out.0.len() > MAX_EXPORT_BYTES {
        let message = format!("the file would have more than {MAX_EXPORT_BYTES} bytes");
        let hint = "Export one epic, or write the file with `spexus export`.";
        return Err(Refusal::new(Code::MessageTooLarge, message).hint(hint));
    }
    done?;
    Ok(String::from_utf8(out.0).unwrap_or_default())
}

/// One file with its style in it.
fn whole_page(name: &str, language: &str, text: &str) -> String {
    let style = concat!(
        include_str!("../../assets/tokens.css"),
        include_str!("../../assets/file.css")
    );
    format!(
        "<!doctype html>\n<html lang=\"{language}\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{0}</title><style>{style}</style></head><body><main>{1}</main></body></html>\n",
        escaped(name),
        markdown::rendered(text)
    )
}

/// Takes a little more than a page may make, so that what was too much is known.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() > MAX_EXPORT_BYTES {
            return Err(Error::other("the file is too large"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
