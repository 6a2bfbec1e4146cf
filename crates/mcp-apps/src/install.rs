//! Installing: an app is looked at, started once, held to its promises, and only then put among the installed ones.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use refusal::{Code, Refusal};
use serde_json::Value;

use crate::bundle::Bundle;
use crate::connection::AppConnection;
use crate::install_dir::{AppLocation, AppRecord, InstallDir, files_in, taken};
use crate::launch::check_settings;
use crate::manifest::Manifest;
use crate::names;
use crate::options::{AppLimits, AppOptions};

/// Where an app comes from.
#[derive(Clone, Debug)]
pub enum AppSource {
    /// A bundle in a file.
    Bundle(PathBuf),
    /// A bundle as bytes.
    Packed(Vec<u8>),
    /// A manifest with a command, in a file.
    ManifestFile(PathBuf),
    /// A manifest with a command.
    Manifest(Value),
    /// The address of a server, with headers for every request.
    Url {
        /// The address.
        url: String,
        /// The headers.
        headers: BTreeMap<String, String>,
    },
}

/// What is to be installed, and how.
#[derive(Clone, Debug)]
pub struct InstallRequest {
    /// Where it comes from.
    pub source: AppSource,
    /// What it is to be called, when it is not what it calls itself.
    pub name: Option<String>,
    /// Further variables for its process.
    pub environment: BTreeMap<String, String>,
    /// What is decided of its manifest's `user_config`.
    pub settings: BTreeMap<String, String>,
}

impl AppSource {
    /// What somebody means by a word on a command line: an address, a manifest, a folder with one, or a bundle.
    pub fn named(word: &str) -> Result<Self, Refusal> {
        if word.starts_with("http://") || word.starts_with("https://") {
            let (url, headers) = (word.to_owned(), BTreeMap::new());
            return Ok(AppSource::Url { url, headers });
        }
        let path = PathBuf::from(word);
        if path.is_dir() {
            return Ok(AppSource::ManifestFile(path.join("manifest.json")));
        }
        if !path.exists() {
            let shown: String = word.chars().take(200).collect();
            let problem = format!("{shown:?} is neither a file nor an address");
            let allowed = "a bundle (.mcpb), a manifest.json or its folder, or an http(s):// address";
            return Err(Refusal::field(Code::InvalidParams, "source", problem, allowed));
        }
        if path
            .extension()
            .is_some_and(|kind| kind.eq_ignore_ascii_case("json"))
        {
            return Ok(AppSource::ManifestFile(path));
        }
        Ok(AppSource::Bundle(path))
    }
}

/// Installs an app. Servers that run on the same folder notice by themselves.
//= specs/mcp-apps.md#installing
//# An app MUST be started once before it is installed, and be refused when it does not start.
pub async fn install(options: &AppOptions, request: InstallRequest) -> Result<AppRecord, Refusal> {
    let install_dir = InstallDir::open(&options.folder)?;
    if install_dir.all()?.len() >= options.limits.max_apps {
        let problem = format!(
            "there are {} apps already, as many as there may be",
            options.limits.max_apps
        );
        return Err(Refusal::new(Code::QuotaExceeded, problem));
    }
    if let Some(name) = &request.name {
        names::check_app(name)?;
    }
    check_environment(&request.environment)?;
    let stage = install_dir.stage()?;
    let files = files_in(stage.path());
    let InstallRequest {
        source,
        name,
        environment,
        settings,
    } = request;
    let is_address = matches!(source, AppSource::Url { .. });
    let limits = options.limits.clone();
    let (unpacked, called) = (files.clone(), name.clone());
    let prepared =
        tokio::task::spawn_blocking(move || prepare(source, called.as_deref(), &unpacked, &limits)).await;
    let (mut manifest, location) =
        prepared.map_err(|_| Refusal::new(Code::InternalError, "the app could not be prepared"))??;
    check_settings(&manifest, &settings)?;
    if install_dir.holds(&manifest.name) {
        return Err(taken(&manifest.name));
    }
    let mut record = AppRecord {
        name: manifest.name.clone(),
        id: fresh_id(),
        installed_at: jiff::Timestamp::now().to_string(),
        location,
        manifest: manifest.clone(),
        environment,
        settings,
        listing: Default::default(),
    };
    let folder = match &record.location {
        AppLocation::Manifest { folder } => folder.clone(),
        _ => Some(files),
    };
    let opened = AppConnection::open(&record, folder.as_deref(), options, None).await;
    let (connection, listing) = opened.map_err(|error| {
        if !error.last_words.is_empty() {
            tracing::warn!(
                app = record.name,
                last_words = error.last_words,
                "the app ended while it was tried"
            );
        }
        error.refusal
    })?;
    connection.close(options).await;
    if is_address {
        describe(&mut manifest, &listing.title, &listing.version, name.as_deref());
        names::check_app(&manifest.name)?;
        if install_dir.holds(&manifest.name) {
            return Err(taken(&manifest.name));
        }
        record.name.clone_from(&manifest.name);
        record.manifest = manifest;
    }
    listing.check_promises(&record.manifest)?;
    listing.check_names(&record.name, &options.reserved)?;
    record.listing = listing;
    install_dir.put(stage, &record)?;
    Ok(record)
}

/// Removes an app from the folder. Servers that run on the same folder notice by themselves.
/// Gives what was known of it, if that could still be read.
pub fn remove(options: &AppOptions, name: &str) -> Result<Option<AppRecord>, Refusal> {
    InstallDir::open(&options.folder)?.remove(name)
}

