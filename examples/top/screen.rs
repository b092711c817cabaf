//! Standard output: a terminal, where each frame takes the place of the last, or a pipe, where they follow each other.

use std::env;
use std::io::{self, IsTerminal, Stdout, Write};

use crate::frame::Colours;

/// Where frames are shown.
pub(crate) struct Screen {
    out: Stdout,
    is_terminal: bool,
    /// How many lines the last frame had.
    lines: usize,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let out = io::stdout();
        Self {
            is_terminal: out.is_terminal(),
            out,
            lines: 0,
        }
    }

    pub(crate) fn colours(&self) -> Colours {
        let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Colours(self.is_terminal && !unwanted)
    }

    /// Shows a frame, in one write. Whoever interrupts the program finds the terminal as it was, with the cursor below the frame.
    pub(crate) fn show(&mut self, frame: &str) -> io::Result<()> {
        let mut text = String::new();
        if self.is_terminal {
            // Up to where the last frame begins; lines that are too long are cut, not wrapped.
            if self.lines > 0 {
                text += &format!("\x1b[{}F", self.lines);
            }
            text += "\x1b[?7l";
            for line in frame.lines() {
                text += line;
                // What the last frame had there goes.
                text += "\x1b[K\n";
            }
            text += "\x1b[J\x1b[?7h";
        } else {
            if self.lines > 0 {
                text.push('\n');
            }
            text += frame;
        }
        self.lines = frame.lines().count();
        let mut out = self.out.lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}
