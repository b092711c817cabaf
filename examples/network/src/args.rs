//! What the command lines of both servers have in common.

use crate::{Memory, SEGMENT};
use lexopt::{Parser, ValueExt};
use std::net::SocketAddr;

/// Options of a server.
#[derive(Clone, Copy, Debug)]
pub struct Args {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Bytes of the pool.
    pub pool: u64,
    /// Bytes of a segment.
    pub segment: usize,
    /// Segments that a connection holds each way.
    pub segments: usize,
    /// Bytes that the system keeps for a client, if not as many as it likes.
    pub send_buffer: Option<u32>,
}

/// What `--help` says of these.
pub const HELP: &str = "\
  --listen ADDRESS  where to listen, 127.0.0.1:0 by default: any free port
  --pool KIBIBYTES  the pool's capacity, 65536 by default
  --segment BYTES   data of a segment, 32576 by default
  --segments N      how many of these a connection holds each way, 16 by default
  --send-buffer B   how many bytes the system keeps for a client beside these,
                    by default as many as it likes
  --help            print this

On SIGINT or SIGTERM the connections are ended, and a line of statistics is
printed.
";

impl Default for Args {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            pool: 64 << 20,
            segment: SEGMENT,
            segments: 16,
            send_buffer: None,
        }
    }
}

impl Args {
    /// Takes the value of the option `name`, if it is one of these.
    ///
    /// # Errors
    /// When the value is missing, or none.
    pub fn take(&mut self, name: &str, parser: &mut Parser) -> Result<bool, lexopt::Error> {
        match name {
            "listen" => self.listen = parser.value()?.parse()?,
            "pool" => self.pool = parser.value()?.parse_with(kibibytes)?,
            "segment" => self.segment = parser.value()?.parse_with(positive)?,
            "segments" => self.segments = parser.value()?.parse_with(positive)?,
            "send-buffer" => self.send_buffer = Some(parser.value()?.parse()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The pool.
    ///
    /// # Errors
    /// As [`mbuf::PoolBuilder::build`].
    pub fn memory(&self) -> Result<Memory, mbuf::BuildError> {
        let pool = mbuf::Pool::builder().capacity(self.pool).build()?;
        Ok(Memory::of(pool))
    }
}

fn positive(text: &str) -> Result<usize, &'static str> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a whole number from 1 upward is needed"),
        Ok(number) => Ok(number),
    }
}

fn kibibytes(text: &str) -> Result<u64, &'static str> {
    let number = positive(text)? as u64;
    number.checked_mul(1 << 10).ok_or("no pool is that large")
}
