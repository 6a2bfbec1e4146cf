//! Accounts: who there is, with which role, and whether they can be used.

use super::shell;
use crate::answer::{Answer, faulty, html, see};
use crate::form::{Faults, Form};
use crate::mark::{icon, person};
use crate::shell::Shell;
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::account::{NewUser, Role, UserPatch};
use spexus_domain::permission::Operation;
use spexus_service::account::user::{self, Profile};

#[derive(Template)]
#[template(path = "admin_users.html")]
struct UsersPage {
    shell: Shell,
    users: Vec<Profile>,
    roles: [Role; 3],
    username: String,
    faults: Faults,
}

async fn page(visit: &Visit) -> Answer<UsersPage> {
    Ok(UsersPage {
        shell: shell(visit, Operation::ManageUsers, visit.texts().users)?,
        users: user::names(visit.service(), &visit.caller).await?.data,
        roles: Role::ALL,
        username: String::new(),
        faults: Faults::default(),
    })
}

/// Whether an account has a role.
fn has_role(user: &Profile, role: &Role) -> bool {
    user.role == Some(*role)
}

/// The list.
pub(crate) async fn list(visit: Visit) -> Answer {
    html(&page(&visit).await?)
}

/// A new account.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserRequest {
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    role: String,
}

/// Makes an account.
pub(crate) async fn create(visit: Visit, Form(wanted): Form<UserRequest>) -> Answer {
    let input = NewUser {
        username: wanted.username.clone(),
        email: None,
        password: wanted.password,
        role: wanted.role,
        owner: None,
    };
    match user::create(visit.service(), &visit.caller, input).await {
        Ok(_) => Ok(see("/admin/users")),
        Err(refusal) if refusal.faults.is_empty() => Err(refusal.into()),
        Err(refusal) => {
            let again = UsersPage {
                username: wanted.username,
                faults: Faults::of(&refusal),
                ..page(&visit).await?
            };
            faulty(&again, &refusal)
        }
    }
}

/// What an account is to be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Changed {
    role: Option<String>,
    active: Option<bool>,
}

/// Changes the role of an account, or whether it can be used.
pub(crate) async fn update(visit: Visit, Path(name): Path<String>, Form(changed): Form<Changed>) -> Answer {
    let patch = UserPatch {
        role: changed.role,
        active: changed.active,
        ..UserPatch::default()
    };
    user::update(visit.service(), &visit.caller, &name, patch).await?;
    Ok(see("/admin/users"))
}
