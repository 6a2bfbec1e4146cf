//! Every limit on what people write, with its unit in its name. Characters are Unicode scalar values, never bytes.

/// Title of an item, prompt or project.
pub const MAX_TITLE_CHARS: usize = 500;
/// Description of an item, content of a prompt.
pub const MAX_DESCRIPTION_CHARS: usize = 50_000;
/// One comment.
pub const MAX_COMMENT_CHARS: usize = 10_000;
/// Names: users, tokens, types, statuses, prompts, baselines, attributes.
pub const MAX_NAME_CHARS: usize = 100;
/// One e-mail address.
pub const MAX_EMAIL_CHARS: usize = 254;
/// A query typed into search.
pub const MAX_QUERY_CHARS: usize = 1_000;
/// A password; argon2 would hash any length, so the bound protects the server.
pub const MAX_PASSWORD_CHARS: usize = 1_000;
/// The shortest password accepted.
pub const MIN_PASSWORD_CHARS: usize = 8;
/// An idempotency key.
pub const MAX_IDEMPOTENCY_KEY_CHARS: usize = 200;
/// Attributes of one item.
pub const MAX_ATTRIBUTES: usize = 50;
/// Text of one attribute.
pub const MAX_ATTRIBUTE_CHARS: usize = 2_000;
/// Rows of one page.
pub const MAX_PAGE_ROWS: u32 = 200;
/// Rows of one page when nobody says.
pub const DEFAULT_PAGE_ROWS: u32 = 50;
/// Bytes of text in one page of items; a page that would hold more ends earlier.
pub const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;
/// Operations of one batch: what one transaction may hold. More is staged, by an import.
pub const MAX_BATCH_OPERATIONS: usize = 500;
/// Nodes of one hierarchy answer.
pub const MAX_TREE_NODES: u32 = 10_000;
/// Depth of a comment thread.
pub const MAX_COMMENT_DEPTH: usize = 50;
/// Statuses of one workflow.
pub const MAX_WORKFLOW_STATUSES: usize = 50;
/// Words of a query that are looked up; the rest is ignored.
pub const MAX_QUERY_WORDS: usize = 20;
/// The title in a line about an item.
pub const MAX_LINE_TITLE_CHARS: usize = 100;
/// Tokens of a working context, when nobody says.
pub const DEFAULT_CONTEXT_TOKENS: usize = 4_000;
/// The least a working context can be asked to have.
pub const MIN_CONTEXT_TOKENS: usize = 600;
/// The most a working context can be asked to have.
pub const MAX_CONTEXT_TOKENS: usize = 12_000;
/// How long an item is held when nobody says.
pub const DEFAULT_LEASE_MINUTES: i64 = 30;
/// How long an item is held at most, unless it is claimed again.
pub const MAX_LEASE_MINUTES: i64 = 240;
/// Items of one review.
pub const MAX_REVIEW_ITEMS: usize = 200;
/// People and agents who are asked by one review.
pub const MAX_REVIEWERS: usize = 20;
/// What a saved view asks its page for.
pub const MAX_VIEW_BYTES: usize = 2_000;
/// Views one person may save in a project.
pub const MAX_VIEWS_PER_OWNER: usize = 100;
/// Items that are read by one request.
pub const MAX_ITEMS_AT_ONCE: usize = 50;
