//! `spexus mcp pack`: the program as a bundle that hosts install by a click, and the entry for the registry of servers.

use crate::failure::Outcome;
use crate::output::Output;
use clap::Args;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const DESCRIPTION: &str = "Requirements that people and AI agents share: epics, user stories, acceptance criteria, requirements, their links and their history.";

/// What to pack, and where to put it.
#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// The bundle to write
    #[arg(long, short, value_name = "FILE", default_value = "spexus.mcpb")]
    output: PathBuf,
    /// The program to pack, when it is not this one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// The name in the registry, which must belong to you
    #[arg(long, value_name = "NAME", default_value = "io.github.spexus/spexus")]
    registry_name: String,
    /// Where the bundle will be downloaded from
    #[arg(
        long,
        value_name = "URL",
        default_value = "https://github.com/spexus/spexus/releases/download/v1.0.0/spexus.mcpb"
    )]
    download_url: String,
}

pub(super) fn run(wanted: &Pack, output: Output) -> Outcome {
    let binary = match &wanted.binary {
        Some(binary) => binary.clone(),
        None => std::env::current_exe()?,
    };
    let program = std::fs::read(&binary)?;
    write_bundle(&wanted.output, &program)?;
    let bundle = std::fs::read(&wanted.output)?;
    let sum = hex::encode(Sha256::digest(&bundle));
    let entry = wanted.output.with_file_name("server.json");
    std::fs::write(&entry, format!("{:#}\n", server_json(wanted, &sum)))?;
    let done = json!({ "bundle": wanted.output, "bytes": bundle.len(), "sha256": sum, "server_json": entry });
    output.show(&done, |_| {
        format!(
            "Packed {} ({} kB) and {}.",
            wanted.output.display(),
            bundle.len() / 1024,
            entry.display()
        )
    })
}

fn write_bundle(path: &Path, program: &[u8]) -> Outcome {
    let broken = |error: zip::result::ZipError| std::io::Error::other(error);
    let mut bundle = ZipWriter::new(File::create(path)?);
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    bundle
        .start_file("manifest.json", options.unix_permissions(0o644))
        .map_err(broken)?;
    bundle.write_all(format!("{:#}\n", manifest()).as_bytes())?;
    bundle
        .start_file(program_path(), options.unix_permissions(0o755))
        .map_err(broken)?;
    bundle.write_all(program)?;
    bundle.finish().map_err(broken)?;
    Ok(())
}

fn program_path() -> String {
    format!("server/spexus{}", std::env::consts::EXE_SUFFIX)
}

/// What a host must know to run the bundle, and what it must ask its user.
fn manifest() -> Value {
    let platform = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    json!({
        "manifest_version": "0.3",
        "name": "spexus",
        "display_name": "Spexus requirements",
        "version": VERSION,
        "description": DESCRIPTION,
        "author": { "name": "The Spexus authors" },
        "license": "MIT OR Apache-2.0",
        "keywords": ["requirements", "user stories", "acceptance criteria", "traceability"],
        "server": {
            "type": "binary",
            "entry_point": program_path(),
            "mcp_config": {
                "command": format!("${{__dirname}}/{}", program_path()),
                "args": ["mcp"],
                "env": {
                    "BACKEND_API_URL": "${user_config.backend_api_url}",
                    "MCP_PAT_TOKEN": "${user_config.pat_token}",
                },
            },
        },
        "tools_generated": true,
        "prompts_generated": true,
        "user_config": {
            "backend_api_url": {
                "type": "string", "title": "Server", "description": "The address of the Spexus server.",
                "required": true, "default": "http://127.0.0.1:8080",
            },
            "pat_token": {
                "type": "string", "title": "Token", "description": "A personal access token: spexus token create --user NAME --name desktop",
                "required": true, "sensitive": true,
            },
        },
        "compatibility": { "platforms": [platform] },
    })
}

/// The entry for the registry of MCP servers.
fn server_json(wanted: &Pack, sha256: &str) -> Value {
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": wanted.registry_name,
        "title": "Spexus requirements",
        "description": "Epics, stories, criteria and requirements shared by people and AI agents.",
        "version": VERSION,
        "packages": [{
            "registryType": "mcpb",
            "identifier": wanted.download_url,
            "version": VERSION,
            "fileSha256": sha256,
            "transport": { "type": "stdio" },
            "environmentVariables": [
                { "name": "BACKEND_API_URL", "description": "The address of the Spexus server", "isRequired": true, "format": "string" },
                { "name": "MCP_PAT_TOKEN", "description": "A personal access token", "isRequired": true, "isSecret": true, "format": "string" },
            ],
        }],
        "remotes": [{
            "type": "streamable-http",
            "url": "https://{host}/api/v1/mcp",
            "variables": { "host": { "description": "The host of your Spexus server", "isRequired": true } },
            "headers": [{ "name": "Authorization", "description": "Bearer and a personal access token", "isRequired": true, "isSecret": true }],
        }],
    })
}
