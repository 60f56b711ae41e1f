//! A bar on a terminal, plain lines elsewhere; silent for `--format json` on a terminal's behalf only.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mlem_repair::{Event, Phase};

use crate::console;

/// Shows where a notebook is.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    name: String,
}

impl Progress {
    /// For one notebook.
    pub(crate) fn new(name: &str) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {msg}") {
                bar.set_style(style);
            }
            bar.set_prefix(name.to_owned());
            bar
        });
        Progress { bar, name: name.to_owned() }
    }

    /// Says something beside the bar.
    pub(crate) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(format!("{}: {text}", self.name)),
            None => console::note(&format!("{}: {text}", self.name)),
        }
    }

    /// Shows what the repair or run does.
    pub(crate) fn event(&self, event: Event) {
        match event {
            Event::Cell { phase, cell, of } => {
                if let Some(bar) = &self.bar {
                    bar.set_length(of as u64);
                    bar.set_position(cell as u64);
                    bar.set_message(match phase {
                        Phase::Live => "running",
                        Phase::Proof => "clean run",
                    });
                }
            }
            Event::Attempt { cell, proposal, kept } => {
                let mark = if kept { "fixed" } else { "no help" };
                self.say(&format!("cell {cell}: {mark}: {proposal}"));
            }
            Event::Note(note) => self.say(&note),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
