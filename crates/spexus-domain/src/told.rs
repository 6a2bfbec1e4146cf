//! What a change tells for verification alone, beside the fields that people are shown: what a replay of the history could not
//! know otherwise. The names begin with a dot, as no field does, and are shown to nobody.

/// Rows of small tables: each with its table, its key, and the digests of what it was and is.
pub const ROWS: &str = ".rows";
/// Who made a thing, where that is not who made the change.
pub const CREATOR: &str = ".creator";
/// When a thing was made, where that is not when the change was.
pub const CREATED_AT: &str = ".created_at";
/// When a thing was last changed, where that is not when the change was.
pub const UPDATED_AT: &str = ".updated_at";
/// The deletion a thing fell with.
pub const DELETION: &str = ".deletion";
/// The comment a comment answers.
pub const PARENT: &str = ".parent";
/// What a comment is anchored to.
pub const ANCHOR: &str = ".anchor";
/// Comments whose anchors moved with the text, with what they are anchored to now.
pub const ANCHORS: &str = ".anchors";
/// What both ends of a link said when it was confirmed.
pub const HASHES: &str = ".hashes";
/// Siblings that were numbered anew, with their places.
pub const POSITIONS: &str = ".positions";
/// What an upgrade found that the history before it could not tell.
pub const FOUND: &str = ".found";

/// What somebody wanted who made the change. It is shown beside the fields, not among them.
pub const INTENT: &str = ".intent";

/// What dropped changes had made of items, comments and links.
pub const KEPT: &str = ".kept";
/// Rows of small tables that dropped changes told of, each with its table, its key and its digest.
pub const KEPT_ROWS: &str = ".kept_rows";

/// Whether a field of a change is shown to people.
pub fn is_shown(field: &str) -> bool {
    !field.starts_with('.')
}
