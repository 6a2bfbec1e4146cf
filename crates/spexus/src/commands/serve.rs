//! `spexus serve`: opens everything, serves until told to stop, and leaves nothing undone.

use super::CommandContext;
use crate::apps;
use crate::certificate::Certificate;
use crate::checkpoint::Schedule;
use crate::config::{Settings, redacted_url, refused};
use crate::failure::{Failure, Outcome};
use crate::output::write;
use crate::session::{self, Missing};
use crate::telemetry::{self, Metrics};
use serde_json::json;
use spexus_http::HttpOptions;
use spexus_service::{FirstStart, Service};
use spexus_store::search::Sweep;
use spexus_store::staging;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// How often what is kept in memory is written.
const FLUSH_EVERY: Duration = Duration::from_secs(60);

/// Steps through the words of search each time.
const SWEEP_STEPS: usize = 20;

/// How often measurements are put into their buckets, whether or not someone asks for them.
const TIDY_EVERY: Duration = Duration::from_secs(5);

pub(super) async fn run(context: &CommandContext) -> Outcome {
    let settings = &context.config.settings;
    let certificate = Certificate::of(&settings.tls)?;
    // The port first: whoever starts a second server must not wait for a database to learn that.
    let listener = listen(&settings.listen).await?;
    refuse_plain(settings, listener.local_addr()?)?;
    let (service, first) = session::open(&context.config, Missing::Create).await?;
    let metrics = telemetry::install_metrics();
    //= specs/spexus.md#serving
    //# With a certificate and its key the server MUST speak HTTPS, and its cookies and answers MUST ask browsers to stay with it.
    let options = HttpOptions {
        metrics: metrics.writer(),
        secure_cookies: settings.http.secure_cookies || certificate.is_some(),
        tls: certificate.as_ref().map(|certificate| certificate.tls.clone()),
        ..settings.http.clone()
    };
    let mcp = spexus_http::mcp(&service, &options, settings.mcp.clone())?;
    let apps = apps::start(&mcp, &context.config, &context.sources).await?;
    let checkpoints = Schedule::of(&settings.audit).await?;
    let stop = stop_signals()?;
    let checkpoints = checkpoints.map(|schedule| tokio::spawn(schedule.run(service.clone())));
    let flushing = tokio::spawn(flush_often(service.clone()));
    let following = certificate.map(|certificate| tokio::spawn(certificate.follow()));
    let tidying = tokio::spawn(tidy_often(metrics, mcp.server().clone()));
    announce(context, listener.local_addr()?, first.as_ref())?;
    //= specs/spexus.md#serving
    //# At SIGTERM or SIGINT the server MUST stop accepting, answer what it accepted and end with exit code 0.
    let pages = spexus_web::pages();
    let served = spexus_http::serve_with(listener, service.clone(), mcp, options, pages, stop).await;
    apps::stop(apps).await;
    flushing.abort();
    tidying.abort();
    for task in [checkpoints, following].into_iter().flatten() {
        task.abort();
    }
    service.close().await;
    tracing::info!("stopped");
    Ok(served?)
}

async fn listen(address: &str) -> Outcome<TcpListener> {
    TcpListener::bind(address)
        .await
        .map_err(|error| match error.kind() {
            //= specs/spexus.md#serving
            //# An address that is in use MUST be told in a sentence, with exit code 69.
            ErrorKind::AddrInUse => Failure::unavailable(
                format!("{address} is in use by another program"),
                "Stop that program, or name another address with --listen HOST:PORT.",
            ),
            _ => {
                let problem = format!("{address:?} cannot be served on: {error}");
                Failure::configuration(refused(
                    "listen",
                    problem,
                    "an address of this machine and a free port",
                ))
            }
        })
}

/// Whether other machines are spoken to in clear, without a proxy in between that is known to us.
fn is_plain(settings: &Settings, address: SocketAddr) -> bool {
    !address.ip().to_canonical().is_loopback()
        && settings.tls.cert.is_empty()
        && settings.http.trusted_proxies.is_empty()
}

//= specs/spexus.md#serving
//# Serving other machines in clear MUST be refused with exit code 78 unless a proxy is trusted or it is asked for by name.
fn refuse_plain(settings: &Settings, address: SocketAddr) -> Outcome {
    if !is_plain(settings, address) || settings.insecure_plain {
        return Ok(());
    }
    let problem = format!("{address} is for other machines, and passwords and tokens would travel in clear");
    let allowed = "--tls-cert FILE with --tls-key FILE, --trusted-proxy NETWORK of an HTTPS proxy before the server, \
                   an address of this machine only, or --insecure-plain";
    Err(Failure::configuration(refused("listen", problem, allowed)))
}

