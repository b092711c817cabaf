//! Every contender does a little of every workload it can do, and is checked to hand out memory.

use crate::case::Case;
use crate::contenders;

/// Units of a round, unless the workload sets them.
const FEW: u64 = 100;

fn each(case: Case, reasons: &mut Vec<String>) {
    for entrant in contenders::all() {
        match entrant.prepare(case) {
            Ok(ready) => {
                if case == Case::Hot {
                    ready.check();
                }
                let sample = ready.round(FEW);
                assert!(
                    sample.nanos.is_finite() && sample.nanos > 0.0,
                    "{case:?} {}",
                    entrant.name()
                );
            }
            Err(reason) => reasons.push(format!("{}: {reason}", entrant.name())),
        }
    }
}

/// One after the other, as some peers keep one state for the process.
#[test]
fn every_contender_runs_what_it_can() {
    crate::set_up_default_pool();
    let mut skipped = Vec::new();
    // Many live buffers are the same code as few.
    for case in Case::ALL
        .into_iter()
        .filter(|case| case.need().count < 100_000)
    {
        let mut reasons = Vec::new();
        each(case, &mut reasons);
        // Ours can do all of them.
        assert!(
            !reasons.iter().any(|reason| reason.starts_with("ours")),
            "{reasons:?}"
        );
        skipped.push((case.id(), reasons));
    }
    println!("{skipped:#?}");
}
