//! Who belongs to a project, and as what. A project does not exist for whoever is no member of it.

use crate::account::{Role, User};
use crate::{Ruled, Timestamp, Uuid, nearest, page_key::PageKey};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// What somebody is in one project; a later one includes those before it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ProjectRole {
    /// No member: the project does not exist for them, whatever groups they are in.
    #[default]
    None,
    /// Reads.
    Reader,
    /// Also comments.
    Commenter,
    /// Also settles threads and confirms links.
    Reviewer,
    /// Also writes.
    Author,
    /// Also says who is a member, and changes the project itself.
    Owner,
}

impl ProjectRole {
    /// All roles, least rights first.
    pub const ALL: [ProjectRole; 6] = [
        ProjectRole::None,
        ProjectRole::Reader,
        ProjectRole::Commenter,
        ProjectRole::Reviewer,
        ProjectRole::Author,
        ProjectRole::Owner,
    ];

    /// As it stands in JSON and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            ProjectRole::None => "none",
            ProjectRole::Reader => "reader",
            ProjectRole::Commenter => "commenter",
            ProjectRole::Reviewer => "reviewer",
            ProjectRole::Author => "author",
            ProjectRole::Owner => "owner",
        }
    }

    /// Reads a role by name, in any letter case.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        nearest::find(&ProjectRole::ALL, |role| role.name(), text)
            .copied()
            .ok_or_else(|| nearest::miss(field, text, ProjectRole::ALL.iter().map(|role| role.name())))
    }

    /// The most an account can be in any project.
    pub const fn at_most(account: Role) -> Self {
        match account {
            Role::Commenter => ProjectRole::Commenter,
            Role::User | Role::Administrator => ProjectRole::Owner,
        }
    }
}

/// What is known of an account and a project, before it is decided what the account is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// What whoever has an account is there.
    pub default_role: ProjectRole,
    /// What the account was made there by name.
    pub own: Option<ProjectRole>,
    /// The most that a group of the account is there.
    pub group: Option<ProjectRole>,
}

impl Standing {
    /// What an account is in the project: an administrator everything; else what it was made by name when that is nothing, or
    /// the most of its own role, its groups' and everybody's; never more than the account's role allows.
    //= specs/spexus-service.md#members
    //# An account MUST have in a project the greatest of the role it was given there by name, those of its groups and the project's
    //# default role, MUST have none where it was given none by name, and MUST NOT have more than its role in the installation allows.
    pub fn role(&self, account: Role) -> ProjectRole {
        if account == Role::Administrator {
            return ProjectRole::Owner;
        }
        if self.own == Some(ProjectRole::None) {
            return ProjectRole::None;
        }
        let given = self.own.max(self.group).unwrap_or_default();
        given.max(self.default_role).min(ProjectRole::at_most(account))
    }
}

/// A project that exists for somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The project.
    pub project_id: Uuid,
    /// Its key.
    pub key: String,
    /// What the account is there; never none.
    pub role: ProjectRole,
}

/// The projects that exist for an account, in the order of their ids. Shared, because every request carries it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memberships(Arc<[Membership]>);

impl Memberships {
    /// Those of these that exist at all.
    pub fn new(mut all: Vec<Membership>) -> Self {
        all.retain(|membership| membership.role > ProjectRole::None);
        all.sort_unstable_by_key(|membership| membership.project_id);
        Self(all.into())
    }

    /// What the account is in a project.
    pub fn role(&self, project_id: Uuid) -> ProjectRole {
        let found = self
            .0
            .binary_search_by_key(&project_id, |membership| membership.project_id);
        found.map_or(ProjectRole::None, |at| self.0[at].role)
    }

    /// The project of a key, as far as it exists for the account.
    pub fn by_key(&self, key: &str) -> Option<Uuid> {
        let found = self.0.iter().find(|membership| membership.key == key);
        found.map(|membership| membership.project_id)
    }

    /// The most the account is anywhere.
    pub fn highest(&self) -> ProjectRole {
        let roles = self.0.iter().map(|membership| membership.role);
        roles.max().unwrap_or_default()
    }

