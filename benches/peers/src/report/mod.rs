//! What was found, as tables, JSON and charts.

pub(crate) mod chart;
mod json;
pub(crate) mod table;
mod targets;

use crate::case::{Case, Growth};
use crate::machine::Machine;
use crate::near::Distance;
use std::fs;
use std::io;
use std::path::Path;

/// Whose ratio to the others is given.
pub(crate) const OURS: &str = "ours";

pub(crate) struct CaseResult {
    pub(crate) case: Case,
    /// The kind of rounds that the figures are of.
    pub(crate) compared: Option<Distance>,
    /// Percentiles of timing nothing, where those of something are given.
    pub(crate) nothing: Option<[f64; 4]>,
    /// Fastest first, those that were skipped last.
    pub(crate) rows: Vec<Row>,
}

pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Or why it was skipped.
    pub(crate) outcome: Result<Figures, String>,
}

pub(crate) struct Figures {
    pub(crate) median: f64,
    pub(crate) best: f64,
    pub(crate) rounds: usize,
    /// Rounds left out because the system took a core away meanwhile.
    pub(crate) disturbed: usize,
    pub(crate) efficiency: Option<f64>,
    /// p50, p99, p99.9 and p99.99.
    pub(crate) percentiles: Option<[f64; 4]>,
    /// Median, best and number of rounds.
    pub(crate) by_distance: Vec<(Distance, f64, f64, usize)>,
}

impl Row {
    /// What contenders are compared by: the median, or p99.9 where latencies are asked for.
    pub(crate) fn value(&self) -> f64 {
        match &self.outcome {
            Ok(figures) => figures.percentiles.map_or(figures.median, |all| all[2]),
            Err(_) => f64::NAN,
        }
    }

    /// One of the crate's own ways.
    pub(crate) fn is_ours(&self) -> bool {
        self.name.starts_with(OURS)
    }
}

impl CaseResult {
    /// Ours by the handle that any thread may use.
    pub(crate) fn ours(&self) -> Option<f64> {
        let ours = self.rows.iter().find(|row| row.name == OURS)?;
        Some(ours.value()).filter(|value| value.is_finite())
    }

    pub(crate) fn title(&self) -> String {
        match self.compared {
            Some(distance) => format!("{} ({})", self.case.title(), distance.name()),
            None => self.case.title(),
        }
    }
}

/// Writes everything that goes into files.
pub(crate) fn write(folder: &Path, machine: &Machine, results: &[CaseResult]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let text = serde_json::to_string_pretty(&json::all(machine, results))?;
    fs::write(folder.join("results.json"), text)?;
    for result in results {
        let path = folder.join(result.case.id() + ".svg");
        chart::bars(&path, machine, result)?;
    }
    for growth in [Growth::Live, Growth::Threads] {
        chart::growth(folder, machine, results, growth)?;
    }
    chart::summary(folder, machine, results)?;
    Ok(())
}
