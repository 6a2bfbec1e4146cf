//! Who may do what: one table of operations. Every service function names its operation and asks here, so a surface
//! cannot forget to. A caller needs the role *and* a scope that covers the operation.

use crate::{
    Code, Refusal, Ruled,
    account::{Caller, Role, Scope},
};

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident $role:ident $scope:ident)*) => {
        /// Something that can be done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Operation {
            $($(#[$doc])* $name,)*
        }

        impl Operation {
            /// All operations.
            pub const ALL: &'static [Operation] = &[$(Operation::$name,)*];

            /// The least role it needs.
            pub const fn role(self) -> Role {
                match self { $(Operation::$name => Role::$role,)* }
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
    /// Read items, trees, links, comments, history and baselines, and search.
    Read            Commenter     Read
    /// Read types, workflows, projects, prompts and the names of users.
    ReadSettings    Commenter     Read
    /// Manage one's own tokens, password and sessions.
    OwnAccount      Commenter     Admin
    /// Write, edit, resolve and remove one's own comments.
    Comment         Commenter     Comment
    /// Resolve any thread.
    ResolveComment  User          Comment
    /// Edit or remove other people's comments.
    ModerateComment Administrator Write
    /// Create items, alone or in a batch.
    CreateItem      User          Write
    /// Change, move and assign items.
    UpdateItem      User          Write
    /// Delete items, and what falls with them.
    DeleteItem      User          Write
    /// Bring back deleted items.
    RestoreItem     User          Write
    /// Create, confirm and remove links.
    Link            User          Write
    /// Name a position in the history.
    CreateBaseline  User          Write
    /// Create, change and activate prompts.
    ManagePrompts   Administrator Admin
    /// Change requirement types, link types and workflows.
    ManageSettings  Administrator Admin
    /// Create and change projects.
    ManageProjects  Administrator Admin
    /// Create, change and disable accounts, and other people's tokens.
    ManageUsers     Administrator Admin
    /// Read the audit trail and verify the chain.
    Audit           Administrator Admin
}

impl Operation {
    /// Whether it reaches beyond any one project, so that a token bound to a project cannot do it.
    pub const fn is_of_installation(self) -> bool {
        matches!(
            self,
            Operation::ManagePrompts
                | Operation::ManageSettings
                | Operation::ManageProjects
                | Operation::ManageUsers
                | Operation::Audit
        )
    }
}

impl Caller {
    /// Refuses what role, scope or the token's project do not cover.
    pub fn may(&self, operation: Operation) -> Ruled<()> {
        //= specs/spexus-service.md#permissions
        //# A caller MUST have both the role and the scope of an operation.
        //= specs/spexus-http.md#permissions
        //# Every operation MUST refuse a caller whose role or scope is below the least one of that operation.
        if self.role < operation.role() {
            let message = format!(
                "{} may not do this: it needs the role {}, and {} has {}",
                self.username,
                operation.role().name(),
                self.username,
                self.role.name()
            );
            return Err(Refusal::new(Code::AuthzForbidden, message).fact("operation", operation.name()));
        }
        if self.scope < operation.scope() {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn caller(role: Role, scope: Scope) -> Caller {
        Caller {
            user_id: Uuid::nil(),
            username: "kim".into(),
            role,
            scope,
            token_id: None,
            bound_project: None,
            client: String::new(),
        }
    }

    #[test]
    fn an_administrator_with_all_scopes_may_do_everything_and_a_commenter_only_reads_and_comments() {
        for operation in Operation::ALL {
            assert!(caller(Role::Administrator, Scope::Admin).may(*operation).is_ok());
            let allowed = caller(Role::Commenter, Scope::Admin).may(*operation).is_ok();
            let expected = matches!(
                operation,
                Operation::Read | Operation::ReadSettings | Operation::Comment | Operation::OwnAccount
            );
            assert_eq!(allowed, expected, "{operation:?}");
        }
    }

    //= specs/spexus-service.md#permissions
    //= type=test
    //# A token bound to a project MUST NOT administer the installation.
    #[test]
    fn a_bound_token_does_not_administer() {
        let bound = Caller {
            bound_project: Some(Uuid::nil()),
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
}
