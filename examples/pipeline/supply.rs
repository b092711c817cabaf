//! Mbufs for the reader: packets become chains, and an exhausted pool is waited for.

use std::thread;

use mbuf::{AllocError, BuildError, LocalPool, MAX_CHAIN, Mbuf, Pool};

use crate::latency::{self, Latencies, Operation};
use crate::ring;

/// Data bytes of a segment.
const SEGMENT: usize = 2048;
/// How often an exhausted pool is asked before it is looked at more closely, which takes longer.
const TRIES_BEFORE_LOOK: u32 = 64;
/// Room for rings full of packets of common sizes. A pool takes memory only as it is used.
const BASE_CAPACITY: u64 = 64 << 20;

/// A pool for a capture of this many bytes.
///
/// The largest packet can be no longer than the file; with twice that, one can be on its way while the next is filled.
pub(crate) fn pool_for(capture_bytes: u64) -> Result<Pool, BuildError> {
    let largest_packet = capture_bytes.min(u32::MAX.into());
    let pool = Pool::builder()
        .capacity(BASE_CAPACITY + 2 * largest_packet)
        .build()?;
    // Whether or not this succeeds: it only spares the first packets the page faults.
    let _ = pool.reserve(SEGMENT, ring::SLOTS);
    let _ = pool.reserve(0, ring::SLOTS);
    Ok(pool)
}

/// The reader's side of the pool.
pub(crate) struct Supply {
    pool: Pool,
    local: LocalPool,
    pub(crate) latencies: Latencies,
    /// How many times nothing was left and the reader waited.
    pub(crate) waits: u64,
}

impl Supply {
    pub(crate) fn new(pool: &Pool) -> Self {
        Self {
            pool: pool.clone(),
            local: pool.local(),
            latencies: Latencies::new(),
            waits: 0,
        }
    }

    /// Puts bytes into a chain.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> Result<Mbuf, AllocError> {
        let size = segment_size(bytes.len());
        let mut pieces = bytes.chunks(size);
        let mut chain = self.segment(size, pieces.next().unwrap_or_default(), 0)?;
        for piece in pieces {
            let segment = self.segment(size, piece, chain.segment_count() as u64)?;
            chain
                .append(segment)
                .expect("segment_size keeps a chain within its limit, and there is one pool");
        }
        Ok(chain)
    }

    /// Another reference to a whole chain.
    pub(crate) fn copy_ref(&mut self, chain: &Mbuf) -> Result<Mbuf, AllocError> {
        self.patiently(Operation::CopyRef, chain.segment_count() as u64, |_| {
            chain.copy_ref()
        })
    }

    fn segment(&mut self, size: usize, bytes: &[u8], held: u64) -> Result<Mbuf, AllocError> {
        let mut segment = self.patiently(Operation::Alloc, held, |local| local.alloc(size))?;
        segment
            .extend_from_slice(bytes)
            .expect("a fresh segment has room for one piece");
        Ok(segment)
    }

    /// Gets something from the pool, and waits while it is exhausted and others hold mbufs.
    ///
    /// `held` is how many the caller holds. If they are all there are, waiting would be in vain.
    fn patiently(
        &mut self,
        operation: Operation,
        held: u64,
        get: impl Fn(&LocalPool) -> Result<Mbuf, AllocError>,
    ) -> Result<Mbuf, AllocError> {
        let mut tries = 0;
        loop {
            let in_vain = tries >= TRIES_BEFORE_LOOK && self.pool.stats().in_use <= held;
            let (result, nanoseconds) = latency::timed(|| get(&self.local));
            match result {
                Ok(mbuf) => {
                    self.latencies.note(operation, nanoseconds);
                    return Ok(mbuf);
                }
                Err(AllocError::Exhausted) if !in_vain => {}
                Err(why) => return Err(why),
            }
            tries += 1;
            self.waits += 1;
            thread::yield_now();
        }
    }
}

/// The size of segments that hold this many bytes in one chain: the usual one unless the packet is too long for it.
fn segment_size(bytes: usize) -> usize {
    bytes.div_ceil(MAX_CHAIN).max(SEGMENT)
}
