//! What a user's own model looks like: a hand-written channel of one slot, proved together with the mbufs that go through
//! it. `docs/loom.md` walks through it.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicPtr, Ordering};
use loom::thread;
use loom_tests::{USUAL, assert_all_home, explore};
use mbuf::{LOOM_SLAB, Mbuf, Pool};

/// A channel that holds one mbuf at most.
struct Slot(AtomicPtr<Mbuf>);

impl Slot {
    fn new() -> Self {
        Self(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// Leaves an mbuf in the slot, or gives it back if the slot is taken.
    fn send(&self, mbuf: Mbuf) -> Result<(), Mbuf> {
        let boxed = Box::into_raw(Box::new(mbuf));
        // Release: pairs with the acquire in `receive`, which then sees the mbuf and its data.
        let sent = self.0.compare_exchange(
            std::ptr::null_mut(),
            boxed,
            Ordering::Release,
            Ordering::Relaxed,
        );
        match sent {
            Ok(_) => Ok(()),
            // SAFETY: the box did not get into the slot, so it is still ours.
            Err(_) => Err(*unsafe { Box::from_raw(boxed) }),
        }
    }

    /// Takes what is in the slot.
    fn receive(&self) -> Option<Mbuf> {
        // Acquire: pairs with the release in `send`.
        let boxed = self.0.swap(std::ptr::null_mut(), Ordering::Acquire);
        // SAFETY: what was in the slot is a box, and the swap took it for us alone.
        (!boxed.is_null()).then(|| *unsafe { Box::from_raw(boxed) })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        drop(self.receive());
    }
}

/// A producer sends a message and keeps a copy of it; a consumer reads what it finds. Whatever they do at once, the bytes
/// are whole, nothing is freed twice, and in the end every block is home.
#[test]
fn a_message_goes_through_a_slot() {
    explore("a_message_goes_through_a_slot", USUAL, || {
        let pool = Pool::builder().capacity(2 * LOOM_SLAB).build().unwrap();
        let slot = Arc::new(Slot::new());
        let consumer = {
            let slot = slot.clone();
            thread::spawn(move || {
                if let Some(message) = slot.receive() {
                    assert_eq!(message.data(), b"hello");
                    assert_eq!(message.user()[0], 7);
                }
            })
        };
        let mut message = pool.alloc(16).unwrap();
        message.extend_from_slice(b"hello").unwrap();
        message.user_mut()[0] = 7;
        let copy = message.copy_ref().unwrap();
        slot.send(message).expect("the slot is empty");
        assert_eq!(copy.data(), b"hello");
        drop(copy);
        consumer.join().unwrap();
        drop(slot);
        assert_all_home(&pool);
    });
}
