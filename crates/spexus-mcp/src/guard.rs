//! The gate: what a token may not use is neither listed nor run.

use crate::app_tools::AppTools;
use crate::audit::{self, AuditEntry};
use crate::tools::{Effect, Spec};
use crate::visit::Visit;
use crate::{McpOptions, Toolset, prompts};
use mcp_server::{Access, Context, Entry, Guard};
use spexus_domain::account::{Caller, Role, Scope};
use spexus_domain::member::{Membership, Memberships, ProjectRole};
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Refusal, Ruled, Uuid, text};
use spexus_service::Service;
use std::collections::HashMap;
use std::sync::Arc;

/// What each tool needs.
#[derive(Clone, Copy)]
struct Need {
    toolset: Toolset,
    lean: bool,
    right: Operation,
    effect: Effect,
}

/// Decides by the visit a request belongs to.
#[derive(Clone)]
pub(crate) struct Gate {
    service: Service,
    tools: Arc<HashMap<&'static str, Need>>,
    app_tools: AppTools,
    /// Whether tokens bound to a project may use what belongs to the installation: file roots and apps.
    shares: bool,
}

impl Gate {
    pub(crate) fn new(service: &Service, tools: &[Spec], app_tools: &AppTools, options: &McpOptions) -> Self {
        let need = |tool: &Spec| Need {
            toolset: tool.toolset,
            lean: tool.lean,
            right: tool.right,
            effect: tool.effect,
        };
        Self {
            service: service.clone(),
            tools: Arc::new(tools.iter().map(|tool| (tool.name, need(tool))).collect()),
            app_tools: app_tools.clone(),
            shares: options.share_with_bound_tokens,
        }
    }

    //= specs/mcp-apps.md#lists
    //# A tool of an app MUST be listed and allowed to those who may write, and to those who may only read when it only reads and the operator trusts the app to say so.
    fn need(&self, tool: &str) -> Option<Need> {
        let guest = |only_reads: bool| Need {
            toolset: Toolset::Core,
            lean: false,
            right: if only_reads {
                Operation::Read
            } else {
                Operation::UpdateItem
            },
            effect: if only_reads { Effect::Read } else { Effect::Add },
        };
        let own = self.tools.get(tool).copied();
        own.or_else(|| self.app_tools.only_reads(tool).map(guest))
    }

    /// The tools of these that are listed to a visit, and what each does.
    pub(crate) fn listed(&self, visit: &Visit, tools: Vec<String>) -> Vec<(String, Effect)> {
        let audience = Audience::of(visit);
        let tools = tools.into_iter();
        let tools = tools.filter(|name| self.tools.contains_key(name.as_str()) || !self.is_shut_out(visit));
        let seen = |name: String| {
            let need = self.need(&name).filter(|need| audience.sees(need))?;
            Some((name, need.effect))
        };
        tools.filter_map(seen).collect()
    }

    /// Whether a visit may use what belongs to the installation and to no project.
    //= specs/spexus-mcp.md#rights
    //# File roots and apps belong to no project: a token bound to one MUST NOT see or use them, unless the operator says so.
    pub(crate) fn is_shut_out(&self, visit: &Visit) -> bool {
        visit.is_shut_out(self.shares)
    }

    /// Refuses what is not for tokens of one project, as if it were not there.
    fn check_shared(&self, visit: &Visit, code: Code, what: &str, name: &str) -> Ruled<()> {
        match self.is_shut_out(visit) {
            true => {
                let name = text::excerpt(name, 100);
                Err(Refusal::new(code, format!("there is no {what} {name:?}")))
            }
            false => Ok(()),
        }
    }

    fn check_resource(&self, visit: &Visit, uri: &str) -> Ruled<()> {
        visit.caller().may(Operation::Read)?;
        match is_shared(uri) {
            true => self.check_shared(visit, Code::ResourceNotFound, "resource", uri),
            false => Ok(()),
        }
    }

    fn check_prompt(&self, cx: &Context, visit: &Visit, name: &str) -> Ruled<()> {
        visit.caller().may(Operation::ReadSettings)?;
        let of_app = !prompts::is_own(name) && cx.server().has_prompt(name);
        match of_app {
            true => self.check_shared(visit, Code::PromptNotFound, "prompt", name),
            false => Ok(()),
        }
    }

