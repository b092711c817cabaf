/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every function must refuse a handle that is none, in every role, and leave its outputs alone.
 */
#ifndef MBUF_TESTS_REFUSED_H
#define MBUF_TESTS_REFUSED_H

#include "buffers.h"
#include "mbuf.h"

/* Which handle, and what it is. */
struct suspect {
    aclrtMbuf handle;
    const char *what;
};

static inline void check_code(struct suspect suspect, int code, const char *call, int line)
{
    int expected = suspect.handle == NULL ? ACL_ERROR_INVALID_PARAM : ACL_ERROR_RT_PARAM_INVALID;
    if (code != expected) {
        check_failed(__FILE__, line, "%s for %p, %s: expected %d, got %d", call, suspect.handle, suspect.what, expected,
            code);
    }
}

#define REFUSED(call) check_code(suspect, (call), #call, __LINE__)

/* `witness` is a live buffer of the caller's, alone in its chain, for the functions that take two. */
static inline void check_refused(struct suspect suspect, aclrtMbuf witness)
{
    aclrtMbuf handle = suspect.handle;
    unsigned char area[USER_AREA] = { 0x5a };
    void *data = UNTOUCHED_POINTER;
    size_t number = UNTOUCHED_NUMBER;
    uint32_t count = UNTOUCHED_NUMBER;
    aclrtMbuf found = UNTOUCHED_POINTER;
    REFUSED(aclrtGetBufData(handle, &data, &number));
    REFUSED(aclrtGetBufDataLen(handle, &number));
    REFUSED(aclrtSetBufDataLen(handle, 0));
    REFUSED(aclrtSetBufUserData(handle, area, sizeof area, 0));
    REFUSED(aclrtGetBufUserData(handle, area, sizeof area, 0));
    REFUSED(aclrtCopyBufRef(handle, &found));
    REFUSED(aclrtAppendBufChain(handle, witness));
    REFUSED(aclrtAppendBufChain(witness, handle));
    REFUSED(aclrtAppendBufChain(handle, handle));
    REFUSED(aclrtGetBufChainNum(handle, &count));
    REFUSED(aclrtGetBufFromChain(handle, 0, &found));
    REFUSED(aclrtFreeBuf(handle));
    CHECK_EQUAL(0x5a, area[0]);
    CHECK_POINTER(UNTOUCHED_POINTER, data);
    CHECK_POINTER(UNTOUCHED_POINTER, found);
    CHECK_EQUAL(UNTOUCHED_NUMBER, number);
    CHECK_EQUAL(UNTOUCHED_NUMBER, count);
}

static inline void check_refused_as_chain(struct suspect suspect, mbuf *witness)
{
    mbuf *handle = suspect.handle;
    mbuf *found = UNTOUCHED_POINTER;
    mbuf *head = handle;
    uint32_t count = UNTOUCHED_NUMBER;
    uint64_t bytes = UNTOUCHED_NUMBER;
    mbuf *two[2] = { witness, handle };
    REFUSED(mbuf_append(handle, witness));
    REFUSED(mbuf_append(witness, handle));
    REFUSED(mbuf_chain_count(handle, &count));
    REFUSED(mbuf_chain_get(handle, 0, &found));
    REFUSED(mbuf_chain_length(handle, &bytes));
    REFUSED(mbuf_next(handle, &found));
    REFUSED(mbuf_split(handle, 1, &found));
    REFUSED(mbuf_linearize(&head));
    REFUSED(mbuf_make_unique(&head));
    REFUSED(mbuf_copy_ref(handle, &found));
    REFUSED(mbuf_free(handle));
    REFUSED(mbuf_free_bulk(two, 2));
    CHECK_POINTER(handle, head);
    CHECK_POINTER(UNTOUCHED_POINTER, found);
    CHECK_EQUAL(UNTOUCHED_NUMBER, count);
    CHECK_EQUAL(UNTOUCHED_NUMBER, bytes);
}

/* As check_refused, for the functions beyond the eleven. */
static inline void check_refused_extended(struct suspect suspect, aclrtMbuf witness)
{
    mbuf *handle = suspect.handle;
    unsigned char area[USER_AREA] = { 0x5a };
    void *data = UNTOUCHED_POINTER;
    mbuf_pool pool = UNTOUCHED_NUMBER;
    size_t number = UNTOUCHED_NUMBER;
    uint64_t timestamp = UNTOUCHED_NUMBER;
    int shared = 55;
    mbuf_token token;
    mbuf_token untouched;
    memset(&token, 0x5a, sizeof token);
    memset(&untouched, 0x5a, sizeof untouched);
    check_refused_as_chain(suspect, witness);
    REFUSED(mbuf_pool_of(handle, &pool));
    REFUSED(mbuf_data(handle, &data, &number));
    REFUSED(mbuf_data(handle, &data, NULL));
    REFUSED(mbuf_length(handle, &number));
    REFUSED(mbuf_set_length(handle, 0));
    REFUSED(mbuf_append_bytes(handle, area, 1));
    REFUSED(mbuf_set_user_data(handle, area, sizeof area, 0));
    REFUSED(mbuf_get_user_data(handle, area, sizeof area, 0));
    REFUSED(mbuf_set_timestamp(handle, 1));
    REFUSED(mbuf_timestamp(handle, &timestamp));
    REFUSED(mbuf_is_shared(handle, &shared));
    REFUSED(mbuf_token_of(handle, &token));
    CHECK_EQUAL(0x5a, area[0]);
    CHECK_POINTER(UNTOUCHED_POINTER, data);
    CHECK_EQUAL(UNTOUCHED_NUMBER, pool);
    CHECK_EQUAL(UNTOUCHED_NUMBER, number);
    CHECK_EQUAL(UNTOUCHED_NUMBER, timestamp);
    CHECK_EQUAL(55, shared);
    CHECK_BYTES(&untouched, &token, sizeof token);
}

/* Where the arena of a buffer starts: its header says how far from there it lies, in units of 64 bytes
 * (docs/layout.md). */
static inline uintptr_t arena_of(aclrtMbuf buffer)
{
    uint32_t offset;
    memcpy(&offset, (const unsigned char *)buffer + 4, sizeof offset);
    return (uintptr_t)buffer - (uintptr_t)offset * 64;
}

/* Writes a copy of a live buffer's header to `place`, 192 bytes in some buffer's data. A forged one says that it
 * belongs there. */
static inline void plant_header(unsigned char *place, aclrtMbuf live, int forged)
{
    memcpy(place, live, 192);
    if (forged) {
        uint32_t offset = (uint32_t)(((uintptr_t)place - arena_of(live)) / 64);
        memcpy(place + 4, &offset, sizeof offset);
        memcpy(place + 8, &offset, sizeof offset);
        memcpy(place + 16, &offset, sizeof offset);
    }
}

#endif
