//! Who may do what: one table of operations. Every service function names its operation and asks here, so a surface
//! cannot forget to. A caller needs the role — in the project it happens in, or in the installation — *and* a scope that
//! covers the operation.

use crate::{
    Code, Refusal, Ruled, Uuid,
    account::{Caller, Role, Scope},
    member::ProjectRole,
};

/// The least somebody has to be to do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Least {
    /// Whoever has an account.
    Anyone,
    /// Who is at least this in the project it happens in.
    In(ProjectRole),
    /// Who administers the installation.
    Administrator,
}

impl Least {
    const ANYONE: Least = Least::Anyone;
    const READER: Least = Least::In(ProjectRole::Reader);
    const COMMENTER: Least = Least::In(ProjectRole::Commenter);
    const REVIEWER: Least = Least::In(ProjectRole::Reviewer);
    const AUTHOR: Least = Least::In(ProjectRole::Author);
    const OWNER: Least = Least::In(ProjectRole::Owner);
    const ADMINISTRATOR: Least = Least::Administrator;
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident $least:ident $scope:ident)*) => {
        /// Something that can be done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Operation {
            $($(#[$doc])* $name,)*
        }

        impl Operation {
            /// All operations.
            pub const ALL: &'static [Operation] = &[$(Operation::$name,)*];

            /// The least it needs.
            pub const fn least(self) -> Least {
                match self { $(Operation::$name => Least::$least,)* }
            }

            /// The narrowest scope it needs.
            pub const fn scope(self) -> Scope {
                match self { $(Operation::$name => Scope::$scope,)* }
            }

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Operation::$name => stringify!($name),)* }
            }
        }
    };
}

#[rustfmt::skip]
operations! {
    /// Read items, trees, links, comments, history, baselines and members, and search.
    Read            READER        Read
    /// Read types, workflows, projects, prompts and the names of users.
    ReadSettings    ANYONE        Read
    /// Manage one's own tokens, password and sessions.
    OwnAccount      ANYONE        Admin
    /// Save, change and remove one's own views of a project.
    SaveView        READER        Write
    /// Share views with a project, and change and remove shared ones.
    ShareView       AUTHOR        Write
    /// Write, edit, resolve and remove one's own comments.
    Comment         COMMENTER     Comment
    /// Resolve any thread.
    ResolveComment  REVIEWER      Comment
    /// Say that a link still holds.
    ConfirmLink     REVIEWER      Write
    /// Edit or remove other people's comments.
    ModerateComment OWNER         Write
    /// Create items, alone or in a batch.
    CreateItem      AUTHOR        Write
    /// Change, move and assign items.
    UpdateItem      AUTHOR        Write
    /// Delete items, and what falls with them.
    DeleteItem      AUTHOR        Write
    /// Bring back deleted items.
    RestoreItem     AUTHOR        Write
    /// Create and remove links.
    Link            AUTHOR        Write
    /// Name a position in the history.
    CreateBaseline  AUTHOR        Write
    /// Push reports of tests, marks of sources and coverage.
    PushEvidence    AUTHOR        Evidence
    /// Confirm, affirm and waive evidence.
    ReviewEvidence  REVIEWER      Write
    /// Ask for reviews, ask again, and take them back.
    RequestReview   AUTHOR        Write
    /// Approve or reject what one is asked about.
    Review          REVIEWER      Write
    /// Change a project itself: its name, its attributes, its default role.
    UpdateProject   OWNER         Admin
    /// Say who is a member of a project, and as what.
    ManageMembers   OWNER         Admin
    /// Create, change and activate prompts.
    ManagePrompts   ADMINISTRATOR Admin
    /// Change requirement types, link types and workflows.
    ManageSettings  ADMINISTRATOR Admin
    /// Create projects.
    ManageProjects  ADMINISTRATOR Admin
    /// Create, change and disable accounts, groups, and other people's tokens.
    ManageUsers     ADMINISTRATOR Admin
    /// Read the audit trail and verify the chain.
    Audit           ADMINISTRATOR Admin
}

impl Operation {
    /// Whether it reaches beyond any one project, so that a token bound to a project cannot do it.
    pub const fn is_of_installation(self) -> bool {
        matches!(self.least(), Least::Administrator)
    }
}

