//! Items as people read them on a terminal.

use spexus_domain::change::Change;
use spexus_domain::item::Item;
use spexus_domain::text::excerpt;
use spexus_domain::tree::Tree;

/// One line of a list.
pub(crate) fn row(item: &Item) -> [String; 4] {
    let priority = item
        .priority
        .map_or_else(String::new, |priority| format!("P{}", priority.number()));
    [
        item.reference_id.to_string(),
        item.status.clone().unwrap_or_default(),
        priority,
        excerpt(&item.heading(), 100),
    ]
}

/// The whole item.
pub(super) fn whole(item: &Item) -> String {
    let mut facts = vec![item.kind.rules().label.to_owned()];
    facts.extend(item.status.clone());
    facts.extend(
        item.priority
            .map(|priority| format!("priority {}", priority.number())),
    );
    facts.extend(item.requirement_type.clone());
    facts.extend(
        item.parent
            .as_ref()
            .map(|parent| format!("in {}", parent.reference_id)),
    );
    facts.extend(
        item.acceptance_criterion
            .as_ref()
            .map(|criterion| format!("serves {}", criterion.reference_id)),
    );
    facts.extend(
        item.assignee
            .as_ref()
            .map(|person| format!("assigned to {}", person.username)),
    );
    facts.push(format!("revision {}", item.rev));
    let mut text = format!(
        "{}  {}\n{}\n",
        item.reference_id,
        item.heading(),
        facts.join(" · ")
    );
    text.push_str(&format!(
        "made by {} at {}, changed at {}\n",
        item.creator.username, item.created_at, item.updated_at
    ));
    for (name, value) in &item.attributes {
        text.push_str(&format!("{name}: {value}\n"));
    }
    if !item.description.is_empty() {
        text.push_str(&format!("\n{}\n", item.description));
    }
    text
}

/// A tree, two spaces for each level.
pub(super) fn tree(tree: &Tree, depth: usize, into: &mut String) {
    let [reference, status, _, title] = row(&tree.item);
    let status = if status.is_empty() {
        String::new()
    } else {
        format!("  [{status}]")
    };
    into.push_str(&format!("{}{reference}  {title}{status}\n", "  ".repeat(depth)));
    for child in &tree.children {
        self::tree(child, depth + 1, into);
    }
}

/// What happened, one line for the change and one for each field.
pub(crate) fn change(change: &Change) -> String {
    let action = serde_json::to_value(change.action).unwrap_or_default();
    let mut text = format!(
        "{}  {}  {} {} {}",
        change.seq,
        change.at,
        change.user,
        action.as_str().unwrap_or_default(),
        change.label
    );
    for field in &change.fields {
        let side = |value: &Option<serde_json::Value>| {
            value
                .as_ref()
                .map_or_else(|| "nothing".to_owned(), |value| excerpt(&value.to_string(), 60))
        };
        text.push_str(&format!(
            "\n    {}: {} → {}",
            field.field,
            side(&field.before),
            side(&field.after)
        ));
    }
    text
}
