//! Two sides of one text and what both were when they last agreed.

/// A fingerprint of a text, by which a later one is known to be the same; blanks at the ends do not count.
pub fn fingerprint(text: &str) -> String {
    let hash = blake3::hash(text.trim().replace("\r\n", "\n").as_bytes());
    hash.to_hex()[..16].to_owned()
}

/// What becomes of a text that stands on two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    /// Both say the same.
    Same,
    /// Only the file changed: the project follows.
    TakeFile,
    /// Only the project changed: the file follows.
    TakeProject,
    /// Both changed, and not to the same.
    Clash,
}

/// Compares the sides with what they were when they last agreed. Without that, sides that differ clash.
pub fn merge(base: Option<&str>, file: &str, project: &str) -> Merged {
    let (file, project) = (fingerprint(file), fingerprint(project));
    match base {
        _ if file == project => Merged::Same,
        Some(base) if base == project => Merged::TakeFile,
        Some(base) if base == file => Merged::TakeProject,
        _ => Merged::Clash,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_of_two_sides_and_a_base() {
        let base = fingerprint("a");
        let check =
            |file, project, expect| assert_eq!(merge(Some(&base), file, project), expect, "{file} {project}");
        check("a", " a\n", Merged::Same);
        check("b", "a", Merged::TakeFile);
        check("a", "b", Merged::TakeProject);
        check("b", "b", Merged::Same);
        check("b", "c", Merged::Clash);
        assert_eq!(merge(None, "a", "a"), Merged::Same);
        assert_eq!(merge(None, "a", "b"), Merged::Clash);
    }
}
