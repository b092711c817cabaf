//! The pcapng format: sections of blocks, some of which describe interfaces and some of which hold packets.

use pcap_parser::nom::IResult;
use pcap_parser::pcapng::{
    DCB_MAGIC, EPB_MAGIC, IDB_MAGIC, SHB_MAGIC, SPB_MAGIC, parse_enhancedpacketblock_be,
    parse_enhancedpacketblock_le, parse_interfacedescriptionblock_be,
    parse_interfacedescriptionblock_le, parse_sectionheaderblock, parse_simplepacketblock_be,
    parse_simplepacketblock_le,
};
use pcap_parser::{InterfaceDescriptionBlock, OptionCode, PcapError};

use super::source::Source;
use super::{Fault, Item, Packet, Record, RecordKind};

/// The packet block that came before the enhanced one; `pcap-parser` does not know it.
const OBSOLETE_PACKET: u32 = 2;
/// Where a section header says how long its section is.
const SECTION_LENGTH: std::ops::Range<usize> = 16..24;

const NOT_A_PACKET: &str = "not a packet block";
const NO_SUCH_INTERFACE: &str = "a packet of an interface that was not described";

pub(super) struct Ng {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

struct Interface {
    link_type: u32,
    snap_len: u32,
    clock: Clock,
}

/// Whether the file begins as a pcapng does.
pub(super) fn begins(source: &mut Source) -> Result<bool, Fault> {
    source.fill(4)?;
    Ok(source.data().starts_with(&SHB_MAGIC.to_be_bytes()))
}

impl Ng {
    /// Checks that the first section's header is whole.
    pub(super) fn new(source: &mut Source) -> Result<Self, Fault> {
        let mut ng = Self {
            big_endian: false,
            interfaces: Vec::new(),
        };
        ng.next_block(source)?;
        Ok(ng)
    }

    pub(super) fn next_item<'a>(
        &mut self,
        source: &'a mut Source,
    ) -> Result<Option<Item<'a>>, Fault> {
        while let Some((kind, size)) = self.next_block(source)? {
            match kind {
                SHB_MAGIC => return self.section(source, size).map(Some),
                IDB_MAGIC => return self.interface(source, size).map(Some),
                EPB_MAGIC => return self.enhanced(source, size).map(Some),
                SPB_MAGIC => return self.simple(source, size).map(Some),
                OBSOLETE_PACKET => return self.obsolete(source, size).map(Some),
                // Its writer asked that it be kept out of changed copies of the file.
                DCB_MAGIC => drop(source.take(size)),
                _ => return Ok(Some(Item::Verbatim(source.take(size)))),
            }
        }
        Ok(None)
    }

    /// The kind and size of the block that begins here, all of which is then in memory; `None` at the end of the file.
    ///
    /// The framing is checked apart from the contents: a parser of streams takes a block that is damaged inside for one
    /// that is cut short, and would ask for the rest of the file.
    fn next_block(&mut self, source: &mut Source) -> Result<Option<(u32, usize)>, Fault> {
        if !source.fill(1)? {
            return Ok(None);
        }
        source.require(12)?;
        let at = source.position();
        let head = source.data();
        let kind = self.word(head, 0);
        if kind == SHB_MAGIC {
            self.big_endian = match head[8..12] {
                [0x1a, 0x2b, 0x3c, 0x4d] => true,
                [0x4d, 0x3c, 0x2b, 0x1a] => false,
                _ => return Err(Fault::damaged(at, "a section of no known byte order")),
            };
        }
        let size = self.word(head, 4) as usize;
        if size < 12 || !size.is_multiple_of(4) {
            return Err(Fault::damaged(at, "a block of an impossible length"));
        }
        source.require(size)?;
        if self.word(source.data(), size - 4) as usize != size {
            return Err(Fault::damaged(at, "a block with two different lengths"));
        }
        Ok(Some((kind, size)))
    }

    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        word(bytes, at, self.big_endian)
    }

    fn section<'a>(&mut self, source: &'a mut Source, size: usize) -> Result<Item<'a>, Fault> {
        if parse_sectionheaderblock(&source.data()[..size]).is_err() {
            return Err(Fault::damaged(source.position(), "not a section header"));
        }
        self.interfaces.clear();
        let block = source.take(size);
        // The written section may be shorter, since packets lose their options; all ones stand for "not stated".
        block[SECTION_LENGTH].fill(0xff);
        Ok(Item::Verbatim(block))
    }

    fn interface<'a>(&mut self, source: &'a mut Source, size: usize) -> Result<Item<'a>, Fault> {
        let parse = self.either(
            parse_interfacedescriptionblock_be,
            parse_interfacedescriptionblock_le,
        );
        let Ok((_, block)) = parse(&source.data()[..size]) else {
            let at = source.position();
            return Err(Fault::damaged(at, "not an interface description"));
        };
        self.interfaces.push(Interface {
            link_type: block.linktype.0.cast_unsigned(),
            snap_len: block.snaplen,
            clock: Clock::new(&block, self.big_endian),
        });
        Ok(Item::Verbatim(source.take(size)))
    }

    fn enhanced<'a>(&self, source: &'a mut Source, size: usize) -> Result<Item<'a>, Fault> {
        let at = source.position();
        let parse = self.either(parse_enhancedpacketblock_be, parse_enhancedpacketblock_le);
        let Ok((_, block)) = parse(source.take(size)) else {
            return Err(Fault::damaged(at, NOT_A_PACKET));
        };
        let time = [block.ts_high, block.ts_low];
        let data = block
            .data
            .get(..block.caplen as usize)
            .ok_or(Fault::damaged(at, NOT_A_PACKET))?;
        self.timed_packet(block.if_id, time, block.origlen, data)
            .ok_or(Fault::damaged(at, NO_SUCH_INTERFACE))
    }

    fn obsolete<'a>(&self, source: &'a mut Source, size: usize) -> Result<Item<'a>, Fault> {
        const FIELDS: usize = 28;
        let at = source.position();
        let block = &*source.take(size);
        if size < FIELDS + 4 {
            return Err(Fault::damaged(at, NOT_A_PACKET));
        }
        let interface = if self.big_endian {
            [block[8], block[9]]
        } else {
            [block[9], block[8]]
        };
        let time = [self.word(block, 12), self.word(block, 16)];
        let captured = self.word(block, 20) as usize;
        let data = block[FIELDS..size - 4]
            .get(..captured)
            .ok_or(Fault::damaged(at, NOT_A_PACKET))?;
        let interface = u32::from(u16::from_be_bytes(interface));
        self.timed_packet(interface, time, self.word(block, 24), data)
            .ok_or(Fault::damaged(at, NO_SUCH_INTERFACE))
    }

    fn timed_packet<'a>(
        &self,
        interface: u32,
        time: [u32; 2],
        original_len: u32,
        data: &'a [u8],
    ) -> Option<Item<'a>> {
        let described = self.interfaces.get(interface as usize)?;
        let record = Record {
            interface,
            time,
            ..self.record(RecordKind::Enhanced, original_len)
        };
        let captured_at = described.clock.nanoseconds(time);
        Some(Item::Packet(Packet {
            record,
            link_type: described.link_type,
            captured_at,
            data,
        }))
    }

    fn simple<'a>(&self, source: &'a mut Source, size: usize) -> Result<Item<'a>, Fault> {
        let at = source.position();
        let interface = self
            .interfaces
            .first()
            .ok_or(Fault::damaged(at, NO_SUCH_INTERFACE))?;
        let parse = self.either(parse_simplepacketblock_be, parse_simplepacketblock_le);
        let Ok((_, block)) = parse(source.take(size)) else {
            return Err(Fault::damaged(at, NOT_A_PACKET));
        };
        let limit = if interface.snap_len == 0 {
            u32::MAX
        } else {
            interface.snap_len
        };
        let captured = block.origlen.min(limit) as usize;
        Ok(Item::Packet(Packet {
            record: self.record(RecordKind::Simple, block.origlen),
            link_type: interface.link_type,
            captured_at: 0,
            data: block
                .data
                .get(..captured)
                .ok_or(Fault::damaged(at, NOT_A_PACKET))?,
        }))
    }

    fn record(&self, kind: RecordKind, original_len: u32) -> Record {
        Record {
            kind,
            big_endian: self.big_endian,
            original_len,
            ..Record::VERBATIM
        }
    }

    fn either<'a, B>(
        &self,
        big: ParseBlock<'a, B>,
        little: ParseBlock<'a, B>,
    ) -> ParseBlock<'a, B> {
        if self.big_endian { big } else { little }
    }
}

