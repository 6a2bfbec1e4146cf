//! Who acts: users with a role, tokens with scopes, and the caller that results from both.

use crate::member::Memberships;
use crate::{Code, Refusal, Ruled, Timestamp, nearest, page_key::PageKey};
use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::ToSchema;
use uuid::Uuid;

/// What every personal access token begins with.
pub const TOKEN_PREFIX: &str = "mcp_pat_";

/// What a person may do at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub enum Role {
    /// Reads everything and comments.
    Commenter,
    /// Also writes.
    User,
    /// Also manages users, settings and prompts.
    Administrator,
}

impl Role {
    /// All roles, least rights first.
    pub const ALL: [Role; 3] = [Role::Commenter, Role::User, Role::Administrator];

    /// As it stands in JSON and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Commenter => "Commenter",
            Role::User => "User",
            Role::Administrator => "Administrator",
        }
    }

    /// Reads a role by name, in any letter case.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        nearest::find(&Role::ALL, |role| role.name(), text)
            .copied()
            .ok_or_else(|| nearest::miss(field, text, Role::ALL.iter().map(|role| role.name())))
    }
}

/// What a token may be used for; a broader scope includes the narrower ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Pushing evidence, and nothing else: for CI.
    Evidence,
    /// Reading.
    Read,
    /// Reading and commenting.
    Comment,
    /// Reading, commenting and writing.
    Write,
    /// Everything the user's role allows.
    Admin,
}

impl Scope {
    /// All scopes, narrowest first.
    pub const ALL: [Scope; 5] = [
        Scope::Evidence,
        Scope::Read,
        Scope::Comment,
        Scope::Write,
        Scope::Admin,
    ];

    /// Whether whoever has it may do what needs another. Evidence stands beside the others: writing includes it, reading does not.
    pub fn covers(self, needed: Scope) -> bool {
        match needed {
            Scope::Evidence => self == Scope::Evidence || self >= Scope::Write,
            _ => self >= needed,
        }
    }

    /// As it stands in JSON and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Evidence => "evidence",
            Scope::Read => "read",
            Scope::Comment => "comment",
            Scope::Write => "write",
            Scope::Admin => "admin",
        }
    }

    /// Reads a scope by name, in any letter case.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        nearest::find(&Scope::ALL, |scope| scope.name(), text)
            .copied()
            .ok_or_else(|| nearest::miss(field, text, Scope::ALL.iter().map(|scope| scope.name())))
    }
}

/// A person with an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct User {
    /// Its id.
    pub id: Uuid,
    /// The name to log in and to be mentioned by, unique.
    pub username: String,
    /// The e-mail address, unique when given.
    pub email: Option<String>,
    /// What the person may do.
    pub role: Role,
    /// Whether the account can be used; a disabled one keeps its history.
    pub active: bool,
    /// Whose service account it is: a program's, which has no password and never more rights than this person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// That person, for programs.
    #[serde(skip)]
    pub owner_id: Option<Uuid>,
    /// Grows with every change.
    pub rev: i64,
    /// When the account was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// What is needed to make an account.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// The name to log in by.
    pub username: String,
    /// The e-mail address.
    pub email: Option<String>,
    /// The first password; a service account has none.
    #[serde(default)]
    pub password: String,
    /// What the person may do: Administrator, User or Commenter.
    pub role: String,
    /// Makes a service account for a program, which belongs to this person and never has more rights.
    #[serde(default)]
    pub owner: Option<String>,
}

impl fmt::Debug for NewUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewUser")
            .field("username", &self.username)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// What can be changed about an account; a field left out stays as it is.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserPatch {
    /// The name to log in by.
    pub username: Option<String>,
    /// The e-mail address.
    pub email: Option<String>,
    /// What the person may do.
    pub role: Option<String>,
    /// Whether the account can be used.
    pub active: Option<bool>,
    /// The revision this change was made against.
    pub expect_rev: Option<i64>,
}

/// A personal access token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Token {
    /// Its id.
    pub id: Uuid,
    /// Whose it is.
    pub user: String,
    /// What its owner calls it.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// The only project it works in, when it is bound to one.
    pub project: Option<String>,
    /// That project, for programs.
    #[serde(skip)]
    pub project_id: Option<Uuid>,
    /// Whether an agent holds it: it was marked so, or is a service account's.
    pub agent: bool,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl PageKey for Token {
    fn page_key(&self) -> String {
        self.id.to_string()
    }
}

/// What is needed to make a token.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What its owner calls it, unique among the owner's tokens.
    pub name: String,
    /// What it may be used for; reading when left out.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The only project it works in.
    pub project: Option<String>,
    /// Whether an agent is to hold it; tokens of service accounts are always an agent's.
    #[serde(default)]
    pub agent: bool,
    /// When it stops working: a time, a length such as `90d` or `12h`, or `never`; after 90 days when left out.
    pub expires: Option<String>,
}

/// Who makes a request, with what rights: the result of checking a token, a session, or a local command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The user.
    pub user_id: Uuid,
    /// The user's name.
    pub username: String,
    /// The user's role now, not when the token was made.
    pub role: Role,
    /// The broadest scope of the token; sessions and local commands have all.
    pub scope: Scope,
    /// The token used, if one was.
    pub token_id: Option<Uuid>,
    /// The project everything happens in when the token is bound to one.
    pub bound_project: Option<Uuid>,
    /// What the user is in each project now; administrators are everything everywhere.
    pub memberships: Memberships,
    /// Whether an agent asks: with a token of a service account, or with one marked so.
    pub is_agent: bool,
    /// The program that speaks for the user, already cleaned for logs.
    pub client: String,
}

/// Reads when a token stops working: a point in time, or a length counted from `now`. The past is refused.
//= specs/spexus-service.md#tokens
//# A token MUST NOT be made with an expiry that has passed.
pub fn expiry(field: &str, text: &str, now: Timestamp) -> Ruled<Timestamp> {
    let at = match length_seconds(text) {
        Some(seconds) => now.plus_seconds(seconds),
        None => Timestamp::parse(field, text)?,
    };
    if at > now {
        return Ok(at);
    }
    let problem = format!("{:?} is not in the future", crate::text::excerpt(text, 60));
    Err(Refusal::field(
        Code::InvalidParams,
        field,
        problem,
        "a later time, or a length such as 90d",
    ))
}

/// Reads a length such as `90d` or `12h`.
pub fn length_seconds(text: &str) -> Option<i64> {
    let text = text.trim();
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    let count: i64 = text[..text.len() - 1]
        .parse()
        .ok()
        .filter(|count| (0..=100_000).contains(count))?;
    Some(count * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_is_a_time_or_a_length_and_never_past() {
        let now = Timestamp(1_000_000_000_000_000);
        assert_eq!(
            expiry("expires", "90d", now).unwrap(),
            now.plus_seconds(90 * 86_400)
        );
        assert_eq!(
            expiry("expires", "2001-10-09", now).unwrap().to_string(),
            "2001-10-09T00:00:00.000000Z"
        );
        for bad in ["0d", "2001-01-01", "-5d", "soon", "99999999999d", "é", ""] {
            assert_eq!(
                expiry("expires", bad, now).unwrap_err().faults[0].field,
                "expires",
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_password_never_reaches_a_debug_print() {
        let user = NewUser {
            username: "a".into(),
            email: None,
            password: "hunter22".into(),
            role: "User".into(),
            owner: None,
        };
        assert!(!format!("{user:?}").contains("hunter22"));
    }
}
