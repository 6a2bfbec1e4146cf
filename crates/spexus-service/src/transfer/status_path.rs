//! How a new item gets to the status a file says it has: along the workflow, as if someone had moved it.

use spexus_domain::workflow::Workflow;
use std::collections::{HashMap, VecDeque};

/// The statuses from one that items may start in to the one wanted, both included; the shortest way.
pub(super) fn status_path(workflow: &Workflow, wanted: &str) -> Option<Vec<String>> {
    let goal = workflow
        .statuses
        .iter()
        .find(|status| status.name.eq_ignore_ascii_case(wanted.trim()))?;
    let mut came_from: HashMap<&str, Option<&str>> = HashMap::new();
    let mut next: VecDeque<&str> = VecDeque::new();
    for status in workflow.statuses.iter().filter(|status| status.initial) {
        came_from.insert(&status.name, None);
        next.push_back(&status.name);
    }
    while let Some(at) = next.pop_front() {
        for step in workflow.transitions.iter().filter(|step| step.from == at) {
            if !came_from.contains_key(step.to.as_str()) {
                came_from.insert(&step.to, Some(at));
                next.push_back(&step.to);
            }
        }
    }
    let mut path = vec![goal.name.clone()];
    let mut at = *came_from.get(goal.name.as_str())?;
    while let Some(status) = at {
        path.push(status.to_owned());
        at = came_from.get(status).copied().flatten();
    }
    path.reverse();
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spexus_domain::Kind;

    #[test]
    fn a_new_item_walks_to_its_status() {
        let workflow = Workflow::shipped(Kind::Epic).unwrap();
        assert_eq!(
            status_path(&workflow, "done").unwrap(),
            ["Backlog", "In Progress", "Done"]
        );
        assert_eq!(status_path(&workflow, "Draft").unwrap(), ["Draft"]);
        assert_eq!(status_path(&workflow, "Nowhere"), None);
    }
}
