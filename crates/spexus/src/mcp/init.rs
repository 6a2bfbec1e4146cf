//! `spexus mcp init`: from nothing to a connection that works.

use super::{World, config};
use crate::commands::input;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use bytes::Bytes;
use clap::Args;
use http::Method;
use mcp_client::HttpReply;
use mcp_protocol::OfferedVersions;
use serde_json::{Map, Value, json};
use spexus_bridge::{BackendUrl, BearerToken, BridgeLimits, BridgeSettings};
use spexus_domain::{Code, Refusal, text};
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Duration;

/// How long a step may take.
const STEP_TIMEOUT: Duration = Duration::from_secs(15);
const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// What the wizard asks for, where it is not given.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The address of the server
    #[arg(long)]
    url: Option<String>,
    /// The name to log in by
    #[arg(long)]
    username: Option<String>,
    /// Reads the password from the first line of standard input
    #[arg(long)]
    password_stdin: bool,
    /// Reads an existing token from the first line of standard input instead of logging in
    #[arg(long, conflicts_with_all = ["username", "password_stdin"])]
    token_stdin: bool,
    /// What the new token is called
    #[arg(long, value_name = "LABEL", default_value = "AI host")]
    token_name: String,
    /// What the new token may be used for: read, comment, write, admin; write when left out
    #[arg(long = "scope", value_delimiter = ',')]
    scopes: Vec<String>,
    /// When the new token stops working: a time, a length such as 90d, or never; 90d when left out
    #[arg(long)]
    expires: Option<String>,
    /// Sends the password and the token over plain HTTP to another machine, where others can read them
    #[arg(long)]
    allow_http: bool,
}

// Fulfils 003 R17.2
pub(super) fn run(world: &World, wanted: &Init, output: Output) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(Box::pin(wizard(world, wanted)))?;
    output.show(&done, |done| {
        format!(
            "Connected to {} {} at {}: {} tools.\n{}Written to ~/.requirements-mcp/config.json, readable by you only.\n\
             Next: spexus mcp install claude-desktop|claude-code|cursor|vscode|codex|gemini",
            done["server"].as_str().unwrap_or_default(),
            done["version"].as_str().unwrap_or_default(),
            done["url"].as_str().unwrap_or_default(),
            done["tools"],
            rights(done)
        )
    })
}

/// What the new token may be used for, in a line of its own.
fn rights(done: &Value) -> String {
    match (
        done["user"].as_str(),
        done["scopes"].as_str(),
        done["expires_at"].as_str(),
    ) {
        (Some(user), Some(scopes), expires) => {
            let until = expires.map_or_else(|| "until it is revoked".to_owned(), |at| format!("until {at}"));
            format!("The host acts as {user} with the scope {scopes}, {until}.\n")
        }
        _ => String::new(),
    }
}

async fn wizard(world: &World, wanted: &Init) -> Outcome<Value> {
    let endpoint = endpoint(wanted).await?;
    let mut made = Value::Null;
    let token = if wanted.token_stdin {
        let given = input::first_line()?;
        BearerToken::parse(&given).ok_or_else(|| Failure::argument("token", "is no token", "mcp_pat_…"))?;
        given.trim().to_owned()
    } else {
        made = new_token(&endpoint, wanted).await?;
        made["token"].as_str().map(str::to_owned).ok_or_else(odd)?
    };
    // The trial comes first: a file that does not work would only hide what is wrong.
    let settings = settings(&endpoint, BearerToken::parse(&token));
    let trial = tokio::time::timeout(STEP_TIMEOUT, spexus_bridge::trial(&settings)).await;
    let (server, version, tools) = trial
        .unwrap_or_else(|_| Err("it took too long".to_owned()))
        .map_err(|problem| {
            Failure::unavailable(
                format!("the handshake with {} failed: {problem}", endpoint.base()),
                "Check that the address is that of a Spexus server and that the token is valid.",
            )
        })?;
    save(&config::path(world), &endpoint, &token)?;
    let scopes = made["scopes"].as_array().map(|scopes| {
        let names: Vec<&str> = scopes.iter().filter_map(Value::as_str).collect();
        names.join(",")
    });
    Ok(json!({
        "url": endpoint.base(), "server": server, "version": version, "tools": tools,
        "file": "~/.requirements-mcp/config.json",
        "user": made["user"], "scopes": scopes, "expires_at": made["expires_at"],
    }))
}

