//! Foreign memory: data that lies outside the arena, with an owner that is told when no mbuf refers to it any more.
//!
//! A block's header says where the data is; the block's own data area holds the owner, so wrapping takes nothing from the heap.
//!
//! * **E1** `external` is the address of the data, a [`Release`] function and its argument. It is written before the mbuf is handed
//!   out, and copied to copies, which need the address. The function is called once, by whoever gives up the last reference, before
//!   the block is given back: it may use the pool, and the arena stays mapped for it.
//! * **E2** The data stays where it is, and nobody else writes it, until then. Nobody at all writes what is `READ_ONLY`.
//! * **E3** The block's data area begins with a [`Keeper`].

use super::Mbuf;
use crate::arena::{GRANULE, Offset};
use crate::class::MAX_DATA;
use crate::error::AllocError;
use crate::header::flags;
use crate::pool::{Core, Pool};
use crate::sync::Ordering;
use std::ffi::c_void;
use std::fmt;
use std::mem::{ManuallyDrop, transmute};
use std::ptr::{self, NonNull};

/// Is told that the data is not used any more: of its address, and of an argument.
type Release = unsafe extern "C-unwind" fn(data: *mut c_void, argument: *mut c_void);

/// What lies in the data area of a block whose data is foreign.
#[repr(C, align(64))]
struct Keeper<T> {
    /// Bytes that the owner keeps outside of this block.
    total: u64,
    owner: ManuallyDrop<T>,
}

/// An owner of foreign memory that was not wrapped, and why. Nothing is lost: [`into_owner`](Self::into_owner) gives it back.
pub struct WrapError<T> {
    error: AllocError,
    owner: T,
}

impl<T> WrapError<T> {
    /// Why.
    pub fn error(&self) -> AllocError {
        self.error
    }

    /// The owner.
    pub fn into_owner(self) -> T {
        self.owner
    }
}

impl<T> fmt::Display for WrapError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> fmt::Debug for WrapError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WrapError")
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

impl<T> std::error::Error for WrapError<T> {}

/// Foreign memory.
impl Pool {
    /// An mbuf on bytes that `owner` keeps: a `Vec<u8>`, a `Box<[u8]>`, a `&'static [u8]`, an `Arc<[u8]>`, a `Bytes`, a memory-mapped
    /// file. They are not copied, and can be read, shared, cut and chained like any others, but not written; for that see
    /// [`wrap_mut`](Self::wrap_mut).
    ///
    /// The owner is dropped with the last mbuf that refers to its bytes, on whatever thread that is. Its `drop` may use the pool. If it
    /// panics, what else was to be freed is freed, and the panic goes on from there. An owner that itself owns mbufs which wrap others,
    /// and so on, is dropped in as deep a recursion.
    ///
    /// An owner's alignment is 64 at most; more does not compile.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc), with the owner. Bytes of any number can be wrapped.
    ///
    /// # Cost
    /// A block for the owner's value itself (for the types above the smallest one), into which it is moved. Nothing is taken from the
    /// heap.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut message = pool.alloc(16)?;
    /// message.extend_from_slice(b"head ")?;
    /// message.append(pool.wrap(b"and body".to_vec())?)?;
    /// assert_eq!(message.total_len(), 13);
    ///
    /// let text = std::sync::Arc::<[u8]>::from(&b"shared"[..]);
    /// let mbuf = pool.wrap(text.clone())?;
    /// assert_eq!(mbuf.data().as_ptr(), text.as_ptr());
    /// drop(mbuf);
    /// assert_eq!(std::sync::Arc::strong_count(&text), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wrap<T>(&self, owner: T) -> Result<Mbuf, WrapError<T>>
    where
        T: AsRef<[u8]> + Send + 'static,
    {
        wrap(self.core(), owner, flags::READ_ONLY, |owner| {
            let bytes = owner.as_ref();
            (NonNull::from(bytes).cast(), bytes.len())
        })
    }

    /// As [`wrap`](Self::wrap), with bytes that can be written while nobody else refers to them.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Example
    /// ```
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let mut mbuf = pool.wrap_mut(vec![0; 4])?;
    /// mbuf.data_mut().unwrap().fill(7);
    /// assert_eq!(mbuf.data(), [7; 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wrap_mut<T>(&self, owner: T) -> Result<Mbuf, WrapError<T>>
    where
        T: AsMut<[u8]> + Send + 'static,
    {
        wrap(self.core(), owner, 0, |owner| {
            let bytes = owner.as_mut();
            let len = bytes.len();
            (NonNull::from(bytes).cast(), len)
        })
    }

