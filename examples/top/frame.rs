//! What is shown of a pool: one frame of text.

use std::fmt::{self, Display, Write};
use std::time::Duration;

use mbuf::{ClassStats, Stats};

/// How wide a bar is, in columns.
const BAR: u64 = 22;

/// Whether a frame has colours.
#[derive(Clone, Copy)]
pub(crate) struct Colours(pub(crate) bool);

/// What a part of a bar stands for.
#[derive(Clone, Copy)]
enum Part {
    InUse,
    Cached,
    Home,
    Free,
}

impl Part {
    fn glyph(self) -> char {
        match self {
            Self::InUse => '█',
            Self::Cached => '▒',
            Self::Home => '·',
            Self::Free => ' ',
        }
    }

    /// As the terminal's escapes number it.
    fn colour(self) -> u8 {
        match self {
            Self::InUse => 32,
            Self::Cached => 33,
            Self::Home | Self::Free => 2,
        }
    }
}

impl Colours {
    /// So many columns of one part.
    fn stretch(self, part: Part, columns: u64) -> String {
        let glyphs: String = (0..columns).map(|_| part.glyph()).collect();
        if self.0 && columns > 0 {
            format!("\x1b[{}m{glyphs}\x1b[0m", part.colour())
        } else {
            glyphs
        }
    }

    fn heading(self, line: &str) -> String {
        if self.0 {
            format!("\x1b[1m{line}\x1b[0m")
        } else {
            line.into()
        }
    }

    /// A bar of parts in proportion, of which the last is what is left of `whole`.
    fn bar(self, whole: u64, parts: &[(Part, u64)], rest: Part) -> String {
        let mut bar = String::new();
        let (mut sum, mut drawn) = (0, 0);
        for &(part, count) in parts {
            sum += count;
            // While others go on, the counts may be a little more than the whole.
            let end = (sum * BAR).div_ceil(whole.max(1)).min(BAR);
            bar += &self.stretch(part, end - drawn);
            drawn = end;
        }
        bar + &self.stretch(rest, BAR - drawn)
    }
}

/// A count in three digits or so.
struct Short(f64);

impl Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            small if small < 1e3 => format!("{small:.0}"),
            thousands if thousands < 1e6 => format!("{:.1} k", thousands / 1e3),
            millions if millions < 1e9 => format!("{:.1} M", millions / 1e6),
            more => format!("{:.1} G", more / 1e9),
        };
        f.pad(&text)
    }
}

/// A pool as it was and as it is now.
pub(crate) struct Frame<'a> {
    pub(crate) before: &'a Stats,
    pub(crate) now: &'a Stats,
    /// How much time lies between.
    pub(crate) passed: Duration,
    /// How long the pool has been at work.
    pub(crate) age: Duration,
}

impl Frame<'_> {
    /// The frame's lines.
    pub(crate) fn text(&self, colours: Colours) -> String {
        let mut text = String::new();
        self.totals(&mut text, colours)
            .and_then(|()| self.classes(&mut text, colours))
            .expect("a string takes what is written to it");
        text
    }

    fn per_second(&self, before: u64, now: u64) -> Short {
        Short(now.saturating_sub(before) as f64 / self.passed.as_secs_f64())
    }

    fn totals(&self, text: &mut String, colours: Colours) -> fmt::Result {
        let (before, now) = (self.before, self.now);
        let slabs = now.capacity / now.slab_size;
        let title = format!(
            "pool of {} MiB in slabs of {} KiB, after {:.1} s",
            now.capacity >> 20,
            now.slab_size >> 10,
            self.age.as_secs_f64()
        );
        writeln!(text, "{}", colours.heading(&title))?;
        writeln!(
            text,
            "slabs   [{}] {} of {slabs} taken, {} given back",
            colours.bar(slabs, &[(Part::InUse, now.slabs)], Part::Free),
            now.slabs,
            now.slabs_given_back
        )?;
        writeln!(
            text,
            "blocks  [{}] {} in use, {} cached, {} home",
            blocks_bar(colours, now.in_use, now.cached, now.in_depot),
            now.in_use,
            now.cached,
            now.in_depot
        )?;
        writeln!(
            text,
            "calls   {} allocs/s, {} frees/s, {} failed\n",
            self.per_second(before.allocs, now.allocs),
            self.per_second(before.frees, now.frees),
            now.failed
        )
    }

    fn classes(&self, text: &mut String, colours: Colours) -> fmt::Result {
        let heading = format!(
            "{:>7} {:>7} {:>7} {:>7} {:>5} {:>8} {:>7}  █ in use ▒ cached · home",
            "size", "in use", "cached", "home", "slabs", "allocs/s", "failed"
        );
        writeln!(text, "{}", colours.heading(&heading))?;
        for class in &self.now.classes {
            let is_same = |other: &&ClassStats| other.data_capacity == class.data_capacity;
            let before = self.before.classes.iter().find(is_same);
            let size = class.data_capacity.to_string();
            self.class(text, colours, &size, before, class)?;
        }
        let before = Some(&self.before.span_class);
        self.class(text, colours, "spans", before, &self.now.span_class)
    }

    fn class(
        &self,
        text: &mut String,
        colours: Colours,
        size: &str,
        before: Option<&ClassStats>,
        now: &ClassStats,
    ) -> fmt::Result {
        let allocs_before = before.map_or(0, |before| before.allocs);
        writeln!(
            text,
            "{size:>7} {:>7} {:>7} {:>7} {:>5} {:>8} {:>7}  {}",
            now.in_use,
            now.cached,
            now.in_depot,
            now.slabs,
            self.per_second(allocs_before, now.allocs),
            now.failed,
            blocks_bar(colours, now.in_use, now.cached, now.in_depot)
        )
    }
}

fn blocks_bar(colours: Colours, in_use: u64, cached: u64, home: u64) -> String {
    let whole = in_use + cached + home;
    let rest = if whole == 0 { Part::Free } else { Part::Home };
    colours.bar(
        whole,
        &[(Part::InUse, in_use), (Part::Cached, cached)],
        rest,
    )
}
