//! What a packet carries in its mbuf's user area.

use mbuf::{Mbuf, USER_AREA};

use crate::capture::{Record, RecordKind};
use crate::flow::FlowKey;

/// The contents of the user area of a packet's first segment.
///
/// | bytes | field |
/// |---|---|
/// | 0..8 | the two words of the capture time, in the file's own units so that it can be written exactly |
/// | 8..16 | `entered` |
/// | 16..20 | original length |
/// | 20..24 | interface |
/// | 24 | the record's kind |
/// | 25 | bit 0: its fields are big-endian; bit 1: `begins_pass` |
/// | 26..34 | the end of a `Modified` record's header |
/// | 34..72 | flow key |
/// | 72..96 | not used |
///
/// Numbers are in the machine's byte order. The capture time in nanoseconds is the mbuf's timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label {
    /// How to write the record again.
    pub(crate) record: Record,
    /// When the packet came into the pipeline, in nanoseconds since the start of the run.
    pub(crate) entered: u64,
    /// Whether it is the first item of the capture.
    pub(crate) begins_pass: bool,
    /// The packet's flow.
    pub(crate) flow: FlowKey,
}

const BIG_ENDIAN: u8 = 1;
const BEGINS_PASS: u8 = 2;
const FLOW: usize = 34;
const USED: usize = FLOW + FlowKey::SIZE;
const _: () = assert!(USED <= USER_AREA);

impl Label {
    /// Writes the label into the user area of a packet's first segment.
    pub(crate) fn attach(&self, mbuf: &mut Mbuf) {
        let record = &self.record;
        let user = mbuf.user_mut();
        user[0..4].copy_from_slice(&record.time[0].to_ne_bytes());
        user[4..8].copy_from_slice(&record.time[1].to_ne_bytes());
        user[8..16].copy_from_slice(&self.entered.to_ne_bytes());
        user[16..20].copy_from_slice(&record.original_len.to_ne_bytes());
        user[20..24].copy_from_slice(&record.interface.to_ne_bytes());
        user[24] = record.kind as u8;
        user[25] = flag(record.big_endian, BIG_ENDIAN) | flag(self.begins_pass, BEGINS_PASS);
        user[26..FLOW].copy_from_slice(&record.extra);
        user[FLOW..USED].copy_from_slice(self.flow.as_bytes());
    }

    /// Reads the label of a packet.
    pub(crate) fn of(mbuf: &Mbuf) -> Self {
        let user = mbuf.user();
        let word = |at| u32::from_ne_bytes(part(user, at));
        Self {
            record: Record {
                // The reader attaches a label to whatever it sends, so the number is always one of a kind.
                kind: RecordKind::from_number(user[24]).unwrap_or(RecordKind::Verbatim),
                big_endian: user[25] & BIG_ENDIAN != 0,
                time: [word(0), word(4)],
                original_len: word(16),
                interface: word(20),
                extra: part(user, 26),
            },
            entered: u64::from_ne_bytes(part(user, 8)),
            begins_pass: user[25] & BEGINS_PASS != 0,
            flow: FlowKey::from_bytes(part(user, FLOW)),
        }
    }
}

fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

fn part<const N: usize>(user: &[u8; USER_AREA], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&user[at..at + N]);
    bytes
}