    /// An mbuf on `len` bytes at `data`, of which `release` is told, with `data` and `argument`, when no mbuf refers to them any more:
    /// once, on whatever thread. It may use the pool. `writable` says whether mbufs may write the bytes.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc); `release` is not called then.
    ///
    /// # Safety
    /// Until `release` is called the bytes are initialised, stay where they are and are written by nobody else, and read by nobody
    /// else either if they are `writable`. `release` may be called with the argument on any thread. A `len` is at most `isize::MAX`.
    ///
    /// # Example
    /// ```
    /// use std::{ffi::c_void, ptr::NonNull};
    ///
    /// unsafe extern "C-unwind" fn free(data: *mut c_void, _: *mut c_void) {
    ///     // SAFETY: made of a box of four bytes below, and called once.
    ///     drop(unsafe { Box::from_raw(data.cast::<[u8; 4]>()) });
    /// }
    ///
    /// let pool = mbuf::Pool::builder().capacity(16 << 20).build()?;
    /// let data = NonNull::new(Box::into_raw(Box::new(*b"four"))).unwrap();
    /// // SAFETY: the box's bytes, which are given up for the mbuf.
    /// let mbuf = unsafe { pool.wrap_raw(data.cast(), 4, true, free, std::ptr::null_mut())? };
    /// assert_eq!(mbuf.data(), b"four");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub unsafe fn wrap_raw(
        &self,
        data: NonNull<u8>,
        len: usize,
        writable: bool,
        release: Release,
        argument: *mut c_void,
    ) -> Result<Mbuf, AllocError> {
        let kind = if writable { 0 } else { flags::READ_ONLY };
        // SAFETY: the caller's promise.
        unsafe { wrap_raw(self.core(), (data, len), kind, release, argument) }
    }
}

/// # Safety
/// As [`Pool::wrap_raw`].
pub(crate) unsafe fn wrap_raw(
    core: Core,
    data: (NonNull<u8>, usize),
    kind: u16,
    release: Release,
    argument: *mut c_void,
) -> Result<Mbuf, AllocError> {
    let (mut mbuf, keeper) = keep(core, ())?;
    // SAFETY: E1 to E3, by the caller's promise.
    unsafe { mbuf.show(data, keeper, kind, release, argument) };
    Ok(mbuf)
}

fn wrap<T: Send + 'static>(
    core: Core,
    owner: T,
    kind: u16,
    bytes: impl FnOnce(&mut T) -> (NonNull<u8>, usize),
) -> Result<Mbuf, WrapError<T>> {
    let (mbuf, keeper) = keep(core, owner)?;
    // Dropped in this order should the owner's own code panic.
    let mut kept = Kept { keeper, mbuf };
    // SAFETY: E3: the keeper was just written, and is ours. What is derived from its owner stays valid: nobody moves or uses that
    // until it is dropped.
    unsafe {
        let owner = &mut (*keeper.as_ptr()).owner;
        let data = bytes(owner);
        let argument = ptr::from_mut(owner).cast();
        kept.mbuf
            .show(data, keeper, kind, drop_owner::<T>, argument);
        let kept = ManuallyDrop::new(kept);
        Ok(ptr::read(&kept.mbuf))
    }
}

/// # Safety
/// `owner` is a value that nobody uses any more.
unsafe extern "C-unwind" fn drop_owner<T>(_: *mut c_void, owner: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { owner.cast::<T>().drop_in_place() };
}

/// An owner in its block, of whose bytes the mbuf does not know yet.
struct Kept<T> {
    keeper: NonNull<Keeper<T>>,
    mbuf: Mbuf,
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        // SAFETY: E3: the owner is in the block, and nobody knows of it. The mbuf follows.
        unsafe { ManuallyDrop::drop(&mut (*self.keeper.as_ptr()).owner) };
    }
}

