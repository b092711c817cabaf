/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * mbuf: message buffers for latency-critical pipelines.
 *
 * Pools hand out buffers of any size up to 4 GiB, each with 96 bytes of the user's own and a link to the next one of a
 * message. Copies share the data, messages are chained, and both may be handed to and freed on any thread. The
 * functions of acl_mbuf.h are thin calls of these on the default pool, and both may be used on one buffer.
 *
 * Rules that hold for every function:
 *
 *  - The result is MBUF_OK or an error code; a call that fails changes nothing and writes no output.
 *  - Errors are looked for in this order: null pointers and numbers out of range (MBUF_ERROR_ARGUMENT), pools and
 *    buffers (MBUF_ERROR_HANDLE), numbers that depend on the buffer (MBUF_ERROR_ARGUMENT), and what only doing it shows.
 *  - A buffer that is not one is refused before anything of it is read: an address that was never ours or not a
 *    buffer's start, one that was freed, a member of a chain where a head is needed. What cannot be told is a buffer that was
 *    freed and whose block was handed out again since; a token (mbuf_token_of) tells even that.
 *  - Calls on buffers of different chains may run at once on any threads, and so may calls on one chain that take its
 *    buffers as const.
 *  - No call takes a lock. Alloc and free make no system call once the pool is warm (mbuf_pool_reserve).
 *
 * C99, C11, C++11 or later. Structures that may grow begin with their own size.
 */
#ifndef MBUF_H
#define MBUF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MBUF_VERSION_MAJOR 0
#define MBUF_VERSION_MINOR 1
#define MBUF_VERSION_PATCH 0

/* Bytes of the user area. */
#define MBUF_USER_AREA 96
/* The most buffers that a chain holds. */
#define MBUF_MAX_CHAIN 128
/* The most bytes of data that a buffer holds: 4 GiB. */
#define MBUF_MAX_SIZE UINT64_C(4294967296)

/* Codes; the first five are those of acl_mbuf.h. */
enum {
    MBUF_OK = 0,
    /* A null pointer; a size, an offset, an index or an option out of range. */
    MBUF_ERROR_ARGUMENT = 100000,
    /* No live buffer or pool, or a buffer that is not in the role asked for. */
    MBUF_ERROR_HANDLE = 107000,
    /* The pool is exhausted, or the system gives no memory. */
    MBUF_ERROR_MEMORY = 207001,
    /* A chain would have more than 128 buffers. */
    MBUF_ERROR_CHAIN_TOO_LONG = 207012,
    /* The data is shared with a copy, or read-only, so it cannot be written. */
    MBUF_ERROR_SHARED = 900001
};

/* A buffer; its address is the handle, the same as an aclrtMbuf. */
typedef struct mbuf mbuf;

/* A pool, by a number that is never used again once the pool is destroyed. */
typedef uint64_t mbuf_pool;

/* The pool of the process, made at its first use with what MBUF_CAPACITY and MBUF_HUGE_PAGES say. It cannot be destroyed
 * (MBUF_ERROR_HANDLE). MBUF_ZERO=1 clears the data of buffers from this pool. */
#define MBUF_POOL_DEFAULT UINT64_C(0)

/* ---- Pools ---- */

/* What pages a pool's memory uses. */
enum {
    /* Ordinary pages. */
    MBUF_HUGE_PAGES_NEVER = 0,
    /* Transparent huge pages where the system has them ready. */
    MBUF_HUGE_PAGES_TRANSPARENT = 1,
    /* Pages from the system's reserved pool (vm.nr_hugepages), all taken when the pool is made. */
    MBUF_HUGE_PAGES_EXPLICIT = 2
};

/* Options of a pool. Begin with MBUF_POOL_OPTIONS_INIT; 0 is the default of each. */
typedef struct mbuf_pool_options {
    /* sizeof(mbuf_pool_options), as MBUF_POOL_OPTIONS_INIT sets it. */
    size_t struct_size;
    /* Bytes that buffers may take, headers included, up to 256 GiB. Default 8 GiB: address space, used as it is touched. */
    uint64_t capacity;
    /* Blocks of one size that a thread keeps at hand, twice over: from 1 to 128. Default 64, less in small pools. */
    uint32_t magazine_size;
    /* One of MBUF_HUGE_PAGES_... */
    uint32_t huge_pages;
    /* Not 0: all of the capacity is touched when the pool is made. */
    uint32_t prefault;
    /* 0. */
    uint32_t reserved;
} mbuf_pool_options;

#define MBUF_POOL_OPTIONS_INIT { sizeof(mbuf_pool_options), 0, 0, MBUF_HUGE_PAGES_NEVER, 0, 0 }

