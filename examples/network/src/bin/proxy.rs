//! A TCP proxy whose every payload byte lies in mbufs: see `mbuf_network::proxy`.

use lexopt::{Arg, Parser, ValueExt};
use mbuf_network::args::{Args, HELP};
use mbuf_network::proxy::{Limits, Proxy};
use std::error::Error;
use std::net::SocketAddr;

const USAGE: &str = "\
Passes TCP connections on, through mbufs.

Usage: proxy --to ADDRESS [--listen ADDRESS] [options]

  --to ADDRESS      where connections are passed on to
";

/// What a command line may say.
enum Command {
    Run(SocketAddr, Args),
    Help,
}

fn parse(mut parser: Parser) -> Result<Command, lexopt::Error> {
    let (mut args, mut to) = (Args::default(), None);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("to") => to = Some(parser.value()?.parse()?),
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
    let to = to.ok_or("--to is missing")?;
    Ok(Command::Run(to, args))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (to, args) = match parse(Parser::from_env())? {
        Command::Run(to, args) => (to, args),
        Command::Help => {
            print!("{USAGE}{HELP}");
            return Ok(());
        }
    };
    let limits = Limits {
        segment: args.segment,
        segments: args.segments,
        send_buffer: args.send_buffer,
    };
    let proxy = Proxy::bind(args.listen, to, args.memory()?, limits)?;
    println!("listening on {}", proxy.address()?);
    println!("{}", proxy.run().await?);
    Ok(())
}
