//! Pools by their numbers, and what they hand out and take back.

use super::code::Outcome;
use super::handle::{Handle, any, head, not_null};
use super::{Code, Out, environment, status};
use crate::arena::HugePages;
use crate::class::{Classes, MAX_DATA};
use crate::mbuf::{self, Layout, Mbuf};
use crate::pool::{Core, Pool, PoolBuilder, Stats};
use crate::registry::PoolId;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// `MBUF_POOL_DEFAULT`.
const DEFAULT: u64 = 0;

/// `mbuf_pool_options`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Options {
    struct_size: usize,
    capacity: u64,
    magazine_size: u32,
    huge_pages: u32,
    prefault: u32,
    reserved: u32,
}

/// `mbuf_pool_statistics`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Statistics {
    struct_size: usize,
    capacity: u64,
    reserved: u64,
    in_use: u64,
    carved: u64,
    cached: u64,
    in_depot: u64,
    allocs: u64,
    frees: u64,
    failed: u64,
}

#[inline(always)]
fn default() -> Result<Core, Code> {
    Ok(environment::default_pool()?.core())
}

#[inline(always)]
pub(super) fn numbered(pool: u64) -> Result<Core, Code> {
    if pool == DEFAULT {
        return default();
    }
    Core::numbered(PoolId::from_raw(pool)).ok_or(Code::HANDLE)
}

fn is_default(core: Core) -> bool {
    Pool::made_global().is_some_and(|pool| pool.core() == core)
}

fn builder(options: *const Options) -> Result<PoolBuilder, Code> {
    let Some(options) = NonNull::new(options.cast_mut()) else {
        return Ok(Pool::builder());
    };
    // SAFETY: F1: the size is there whatever the version.
    let size = unsafe { options.cast::<usize>().read_unaligned() };
    // There is one version so far.
    if size != size_of::<Options>() {
        return Err(Code::ARGUMENT);
    }
    // SAFETY: F1.
    let options = unsafe { options.read_unaligned() };
    let pages = match options.huge_pages {
        0 => HugePages::Never,
        1 => HugePages::Transparent,
        2 => HugePages::Explicit,
        _ => return Err(Code::ARGUMENT),
    };
    if options.reserved != 0 {
        return Err(Code::ARGUMENT);
    }
    let mut builder = Pool::builder()
        .huge_pages(pages)
        .prefault(options.prefault != 0);
    if options.capacity != 0 {
        builder = builder.capacity(options.capacity);
    }
    if options.magazine_size != 0 {
        builder = builder.magazine_size(options.magazine_size);
    }
    Ok(builder)
}

fn create(options: *const Options, pool: *mut u64) -> Outcome {
    let out = Out::new(pool)?;
    let id = builder(options)?.build_by_number()?;
    out.set(id.raw());
    Ok(())
}

fn destroy(pool: u64, in_use: *mut u64) -> Outcome {
    let core = Core::numbered(PoolId::from_raw(pool)).ok_or(Code::HANDLE)?;
    // The default pool has no handle to take.
    let left = core.destroy().ok_or(Code::HANDLE)?;
    // A null pointer is a result that is not wanted.
    let _ = Out::new(in_use).map(|out| out.set(left));
    Ok(())
}

fn statistics(pool: u64, statistics: *mut Statistics) -> Outcome {
    let out = Out::new(statistics)?;
    // SAFETY: F1: the size is there whatever the version.
    let size = unsafe { statistics.cast::<usize>().read_unaligned() };
    if size != size_of::<Statistics>() {
        return Err(Code::ARGUMENT);
    }
    let stats = Stats::read(numbered(pool)?);
    out.set(Statistics {
        struct_size: size,
        capacity: stats.capacity,
        reserved: stats.reserved,
        in_use: stats.in_use,
        carved: stats.carved,
        cached: stats.cached,
        in_depot: stats.in_depot,
        allocs: stats.allocs,
        frees: stats.frees,
        failed: stats.failed,
    });
    Ok(())
}

fn trim(pool: u64, bytes: *mut u64) -> Outcome {
    let given_back = numbered(pool)?.trim();
    let _ = Out::new(bytes).map(|out| out.set(given_back));
    Ok(())
}