/// Asks for the address until a Spexus server answers there.
async fn endpoint(wanted: &Init) -> Outcome<BackendUrl> {
    let allowed = "the address of a Spexus server, such as https://spexus.example.org";
    let given = match &wanted.url {
        Some(url) => url.clone(),
        None => asked("--url", &format!("Server [{DEFAULT_URL}]: "), DEFAULT_URL)?,
    };
    let endpoint = BackendUrl::parse(&given).ok_or_else(|| {
        Failure::argument(
            "url",
            format!("{:?} is no address", text::excerpt(&given, 80)),
            allowed,
        )
    })?;
    if endpoint.is_exposed() && !wanted.allow_http {
        let problem = format!(
            "{} is another machine, and plain HTTP can be read on the way",
            endpoint.base()
        );
        return Err(Failure::argument(
            "url",
            problem,
            "an https:// address, or --allow-http",
        ));
    }
    let (status, _) = send(&endpoint, None, Method::GET, "/health/live", &Value::Null).await?;
    if status != 200 {
        let problem = format!(
            "{} answers with status {status}, which no Spexus server does",
            endpoint.base()
        );
        return Err(Failure::unavailable(problem, "Check the address."));
    }
    Ok(endpoint)
}

/// What an agent needs to work, and no more.
const DEFAULT_SCOPE: &str = "write";
const DEFAULT_EXPIRY: &str = "90d";

/// Logs in, makes a token, and logs out.
//= specs/spexus-bridge.md#connecting-a-host
//# `spexus mcp init` MUST make a token with the scope `write` that lasts 90 days unless something else is asked for, and say so.
async fn new_token(endpoint: &BackendUrl, wanted: &Init) -> Outcome<Value> {
    let username = match &wanted.username {
        Some(name) => name.clone(),
        None => named("--username", "User (one who is no administrator is enough): ")?,
    };
    let scopes = match wanted.scopes.as_slice() {
        [] => vec![chosen("Scope: read, comment, write or admin", DEFAULT_SCOPE)?],
        given => given.to_vec(),
    };
    let expires = match &wanted.expires {
        Some(given) => given.clone(),
        None => chosen("The token works for", DEFAULT_EXPIRY)?,
    };
    let password = match wanted.password_stdin {
        true => input::first_line()?,
        false => {
            need_terminal("--password-stdin")?;
            input::ask("Password: ")?
        }
    };
    let login = json!({ "username": username, "password": password });
    let session = expect(send(endpoint, None, Method::POST, "/api/v1/auth/login", &login).await?)?;
    let session = session["token"]
        .as_str()
        .and_then(BearerToken::parse)
        .ok_or_else(odd)?;
    let made = json!({ "name": wanted.token_name, "scopes": scopes, "expires": expires, "agent": true });
    let made = send(endpoint, Some(&session), Method::POST, "/api/v1/tokens", &made).await;
    // The session was only for this; if it cannot be ended now it ends by itself.
    let _ = send(
        endpoint,
        Some(&session),
        Method::POST,
        "/api/v1/auth/logout",
        &Value::Null,
    )
    .await;
    expect(made?)
}

fn odd() -> Failure {
    Failure::unavailable(
        "the server's answer has no token in it",
        "Check that the address is that of a Spexus server.",
    )
}

fn settings(endpoint: &BackendUrl, token: Option<BearerToken>) -> BridgeSettings {
    BridgeSettings {
        backend: endpoint.clone(),
        token,
        request_timeout: STEP_TIMEOUT,
        max_retries: 0,
        name: spexus_bridge::NAME.to_owned(),
        title: spexus_bridge::TITLE.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        versions: OfferedVersions::default(),
        headers: Vec::new(),
        limits: BridgeLimits::default(),
    }
}

