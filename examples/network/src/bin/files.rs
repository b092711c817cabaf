//! A file server for HTTP/1.1 through mbufs: see `mbuf_network::files`.

use lexopt::{Arg, Parser};
use mbuf_network::args::{Args, HELP};
use mbuf_network::files::{Contents, Files};
use std::error::Error;
use std::path::PathBuf;

const USAGE: &str = "\
Serves the files below a directory by HTTP/1.1, through mbufs.

Usage: files DIRECTORY [--listen ADDRESS] [--map] [options]

  DIRECTORY         what is served
  --map             map files instead of reading them; only for files that
                    nobody changes meanwhile
";

/// What a command line may say.
enum Command {
    Run {
        root: PathBuf,
        map: bool,
        args: Args,
    },
    Help,
}

fn parse(mut parser: Parser) -> Result<Command, lexopt::Error> {
    let (mut args, mut root, mut map) = (Args::default(), None, false);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(path) if root.is_none() => root = Some(PathBuf::from(path)),
            Arg::Long("map") => map = true,
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Long(name) => {
                let name = name.to_owned();
                if !args.take(&name, &mut parser)? {
                    return Err(Arg::Long(&name).unexpected());
                }
            }
            other => return Err(other.unexpected()),
        }
    }
    let root = root.ok_or("the directory is missing")?;
    Ok(Command::Run { root, map, args })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (root, map, args) = match parse(Parser::from_env())? {
        Command::Run { root, map, args } => (root, map, args),
        Command::Help => {
            print!("{USAGE}{HELP}");
            return Ok(());
        }
    };
    let contents = if map {
        Contents::Map
    } else {
        Contents::Read {
            segment: args.segment,
            segments: args.segments,
        }
    };
    let files = Files::bind(
        args.listen,
        root,
        args.memory()?,
        contents,
        args.send_buffer,
    )?;
    println!("listening on {}", files.address()?);
    println!("{}", files.run().await?);
    Ok(())
}
