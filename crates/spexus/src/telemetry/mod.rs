//! What the program tells about itself: log lines, metrics, and spans for OpenTelemetry.

pub(crate) mod memory;
mod metrics;
mod redact;
mod spans;

pub(crate) use metrics::{Metrics, install as install_metrics};

use crate::config::{Config, LogFormat};
use crate::failure::{Failure, Outcome};
use std::io::IsTerminal as _;
use std::str::FromStr as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

/// Spans on their way out; sent when it is dropped.
pub(crate) struct Telemetry {
    _spans: Option<spans::Export>,
}

/// Starts logging to standard error, and exporting spans when an endpoint is set.
pub(crate) fn start(config: &Config, serves: bool) -> Outcome<Telemetry> {
    let settings = &config.settings;
    let level = if serves || config.is_set("log.level") {
        settings.log_level.as_str()
    } else {
        "warn"
    };
    let filter = Targets::from_str(level).map_err(|error| {
        Failure::configuration(crate::config::refused("log.level", error.to_string(), "a level"))
    })?;
    // What the client of apps tells in detail is what apps say, which is theirs.
    let filter = filter.with_target("rmcp", tracing::Level::ERROR);
    let terminal = std::io::stderr().is_terminal();
    let as_text = match settings.log_format {
        LogFormat::Text => true,
        LogFormat::Json => false,
        // Lines of a command are read by whoever typed it; those of a server by a program.
        LogFormat::Auto => terminal || !serves,
    };
    let lines = fmt::layer().with_writer(redact::stderr).with_ansi(terminal);
    let lines = if as_text {
        lines.with_target(false).boxed()
    } else {
        lines.json().flatten_event(true).boxed()
    };
    let (export, spans) = match settings.otlp_endpoint.as_str() {
        endpoint if serves && !endpoint.is_empty() => {
            let (export, layer) = spans::export(endpoint)?;
            (Some(export), Some(layer))
        }
        _ => (None, None),
    };
    // The lines of what sends the spans must not become spans.
    let ours = Targets::new().with_target("spexus", tracing::Level::INFO);
    let registry = tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .with(spans.map(|layer| layer.with_filter(ours)));
    // A second subscriber in one process is a matter of tests.
    let _ = registry.try_init();
    log_panics();
    Ok(Telemetry { _spans: export })
}

// Fulfils 003 R13.1, 003 R13.2
/// Starts logging for a process whose standard output belongs to a protocol.
//= specs/spexus-bridge.md#logs
//# Log lines MUST go to standard error, each with its time, its severity and, where a request is concerned, the request's id.
pub(crate) fn start_stdio(level: &str) -> Outcome {
    let filter = Targets::from_str(level).map_err(|error| {
        Failure::configuration(crate::config::refused("log_level", error.to_string(), "a level"))
    })?;
    // What libraries tell in detail is about statements and connections, which belongs in no log of a host.
    let chatty = ["hyper", "hyper_util", "rmcp", "rustls", "sqlx"];
    let filter = chatty.into_iter().fold(filter, |filter, library| {
        filter.with_target(library, tracing::Level::WARN)
    });
    let terminal = std::io::stderr().is_terminal();
    let lines = fmt::layer()
        .with_writer(redact::stderr)
        .with_ansi(terminal)
        .with_target(false);
    let registry = tracing_subscriber::registry().with(lines.with_filter(filter));
    // A second subscriber in one process is a matter of tests.
    let _ = registry.try_init();
    log_panics();
    Ok(())
}

// Fulfils 003 R13.8
/// A panic is a fault of ours: it is logged like everything else, with its place and how it came there.
fn log_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let said = info
            .payload()
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned());
        let said = said
            .or_else(|| info.payload().downcast_ref::<String>().cloned())
            .unwrap_or_default();
        let trace = std::backtrace::Backtrace::force_capture();
        tracing::error!(place, said, %trace, "a panic");
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Lines that were logged.
    #[derive(Clone, Default)]
    pub(super) struct Kept(pub(super) Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Kept {
        fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(line);
            Ok(line.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    // proves 003 R13.8: a program that is shipped can name the frames of a trace
    #[test]
    fn the_release_keeps_the_names_of_its_functions() {
        let manifest: toml::Value = toml::from_str(include_str!("../../../../Cargo.toml")).unwrap();
        for profile in ["release", "dist"] {
            // What a profile does not say it takes from the one it inherits.
            let strip = manifest["profile"][profile].get("strip");
            let keeps = match strip {
                None => true,
                Some(strip) => {
                    matches!(strip.as_str(), Some("none" | "debuginfo")) || strip.as_bool() == Some(false)
                }
            };
            assert!(keeps, "{profile}: {strip:?}");
        }
    }

    // proves 003 R13.8
    #[test]
    fn a_panic_is_logged_with_the_way_that_led_to_it() {
        let kept = Kept::default();
        let writer = kept.clone();
        let lines = fmt::layer().with_writer(move || writer.clone()).with_ansi(false);
        let before = std::panic::take_hook();
        log_panics();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), || {
            let _ = std::panic::catch_unwind(|| panic!("something impossible"));
        });
        std::panic::set_hook(before);
        let log = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        assert!(
            log.contains("ERROR") && log.contains("something impossible"),
            "{log}"
        );
        assert!(
            log.contains("telemetry") && log.contains("catch_unwind"),
            "the frames are there: {log}"
        );
    }
}
