//! Heads of responses.

use mbuf::{AllocError, Mbuf, Pool};
use std::fmt;
use std::io::Write;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Status {
    Ok,
    Partial,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    NotSatisfiable,
    TooLarge,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "200 OK",
            Self::Partial => "206 Partial Content",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed\r\nAllow: GET, HEAD",
            Self::NotSatisfiable => "416 Range Not Satisfiable",
            Self::TooLarge => "431 Request Header Fields Too Large",
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) status: Status,
    /// Start and end of what is sent.
    pub(super) part: (u64, u64),
    /// Of the file.
    pub(super) len: u64,
    pub(super) keep_alive: bool,
}

/// Any head is shorter.
const HEAD: usize = 512 - 192;

impl Head {
    /// Of a response without contents.
    pub(super) fn of(status: Status) -> Self {
        Self {
            status,
            part: (0, 0),
            len: 0,
            keep_alive: true,
        }
    }

    /// Of the last response.
    pub(super) fn closing(self) -> Self {
        Self {
            keep_alive: false,
            ..self
        }
    }

    /// In an mbuf of `pool`.
    pub(super) fn write(&self, pool: &Pool) -> Result<Mbuf, AllocError> {
        let mut writer = pool.alloc(HEAD)?.into_writer(HEAD);
        // It fails for want of memory only: a head is shorter than a chain.
        write!(writer, "{self}").map_err(|_| AllocError::Exhausted)?;
        Ok(writer.into_mbuf())
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end) = self.part;
        write!(
            f,
            "HTTP/1.1 {}\r\nContent-Length: {}\r\n",
            self.status,
            end - start
        )?;
        match self.status {
            Status::Ok => f.write_str("Accept-Ranges: bytes\r\n")?,
            Status::Partial => {
                write!(
                    f,
                    "Content-Range: bytes {start}-{}/{}\r\n",
                    end - 1,
                    self.len
                )?;
            }
            Status::NotSatisfiable => write!(f, "Content-Range: bytes */{}\r\n", self.len)?,
            _ => {}
        }
        if !self.keep_alive {
            f.write_str("Connection: close\r\n")?;
        }
        f.write_str("\r\n")
    }
}
