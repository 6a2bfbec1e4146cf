//! Accounts: who someone is ([`login`], [`token`]), and the management of users, tokens and passwords.

mod lockout;
pub mod login;
pub mod password;
pub mod token;
pub mod user;

use spexus_domain::account::{Caller, Scope, User};

/// A caller with all scopes of a user's role: a web session, or a local command.
pub(crate) fn caller(user: &User, client: String) -> Caller {
    Caller {
        user_id: user.id,
        username: user.username.clone(),
        role: user.role,
        scope: Scope::Admin,
        token_id: None,
        bound_project: None,
        client,
    }
}
