//! Typed links between items. A link type says how it reads in both directions, which kinds it may join, and whether
//! following it may lead back to where one started.

use crate::visibility::Visibility;
use crate::{Code, Kind, Refusal, Ruled, ShownReference, Timestamp, nearest, text::Faults};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A type of link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkType {
    /// How it reads from the source: `depends_on`.
    pub name: String,
    /// How it reads from the target: `is_required_by`. The same as the name when it has no direction.
    pub inverse: String,
    /// What it means.
    #[serde(default)]
    pub description: String,
    /// The kinds it may start from; empty means any.
    #[serde(default)]
    pub sources: Vec<Kind>,
    /// The kinds it may point to; empty means any.
    #[serde(default)]
    pub targets: Vec<Kind>,
    /// Whether links of this type may not form a cycle.
    #[serde(default)]
    pub acyclic: bool,
}

/// A link between two items, as it reads from its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Link {
    /// Its id.
    pub id: Uuid,
    /// The name of its type.
    #[serde(rename = "type")]
    pub link_type: String,
    /// How it reads from the target.
    pub inverse: String,
    /// Where it starts.
    pub source: LinkEnd,
    /// Where it points.
    pub target: LinkEnd,
    /// Whether an end was edited since someone last confirmed the link.
    pub suspect: bool,
    /// Who made it.
    pub created_by: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LinkEnd {
    /// The item.
    pub id: Uuid,
    /// Its reference id.
    pub reference_id: ShownReference,
    /// The key of its project.
    pub project: String,
    /// The project, for programs.
    #[serde(skip)]
    pub project_id: Uuid,
    /// Its kind.
    pub kind: Kind,
    /// Its title.
    pub title: String,
}

/// What stands for an end in a project the caller may not see.
pub const HIDDEN_END: &str = "(another project)";

impl Link {
    /// Whether a caller may see both ends, and so the link.
    pub fn is_visible(&self, to: Visibility<'_>) -> bool {
        to.sees(self.source.project_id) && to.sees(self.target.project_id)
    }

    /// What people call it: `REQ-001 blocks REQ-002`, with the projects where it leads from one into another. An end
    /// the caller may not see has no name.
    pub fn label(&self, to: Visibility<'_>) -> String {
        let across = self.source.project_id != self.target.project_id;
        let name = |end: &LinkEnd| match (to.sees(end.project_id), across) {
            (false, _) => HIDDEN_END.to_owned(),
            (true, true) => end.reference_id.in_project(&end.project),
            (true, false) => end.reference_id.to_string(),
        };
        format!("{} {} {}", name(&self.source), self.link_type, name(&self.target))
    }
}

/// What is needed to make a link.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLink {
    /// Where it starts: any id.
    #[serde(alias = "source_id", alias = "source_requirement_id")]
    pub source: String,
    /// Where it points: any id.
    #[serde(alias = "target_id", alias = "target_requirement_id")]
    pub target: String,
    /// The name of its type, or the inverse name, which swaps the ends.
    #[serde(rename = "type", alias = "link_type", alias = "relationship_type")]
    pub link_type: String,
}

impl LinkType {
    /// The types every installation starts with.
    pub fn shipped() -> Vec<Self> {
        use Kind::{
            AcceptanceCriterion as Ac, Epic, Requirement as Req, SteeringDocument as Std, UserStory as Story,
        };
        let row =
            |name: &str, inverse: &str, sources: &[Kind], targets: &[Kind], acyclic, description: &str| {
                Self {
                    name: name.into(),
                    inverse: inverse.into(),
                    description: description.into(),
                    sources: sources.to_vec(),
                    targets: targets.to_vec(),
                    acyclic,
                }
            };
        let work = [Epic, Story, Req];
        vec![
            row(
                "depends_on",
                "is_required_by",
                &work,
                &work,
                true,
                "The source cannot be done before the target.",
            ),
            row(
                "blocks",
                "is_blocked_by",
                &work,
                &work,
                true,
                "The source keeps the target from going on.",
            ),
            row(
                "relates_to",
                "relates_to",
                &[],
                &[],
                false,
                "The two have to do with each other.",
            ),
            row(
                "conflicts_with",
                "conflicts_with",
                &[Story, Req],
                &[Story, Req],
                false,
                "The two cannot both hold.",
            ),
            row(
                "derives_from",
                "is_source_of",
                &[Req],
                &[Req, Std],
                true,
                "The source follows from the target.",
            ),
            row(
                "refines",
                "is_refined_by",
                &[Story, Req],
                &[Epic, Story, Req],
                true,
                "The source says the target in more detail.",
            ),
            row(
                "verifies",
                "is_verified_by",
                &[Ac],
                &[Req],
                false,
                "The source shows that the target is fulfilled.",
            ),
            row(
                "guides",
                "is_guided_by",
                &[Std],
                &[Epic],
                false,
                "The target follows the source.",
            ),
        ]
    }

    /// Whether it reads the same from both ends.
    pub fn is_symmetric(&self) -> bool {
        self.name == self.inverse
    }

    /// Refuses a type that contradicts itself.
    pub fn check(&self) -> Ruled<()> {
        let mut faults = Faults::default();
        for (field, name) in [("name", &self.name), ("inverse", &self.inverse)] {
            faults.take(crate::text::name(field, name));
            if name.chars().any(|c| !(c.is_alphanumeric() || c == '_')) {
                faults.add(
                    field,
                    format!("{:?} has other characters", crate::text::excerpt(name, 60)),
                    "letters, digits and underscores",
                );
            }
        }
        faults.take(crate::text::description("description", &self.description));
        if self.is_symmetric() && self.acyclic {
            faults.add(
                "acyclic",
                "a type without direction always leads back",
                "false, or another inverse name",
            );
        }
        if self.is_symmetric() && self.sources != self.targets {
            faults.add(
                "targets",
                "differ from the sources of a type without direction",
                "the same kinds as sources",
            );
        }
        faults.refuse()
    }

