//! Charts, as SVG.

mod bars;
mod lines;
mod summary;

pub(crate) use bars::bars;
pub(crate) use lines::growth;
pub(crate) use summary::summary;

use crate::machine::Machine;
use plotters::coord::Shift;
use plotters::prelude::{
    DrawingArea, IntoDrawingArea, IntoFont, RGBColor, SVGBackend, Text, WHITE,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, TextStyle};
use std::io;
use std::path::Path;

const OURS: RGBColor = RGBColor(0x12, 0x6d, 0xb3);
const DPDK: RGBColor = RGBColor(0xd9, 0x5f, 0x1e);
const OTHERS: RGBColor = RGBColor(0xb4, 0xbc, 0xc4);
const INK: RGBColor = RGBColor(0x22, 0x28, 0x2e);
const FAINT: RGBColor = RGBColor(0x5f, 0x6b, 0x76);
const GRID: RGBColor = RGBColor(0xe2, 0xe6, 0xea);

type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws a picture of this width and height into a file.
fn on_canvas<'a>(
    path: &'a Path,
    (width, height): (i32, i32),
    draw: impl FnOnce(&Canvas<'a>) -> Drawn<'a>,
) -> io::Result<()> {
    let canvas = SVGBackend::new(path, (width as u32, height as u32)).into_drawing_area();
    let drawn = canvas
        .fill(&WHITE)
        .and_then(|()| draw(&canvas))
        .and_then(|()| canvas.present());
    drawn.map_err(|error| io::Error::other(error.to_string()))
}

/// 1, 2 and 5 times powers of ten.
fn marks() -> impl DoubleEndedIterator<Item = f64> {
    let powers = (-3..10).map(|power| 10f64.powi(power));
    powers.flat_map(|power| [power, 2.0 * power, 5.0 * power])
}

type Drawn<'a> = Result<(), plotters::drawing::DrawingAreaErrorKind<DrawError<'a>>>;
type DrawError<'a> = <SVGBackend<'a> as plotters::prelude::DrawingBackend>::ErrorType;

/// How text looks: it is level with its place, and begins, ends or is centred there.
fn style(size: i32, color: RGBColor, across: HPos, is_bold: bool) -> TextStyle<'static> {
    let face = if is_bold {
        FontStyle::Bold
    } else {
        FontStyle::Normal
    };
    let font = ("sans-serif", size).into_font().style(face);
    TextStyle {
        font,
        color: color.to_backend_color(),
        pos: Pos::new(across, VPos::Center),
    }
}

fn write<'a>(
    canvas: &Canvas<'a>,
    text: String,
    place: (i32, i32),
    style: TextStyle<'static>,
) -> Drawn<'a> {
    canvas.draw(&Text::new(text, place, style))
}

fn mark_text(mark: f64) -> String {
    if mark >= 1000.0 {
        crate::case::thousands(mark as u32)
    } else {
        format!("{}", (mark * 1000.0).round() / 1000.0)
    }
}

fn foot<'a>(canvas: &Canvas<'a>, machine: &Machine, at: i32) -> Drawn<'a> {
    let style = style(12, FAINT, HPos::Left, false);
    write(canvas, place_of(machine), (20, at), style)
}

fn place_of(machine: &Machine) -> String {
    format!(
        "{}, {} cores, Linux {}, {}",
        machine.processor, machine.cores, machine.kernel, machine.compiler
    )
}
