//! Projects: separate rooms with their own numbering. One, `default`, always exists, and nobody has to name it.

use crate::{
    Code, ProjectPrefix, Refusal, Ruled, Timestamp, attribute::AttributeRule, member::ProjectRole,
    page_key::PageKey,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// The key of the project that always exists.
pub const DEFAULT_KEY: &str = "default";

/// A project.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Project {
    /// Its id.
    pub id: Uuid,
    /// What people and URLs call it: lower-case letters, digits and dashes.
    pub key: String,
    /// Its name.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// The attributes its items may carry; empty means any.
    pub attributes: Vec<AttributeRule>,
    /// What whoever has an account is in it; `none` closes it to all but its members.
    pub default_role: ProjectRole,
    /// Whether the references of its items are shown with its key before them: `WEB-REQ-012`.
    pub prefix_references: bool,
    /// Grows with every change of the project itself.
    pub rev: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

impl Project {
    /// What stands before the references of its items in answers.
    pub fn prefix(&self) -> ProjectPrefix {
        ProjectPrefix::of(self.prefix_references.then_some(self.key.as_str()))
    }
}

impl PageKey for Project {
    fn page_key(&self) -> String {
        self.key.clone()
    }
}

/// What is needed to make a project.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewProject {
    /// 1 to 40 lower-case letters, digits and dashes.
    pub key: String,
    /// Its name; the key when left out.
    pub name: Option<String>,
    /// What it is about.
    #[serde(default)]
    pub description: String,
    /// The attributes its items may carry; empty means any.
    #[serde(default)]
    pub attributes: Vec<AttributeRule>,
    /// What whoever has an account is in it: author, reviewer, commenter, reader or none; as the installation has it when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_role: Option<String>,
    /// Whether the references of its items are shown with its key before them: `WEB-REQ-012`.
    #[serde(default)]
    pub prefix_references: bool,
}

/// What can be changed about a project; a field left out stays as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectPatch {
    /// Its name.
    pub name: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// The attributes its items may carry.
    pub attributes: Option<Vec<AttributeRule>>,
    /// What whoever has an account is in it: author, reviewer, commenter, reader or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_role: Option<String>,
    /// Whether the references of its items are shown with its key before them: `WEB-REQ-012`. What is stored stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix_references: Option<bool>,
    /// The revision this change was made against.
    pub expect_rev: Option<i64>,
}

/// Reads what whoever has an account is to be in a project. Nobody becomes an owner that way: an owner was named.
pub fn default_role(field: &str, text: &str) -> Ruled<ProjectRole> {
    match ProjectRole::parse(field, text)? {
        ProjectRole::Owner => Err(Refusal::field(
            Code::InvalidParams,
            field,
            "owner is given by name",
            "author, reviewer, commenter, reader or none",
        )),
        role => Ok(role),
    }
}

/// Reads a project key; letter case does not matter.
pub fn key(field: &str, text: &str) -> Ruled<String> {
    let key = text.trim().to_lowercase();
    let fits = (1..=40).contains(&key.len())
        && key
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !key.starts_with('-');
    if fits {
        return Ok(key);
    }
    let problem = format!("{:?} is not a project key", crate::text::excerpt(text, 60));
    Err(Refusal::field(
        Code::InvalidParams,
        field,
        problem,
        "1 to 40 lower-case letters, digits and dashes",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_plain_and_of_one_letter_case() {
        assert_eq!(key("key", " Web-2 ").unwrap(), "web-2");
        for bad in ["", "-a", "a b", "ü", "a/b", &"x".repeat(41)] {
            assert!(key("key", bad).is_err(), "{bad:?}");
        }
    }
}
