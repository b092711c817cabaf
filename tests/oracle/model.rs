//! The plain model: shared data is an `Rc`, a chain is a `Vec`, and nothing is ever recycled.

use super::owners::Watch;
use crate::common::stamp::is_zero;
use mbuf::{LenError, Mbuf, Stats};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// What mbufs refer to: a block's data, or foreign memory. What is not some segment's valid data may be anything, so it is never
/// compared.
pub(crate) struct Data {
    bytes: RefCell<Vec<u8>>,
    /// Bytes of data that its block was taken for.
    block: usize,
    foreign: Option<Foreign>,
}

struct Foreign {
    owner: Watch,
    is_read_only: bool,
}

impl Drop for Data {
    /// What is real goes first, so the owner of foreign memory is gone by now.
    fn drop(&mut self) {
        if let Some(foreign) = &self.foreign
            && !std::thread::panicking()
        {
            assert_eq!(foreign.owner.drops(), 1, "the last reference is gone");
        }
    }
}

/// A header, and the part of some data that it refers to.
#[derive(Clone)]
pub(crate) struct Segment {
    data: Rc<Data>,
    is_copy: bool,
    pub(crate) headroom: usize,
    pub(crate) capacity: usize,
    pub(crate) len: usize,
    pub(crate) user: [u8; 96],
    pub(crate) timestamp: u64,
}

impl Segment {
    /// A fresh mbuf as `alloc` makes it.
    pub(crate) fn new(capacity: usize) -> Self {
        Self::shifted(0, capacity, capacity)
    }

    /// A fresh mbuf with headroom, on a block that was taken for `block` bytes.
    pub(crate) fn shifted(headroom: usize, capacity: usize, block: usize) -> Self {
        Self::on(headroom, vec![0; headroom + capacity], block, None)
    }

    /// Foreign memory, whose owner takes `block` bytes in the pool.
    pub(crate) fn foreign(bytes: Vec<u8>, block: usize, owner: Watch, is_read_only: bool) -> Self {
        let len = bytes.len();
        let foreign = Foreign {
            owner,
            is_read_only,
        };
        let segment = Self::on(0, bytes, block, Some(foreign));
        Self { len, ..segment }
    }

    fn on(headroom: usize, bytes: Vec<u8>, block: usize, foreign: Option<Foreign>) -> Self {
        Self {
            headroom,
            capacity: bytes.len() - headroom,
            data: Rc::new(Data {
                bytes: RefCell::new(bytes),
                block,
                foreign,
            }),
            is_copy: false,
            len: 0,
            user: [0; 96],
            timestamp: 0,
        }
    }

    pub(crate) fn is_shared(&self) -> bool {
        Rc::strong_count(&self.data) > 1
    }

    pub(crate) fn is_foreign(&self) -> bool {
        self.data.foreign.is_some()
    }

    pub(crate) fn is_read_only(&self) -> bool {
        let foreign = self.data.foreign.as_ref();
        foreign.is_some_and(|foreign| foreign.is_read_only)
    }

    /// Whether it may be written.
    pub(crate) fn is_exclusive(&self) -> bool {
        !self.is_shared() && !self.is_read_only()
    }

    pub(crate) fn copy_ref(&self) -> Self {
        Self {
            is_copy: true,
            ..self.clone()
        }
    }

    /// A copy that shows `len` bytes from `start` on and has room for `capacity`.
    pub(crate) fn view(&self, start: usize, len: usize, capacity: usize) -> Self {
        Self {
            headroom: self.headroom + start,
            len,
            capacity,
            ..self.copy_ref()
        }
    }

    /// The same valid data, in fresh data with room for `capacity`.
    pub(crate) fn duplicate(&self, capacity: usize) -> Self {
        let mut fresh = Self::new(capacity);
        assert_eq!(fresh.extend(&self.bytes()), Ok(()));
        fresh.take_after(self);
        fresh
    }

    pub(crate) fn take_after(&mut self, other: &Self) {
        (self.user, self.timestamp) = (other.user, other.timestamp);
    }

