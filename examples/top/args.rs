//! The command line.

use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt};

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Shows a pool at work on the terminal, some times a second: what it holds, what
each size class holds, and how fast it allocates. The work is a demonstration:
packets that one thread fills and another keeps for a while, and a third thread
that takes large buffers until the pool is exhausted and gives them back.

Usage: top [--seconds N] [--once]

  --seconds N  stop after N seconds; without it, at Ctrl-C
  --once       show the pool once, after the seconds or half of one, and stop
  --help       print this

Where standard output is no terminal, the frames come one after the other as
plain text. NO_COLOR in the environment is heeded.
";

/// How long the work has gone on when `--once` shows it.
const ONCE_AFTER: Duration = Duration::from_millis(500);

/// What the user asked for.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Args {
    /// How long to go on.
    pub(crate) time: Option<Duration>,
    /// Whether to show the end of that time alone.
    pub(crate) once: bool,
}

/// What a command line may say.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Command {
    Run(Args),
    Help,
}

/// Reads the command line.
pub(crate) fn parse(mut parser: Parser) -> Result<Command, lexopt::Error> {
    let (mut time, mut once) = (None, false);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("seconds") => time = Some(parser.value()?.parse_with(seconds)?),
            Arg::Long("once") => once = true,
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help),
            other => return Err(other.unexpected()),
        }
    }
    if once {
        time.get_or_insert(ONCE_AFTER);
    }
    Ok(Command::Run(Args { time, once }))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map_err(|_| "not a number of seconds")?;
    let time = Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?;
    match time.is_zero() {
        true => Err("no time at all".into()),
        false => Ok(time),
    }
}
