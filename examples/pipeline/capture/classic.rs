//! The classic pcap format: one header, then a record for each packet.

use pcap_parser::nom::{Err, IResult, Needed};
use pcap_parser::pcap::{
    LegacyPcapBlock, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified,
    parse_pcap_header,
};
use pcap_parser::{PcapError, PcapHeader};

use super::source::Source;
use super::{Fault, Item, Packet, Record, RecordKind};

const FILE_HEADER: usize = 24;
/// The upper bits of the link type's field say other things, such as whether a checksum follows each packet.
const LINK_TYPE_BITS: u32 = 0x03ff_ffff;
const NOT_A_RECORD: &str = "not a packet record";

type ParseFrame = fn(&[u8]) -> IResult<&[u8], LegacyPcapBlock<'_>, PcapError<&[u8]>>;

pub(super) struct Classic {
    header_taken: bool,
    parse: ParseFrame,
    kind: RecordKind,
    big_endian: bool,
    nanoseconds_per_unit: u64,
    link_type: u32,
}

impl Classic {
    pub(super) fn new(source: &mut Source) -> Result<Self, Fault> {
        source.fill(FILE_HEADER)?;
        match parse_pcap_header(source.data()) {
            Ok((_, header)) => Ok(Self::from_header(&header)),
            Err(Err::Incomplete(_)) if source.data().len() >= 4 => {
                source.require(FILE_HEADER)?;
                Err(Fault::Foreign)
            }
            Err(_) => Err(Fault::Foreign),
        }
    }

    fn from_header(header: &PcapHeader) -> Self {
        let (parse, kind): (ParseFrame, _) =
            match (header.is_modified_format(), header.is_bigendian()) {
                (true, _) => (parse_pcap_frame_modified, RecordKind::Modified),
                (false, true) => (parse_pcap_frame_be, RecordKind::Classic),
                (false, false) => (parse_pcap_frame, RecordKind::Classic),
            };
        Self {
            header_taken: false,
            parse,
            kind,
            big_endian: header.is_bigendian(),
            nanoseconds_per_unit: if header.is_nanosecond_precision() {
                1
            } else {
                1000
            },
            link_type: header.network.0.cast_unsigned() & LINK_TYPE_BITS,
        }
    }

    pub(super) fn next_item<'a>(
        &mut self,
        source: &'a mut Source,
    ) -> Result<Option<Item<'a>>, Fault> {
        if !self.header_taken {
            self.header_taken = true;
            return Ok(Some(Item::Verbatim(source.take(FILE_HEADER))));
        }
        let Some(size) = self.record_size(source)? else {
            return Ok(None);
        };
        let at = source.position();
        let record = &*source.take(size);
        match (self.parse)(record) {
            Ok((_, frame)) => Ok(Some(Item::Packet(self.packet(record, &frame)))),
            Err(_) => Err(Fault::damaged(at, NOT_A_RECORD)),
        }
    }

    /// The size of the record that begins here, all of which is then in memory; `None` at the end of the file.
    fn record_size(&self, source: &mut Source) -> Result<Option<usize>, Fault> {
        if !source.fill(1)? {
            return Ok(None);
        }
        loop {
            let have = source.data();
            match (self.parse)(have) {
                Ok((rest, _)) => return Ok(Some(have.len() - rest.len())),
                Err(Err::Incomplete(Needed::Size(more))) => {
                    let wanted = have.len() + more.get();
                    source.require(wanted)?;
                }
                Err(_) => return Err(Fault::damaged(source.position(), NOT_A_RECORD)),
            }
        }
    }

    fn packet<'a>(&self, record: &'a [u8], frame: &LegacyPcapBlock<'a>) -> Packet<'a> {
        let mut extra = [0; 8];
        if self.kind == RecordKind::Modified {
            extra.copy_from_slice(&record[16..24]);
        }
        let seconds = u64::from(frame.ts_sec) * 1_000_000_000;
        Packet {
            record: Record {
                kind: self.kind,
                big_endian: self.big_endian,
                time: [frame.ts_sec, frame.ts_usec],
                original_len: frame.origlen,
                interface: 0,
                extra,
            },
            link_type: self.link_type,
            captured_at: seconds + u64::from(frame.ts_usec) * self.nanoseconds_per_unit,
            data: frame.data,
        }
    }
}
