//! Accounts: who someone is ([`login`], [`token`]), and the management of users, tokens and passwords.

mod lockout;
pub mod login;
pub mod password;
pub mod session;
pub mod token;
pub mod user;
pub mod whoami;

use spexus_domain::account::{Caller, Role, Scope, User};
use spexus_domain::member::Memberships;
use spexus_store::{Conn, Result, accounts, members};

/// What an account may do at this moment.
#[derive(Clone, Debug)]
pub(crate) struct Rights {
    pub(crate) role: Role,
    pub(crate) memberships: Memberships,
    /// Whether the account can be used: it is active, and so is the owner of a service account.
    pub(crate) is_usable: bool,
}

impl Rights {
    /// Looks them up. A service account has what both it and its owner have.
    //= specs/spexus-service.md#service-accounts
    //# A service account MUST NOT have more rights than its owner has at the time of the request, in the installation or in any
    //# project.
    pub(crate) async fn of(conn: &mut Conn, user: &User) -> Result<Self> {
        let own = Self::alone(conn, user).await?;
        let Some(owner_id) = user.owner_id else {
            return Ok(own);
        };
        let Some(owner) = accounts::by_id(conn, owner_id).await? else {
            return Ok(Self {
                is_usable: false,
                ..own
            });
        };
        let owners = Self::alone(conn, &owner).await?;
        let memberships = match (own.role, owners.role) {
            (Role::Administrator, _) => owners.memberships,
            (_, Role::Administrator) => own.memberships,
            _ => own.memberships.meet(&owners.memberships),
        };
        Ok(Self {
            role: own.role.min(owners.role),
            memberships,
            //= specs/spexus-service.md#service-accounts
            //# A service account MUST NOT be usable while the account of its owner is disabled.
            is_usable: own.is_usable && owners.is_usable,
        })
    }

    async fn alone(conn: &mut Conn, user: &User) -> Result<Self> {
        let memberships = match user.role {
            // Everything everywhere: there is nothing to look up.
            Role::Administrator => Memberships::default(),
            role => members::of_account(conn, user.id, role).await?,
        };
        Ok(Self {
            role: user.role,
            memberships,
            is_usable: user.active,
        })
    }
}

/// A caller with all scopes of a user's role: a web session, or a local command.
pub(crate) fn caller(user: &User, rights: &Rights, client: String) -> Caller {
    Caller {
        user_id: user.id,
        username: user.username.clone(),
        role: rights.role,
        scope: Scope::Admin,
        token_id: None,
        bound_project: None,
        memberships: rights.memberships.clone(),
        is_agent: user.owner_id.is_some(),
        client,
    }
}
