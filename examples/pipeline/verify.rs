//! Is the written capture the one that was read?

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::capture::{Capture, Fault, Item};

/// What a comparison found.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// A classic pcap: every byte is the same.
    SameBytes(u64),
    /// A pcapng: every packet's bytes, time, lengths and interface are the same.
    SamePackets(u64),
    /// A classic pcap differs here.
    ByteDiffers(u64),
    /// A pcapng differs in this packet, counted from 0, or before the next one.
    PacketDiffers(u64),
}

impl Verdict {
    pub(crate) fn is_same(&self) -> bool {
        matches!(self, Self::SameBytes(_) | Self::SamePackets(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameBytes(count) => write!(f, "the same as the one read, all {count} bytes"),
            Self::SamePackets(count) => write!(
                f,
                "the same as the one read, all {count} packets with time and interface"
            ),
            Self::ByteDiffers(at) => write!(f, "differs from the one read at byte {at}"),
            Self::PacketDiffers(index) => write!(
                f,
                "differs from the one read at packet {index}, counted from 0"
            ),
        }
    }
}

/// Compares the capture up to `end`, where reading it ended, with what was written.
pub(crate) fn compare(capture: &Path, end: u64, written: File) -> Result<Verdict, Fault> {
    let read = Capture::open(capture)?;
    if read.is_classic() {
        Ok(compare_bytes(File::open(capture)?.take(end), written)?)
    } else {
        compare_packets(read, end, Capture::from_file(written)?)
    }
}

fn compare_bytes(read: impl Read, written: impl Read) -> io::Result<Verdict> {
    let mut read = BufReader::new(read);
    let mut written = BufReader::new(written);
    let mut position = 0;
    loop {
        let bytes = read.fill_buf()?;
        let count = bytes.len();
        if let Some(same) = difference(&mut written, bytes)? {
            return Ok(Verdict::ByteDiffers(position + same));
        }
        if count == 0 {
            let more = !written.fill_buf()?.is_empty();
            return Ok(if more {
                Verdict::ByteDiffers(position)
            } else {
                Verdict::SameBytes(position)
            });
        }
        read.consume(count);
        position += count as u64;
    }
}

/// How many of the bytes come next in the reader, unless all of them do.
pub(crate) fn difference(reader: &mut impl BufRead, bytes: &[u8]) -> io::Result<Option<u64>> {
    let mut same = 0;
    while same < bytes.len() {
        let have = reader.fill_buf()?;
        let count = have.len().min(bytes.len() - same);
        let (have, wanted) = (&have[..count], &bytes[same..same + count]);
        if count == 0 || have != wanted {
            same += have.iter().zip(wanted).take_while(|(a, b)| a == b).count();
            return Ok(Some(same as u64));
        }
        reader.consume(count);
        same += count;
    }
    Ok(None)
}

fn compare_packets(mut read: Capture, end: u64, mut written: Capture) -> Result<Verdict, Fault> {
    let mut packets = 0;
    while read.position() < end {
        let expected = read.next_item()?;
        if expected != written.next_item()? {
            return Ok(Verdict::PacketDiffers(packets));
        }
        packets += u64::from(matches!(expected, Some(Item::Packet(_))));
    }
    let more = written.next_item()?.is_some();
    Ok(if more {
        Verdict::PacketDiffers(packets)
    } else {
        Verdict::SamePackets(packets)
    })
}
