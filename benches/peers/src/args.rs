//! The command line.

use crate::case::Case;
use crate::contenders;
use lexopt::prelude::{Long, Short, ValueExt};
use std::path::PathBuf;

pub(crate) const HELP: &str = "\
Measures mbuf beside its peers.

  --quick               a first look in half a minute, without ten million live buffers
  --seconds N           about this long in all, and one or two minutes for ten million live buffers; 240 if not said
  --only W1,W3          these workloads
  --contenders A,B      those whose names are given
  --out FOLDER          where JSON and charts go; target/bench-peers if not said
  --list                names the workloads and the contenders
  --help";

pub(crate) struct Args {
    pub(crate) seconds: f64,
    pub(crate) quick: bool,
    pub(crate) cases: Vec<Case>,
    /// Names; all contenders when empty.
    pub(crate) contenders: Vec<String>,
    pub(crate) out: PathBuf,
}

pub(crate) enum Command {
    Run(Args),
    Print(String),
}

impl Args {
    pub(crate) fn parse() -> Result<Command, lexopt::Error> {
        let mut args = Self {
            seconds: 240.0,
            quick: false,
            cases: Case::ALL.to_vec(),
            contenders: Vec::new(),
            out: PathBuf::from("target/bench-peers"),
        };
        let mut seconds = None;
        let mut parser = lexopt::Parser::from_env();
        while let Some(argument) = parser.next()? {
            match argument {
                Long("quick") => args.quick = true,
                Long("seconds") => seconds = Some(parser.value()?.parse()?),
                Long("only") => args.cases = cases(&parser.value()?.string()?)?,
                Long("contenders") => args.contenders = names(&parser.value()?.string()?)?,
                Long("out") => args.out = parser.value()?.into(),
                Long("list") => return Ok(Command::Print(list())),
                Short('h') | Long("help") => return Ok(Command::Print(HELP.into())),
                other => return Err(other.unexpected()),
            }
        }
        args.cases.retain(|case| !(args.quick && case.is_vast()));
        args.seconds = seconds.unwrap_or(if args.quick { 25.0 } else { args.seconds });
        Ok(Command::Run(args))
    }
}

fn cases(text: &str) -> Result<Vec<Case>, lexopt::Error> {
    let mut cases = Vec::new();
    for name in text.split(',').map(str::trim) {
        let before = cases.len();
        cases.extend(Case::ALL.iter().filter(|case| {
            case.workload().eq_ignore_ascii_case(name) || case.id().eq_ignore_ascii_case(name)
        }));
        if cases.len() == before {
            return Err(format!("there is no workload {name:?}").into());
        }
    }
    Ok(cases)
}

fn names(text: &str) -> Result<Vec<String>, lexopt::Error> {
    let all = contenders::all();
    let known = |name: &str| all.iter().any(|entrant| entrant.name() == name);
    // Some of the names have a comma in them, so parts are joined where that makes a name.
    let mut names: Vec<String> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let joined = names.last().map(|last| format!("{last}, {part}"));
        match joined.filter(|joined| known(joined)) {
            Some(joined) if !known(part) => *names.last_mut().expect("joined to it") = joined,
            _ if known(part) => names.push(part.into()),
            _ => return Err(format!("there is no contender {part:?}").into()),
        }
    }
    Ok(names)
}

fn list() -> String {
    let mut text = String::from("workloads:\n");
    for case in Case::ALL {
        text += &format!("  {:20} {}, {}\n", case.id(), case.title(), case.unit());
    }
    text += "contenders:";
    for entrant in contenders::all() {
        text += &format!("\n  {}", entrant.name());
    }
    text
}
