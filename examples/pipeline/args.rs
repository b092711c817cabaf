//! The command line.

use std::path::{Path, PathBuf};

use lexopt::{Arg, Parser, ValueExt};

/// A capture that comes with the crate: HTTP and DNS over loopback, by IPv4 and IPv6, with segments of up to 51 KiB.
const BUNDLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/loopback.pcap");
/// So many that a rate and its percentiles mean something.
const PASSES_OF_BUNDLED: u64 = 5000;

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Reads a packet capture into mbufs on one thread, accounts for its flows on a
second one and writes it again on a third; then reports rates, latencies, flows
and the pool, and compares the written capture with the one read.

Usage: pipeline [CAPTURE] [--out FILE] [--repeat N]

  CAPTURE     a pcap (any byte order and time resolution) or pcapng file;
              without it, a small one that comes with the crate
  --out FILE  keep the written capture here; without it, it goes to a temporary
              file that is removed
  --repeat N  run N times through the capture; 1 by default for a file that you
              name, 5000 for the one that comes with the crate
  --help      print this

The written capture holds the first pass. Each later pass is compared with it
byte by byte instead of being written. A classic pcap is written again byte for
byte. Of a pcapng, every packet's bytes, time, original length and interface
are kept; packets lose their options, every packet block but the simple one
becomes an enhanced one, and blocks that ask not to be copied are left out.

The exit status is 0 only if the whole capture was read, what was written is
equal to it and no mbuf is left in use; 2 for a mistake on the command line.
";

/// What the user asked for.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Args {
    pub(crate) capture: PathBuf,
    pub(crate) out: Option<PathBuf>,
    pub(crate) passes: u64,
}

/// What a command line may say.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Command {
    Run(Args),
    Help,
}

/// Reads the command line.
pub(crate) fn parse(mut parser: Parser) -> Result<Command, lexopt::Error> {
    let (mut capture, mut out, mut repeat) = (None, None, None);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(path) if capture.is_none() => capture = Some(PathBuf::from(path)),
            Arg::Long("out") => out = Some(PathBuf::from(parser.value()?)),
            Arg::Long("repeat") => repeat = Some(parser.value()?.parse_with(passes)?),
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            other => return Err(other.unexpected()),
        }
    }
    let default = if capture.is_some() {
        1
    } else {
        PASSES_OF_BUNDLED
    };
    Ok(Command::Run(Args {
        capture: capture.unwrap_or_else(|| Path::new(BUNDLED).to_owned()),
        out,
        passes: repeat.unwrap_or(default),
    }))
}

fn passes(text: &str) -> Result<u64, &'static str> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a whole number from 1 upward is needed"),
        Ok(passes) => Ok(passes),
    }
}
