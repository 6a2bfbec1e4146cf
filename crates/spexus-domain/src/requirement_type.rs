//! Types of requirements: data that any user reads by name.

use crate::{Ruled, text};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A type of requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RequirementType {
    /// Its name.
    pub name: String,
    /// What it means.
    #[serde(default)]
    pub description: String,
}

impl RequirementType {
    /// The types every installation starts with; the first is what requirements get when nobody says.
    pub fn shipped() -> Vec<Self> {
        [
            ("Functional", "What the product does."),
            (
                "Non-Functional",
                "How well it does it: speed, safety, ease of use.",
            ),
            (
                "Business Rule",
                "What the business demands, whatever the product.",
            ),
            ("Interface", "How it speaks to people and other systems."),
            ("Data", "What it keeps, and in which form."),
        ]
        .map(|(name, description)| Self {
            name: name.into(),
            description: description.into(),
        })
        .into()
    }

    /// Refuses names and texts that are empty or too long.
    pub fn check(&self) -> Ruled<()> {
        text::name("name", &self.name)?;
        text::description("description", &self.description).map(drop)
    }
}
