//! A live pool on the terminal: `cargo run --release --example top`. `--help` says more.
//!
//! What it shows is what [`Pool::stats`] says. A program of your own can do so at any time, from any thread, and its allocs and
//! frees pay nothing for it.
#![forbid(unsafe_code)]

mod args;
mod frame;
mod load;
mod screen;

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use args::{Args, Command};
use frame::Frame;
use load::Load;
use mbuf::Pool;
use screen::Screen;

/// Time between frames.
const TICK: Duration = Duration::from_millis(250);

/// Small enough for the load to exhaust it.
const CAPACITY: u64 = 64 << 20;

const MISUSED: u8 = 2;

fn main() -> ExitCode {
    let outcome = match args::parse(lexopt::Parser::from_env()) {
        Ok(Command::Help) => io::stdout()
            .write_all(args::HELP.as_bytes())
            .or_else(unread),
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
fn complain(what: &dyn Display) {
    let _ = writeln!(io::stderr(), "top: {what}");
}

/// A reader that has seen enough, such as `head`, is no failure.
fn unread(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    }
}

fn run(args: &Args) -> io::Result<()> {
    let pool = Pool::builder().capacity(CAPACITY).build();
    let pool = pool.map_err(io::Error::other)?;
    let load = Load::start(&pool);
    let shown = watch(&pool, args);
    load.stop();
    match pool.stats().in_use {
        0 => shown.or_else(unread),
        left => Err(io::Error::other(format!("{left} mbufs are left in use"))),
    }
}

/// Shows the pool until the time is over.
fn watch(pool: &Pool, args: &Args) -> io::Result<()> {
    let mut screen = Screen::new();
    let start = Instant::now();
    let (mut before, mut then) = (pool.stats(), start);
    loop {
        let age = start.elapsed();
        let left = args.time.map(|time| time.saturating_sub(age));
        // The last frame is of no less time than others: its rates would jump about.
        let is_last = left.is_some_and(|left| left < 2 * TICK);
        thread::sleep(left.filter(|_| is_last).unwrap_or(TICK));
        if args.once && !is_last {
            continue;
        }
        let (now, at) = (pool.stats(), Instant::now());
        let frame = Frame {
            before: &before,
            now: &now,
            passed: at - then,
            age: at - start,
        };
        screen.show(&frame.text(screen.colours()))?;
        if is_last {
            return Ok(());
        }
        (before, then) = (now, at);
    }
}
