//! The active prompt as a text for whoever says hello: a template that knows who asks, in which project, and the day.

use spexus_domain::account::Caller;
use std::collections::BTreeSet;

/// What a system prompt can speak of, as it stands between double braces.
pub(crate) const VARIABLES: [&str; 4] = ["project", "user", "role", "date"];

/// The words of a prompt, taken apart once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SystemPrompt(Vec<Piece>);

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A place in [`VARIABLES`].
    Variable(usize),
}

/// What the variables stand for.
pub(crate) struct Values<'a> {
    pub(crate) project: &'a str,
    pub(crate) caller: &'a Caller,
    /// As `2026-11-16`.
    pub(crate) date: &'a str,
}

impl SystemPrompt {
    /// Takes a text apart; gives the names of variables that mean nothing here. `\{{` writes the braces themselves.
    pub(crate) fn parse(text: &str) -> (Self, BTreeSet<String>) {
        let (mut pieces, mut unknown) = (Vec::new(), BTreeSet::new());
        let (mut plain, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            if let Some(before) = before.strip_suffix('\\') {
                plain.push_str(before);
                plain.push_str("{{");
                rest = after;
                continue;
            }
            plain.push_str(before);
            let Some((inner, remaining)) = after.split_once("}}") else {
                plain.push_str("{{");
                rest = after;
                break;
            };
            rest = remaining;
            match VARIABLES.iter().position(|name| *name == inner.trim()) {
                Some(at) => {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    pieces.push(Piece::Variable(at));
                }
                //= specs/spexus-mcp.md#saying-hello
                //# A variable of the active prompt that is none of these MUST be left as it stands and logged once.
                None => {
                    plain.push_str("{{");
                    plain.push_str(inner);
                    plain.push_str("}}");
                    unknown.insert(inner.trim().to_owned());
                }
            }
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        (Self(pieces), unknown)
    }

    /// Whether it speaks of the project, which may have to be looked up.
    pub(crate) fn names_project(&self) -> bool {
        self.0.contains(&Piece::Variable(0))
    }

    /// The text for somebody. A value goes in as it is and is never read as a template.
    //= specs/spexus-mcp.md#saying-hello
    //# In the active prompt `{{project}}`, `{{user}}`, `{{role}}` and `{{date}}` MUST stand for those of whoever says hello.
    pub(crate) fn render(&self, values: &Values<'_>) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            text.push_str(match piece {
                Piece::Text(plain) => plain,
                Piece::Variable(0) => values.project,
                Piece::Variable(1) => &values.caller.username,
                Piece::Variable(2) => values.caller.role.name(),
                Piece::Variable(_) => values.date,
            });
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spexus_domain::Uuid;
    use spexus_domain::account::{Role, Scope};
    use spexus_domain::member::Memberships;

    fn check(source: &str, expect: &str, left: &[&str]) {
        let caller = Caller {
            user_id: Uuid::nil(),
            username: "ann{{role}}".to_owned(),
            role: Role::User,
            scope: Scope::Write,
            token_id: None,
            bound_project: None,
            memberships: Memberships::default(),
            is_agent: false,
            client: String::new(),
        };
        let values = Values {
            project: "web",
            caller: &caller,
            date: "2026-11-16",
        };
        let (prompt, unknown) = SystemPrompt::parse(source);
        assert_eq!(prompt.render(&values), expect, "{source}");
        assert_eq!(unknown.iter().map(String::as_str).collect::<Vec<_>>(), left);
    }

    #[test]
    fn what_is_known_is_filled_in_and_the_rest_is_left() {
        check("", "", &[]);
        check("plain", "plain", &[]);
        check(
            "{{user}} is {{ role }} in {{project}} on {{date}}",
            "ann{{role}} is User in web on 2026-11-16",
            &[],
        );
        check(
            "{{who}} and {{user}}{{who}}",
            "{{who}} and ann{{role}}{{who}}",
            &["who"],
        );
        check("\\{{user}} {{user", "{{user}} {{user", &[]);
        check("a }} b {{}}", "a }} b {{}}", &[""]);
    }
}
