//! Chains that are written to: as `BufMut`s, and by writers.

use super::pair::Pair;
use arbitrary::Arbitrary;
use bytes::BufMut;
use mbuf::{AllocError, MAX_CHAIN, WriteError, Writer};
use std::io::Write;

#[derive(Arbitrary, Debug)]
pub(super) enum Writing {
    BufMut(u8),
    /// Segments of the first size, as many bytes as the second says.
    Writer(u8, u16),
    WriterAsBufMut(u8, u8),
    WriterByExtend(u8, u8),
}

impl Writing {
    pub(super) fn len(&self) -> usize {
        match *self {
            Self::Writer(_, n) => usize::from(n) % 2048,
            Self::BufMut(n) | Self::WriterAsBufMut(_, n) | Self::WriterByExtend(_, n) => n.into(),
        }
    }
}

impl Pair {
    pub(super) fn write(self, by: Writing, bytes: &[u8]) -> Self {
        let Self {
            mut real,
            bytes: mut expected,
        } = self;
        let written = match by {
            Writing::BufMut(_) => {
                let written = bytes.len().min(real.remaining_mut());
                real.put_slice(&bytes[..written]);
                written
            }
            Writing::Writer(segment, _) => {
                let mut writer = real.into_writer(segment_size(segment));
                let written = by_bytes(&mut writer, bytes);
                real = writer.into_mbuf();
                written
            }
            Writing::WriterAsBufMut(segment, _) => {
                let mut writer = real.into_writer(segment_size(segment));
                let written = by_buf_mut(&mut writer, bytes);
                real = writer.into_mbuf();
                written
            }
            Writing::WriterByExtend(segment, _) => {
                let mut writer = real.into_writer(segment_size(segment));
                writer.extend(bytes.iter().copied());
                real = writer.into_mbuf();
                real.total_len() - expected.len()
            }
        };
        expected.extend(&bytes[..written]);
        Self {
            real,
            bytes: expected,
        }
    }
}

fn segment_size(segment: u8) -> usize {
    usize::from(segment) * 4
}

fn by_bytes(writer: &mut Writer, bytes: &[u8]) -> usize {
    match writer.write_bytes(bytes) {
        Ok(()) => {
            assert_eq!(writer.write(&[]).unwrap(), 0);
            bytes.len()
        }
        Err((written, WriteError::TooLong)) => {
            assert_eq!(writer.mbuf().segment_count(), MAX_CHAIN);
            written
        }
        Err((written, error)) => {
            assert_eq!(error, WriteError::Alloc(AllocError::Exhausted));
            written
        }
    }
}

fn by_buf_mut(writer: &mut Writer, bytes: &[u8]) -> usize {
    let mut written = 0;
    while written < bytes.len() && writer.has_remaining_mut() {
        let n = writer.chunk_mut().len().min(bytes.len() - written);
        writer.put_slice(&bytes[written..written + n]);
        written += n;
    }
    written
}
