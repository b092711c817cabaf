//! One chain beside its contents, and what is done with it.

use mbuf::{AllocError, LenError, MAX_CHAIN, Mbuf, ViewError};

/// A chain with what it should contain.
pub(super) struct Pair {
    pub(super) real: Mbuf,
    pub(super) bytes: Vec<u8>,
}

/// A failed call says that there is no memory, nothing else.
#[track_caller]
pub(super) fn assert_exhausted(error: AllocError) {
    assert_eq!(error, AllocError::Exhausted);
}

/// The result of a cut, which must be there if it is within the data and there is memory.
#[track_caller]
pub(super) fn made<T>(result: Result<T, ViewError>, is_within: bool) -> Option<T> {
    match result {
        Ok(made) => {
            assert!(is_within, "a part of what is not there");
            Some(made)
        }
        Err(ViewError::OutOfRange) => {
            assert!(!is_within);
            None
        }
        Err(error) => {
            assert!(is_within);
            assert_eq!(error, ViewError::Alloc(AllocError::Exhausted));
            None
        }
    }
}

/// A number from the chain's beginning to a little behind its end.
pub(super) fn place(number: u16, len: usize) -> usize {
    usize::from(number) % (len + 3)
}

impl Pair {
    pub(super) fn check(&self) {
        let real = &self.real;
        assert_eq!(real.total_len(), self.bytes.len());
        assert!(real.bytes().eq(self.bytes.iter().copied()), "{real:?}");
        assert_eq!(real.segments().count(), real.segment_count());
        assert!((1..=MAX_CHAIN).contains(&real.segment_count()));
        for segment in real.segments() {
            assert!(segment.len() <= segment.capacity());
            assert_eq!(segment.tailroom(), segment.capacity() - segment.len());
        }
    }

    pub(super) fn tailroom(&self) -> usize {
        self.real.segments().last().unwrap().tailroom()
    }

    pub(super) fn slice(&self, member: usize, from: u16, len: usize) -> Option<Self> {
        let start = self
            .real
            .segment(member % self.real.segment_count())
            .unwrap();
        let before = self.bytes.len() - start.total_len();
        let rest = &self.bytes[before..];
        let from = place(from, rest.len());
        // Mostly within what there is.
        let end = from
            + if len > 4096 {
                len
            } else {
                len % (rest.len() + 3)
            };
        let real = made(start.slice(from..end), end <= rest.len())?;
        for segment in real.segments() {
            assert_eq!(
                segment.capacity(),
                segment.len(),
                "a view shows what it was given"
            );
        }
        Some(Self {
            real,
            bytes: rest[from..end].to_vec(),
        })
    }

    pub(super) fn split_off_bytes(&mut self, at: u16) -> Option<Self> {
        let at = place(at, self.bytes.len());
        let tailroom = self.tailroom();
        let real = made(self.real.split_off_bytes(at), at <= self.bytes.len())?;
        let rest = Self {
            real,
            bytes: self.bytes.split_off(at),
        };
        assert_eq!(
            rest.tailroom(),
            tailroom,
            "what was behind the data is the rest's"
        );
        Some(rest)
    }

    pub(super) fn split_to(&mut self, at: u16) -> Option<Self> {
        let at = place(at, self.bytes.len());
        let real = made(self.real.split_to(at), at <= self.bytes.len())?;
        let rest = self.bytes.split_off(at);
        Some(Self {
            real,
            bytes: std::mem::replace(&mut self.bytes, rest),
        })
    }

    pub(super) fn advance(&mut self, by: u16) {
        let by = place(by, self.bytes.len());
        match self.real.advance(by) {
            Ok(()) => drop(self.bytes.drain(..by)),
            Err(error) => {
                assert_eq!(error, LenError::TooLong);
                assert!(by > self.bytes.len());
            }
        }
    }

    pub(super) fn prepend(&mut self, bytes: Vec<u8>, zeros: bool) {
        let n = bytes.len();
        let (headroom, capacity) = (self.real.headroom(), self.real.capacity());
        let is_exclusive = n == 0 || self.real.data_mut().is_some();
        let done = if zeros {
            self.real.prepend(n).map(|front| assert_eq!(front, bytes))
        } else {
            self.real.prepend_slice(&bytes)
        };
        let expected = match () {
            () if n > headroom => Err(LenError::TooLong),
            () if !is_exclusive => Err(LenError::Shared),
            () => Ok(()),
        };
        assert_eq!(done, expected);
        if done.is_ok() {
            assert_eq!(self.real.headroom(), headroom - n);
            assert_eq!(self.real.capacity(), capacity + n);
            self.bytes.splice(0..0, bytes);
        }
    }

    pub(super) fn append_bytes(&mut self, bytes: &[u8]) {
        let tailroom = self.tailroom();
        let is_exclusive = bytes.is_empty() || self.real.last_mut().data_mut().is_some();
        let done = self.real.append_bytes(bytes);
        let expected = match () {
            () if bytes.len() > tailroom => Err(LenError::TooLong),
            () if !is_exclusive => Err(LenError::Shared),
            () => Ok(()),
        };
        assert_eq!(done, expected);
        if done.is_ok() {
            self.bytes.extend(bytes);
        }
    }

    /// Fills what may be written, segment by segment.
    pub(super) fn overwrite(&mut self, byte: u8) {
        let mut before = 0;
        for mut segment in self.real.segments_mut() {
            let len = segment.len();
            if let Some(data) = segment.data_mut() {
                data.fill(byte);
                self.bytes[before..before + len].fill(byte);
            }
            before += len;
        }
    }

    pub(super) fn make_unique(&mut self) {
        match self.real.make_unique() {
            Ok(()) => {
                let mut segments = self.real.segments_mut();
                assert!(segments.all(|mut segment| segment.data_mut().is_some()));
            }
            Err(error) => assert_exhausted(error),
        }
    }

    pub(super) fn linearize_prefix(&mut self, len: u16) {
        let len = place(len, self.bytes.len());
        let result = self.real.linearize_prefix(len);
        if made(result, len <= self.bytes.len()).is_some() {
            assert_eq!(self.real.data()[..len], self.bytes[..len]);
        }
    }

    pub(super) fn coalesce(&mut self, headroom: usize) {
        match self.real.coalesce(headroom) {
            Ok(()) => {
                assert_eq!(self.real.segment_count(), 1);
                assert_eq!(self.real.capacity(), self.bytes.len());
                assert!(self.real.headroom() >= headroom);
            }
            Err(error) => assert_exhausted(error),
        }
    }

    pub(super) fn linearize(&mut self) {
        match self.real.linearize() {
            Ok(()) => assert_eq!(self.real.data(), self.bytes),
            Err(error) => assert_exhausted(error),
        }
    }

    pub(super) fn compact(&mut self) {
        let before = self.real.retained();
        match self.real.compact() {
            Ok(()) => assert!(self.real.retained() <= before),
            Err(error) => assert_exhausted(error),
        }
    }
}
