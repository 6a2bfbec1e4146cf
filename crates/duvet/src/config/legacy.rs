//! Flags of the time before the configuration file.

use super::SourcePattern;
use crate::citation::CommentStyle;

/// `glob` or `(META,CONTENT)glob`.
pub fn source_pattern(text: &str) -> Result<SourcePattern, String> {
    let Some(rest) = text.strip_prefix('(') else {
        return Ok(SourcePattern::new(text));
    };
    let (style, pattern) = rest
        .split_once(')')
        .ok_or_else(|| format!("`{text}` has no `)` after its comment style"))?;
    let (meta, content) = style
        .split_once(',')
        .ok_or_else(|| format!("`({style})` needs two prefixes with a comma between them"))?;
    Ok(SourcePattern {
        style: CommentStyle {
            meta: meta.trim().to_owned(),
            content: content.trim().to_owned(),
        },
        ..SourcePattern::new(pattern)
    })
}