/// A block with `owner` in its data area.
fn keep<T>(core: Core, owner: T) -> Result<(Mbuf, NonNull<Keeper<T>>), WrapError<T>> {
    const {
        assert!(
            align_of::<T>() <= GRANULE,
            "an owner's alignment is at most that of a data area"
        );
    }
    let size = size_of::<Keeper<T>>();
    match super::alloc::from_core(core, size) {
        Err(error) => Err(WrapError { error, owner }),
        Ok(mbuf) => {
            debug_assert!(size as u64 <= MAX_DATA);
            let Some(keeper) = NonNull::new(mbuf.data_ptr().cast::<Keeper<T>>()) else {
                unreachable!("a data area has an address")
            };
            // SAFETY: a fresh mbuf's data area, aligned to granules and large enough.
            unsafe {
                keeper.write(Keeper {
                    total: 0,
                    owner: ManuallyDrop::new(owner),
                });
            }
            Ok((mbuf, keeper))
        }
    }
}

impl From<WrapError<()>> for AllocError {
    fn from(error: WrapError<()>) -> Self {
        error.error
    }
}

impl Mbuf {
    /// Makes `data` the mbuf's instead of its own.
    ///
    /// # Safety
    /// E1 to E3: the mbuf is fresh, with the keeper in its data area.
    unsafe fn show<T>(
        &mut self,
        (data, len): (NonNull<u8>, usize),
        keeper: NonNull<Keeper<T>>,
        kind: u16,
        release: Release,
        argument: *mut c_void,
    ) {
        let header = self.header();
        // What lies in the owner's own block is counted with that.
        let block = keeper.addr().get()..keeper.addr().get() + size_of::<Keeper<T>>();
        let outside = if block.contains(&data.addr().get()) {
            0
        } else {
            len
        };
        // SAFETY: E3, and H3: exclusive.
        unsafe {
            (*keeper.as_ptr()).total = outside as u64;
            let address = data.as_ptr().expose_provenance() as u64;
            let argument = argument.expose_provenance() as u64;
            let release = (release as *const ()).expose_provenance() as u64;
            header.set_external([address, release, argument]);
            header.set_view(0, len);
            header.set_flags(flags::EXTERNAL | kind, 0);
            header.set_data_len(len);
        }
    }

    /// Whether the data lies outside the pool: [`Pool::wrap`] and its siblings.
    pub fn is_foreign(&self) -> bool {
        self.header().flags() & flags::EXTERNAL != 0
    }

    /// Whether the data may never be written, however few mbufs refer to it: see [`Pool::wrap`].
    pub fn is_read_only(&self) -> bool {
        self.header().flags() & flags::READ_ONLY != 0
    }

    /// The first byte of foreign memory.
    #[cold]
    pub(super) fn foreign_start(&self) -> *mut u8 {
        // SAFETY: E1, and H3 for the read.
        let [address, ..] = unsafe { self.header().external() };
        ptr::with_exposed_provenance_mut(address as usize)
    }

    /// Bytes that the owner of the foreign memory keeps outside of his block.
    pub(super) fn foreign_total(&self) -> u64 {
        let keeper = NonNull::from(self.owner()).as_ptr().wrapping_add(1);
        // SAFETY: E3: the keeper lies behind its block's header, was written before the mbuf was handed out, and is not written again.
        unsafe { (*keeper.cast::<Keeper<()>>()).total }
    }
}

/// Tells the owner that its memory is not used any more, and gives the block back, even if that panics.
///
/// # Safety
/// E1: the caller's reference to the foreign memory of `block` was the last.
#[cold]
#[inline(never)]
pub(super) unsafe fn release(core: Core, block: Offset) {
    struct Last(Core, Offset);
    impl Drop for Last {
        fn drop(&mut self) {
            let (core, block) = (self.0, self.1);
            let header = core.header(block);
            // Relaxed: handed on by whatever hands the free block on.
            header.refcount.store(0, Ordering::Relaxed);
            // SAFETY: H3: the last reference's, which the caller of `release` gives up.
            unsafe {
                header.set_flags(0, flags::EXTERNAL | flags::READ_ONLY);
                super::free::give_back(core, header, block);
            }
        }
    }
    let last = Last(core, block);
    // SAFETY: E1: what is there was written as these, and is called once.
    unsafe {
        let [address, release, argument] = core.header(block).external();
        let release: *const () = ptr::with_exposed_provenance(release as usize);
        let release = transmute::<*const (), Release>(release);
        release(
            ptr::with_exposed_provenance_mut(address as usize),
            ptr::with_exposed_provenance_mut(argument as usize),
        );
    }
    drop(last);
}
