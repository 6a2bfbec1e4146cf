//! What an RFC says of itself before its first section: its title and, in the abstract, what it is about.

use crate::specification::Specification;

/// The title: the centred lines between the block of authors and the first section.
pub fn title(specification: &Specification) -> Option<String> {
    let end = specification.sections.first()?.heading.start as usize;
    let mut blocks: Vec<Vec<&str>> = vec![Vec::new()];
    for line in specification.text[..end].lines() {
        if line.trim().is_empty() {
            blocks.push(Vec::new());
        } else if let Some(block) = blocks.last_mut() {
            block.push(line);
        }
    }
    let is_centred = |line: &&str| line.starts_with("   ") && !line.trim().contains("   ");
    let block = blocks
        .into_iter()
        .rev()
        .find(|block| !block.is_empty() && block.iter().all(is_centred))?;
    let title = block.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    (title.chars().count() <= 200).then_some(title)
}

/// The first paragraph of the abstract.
pub fn summary(specification: &Specification) -> Option<String> {
    let section = &specification.sections[specification.find("name-abstract")?];
    let lines = section
        .lines
        .iter()
        .map(|line| specification.line(line).trim())
        .take_while(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}
