//! The bar on the terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How often the bar is looked after.
const PACKETS_BETWEEN_LOOKS: u64 = 256;
const TIME_BETWEEN_DRAWS: Duration = Duration::from_millis(100);

/// How far the reader has come. Draws nothing unless standard error is a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    packets: u64,
    bytes_of_passes: u64,
    started: Instant,
    drawn: Instant,
}

impl Progress {
    /// For a run through that many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        let style =
            ProgressStyle::with_template("{wide_bar} {percent:>3}% {bytes}/{total_bytes} {msg}")
                .expect("a template with known names");
        let now = Instant::now();
        let bar = ProgressBar::new(bytes).with_style(style);
        Self {
            bar,
            packets: 0,
            bytes_of_passes: 0,
            started: now,
            drawn: now,
        }
    }

    /// A packet more; the capture is at this position.
    pub(crate) fn packet(&mut self, position: u64) {
        self.packets += 1;
        if self.packets.is_multiple_of(PACKETS_BETWEEN_LOOKS)
            && self.drawn.elapsed() >= TIME_BETWEEN_DRAWS
        {
            self.draw(position);
        }
    }

    /// A pass has ended at this position.
    pub(crate) fn pass(&mut self, position: u64) {
        self.bytes_of_passes += position;
    }

    /// The last packet was read.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn draw(&mut self, position: u64) {
        self.drawn = Instant::now();
        let seconds = (self.drawn - self.started).as_secs_f64();
        let done = self.bytes_of_passes + position;
        let packet_rate = self.packets as f64 / seconds / 1e3;
        let byte_rate = done as f64 / seconds / 1e6;
        self.bar
            .set_message(format!("{packet_rate:.0} k packets/s {byte_rate:.0} MB/s"));
        self.bar.set_position(done);
    }
}