/* What a pool holds and has done. Exact when no thread uses the pool meanwhile. */
typedef struct mbuf_pool_statistics {
    /* sizeof(mbuf_pool_statistics), set by the caller. */
    size_t struct_size;
    /* Bytes that buffers may take, and bytes of address space reserved. */
    uint64_t capacity;
    uint64_t reserved;
    /* Blocks in use: buffers, and data that copies keep. */
    uint64_t in_use;
    /* Blocks that exist, and of these the free ones that threads' magazines hold and that the pool does. */
    uint64_t carved;
    uint64_t cached;
    uint64_t in_depot;
    /* Allocations so far, copies included; frees; allocations that found no memory. */
    uint64_t allocs;
    uint64_t frees;
    uint64_t failed;
} mbuf_pool_statistics;

/* Makes a pool; `options` may be null. Its addresses stay reserved after it is destroyed, for later pools of the same size. */
int mbuf_pool_create(const mbuf_pool_options *options, mbuf_pool *pool);

/* Gives the pool up; no other call uses its number meanwhile. Buffers that are out stay valid, and are counted in `in_use`,
 * which may be null; the last of them to be freed gives the memory back. */
int mbuf_pool_destroy(mbuf_pool pool, uint64_t *in_use);

/* Makes `count` buffers of `size` bytes ready, so that allocating them later meets no page fault and no system call. */
int mbuf_pool_reserve(mbuf_pool pool, size_t size, size_t count);

/* Gives memory that no buffer uses back to the system; `bytes`, which may be null, is how much. */
int mbuf_pool_trim(mbuf_pool pool, uint64_t *bytes);

/* Reads the pool's counts into `statistics`, whose struct_size the caller has set. */
int mbuf_pool_get_statistics(mbuf_pool pool, mbuf_pool_statistics *statistics);

/* The pool of a buffer, while that has not been destroyed. */
int mbuf_pool_of(const mbuf *buf, mbuf_pool *pool);

/* ---- Alloc and free ---- */

/* A new buffer for `size` bytes of data, from 0 to 4 GiB: data length 0, user area all zero, alone in its chain. What the data
 * holds is unspecified. It starts at a multiple of 64. */
int mbuf_alloc(mbuf_pool pool, size_t size, mbuf **buf);

/* As mbuf_alloc, with data that starts at a multiple of `alignment`: a power of two up to 4096. */
int mbuf_alloc_aligned(mbuf_pool pool, size_t size, size_t alignment, mbuf **buf);

/* As mbuf_alloc_aligned, with room for `headroom` bytes at least in front of the data, for mbuf_prepend. */
int mbuf_alloc_headroom(mbuf_pool pool, size_t size, size_t headroom, size_t alignment, mbuf **buf);

/* Is told of memory that no buffer refers to any more. */
typedef void (*mbuf_release)(void *data, void *argument);

/* A buffer on `length` bytes at `data` that are the caller's: all valid, not copied. When no buffer refers to them any more,
 * `release` is called with `data` and `argument`: once, on whatever thread frees the last, and it may use the pool. Until then the
 * memory stays, and nobody else writes it; nor does anybody read it else if it is `writable` (not 0). If it is not, its data is
 * never to be written, however few buffers refer to it. A call that fails does not call `release`. */
int mbuf_wrap(mbuf_pool pool, void *data, size_t length, int writable, mbuf_release release, void *argument, mbuf **buf);

/* `count` new buffers of `size` bytes, or none. The array is not null, even for a count of 0. */
int mbuf_alloc_bulk(mbuf_pool pool, size_t size, mbuf **bufs, size_t count);

/* Frees the chain that `buf` heads. Data that copies refer to stays until the last of them is freed. */
int mbuf_free(mbuf *buf);

/* Frees the chains that `count` buffers head, or none when any is not to be freed or is there twice. */
int mbuf_free_bulk(mbuf *const *bufs, size_t count);

/* ---- Data ---- */

/* Where the data is, and its size: what was asked for, not the data length. Either may be null. Data that mbuf_is_shared is
 * read by others: mbuf_make_unique before writing it. */
int mbuf_data(const mbuf *buf, void **data, size_t *size);

/* The number of bytes of data that are valid. */
int mbuf_length(const mbuf *buf, size_t *length);

/* Sets the number of bytes of data that are valid: from 0 to the size. No data is touched. */
int mbuf_set_length(mbuf *buf, size_t length);

/* Appends `length` bytes to the valid data of this one buffer, all or nothing: MBUF_ERROR_ARGUMENT when there is no room. */
int mbuf_append_bytes(mbuf *buf, const void *bytes, size_t length);

/* Bytes that can be put in front of the data of this one buffer, and behind it, within its memory. */
int mbuf_headroom(const mbuf *buf, size_t *bytes);
int mbuf_tailroom(const mbuf *buf, size_t *bytes);

/* Puts `length` zero bytes in front of the data of this one buffer, whose size grows by as many; `data` is where they are. No data is
 * moved. MBUF_ERROR_ARGUMENT when there is no headroom for them, MBUF_ERROR_SHARED when `length` is not 0 and the data is
 * shared or read-only. */
int mbuf_prepend(mbuf *buf, size_t length, void **data);

/* Copies `length` bytes from `offset` on out of the valid data from `buf` to the end of its chain. */
int mbuf_copy_out(const mbuf *buf, size_t offset, void *data, size_t length);

