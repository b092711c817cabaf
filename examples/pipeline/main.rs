//! A pipeline that runs on message buffers: it reads a packet capture, accounts for its flows and writes it again.
//!
//! ```text
//!                      ┌─ ring ─▶ accountant
//! capture ─▶ reader ───┤ (copy-ref)
//!                      └─ ring ─▶ writer ─▶ capture
//! ```
//!
//! The reader puts each packet into an mbuf, or a chain of them if it is long, and hands the accountant a reference to
//! the same bytes. `--help` says how to run it.
#![forbid(unsafe_code)]

mod accountant;
mod args;
mod capture;
mod encode;
mod flow;
mod label;
mod latency;
mod outcome;
mod output;
mod progress;
mod reader;
mod report;
mod ring;
mod supply;
mod verify;
mod writer;

use std::fmt::Display;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use mbuf::Pool;
use rtrb::RingBuffer;

use accountant::Accounts;
use args::{Args, Command};
use capture::Capture;
use output::Output;
use progress::Progress;
use reader::{Outlets, Read};
use report::Report;
use writer::Written;

const MISUSED: u8 = 2;

fn main() -> ExitCode {
    let outcome = match args::parse(lexopt::Parser::from_env()) {
        Ok(Command::Help) => print(|out| out.write_all(args::HELP.as_bytes())),
        Ok(Command::Run(args)) => run(&args),
        Err(why) => {
            complain(&format!("{why}; --help says more"));
            return ExitCode::from(MISUSED);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            complain(&why);
            ExitCode::FAILURE
        }
    }
}

/// One line on standard error. If that is closed, nobody wants to know.
fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "pipeline: {what}");
}

/// Prints to standard output. A reader that has seen enough, such as `head`, is no failure.
fn print(write: impl FnOnce(&mut io::StdoutLock<'static>) -> io::Result<()>) -> Result<(), String> {
    match write(&mut io::stdout().lock()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => Err(format!("standard output: {why}")),
        _ => Ok(()),
    }
}

/// Runs the whole job; an error is the line that says why it is not a success.
fn run(args: &Args) -> Result<(), String> {
    let of_capture = |why: &dyn Display| format!("'{}': {why}", args.capture.display());
    let mut capture = Capture::open(&args.capture).map_err(|why| of_capture(&why))?;
    let size = fs::metadata(&args.capture)
        .map_err(|why| of_capture(&why))?
        .len();
    let output = open_output(args)?;
    let pool = supply::pool_for(size).map_err(|why| why.to_string())?;

    let progress = Progress::new(size.saturating_mul(args.passes));
    let run = flow_through(&mut capture, args.passes, &pool, output, progress);
    let outcome = outcome::judge(args, &run.read, run.written.file);
    let mut latencies = run.read.latencies;
    latencies.add(&run.accounts.latencies);
    latencies.add(&run.written.latencies);
    let stats = pool.stats();
    let report = Report {
        capture: &args.capture,
        counts: run.read.counts,
        took: run.took,
        waits_for_mbufs: run.read.waits_for_mbufs,
        waits_for_room: run.read.waits_for_room,
        latencies: &latencies,
        accounts: &run.accounts,
        stats: &stats,
        written: &outcome.written,
    };
    print(|out| report.print(out))?;
    match (outcome.failure, stats.in_use) {
        (Some(why), _) => Err(why),
        (None, 0) => Ok(()),
        (None, left) => Err(format!("{left} mbufs were left in use")),
    }
}

fn open_output(args: &Args) -> Result<Output, String> {
    let file = match &args.out {
        Some(path) => output::create(path, &args.capture)
            .map_err(|why| format!("'{}': {why}", path.display())),
        None => output::temporary().map_err(|why| format!("no temporary file: {why}")),
    };
    file.map(Output::new)
}

/// What the three threads did.
struct Run {
    read: Read,
    accounts: Accounts,
    written: Written,
    took: Duration,
}

fn flow_through(
    capture: &mut Capture,
    passes: u64,
    pool: &Pool,
    output: Output,
    progress: Progress,
) -> Run {
    let (to_accountant, for_accountant) = RingBuffer::new(ring::SLOTS);
    let (to_writer, for_writer) = RingBuffer::new(ring::SLOTS);
    let outlets = Outlets {
        accountant: to_accountant,
        writer: to_writer,
    };
    let started = Instant::now();
    thread::scope(|scope| {
        let accountant = scope.spawn(|| accountant::run(for_accountant));
        let writer = scope.spawn(|| writer::run(for_writer, output, started));
        let reader = scope.spawn(|| reader::run(capture, passes, pool, outlets, progress, started));
        // A scope waits for its threads' closures only; once they are joined, their caches are flushed too.
        let (read, accounts, written) = (join(reader), join(accountant), join(writer));
        Run {
            read,
            accounts,
            written,
            took: started.elapsed(),
        }
    })
}

fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
