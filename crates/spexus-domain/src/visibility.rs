//! Which projects a caller may see: one question, asked here and nowhere else. What is not visible does not exist for
//! the caller: it is not found, not counted, not named and not touched.

use crate::account::{Caller, Role};
use crate::member::{Memberships, ProjectRole};
use uuid::Uuid;

/// The projects a caller may see: those the caller is a member of, and of these the one a token is bound to.
#[derive(Clone, Copy, Debug)]
pub struct Visibility<'a> {
    bound: Option<Uuid>,
    /// None for whoever is everything everywhere.
    memberships: Option<&'a Memberships>,
}

impl Visibility<'static> {
    /// The project a token of an administrator is bound to.
    pub const fn bound_to(project_id: Uuid) -> Self {
        Visibility {
            bound: Some(project_id),
            memberships: None,
        }
    }
}

impl Visibility<'_> {
    /// Every project of the installation.
    pub const EVERY: Visibility<'static> = Visibility {
        bound: None,
        memberships: None,
    };

    /// What the caller is in a project.
    pub fn role(self, project_id: Uuid) -> ProjectRole {
        if self.bound.is_some_and(|bound| bound != project_id) {
            return ProjectRole::None;
        }
        match self.memberships {
            None => ProjectRole::Owner,
            Some(memberships) => memberships.role(project_id),
        }
    }

    /// Whether a project may be seen.
    pub fn sees(self, project_id: Uuid) -> bool {
        self.role(project_id) > ProjectRole::None
    }

    /// Whether nothing is hidden, so that nothing has to be looked for.
    pub fn is_complete(self) -> bool {
        self.bound.is_none() && self.memberships.is_none()
    }

    /// The most the caller is in any project.
    pub fn highest(self) -> ProjectRole {
        match (self.bound, self.memberships) {
            (Some(bound), _) => self.role(bound),
            (None, None) => ProjectRole::Owner,
            (None, Some(memberships)) => memberships.highest(),
        }
    }

    /// The projects that may be seen, unless it is every one.
    pub fn projects(self) -> Option<Vec<Uuid>> {
        let seen = |id: &Uuid| self.sees(*id);
        match (self.bound, self.memberships) {
            (None, None) => None,
            (Some(bound), _) => Some([bound].into_iter().filter(seen).collect()),
            (None, Some(memberships)) => Some(memberships.iter().map(|own| own.project_id).collect()),
        }
    }
}

impl Caller {
    /// The projects this caller may see.
    //= specs/spexus-service.md#members
    //# A project MUST NOT exist for a caller who is no member of it, on any surface.
    pub fn visibility(&self) -> Visibility<'_> {
        Visibility {
            bound: self.bound_project,
            memberships: (self.role < Role::Administrator).then_some(&self.memberships),
        }
    }

    /// Whether this caller may see a project.
    pub fn sees(&self, project_id: Uuid) -> bool {
        self.visibility().sees(project_id)
    }

    /// The id of the project of a key, when it can be told without looking it up: nobody but administrators has to be told
    /// apart what does not exist and what may not be seen.
    pub fn project_by_key(&self, key: &str) -> Option<Uuid> {
        self.memberships.by_key(key).filter(|id| self.sees(*id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::Membership;

    #[test]
    fn what_is_seen_is_where_one_is_a_member_and_the_token_works() {
        let (own, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let all = Visibility::EVERY;
        assert!(all.sees(own) && all.is_complete() && all.projects().is_none());
        let bound = Visibility::bound_to(own);
        assert!(bound.sees(own) && !bound.sees(other) && !bound.is_complete());
        let membership = |project_id, role| Membership {
            project_id,
            key: String::new(),
            role,
        };
        let memberships = Memberships::new(vec![
            membership(other, ProjectRole::Reader),
            membership(own, ProjectRole::None),
        ]);
        let member = Visibility {
            bound: None,
            memberships: Some(&memberships),
        };
        assert!(member.sees(other) && !member.sees(own) && !member.is_complete());
        assert_eq!(member.projects(), Some(vec![other]));
        // Bound to a project one is no longer a member of: nothing is left.
        let neither = Visibility {
            bound: Some(own),
            ..member
        };
        assert!(!neither.sees(other) && !neither.sees(own));
        assert_eq!(
            (neither.highest(), neither.projects()),
            (ProjectRole::None, Some(vec![]))
        );
    }
}