    /// Whether a visit may call a tool.
    pub(crate) fn check_tool(&self, visit: &Visit, name: &str) -> Ruled<()> {
        let Some(need) = self.need(name) else {
            return Ok(());
        };
        if !self.tools.contains_key(name) {
            self.check_shared(visit, Code::ToolNotFound, "tool", name)?;
        }
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
        let (method, name, allowed) = match access {
            Access::CallTool(name) => ("tools/call", name, self.check_tool(visit, name)),
            Access::ReadResource(uri) if uri.starts_with("app:") => {
                ("resources/read", "app", self.check_resource(visit, uri))
            }
            // Whether it is there and may be seen is for those to say who look. It is noted when it is answered.
            Access::ReadResource(uri) | Access::SubscribeResource(uri) => {
                return self.check_resource(visit, uri);
            }
            Access::GetPrompt(name) => ("prompts/get", name, self.check_prompt(cx, visit, name)),
            Access::CreatePrompt(name) => ("prompts/create", name, self.check_creation(visit)),
        };
        // What is let in is noted with its outcome when it is done.
        if allowed.is_err() {
            let outcome = allowed.as_ref().copied();
            AuditEntry::start(&self.service, &audit::caller(cx)?, method, name).stop(outcome);
        }
        allowed
    }

    fn tenant(&self, cx: &Context) -> Option<String> {
        tenants(Visit::of(cx).ok()?.caller().visibility().projects())
    }

    fn audience(&self, cx: &Context) -> Option<String> {
        // Whoever has no visit is shown what everyone may see, and is refused when it is used.
        Some(Visit::of(cx).map_or_else(|_| String::new(), audience))
    }

    //= specs/spexus-mcp.md#rights
    //# A tool that is outside of the chosen toolsets, or that the token may not use, MUST NOT be listed.
    fn shows(&self, audience: &str, entry: Entry<'_>) -> bool {
        let audience = Audience::read(audience);
        let is_shared = match entry {
            Entry::Tool(name) => !self.tools.contains_key(name),
            Entry::Resource(uri) | Entry::Template(uri) => is_shared(uri),
            Entry::Prompt(name) => !prompts::is_own(name),
            Entry::Family(name) => name == "roots" || name == "apps",
        };
        let is_bound = audience.as_ref().is_none_or(|audience| audience.is_bound);
        if is_shared && is_bound && !self.shares {
            return false;
        }
        match (entry, audience) {
            (Entry::Tool(name), Some(audience)) => self.need(name).is_some_and(|need| audience.sees(&need)),
            (Entry::Tool(_), None) => false,
            (Entry::Family(name), audience) => audience.is_some_and(|audience| audience.may_use(name)),
            _ => true,
        }
    }
}

/// The projects that are seen as the runtime keeps them, unless it is every one.
pub(crate) fn tenants(projects: Option<Vec<Uuid>>) -> Option<String> {
    let ids: Vec<String> = projects?.iter().map(Uuid::to_string).collect();
    Some(match ids.is_empty() {
        // Nothing at all would read as everything.
        true => Uuid::nil().to_string(),
        false => ids.join(" "),
    })
}

/// Who sees the same as this visit.
pub(crate) fn audience(visit: &Visit) -> String {
    Audience::of(visit).write()
}

/// Whether an address is of a file or of an app, which belong to the installation.
fn is_shared(uri: &str) -> bool {
    uri.starts_with("file:") || uri.starts_with("app:")
}

/// Why people see different tools: the toolsets they chose and the rights they have. Few of them, so that each list is
/// written once.
struct Audience {
    toolsets: Vec<Toolset>,
    read_only: bool,
    role: Role,
    /// The most they are in any project.
    highest: ProjectRole,
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
            highest: caller.visibility().highest(),
            scope: caller.scope,
            is_bound: caller.bound_project.is_some(),
        }
    }

    fn sees(&self, need: &Need) -> bool {
        need.toolset.is_in(need.lean, &self.toolsets)
            && !(need.effect.writes() && self.read_only)
            && self.may(need.right)
    }

    /// Whether a family outside of MCP is declared to them: nobody is promised what they would be refused.
    //= specs/spexus-mcp.md#saying-hello
    //# A family of methods the token may not use MUST NOT be declared to it.
    fn may_use(&self, family: &str) -> bool {
        match family {
            "prompts/create" => !self.read_only && self.may(Operation::ManagePrompts),
            "apps" => self.may(Operation::ReadSettings),
            _ => true,
        }
    }

    fn may(&self, right: Operation) -> bool {
        let somebody = Caller {
            user_id: Uuid::nil(),
            username: String::new(),
            role: self.role,
            scope: self.scope,
            token_id: None,
            bound_project: self.is_bound.then(Uuid::nil),
            memberships: Memberships::new(vec![Membership {
                project_id: Uuid::nil(),
                key: String::new(),
                role: self.highest,
            }]),
            is_agent: false,
            client: String::new(),
        };
        somebody.may(right).is_ok()
    }

    fn write(&self) -> String {
        let sets: Vec<&str> = self.toolsets.iter().map(|set| set.name()).collect();
        let (role, scope) = (self.role.name(), self.scope.name());
        let highest = self.highest.name();
        format!(
            "{};{};{role};{highest};{scope};{}",
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
            highest: ProjectRole::parse("role", next()?).ok()?,
            scope: Scope::parse("scope", next()?).ok()?,
            is_bound: next()? == "true",
        })
    }
}
