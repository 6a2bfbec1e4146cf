//! Links between items and comments on them.

use crate::commands::filters::footer;
use crate::commands::input;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, table};
use crate::session::Session;
use clap::Args;
use spexus_domain::Uuid;
use spexus_domain::comment::{Comment, CommentPatch, NewAnchor, NewComment};
use spexus_domain::link::{Link, NewLink};
use spexus_domain::query::PageRequest;
use spexus_domain::visibility::Visibility;
use spexus_service::{comment, link};

/// A new link.
#[derive(Debug, Args)]
pub(crate) struct LinkTo {
    /// Where it starts
    source: String,
    /// The link type, by its name or its inverse name: depends_on, is_blocked_by, …
    link_type: String,
    /// Where it points
    target: String,
}

/// A link that ends.
#[derive(Debug, Args)]
pub(crate) struct Unlink {
    /// The link's UUID; `spexus item links` shows it
    link: String,
}

/// A link that still holds.
#[derive(Debug, Args)]
pub(crate) struct Confirm {
    /// The link's UUID
    link: String,
}

/// The links of an item.
#[derive(Debug, Args)]
pub(crate) struct Links {
    /// A UUID or a reference id
    id: String,
    /// Only links of this type, by its name or its inverse name
    #[arg(long = "type", value_name = "TYPE")]
    link_type: Option<String>,
    /// Rows of the page, 1 to 200
    #[arg(long, value_name = "ROWS")]
    limit: Option<u32>,
    /// Where the page before ended
    #[arg(long)]
    cursor: Option<String>,
}

/// A new comment.
#[derive(Debug, Args)]
pub(crate) struct CommentOn {
    /// A UUID or a reference id
    id: String,
    /// What it says; - reads standard input
    #[arg(allow_hyphen_values = true)]
    content: String,
    /// The UUID of the comment it answers
    #[arg(long, value_name = "COMMENT")]
    reply_to: Option<Uuid>,
    /// Words of the description it is about
    #[arg(long, allow_hyphen_values = true)]
    quote: Option<String>,
    /// The character the quote starts at, when it stands more than once
    #[arg(long, requires = "quote", value_name = "CHARACTER")]
    start: Option<usize>,
}

/// The comments of an item.
#[derive(Debug, Args)]
pub(crate) struct Comments {
    /// A UUID or a reference id
    id: String,
    /// Only settled (true) or open (false) ones
    #[arg(long)]
    resolved: Option<bool>,
    /// Rows of the page, 1 to 200
    #[arg(long, value_name = "ROWS")]
    limit: Option<u32>,
    /// Where the page before ended
    #[arg(long)]
    cursor: Option<String>,
}

/// A thread that is settled, or open again.
#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The comment's UUID
    comment: String,
    /// Opens it again
    #[arg(long)]
    reopen: bool,
}

pub(super) async fn link(session: &Session, output: Output, wanted: LinkTo) -> Outcome {
    let input = NewLink {
        source: wanted.source,
        target: wanted.target,
        link_type: wanted.link_type,
    };
    let made = link::create(&session.service, &session.caller, session.project(), input).await?;
    output.show(&made, line)
}

pub(super) async fn unlink(session: &Session, output: Output, wanted: &Unlink) -> Outcome {
    let ended = link::delete(&session.service, &session.caller, uuid("link", &wanted.link)?).await?;
    output.show(&ended, |link| format!("Ended: {}", line(link)))
}

pub(super) async fn confirm(session: &Session, output: Output, wanted: &Confirm) -> Outcome {
    let confirmed = link::confirm(&session.service, &session.caller, uuid("link", &wanted.link)?).await?;
    output.show(&confirmed, line)
}

pub(super) async fn links(session: &Session, output: Output, wanted: &Links) -> Outcome {
    let link_type = wanted.link_type.as_deref();
    let found = link::list(
        &session.service,
        &session.caller,
        session.project(),
        None,
        &wanted.id,
        link_type,
        PageRequest::new(wanted.limit, wanted.cursor.clone())?,
    )
    .await?;
    output.show(&found, |found| {
        let row = |link: &Link| {
            let suspect = if link.suspect { "suspect" } else { "" };
            [link.id.to_string(), line(link), suspect.to_owned()]
        };
        let hidden = match found.hidden_count {
            0 => String::new(),
            count => format!("\n{count} more lead into projects you may not see"),
        };
        let rows: Vec<_> = found.data.iter().map(row).collect();
        let footer = match found.next_cursor.as_deref() {
            None => String::new(),
            cursor => footer(rows.len(), found.total_count.into(), cursor),
        };
        format!("{}{footer}{hidden}", table(&rows))
    })
}

pub(super) async fn comment(session: &Session, output: Output, wanted: CommentOn) -> Outcome {
    let input = NewComment {
        content: input::text("content", wanted.content)?,
        parent_id: wanted.reply_to,
        anchor: wanted.quote.map(|quote| NewAnchor {
            quote,
            start: wanted.start,
        }),
    };
    let made = comment::create(
        &session.service,
        &session.caller,
        session.project(),
        None,
        &wanted.id,
        input,
    )
    .await?;
    output.show(&made, said)
}

pub(super) async fn comments(session: &Session, output: Output, wanted: Comments) -> Outcome {
    let page = PageRequest::new(wanted.limit, wanted.cursor)?;
    let (service, caller, project) = (&session.service, &session.caller, session.project());
    let found = comment::list(service, caller, project, None, &wanted.id, wanted.resolved, page).await?;
    output.show(&found, |found| {
        let lines: Vec<String> = found.data.iter().map(said).collect();
        format!(
            "{}{}",
            lines.join("\n"),
            footer(lines.len(), found.total(), found.next_cursor.as_deref())
        )
    })
}

pub(super) async fn resolve(session: &Session, output: Output, wanted: &Resolve) -> Outcome {
    let patch = CommentPatch {
        resolved: Some(!wanted.reopen),
        ..CommentPatch::default()
    };
    let id = uuid("comment", &wanted.comment)?;
    let changed = comment::update(&session.service, &session.caller, id, patch).await?;
    output.show(&changed, said)
}

fn uuid(field: &str, text: &str) -> Outcome<Uuid> {
    Uuid::try_parse(text).map_err(|_| Failure::argument(field, format!("{text:?} is not a UUID"), "a UUID"))
}

fn line(link: &Link) -> String {
    link.label(Visibility::EVERY)
}

fn said(comment: &Comment) -> String {
    let settled = if comment.resolved { "  settled" } else { "" };
    let indent = "  ".repeat(comment.depth);
    let about = comment
        .anchor
        .as_ref()
        .map_or_else(String::new, |anchor| format!("{indent}> {}\n", anchor.quote));
    let content = comment.content.replace('\n', &format!("\n{indent}"));
    format!(
        "{indent}{}  {}  {}{settled}\n{about}{indent}{content}",
        comment.id, comment.author, comment.created_at
    )
}