async fn send(
    endpoint: &BackendUrl,
    token: Option<&BearerToken>,
    method: Method,
    path: &str,
    body: &Value,
) -> Outcome<(u16, Value)> {
    let unreachable = |problem: String| {
        Failure::unavailable(
            format!("{} cannot be reached: {problem}", endpoint.base()),
            "Check the address, and that the server runs (`spexus serve`).",
        )
    };
    let backend = spexus_bridge::endpoint(&settings(endpoint, token.cloned()))
        .map_err(|error| unreachable(error.to_string()))?;
    let to = endpoint
        .at(path)
        .ok_or_else(|| unreachable("it is no address".into()))?;
    let body = if body.is_null() {
        Bytes::new()
    } else {
        body.to_string().into()
    };
    let reply = tokio::time::timeout(STEP_TIMEOUT, backend.request(method, to, body)).await;
    match reply {
        Err(_) => Err(unreachable("it does not answer".into())),
        Ok(Err(error)) => Err(unreachable(error.to_string())),
        Ok(Ok(HttpReply::Events { .. })) => Ok((200, Value::Null)),
        Ok(Ok(HttpReply::Text { status, body, .. })) => {
            Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
        }
    }
}

/// A refusal of the server, told as our own.
fn expect((status, body): (u16, Value)) -> Outcome<Value> {
    if status < 400 {
        return Ok(body);
    }
    let error = &body["error"];
    let number = error["refusal"]
        .as_u64()
        .or_else(|| error["code"].as_u64())
        .unwrap_or_default();
    let code = u16::try_from(number).ok().and_then(Code::from_number);
    let code = code.unwrap_or(if status == 401 {
        Code::AuthFailed
    } else {
        Code::ServiceUnavailable
    });
    let message = error["message"].as_str().map_or_else(
        || format!("the server answered with status {status}"),
        str::to_owned,
    );
    let refusal = Refusal::new(code, message);
    // Only the server knows where its tokens come from.
    let hint = error["hint"].as_str().filter(|_| status == 401);
    Err(match hint {
        Some(hint) => refusal.hint(hint),
        None => refusal,
    }
    .into())
}

fn need_terminal(flag: &str) -> Outcome {
    if std::io::stdin().is_terminal() {
        return Ok(());
    }
    Err(Failure::argument(
        flag.trim_start_matches('-'),
        "is missing",
        format!("{flag}, or a terminal to ask on"),
    ))
}

/// Asks for something that has no default.
fn named(flag: &str, question: &str) -> Outcome<String> {
    match asked(flag, question, "")? {
        empty if empty.is_empty() => Err(Failure::argument(
            flag.trim_start_matches('-'),
            "is missing",
            "a name",
        )),
        given => Ok(given),
    }
}

/// Asks with a default on a terminal; scripts get the default.
fn chosen(question: &str, default: &str) -> Outcome<String> {
    if !std::io::stdin().is_terminal() {
        return Ok(default.to_owned());
    }
    asked("", &format!("{question} [{default}]: "), default)
}

fn asked(flag: &str, question: &str, default: &str) -> Outcome<String> {
    need_terminal(flag)?;
    eprint!("{question}");
    std::io::stderr().flush()?;
    let answer = input::first_line()?;
    let answer = answer.trim();
    Ok(if answer.is_empty() { default } else { answer }.to_owned())
}

/// Writes the file so that only its owner can read it, and keeps what else is in it.
//= specs/spexus-bridge.md#connecting-a-host
//# `spexus mcp init` MUST write the configuration only after a handshake with it succeeded, readable by its owner only.
fn save(path: &Path, endpoint: &BackendUrl, token: &str) -> Outcome {
    let kept = std::fs::read(path)
        .ok()
        .and_then(|text| serde_json::from_slice::<Map<String, Value>>(&text).ok());
    let mut members = kept.unwrap_or_default();
    members.insert("backend_api_url".into(), endpoint.base().into());
    members.insert("pat_token".into(), token.into());
    let text = serde_json::to_string_pretty(&members).map_err(std::io::Error::from)?;
    super::install::write_private(path, &format!("{text}\n"))
}
