//! Progress bars for long work, shown only where someone watches.

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::time::Duration;

/// A bar that counts up to a known number, or a counter when it is not known. Silent unless standard error is a terminal.
pub(crate) fn bar(what: &'static str, total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(10));
    let template = match total {
        Some(_) => "{msg} {bar:40} {human_pos}/{human_len} {rate} {eta}",
        None => "{msg} {spinner} {human_pos} {rate}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        // Whole things a second; nobody reads three decimals of an item.
        let rate = |state: &ProgressState, out: &mut dyn Write| {
            let _ = write!(out, "{}/s", HumanCount(state.per_sec().round() as u64));
        };
        bar.set_style(style.with_key("rate", rate));
    }
    bar.set_message(what);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
