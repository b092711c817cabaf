//! The crate beside its peers: every contender does the same work, in short rounds that take turns.
//!
//! ```text
//! cargo bench-peers                                # everything, some six minutes
//! cargo bench-peers --quick                        # a first look, half a minute
//! cargo bench-peers --only W1,W3 --contenders ours,snmalloc
//! ```
//!
//! DPDK takes part where libdpdk-dev was installed when this was built.
//! Prints a table for each workload, and writes JSON and charts to `target/bench-peers`. On a shared machine compare within one
//! run only, and by ratio.

mod args;
mod case;
mod contender;
mod contenders;
mod entry;
mod harness;
mod machine;
mod near;
mod pin;
mod report;
#[cfg(test)]
mod smoke;
mod tunables;
mod workloads;

use args::{Args, Command};
use machine::Machine;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match Args::parse() {
        Ok(Command::Run(args)) => args,
        Ok(Command::Print(text)) => {
            println!("{text}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("{error}\n\n{}", args::HELP);
            return ExitCode::from(2);
        }
    };
    tunables::apply();
    set_up_default_pool();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> std::io::Result<()> {
    let entrants = contenders::all();
    let machine = Machine::here(&entrants);
    let results = harness::run(args, &entrants);
    let machine = machine.after();
    print!("{}", report::table::all(&machine, &results));
    report::write(&args.out, &machine, &results)?;
    println!("JSON and charts are in {}", args.out.display());
    Ok(())
}

/// The C interface's pool is made as the environment says: on the same pages as the others'.
fn set_up_default_pool() {
    // SAFETY: there is no other thread yet.
    unsafe { std::env::set_var("MBUF_HUGE_PAGES", "transparent") };
}
