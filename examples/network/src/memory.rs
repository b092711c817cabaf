//! A pool whose exhaustion is waited out.

use mbuf::{AllocError, Mbuf, Pool};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The first pause before a further attempt, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(16)];

/// A pool, for tasks that rather wait than fail when it is exhausted.
///
/// What is waited for may be several mbufs together, or a wrapped owner, which `Pool::alloc_async` does not offer: so it is tried again
/// after a pause. For this to end, who waits holds nothing that others wait for: see where it is called.
#[derive(Clone, Debug)]
pub struct Memory {
    pool: Pool,
    waits: Arc<AtomicU64>,
}

impl Memory {
    /// Of `pool`.
    pub fn of(pool: Pool) -> Self {
        Self {
            pool,
            waits: Arc::default(),
        }
    }

    /// The pool.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// How often somebody waited.
    pub fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    pub(crate) async fn alloc(&self, size: usize) -> Result<Mbuf, AllocError> {
        self.patiently(|pool| pool.alloc(size)).await
    }

    /// What `attempt` makes, as soon as there is memory for it. It keeps nothing when it fails.
    pub(crate) async fn patiently<T>(
        &self,
        attempt: impl Fn(&Pool) -> Result<T, AllocError>,
    ) -> Result<T, AllocError> {
        let [mut pause, longest] = PAUSES;
        loop {
            match attempt(&self.pool) {
                Err(AllocError::Exhausted) => self.pause(pause).await,
                done => return done,
            }
            pause = (pause * 2).min(longest);
        }
    }

    /// A pause of somebody who has found the pool exhausted.
    pub(crate) async fn pause(&self, pause: Duration) {
        self.waits.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(pause).await;
    }

    /// The first pause.
    pub(crate) const PAUSE: Duration = PAUSES[0];
}