impl Caller {
    /// Refuses what the caller may nowhere do, for want of a role, of a scope or of a token that reaches so far. Asked before
    /// anything is looked up. What happens in a project is also asked there, by [`Caller::may_in`]; reading needs nothing here,
    /// because whoever is no member finds nothing.
    pub fn may(&self, operation: Operation) -> Ruled<()> {
        //= specs/spexus-service.md#permissions
        //# A caller MUST have both the role and the scope of an operation.
        //= specs/spexus-http.md#permissions
        //# Every operation MUST refuse a caller whose role or scope is below the least one of that operation.
        match operation.least() {
            Least::Anyone | Least::In(ProjectRole::None | ProjectRole::Reader) => {}
            Least::In(least) => {
                let highest = self.visibility().highest();
                if highest < least {
                    return Err(self.lacks(operation, least.name(), highest.name()));
                }
            }
            Least::Administrator => {
                if self.role < Role::Administrator {
                    return Err(self.lacks(operation, Role::Administrator.name(), self.role.name()));
                }
            }
        }
        //= specs/spexus-service.md#evidence
        //# A token with the scope `evidence` MUST be able to push evidence and nothing else.
        if !self.scope.covers(operation.scope()) {
            let message = format!(
                "this token may not do this: it needs the scope {:?} and has {:?}",
                operation.scope().name(),
                self.scope.name()
            );
            let hint = format!("Use a token with the scope {:?}.", operation.scope().name());
            return Err(Refusal::new(Code::AuthzForbidden, message)
                .hint(hint)
                .fact("operation", operation.name()));
        }
        //= specs/spexus-service.md#permissions
        //# A token bound to a project MUST NOT administer the installation.
        if self.bound_project.is_some() && operation.is_of_installation() {
            let message = "this token is bound to a project and may not do what concerns all of them";
            return Err(Refusal::new(Code::AuthzForbidden, message)
                .hint("Use a token that is not bound to a project.")
                .fact("operation", operation.name()));
        }
        Ok(())
    }

    /// Refuses what the caller may not do in a project that the caller can see.
    //= specs/spexus-service.md#members
    //# What happens in a project MUST be refused to a member whose role there is below the least one of the operation.
    pub fn may_in(&self, operation: Operation, project_id: Uuid) -> Ruled<()> {
        self.may(operation)?;
        let role = self.visibility().role(project_id);
        match operation.least() {
            Least::In(least) if role < least => {
                let message = format!(
                    "{} may not do this in this project: it needs the role {}, and {} has {} there",
                    self.username,
                    least.name(),
                    self.username,
                    role.name()
                );
                Err(Refusal::new(Code::AuthzForbidden, message)
                    .hint("Ask an owner of the project.")
                    .fact("operation", operation.name()))
            }
            _ => Ok(()),
        }
    }

