//! The table of settings: the name of each, what it is for, and how it is read and written.

use super::rows::{number, yes_or_no};
use super::settings::{LogFormat, Setting};
use super::values::{
    command, folders, is_address, is_level, is_name, is_semantic_version, key, put_command, put_default_role,
    put_durability, put_folders, put_hosts, put_if, put_origins, put_parsed, take,
};
use spexus_domain::password;
use spexus_http::{OfferedVersions, Sessions, Toolset, VersionMismatch};
use spexus_store::{Durability, Location};

/// All settings, in the order people read them.
pub(crate) const TABLE: &[Setting] = &[
    Setting {
        name: "database",
        doc: "The database: a SQLite file, or a PostgreSQL server.",
        allowed: "sqlite:FILE or postgres://USER:PASSWORD@HOST:PORT/NAME",
        secret: false,
        put: |settings, text| put_if(&mut settings.database, text, Location::parse(text).is_ok()),
        get: |settings| settings.database.clone(),
    },
    Setting {
        name: "listen",
        doc: "The address to serve on. Port 0 takes a free one.",
        allowed: "HOST:PORT, such as 127.0.0.1:8080 or [::]:8080",
        secret: false,
        put: |settings, text| put_if(&mut settings.listen, text, is_address(text)),
        get: |settings| settings.listen.clone(),
    },
    Setting {
        name: "admin_password",
        doc: "The password of the first administrator; made up and printed once when not given.",
        allowed: "8 to 1000 characters that are hard to guess",
        secret: true,
        put: |settings, text| {
            settings.service.admin_password = Some(text.to_owned());
            password::chosen("admin_password", text, "admin").is_ok()
        },
        get: |settings| settings.service.admin_password.clone().unwrap_or_default(),
    },
    Setting {
        name: "token_key",
        doc: "The key that token hashes are made with; kept in the database when not given.",
        allowed: "64 hexadecimal digits",
        secret: true,
        put: |settings, text| {
            settings.service.token_key = key(text);
            settings.service.token_key.is_some()
        },
        get: |settings| settings.service.token_key.map_or_else(String::new, hex::encode),
    },
    number!(
        "session_seconds",
        "How long a web session lasts.",
        60..=31_536_000,
        service.session_seconds
    ),
    number!(
        "tokens.max_per_user",
        "Working tokens one user may have.",
        1..=100_000,
        service.max_tokens_per_user
    ),
    Setting {
        name: "projects.default_role",
        doc: "What whoever has an account is in a new project that does not say so itself.",
        allowed: "author, reviewer, commenter, reader or none",
        secret: false,
        put: |settings, text| put_default_role(&mut settings.service.default_role, text),
        get: |settings| settings.service.default_role.name().to_owned(),
    },
    number!(
        "audit.retention_days",
        "How long audit events are kept; 0 means for ever.",
        0..=36_500,
        service.audit_retention_days
    ),
    Setting {
        name: "audit.key_file",
        doc: "The file with the key that checkpoints of the history are signed with; none are made while a server runs when empty.",
        allowed: "the path of a file, or nothing",
        secret: false,
        put: |settings, text| put_if(&mut settings.audit.key_file, text, !text.contains('\0')),
        get: |settings| settings.audit.key_file.clone(),
    },
    Setting {
        name: "audit.key_command",
        doc: "The command of a key store that signs checkpoints in place of a key file: run with `public` it answers the public key, with \
              `sign` the signature of the digest on its standard input, all in hexadecimal digits.",
        allowed: "a JSON list of the program and its arguments, or nothing",
        secret: false,
        put: |settings, text| put_command(&mut settings.audit.key_command, text),
        get: |settings| command(&settings.audit.key_command),
    },
    Setting {
        name: "audit.checkpoint_file",
        doc: "The file that checkpoints are added to, best on another machine; it and the command can both be named.",
        allowed: "the path of a file, or nothing",
        secret: false,
        put: |settings, text| put_if(&mut settings.audit.checkpoint_file, text, !text.contains('\0')),
        get: |settings| settings.audit.checkpoint_file.clone(),
    },
    Setting {
        name: "audit.checkpoint_command",
        doc: "The command that is given each checkpoint on its standard input, as one line, and brings it elsewhere.",
        allowed: "a JSON list of the program and its arguments, or nothing",
        secret: false,
        put: |settings, text| put_command(&mut settings.audit.checkpoint_command, text),
        get: |settings| command(&settings.audit.checkpoint_command),
    },
    number!(
        "audit.max_command_ms",
        "How long a command of the key store or for checkpoints may take.",
        100..=600_000,
        audit.max_command_ms
    ),
    number!(
        "audit.checkpoint_minutes",
        "How often a checkpoint is made while there are changes; one more is made at every baseline.",
        1..=10_080,
        audit.checkpoint_minutes
    ),
    Setting {
        name: "store.durability",
        doc: "What an acknowledged write survives: `full` a power loss, `normal` a crash of the program. SQLite only.",
        allowed: "full or normal",
        secret: false,
        put: |settings, text| put_durability(&mut settings.service.store.durability, text),
        get: |settings| {
            match settings.service.store.durability {
                Durability::PowerLoss => "full",
                Durability::ProcessCrash => "normal",
            }
            .into()
        },
    },
    number!(
        "store.max_read_connections",
        "Connections for reading.",
        1..=1_000,
        service.store.max_read_connections
    ),
    number!(
        "store.acquire_timeout_ms",
        "How long a request waits for a connection.",
        10..=600_000,
        service.store.acquire_timeout_ms
    ),
    number!(
        "store.max_lookup_connections",
        "Connections kept for looking up tokens, readiness and news, so that long reads never keep them waiting.",
        1..=100,
        service.store.max_lookup_connections
    ),
    number!(
        "store.max_statement_ms",
        "How long one statement may take before it is interrupted; 0 for as long as it takes.",
        0..=86_400_000,
        service.store.max_statement_ms
    ),
    number!(
        "store.max_project_writers",
        "Connections for writing to projects side by side, beside the one that writes anywhere; PostgreSQL only. With 0 there is one writer for everything.",
        0..=100,
        service.store.max_project_writers
    ),
    number!(
        "store.max_queued_writes",
        "Writes that may wait; more are refused.",
        1..=1_000_000,
        service.store.max_queued_writes
    ),
    number!(
        "store.max_write_wait_ms",
        "How long a write waits for its turn, also for other nodes, before it is refused.",
        10..=600_000,
        service.store.max_write_wait_ms
    ),
    number!(
        "store.max_write_ms",
        "How long one write may hold the writer before it is undone and refused.",
        100..=600_000,
        service.store.max_write_ms
    ),
    number!(
        "store.max_transaction_ms",
        "How long a transaction of many steps, such as `batch/execute`, may hold the writer before it is undone and refused.",
        100..=600_000,
        service.store.max_transaction_ms
    ),
    number!(
        "store.max_import_silence_ms",
        "How long nothing may be heard of a large import before it counts as dead and what it left is swept.",
        100..=86_400_000,
        service.store.max_import_silence_ms
    ),
    number!(
        "http.max_body_bytes",
        "The largest body accepted.",
        1_024..=1_073_741_824,
        http.max_body_bytes
    ),
    number!(
        "http.max_push_bytes",
        "The largest push of evidence accepted, in JSON or as one report.",
        1_024..=17_179_869_184,
        http.max_push_bytes
    ),
    number!(
        "http.max_header_bytes",
        "The most headers accepted, all together.",
        8_192..=1_048_576,
        http.max_header_bytes
    ),
    number!(
        "http.read_timeout_ms",
        "How long a request may take to arrive, head and body each.",
        100..=3_600_000,
        http.read_timeout_ms
    ),
    number!(
        "http.request_timeout_ms",
        "How long a request may take to be answered.",
        100..=3_600_000,
        http.request_timeout_ms
    ),
    number!(
        "http.max_concurrent_requests",
        "Requests answered at once; more are refused.",
        1..=1_000_000,
        http.max_concurrent_requests
    ),
    number!(
        "http.max_connections",
        "Open connections; more wait to be accepted.",
        1..=1_000_000,
        http.max_connections
    ),
    number!(
        "http.max_connections_per_address",
        "Open connections of one address; more are closed at once. Trusted proxies have no such limit.",
        1..=1_000_000,
        http.max_connections_per_address
    ),
    number!(
        "http.max_requests_per_connection",
        "Requests of one HTTP/2 connection answered at once; more are refused.",
        1..=10_000,
        http.max_requests_per_connection
    ),
    number!(
        "http.max_streams_per_user",
        "Streams of events one user may have open, over REST and MCP.",
        1..=1_000_000,
        http.max_streams_per_user
    ),
    number!(
        "http.write_timeout_ms",
        "How long a peer may take nothing of an answer.",
        100..=3_600_000,
        http.write_timeout_ms
    ),
    number!(
        "http.max_requests_per_minute",
        "Requests a minute for one token or session.",
        1..=100_000_000,
        http.max_requests_per_minute
    ),
    number!(
        "http.max_user_requests_per_minute",
        "Requests a minute for all tokens and sessions of one user.",
        1..=100_000_000,
        http.max_user_requests_per_minute
    ),
    number!(
        "http.max_anonymous_requests_per_minute",
        "Requests a minute for one address without a valid token.",
        1..=100_000_000,
        http.max_anonymous_requests_per_minute
    ),
    number!(
        "http.drain_timeout_ms",
        "How long running requests may take after the server was told to stop.",
        0..=3_600_000,
        http.drain_timeout_ms
    ),
    yes_or_no!(
        "http.secure_cookies",
        "Whether browsers reach the server by HTTPS, so that cookies and headers may ask for it.",
        http.secure_cookies
    ),
    Setting {
        name: "tls.cert",
        doc: "The file with the certificate to serve HTTPS with, in PEM, with those that lead to its authority; read again when it changes.",
        allowed: "the path of a file, or nothing",
        secret: false,
        put: |settings, text| put_if(&mut settings.tls.cert, text, !text.contains('\0')),
        get: |settings| settings.tls.cert.clone(),
    },
    Setting {
        name: "tls.key",
        doc: "The file with the key of that certificate, in PEM; read again when it changes.",
        allowed: "the path of a file, or nothing",
        secret: false,
        put: |settings, text| put_if(&mut settings.tls.key, text, !text.contains('\0')),
        get: |settings| settings.tls.key.clone(),
    },
    yes_or_no!(
        "insecure_plain",
        "Whether other machines may be served in clear, without a certificate and without a trusted proxy.",
        insecure_plain
    ),
    Setting {
        name: "http.trusted_proxies",
        doc: "Proxies that are believed when they say for whom they speak (Forwarded, X-Forwarded-For).",
        allowed: "networks such as 10.0.0.0/8 and addresses; several separated by commas",
        secret: false,
        put: |settings, text| put_parsed(&mut settings.http.trusted_proxies, text),
        get: |settings| settings.http.trusted_proxies.to_string(),
    },
    Setting {
        name: "http.public_hosts",
        doc: "Names the server is reached by, beside localhost and its address. Requests to MCP under other names are refused.",
        allowed: "names such as spexus.example.org; several separated by commas",
        secret: false,
        put: |settings, text| put_hosts(&mut settings.http.public_hosts, text),
        get: |settings| settings.http.public_hosts.join(","),
    },
    Setting {
        name: "http.cors_origins",
        doc: "Origins of other sites whose pages may call REST and MCP with a token, never with a cookie. None when empty.",
        allowed: "origins such as https://app.example.org; several separated by commas",
        secret: false,
        put: |settings, text| put_origins(&mut settings.http.cors_origins, text),
        get: |settings| settings.http.cors_origins.join(","),
    },
    Setting {
        name: "mcp.toolsets",
        doc: "Which tools agents are shown when they do not say: the header x-spexus-toolsets chooses others.",
        allowed: "agent, core, author, admin or all; several separated by commas",
        secret: false,
        put: |settings, text| match Toolset::parse_list("mcp.toolsets", text) {
            Ok(toolsets) => {
                settings.mcp.toolsets = toolsets;
                true
            }
            Err(_) => false,
        },
        get: |settings| {
            let names: Vec<&str> = settings.mcp.toolsets.iter().map(|set| set.name()).collect();
            names.join(",")
        },
    },
    yes_or_no!(
        "mcp.read_only",
        "Whether agents can change nothing, whatever their tokens allow.",
        mcp.read_only
    ),
    yes_or_no!(
        "mcp.share_with_bound_tokens",
        "Whether tokens bound to a project may see and use what belongs to no project: file roots and apps.",
        mcp.share_with_bound_tokens
    ),
    Setting {
        name: "mcp.roots",
        doc: "Folders of this machine whose files agents may read as file:// resources.",
        allowed: "absolute paths; several separated by commas",
        secret: false,
        put: |settings, text| put_folders(&mut settings.mcp.roots, text),
        get: |settings| folders(&settings.mcp.roots),
    },
    Setting {
        name: "mcp.roots_allow",
        doc: "Folders under which administrators may add such folders while the server runs (roots/add).",
        allowed: "absolute paths; several separated by commas",
        secret: false,
        put: |settings, text| put_folders(&mut settings.mcp.roots_allow, text),
        get: |settings| folders(&settings.mcp.roots_allow),
    },
    // Fulfils 001 D4
    //= specs/spexus-mcp.md#saying-hello
    //# Name, title, version and the offered versions of the protocol MUST be taken from the file or the environment.
    Setting {
        name: "mcp.name",
        doc: "How the MCP endpoint calls itself to programs.",
        allowed: "1 to 100 characters",
        secret: false,
        put: |settings, text| put_if(&mut settings.mcp.name, text, is_name(text)),
        get: |settings| settings.mcp.name.clone(),
    },
    Setting {
        name: "mcp.title",
        doc: "How the MCP endpoint calls itself to people.",
        allowed: "1 to 100 characters",
        secret: false,
        put: |settings, text| put_if(&mut settings.mcp.title, text, is_name(text)),
        get: |settings| settings.mcp.title.clone(),
    },
    Setting {
        name: "mcp.version",
        doc: "Which version of itself the MCP endpoint names, for installations that count their own.",
        allowed: "a semantic version such as 1.0.0",
        secret: false,
        put: |settings, text| put_if(&mut settings.mcp.version, text, is_semantic_version(text)),
        get: |settings| settings.mcp.version.clone(),
    },
    Setting {
        name: "mcp.protocol_versions",
        doc: "Which revisions of the protocol are offered; a client that asks for another one is told these.",
        allowed: "2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28; several separated by commas",
        secret: false,
        put: |settings, text| match OfferedVersions::parse(text) {
            Some(versions) => {
                settings.mcp.versions = versions;
                true
            }
            None => false,
        },
        get: |settings| settings.mcp.versions.names().join(","),
    },
    yes_or_no!(
        "mcp.guide",
        "Whether the instructions for agents end with a guide to tools, resources and prompts.",
        mcp.guide
    ),
    Setting {
        name: "mcp.sessions",
        doc: "Where sessions of agents are kept: in the database they outlive a restart and are shared by nodes.",
        allowed: "database or memory",
        secret: false,
        put: |settings, text| {
            settings.mcp.sessions = match text {
                "database" => Sessions::Database,
                "memory" => Sessions::Memory,
                _ => return false,
            };
            true
        },
        get: |settings| settings.mcp.sessions.name().to_owned(),
    },
    Setting {
        name: "mcp.version_mismatch",
        doc: "What an agent hears that asks for an unknown version of the protocol: a refusal, or the newest one we speak.",
        allowed: "reject or negotiate",
        secret: false,
        put: |settings, text| {
            settings.mcp.version_mismatch = match text {
                "reject" => VersionMismatch::Reject,
                "negotiate" => VersionMismatch::Negotiate,
                _ => return false,
            };
            true
        },
        get: |settings| {
            match settings.mcp.version_mismatch {
                VersionMismatch::Reject => "reject",
                VersionMismatch::Negotiate => "negotiate",
            }
            .into()
        },
    },
    number!(
        "mcp.serve_timeout_ms",
        "How long a request of an MCP client may be served; over HTTP not longer than nine tenths of `http.request_timeout_ms`.",
        100..=3_600_000,
        mcp.serve_timeout_ms
    ),
    number!(
        "mcp.ask_timeout_ms",
        "How long an MCP client may take to answer what a program answers by itself, such as `roots/list`.",
        100..=600_000,
        mcp.ask_timeout_ms
    ),
    number!(
        "mcp.max_sessions_per_token",
        "MCP sessions opened with one token that live at once; the one unheard of for longest ends.",
        1..=100_000,
        mcp.max_sessions_per_token
    ),
    number!(
        "mcp.max_sessions_per_user",
        "MCP sessions of one user that live at once, whatever tokens they were opened with.",
        1..=100_000,
        mcp.max_sessions_per_user
    ),
    number!(
        "mcp.max_streams_per_user",
        "MCP streams of events one user may have open at once.",
        1..=100_000,
        mcp.max_streams_per_user
    ),
    number!(
        "mcp.max_subscriptions_per_session",
        "Resources one MCP session may watch.",
        1..=100_000,
        mcp.max_subscriptions_per_session
    ),
    number!(
        "mcp.max_subscription_bytes_per_session",
        "What the addresses of the resources an MCP session watches may have together.",
        1_024..=16_777_216,
        mcp.max_subscription_bytes_per_session
    ),
    number!(
        "mcp.max_array_running_per_user",
        "Messages of a user's JSON-RPC arrays that are served at once; the others wait for their turn.",
        1..=1_000,
        mcp.max_array_running_per_user
    ),
    number!(
        "mcp.max_answer_bytes",
        "How many bytes an answer to an agent may have; longer lists come in more pages, what has no pages is cut and says so.",
        4_000..=16_000_000,
        mcp.max_answer_bytes
    ),
    number!(
        "mcp.elicitation_timeout_ms",
        "How long a person may take to answer a question an agent's work raised.",
        1_000..=3_600_000,
        mcp.elicitation_timeout_ms
    ),
    number!(
        "mcp.elicitation_attempts",
        "How often a person is asked before an answer that does not fit ends the request.",
        1..=10,
        mcp.elicitation_attempts
    ),
    number!(
        "mcp.sampling_per_second",
        "How often the models of agents are asked in a second, all together; 0 for no limit.",
        0..=10_000,
        mcp.sampling.max_per_second
    ),
    number!(
        "mcp.sampling_target_ms",
        "Answers of models that take longer make the server ask for less.",
        100..=600_000,
        mcp.sampling.target_latency_ms
    ),
    number!(
        "mcp.sampling_timeout_ms",
        "How long a model may take to answer.",
        1_000..=3_600_000,
        mcp.sampling.timeout_ms
    ),
    number!(
        "completion.context_tokens",
        "Tokens of a text that are looked at when an agent has it completed.",
        16..=1_000_000,
        mcp.completion.context_tokens
    ),
    Setting {
        name: "completion.endpoint",
        doc: "A language model that completes texts, spoken to as OpenAI's /completions; without one, no text leaves the process.",
        allowed: "a URL such as http://127.0.0.1:11434/v1, or nothing",
        secret: false,
        put: |settings, text| {
            let rest = text.strip_prefix("http://").or(text.strip_prefix("https://"));
            let fits = text.is_empty() || rest.is_some_and(|rest| !rest.is_empty());
            put_if(&mut settings.mcp.completion.endpoint, text, fits)
        },
        get: |settings| settings.mcp.completion.endpoint.clone(),
    },
    Setting {
        name: "completion.model",
        doc: "Which model to ask for there.",
        allowed: "1 to 100 characters",
        secret: false,
        put: |settings, text| put_if(&mut settings.mcp.completion.model, text, is_name(text)),
        get: |settings| settings.mcp.completion.model.clone(),
    },
    Setting {
        name: "completion.key",
        doc: "What the endpoint wants as a bearer token.",
        allowed: "printable characters, or nothing",
        secret: true,
        put: |settings, text| {
            let fits = text.bytes().all(|byte| byte.is_ascii_graphic());
            put_if(&mut settings.mcp.completion.key, text, fits)
        },
        get: |settings| settings.mcp.completion.key.clone(),
    },
    number!(
        "completion.timeout_ms",
        "How long the endpoint may take until the last token.",
        100..=600_000,
        mcp.completion.timeout_ms
    ),
    Setting {
        name: "apps.folder",
        doc: "Where installed apps are kept; `apps` in the data folder when empty.",
        allowed: "the path of a folder, or nothing",
        secret: false,
        put: |settings, text| put_if(&mut settings.apps.folder, text, !text.contains('\0')),
        get: |settings| settings.apps.folder.clone(),
    },
    yes_or_no!(
        "apps.install_over_mcp",
        "Whether administrators may install and remove apps over MCP, which means to choose programs that run here.",
        apps.install_over_mcp
    ),
    Setting {
        name: "apps.trusted_readers",
        doc: "Apps that are believed when they say of a tool that it only reads, so that whoever may only read can call it; the tools of all others count as writing.",
        allowed: "names of apps separated by commas, or nothing",
        secret: false,
        put: |settings, text| {
            let fits = |name: &str| {
                name.chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            };
            let fit = text.split(',').all(|name| fits(name.trim()));
            put_if(&mut settings.apps.trusted_readers, text, fit)
        },
        get: |settings| settings.apps.trusted_readers.clone(),
    },
    number!(
        "apps.max_apps",
        "Apps installed at once.",
        0..=1_000,
        apps.limits.max_apps
    ),
    number!(
        "apps.start_timeout_ms",
        "How long an app may take to start and to list what it has.",
        100..=600_000,
        apps.limits.start_timeout_ms
    ),
    number!(
        "apps.call_timeout_ms",
        "How long an app may take to answer a call.",
        100..=3_600_000,
        apps.limits.call_timeout_ms
    ),
    number!(
        "apps.max_memory_bytes",
        "Memory each process of an app may use for its data; 0 means no limit.",
        0..=1_099_511_627_776,
        apps.limits.max_memory_bytes
    ),
    number!(
        "apps.max_cpu_seconds",
        "Processor time each process of an app may use in its life; 0 means no limit.",
        0..=31_536_000,
        apps.limits.max_cpu_seconds
    ),
    number!(
        "apps.max_bundle_bytes",
        "The largest bundle that is installed.",
        1_024..=10_737_418_240,
        apps.limits.max_bundle_bytes
    ),
    number!(
        "apps.max_unpacked_bytes",
        "The most a bundle may unpack to.",
        1_024..=107_374_182_400,
        apps.limits.max_unpacked_bytes
    ),
    Setting {
        name: "log.level",
        doc: "Which log lines are written. Commands other than `serve` write only warnings unless this is set.",
        allowed: "off, error, warn, info, debug or trace, or a list such as info,spexus_store=debug",
        secret: false,
        put: |settings, text| put_if(&mut settings.log_level, text, is_level(text)),
        get: |settings| settings.log_level.clone(),
    },
    Setting {
        name: "log.format",
        doc: "How log lines are written: `auto` is text on a terminal, else JSON.",
        allowed: "auto, text or json",
        secret: false,
        put: |settings, text| {
            settings.log_format = match text {
                "auto" => LogFormat::Auto,
                "text" => LogFormat::Text,
                "json" => LogFormat::Json,
                _ => return false,
            };
            true
        },
        get: |settings| format!("{:?}", settings.log_format).to_lowercase(),
    },
    Setting {
        name: "otlp.endpoint",
        doc: "Where OpenTelemetry spans are sent by OTLP over HTTP; nowhere when empty.",
        allowed: "an http:// URL such as http://127.0.0.1:4318, or nothing",
        secret: false,
        put: |settings, text| {
            let fits = text.is_empty() || (text.starts_with("http://") && text.len() > "http://".len());
            put_if(&mut settings.otlp_endpoint, text, fits)
        },
        get: |settings| settings.otlp_endpoint.clone(),
    },
];

#[cfg(test)]
mod tests;