/* Copies `size` bytes into, and out of, the user area from `offset` on. */
int mbuf_set_user_data(mbuf *buf, const void *data, size_t size, size_t offset);
int mbuf_get_user_data(const mbuf *buf, void *data, size_t size, size_t offset);

/* The user's timestamp: 0 on a new buffer, copied to copies. */
int mbuf_set_timestamp(mbuf *buf, uint64_t timestamp);
int mbuf_timestamp(const mbuf *buf, uint64_t *timestamp);

/* ---- Sharing ---- */

/* New buffers on the same data, for every one from `buf` to the end of its chain, chained likewise. Data length, timestamp
 * and user area are copied, and independent from then on. */
int mbuf_copy_ref(const mbuf *buf, mbuf **copy);

/* Whether another buffer refers to the same data: 1 or 0. */
int mbuf_is_shared(const mbuf *buf, int *shared);

/* A buffer on `length` bytes from `offset` on of the valid data from `buf` to the end of its chain: one for each that the range touches,
 * chained like them. The data is shared; data length, timestamp and user area are independent from then on. */
int mbuf_slice(const mbuf *buf, size_t offset, size_t length, mbuf **part);

/* Bytes that the chain from `buf` on keeps from being used otherwise, however little of them its buffers show. */
int mbuf_retained(const mbuf *buf, uint64_t *bytes);

/* Copies each buffer that keeps more memory than its data needs, and lets that memory go. Other buffers take the places of those, the
 * head, which `head` then names, included. */
int mbuf_compact(mbuf **head);

/* Gives every buffer of the chain data of its own, all of it, whatever the data length. Where data was shared, another buffer
 * takes the place of the one that was there, the head, which `head` then names, included. */
int mbuf_make_unique(mbuf **head);

/* ---- Chains ---- */

/* Appends `buf`, with all that it heads, to the chain of `head`, which owns it from then on. MBUF_ERROR_HANDLE when they are of
 * different pools, or the same. */
int mbuf_append(mbuf *head, mbuf *buf);

/* The number of buffers in the chain that `head` heads. */
int mbuf_chain_count(const mbuf *head, uint32_t *count);

/* The buffer at `index` of the chain, 0 being the head. It stays the chain's. */
int mbuf_chain_get(const mbuf *head, uint32_t index, mbuf **buf);

/* Bytes of valid data from `buf`, a head or a member, to the end of its chain. */
int mbuf_chain_length(const mbuf *buf, uint64_t *bytes);

/* The buffer behind `buf`, a head or a member; null at the end of the chain. It stays the chain's. */
int mbuf_next(const mbuf *buf, mbuf **next);

/* Splits the chain: `rest` heads what was from `index` on, which is from 1 to the number of buffers less one. */
int mbuf_split(mbuf *head, uint32_t index, mbuf **rest);

/* Cuts the chain at a byte: it keeps the first `offset` bytes of its valid data, and `rest` heads the rest. No data is copied. */
int mbuf_split_bytes(mbuf *head, size_t offset, mbuf **rest);

/* Cuts `length` bytes off the front of the chain's valid data. Buffers that are left without any are freed, all but the last; the head's
 * user area and timestamp go over to the one that `head` then names. */
int mbuf_advance(mbuf **head, size_t length);

/* Shortens the chain's valid data to `length` bytes; buffers behind are freed. A chain that is no longer stays as it is. */
int mbuf_truncate(mbuf *head, size_t length);

/* Brings the first `length` bytes of the chain's valid data into one buffer, which `head` then names, if they are not in one. */
int mbuf_linearize_prefix(mbuf **head, size_t length);

/* As mbuf_linearize, of a buffer alone, too, with `headroom` bytes at least in front of the data. */
int mbuf_coalesce(mbuf **head, size_t headroom);

/* Copies the valid data of the whole chain into one buffer, which takes the head's user area and timestamp, and which
 * `head` then names; the chain is freed. A buffer alone stays what it is. */
int mbuf_linearize(mbuf **head);

/* ---- Tokens ---- */

/* Names one buffer for as long as it lives, and nothing afterwards: not before its block has been handed out 2^32 times, or its
 * slab has changed hands 2^32 times, since. May be copied, sent and kept at will. */
typedef struct mbuf_token {
    uint64_t pool;
    uint32_t offset;
    uint32_t generation;
    uint32_t life;
    uint32_t reserved;
} mbuf_token;

/* The token of a buffer. */
int mbuf_token_of(const mbuf *buf, mbuf_token *token);

/* The buffer that a token names: MBUF_ERROR_HANDLE if it was freed, even if its block was handed out again. */
int mbuf_from_token(const mbuf_token *token, mbuf **buf);

/* ---- The library ---- */

/* What a code means, in English, for ever valid. */
const char *mbuf_error_text(int code);

/* The version of the library, as "0.1.0". */
const char *mbuf_version(void);

#ifdef __cplusplus
}
#endif

#endif
