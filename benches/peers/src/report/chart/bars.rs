//! Bar charts, fastest on top.

use super::{
    Canvas, Drawn, FAINT, GRID, INK, OTHERS, OURS, foot, mark_text, marks, on_canvas, style, write,
};
use crate::machine::Machine;
use crate::report::table::number;
use crate::report::{CaseResult, Row};
use plotters::prelude::{Color, PathElement, Rectangle};
use plotters::style::text_anchor::HPos;
use std::io;
use std::path::Path;

const WIDTH: i32 = 900;
/// Where bars begin and end.
const LEFT: i32 = 190;
const RIGHT: i32 = 740;
const TOP: i32 = 84;
const BAR: i32 = 22;
const STEP: i32 = 30;
/// The longest bar is longer than the shortest by more than this: logarithms.
const LINEAR: f64 = 25.0;

pub(crate) fn bars(path: &Path, machine: &Machine, result: &CaseResult) -> io::Result<()> {
    let rows: Vec<&Row> = result
        .rows
        .iter()
        .filter(|row| row.value().is_finite())
        .collect();
    let bottom = TOP + STEP * rows.len() as i32;
    on_canvas(path, (WIDTH, bottom + 62), |canvas| {
        let scale = Scale::of(&rows);
        grid(canvas, &scale, bottom)?;
        head(canvas, result, &scale)?;
        for (at, row) in rows.iter().enumerate() {
            bar(canvas, &scale, row, TOP + STEP * at as i32)?;
        }
        foot(canvas, machine, bottom + 42)
    })
}

/// From values to places.
struct Scale {
    from: f64,
    to: f64,
    is_log: bool,
}

impl Scale {
    fn of(rows: &[&Row]) -> Self {
        let values = || rows.iter().map(|row| row.value());
        let least = values().fold(f64::INFINITY, f64::min).max(1e-3);
        let most = values().fold(least, f64::max);
        if most / least > LINEAR {
            // The shortest bar is to be seen: it begins a little below the least.
            let from = marks().rfind(|mark| *mark <= least / 1.5);
            let from = from.unwrap_or(least / 2.0);
            Self {
                from,
                to: most,
                is_log: true,
            }
        } else {
            Self {
                from: 0.0,
                to: most,
                is_log: false,
            }
        }
    }

    fn place(&self, value: f64) -> i32 {
        let part = if self.is_log {
            (value / self.from).log10() / (self.to / self.from).log10()
        } else {
            value / self.to
        };
        LEFT + ((RIGHT - LEFT) as f64 * part.clamp(0.0, 1.0)).round() as i32
    }

    /// Where lines go: at 1, 2 and 5 times powers of ten, or at even steps.
    fn marks(&self) -> Vec<f64> {
        if self.is_log {
            let decades = (self.to / self.from).log10();
            return marks()
                .filter(|&mark| mark >= self.from && mark <= self.to)
                .filter(|mark| decades < 2.5 || (mark.log10().round() - mark.log10()).abs() < 1e-9)
                .collect();
        }
        let step = marks()
            .find(|step| self.to / step <= 6.0)
            .unwrap_or(self.to);
        (0..=(self.to / step) as usize)
            .map(|count| count as f64 * step)
            .collect()
    }
}

fn head<'a>(canvas: &Canvas<'a>, result: &CaseResult, scale: &Scale) -> Drawn<'a> {
    let title = style(19, INK, HPos::Left, true);
    write(canvas, result.title(), (20, 26), title)?;
    let kind = if result.nothing.is_some() {
        "99.9th percentile"
    } else {
        "median"
    };
    let log = if scale.is_log {
        ", logarithmic scale"
    } else {
        ""
    };
    let under = format!(
        "{}, {kind}; less is better{log}; in brackets: ours / theirs",
        result.case.unit()
    );
    write(canvas, under, (20, 50), style(14, FAINT, HPos::Left, false))?;
    let ours = result.ours().unwrap_or(f64::NAN);
    for (at, row) in result.rows.iter().enumerate() {
        if row.value().is_finite() {
            let text = match row.is_ours() || ours.is_nan() {
                true => number(row.value()),
                false => format!("{} ({:.2})", number(row.value()), ours / row.value()),
            };
            let place = (
                scale.place(row.value()) + 8,
                TOP + STEP * at as i32 + BAR / 2,
            );
            let style = style(14, INK, HPos::Left, row.is_ours());
            write(canvas, text, place, style)?;
        }
    }
    Ok(())
}

fn grid<'a>(canvas: &Canvas<'a>, scale: &Scale, bottom: i32) -> Drawn<'a> {
    for mark in scale.marks() {
        let at = scale.place(mark);
        let line = vec![(at, TOP - 8), (at, bottom)];
        canvas.draw(&PathElement::new(line, GRID.stroke_width(1)))?;
        let text = mark_text(mark);
        write(
            canvas,
            text,
            (at, bottom + 12),
            style(12, FAINT, HPos::Center, false),
        )?;
    }
    Ok(())
}

fn bar<'a>(canvas: &Canvas<'a>, scale: &Scale, row: &Row, top: i32) -> Drawn<'a> {
    let color = if row.is_ours() { OURS } else { OTHERS };
    let end = scale.place(row.value()).max(LEFT + 2);
    let corners = [(LEFT, top), (end, top + BAR)];
    canvas.draw(&Rectangle::new(corners, color.filled()))?;
    let name = style(14, INK, HPos::Right, row.is_ours());
    write(canvas, row.name.into(), (LEFT - 10, top + BAR / 2), name)
}