    fn lacks(&self, operation: Operation, least: &str, own: &str) -> Refusal {
        let message = format!(
            "{} may not do this: it needs the role {least}, and {} has {own}",
            self.username, self.username
        );
        Refusal::new(Code::AuthzForbidden, message).fact("operation", operation.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::{Membership, Memberships};

    const HERE: Uuid = Uuid::from_u128(1);
    const THERE: Uuid = Uuid::from_u128(2);

    fn caller(role: Role, scope: Scope) -> Caller {
        member(role, scope, ProjectRole::None)
    }

    fn member(role: Role, scope: Scope, here: ProjectRole) -> Caller {
        let membership = |project_id, role| Membership {
            project_id,
            key: String::new(),
            role,
        };
        Caller {
            user_id: Uuid::nil(),
            username: "kim".into(),
            role,
            scope,
            token_id: None,
            bound_project: None,
            memberships: Memberships::new(vec![
                membership(HERE, here),
                membership(THERE, ProjectRole::Owner),
            ]),
            is_agent: false,
            client: String::new(),
        }
    }

    /// What each role in a project may do there, in the words of people.
    const TABLE: &str = "
        operation        none reader commenter reviewer author owner administrator
        Read             -    +      +         +        +      +     +
        ReadSettings     +    +      +         +        +      +     +
        OwnAccount       +    +      +         +        +      +     +
        SaveView         -    +      +         +        +      +     +
        ShareView        -    -      -         -        +      +     +
        Comment          -    -      +         +        +      +     +
        ResolveComment   -    -      -         +        +      +     +
        ConfirmLink      -    -      -         +        +      +     +
        ModerateComment  -    -      -         -        -      +     +
        CreateItem       -    -      -         -        +      +     +
        UpdateItem       -    -      -         -        +      +     +
        DeleteItem       -    -      -         -        +      +     +
        RestoreItem      -    -      -         -        +      +     +
        Link             -    -      -         -        +      +     +
        CreateBaseline   -    -      -         -        +      +     +
        PushEvidence     -    -      -         -        +      +     +
        ReviewEvidence   -    -      -         +        +      +     +
        RequestReview    -    -      -         -        +      +     +
        Review           -    -      -         +        +      +     +
        UpdateProject    -    -      -         -        -      +     +
        ManageMembers    -    -      -         -        -      +     +
        ManagePrompts    -    -      -         -        -      -     +
        ManageSettings   -    -      -         -        -      -     +
        ManageProjects   -    -      -         -        -      -     +
        ManageUsers      -    -      -         -        -      -     +
        Audit            -    -      -         -        -      -     +
    ";

    //= specs/spexus-service.md#members
    //= type=test
    //# What happens in a project MUST be refused to a member whose role there is below the least one of the operation.
    #[test]
    fn every_operation_is_allowed_to_the_roles_of_the_table_and_to_no_other() {
        let mut rows = TABLE.lines().filter(|line| !line.trim().is_empty());
        let roles: Vec<&str> = rows.next().unwrap().split_whitespace().skip(1).collect();
        let mut seen = Vec::new();
        for row in rows {
            let cells: Vec<&str> = row.split_whitespace().collect();
            let operation = Operation::ALL.iter().find(|known| known.name() == cells[0]);
            let operation = *operation.unwrap_or_else(|| panic!("{} is no operation", cells[0]));
            for (role, cell) in roles.iter().zip(&cells[1..]) {
                let who = match *role {
                    "administrator" => caller(Role::Administrator, Scope::Admin),
                    role => member(Role::User, Scope::Admin, ProjectRole::parse("", role).unwrap()),
                };
                let allowed = who.may_in(operation, HERE).is_ok();
                assert_eq!(allowed, *cell == "+", "{operation:?} as {role}");
            }
            seen.push(operation);
        }
        assert_eq!(seen, Operation::ALL, "every operation has its row");
    }

    //= specs/spexus-service.md#permissions
    //= type=test
    //# A token bound to a project MUST NOT administer the installation.
    #[test]
    fn a_bound_token_does_not_administer() {
        let bound = Caller {
            bound_project: Some(HERE),
            ..caller(Role::Administrator, Scope::Admin)
        };
        let refused = Operation::ALL
            .iter()
            .filter(|operation| bound.may(**operation).is_err());
        let names: Vec<&str> = refused.map(|operation| operation.name()).collect();
        assert_eq!(
            names,
            [
                "ManagePrompts",
                "ManageSettings",
                "ManageProjects",
                "ManageUsers",
                "Audit"
            ]
        );
        assert!(bound.may_in(Operation::UpdateItem, THERE).is_err());
    }

    #[test]
    fn a_scope_never_gives_more_than_the_role_and_the_role_never_more_than_the_scope() {
        assert!(
            caller(Role::User, Scope::Admin)
                .may(Operation::ManageUsers)
                .is_err()
        );
        let refusal = caller(Role::Administrator, Scope::Read)
            .may(Operation::CreateItem)
            .unwrap_err();
        assert_eq!(refusal.code, Code::AuthzForbidden);
        assert_eq!(refusal.hint, "Use a token with the scope \"write\".");
    }

    //= specs/spexus-service.md#evidence
    //= type=test
    //# A token with the scope `evidence` MUST be able to push evidence and nothing else.
    #[test]
    fn a_token_for_evidence_pushes_it_and_does_nothing_else() {
        let ci = member(Role::Administrator, Scope::Evidence, ProjectRole::Owner);
        let may = Operation::ALL
            .iter()
            .filter(|operation| ci.may(**operation).is_ok());
        assert_eq!(
            may.map(|operation| operation.name()).collect::<Vec<_>>(),
            ["PushEvidence"]
        );
        let reader = member(Role::User, Scope::Read, ProjectRole::Owner);
        assert!(reader.may(Operation::PushEvidence).is_err());
        let writer = member(Role::User, Scope::Write, ProjectRole::Owner);
        assert!(writer.may(Operation::PushEvidence).is_ok());
    }

    #[test]
    fn whoever_may_nowhere_do_it_is_refused_before_anything_is_looked_up() {
        let nobody = Caller {
            memberships: Memberships::default(),
            ..caller(Role::User, Scope::Admin)
        };
        assert!(nobody.may(Operation::CreateItem).is_err());
        assert!(nobody.may(Operation::Read).is_ok(), "and finds nothing");
        assert!(nobody.may_in(Operation::Read, HERE).is_err());
    }
}
