//! Chains: mbufs linked through their headers, owned by the first.

use super::Mbuf;
use crate::header::{Header, flags};
use std::fmt;

/// The most segments that a chain holds.
pub const MAX_CHAIN: usize = 128;

/// Why an mbuf was not appended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AppendErrorKind {
    /// The chain would have more than [`MAX_CHAIN`] segments.
    TooLong,
    /// The mbuf is of another pool; the links of a chain do not lead out of its pool.
    OtherPool,
}

/// An mbuf that was not appended, and why. Nothing is lost: [`into_mbuf`](Self::into_mbuf) gives it back as it was.
pub struct AppendError {
    kind: AppendErrorKind,
    mbuf: Mbuf,
}

impl AppendError {
    /// Why.
    pub fn kind(&self) -> AppendErrorKind {
        self.kind
    }

    /// The mbuf, with all that it heads.
    pub fn into_mbuf(self) -> Mbuf {
        self.mbuf
    }
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            AppendErrorKind::TooLong => {
                write!(f, "a chain holds at most {MAX_CHAIN} segments")
            }
            AppendErrorKind::OtherPool => f.write_str("an mbuf of another pool cannot be chained"),
        }
    }
}

impl fmt::Debug for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppendError")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for AppendError {}

/// Chains.
impl Mbuf {
    /// Appends `other`, with all that it heads, to the end of this chain, which owns it from then on.
    ///
    /// # Errors
    /// [`AppendError`], which holds `other` unchanged, when the chain would be over [`MAX_CHAIN`] segments or the pools differ.
    ///
    /// # Cost
    /// Constant, however long the chains are: the first lines of three headers.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut message = pool.alloc(64)?;
    /// message.extend_from_slice(b"head")?;
    /// let mut body = pool.alloc(64)?;
    /// body.extend_from_slice(b"body")?;
    /// message.append(body)?;
    /// assert_eq!((message.segment_count(), message.total_len()), (2, 8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn append(&mut self, other: Self) -> Result<(), AppendError> {
        let core = self.core();
        let (head, behind) = (self.header(), other.header());
        let kind = if core != other.core() {
            AppendErrorKind::OtherPool
        } else {
            // SAFETY: M1: both are heads of ours, exclusively.
            unsafe {
                let segments = usize::from(head.segments()) + usize::from(behind.segments());
                if segments <= MAX_CHAIN {
                    core.header(head.tail()).set_next(Some(behind.offset()));
                    head.set_tail(behind.tail());
                    head.set_segments(segments as u8);
                    behind.set_flags(flags::MEMBER, 0);
                    std::mem::forget(other);
                    return Ok(());
                }
            }
            AppendErrorKind::TooLong
        };
        Err(AppendError { kind, mbuf: other })
    }

    /// Appends what is known to fit.
    #[inline(always)]
    pub(super) fn append_fitting(&mut self, other: Self) {
        let appended = self.append(other);
        debug_assert!(appended.is_ok(), "of the same pool, and short enough");
    }

    /// Puts `other`, with all that it heads, in front of this chain: this mbuf is then the first of `other`'s segments.
    ///
    /// # Errors
    /// As [`append`](Self::append), with `other`.
    ///
    /// # Cost
    /// That of [`append`](Self::append).
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut message = pool.alloc(64)?;
    /// message.extend_from_slice(b"body")?;
    /// let mut head = pool.alloc(64)?;
    /// head.extend_from_slice(b"head ")?;
    /// message.prepend_chain(head)?;
    /// assert!(message.bytes().eq(*b"head body"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepend_chain(&mut self, mut other: Self) -> Result<(), AppendError> {
        std::mem::swap(self, &mut other);
        self.append(other).map_err(|mut error| {
            std::mem::swap(self, &mut error.mbuf);
            error
        })
    }

    /// How many segments the chain has from here on: 1 for an mbuf alone.
    ///
    /// # Cost
    /// One load for a chain's head; for a [`Segment`](super::Segment) the headers behind it are walked.
    #[inline]
    pub fn segment_count(&self) -> usize {
        // SAFETY: H3.
        unsafe {
            if self.header().flags() & flags::MEMBER == 0 {
                return self.header().segments().into();
            }
        }
        self.headers().count()
    }

    /// The headers of this chain from here on.
    fn headers(&self) -> impl Iterator<Item = &Header> {
        let core = self.core();
        std::iter::successors(Some(self.header()), move |header| {
            // SAFETY: M1: the chain is ours and shared at least.
            let next = unsafe { header.next() }?;
            Some(core.header(next))
        })
    }

    /// Bytes of valid data in all segments from here on.
    ///
    /// # Cost
    /// Walks the headers of the chain.
    pub fn total_len(&self) -> usize {
        self.headers()
            // SAFETY: H3.
            .map(|header| unsafe { header.data_len() })
            .sum()
    }

    /// Splits the chain before segment `at`, and returns the segments from there on as a chain of their own. `None`, and
    /// nothing is changed, when `at` is 0 or not below the number of segments: neither part may be empty.
    ///
    /// # Cost
    /// Walks `at` headers.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut chain = pool.alloc(64)?;
    /// chain.append(pool.alloc(64)?)?;
    /// chain.append(pool.alloc(64)?)?;
    /// let rest = chain.split_off(1).unwrap();
    /// assert_eq!((chain.segment_count(), rest.segment_count()), (1, 2));
    /// assert!(chain.split_off(1).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn split_off(&mut self, at: usize) -> Option<Self> {
        let head = self.header();
        // SAFETY: M1: the chain is ours, exclusively.
        unsafe {
            let segments = head.segments();
            if at == 0 || at >= usize::from(segments) {
                return None;
            }
            let core = self.core();
            let mut last = head.offset();
            for _ in 1..at {
                last = core.header(last).next()?;
            }
            let rest = core.header(last).next()?;
            let rest_head = core.header(rest);
            rest_head.set_tail(head.tail());
            rest_head.set_segments(segments - at as u8);
            rest_head.set_flags(0, flags::MEMBER);
            core.header(last).set_next(None);
            head.set_tail(last);
            head.set_segments(at as u8);
            Some(Self::from_block(core, rest))
        }
    }

    /// Detaches and returns the first segment; this mbuf is the rest of the chain from then on. `None`, and nothing is
    /// changed, for an mbuf alone.
    ///
    /// # Cost
    /// Constant: the first lines of two headers.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut chain = pool.alloc(1)?;
    /// chain.append(pool.alloc(2)?)?;
    /// assert_eq!(chain.pop_front().unwrap().capacity(), 1);
    /// assert_eq!(chain.capacity(), 2);
    /// assert!(chain.pop_front().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_front(&mut self) -> Option<Self> {
        let rest = self.split_off(1)?;
        Some(std::mem::replace(self, rest))
    }
}
