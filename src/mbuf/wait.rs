//! Allocation that waits for memory.

use super::Mbuf;
use crate::error::AllocError;
use crate::heap;
use crate::pool::{Pool, Wait};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
#[cfg(not(any(loom, shuttle)))]
use std::time::{Duration, Instant};

/// An mbuf, once there is memory for it: [`Pool::alloc_async`]. Dropping it ends the wait; one that has begun to wait and is forgotten
/// (`mem::forget`) keeps its pool open, and its allocs and frees on the slow path.
#[must_use = "futures do nothing unless polled"]
pub struct AllocFuture {
    wait: Wait,
    size: usize,
}

impl Future for AllocFuture {
    type Output = Result<Mbuf, AllocError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let found = this.look(context);
        if found.is_ready() {
            this.wait.end();
        }
        found
    }
}

impl AllocFuture {
    fn try_alloc(&self) -> Poll<Result<Mbuf, AllocError>> {
        match self.wait.pool().alloc(self.size) {
            Err(AllocError::Exhausted) => Poll::Pending,
            other => Poll::Ready(other),
        }
    }

    fn look(&mut self, context: &Context<'_>) -> Poll<Result<Mbuf, AllocError>> {
        if !self.wait.is_on() {
            let found = self.try_alloc();
            if found.is_ready() {
                return found;
            }
            self.wait.pool().core().could_hold(self.size, 1)?;
        }
        if !heap::has_room() {
            return Poll::Ready(Err(AllocError::OutOfMemory));
        }
        self.wait.begin(context.waker());
        // What was freed before the wait began has woken nobody.
        self.try_alloc()
    }
}

impl fmt::Debug for AllocFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllocFuture")
            .field("pool", self.wait.pool())
            .field("size", &self.size)
            .field("is_waiting", &self.wait.is_on())
            .finish()
    }
}

/// Allocation that waits for memory.
///
/// Waiting is neither polling nor spinning: who waits sleeps until memory comes free. Everybody who waits is woken then and
/// tries, for what has come free may not do for the first of them; there is no order among them, nor between them and those
/// who do not wait.
///
/// While somebody waits, every alloc and free of the pool, on any thread, takes a slow path by which its thread's free blocks
/// come home; afterwards all are as fast as before. What the wait does not end for is what an alloc without waiting would
/// not have found either: the loaded magazines of threads that neither allocate nor free in the pool, nor end, meanwhile.
impl Pool {
    /// A new mbuf, as by [`alloc`](Self::alloc), waited for up to `timeout` if there is no memory.
    ///
    /// # Errors
    /// [`AllocError::TimedOut`] when there was none in time, [`AllocError::Exhausted`] at once when the whole pool could not hold
    /// it, and [`AllocError::OutOfMemory`] when the heap has no room to note the waiter; else as [`alloc`](Self::alloc).
    ///
    /// # Cost
    /// That of [`alloc`](Self::alloc) while there is memory. Otherwise the thread is parked. Each look that a waiter takes in vain
    /// counts among [`failed`](crate::Stats::failed).
    ///
    /// # Example
    /// ```
    /// use mbuf::{AllocError, Pool};
    /// use std::time::Duration;
    ///
    /// let pool = Pool::builder().capacity(1 << 20).build()?;
    /// let mut held = Vec::new();
    /// while let Ok(mbuf) = pool.alloc(2048) {
    ///     held.push(mbuf);
    /// }
    /// let refused = pool.alloc_timeout(2048, Duration::from_millis(1));
    /// assert_eq!(refused.unwrap_err(), AllocError::TimedOut);
    /// let consumer = std::thread::spawn(move || drop(held));
    /// let packet = pool.alloc_timeout(2048, Duration::from_secs(10))?;
    /// # drop(packet);
    /// # consumer.join().unwrap();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(not(any(loom, shuttle)))]
    pub fn alloc_timeout(&self, size: usize, timeout: Duration) -> Result<Mbuf, AllocError> {
        match self.alloc(size) {
            Err(AllocError::Exhausted) => {}
            other => return other,
        }
        if !heap::has_room() {
            return Err(AllocError::OutOfMemory);
        }
        // So late that it cannot be told is never.
        let deadline = Instant::now().checked_add(timeout);
        let found = crate::sync::park_until(deadline, self.alloc_async(size));
        found.unwrap_or(Err(AllocError::TimedOut))
    }

    /// A new mbuf, as by [`alloc`](Self::alloc), waited for if there is no memory.
    ///
    /// The future holds a handle on the pool. It may be sent, and dropped at any time.
    ///
    /// # Errors
    /// As [`alloc_timeout`](Self::alloc_timeout), but for the timeout.
    ///
    /// # Cost
    /// A clone of the handle, and that of [`alloc`](Self::alloc) while there is memory. As there, a failed look counts.
    ///
    /// # Example
    /// ```
    /// async fn answer(pool: &mbuf::Pool) -> Result<mbuf::Mbuf, Box<dyn std::error::Error>> {
    ///     let mut packet = pool.alloc_async(2048).await?;
    ///     packet.extend_from_slice(b"answer")?;
    ///     Ok(packet)
    /// }
    /// ```
    pub fn alloc_async(&self, size: usize) -> AllocFuture {
        AllocFuture {
            wait: Wait::new(self.clone()),
            size,
        }
    }
}

#[allow(dead_code)]
const fn is_send_and_sync<T: Send + Sync + Unpin>() {}
const _: () = is_send_and_sync::<AllocFuture>();
