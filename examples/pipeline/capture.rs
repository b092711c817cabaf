//! Reading a capture file, item by item.
//!
//! `pcap-parser` decodes every header and record; where a record ends, what is kept of it and what counts as a fault is
//! decided here. A file is read in a moving window, so its size does not matter.

mod classic;
mod ng;
mod source;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

use classic::Classic;
use ng::Ng;
use source::Source;

/// A capture file, at some item.
pub(crate) struct Capture {
    source: Source,
    format: Format,
}

enum Format {
    Classic(Classic),
    Ng(Ng),
}

/// What a capture file consists of.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Item<'a> {
    /// Bytes that go to the written capture as they are: a file header, or a block that holds no packet.
    Verbatim(&'a [u8]),
    /// A packet.
    Packet(Packet<'a>),
}

/// A packet with what the file says of it.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Packet<'a> {
    /// What it takes to write the packet's record again.
    pub(crate) record: Record,
    /// The link type of the packet's interface.
    pub(crate) link_type: u32,
    /// When it was captured, in nanoseconds since 1970.
    pub(crate) captured_at: u64,
    /// The bytes that were captured.
    pub(crate) data: &'a [u8],
}

/// The fields of a packet's record, as the file has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    /// How the record is laid out.
    pub(crate) kind: RecordKind,
    /// The byte order of its fields.
    pub(crate) big_endian: bool,
    /// The two words of the time: seconds and fraction, or the high and the low half of a pcapng time.
    pub(crate) time: [u32; 2],
    /// The packet's length before it was cut to the capture's limit.
    pub(crate) original_len: u32,
    /// The interface in its pcapng section; 0 in a pcap.
    pub(crate) interface: u32,
    /// The end of a `Modified` record's header.
    pub(crate) extra: [u8; 8],
}

/// The layouts that a packet's record may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum RecordKind {
    /// No packet: see [`Item::Verbatim`].
    Verbatim,
    /// pcap: a header of 16 bytes.
    Classic,
    /// pcap of the "modified" kind: a header of 24 bytes.
    Modified,
    /// pcapng: an enhanced packet block.
    Enhanced,
    /// pcapng: a simple packet block, which has no time.
    Simple,
}

impl RecordKind {
    /// All of them, each at its own number.
    const ALL: [Self; 5] = [
        Self::Verbatim,
        Self::Classic,
        Self::Modified,
        Self::Enhanced,
        Self::Simple,
    ];

    /// The kind of this number, if there is one.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

impl Record {
    /// The record of what is no packet.
    pub(crate) const VERBATIM: Self = Self {
        kind: RecordKind::Verbatim,
        big_endian: false,
        time: [0; 2],
        original_len: 0,
        interface: 0,
        extra: [0; 8],
    };
}

/// Why a capture could not be read on.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The system says so.
    Io(io::Error),
    /// The file is something else.
    Foreign,
    /// The file ends inside a record.
    CutShort { at: u64, wanted: u64, left: u64 },
    /// A record contradicts itself.
    Damaged { at: u64, what: &'static str },
}

impl Fault {
    fn damaged(at: u64, what: &'static str) -> Self {
        Self::Damaged { at, what }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(why) => why.fmt(f),
            Self::Foreign => f.write_str("neither a pcap nor a pcapng capture"),
            Self::CutShort { at, wanted, left } => {
                write!(
                    f,
                    "cut short: the record at byte {at} needs {wanted} bytes or more, {left} are left"
                )
            }
            Self::Damaged { at, what } => write!(f, "damaged at byte {at}: {what}"),
        }
    }
}

impl std::error::Error for Fault {}

impl From<io::Error> for Fault {
    fn from(why: io::Error) -> Self {
        Self::Io(why)
    }
}

impl Capture {
    /// Opens a capture and reads enough of it to know its format.
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            // It is read several times over, which a pipe or a device cannot be.
            return Err(io::Error::other("not a regular file").into());
        }
        Self::from_file(file)
    }

    /// Reads a capture from an open file, from where it stands.
    pub(crate) fn from_file(file: File) -> Result<Self, Fault> {
        let mut source = Source::new(file);
        let format = Format::detect(&mut source)?;
        Ok(Self { source, format })
    }

    /// Goes back to the first item.
    pub(crate) fn rewind(&mut self) -> Result<(), Fault> {
        self.source.rewind()?;
        self.format = Format::detect(&mut self.source)?;
        Ok(())
    }

    /// The next item, or `None` at the end. After a fault there is no going on.
    pub(crate) fn next_item(&mut self) -> Result<Option<Item<'_>>, Fault> {
        match &mut self.format {
            Format::Classic(classic) => classic.next_item(&mut self.source),
            Format::Ng(ng) => ng.next_item(&mut self.source),
        }
    }

    /// How many bytes the items so far took up.
    pub(crate) fn position(&self) -> u64 {
        self.source.position()
    }

    /// Whether the format is a classic pcap's, which is written again byte for byte.
    pub(crate) fn is_classic(&self) -> bool {
        matches!(self.format, Format::Classic(_))
    }
}

impl Format {
    fn detect(source: &mut Source) -> Result<Self, Fault> {
        if ng::begins(source)? {
            Ng::new(source).map(Self::Ng)
        } else {
            Classic::new(source).map(Self::Classic)
        }
    }
}
