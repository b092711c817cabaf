//! The bytes around a packet in a capture file.

use crate::capture::{Record, RecordKind};

const ENHANCED_PACKET: u32 = 6;
const SIMPLE_PACKET: u32 = 3;

/// What comes before and after a packet's data.
#[derive(Default)]
pub(crate) struct Frame {
    pub(crate) head: Vec<u8>,
    pub(crate) tail: Vec<u8>,
}

impl Frame {
    /// Makes this the frame of `captured` bytes.
    pub(crate) fn set(&mut self, record: &Record, captured: u32) {
        self.head.clear();
        self.tail.clear();
        let [time_0, time_1] = record.time;
        match record.kind {
            RecordKind::Verbatim => {}
            RecordKind::Classic => {
                self.words(record, &[time_0, time_1, captured, record.original_len])
            }
            RecordKind::Modified => {
                self.words(record, &[time_0, time_1, captured, record.original_len]);
                self.head.extend(record.extra);
            }
            RecordKind::Enhanced => {
                let fields = [
                    record.interface,
                    time_0,
                    time_1,
                    captured,
                    record.original_len,
                ];
                self.block(record, ENHANCED_PACKET, &fields, captured);
            }
            RecordKind::Simple => {
                self.block(record, SIMPLE_PACKET, &[record.original_len], captured)
            }
        }
    }

    fn block(&mut self, record: &Record, kind: u32, fields: &[u32], captured: u32) {
        let padding = captured.next_multiple_of(4) - captured;
        // A kind and two lengths, beside the fields.
        let size = 4 * (3 + fields.len() as u32) + captured + padding;
        self.words(record, &[kind, size]);
        self.words(record, fields);
        self.tail.resize(padding as usize, 0);
        self.tail.extend(in_order(record, size));
    }

    fn words(&mut self, record: &Record, words: &[u32]) {
        for &word in words {
            self.head.extend(in_order(record, word));
        }
    }
}

fn in_order(record: &Record, word: u32) -> [u8; 4] {
    if record.big_endian {
        word.to_be_bytes()
    } else {
        word.to_le_bytes()
    }
}