    /// Refuses ends of kinds this type does not join, and an item linked to itself.
    pub fn check_ends(&self, source: (Uuid, Kind), target: (Uuid, Kind)) -> Ruled<()> {
        if source.0 == target.0 {
            return Err(Refusal::field(
                Code::RuleViolated,
                "target",
                "an item cannot be linked to itself",
                "another item",
            ));
        }
        for (field, kinds, kind) in [
            ("source", &self.sources, source.1),
            ("target", &self.targets, target.1),
        ] {
            if !kinds.is_empty() && !kinds.contains(&kind) {
                let allowed = kinds
                    .iter()
                    .map(|kind| kind.rules().label)
                    .collect::<Vec<_>>()
                    .join(", ");
                let problem = format!("{:?} cannot have {} as {field}", self.name, kind.rules().label);
                return Err(Refusal::field(
                    Code::RuleViolated,
                    field,
                    problem,
                    format!("one of: {allowed}"),
                ));
            }
        }
        Ok(())
    }

    /// The refusal for a link that would close a cycle.
    pub fn cycle(&self, source: &ShownReference, target: &ShownReference) -> Refusal {
        let problem = format!(
            "{target} already {} {source}, directly or through others",
            self.name
        );
        Refusal::field(
            Code::RuleViolated,
            "target",
            problem,
            "an end that does not lead back",
        )
        .hint("Remove a link of the cycle first, or use a type that may form cycles, such as relates_to.")
    }
}

/// Finds a type by its name or its inverse name; the flag says that the ends must be swapped.
pub fn find_type<'a>(types: &'a [LinkType], wanted: &str) -> Ruled<(&'a LinkType, bool)> {
    if let Some(found) = nearest::find(types, |t| &t.name, wanted) {
        return Ok((found, false));
    }
    match nearest::find(types, |t| &t.inverse, wanted) {
        Some(found) => Ok((found, true)),
        None => Err(nearest::miss(
            "type",
            wanted,
            types.iter().map(|t| t.name.as_str()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reference;

    #[test]
    fn shipped_types_are_sound_and_unique() {
        let types = LinkType::shipped();
        for (at, link_type) in types.iter().enumerate() {
            assert_eq!(link_type.check(), Ok(()));
            assert!(!types[..at].iter().any(|earlier| earlier.name == link_type.name));
        }
    }

    #[test]
    fn a_link_is_seen_by_who_sees_both_ends_and_names_no_other() {
        let [own, other] = [Uuid::from_u128(1), Uuid::from_u128(2)];
        let end = |project: &str, project_id, number| LinkEnd {
            id: Uuid::from_u128(number),
            reference_id: Reference::of_kind(Kind::Requirement, number as i64).into(),
            project: project.into(),
            project_id,
            kind: Kind::Requirement,
            title: "Opens at once".into(),
        };
        let link = |source, target| Link {
            id: Uuid::from_u128(9),
            link_type: "blocks".into(),
            inverse: "is_blocked_by".into(),
            source,
            target,
            suspect: false,
            created_by: "ada".into(),
            created_at: Timestamp(0),
        };
        let within = link(end("web", own, 1), end("web", own, 2));
        let out = link(end("web", own, 1), end("app", other, 2));
        let back = link(end("app", other, 2), end("web", own, 1));
        for (link, to, visible, label) in [
            (&within, Visibility::EVERY, true, "REQ-001 blocks REQ-002"),
            (&out, Visibility::EVERY, true, "web/REQ-001 blocks app/REQ-002"),
            (&within, Visibility::bound_to(own), true, "REQ-001 blocks REQ-002"),
            (
                &out,
                Visibility::bound_to(own),
                false,
                "web/REQ-001 blocks (another project)",
            ),
            (
                &back,
                Visibility::bound_to(own),
                false,
                "(another project) blocks web/REQ-001",
            ),
        ] {
            assert_eq!(link.is_visible(to), visible, "{label}");
            assert_eq!(link.label(to), label);
        }
    }

    #[test]
    fn the_inverse_name_swaps_the_ends() {
        let types = LinkType::shipped();
        assert_eq!(
            find_type(&types, "IS REQUIRED BY").map(|(t, swap)| (t.name.as_str(), swap)),
            Ok(("depends_on", true))
        );
        assert_eq!(
            find_type(&types, "depend_on").unwrap_err().hint,
            "Did you mean \"depends_on\"?"
        );
    }

    #[test]
    fn self_links_and_wrong_kinds_are_refused() {
        let types = LinkType::shipped();
        let verifies = find_type(&types, "verifies").unwrap().0;
        let [a, b] = [Uuid::from_u128(1), Uuid::from_u128(2)];
        assert!(
            verifies
                .check_ends((a, Kind::AcceptanceCriterion), (b, Kind::Requirement))
                .is_ok()
        );
        assert_eq!(
            verifies
                .check_ends((a, Kind::Epic), (b, Kind::Requirement))
                .unwrap_err()
                .faults[0]
                .field,
            "source"
        );
        assert_eq!(
            verifies
                .check_ends((a, Kind::Requirement), (a, Kind::Requirement))
                .unwrap_err()
                .faults[0]
                .field,
            "target"
        );
    }

    #[test]
    fn a_type_without_direction_cannot_forbid_cycles() {
        let mut odd = LinkType::shipped().remove(2);
        odd.acyclic = true;
        assert!(odd.check().is_err());
    }
}
