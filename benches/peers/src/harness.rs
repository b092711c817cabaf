//! Rounds that take turns, so that whatever else the machine does meets all contenders alike.

use crate::args::Args;
use crate::case::Case;
use crate::entry::{Entrant, Ready, Sample};
use crate::machine;
use crate::near::Distance;
use crate::pin;
use crate::report::{CaseResult, Figures, Row};
use crate::workloads::latency;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};

/// What a round is to take. Short: the machine's speed changes from one second to the next.
const ROUND: Duration = Duration::from_millis(3);
const QUICK_ROUND: Duration = Duration::from_micros(1500);

/// Rounds that there are of each contender even when time is up.
const FEWEST_ROUNDS: usize = 3;

/// What a contender may take for a small buffer, with all that belongs to it.
const MOST_BYTES: u64 = 512;

/// Rounds of one kind without which two-thread workloads are not compared by them.
const FEWEST_NEAR: usize = 3;

/// Rounds that nobody disturbed without which disturbed ones count, too.
const FEWEST_QUIET: usize = 5;

pub(crate) fn run(args: &Args, entrants: &[Box<dyn Entrant>]) -> Vec<CaseResult> {
    let weights: f64 = args.cases.iter().map(|case| case.weight()).sum();
    let bar = progress_bar(args.seconds);
    let nanos_per_tick = latency::nanos_per_tick();
    let results = args.cases.iter().map(|&case| {
        let seconds = args.seconds * case.weight() / weights;
        let result = measure(args, entrants, case, seconds, nanos_per_tick, &bar);
        bar.println(format!("done: {}", case.title()));
        result
    });
    let results = results.collect();
    bar.finish_and_clear();
    results
}

fn progress_bar(seconds: f64) -> ProgressBar {
    let style = ProgressStyle::with_template("{elapsed:>4} {wide_bar} {percent:>3}%  {msg:40}");
    ProgressBar::new((seconds * 1000.0) as u64).with_style(style.expect("a template that parses"))
}

/// What a contender did.
struct Ran {
    name: &'static str,
    samples: Vec<Sample>,
}

/// A contender in the middle of a workload.
struct Running {
    name: &'static str,
    ready: Box<dyn Ready>,
    units: u64,
    samples: Vec<Sample>,
}

impl Running {
    fn take_a_turn(&mut self) {
        let before = pin::switches();
        let mut sample = self.ready.round(self.units);
        // Rounds with two threads look themselves, at both.
        if sample.distance.is_none() {
            sample.is_disturbed = pin::switches() != before;
        }
        self.samples.push(sample);
    }

    /// Gives its memory back.
    fn done(self) -> Ran {
        Ran {
            name: self.name,
            samples: self.samples,
        }
    }
}

fn measure(
    args: &Args,
    entrants: &[Box<dyn Entrant>],
    case: Case,
    seconds: f64,
    nanos_per_tick: f64,
    bar: &ProgressBar,
) -> CaseResult {
    let done = bar.position();
    let wanted: Vec<&dyn Entrant> = entrants
        .iter()
        .map(AsRef::as_ref)
        .filter(|entrant| {
            args.contenders.is_empty() || args.contenders.iter().any(|name| name == entrant.name())
        })
        .collect();
    let (ran, skipped) = if case.is_vast() {
        one_after_the_other(args, &wanted, case, seconds, bar)
    } else {
        in_turns(args, &wanted, case, seconds, bar)
    };
    bar.set_position(done + (seconds * 1000.0) as u64);
    summed_up(case, ran, skipped, nanos_per_tick)
}

fn in_turns(
    args: &Args,
    entrants: &[&dyn Entrant],
    case: Case,
    seconds: f64,
    bar: &ProgressBar,
) -> (Vec<Ran>, Vec<Row>) {
    let done = bar.position();
    let (mut running, skipped) = prepared(args, entrants, case, bar);
    let mut turn = 0;
    let start = Instant::now();
    while !running.is_empty() && (turn < FEWEST_ROUNDS || start.elapsed().as_secs_f64() < seconds) {
        // Another one is first each time: what follows the slowest finds colder caches.
        let count = running.len();
        for at in 0..count {
            let contender = &mut running[(at + turn) % count];
            contender.take_a_turn();
        }
        turn += 1;
        bar.set_message(format!("{} round {turn}", case.id()));
        let here = start.elapsed().as_secs_f64().min(seconds);
        bar.set_position(done + (here * 1000.0) as u64);
    }
    let ran = running.into_iter().map(Running::done).collect();
    (ran, skipped)
}

/// Where the memory does not suffice for all of them at once. What the machine did meanwhile may have met one and not another.
fn one_after_the_other(
    args: &Args,
    entrants: &[&dyn Entrant],
    case: Case,
    seconds: f64,
    bar: &ProgressBar,
) -> (Vec<Ran>, Vec<Row>) {
    let (mut ran, mut skipped) = (Vec::new(), Vec::new());
    let bytes = case.need().count as u64 * MOST_BYTES;
    for &entrant in entrants {
        if machine::available_memory() < bytes {
            skipped.push(Row {
                name: entrant.name(),
                outcome: Err(format!("less than {} MiB of memory were free", bytes >> 20)),
            });
            continue;
        }
        let part = seconds / entrants.len() as f64;
        let (one, reasons) = in_turns(args, &[entrant], case, part, bar);
        ran.extend(one);
        skipped.extend(reasons);
    }
    (ran, skipped)
}

