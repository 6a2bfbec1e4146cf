//! The gate: what a token may not use is neither listed nor run.

use crate::Toolset;
use crate::tools::Spec;
use crate::visit::Visit;
use mcp_runtime::{Access, Context, Guard};
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Refusal, Ruled};
use std::collections::HashMap;

/// What each tool needs.
struct Need {
    toolset: Toolset,
    right: Operation,
    writes: bool,
}

/// Decides by the visit a request belongs to.
pub(crate) struct Gate {
    tools: HashMap<&'static str, Need>,
}

impl Gate {
    pub(crate) fn new(tools: &[Spec]) -> Self {
        let need = |tool: &Spec| Need {
            toolset: tool.toolset,
            right: tool.right,
            writes: tool.effect.writes(),
        };
        Self {
            tools: tools.iter().map(|tool| (tool.name, need(tool))).collect(),
        }
    }

    fn check_tool(&self, visit: &Visit, name: &str) -> Ruled<()> {
        let Some(need) = self.tools.get(name) else {
            return Ok(());
        };
        //= specs/spexus-mcp.md#rights
        //# In read-only mode a tool that writes MUST be refused, whatever the token may do.
        if need.writes && visit.is_read_only() {
            let message = format!("{name} writes, and this connection is read-only");
            return Err(
                Refusal::new(Code::AuthzForbidden, message).hint("Connect without the read-only mode.")
            );
        }
        visit.caller().may(need.right)
    }
}

impl Guard for Gate {
    //= specs/spexus-mcp.md#rights
    //# Every tool, resource and prompt MUST be refused with 1014 to a token that lacks the right.
    fn check(&self, cx: &Context, access: Access<'_>) -> Result<(), Refusal> {
        let visit = Visit::of(cx)?;
        match access {
            Access::CallTool(name) => self.check_tool(visit, name),
            Access::ReadResource(_) | Access::WatchResource(_) => visit.caller().may(Operation::Read),
            Access::GetPrompt(_) => visit.caller().may(Operation::ReadSettings),
            Access::CreatePrompt(_) => visit.caller().may(Operation::ManagePrompts),
        }
    }
}
