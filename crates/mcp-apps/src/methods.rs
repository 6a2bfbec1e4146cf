//! `apps/list`, `apps/install` and `apps/uninstall`.

use std::collections::BTreeMap;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_server::{Context, CustomMethod};
use refusal::{Code, Refusal};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::install::{AppSource, InstallRequest};
use crate::policy::{AppOperation, RecordedApp};
use crate::{Apps, ListedApp};

/// What is said of an app that is recorded and not here.
pub const ABSENT: &str = "its files are not on this node; install it here too";

/// All methods of this family.
pub(crate) fn all(apps: &Apps) -> Vec<CustomMethod> {
    vec![
        method("apps/list", apps, list),
        method("apps/install", apps, install),
        method("apps/uninstall", apps, uninstall),
    ]
}

fn method<F, Fut>(name: &'static str, apps: &Apps, run: F) -> CustomMethod
where
    F: Fn(Apps, Context, Value) -> Fut + Copy + Send + Sync + 'static,
    Fut: Future<Output = Result<(String, Value), Refusal>> + Send + 'static,
{
    let apps = apps.clone();
    CustomMethod::new(name, move |cx: Context, params| {
        let apps = apps.clone();
        async move {
            let began = Instant::now();
            let done = run(apps.clone(), cx.clone(), params).await;
            let what = done.as_ref().map_or("", |(what, _)| what.as_str());
            apps.policy()
                .audit(&cx, name, what, began.elapsed(), done.as_ref().map(drop));
            done.map(|(_, answer)| answer)
        }
    })
}

// Fulfils 002 Req-App-001
//= specs/mcp-apps.md#methods
//# `apps/list` MUST list every installed app with its name, version, description, capabilities and state.
async fn list(apps: Apps, cx: Context, _params: Value) -> Result<(String, Value), Refusal> {
    apps.policy().check(&cx, AppOperation::List)?;
    let listed = apps.list()?;
    //= specs/mcp-apps.md#methods
    //# An app that is recorded and whose files are not on the node that is asked MUST be listed as absent, and the node MUST say so when it starts.
    let absent = apps.policy().recorded().await?.into_iter();
    let absent = absent.filter(|app| !listed.iter().any(|here| here.name == app.name));
    let absent: Vec<Value> = absent.map(absent_value).collect();
    let here = listed.iter().map(ListedApp::to_value);
    Ok((
        String::new(),
        json!({ "apps": here.chain(absent).collect::<Vec<_>>() }),
    ))
}

fn absent_value(app: RecordedApp) -> Value {
    json!({
        "name": app.name,
        "version": app.version,
        "source": app.source,
        "installed_at": app.installed_at,
        "state": "absent",
        "problem": ABSENT,
    })
}

/// One of `bundle`, `manifest` and `url` says where the app comes from.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Install {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    bundle: Option<String>,
    #[serde(default)]
    manifest: Option<Value>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    settings: BTreeMap<String, String>,
    #[serde(default, rename = "_meta")]
    _meta: Option<Value>,
}

// Fulfils 002 Req-App-003
//= specs/mcp-apps.md#methods
//# `apps/install` and `apps/uninstall` MUST be refused with 1014 to whoever may not manage apps, and to everyone unless the server allows it.
async fn install(apps: Apps, cx: Context, params: Value) -> Result<(String, Value), Refusal> {
    apps.may_change(&cx)?;
    let asked: Install = read(params)?;
    let source = match (asked.bundle, asked.manifest, asked.url) {
        (Some(text), None, None) => AppSource::Packed(STANDARD.decode(text).map_err(|_| {
            Refusal::field(
                Code::InvalidParams,
                "bundle",
                "is not base64",
                "a bundle as base64",
            )
        })?),
        (None, Some(manifest), None) => AppSource::Manifest(manifest),
        (None, None, Some(url)) => AppSource::Url {
            url,
            headers: asked.headers,
        },
        _ => {
            let problem = "it is not said where the app comes from, or more than once";
            return Err(Refusal::field(
                Code::InvalidParams,
                "source",
                problem,
                "one of bundle, manifest, url",
            ));
        }
    };
    let request = InstallRequest {
        source,
        name: asked.name,
        environment: asked.env,
        settings: asked.settings,
    };
    let listed = apps.install(request).await?;
    if let Err(refusal) = apps.policy().record(&cx, &listed.record).await {
        apps.uninstall(&listed.name).await?;
        return Err(refusal);
    }
    Ok((listed.name.clone(), json!({ "app": listed.to_value() })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Uninstall {
    name: String,
    #[serde(default, rename = "_meta")]
    _meta: Option<Value>,
}

// Fulfils 002 Req-App-004
async fn uninstall(apps: Apps, cx: Context, params: Value) -> Result<(String, Value), Refusal> {
    apps.may_change(&cx)?;
    let asked: Uninstall = read(params)?;
    let removed = apps.uninstall(&asked.name).await;
    let was_recorded = apps.policy().forget(&cx, &asked.name).await?;
    let record = match removed {
        Err(refusal) if was_recorded && refusal.code == Code::ResourceNotFound => None,
        removed => removed?,
    };
    let version = record.map(|record| record.manifest.version);
    let removed = json!({ "removed": { "name": asked.name, "version": version } });
    Ok((asked.name, removed))
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    let params = if params.is_null() { json!({}) } else { params };
    serde_json::from_value(params).map_err(|error| {
        Refusal::field(
            Code::InvalidParams,
            "params",
            error.to_string(),
            "see the guide on apps",
        )
    })
}