    /// The only project there is for the account, when there is just one.
    pub fn only(&self) -> Option<Uuid> {
        match &*self.0 {
            [only] => Some(only.project_id),
            _ => None,
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Membership> {
        self.0.iter()
    }

    /// What both accounts have: of each project that both see the lesser role.
    //= specs/spexus-service.md#service-accounts
    //# A service account MUST NOT have more rights than its owner has at the time of the request, in the installation or in any
    //# project.
    pub fn meet(&self, other: &Self) -> Self {
        let lesser = |own: &Membership| Membership {
            role: own.role.min(other.role(own.project_id)),
            ..own.clone()
        };
        Self::new(self.0.iter().map(lesser).collect())
    }
}

/// A member of a project, as it is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Member {
    /// The name of the user, or `group:` and the name of the group.
    pub member: String,
    /// The id of the user or of the group.
    pub id: Uuid,
    /// What they were made here.
    pub role: ProjectRole,
    /// Since when they are what they are.
    pub since: Timestamp,
}

impl PageKey for Member {
    fn page_key(&self) -> String {
        self.member.to_lowercase()
    }
}

/// What somebody is to be in a project.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMember {
    /// owner, author, reviewer, commenter, reader, or none to shut somebody out.
    pub role: String,
}

/// A named set of users, who are in a project what the set is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Group {
    /// Its id.
    pub id: Uuid,
    /// Its name, unique.
    pub name: String,
    /// Who is in it, by name.
    pub users: Vec<String>,
    /// Grows with every change.
    pub rev: i64,
    /// When it was made.
    pub created_at: Timestamp,
}

impl PageKey for Group {
    fn page_key(&self) -> String {
        self.name.clone()
    }
}

/// What is needed to make a group.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewGroup {
    /// Its name: lower-case letters, digits, `-` and `_`.
    pub name: String,
}

/// What a member of a project is called that is a group.
pub const GROUP_PREFIX: &str = "group:";

/// Refuses to give an account what its role in the installation does not allow: it would be told to have what it has not.
pub fn check_role(user: &User, role: ProjectRole) -> Ruled<()> {
    let most = ProjectRole::at_most(user.role);
    if role <= most {
        return Ok(());
    }
    let problem = format!(
        "{} is more than the account {} may be: it is a {}",
        role.name(),
        user.username,
        user.role.name()
    );
    Err(crate::Refusal::field(
        crate::Code::RuleViolated,
        "role",
        problem,
        format!("{} at most", most.name()),
    )
    .hint("Change the role of the account first."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(default_role: &str, own: &str, group: &str) -> Standing {
        let role = |name: &str| ProjectRole::parse("role", name).unwrap();
        let given = |name: &str| (!name.is_empty()).then(|| role(name));
        Standing {
            default_role: role(default_role),
            own: given(own),
            group: given(group),
        }
    }

    //= specs/spexus-service.md#members
    //= type=test
    //# An account MUST have in a project the greatest of the role it was given there by name, those of its groups and the project's
    //# default role, MUST have none where it was given none by name, and MUST NOT have more than its role in the installation allows.
    #[test]
    fn a_role_is_the_greatest_given_and_never_more_than_the_account() {
        let cases = [
            ("none", "", "", Role::User, "none"),
            ("none", "reader", "", Role::User, "reader"),
            ("none", "", "author", Role::User, "author"),
            ("author", "reader", "", Role::User, "author"),
            ("reader", "commenter", "reviewer", Role::User, "reviewer"),
            ("author", "none", "owner", Role::User, "none"),
            ("none", "owner", "", Role::Commenter, "commenter"),
            ("author", "", "", Role::Commenter, "commenter"),
            ("none", "", "none", Role::User, "none"),
            ("none", "none", "", Role::Administrator, "owner"),
        ];
        for (default_role, own, group, account, expected) in cases {
            let found = standing(default_role, own, group).role(account);
            assert_eq!(found.name(), expected, "{default_role} {own} {group} {account:?}");
        }
    }

    //= specs/spexus-service.md#service-accounts
    //= type=test
    //# A service account MUST NOT have more rights than its owner has at the time of the request, in the installation or in any
    //# project.
    #[test]
    fn what_two_accounts_have_together_is_the_lesser_of_both() {
        let of = |roles: &[(u128, ProjectRole)]| {
            Memberships::new(
                roles
                    .iter()
                    .map(|(id, role)| Membership {
                        project_id: Uuid::from_u128(*id),
                        key: id.to_string(),
                        role: *role,
                    })
                    .collect(),
            )
        };
        let service = of(&[
            (1, ProjectRole::Owner),
            (2, ProjectRole::Reader),
            (3, ProjectRole::Author),
        ]);
        let owner = of(&[
            (1, ProjectRole::Reviewer),
            (2, ProjectRole::Owner),
            (4, ProjectRole::Owner),
        ]);
        let both = service.meet(&owner);
        assert_eq!(both, of(&[(1, ProjectRole::Reviewer), (2, ProjectRole::Reader)]));
        assert_eq!(both, owner.meet(&service));
        assert_eq!(both.highest(), ProjectRole::Reviewer);
        assert_eq!(both.by_key("3"), None);
        assert_eq!(both.only(), None);
    }
}
