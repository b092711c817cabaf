//! Chains that are read: by cursors, as `Buf`s, in parts.

use super::pair::{Pair, place};
use arbitrary::Arbitrary;
use bytes::Buf;
use std::io::{BufRead, Cursor, IoSlice, Read, Seek, SeekFrom};

#[derive(Arbitrary, Debug)]
pub(super) enum Reading {
    /// A cursor beside one on the bytes.
    Cursor(Vec<Move>),
    /// What is read is let go of.
    Buf(u16),
    CopyToBytes(u16),
    Parts(u16, u16),
    Vectored(u8),
    Find(u8),
}

#[derive(Arbitrary, Debug)]
pub(super) enum Move {
    Read(u8),
    FillAndConsume(u8),
    Start(u16),
    End(i16),
    Current(i16),
    Far(i64),
    Skip(u16),
}

impl Pair {
    pub(super) fn read(&mut self, by: &Reading) {
        let len = self.bytes.len();
        match by {
            Reading::Cursor(moves) => self.follow(moves),
            &Reading::Buf(n) => {
                let n = place(n, len).min(len);
                let mut read = vec![0; n];
                self.real.copy_to_slice_by_buf(&mut read);
                assert_eq!(read, self.bytes[..n]);
                self.bytes.drain(..n);
                assert_eq!(self.real.chunk().is_empty(), self.bytes.is_empty());
            }
            &Reading::CopyToBytes(n) => {
                let n = place(n, len).min(len);
                let taken = self.real.copy_to_bytes(n);
                assert_eq!(taken, self.bytes[..n]);
                self.bytes.drain(..n);
            }
            &Reading::Parts(from, n) => {
                let from = place(from, len);
                let end = from + usize::from(n) % (len + 2);
                let parts = self.real.parts(from..end);
                assert_eq!(parts.is_some(), end <= len);
                let mut out = vec![0; end - from];
                let copied = self.real.copy_to_slice(from, &mut out);
                assert_eq!(copied.is_ok(), end <= len);
                if let Some(parts) = parts {
                    assert_eq!(parts.flatten().copied().collect::<Vec<_>>(), out);
                    assert_eq!(out, self.bytes[from..end]);
                }
            }
            &Reading::Vectored(places) => {
                let mut list = vec![IoSlice::new(&[]); (places % 8).into()];
                let count = self.real.chunks_vectored(&mut list);
                let listed = list[..count].iter().flat_map(|part| part.iter());
                assert!(listed.clone().eq(self.bytes.iter().take(listed.count())));
            }
            &Reading::Find(byte) => {
                let found = self.bytes.iter().position(|&other| other == byte);
                assert_eq!(self.real.find(byte), found);
            }
        }
    }

    fn follow(&self, moves: &[Move]) {
        let mut real = self.real.cursor();
        let mut model = Cursor::new(&self.bytes[..]);
        for step in moves.iter().take(32) {
            let to = match *step {
                Move::Read(n) => {
                    let (mut one, mut other) = (vec![0; n.into()], vec![0; n.into()]);
                    assert_eq!(
                        real.read(&mut one).unwrap(),
                        model.read(&mut other).unwrap()
                    );
                    assert_eq!(one, other);
                    SeekFrom::Current(0)
                }
                Move::FillAndConsume(n) => {
                    let chunk = real.fill_buf().unwrap();
                    let rest = model.fill_buf().unwrap();
                    assert!(rest.starts_with(chunk));
                    assert_eq!(chunk.is_empty(), rest.is_empty());
                    let n = usize::from(n).min(chunk.len());
                    real.consume(n);
                    model.consume(n);
                    SeekFrom::Current(0)
                }
                Move::Skip(n) => {
                    let n = usize::from(n).min(real.remaining());
                    Buf::advance(&mut real, n);
                    model.consume(n);
                    SeekFrom::Current(0)
                }
                Move::Start(position) => SeekFrom::Start(position.into()),
                Move::End(distance) => SeekFrom::End(distance.into()),
                Move::Current(distance) => SeekFrom::Current(distance.into()),
                Move::Far(distance) => SeekFrom::Current(distance),
            };
            assert_eq!(real.seek(to).ok(), model.seek(to).ok());
            assert_eq!(real.position(), model.position());
            let left = self
                .bytes
                .len()
                .saturating_sub(usize::try_from(model.position()).unwrap_or(usize::MAX));
            assert_eq!(real.remaining(), left);
        }
    }
}

/// `Mbuf` has a method of its own of the name that `Buf`'s has.
trait ByBuf: Buf {
    fn copy_to_slice_by_buf(&mut self, out: &mut [u8]) {
        self.copy_to_slice(out);
    }
}

impl ByBuf for mbuf::Mbuf {}
