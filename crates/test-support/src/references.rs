//! References of items in what a surface answered.

/// What references of items begin with.
const KINDS: [&str; 5] = ["EP", "US", "AC", "REQ", "STD"];

/// The references in a text that stand without one of these prefixes before them: `REQ-001`, `web/REQ-001`, but not `WEB-REQ-001`.
pub fn references_without(prefixes: &[&str], text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let is_plain = |word: &&str| {
        let Some((rest, digits)) = word.rsplit_once('-') else {
            return false;
        };
        let (prefix, kind) = rest.rsplit_once('-').unwrap_or(("", rest));
        let is_reference =
            KINDS.contains(&kind) && digits.len() >= 3 && digits.bytes().all(|b| b.is_ascii_digit());
        is_reference && !prefixes.contains(&prefix)
    };
    words.filter(is_plain).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::references_without;

    #[test]
    fn only_what_has_no_prefix_is_found() {
        let text = r#"{"a":"REQ-001","b":"WEB-REQ-002: x","c":"epic://web/EP-1003 AC-12 APP-STD-001"}"#;
        assert_eq!(
            references_without(&["WEB"], text),
            ["REQ-001", "EP-1003", "APP-STD-001"]
        );
        assert_eq!(
            references_without(&["WEB", "APP"], "WEB-REQ-002 APP-STD-001"),
            [""; 0]
        );
    }
}
