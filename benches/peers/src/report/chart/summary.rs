//! One chart for all workloads that have a target against DPDK or everybody: how many times as long others take as ours.

use super::{Canvas, DPDK, Drawn, FAINT, GRID, INK, on_canvas, place_of, style, write};
use crate::case::Case;
use crate::machine::Machine;
use crate::report::{CaseResult, Row};
use plotters::prelude::{Color, PathElement, RGBColor, Rectangle};
use plotters::style::text_anchor::HPos;
use std::io;
use std::path::Path;

const CASES: [Case; 8] = [
    Case::Hot,
    Case::Batch,
    Case::Shuffled,
    Case::Mixed,
    Case::Pipe,
    Case::PipeBursts,
    Case::CopyRef,
    Case::Chain,
];

const WIDTH: i32 = 960;
const LEFT: i32 = 330;
const RIGHT: i32 = 800;
const TOP: i32 = 150;
const BAR: i32 = 17;
const STEP: i32 = 54;
const BEST_OTHER: RGBColor = RGBColor(0x6b, 0x8e, 0x9e);

/// A workload's bars.
struct Group {
    /// The workload's number, and what it is.
    name: (String, String),
    bars: Vec<Bar>,
}

struct Bar {
    peer: &'static str,
    /// Theirs over ours.
    ratio: f64,
    color: RGBColor,
}

/// Nothing where none of the workloads was measured.
pub(crate) fn summary(folder: &Path, machine: &Machine, results: &[CaseResult]) -> io::Result<()> {
    let found = |case: &Case| results.iter().find(|result| result.case == *case);
    let groups: Vec<Group> = CASES.iter().filter_map(found).filter_map(group).collect();
    if groups.is_empty() {
        return Ok(());
    }
    let scale = Scale::of(&groups);
    let bottom = TOP + STEP * groups.len() as i32;
    let path = folder.join("summary.svg");
    on_canvas(&path, (WIDTH, bottom + 36), |canvas| {
        head(canvas, machine, &groups)?;
        grid(canvas, &scale, bottom)?;
        for (at, group) in groups.iter().enumerate() {
            draw(canvas, &scale, group, TOP + STEP * at as i32)?;
        }
        // The line between slower and faster, over the bars' ends.
        let one = vec![(scale.place(1.0), TOP - 10), (scale.place(1.0), bottom)];
        canvas.draw(&PathElement::new(one, INK.stroke_width(2)))
    })
}

fn group(result: &CaseResult) -> Option<Group> {
    let ours = result.ours()?;
    let is_other = |row: &&Row| !row.is_ours() && row.name != "floor" && row.value().is_finite();
    // Fastest first.
    let rows = || result.rows.iter().filter(is_other);
    let dpdk = rows().find(|row| row.name == "DPDK");
    let best = rows().find(|row| row.name != "DPDK");
    let bar = |row: &Row, color| Bar {
        peer: row.name,
        ratio: row.value() / ours,
        color,
    };
    let bars: Vec<Bar> = dpdk
        .map(|row| bar(row, DPDK))
        .into_iter()
        .chain(best.map(|row| bar(row, BEST_OTHER)))
        .collect();
    let title = result.title();
    let (number, what) = title.split_once(": ")?;
    (!bars.is_empty()).then(|| Group {
        name: (number.into(), what.into()),
        bars,
    })
}

/// Logarithmic, so that half and twice are as far from 1.
struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    fn of(groups: &[Group]) -> Self {
        let ratios = || {
            groups
                .iter()
                .flat_map(|group| &group.bars)
                .map(|bar| bar.ratio)
        };
        let least = ratios().fold(0.5, f64::min);
        let most = ratios().fold(2.0, f64::max);
        Self {
            least: least.log2().floor().exp2(),
            most: most.log2().ceil().exp2(),
        }
    }

    fn place(&self, ratio: f64) -> i32 {
        let part = (ratio / self.least).log2() / (self.most / self.least).log2();
        LEFT + (f64::from(RIGHT - LEFT) * part).round() as i32
    }
}

fn head<'a>(canvas: &Canvas<'a>, machine: &Machine, groups: &[Group]) -> Drawn<'a> {
    let title = style(20, INK, HPos::Left, true);
    let text = "How many times as long others take as mbuf";
    write(canvas, text.into(), (20, 28), title)?;
    let faint = style(13, FAINT, HPos::Left, false);
    let text = "Theirs over ours, medians of one run, logarithmic scale. Right of the line mbuf is faster, left of it slower.";
    write(canvas, text.into(), (20, 54), faint.clone())?;
    let peers = || {
        groups
            .iter()
            .flat_map(|group| &group.bars)
            .map(|bar| bar.peer)
    };
    let versions: Vec<String> = machine
        .versions
        .iter()
        .filter(|(name, _)| *name == "ours" || peers().any(|peer| peer == *name))
        .map(|(name, version)| match *name {
            "ours" => format!("mbuf {version}"),
            name => format!("{name} {version}"),
        })
        .collect();
    write(canvas, place_of(machine), (20, 74), faint.clone())?;
    write(canvas, versions.join("; "), (20, 94), faint)?;
    let legend = [
        (DPDK, "DPDK's mbuf"),
        (BEST_OTHER, "the best of all other peers"),
    ];
    for ((color, text), at) in legend.into_iter().zip([LEFT, LEFT + 130]) {
        let square = [(at, 114), (at + 12, 126)];
        canvas.draw(&Rectangle::new(square, color.filled()))?;
        let style = style(13, INK, HPos::Left, false);
        write(canvas, text.into(), (at + 18, 120), style)?;
    }
    Ok(())
}

fn grid<'a>(canvas: &Canvas<'a>, scale: &Scale, bottom: i32) -> Drawn<'a> {
    let mut mark = scale.least;
    while mark <= scale.most {
        let at = scale.place(mark);
        let line = vec![(at, TOP - 10), (at, bottom)];
        canvas.draw(&PathElement::new(line, GRID.stroke_width(1)))?;
        let faint = style(12, FAINT, HPos::Center, false);
        write(canvas, format!("{mark}"), (at, bottom + 14), faint)?;
        mark *= 2.0;
    }
    Ok(())
}

fn draw<'a>(canvas: &Canvas<'a>, scale: &Scale, group: &Group, top: i32) -> Drawn<'a> {
    let (number, what) = &group.name;
    let bold = style(15, INK, HPos::Left, true);
    write(canvas, number.clone(), (20, top + BAR / 2), bold)?;
    let faint = style(12, FAINT, HPos::Left, false);
    write(canvas, what.clone(), (20, top + BAR + BAR / 2), faint)?;
    for (nth, bar) in group.bars.iter().enumerate() {
        let top = top + (BAR + 2) * nth as i32;
        let (one, end) = (scale.place(1.0), scale.place(bar.ratio));
        let corners = [(one.min(end), top), (one.max(end), top + BAR)];
        canvas.draw(&Rectangle::new(corners, bar.color.filled()))?;
        let text = format!("{:.2}  {}", bar.ratio, bar.peer);
        let style = style(13, INK, HPos::Left, bar.ratio >= 1.0);
        write(canvas, text, (one.max(end) + 8, top + BAR / 2), style)?;
    }
    Ok(())
}