type ParseBlock<'a, B> = fn(&'a [u8]) -> IResult<&'a [u8], B, PcapError<&'a [u8]>>;

fn word(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if big_endian {
        u32::from_be_bytes(bytes)
    } else {
        u32::from_le_bytes(bytes)
    }
}

/// How an interface counts time.
struct Clock {
    /// `None`: more than a `u128` counts, so any time in a file is next to nothing.
    units_per_second: Option<u128>,
    offset_seconds: i64,
}

impl Clock {
    /// `pcap-parser` helps with neither part: it knows no binary resolution, and reads the offset as little-endian.
    fn new(block: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Self {
        let exponent = u32::from(block.if_tsresol & 0x7f);
        let base: u128 = if block.if_tsresol & 0x80 == 0 { 10 } else { 2 };
        let options = block
            .options
            .iter()
            .take_while(|option| option.code != OptionCode::EndOfOpt);
        let offset = options
            .filter(|option| option.code == OptionCode::IfTsoffset)
            .find_map(|option| option.as_bytes().ok()?.try_into().ok());
        Self {
            units_per_second: base.checked_pow(exponent),
            offset_seconds: match offset {
                Some(bytes) if big_endian => i64::from_be_bytes(bytes),
                Some(bytes) => i64::from_le_bytes(bytes),
                None => 0,
            },
        }
    }

    /// Nanoseconds since 1970, as near as a `u64` comes.
    fn nanoseconds(&self, [high, low]: [u32; 2]) -> u64 {
        let units = u128::from(high) << 32 | u128::from(low);
        let since_offset = self
            .units_per_second
            .map_or(0, |per_second| units * 1_000_000_000 / per_second);
        let offset = i128::from(self.offset_seconds) * 1_000_000_000;
        let sum = since_offset.cast_signed() + offset;
        sum.clamp(0, u64::MAX.into()) as u64
    }
}
