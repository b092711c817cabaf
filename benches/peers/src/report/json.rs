//! Everything, for programs.

use super::{CaseResult, Figures, Row};
use crate::machine::Machine;
use serde_json::{Map, Value, json};

pub(super) fn all(machine: &Machine, results: &[CaseResult]) -> Value {
    let versions: Map<String, Value> = machine
        .versions
        .iter()
        .map(|(name, version)| ((*name).into(), version.as_str().into()))
        .collect();
    json!({
        "machine": {
            "processor": machine.processor,
            "cores": machine.cores,
            "kernel": machine.kernel,
            "compiler": machine.compiler,
            "transparent_huge_pages": machine.huge_pages,
            "glibc_tunables": machine.tunables,
            "load_before_and_after": machine.load,
        },
        "versions": versions,
        "workloads": results.iter().map(workload).collect::<Vec<_>>(),
    })
}

fn workload(result: &CaseResult) -> Value {
    let ours = result.ours();
    json!({
        "id": result.case.id(),
        "title": result.case.title(),
        "unit": result.case.unit(),
        "compared_rounds": result.compared.map_or("all", |distance| distance.name()),
        "nothing": result.nothing.map(percentiles),
        "contenders": result.rows.iter().map(|row| contender(row, ours)).collect::<Vec<_>>(),
    })
}

fn contender(row: &Row, ours: Option<f64>) -> Value {
    match &row.outcome {
        Ok(figures) => measured(row, figures, ours),
        Err(reason) => json!({ "name": row.name, "skipped": reason }),
    }
}

fn measured(row: &Row, figures: &Figures, ours: Option<f64>) -> Value {
    let by_distance: Map<String, Value> = figures
        .by_distance
        .iter()
        .map(|&(distance, median, best, rounds)| {
            let figures = json!({ "median": median, "best": best, "rounds": rounds });
            (distance.name().into(), figures)
        })
        .collect();
    json!({
        "name": row.name,
        "median": figures.median,
        "best": figures.best,
        "rounds": figures.rounds,
        "rounds_disturbed_and_left_out": figures.disturbed,
        "ours_to_theirs": ours.map(|ours| ours / row.value()),
        "efficiency": figures.efficiency,
        "percentiles": figures.percentiles.map(percentiles),
        "by_distance": by_distance,
    })
}

fn percentiles([p50, p99, p999, p9999]: [f64; 4]) -> Value {
    json!({ "p50": p50, "p99": p99, "p99.9": p999, "p99.99": p9999 })
}