fn pool_of(buf: Handle, pool: *mut u64) -> Outcome {
    let out = Out::new(pool)?;
    let core = any(buf)?.core();
    if is_default(core) {
        out.set(DEFAULT);
    } else if core.is_open() {
        out.set(core.number().raw());
    } else {
        return Err(Code::HANDLE);
    }
    Ok(())
}

fn not_too_large(size: usize) -> Outcome {
    if size as u64 > MAX_DATA {
        return Err(Code::ARGUMENT);
    }
    Ok(())
}

/// Hands a new mbuf to C.
fn hand_out(mbuf: Mbuf, out: Out<Handle>) {
    let must_clear = must_clear(mbuf.core());
    hand_out_as(mbuf, must_clear, out);
}

/// Whether the data of the pool's new mbufs is to be zeroed.
#[inline(always)]
fn must_clear(core: Core) -> bool {
    environment::zeroes() && is_default(core)
}

#[inline(always)]
fn hand_out_as(mut mbuf: Mbuf, must_clear: bool, out: Out<Handle>) {
    if must_clear {
        clear(&mut mbuf);
    }
    out.set(mbuf.into_raw().as_ptr());
}

#[cold]
fn clear(mbuf: &mut Mbuf) {
    let capacity = mbuf.capacity();
    // SAFETY: a new mbuf's data area, which is exclusively ours.
    unsafe { mbuf.data_start().write_bytes(0, capacity) };
}

/// Sizes of which every pool has a class, and a thread a block at hand nearly always.
#[inline(always)]
fn is_usual(size: usize) -> bool {
    size.wrapping_sub(1) < Classes::SURE
}

#[inline(always)]
pub(super) fn alloc_default(buf: *mut Handle, size: usize) -> c_int {
    alloc_from(Pool::made_global().map(Pool::core), DEFAULT, size, buf)
}

#[inline(always)]
fn alloc(pool: u64, size: usize, buf: *mut Handle) -> c_int {
    if pool == DEFAULT {
        return alloc_default(buf, size);
    }
    let core = Core::numbered(PoolId::from_raw(pool));
    alloc_from(core, pool, size, buf)
}

/// Allocates from what the thread has at hand, if `pool` is there and that is all there is to it.
#[inline(always)]
fn alloc_from(core: Option<Core>, pool: u64, size: usize, buf: *mut Handle) -> c_int {
    if is_usual(size)
        && let Some(core) = core
        && let Ok(out) = Out::new(buf)
        && !environment::zeroes()
        && let Some(mbuf) = mbuf::at_hand(core, size)
    {
        out.set(mbuf.into_raw().as_ptr());
        return 0;
    }
    alloc_other(pool, size, buf)
}

/// Allocates where there is more to it, or finds out why not. Returns to C, so that nothing is left to do after it.
#[inline(never)]
fn alloc_other(pool: u64, size: usize, buf: *mut Handle) -> c_int {
    let alloc = || {
        let out = Out::new(buf)?;
        not_too_large(size)?;
        hand_out(mbuf::from_core(numbered(pool)?, size)?, out);
        Ok(())
    };
    status(alloc())
}

fn alloc_aligned(pool: u64, layout: Layout, buf: *mut Handle) -> Outcome {
    let out = Out::new(buf)?;
    layout.slack()?;
    hand_out(mbuf::alloc_with(numbered(pool)?, layout)?, out);
    Ok(())
}

fn alloc_bulk(pool: u64, size: usize, bufs: *mut Handle, count: usize) -> Outcome {
    let out = NonNull::new(bufs).ok_or(Code::ARGUMENT)?;
    not_too_large(size)?;
    let core = numbered(pool)?;
    let must_clear = must_clear(core);
    // SAFETY: F1: the array has a place for each.
    let place = |index| Out(unsafe { out.add(index) });
    if let Some(mbufs) = mbuf::all_at_hand(core, size, count) {
        mbufs
            .enumerate()
            .for_each(|(index, mbuf)| hand_out_as(mbuf, must_clear, place(index)));
        return Ok(());
    }
    let mut batch = mbuf::Batch::alloc(core, size, count)?;
    for index in 0..count {
        // The batch has as many as were asked for.
        let Some(mbuf) = batch.pop() else { break };
        hand_out_as(mbuf, must_clear, place(index));
    }
    Ok(())
}

