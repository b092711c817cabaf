//! Whether the run was a success.

use std::fs::File;

use crate::args::Args;
use crate::output::Problem;
use crate::reader::{Read, Stop};
use crate::verify;

/// What became of a run.
pub(crate) struct Outcome {
    /// How the written capture compares, in words.
    pub(crate) written: String,
    /// Why the run is not a success, in a line.
    pub(crate) failure: Option<String>,
}

/// Compares what was written, and finds what went wrong first.
pub(crate) fn judge(args: &Args, read: &Read, written: Result<File, Problem>) -> Outcome {
    let file = match written {
        Ok(file) => file,
        Err(problem) => return incomplete(args, &problem),
    };
    let capture = args.capture.display();
    let (written, same) = match verify::compare(&args.capture, read.end, file) {
        Ok(verdict) => (verdict.to_string(), verdict.is_same()),
        Err(fault) => (format!("cannot be compared: {fault}"), false),
    };
    let packets = read.counts.packets;
    let failure = match &read.stop {
        Some(Stop::Fault(fault)) => Some(format!(
            "{capture}: {fault}; packets processed before that: {packets}"
        )),
        Some(Stop::Pool(why)) => Some(format!(
            "{capture}: no room for a packet after {packets}: {why}"
        )),
        Some(Stop::Gone) => Some("a thread ended early".to_owned()),
        None if same => None,
        None => Some(format!("the written capture: {written}")),
    };
    Outcome { written, failure }
}

fn incomplete(args: &Args, problem: &Problem) -> Outcome {
    let failure = match &args.out {
        Some(path) => format!("'{}': {problem}", path.display()),
        None => format!("the temporary file: {problem}"),
    };
    Outcome {
        written: "not complete".to_owned(),
        failure: Some(failure),
    }
}
