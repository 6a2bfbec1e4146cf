//! Connecting an agent: a token made on the spot, and the exact text for the host it runs in.

use crate::answer::{Answer, faulty, html, see};
use crate::form::{Faults, Form, Params};
use crate::mark::icon;
use crate::shell::Shell;
use crate::visit::Visit;
use askama::Template;
use serde::Deserialize;
use spexus_domain::account::{NewToken, Scope, Token};
use spexus_domain::project::Project;
use spexus_domain::{Refusal, Uuid};
use spexus_http::pages::OwnAddress;
use spexus_service::account::token;
use spexus_service::{consent, project};

/// What stands where the token will be.
const PLACE: &str = "mcp_pat_…";

/// The hosts, and what is written for each; `URL` and `TOKEN` are put in.
const HOSTS: [Host; 7] = [
    Host {
        id: "claude-code",
        name: "Claude Code",
        file: "",
        text: "claude mcp add --transport http spexus URL \\\n  --header \"Authorization: Bearer TOKEN\"",
    },
    Host {
        id: "cursor",
        name: "Cursor",
        file: ".cursor/mcp.json",
        text: "{\n  \"mcpServers\": {\n    \"spexus\": {\n      \"url\": \"URL\",\n      \"headers\": { \"Authorization\": \"Bearer TOKEN\" }\n    }\n  }\n}",
    },
    Host {
        id: "vscode",
        name: "VS Code",
        file: ".vscode/mcp.json",
        text: "{\n  \"servers\": {\n    \"spexus\": {\n      \"type\": \"http\",\n      \"url\": \"URL\",\n      \"headers\": { \"Authorization\": \"Bearer TOKEN\" }\n    }\n  }\n}",
    },
    Host {
        id: "codex",
        name: "Codex",
        file: "~/.codex/config.toml",
        text: "[mcp_servers.spexus]\nurl = \"URL\"\nhttp_headers = { Authorization = \"Bearer TOKEN\" }",
    },
    Host {
        id: "gemini",
        name: "Gemini CLI",
        file: "~/.gemini/settings.json",
        text: "{\n  \"mcpServers\": {\n    \"spexus\": {\n      \"httpUrl\": \"URL\",\n      \"headers\": { \"Authorization\": \"Bearer TOKEN\" }\n    }\n  }\n}",
    },
    Host {
        id: "claude-desktop",
        name: "Claude Desktop",
        file: "claude_desktop_config.json",
        text: "{\n  \"mcpServers\": {\n    \"spexus\": {\n      \"command\": \"spexus\",\n      \"args\": [\"mcp\"],\n      \"env\": { \"BACKEND_API_URL\": \"BASE\", \"MCP_PAT_TOKEN\": \"TOKEN\" }\n    }\n  }\n}",
    },
    Host {
        id: "http",
        name: "HTTP",
        file: "",
        text: "POST URL\nAuthorization: Bearer TOKEN",
    },
];

struct Host {
    id: &'static str,
    name: &'static str,
    /// Where the text belongs; empty for a command.
    file: &'static str,
    text: &'static str,
}

#[derive(Template)]
#[template(path = "connect.html")]
struct ConnectPage {
    shell: Shell,
    hosts: Vec<(&'static Host, String)>,
    chosen: String,
    projects: Vec<Project>,
    project: String,
    name: String,
    once: Uuid,
    made: bool,
    faults: Faults,
    agents: Vec<Token>,
}

/// Where the agent is to work.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    project: Option<String>,
    host: Option<String>,
}

/// The page, with the place of the token left open.
pub(crate) async fn form(visit: Visit, OwnAddress(base): OwnAddress, Params(about): Params<About>) -> Answer {
    let mut page = page(&visit, &base, PLACE).await?;
    page.project = about.project.unwrap_or_default();
    page.chosen = about.host.unwrap_or(page.chosen);
    html(&page)
}

async fn page(visit: &Visit, base: &str, secret: &str) -> Answer<ConnectPage> {
    let written = |host: &'static Host| {
        let text = host.text.replace("URL", &format!("{base}/api/v1/mcp"));
        (host, text.replace("BASE", base).replace("TOKEN", secret))
    };
    let mut agents = token::list(visit.service(), &visit.caller, None).await?.data;
    agents.retain(|token| token.agent);
    Ok(ConnectPage {
        shell: visit.shell(visit.texts().connect_agent),
        hosts: HOSTS.iter().map(written).collect(),
        chosen: HOSTS[0].id.to_owned(),
        projects: project::list(visit.service(), &visit.caller).await?.data,
        project: String::new(),
        name: String::new(),
        once: Uuid::now_v7(),
        made: secret != PLACE,
        faults: Faults::default(),
        agents,
    })
}

/// What the agent is called and may do.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentRequest {
    #[serde(default)]
    host: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    project: String,
    #[serde(default)]
    scope: String,
    once: Uuid,
}

/// Makes the token and shows the texts with it, once.
//= specs/spexus-web.md#tokens
//# The secret of a token MUST be shown on the page that answers its making and on no other.
pub(crate) async fn make(
    visit: Visit,
    OwnAddress(base): OwnAddress,
    Form(wanted): Form<AgentRequest>,
) -> Answer {
    if !consent::claim(visit.service(), &visit.caller, &format!("form {}", wanted.once)).await? {
        return Ok(see("/connect"));
    }
    // An agent reads what others wrote and does what it reads: it never administers.
    let scope = if wanted.scope == Scope::Read.name() {
        Scope::Read
    } else {
        Scope::Write
    };
    let input = NewToken {
        name: wanted.name.clone(),
        scopes: vec![scope.name().to_owned()],
        project: Some(wanted.project.clone()).filter(|key| !key.is_empty()),
        agent: true,
        expires: None,
    };
    match token::create(visit.service(), &visit.caller, None, input).await {
        Ok(made) => {
            let mut page = page(&visit, &base, &made.token).await?;
            (page.chosen, page.project, page.name) = (wanted.host, wanted.project, wanted.name);
            html(&page)
        }
        Err(refusal) if refusal.faults.is_empty() => Err(refusal.into()),
        Err(refusal) => again(&visit, &base, wanted, &refusal).await,
    }
}

async fn again(visit: &Visit, base: &str, wanted: AgentRequest, refusal: &Refusal) -> Answer {
    let mut page = page(visit, base, PLACE).await?;
    (page.chosen, page.project, page.name) = (wanted.host, wanted.project, wanted.name);
    page.faults = Faults::of(refusal);
    faulty(&page, refusal)
}