#[inline(always)]
pub(super) fn free(buf: Handle) -> c_int {
    if let Some(pool) = Pool::made_global() {
        // SAFETY: the default pool never ends; F2.
        if unsafe { mbuf::free_at_hand(pool.core(), buf.addr()) } {
            return 0;
        }
    }
    free_other(buf)
}

/// Frees where there is more to it, or finds out why not. Returns to C, so that nothing is left to do after it.
#[inline(never)]
fn free_other(buf: Handle) -> c_int {
    if let Some(core) = Core::around(buf.addr()) {
        // SAFETY: a kept arena is readable for ever; F2.
        if unsafe { mbuf::free_at_hand(core, buf.addr()) } {
            return 0;
        }
    }
    status(head(buf).map(|mbuf| drop(mbuf.into_mbuf())))
}

/// Marks each before it frees any: so one that is not to be freed is found in time, and so is one that is there twice.
fn free_bulk(bufs: *const Handle, count: usize) -> Outcome {
    let bufs = NonNull::new(bufs.cast_mut()).ok_or(Code::ARGUMENT)?;
    // SAFETY: F1.
    let handles = || (0..count).map(|index| unsafe { bufs.add(index).read_unaligned() });
    handles().try_for_each(|handle| not_null(handle).map(drop))?;
    // SAFETY: F2: those that are marked were found to be live heads, and are the caller's to free.
    let marked = |handle| unsafe { Mbuf::from_raw(handle) };
    for (index, handle) in handles().enumerate() {
        if let Err(code) = head(handle).map(|mbuf| mbuf.condemn()) {
            for handle in handles().take(index).filter_map(NonNull::new) {
                ManuallyDrop::new(marked(handle)).reprieve();
            }
            return Err(code);
        }
    }
    for handle in handles().filter_map(NonNull::new) {
        let mbuf = marked(handle);
        mbuf.reprieve();
        drop(mbuf);
    }
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_pool_create(options: *const Options, pool: *mut u64) -> c_int {
    status(create(options, pool))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_pool_destroy(pool: u64, in_use: *mut u64) -> c_int {
    status(destroy(pool, in_use))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_pool_reserve(pool: u64, size: usize, count: usize) -> c_int {
    let reserve = |core| mbuf::reserve(core, size, count).map_err(Code::from);
    status(
        not_too_large(size)
            .and_then(|()| numbered(pool))
            .and_then(reserve),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_pool_trim(pool: u64, bytes: *mut u64) -> c_int {
    status(trim(pool, bytes))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_pool_get_statistics(pool: u64, out: *mut Statistics) -> c_int {
    status(statistics(pool, out))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_pool_of(buf: Handle, pool: *mut u64) -> c_int {
    status(pool_of(buf, pool))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_alloc(pool: u64, size: usize, buf: *mut Handle) -> c_int {
    alloc(pool, size, buf)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_alloc_aligned(
    pool: u64,
    size: usize,
    alignment: usize,
    buf: *mut Handle,
) -> c_int {
    status(alloc_aligned(pool, Layout::new(size).align(alignment), buf))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_alloc_headroom(
    pool: u64,
    size: usize,
    headroom: usize,
    alignment: usize,
    buf: *mut Handle,
) -> c_int {
    let layout = Layout::new(size).headroom(headroom).align(alignment);
    status(alloc_aligned(pool, layout, buf))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_alloc_bulk(
    pool: u64,
    size: usize,
    bufs: *mut Handle,
    count: usize,
) -> c_int {
    status(alloc_bulk(pool, size, bufs, count))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_free(buf: Handle) -> c_int {
    free(buf)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mbuf_free_bulk(bufs: *const Handle, count: usize) -> c_int {
    status(free_bulk(bufs, count))
}
