//! A chain's bytes, wherever its segments are cut.

use super::view::within;
use super::{Mbuf, Segments, ViewError};
use std::iter::FusedIterator;
use std::ops::RangeBounds;
use std::slice;

/// The bytes of a chain, first to last: [`Mbuf::bytes`].
#[derive(Clone, Debug)]
pub struct ChainBytes<'a> {
    front: slice::Iter<'a, u8>,
    segments: Segments<'a>,
}

/// Contents.
impl Mbuf {
    /// The valid data of each segment, first to last. Some may be empty.
    ///
    /// # Cost
    /// Each step loads the first line of a header.
    pub fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        self.segments().map(|segment| segment.into_data())
    }

    /// The bytes of all segments, first to last.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut message = pool.alloc(8)?;
    /// message.extend_from_slice(b"ab")?;
    /// let mut rest = pool.alloc(8)?;
    /// rest.extend_from_slice(b"c")?;
    /// message.append(rest)?;
    /// assert!(message.bytes().eq(*b"abc"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bytes(&self) -> ChainBytes<'_> {
        ChainBytes {
            front: [].iter(),
            segments: self.segments(),
        }
    }

    /// Copies the bytes of `out.len()` positions, from `start` on, out of the chain.
    ///
    /// # Errors
    /// [`ViewError::OutOfRange`] when the chain has fewer; `out` is as it was then.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut message = pool.alloc(8)?;
    /// message.extend_from_slice(b"abcd")?;
    /// let mut middle = [0; 2];
    /// message.copy_to_slice(1, &mut middle)?;
    /// assert_eq!(middle, *b"bc");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_to_slice(&self, start: usize, out: &mut [u8]) -> Result<(), ViewError> {
        let end = start.checked_add(out.len()).ok_or(ViewError::OutOfRange)?;
        let parts = self.parts(start..end).ok_or(ViewError::OutOfRange)?;
        let mut rest = out;
        for part in parts {
            let (place, behind) = rest.split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = behind;
        }
        Ok(())
    }

    /// The slices that `range` is in, one after the other; `None` if it is not within the data.
    ///
    /// # Cost
    /// Walks the chain twice, the first time for its length.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut message = pool.alloc(8)?;
    /// message.extend_from_slice(b"ab")?;
    /// let mut rest = pool.alloc(8)?;
    /// rest.extend_from_slice(b"cd")?;
    /// message.append(rest)?;
    /// assert!(message.parts(1..3).unwrap().eq([b"b", b"c"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parts(&self, range: impl RangeBounds<usize>) -> Option<impl Iterator<Item = &[u8]>> {
        let (mut skip, mut left) = within(range, self.total_len())?;
        Some(self.chunks().filter_map(move |chunk| {
            let skipped = skip.min(chunk.len());
            skip -= skipped;
            let part = &chunk[skipped..];
            let part = &part[..left.min(part.len())];
            left -= part.len();
            (!part.is_empty()).then_some(part)
        }))
    }

    /// Where `byte` is first in the chain's data.
    ///
    /// # Cost
    /// Reads the data up to there.
    pub fn find(&self, byte: u8) -> Option<usize> {
        let mut before = 0;
        for chunk in self.chunks() {
            if let Some(at) = chunk.iter().position(|&other| other == byte) {
                return Some(before + at);
            }
            before += chunk.len();
        }
        None
    }
}

impl Iterator for ChainBytes<'_> {
    type Item = u8;

    #[inline]
    fn next(&mut self) -> Option<u8> {
        loop {
            if let Some(&byte) = self.front.next() {
                return Some(byte);
            }
            self.front = self.segments.next()?.into_data().iter();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let behind: usize = self.segments.clone().map(|segment| segment.len()).sum();
        let len = self.front.len() + behind;
        (len, Some(len))
    }

    fn fold<B, F: FnMut(B, u8) -> B>(self, init: B, mut f: F) -> B {
        let front = self.front.fold(init, |value, &byte| f(value, byte));
        self.segments.fold(front, |value, segment| {
            segment
                .into_data()
                .iter()
                .fold(value, |value, &byte| f(value, byte))
        })
    }
}

impl ExactSizeIterator for ChainBytes<'_> {}
impl FusedIterator for ChainBytes<'_> {}
