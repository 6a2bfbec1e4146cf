//! What the reference in `docs/` tells of resources and prompts: the rows of the same tables that serve them.

use crate::{Toolset, prompts, resources, tools};

/// A tool's place among the toolsets.
pub struct ToolEntry {
    /// Its name.
    pub name: &'static str,
    /// The group it belongs to.
    pub toolset: Toolset,
}

/// A form of address.
pub struct AddressEntry {
    /// The address or its pattern.
    pub address: String,
    /// What stands there.
    pub description: String,
}

/// A prompt of the product.
pub struct PromptEntry {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub description: &'static str,
    /// When one would pick it.
    pub scenario: &'static str,
    /// Name, meaning and whether it is required.
    pub arguments: Vec<(&'static str, &'static str, bool)>,
}

// Fulfils 003 R17.3, 003 R17.4, 003 R17.5, 003 R17.6, 003 R17.7, 003 R17.8
/// Every tool, in the order of the list.
pub fn tools() -> Vec<ToolEntry> {
    let entry = |tool: tools::Spec| ToolEntry {
        name: tool.name,
        toolset: tool.toolset,
    };
    tools::all().into_iter().map(entry).collect()
}

/// Every form of address.
pub fn addresses() -> Vec<AddressEntry> {
    let fixed = resources::COLLECTIONS
        .into_iter()
        .map(|(address, _, description)| AddressEntry {
            address: address.to_owned(),
            description: description.to_owned(),
        });
    let forms = resources::forms().into_iter().map(|form| AddressEntry {
        address: form.template,
        description: form.description,
    });
    forms.chain(fixed).collect()
}

/// Every prompt of the product.
pub fn prompts() -> Vec<PromptEntry> {
    let entry = |row: &'static prompts::Row| PromptEntry {
        name: row.name,
        description: row.description,
        scenario: row.scenario,
        arguments: prompts::arguments(row).collect(),
    };
    prompts::ROWS.iter().map(entry).collect()
}
