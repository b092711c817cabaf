//! Views and foreign memory: several headers on parts of the same bytes, and owners that end once, after everybody's reads.
//!
//! Who asks whether it is alone is the spawned thread, and who lets go the first one, which runs first. Loom remembers one access of
//! each atomic: letting go is a load and a decrement, and the load would hide an earlier question from it, so that it would not try the
//! decrement before that.
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use loom_tests::{THREE_THREADS, USUAL, assert_all_home, explore};
use mbuf::{LOOM_SLAB, Mbuf, Pool};
use std::sync::atomic::{AtomicUsize, Ordering};

fn pool(slabs: u64) -> Pool {
    Pool::builder().capacity(slabs * LOOM_SLAB).build().unwrap()
}

/// A pool, and the two halves of one block's data.
fn halves() -> (Pool, Mbuf, Mbuf) {
    let pool = pool(2);
    let mut front = pool.alloc(64).unwrap();
    front.extend_from_slice(b"data").unwrap();
    let back = front.split_off_bytes(2).unwrap();
    (pool, front, back)
}

#[test]
fn the_front_is_written_over_once_its_reader_is_gone() {
    explore(
        "the_front_is_written_over_once_its_reader_is_gone",
        USUAL,
        || {
            let (pool, front, mut back) = halves();
            let thread = thread::spawn(move || {
                if back.prepend_slice(b"DA").is_ok() {
                    assert_eq!(back.data(), b"DAta");
                }
                back
            });
            assert_eq!(front.data(), b"da");
            drop(front);
            let back = thread.join().unwrap();
            assert!(!back.is_shared() && back.data().ends_with(b"ta"));
            drop(back);
            assert_all_home(&pool);
        },
    );
}

#[test]
fn the_back_is_written_over_once_its_reader_is_gone() {
    explore(
        "the_back_is_written_over_once_its_reader_is_gone",
        USUAL,
        || {
            let (pool, mut front, back) = halves();
            let thread = thread::spawn(move || {
                if front.append_bytes(b"TA").is_ok() {
                    assert_eq!(front.data(), b"daTA");
                }
                front
            });
            assert_eq!(back.data(), b"ta");
            drop(back);
            let front = thread.join().unwrap();
            assert!(!front.is_shared() && front.data().starts_with(b"da"));
            drop(front);
            assert_all_home(&pool);
        },
    );
}

#[test]
fn both_halves_go_or_are_written_at_once() {
    explore("both_halves_go_or_are_written_at_once", USUAL, || {
        let (pool, mut front, mut back) = halves();
        let thread = thread::spawn(move || {
            if let Some(bytes) = back.data_mut() {
                bytes.fill(b'!');
            }
        });
        if front.prepend(0).is_ok() && front.set_len(4).is_ok() {
            assert_eq!(front.data(), b"da\0\0");
        }
        drop(front);
        thread.join().unwrap();
        assert_all_home(&pool);
    });
}

#[test]
fn a_view_is_made_of_a_view_while_the_original_goes() {
    explore(
        "a_view_is_made_of_a_view_while_the_original_goes",
        USUAL,
        || {
            let (pool, front, back) = halves();
            let thread = thread::spawn(move || drop(front));
            let mut inner = back.slice(1..).unwrap();
            drop(back);
            if let Some(bytes) = inner.data_mut() {
                bytes[0] = b'A';
            }
            thread.join().unwrap();
            assert!(!inner.is_shared());
            drop(inner);
            assert_all_home(&pool);
        },
    );
}

/// Foreign bytes that loom watches, and how often their owner was dropped.
struct Watched {
    bytes: [u8; 4],
    cell: UnsafeCell<()>,
    drops: AtomicUsize,
}

// SAFETY: loom sees who uses the cell, and fails when two do at once.
unsafe impl Sync for Watched {}

impl Watched {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            bytes: *b"data",
            cell: UnsafeCell::new(()),
            drops: AtomicUsize::new(0),
        })
    }

    /// Reads by way of an mbuf.
    fn read(&self, mbuf: &Mbuf) {
        assert_eq!(self.drops(), 0, "the bytes are gone");
        self.cell.with(|_| ());
        assert!(b"data".starts_with(mbuf.data()) || b"data".ends_with(mbuf.data()));
    }

    /// Announces a write.
    fn write(&self) {
        assert_eq!(self.drops(), 0, "the bytes are gone");
        self.cell.with_mut(|_| ());
    }

    fn drops(&self) -> usize {
        // Not of loom: it would order what the mbufs are to order.
        self.drops.load(Ordering::Relaxed)
    }
}

/// An owner of the bytes, beside whom others only look on.
struct Owner {
    watched: *const Watched,
    bytes: [u8; 4],
    pool: Option<Pool>,
}

// SAFETY: the model keeps what is watched until all threads are joined, without ordering them.
unsafe impl Send for Owner {}