    /// The valid data.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (start, end) = (self.headroom, self.headroom + self.len);
        self.data.bytes.borrow()[start..end].to_vec()
    }

    /// Writes within the part of the data that the segment has.
    fn put(&self, at: usize, bytes: impl IntoIterator<Item = u8>) {
        assert!(self.is_exclusive());
        let mut data = self.data.bytes.borrow_mut();
        let places = &mut data[self.headroom..self.headroom + self.capacity];
        let mut places = places[at..].iter_mut();
        for byte in bytes {
            *places.next().unwrap() = byte;
        }
    }

    pub(crate) fn set_len(&mut self, len: usize) -> Result<(), LenError> {
        if len > self.capacity {
            return Err(LenError::TooLong);
        }
        if len > self.len {
            if !self.is_exclusive() {
                return Err(LenError::Shared);
            }
            self.put(self.len, (self.len..len).map(|_| 0));
        }
        self.len = len;
        Ok(())
    }

    pub(crate) fn extend(&mut self, bytes: &[u8]) -> Result<(), LenError> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.len + bytes.len() > self.capacity {
            return Err(LenError::TooLong);
        }
        if !self.is_exclusive() {
            return Err(LenError::Shared);
        }
        self.put(self.len, bytes.iter().copied());
        self.len += bytes.len();
        Ok(())
    }

    pub(crate) fn prepend(&mut self, bytes: &[u8]) -> Result<(), LenError> {
        if bytes.len() > self.headroom {
            return Err(LenError::TooLong);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        if !self.is_exclusive() {
            return Err(LenError::Shared);
        }
        self.headroom -= bytes.len();
        self.len += bytes.len();
        self.capacity += bytes.len();
        self.put(0, bytes.iter().copied());
        Ok(())
    }

    /// Fills the valid data; false where it may not be written.
    pub(crate) fn write(&mut self, byte: u8) -> bool {
        let exclusive = self.is_exclusive();
        if exclusive {
            self.put(0, (0..self.len).map(|_| byte));
        }
        exclusive
    }

    fn assert_seen(&self, found: &Mbuf) {
        assert_eq!(found.len(), self.len);
        assert_eq!(found.is_empty(), self.len == 0);
        assert_eq!(found.capacity(), self.capacity);
        assert_eq!(found.headroom(), self.headroom);
        assert_eq!(found.tailroom(), self.capacity - self.len);
        assert_eq!(found.data(), self.bytes());
        assert_eq!(found.user(), &self.user);
        assert_eq!(found.timestamp(), self.timestamp);
        assert_eq!(found.is_shared(), self.is_shared());
        assert_eq!(found.is_foreign(), self.is_foreign());
        assert_eq!(found.is_read_only(), self.is_read_only());
        if let Some(foreign) = &self.data.foreign {
            assert_eq!(foreign.owner.drops(), 0, "there are references");
        }
    }
}

/// An mbuf of the crate's and what the model knows of it. Dropped in this order.
pub(crate) struct Pair {
    pub(crate) real: Mbuf,
    pub(crate) model: Vec<Segment>,
}

impl Pair {
    /// Checks everything that a user can see of the chain.
    pub(crate) fn assert_equal(&mut self) {
        let real = &self.real;
        assert_eq!(real.segment_count(), self.model.len());
        assert_eq!(real.segments().len(), self.model.len());
        let total: usize = self.model.iter().map(|segment| segment.len).sum();
        assert_eq!(real.total_len(), total);
        let mut seen = 0;
        for (found, segment) in real.segments().zip(&self.model) {
            segment.assert_seen(&found);
            assert_eq!(found.segment_count(), self.model.len() - seen);
            seen += 1;
        }
        assert_eq!(seen, self.model.len());
        for (mut found, segment) in self.real.segments_mut().zip(&self.model) {
            let exclusive = segment.is_exclusive();
            let room = found.spare_capacity_mut().map(|room| room.len());
            assert_eq!(room, exclusive.then_some(segment.capacity - segment.len));
            let len = found.data_mut().map(|bytes| bytes.len());
            assert_eq!(len, exclusive.then_some(segment.len));
        }
    }

    /// Checks that the mbuf has just been made for `size` bytes, which are all valid and zero if `zeroed`.
    pub(crate) fn fresh(real: Mbuf, size: usize, zeroed: bool) -> Self {
        let mut model = Segment::new(size);
        if zeroed {
            assert_eq!(model.set_len(size), Ok(()));
            assert!(is_zero(real.data()));
        }
        Self {
            real,
            model: vec![model],
        }
    }
}

/// Blocks in use by the chains of a pool, for each size of data: a copy has a header of its own, and data is there until
/// the last reference to it goes.
fn blocks(chains: &[Pair]) -> HashMap<usize, u64> {
    let mut seen = HashMap::new();
    let mut by_size = HashMap::new();
    for segment in chains.iter().flat_map(|pair| &pair.model) {
        if segment.is_copy {
            *by_size.entry(0).or_default() += 1;
        }
        if seen.insert(Rc::as_ptr(&segment.data), ()).is_none() {
            *by_size.entry(segment.data.block).or_default() += 1;
        }
    }
    by_size
}

/// Checks the counts of blocks in use, for each class and in total.
pub(crate) fn assert_in_use(stats: &Stats, chains: &[Pair]) {
    let mut by_class: HashMap<u64, u64> = HashMap::new();
    const SPAN: u64 = u64::MAX;
    for (size, count) in blocks(chains) {
        let mut fitting = stats.classes.iter().map(|line| line.data_capacity);
        let class = fitting.find(|&capacity| capacity >= size as u64);
        *by_class.entry(class.unwrap_or(SPAN)).or_default() += count;
    }
    let total: u64 = by_class.values().sum();
    assert_eq!(stats.in_use, total, "{stats}");
    assert_eq!(stats.spans, by_class.remove(&SPAN).unwrap_or(0), "{stats}");
    for line in &stats.classes {
        let expected = by_class.remove(&line.data_capacity).unwrap_or(0);
        assert_eq!(line.in_use, expected, "{stats}");
    }
    assert!(by_class.is_empty(), "{by_class:?} {stats}");
}
