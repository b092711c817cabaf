//! Line charts of what cost does as there is more of something: both axes logarithmic, a line for each contender.

use super::{
    Canvas, DPDK, Drawn, FAINT, GRID, INK, OURS, foot, mark_text, marks, on_canvas, style, write,
};
use crate::case::{Growth, thousands};
use crate::machine::Machine;
use crate::report::table::number;
use crate::report::{CaseResult, OURS as OURS_NAME};
use plotters::prelude::{Circle, Color, PathElement, RGBColor};
use plotters::style::text_anchor::HPos;
use std::io;
use std::path::Path;

const WIDTH: i32 = 1060;
const LEFT: i32 = 70;
const RIGHT: i32 = 740;
const TOP: i32 = 84;
const BOTTOM: i32 = 560;
/// Where names begin, and how far they are apart at least.
const NAMES: i32 = 784;
const LINE: i32 = 19;

/// Colours of those that have none of their own, far enough from each other to be followed where lines cross.
const PALETTE: [RGBColor; 14] = [
    RGBColor(0x2c, 0xa0, 0x2c),
    RGBColor(0x94, 0x67, 0xbd),
    RGBColor(0xc4, 0x2f, 0x3b),
    RGBColor(0x8c, 0x56, 0x4b),
    RGBColor(0xe3, 0x77, 0xc2),
    RGBColor(0x17, 0xa8, 0xb8),
    RGBColor(0xa5, 0xa1, 0x1c),
    RGBColor(0x0f, 0x7b, 0x6c),
    RGBColor(0xe0, 0xa0, 0x30),
    RGBColor(0x6b, 0x4f, 0xa0),
    RGBColor(0xa8, 0x4a, 0x86),
    RGBColor(0x5f, 0x8a, 0x2a),
    RGBColor(0xb0, 0x7a, 0x4a),
    RGBColor(0x88, 0x88, 0x88),
];

struct Series {
    name: &'static str,
    /// How many there were, and what it took.
    points: Vec<(u32, f64)>,
    color: RGBColor,
    width: u32,
}

/// Nothing where fewer than two sizes were measured.
pub(crate) fn growth(
    folder: &Path,
    machine: &Machine,
    results: &[CaseResult],
    growth: Growth,
) -> io::Result<()> {
    let results: Vec<(u32, &CaseResult)> = results
        .iter()
        .filter_map(|result| Some((result.case.count(growth)?, result)))
        .collect();
    let series = all_series(&results);
    if results.len() < 2 || series.is_empty() {
        return Ok(());
    }
    let counts: Vec<u32> = results.iter().map(|(count, _)| *count).collect();
    let scale = Scale::of(&counts, &series);
    let path = folder.join(format!("{}.svg", growth.id()));
    on_canvas(&path, (WIDTH, BOTTOM + 84), |canvas| {
        head(canvas, growth, results[0].1.case.unit())?;
        grid(canvas, &scale, &counts, growth)?;
        // The widest last, so that ours are on top.
        for width in 1..=4 {
            for one in series.iter().filter(|one| one.width == width) {
                line(canvas, &scale, one)?;
            }
        }
        names(canvas, &scale, &series)?;
        foot(canvas, machine, BOTTOM + 66)
    })
}

/// Those with two figures at least, by what they took at the end, most first.
fn all_series(results: &[(u32, &CaseResult)]) -> Vec<Series> {
    let rows = results.iter().flat_map(|(_, result)| &result.rows);
    let mut names: Vec<&str> = rows.map(|row| row.name).collect();
    names.sort_unstable();
    names.dedup();
    let mut palette = PALETTE.iter().cycle();
    let mut series: Vec<Series> = names
        .into_iter()
        .map(|name| {
            let (color, width) = match name {
                OURS_NAME => (OURS, 4),
                "ours, local" => (RGBColor(0x5a, 0xb0, 0xea), 3),
                "ours, C" => (RGBColor(0x0a, 0x3d, 0x6b), 3),
                "DPDK" => (DPDK, 3),
                "floor" => (INK, 1),
                _ => (*palette.next().expect("it begins again"), 2),
            };
            Series {
                name,
                points: points(results, name),
                color,
                width,
            }
        })
        .filter(|one| one.points.len() > 1)
        .collect();
    series.sort_by(|one, other| other.last().1.total_cmp(&one.last().1));
    series
}

fn points(results: &[(u32, &CaseResult)], name: &str) -> Vec<(u32, f64)> {
    let found = results.iter().filter_map(|(count, result)| {
        let row = result.rows.iter().find(|row| row.name == name)?;
        Some((*count, row.value())).filter(|(_, value)| value.is_finite())
    });
    found.collect()
}

impl Series {
    fn last(&self) -> (u32, f64) {
        *self.points.last().expect("one with points")
    }
}

/// From counts and values to places, each with its least and its most.
struct Scale {
    across: [f64; 2],
    up: [f64; 2],
}

