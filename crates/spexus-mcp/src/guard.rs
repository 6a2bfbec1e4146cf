//! The gate: what a token may not use is neither listed nor run.

use crate::audit::{self, Watch};
use crate::guests::Guests;
use crate::tools::{Effect, Spec};
use crate::visit::Visit;
use crate::{Toolset, resources};
use mcp_runtime::{Access, Context, Entry, Guard};
use spexus_domain::account::{Caller, Role, Scope};
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Refusal, Ruled, Uuid};
use spexus_service::Service;
use std::collections::HashMap;
use std::sync::Arc;

/// What each tool needs.
#[derive(Clone, Copy)]
struct Need {
    toolset: Toolset,
    right: Operation,
    effect: Effect,
}

/// Decides by the visit a request belongs to.
#[derive(Clone)]
pub(crate) struct Gate {
    service: Service,
    tools: Arc<HashMap<&'static str, Need>>,
    guests: Guests,
}

impl Gate {
    pub(crate) fn new(service: &Service, tools: &[Spec], guests: &Guests) -> Self {
        let need = |tool: &Spec| Need {
            toolset: tool.toolset,
            right: tool.right,
            effect: tool.effect,
        };
        Self {
            service: service.clone(),
            tools: Arc::new(tools.iter().map(|tool| (tool.name, need(tool))).collect()),
            guests: guests.clone(),
        }
    }

    //= specs/mcp-apps.md#lists
    //# A tool of an app MUST be listed and allowed to those who may write, and to those who may only read when it says of itself that it only reads.
    fn need(&self, tool: &str) -> Option<Need> {
        let guest = |only_reads: bool| Need {
            toolset: Toolset::Core,
            right: if only_reads {
                Operation::Read
            } else {
                Operation::UpdateItem
            },
            effect: if only_reads { Effect::Read } else { Effect::Add },
        };
        let own = self.tools.get(tool).copied();
        own.or_else(|| self.guests.only_reads(tool).map(guest))
    }

    /// The tools of these that are listed to a visit, and what each does.
    pub(crate) fn listed(&self, visit: &Visit, tools: Vec<String>) -> Vec<(String, Effect)> {
        let audience = Audience::of(visit);
        let seen = |name: String| {
            let need = self.need(&name).filter(|need| audience.sees(need))?;
            Some((name, need.effect))
        };
        tools.into_iter().filter_map(seen).collect()
    }

    /// Whether a visit may call a tool.
    pub(crate) fn check_tool(&self, visit: &Visit, name: &str) -> Ruled<()> {
        let Some(need) = self.need(name) else {
            return Ok(());
        };
        //= specs/spexus-mcp.md#rights
        //# In read-only mode a tool that writes MUST be refused, whatever the token may do.
        if need.effect.writes() && visit.is_read_only() {
            let message = format!("{name} writes, and this connection is read-only");
            return Err(
                Refusal::new(Code::AuthzForbidden, message).hint("Connect without the read-only mode.")
            );
        }
        visit.caller().may(need.right)
    }

    fn check_creation(&self, visit: &Visit) -> Ruled<()> {
        if visit.is_read_only() {
            return Err(Refusal::new(Code::AuthzForbidden, "this connection is read-only"));
        }
        visit.caller().may(Operation::ManagePrompts)
    }
}

// Fulfils 003 R12.4
impl Guard for Gate {
    //= specs/spexus-mcp.md#rights
    //# Every tool, resource and prompt MUST be refused with 1014 to a token that lacks the right.
    fn check(&self, cx: &Context, access: Access<'_>) -> Result<(), Refusal> {
        let visit = Visit::of(cx)?;
        let caller = visit.caller();
        let (method, name, allowed) = match access {
            Access::CallTool(name) => ("tools/call", name, self.check_tool(visit, name)),
            Access::ReadResource(uri) => ("resources/read", uri, caller.may(Operation::Read)),
            Access::WatchResource(uri) => {
                // What the address of a file or of an app stands for is for those to say who look at them.
                let known = || {
                    if uri.starts_with("file:") || uri.starts_with("app://") {
                        Ok(())
                    } else {
                        resources::check(uri)
                    }
                };
                let allowed = caller.may(Operation::Read).and_then(|()| known());
                ("resources/subscribe", uri, allowed)
            }
            Access::GetPrompt(name) => ("prompts/get", name, caller.may(Operation::ReadSettings)),
            Access::CreatePrompt(name) => ("prompts/create", name, self.check_creation(visit)),
        };
        // What is let in is noted with its outcome when it is done; watching has no other outcome than this.
        if let Err(refusal) = &allowed {
            Watch::start(&self.service, &audit::caller(cx)?, method, name).stop(Err(refusal));
        } else if matches!(access, Access::WatchResource(_)) {
            Watch::start(&self.service, &audit::caller(cx)?, method, name).stop(Ok(()));
        }
        allowed
    }

    fn audience(&self, cx: &Context) -> Option<String> {
        // Whoever has no visit is shown what everyone may see, and is refused when it is used.
        Some(Visit::of(cx).map_or_else(|_| String::new(), |visit| Audience::of(visit).write()))
    }

    //= specs/spexus-mcp.md#rights
    //# A tool that is outside of the chosen toolsets, or that the token may not use, MUST NOT be listed.
    fn shows(&self, audience: &str, entry: Entry<'_>) -> bool {
        let Entry::Tool(name) = entry else { return true };
        match (Audience::read(audience), self.need(name)) {
            (Some(audience), Some(need)) => audience.sees(&need),
            _ => false,
        }
    }
}

/// Why people see different tools: the toolsets they chose and the rights they have. Few of them, so that each list is
/// written once.
struct Audience {
    toolsets: Vec<Toolset>,
    read_only: bool,
    role: Role,
    scope: Scope,
    is_bound: bool,
}

impl Audience {
    fn of(visit: &Visit) -> Self {
        let caller = visit.caller();
        Self {
            toolsets: visit.toolsets().to_vec(),
            read_only: visit.is_read_only(),
            role: caller.role,
            scope: caller.scope,
            is_bound: caller.bound_project.is_some(),
        }
    }

    fn sees(&self, need: &Need) -> bool {
        let somebody = Caller {
            user_id: Uuid::nil(),
            username: String::new(),
            role: self.role,
            scope: self.scope,
            token_id: None,
            bound_project: self.is_bound.then(Uuid::nil),
            client: String::new(),
        };
        need.toolset.is_in(&self.toolsets)
            && !(need.effect.writes() && self.read_only)
            && somebody.may(need.right).is_ok()
    }

    fn write(&self) -> String {
        let sets: Vec<&str> = self.toolsets.iter().map(|set| set.name()).collect();
        let (role, scope) = (self.role.name(), self.scope.name());
        format!(
            "{};{};{role};{scope};{}",
            sets.join(","),
            self.read_only,
            self.is_bound
        )
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(';');
        let mut next = || parts.next();
        Some(Self {
            toolsets: Toolset::parse_list("toolset", next()?).ok()?,
            read_only: next()? == "true",
            role: Role::parse("role", next()?).ok()?,
            scope: Scope::parse("scope", next()?).ok()?,
            is_bound: next()? == "true",
        })
    }
}