/// Says where the server is, and on the first start how to get in.
fn announce(context: &CommandContext, address: SocketAddr, first: Option<&FirstStart>) -> Outcome {
    //= specs/spexus.md#serving
    //# The first start MUST print the URL, the name of the first user and, when it was made up, the password.
    let settings = &context.config.settings;
    let scheme = if settings.tls.cert.is_empty() {
        "http"
    } else {
        "https"
    };
    let url = format!("{scheme}://{}", reachable(address));
    let database = redacted_url(&settings.database);
    //= specs/spexus.md#secrets
    //# Log lines MUST NOT contain a password or a token.
    tracing::info!(url, database, "serving");
    //= specs/spexus.md#serving
    //# A server that is told to serve other machines in clear MUST warn of it when it starts.
    if is_plain(settings, address) {
        tracing::warn!(
            %address,
            "passwords and tokens travel in clear; name a certificate with --tls-cert, or put an HTTPS proxy before the server (docs/operate.md)"
        );
    }
    if context.output.json {
        let username = first.map(|first| &first.username);
        let password = first.and_then(|first| first.password.as_ref());
        let line = json!({"url": url, "database": database, "username": username, "password": password});
        return write(&line.to_string());
    }
    let mut text = format!("Spexus serves {url}\nDatabase: {database}");
    //= specs/spexus.md#serving
    //# A later start MUST NOT print a password.
    if let Some(first) = first {
        text.push_str(&welcome(&url, first));
    }
    write(&text)
}

fn welcome(url: &str, first: &FirstStart) -> String {
    let password = match &first.password {
        Some(password) => {
            format!("Password: {password}  (shown once; change it with `spexus user password admin`)")
        }
        None => "Password: the one you gave in SPEXUS_ADMIN_PASSWORD".to_owned(),
    };
    format!(
        "\nUser:     {}\n{password}\n\nSign in at {url} in a browser. Next steps:\n  \
         spexus demo                                     fills a project to look around in\n  \
         spexus token create --user {} --name laptop  makes a token to read with; --scope write for more\n  \
         spexus mcp init                                 connects AI hosts; then: spexus mcp install claude-code\n  \
         curl -H \"Authorization: Bearer mcp_pat_…\" {url}/api/v1/epics",
        first.username, first.username
    )
}

/// An address someone can type: the unspecified one means every address of the machine.
fn reachable(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => format!("127.0.0.1:{}", v4.port()),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => format!("[::1]:{}", v6.port()),
        other => other.to_string(),
    }
}

async fn flush_often(service: Service) {
    let mut sweep = Sweep::default();
    sweep_imports(&service).await;
    loop {
        tokio::time::sleep(FLUSH_EVERY).await;
        service.flush().await;
        forget_words(&service, &mut sweep).await;
        sweep_imports(&service).await;
    }
}

/// Takes away what imports left behind that died.
async fn sweep_imports(service: &Service) {
    match staging::sweep(service.store()).await {
        Ok(0) => {}
        Ok(swept) => tracing::info!(swept, "what imports left behind was swept"),
        Err(error) => tracing::warn!(%error, "what imports left behind could not be swept"),
    }
}

/// Looks at some of the words search knows, and forgets those that nobody uses any more.
async fn forget_words(service: &Service, sweep: &mut Sweep) {
    for _ in 0..SWEEP_STEPS {
        match sweep.step(service.store()).await {
            Ok(_) if !sweep.is_at_start() => {}
            Ok(_) => return,
            Err(error) => return tracing::warn!(%error, "unused words could not be forgotten"),
        }
    }
}

async fn tidy_often(metrics: Metrics, server: mcp_server::Server) {
    loop {
        telemetry::memory::measure(&server);
        tokio::time::sleep(TIDY_EVERY).await;
        metrics.tidy();
    }
}

/// Done at the first signal; the second one ends the process at once.
#[cfg(unix)]
pub(crate) fn stop_signals() -> Outcome<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (told, heard) = oneshot::channel();
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("told to stop; answering what was accepted");
        let _ = told.send(());
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::warn!("told to stop twice; ending at once");
        std::process::exit(130);
    });
    Ok(async move {
        let _ = heard.await;
    })
}

#[cfg(not(unix))]
pub(crate) fn stop_signals() -> Outcome<impl Future<Output = ()> + Send + 'static> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