impl Scale {
    fn of(counts: &[u32], series: &[Series]) -> Self {
        let values = || {
            series
                .iter()
                .flat_map(|one| &one.points)
                .map(|point| point.1)
        };
        let least = values().fold(f64::INFINITY, f64::min).max(1e-3);
        let most = values().fold(least, f64::max);
        let counts = || counts.iter().map(|&count| f64::from(count));
        Self {
            across: [
                counts().fold(f64::INFINITY, f64::min),
                counts().fold(0.0, f64::max),
            ],
            up: [least / 1.25, most * 1.25],
        }
    }

    fn place(&self, (count, value): (u32, f64)) -> (i32, i32) {
        let part = |[least, most]: [f64; 2], value: f64| (value / least).ln() / (most / least).ln();
        let across = part(self.across, f64::from(count)) * f64::from(RIGHT - LEFT - 40);
        let up = part(self.up, value) * f64::from(BOTTOM - TOP);
        (
            LEFT + 20 + across.round() as i32,
            BOTTOM - up.round() as i32,
        )
    }
}

fn head<'a>(canvas: &Canvas<'a>, growth: Growth, unit: &str) -> Drawn<'a> {
    let title = style(19, INK, HPos::Left, true);
    write(canvas, growth.title().into(), (20, 26), title)?;
    let under = format!(
        "{unit}, median; less is better; both axes logarithmic; behind the names: the last figure"
    );
    write(canvas, under, (20, 50), style(14, FAINT, HPos::Left, false))
}

fn grid<'a>(canvas: &Canvas<'a>, scale: &Scale, counts: &[u32], growth: Growth) -> Drawn<'a> {
    let lines = |line, text, place, across| {
        canvas.draw(&PathElement::new(line, GRID.stroke_width(1)))?;
        write(canvas, text, place, style(12, FAINT, across, false))
    };
    let [least, most] = scale.up;
    for mark in marks().filter(|mark| (least..=most).contains(mark)) {
        let (_, at) = scale.place((counts[0], mark));
        let line = vec![(LEFT, at), (RIGHT, at)];
        lines(line, mark_text(mark), (LEFT - 8, at), HPos::Right)?;
    }
    for &count in counts {
        let (at, _) = scale.place((count, most));
        let line = vec![(at, TOP), (at, BOTTOM)];
        lines(line, thousands(count), (at, BOTTOM + 14), HPos::Center)?;
    }
    let middle = ((LEFT + RIGHT) / 2, BOTTOM + 36);
    let axis = style(13, INK, HPos::Center, false);
    write(canvas, growth.axis().into(), middle, axis)
}

fn line<'a>(canvas: &Canvas<'a>, scale: &Scale, series: &Series) -> Drawn<'a> {
    let places: Vec<(i32, i32)> = series.points.iter().map(|&at| scale.place(at)).collect();
    for &place in &places {
        canvas.draw(&Circle::new(
            place,
            series.width as i32 + 1,
            series.color.filled(),
        ))?;
    }
    canvas.draw(&PathElement::new(
        places,
        series.color.stroke_width(series.width),
    ))
}

/// Beside the ends of the lines, moved apart where these are close, each with a thread to its line.
fn names<'a>(canvas: &Canvas<'a>, scale: &Scale, series: &[Series]) -> Drawn<'a> {
    let ends: Vec<i32> = series.iter().map(|one| scale.place(one.last()).1).collect();
    let end_count = scale.across[1] as u32;
    for ((one, &end), at) in series.iter().zip(&ends).zip(apart(&ends)) {
        let (from, _) = scale.place(one.last());
        let thread = vec![(from, end), (RIGHT, end), (NAMES - 6, at)];
        canvas.draw(&PathElement::new(
            thread,
            one.color.mix(0.45).stroke_width(1),
        ))?;
        let (count, value) = one.last();
        let mut text = format!("{}  {}", one.name, number(value));
        if count < end_count {
            text += &format!(" at {}", thousands(count));
        }
        let style = style(14, one.color, HPos::Left, one.width > 2);
        write(canvas, text, (NAMES, at), style)?;
    }
    Ok(())
}

/// Moves places, which go down, to at least a line from each other, and none below the chart's end.
fn apart(ends: &[i32]) -> Vec<i32> {
    let mut places = ends.to_vec();
    for at in 1..places.len() {
        places[at] = places[at].max(places[at - 1] + LINE);
    }
    let mut limit = BOTTOM + 10;
    for place in places.iter_mut().rev() {
        *place = (*place).min(limit);
        limit = *place - LINE;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_overlap() {
        let places = apart(&[100, 101, 102, 300, BOTTOM - 1, BOTTOM]);
        assert_eq!(places[0], 100);
        assert_eq!(places[3], 300);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= LINE));
        assert!(places[5] <= BOTTOM + 10);
    }
}
