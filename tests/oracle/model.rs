//! The plain model: shared data is an `Rc`, a chain is a `Vec`, and nothing is ever recycled.

use crate::common::stamp::is_zero;
use mbuf::{Mbuf, Stats};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A block's data. What lies behind a segment's length may be anything, so it is never compared.
pub(crate) struct Data {
    bytes: RefCell<Vec<u8>>,
    /// What was asked of the pool: more than the bytes where they are aligned or have headroom.
    room: usize,
}

/// A header and the data it refers to.
#[derive(Clone)]
pub(crate) struct Segment {
    data: Rc<Data>,
    is_copy: bool,
    pub(crate) len: usize,
    pub(crate) user: [u8; 96],
    pub(crate) timestamp: u64,
}

impl Segment {
    pub(crate) fn new(capacity: usize) -> Self {
        Self::with_room(capacity, capacity)
    }

    pub(crate) fn with_room(capacity: usize, room: usize) -> Self {
        Self {
            data: Rc::new(Data {
                bytes: RefCell::new(vec![0; capacity]),
                room,
            }),
            is_copy: false,
            len: 0,
            user: [0; 96],
            timestamp: 0,
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.data.bytes.borrow().len()
    }

    pub(crate) fn is_shared(&self) -> bool {
        Rc::strong_count(&self.data) > 1
    }

    pub(crate) fn copy_ref(&self) -> Self {
        Self {
            is_copy: true,
            ..self.clone()
        }
    }

    /// The same with data of its own.
    fn duplicate(&self) -> Self {
        let bytes = self.data.bytes.borrow().clone();
        let room = bytes.len();
        Self {
            data: Rc::new(Data {
                bytes: RefCell::new(bytes),
                room,
            }),
            is_copy: false,
            ..*self
        }
    }

    /// Sets the length as `Mbuf::set_len` should; false where that should fail.
    pub(crate) fn set_len(&mut self, len: usize) -> bool {
        if len > self.capacity() || (len > self.len && self.is_shared()) {
            return false;
        }
        if len > self.len {
            self.data.bytes.borrow_mut()[self.len..len].fill(0);
        }
        self.len = len;
        true
    }

    /// Appends as `Mbuf::extend_from_slice` should; false where that should fail.
    pub(crate) fn extend(&mut self, bytes: &[u8]) -> bool {
        let end = self.len + bytes.len();
        if !bytes.is_empty() && (end > self.capacity() || self.is_shared()) {
            return false;
        }
        self.data.bytes.borrow_mut()[self.len..end].copy_from_slice(bytes);
        self.len = end;
        true
    }

    /// Fills the valid data; false where it is shared.
    pub(crate) fn write(&mut self, byte: u8) -> bool {
        let exclusive = !self.is_shared();
        if exclusive {
            self.data.bytes.borrow_mut()[..self.len].fill(byte);
        }
        exclusive
    }
}

/// What `Mbuf::make_unique` does: every segment that was shared before gets data of its own, also if the chain itself held
/// all references to it.
pub(crate) fn make_unique(chain: &mut [Segment]) {
    let fresh: Vec<_> = chain
        .iter()
        .map(|segment| segment.is_shared().then(|| segment.duplicate()))
        .collect();
    for (segment, fresh) in chain.iter_mut().zip(fresh) {
        if let Some(fresh) = fresh {
            *segment = fresh;
        }
    }
}

/// An mbuf of the crate's and what the model knows of it.
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
            assert_eq!(found.len(), segment.len);
            assert_eq!(found.is_empty(), segment.len == 0);
            assert_eq!(found.capacity(), segment.capacity());
            assert_eq!(found.data(), &segment.data.bytes.borrow()[..segment.len]);
            assert_eq!(found.user(), &segment.user);
            assert_eq!(found.timestamp(), segment.timestamp);
            assert_eq!(found.is_shared(), segment.is_shared());
            assert_eq!(found.segment_count(), self.model.len() - seen);
            seen += 1;
        }
        assert_eq!(seen, self.model.len());
        for (mut found, segment) in self.real.segments_mut().zip(&self.model) {
            let room = found.spare_capacity_mut().map(|room| room.len());
            let expected = segment.capacity() - segment.len;
            assert_eq!(room, (!segment.is_shared()).then_some(expected));
            let len = found.data_mut().map(|bytes| bytes.len());
            assert_eq!(len, (!segment.is_shared()).then_some(segment.len));
        }
    }

    /// Checks that the mbuf has just been made for `size` bytes, which are all valid and zero if `zeroed`.
    pub(crate) fn fresh(real: Mbuf, size: usize, zeroed: bool) -> Self {
        let mut model = Segment::new(size);
        if zeroed {
            assert!(model.set_len(size));
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
            *by_size.entry(segment.data.room).or_default() += 1;
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