/// Everything installed, by name.
pub fn installed(options: &AppOptions) -> Result<Vec<AppRecord>, Refusal> {
    InstallDir::open(&options.folder)?.all()
}

/// What the servers say that run on this folder now.
pub fn statuses(options: &AppOptions) -> Result<Vec<crate::AppStatus>, Refusal> {
    Ok(crate::status::all(&InstallDir::open(&options.folder)?))
}

fn prepare(
    source: AppSource,
    name: Option<&str>,
    files: &Path,
    limits: &AppLimits,
) -> Result<(Manifest, AppLocation), Refusal> {
    match source {
        AppSource::Bundle(path) => {
            let file = std::fs::File::open(path).map_err(|error| unopened("bundle", &error))?;
            Ok((
                unpack(std::io::BufReader::new(file), name, files, limits)?,
                AppLocation::Bundle,
            ))
        }
        AppSource::Packed(bytes) => Ok((
            unpack(Cursor::new(bytes), name, files, limits)?,
            AppLocation::Bundle,
        )),
        AppSource::ManifestFile(path) => {
            let path = path
                .canonicalize()
                .map_err(|error| unopened("manifest", &error))?;
            let text = std::fs::read(&path).map_err(|error| unopened("manifest", &error))?;
            let manifest = started_by_command(Manifest::read(&text, name)?)?;
            let folder = path.parent().map(Path::to_owned);
            Ok((manifest, AppLocation::Manifest { folder }))
        }
        AppSource::Manifest(value) => {
            let manifest = started_by_command(Manifest::of(value, name)?)?;
            Ok((manifest, AppLocation::Manifest { folder: None }))
        }
        AppSource::Url { url, headers } => {
            check_address(&url, &headers)?;
            let mut manifest = Manifest::default();
            describe(&mut manifest, "app", "", name);
            Ok((manifest, AppLocation::Url { url, headers }))
        }
    }
}

fn unpack<R: std::io::Read + std::io::Seek>(
    reader: R,
    name: Option<&str>,
    files: &Path,
    limits: &AppLimits,
) -> Result<Manifest, Refusal> {
    let mut bundle = Bundle::open(reader, limits)?;
    let manifest = started_by_command(Manifest::read(&bundle.manifest()?, name)?)?;
    if let Some(server) = manifest
        .server
        .as_ref()
        .filter(|server| !server.entry_point.is_empty())
        && !bundle.holds(&server.entry_point)
    {
        let problem = format!("{:?} is not in the bundle", server.entry_point);
        return Err(Refusal::field(
            Code::InvalidParams,
            "server.entry_point",
            problem,
            "a file of the bundle",
        ));
    }
    bundle.unpack(files)?;
    Ok(manifest)
}

fn started_by_command(manifest: Manifest) -> Result<Manifest, Refusal> {
    match manifest.server {
        Some(_) => Ok(manifest),
        None => Err(Refusal::field(
            Code::MissingRequiredField,
            "server",
            "is missing",
            "how the app is started",
        )),
    }
}

/// Words for an app that has no manifest, from what it says about itself.
fn describe(manifest: &mut Manifest, title: &str, version: &str, name: Option<&str>) {
    let own = names::suggested(title).unwrap_or_else(|| "app".to_owned());
    manifest.name = name.map_or(own, str::to_owned);
    manifest.version = match version.is_empty() {
        true => "0.0.0".to_owned(),
        false => version.chars().take(60).collect(),
    };
    manifest.description = title.chars().take(200).collect();
}

fn check_address(url: &str, headers: &BTreeMap<String, String>) -> Result<(), Refusal> {
    let parsed = url.parse::<http::Uri>().ok().filter(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
    });
    if parsed.is_none() {
        let shown: String = url.chars().take(200).collect();
        let problem = format!("{shown:?} is no address of a server");
        return Err(Refusal::field(
            Code::InvalidUri,
            "url",
            problem,
            "http://… or https://…",
        ));
    }
    let odd = |(name, value): &(&String, &String)| {
        name.parse::<http::HeaderName>().is_err() || value.parse::<http::HeaderValue>().is_err()
    };
    match headers.iter().find(odd) {
        // Its value may be a secret.
        Some((name, _)) => Err(Refusal::field(
            Code::InvalidHeader,
            "headers",
            format!("{name:?} is no header"),
            "NAME=VALUE",
        )),
        None => Ok(()),
    }
}

fn check_environment(environment: &BTreeMap<String, String>) -> Result<(), Refusal> {
    let odd = |(name, value): &(&String, &String)| {
        name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
    };
    match environment.iter().find(odd) {
        Some((name, _)) => Err(Refusal::field(
            Code::InvalidParams,
            "env",
            format!("{name:?} is no variable"),
            "NAME=VALUE",
        )),
        None => Ok(()),
    }
}

fn fresh_id() -> String {
    let mut bytes = [0; 8];
    // Two installations at the same instant of a machine without randomness are told apart by the time.
    if getrandom::fill(&mut bytes).is_err() {
        bytes = jiff::Timestamp::now().as_nanosecond().to_le_bytes()[..8]
            .try_into()
            .unwrap_or_default();
    }
    hex::encode(bytes)
}

fn unopened(what: &str, error: &std::io::Error) -> Refusal {
    Refusal::field(
        Code::InvalidParams,
        "source",
        format!("the {what} cannot be read: {}", error.kind()),
        "a file that can be read",
    )
}
