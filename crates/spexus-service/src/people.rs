//! Finding users by name or id.

use spexus_domain::account::{Caller, User};
use spexus_domain::{Code, Refusal, Uuid, nearest, text};
use spexus_store::{Conn, Result, accounts};

/// A user by name, by id, or `me`.
pub(crate) async fn find(conn: &mut Conn, caller: &Caller, field: &str, wanted: &str) -> Result<User> {
    let wanted = wanted.trim();
    let found = if wanted.eq_ignore_ascii_case("me") {
        accounts::by_id(conn, caller.user_id).await?
    } else if let Ok(id) = Uuid::try_parse(wanted) {
        accounts::by_id(conn, id).await?
    } else {
        accounts::by_name(conn, wanted).await?.map(|found| found.user)
    };
    match found {
        Some(user) => Ok(user),
        None => {
            let all = accounts::all(conn).await?;
            // A long list of people helps nobody; the nearest name does.
            let names = all
                .iter()
                .filter(|user| user.active)
                .map(|user| user.username.as_str());
            let mut refusal = nearest::miss(field, wanted, names);
            if all.len() > 20 {
                refusal.faults[0].allowed = "the name of a user".into();
            }
            Err(refusal.into())
        }
    }
}

/// A user who can be given work.
pub(crate) async fn find_active(conn: &mut Conn, caller: &Caller, field: &str, wanted: &str) -> Result<User> {
    let user = find(conn, caller, field, wanted).await?;
    if user.active {
        return Ok(user);
    }
    let problem = format!("{} is disabled", text::excerpt(&user.username, 60));
    Err(Refusal::field(Code::RuleViolated, field, problem, "a user who is active").into())
}
