//! Tables for a person, on standard output.

use super::{CaseResult, Figures, Row, targets};
use crate::machine::Machine;
use std::fmt::Write;

pub(crate) fn all(machine: &Machine, results: &[CaseResult]) -> String {
    let mut text = head(machine);
    for result in results {
        text += &one(result);
    }
    text + &targets::all(results)
}

fn head(machine: &Machine) -> String {
    let versions: Vec<String> = machine
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    let [before, after] = &machine.load;
    let tunables = match machine.tunables.as_str() {
        "" => "its own options",
        set => set,
    };
    format!(
        "{}, {} cores, Linux {}, {}, transparent huge pages: {}; load {before} before, {after} after\nglibc: {}\n{}\n",
        machine.processor,
        machine.cores,
        machine.kernel,
        machine.compiler,
        machine.huge_pages,
        tunables,
        versions.join(", ")
    )
}

fn one(result: &CaseResult) -> String {
    let is_latency = result.nothing.is_some();
    let mut text = format!("\n{}, {}\n", result.title(), result.case.unit());
    let columns: &[&str] = if is_latency {
        &["p50", "p99", "p99.9", "p99.99", "by p99.9"]
    } else {
        &["median", "best", "ours/it", "rounds", "left out"]
    };
    let _ = write!(text, "  {:22}", "");
    for column in columns {
        let _ = write!(text, "{column:>11}");
    }
    text.push('\n');
    if let Some(nothing) = result.nothing {
        let _ = writeln!(text, "  {:22}{}", "(timing nothing)", numbers(&nothing));
    }
    for row in &result.rows {
        text += &line(row, result.ours());
    }
    text
}

fn line(row: &Row, ours: Option<f64>) -> String {
    let figures = match &row.outcome {
        Ok(figures) => figures,
        Err(reason) => return format!("  {:22}  skipped: {reason}\n", row.name),
    };
    let ratio = ours.map_or(String::new(), |ours| format!("{:.2}", ours / row.value()));
    let cells = match figures.percentiles {
        Some(percentiles) => format!("{}{ratio:>11}", numbers(&percentiles)),
        None => {
            let both = numbers(&[figures.median, figures.best]);
            let rounds = format!("{:>11}{:>11}", figures.rounds, figures.disturbed);
            format!("{both}{ratio:>11}{rounds}")
        }
    };
    format!("  {:22}{cells}{}\n", row.name, efficiency(figures))
}

fn efficiency(figures: &Figures) -> String {
    figures.efficiency.map_or(String::new(), |efficiency| {
        format!("   {efficiency:.2} of twice one thread")
    })
}

fn numbers(values: &[f64]) -> String {
    values.iter().fold(String::new(), |mut text, &value| {
        let _ = write!(text, "{:>11}", number(value));
        text
    })
}

/// With three digits that count.
pub(super) fn number(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => crate::case::thousands(value.round() as u32),
    }
}