impl Owner {
    fn of(watched: &Arc<Watched>) -> Self {
        Self {
            watched: &**watched,
            bytes: watched.bytes,
            pool: None,
        }
    }
}

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsMut<[u8]> for Owner {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: the model keeps it until the end.
        let watched = unsafe { &*self.watched };
        watched.write();
        let before = watched.drops.fetch_add(1, Ordering::Relaxed);
        assert_eq!(before, 0, "an owner is dropped once");
        if let Some(pool) = self.pool.take() {
            drop(pool.alloc(64));
        }
    }
}

#[test]
fn an_owner_ends_once_after_both_threads_reads() {
    explore("an_owner_ends_once_after_both_threads_reads", USUAL, || {
        let pool = pool(2);
        let watched = Watched::new();
        let mbuf = pool.wrap(Owner::of(&watched)).unwrap();
        let view = mbuf.slice(2..).unwrap();
        let theirs = watched.clone();
        let thread = thread::spawn(move || {
            theirs.read(&view);
            drop(view);
            theirs
        });
        watched.read(&mbuf);
        drop(mbuf);
        drop(thread.join().unwrap());
        assert_eq!(watched.drops(), 1);
        assert_all_home(&pool);
    });
}

#[test]
fn two_views_are_the_last_of_an_owner() {
    explore("two_views_are_the_last_of_an_owner", USUAL, || {
        let pool = pool(2);
        let watched = Watched::new();
        let mut front = pool.wrap(Owner::of(&watched)).unwrap();
        let back = front.split_off_bytes(2).unwrap();
        let front = {
            let view = front.slice(..1).unwrap();
            drop(front);
            view
        };
        let theirs = watched.clone();
        let thread = thread::spawn(move || {
            theirs.read(&back);
            drop(back);
            theirs
        });
        watched.read(&front);
        drop(front);
        drop(thread.join().unwrap());
        assert_eq!(watched.drops(), 1);
        assert_all_home(&pool);
    });
}

#[test]
fn three_threads_let_go_of_an_owner() {
    explore("three_threads_let_go_of_an_owner", THREE_THREADS, || {
        let pool = pool(2);
        let watched = Watched::new();
        let mbuf = pool.wrap(Owner::of(&watched)).unwrap();
        let threads = [0, 1].map(|_| {
            let (copy, theirs) = (mbuf.copy_ref().unwrap(), watched.clone());
            thread::spawn(move || {
                theirs.read(&copy);
                drop(copy);
                theirs
            })
        });
        watched.read(&mbuf);
        drop(mbuf);
        for thread in threads {
            drop(thread.join().unwrap());
        }
        assert_eq!(watched.drops(), 1);
        assert_all_home(&pool);
    });
}

#[test]
fn foreign_bytes_are_written_by_who_is_left_alone() {
    explore(
        "foreign_bytes_are_written_by_who_is_left_alone",
        USUAL,
        || {
            let pool = pool(2);
            let watched = Watched::new();
            let copy = pool.wrap_mut(Owner::of(&watched)).unwrap();
            let mut mbuf = copy.copy_ref().unwrap();
            let theirs = watched.clone();
            let thread = thread::spawn(move || {
                if let Some(bytes) = mbuf.data_mut() {
                    theirs.write();
                    bytes.reverse();
                    bytes.reverse();
                }
                drop(mbuf);
                theirs
            });
            watched.read(&copy);
            drop(copy);
            drop(thread.join().unwrap());
            assert_eq!(watched.drops(), 1);
            assert_all_home(&pool);
        },
    );
}

#[test]
fn foreign_bytes_are_copied_away_while_the_other_goes() {
    explore(
        "foreign_bytes_are_copied_away_while_the_other_goes",
        USUAL,
        || {
            let pool = pool(2);
            let watched = Watched::new();
            let mut mbuf = pool.wrap(Owner::of(&watched)).unwrap();
            let copy = mbuf.copy_ref().unwrap();
            let theirs = watched.clone();
            let thread = thread::spawn(move || {
                theirs.read(&copy);
                drop(copy);
                theirs
            });
            watched.read(&mbuf);
            mbuf.make_unique().unwrap();
            drop(thread.join().unwrap());
            assert_eq!(watched.drops(), 1);
            assert_eq!(mbuf.data(), b"data");
            drop(mbuf);
            assert_all_home(&pool);
        },
    );
}

#[test]
fn an_owner_uses_a_pool_that_ends_with_it() {
    explore("an_owner_uses_a_pool_that_ends_with_it", USUAL, || {
        let pool = pool(2);
        let watched = Watched::new();
        let mut owner = Owner::of(&watched);
        owner.pool = Some(pool.clone());
        let mbuf = pool.wrap(owner).unwrap();
        let copy = mbuf.copy_ref().unwrap();
        drop(pool);
        let theirs = watched.clone();
        let thread = thread::spawn(move || {
            drop(copy);
            theirs
        });
        drop(mbuf);
        drop(thread.join().unwrap());
        assert_eq!(watched.drops(), 1);
    });
}
