//! Progress on standard error: a bar on a terminal after a second of work, or lines with
//! `--progress`.

use crate::{report, signals};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

struct State {
    what: &'static str,
    bar: Option<ProgressBar>,
    /// When the next line, or the bar, is due.
    next: Instant,
    lines: bool,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

const PATIENCE: Duration = Duration::from_secs(1);

/// Begins an operation.
pub fn begin(what: &'static str) {
    begin_with(what, false);
}

/// Begins an operation. `insist` reports lines even if standard error is not a terminal.
pub fn begin_with(what: &'static str, insist: bool) {
    let terminal = std::io::stderr().is_terminal();
    let patience = if insist { Duration::ZERO } else { PATIENCE };
    let state = (insist || (terminal && !report::is_quiet())).then(|| State {
        what,
        bar: None,
        next: Instant::now() + patience,
        lines: !terminal,
    });
    if let Ok(mut current) = STATE.lock() {
        *current = state;
    }
}

/// Reports bytes of content; a total of 0 is unknown. Returns `false` if a signal asked to stop:
/// the callback of the library's options.
pub fn report(done: u64, total: u64) -> bool {
    // another thread that reports meanwhile does it for this one
    if let Ok(mut current) = STATE.try_lock()
        && let Some(state) = current.as_mut()
        && (state.bar.is_some() || Instant::now() >= state.next)
    {
        state.show(done, total);
    }
    !signals::stopped()
}

impl State {
    fn show(&mut self, done: u64, total: u64) {
        if self.lines {
            if total > 0 {
                eprintln!("{}: {:.0} %", self.what, 100.0 * done as f64 / total as f64);
            } else {
                eprintln!("{}: {done} bytes", self.what);
            }
            self.next = Instant::now() + PATIENCE;
            return;
        }
        let template = if total > 0 {
            "{prefix} [{bar:40}] {percent} %  {bytes}/{total_bytes}  {bytes_per_sec}  {eta}"
        } else {
            "{prefix} {bytes}  {bytes_per_sec}"
        };
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = self.bar.get_or_insert_with(|| {
            // the first drawing has the style already
            ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr())
                .with_style(style.clone())
                .with_prefix(self.what)
        });
        bar.set_style(style);
        bar.set_length(total);
        bar.set_position(done);
    }
}

/// Ends the operation and removes the bar.
pub fn end() {
    if let Ok(mut current) = STATE.lock()
        && let Some(bar) = current.take().and_then(|state| state.bar)
    {
        bar.finish_and_clear();
    }
}

/// Calls a function that prints to standard error, without the bar.
pub fn suspend(print: impl FnOnce()) {
    let bar =
        STATE.try_lock().ok().and_then(|state| state.as_ref().and_then(|state| state.bar.clone()));
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}
