//! The tools: this file is their table of contents. A tool is a row; nothing registers itself elsewhere.

mod admin;
mod agent;
mod analysis;
mod baselines;
mod batch;
mod comments;
mod evidence;
mod items;
mod links;
mod members;
mod plans;
mod prompts;
mod run_prompt;
mod search;
mod spec;
mod structure;
mod vocabulary;
mod work;

pub(crate) use spec::{Call, Effect, Invocation, Run, Spec};

// Fulfils 003 R6.1, 003 R6.5, 003 R6.6, 003 R7.1, 003 R7.2
//= specs/spexus-mcp.md#tools
//# The core MUST have at most 25 tools, and its list at most 24 KB.
//= specs/spexus-mcp.md#tools
//# Without a choice of toolsets every tool the source documents name MUST be listed to those who may use it; `all` MUST list every tool.
//= specs/spexus-mcp.md#tools
//# The toolset `agent` MUST have at most 12 tools, and no others unless another toolset is chosen with it.
/// Every tool, in the order they are listed.
pub(crate) fn all() -> Vec<Spec> {
    let families = [
        agent::tools(),
        work::tools(),
        plans::tools(),
        search::tools(),
        items::tools(),
        structure::tools(),
        links::tools(),
        comments::tools(),
        batch::tools(),
        analysis::tools(),
        vocabulary::tools(),
        baselines::tools(),
        evidence::tools(),
        prompts::tools(),
        run_prompt::tools(),
        admin::tools(),
        members::tools(),
    ];
    families.into_iter().flatten().collect()
}
