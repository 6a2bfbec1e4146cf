//! Hints that name a command of the product. The table of refusals is general and gives a hint for any server; where there is
//! a command for what to do next, whoever refuses says so.

/// For a token that is not known, or no more.
pub const WRONG_TOKEN: &str =
    "Send a valid token as `Authorization: Bearer mcp_pat_…`; create one with `spexus token create`.";
/// For a request without a token.
pub const NO_TOKEN: &str =
    "Send a token as `Authorization: Bearer mcp_pat_…`; create one with `spexus token create`.";
/// For a token whose time is over.
pub const EXPIRED_TOKEN: &str = "Log in again, or create a new token with `spexus token create`.";
/// For a wrong name or password.
pub const WRONG_PASSWORD: &str =
    "Check the user name and the password; an administrator can reset it with `spexus user password`.";
