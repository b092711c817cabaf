//! The project's targets, and whether this run met them.

use super::{CaseResult, OURS, Row};
use crate::case::Case;
use std::fmt::Write;

/// Whom a target is against.
enum Rival {
    Peer(&'static str),
    /// The best of those that allocate any size for anybody.
    General,
    /// The best of all that are not ours and do hand out memory.
    Any,
}

const GENERAL: [&str; 5] = ["snmalloc", "rpmalloc", "jemalloc", "mimalloc", "glibc"];

/// What ours may take, in parts of the rival's.
const TARGETS: [(Case, Rival, f64); 14] = [
    (Case::Hot, Rival::Peer("DPDK"), 0.45),
    (Case::Hot, Rival::Peer("snmalloc"), 0.8),
    (Case::Hot, Rival::Peer("floor"), 3.0),
    (Case::Batch, Rival::Peer("DPDK"), 0.55),
    (Case::BatchBulk, Rival::Peer("DPDK"), 0.6),
    (Case::Shuffled, Rival::Peer("DPDK"), 0.5),
    (Case::Shuffled, Rival::General, 0.6),
    (Case::Mixed, Rival::Any, 0.75),
    (Case::Pipe, Rival::Any, 0.75),
    (Case::PipeBursts, Rival::Any, 0.75),
    (Case::CopyRef, Rival::Peer("DPDK"), 0.4),
    (Case::Chain, Rival::Peer("DPDK"), 0.6),
    (Case::FanOut, Rival::Any, 1.0),
    (Case::ComeAndGo, Rival::Any, 1.0),
];

/// Of twice what one thread does.
const EFFICIENCY: f64 = 0.97;

pub(super) fn all(results: &[CaseResult]) -> String {
    let mut text = String::new();
    for (case, rival, most) in &TARGETS {
        if let Some(result) = results.iter().find(|result| result.case == *case) {
            text += &one(result, rival, *most).unwrap_or_default();
        }
    }
    for result in results {
        text += &match result.case {
            Case::TwoThreads => efficiency(result).unwrap_or_default(),
            Case::Latency => latency(result),
            Case::Live(_) | Case::Threads(_) => one(result, &Rival::Any, 1.0).unwrap_or_default(),
            _ => String::new(),
        };
    }
    if text.is_empty() {
        return text;
    }
    format!("\nTargets, by what ours takes against theirs\n{text}")
}

fn line(result: &CaseResult, against: &str, found: f64, target: &str, is_met: bool) -> String {
    let verdict = if is_met { "met" } else { "MISSED" };
    let id = result.case.id();
    format!("  {id:18} {against:30} {found:6.2}  target {target:14} {verdict}\n")
}

fn one(result: &CaseResult, rival: &Rival, most: f64) -> Option<String> {
    let rows = result.rows.iter().filter(|row| row.value().is_finite());
    // Fastest first.
    let theirs = rows.filter(|row| !row.is_ours()).find(|row| match rival {
        Rival::Peer(name) => row.name == *name,
        Rival::General => GENERAL.contains(&row.name),
        Rival::Any => row.name != "floor",
    })?;
    let ratio = result.ours()? / theirs.value();
    let against = match rival {
        Rival::Peer(name) => (*name).into(),
        Rival::General | Rival::Any => format!("the best, {}", theirs.name),
    };
    let target = format!("at most {most}");
    Some(line(result, &against, ratio, &target, ratio <= most))
}

fn ours(result: &CaseResult) -> Option<&Row> {
    result.rows.iter().find(|row| row.name == OURS)
}

fn efficiency(result: &CaseResult) -> Option<String> {
    let found = ours(result)?.outcome.as_ref().ok()?.efficiency?;
    let target = format!("at least {EFFICIENCY}");
    let is_met = found >= EFFICIENCY;
    Some(line(result, "twice one thread", found, &target, is_met))
}

/// The tails are not to be longer than theirs.
fn latency(result: &CaseResult) -> String {
    let percentiles = |row: &Row| row.outcome.as_ref().ok()?.percentiles;
    let mut text = String::new();
    let Some(ours) = ours(result).and_then(percentiles) else {
        return text;
    };
    for rival in ["DPDK", "mimalloc"] {
        let theirs = result.rows.iter().find(|row| row.name == rival);
        let Some(theirs) = theirs.and_then(percentiles) else {
            continue;
        };
        for (at, name) in [(2, "p99.9"), (3, "p99.99")] {
            let ratio = ours[at] / theirs[at];
            let against = format!("{rival}, {name}");
            let _ = write!(
                text,
                "{}",
                line(result, &against, ratio, "at most 1", ratio <= 1.0)
            );
        }
    }
    text
}
