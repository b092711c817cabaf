//! The process's heap, which this crate asks for a few small pieces: for a pool's handle and for a thread's list of its caches.

use std::hint::black_box;

/// More than what is asked for at a time.
const ROOM: usize = 16 << 10;

/// Whether the heap has some room left. Asked before what cannot fail softly: what the standard library and the system
/// allocate on the way ends the process when there is none.
pub(crate) fn has_room() -> bool {
    let mut trial = Vec::<u8>::new();
    let has_room = trial.try_reserve_exact(ROOM).is_ok();
    black_box(trial.as_ptr());
    has_room
}
