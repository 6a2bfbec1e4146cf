//! Progress bars for long work, shown only where someone watches.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// A bar that counts up to a known number, or a counter when it is not known. Silent unless standard error is a terminal.
pub(crate) fn bar(what: &'static str, total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr_with_hz(10));
    let template = match total {
        Some(_) => "{msg} {bar:40} {human_pos}/{human_len} {per_sec} {eta}",
        None => "{msg} {spinner} {human_pos} {per_sec}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(what);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