/// The contenders that can do the workload, warm, and those that cannot.
fn prepared(
    args: &Args,
    entrants: &[&dyn Entrant],
    case: Case,
    bar: &ProgressBar,
) -> (Vec<Running>, Vec<Row>) {
    let (mut running, mut skipped) = (Vec::new(), Vec::new());
    for entrant in entrants {
        let name = entrant.name();
        bar.set_message(format!("{} {name}", case.id()));
        match entrant.prepare(case) {
            Ok(ready) => running.push(Running {
                name,
                units: calibrated(args, ready.as_ref(), case),
                ready,
                samples: Vec::new(),
            }),
            Err(reason) => skipped.push(Row {
                name,
                outcome: Err(reason),
            }),
        }
    }
    (running, skipped)
}

/// How many units take a contender about a round's time.
fn calibrated(args: &Args, ready: &dyn Ready, case: Case) -> u64 {
    if let Some(units) = case.fixed_units() {
        // A round of vast ones takes seconds, and warms up by itself.
        if !case.is_vast() {
            ready.round(units);
        }
        return units;
    }
    let target = if args.quick { QUICK_ROUND } else { ROUND }.as_nanos() as f64;
    let mut units = case.fewest_units();
    loop {
        let nanos = ready.round(units).nanos;
        let total = nanos * units as f64;
        if total >= target / 4.0 || units > 1 << 24 {
            return ((target / nanos) as u64).max(case.fewest_units());
        }
        units *= 4;
    }
}

fn summed_up(case: Case, ran: Vec<Ran>, skipped: Vec<Row>, nanos_per_tick: f64) -> CaseResult {
    let compared = compared_distance(&ran);
    let mut rows: Vec<Row> = ran
        .into_iter()
        .map(|contender| Row {
            name: contender.name,
            outcome: figures(case, &contender.samples, compared, nanos_per_tick)
                .ok_or_else(|| "in no round did both threads run at the same time".into()),
        })
        .collect();
    rows.sort_by(|one, other| one.value().total_cmp(&other.value()));
    rows.extend(skipped);
    let nothing = (case == Case::Latency).then(|| {
        let times = latency::nothing(1_000_000);
        percentiles(&times, nanos_per_tick)
    });
    CaseResult {
        case,
        compared,
        nothing,
        rows,
    }
}

/// The kind of rounds that there are enough of for all: near ones if possible. `None` for workloads without, and for all rounds together when
/// there are too few of either kind.
fn compared_distance(ran: &[Ran]) -> Option<Distance> {
    [Distance::Near, Distance::Far]
        .into_iter()
        .find(|&distance| {
            !ran.is_empty()
                && ran.iter().all(|contender| {
                    let alike = contender.samples.iter();
                    alike
                        .filter(|sample| sample.distance == Some(distance))
                        .count()
                        >= FEWEST_NEAR
                })
        })
}

fn figures(
    case: Case,
    samples: &[Sample],
    compared: Option<Distance>,
    nanos_per_tick: f64,
) -> Option<Figures> {
    let chosen: Vec<&Sample> = samples
        .iter()
        .filter(|sample| match compared {
            Some(_) => sample.distance == compared,
            None => sample.distance != Some(Distance::OneCore),
        })
        .collect();
    // On a busy machine the rounds that others interrupted say more of them, as long as there are some that nobody did.
    let quiet = || chosen.iter().copied().filter(|sample| !sample.is_disturbed);
    let all = chosen.len();
    let chosen = if quiet().count() >= FEWEST_QUIET && !case.shares_cores() {
        quiet().collect()
    } else {
        chosen
    };
    let nanos = sorted(chosen.iter().map(|sample| sample.nanos));
    let efficiency = sorted(chosen.iter().filter_map(|sample| sample.efficiency));
    let percentiles = (case == Case::Latency).then(|| {
        let mut all = latency::histogram();
        for times in chosen.iter().filter_map(|sample| sample.latency.as_ref()) {
            all += times;
        }
        percentiles(&all, nanos_per_tick)
    });
    let by_distance = Distance::ALL
        .into_iter()
        .filter_map(|distance| {
            let alike = samples.iter();
            let alike = alike.filter(|sample| sample.distance == Some(distance));
            let nanos = sorted(alike.map(|sample| sample.nanos));
            Some((distance, middle(&nanos)?, *nanos.first()?, nanos.len()))
        })
        .collect();
    Some(Figures {
        median: middle(&nanos)?,
        best: *nanos.first()?,
        rounds: nanos.len(),
        disturbed: all - nanos.len(),
        efficiency: middle(&efficiency),
        percentiles,
        by_distance,
    })
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn middle(sorted: &[f64]) -> Option<f64> {
    sorted.get(sorted.len() / 2).copied()
}

fn percentiles(times: &hdrhistogram::Histogram<u64>, nanos_per_tick: f64) -> [f64; 4] {
    [0.5, 0.99, 0.999, 0.9999].map(|part| times.value_at_quantile(part) as f64 * nanos_per_tick)
}
