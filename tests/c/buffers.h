/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Buffers that are known again, their data and user areas filled with a stamp, and chains of such. Written to the
 * eleven functions alone.
 */
#ifndef MBUF_TESTS_BUFFERS_H
#define MBUF_TESTS_BUFFERS_H

#include "acl_mbuf.h"
#include "check.h"

enum {
    USER_AREA = 96,
    MAX_CHAIN = 128
};

enum { WORD = 8 };

/* The eight bytes from `at` on of what is filled with a stamp. */
static inline uint64_t stamp_word(uint64_t stamp, size_t at)
{
    return (stamp + at) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline size_t word_at(size_t size, size_t at)
{
    return size - at < WORD ? size - at : WORD;
}

static inline void fill_with_stamp(unsigned char *bytes, size_t size, uint64_t stamp)
{
    for (size_t at = 0; at < size; at += WORD) {
        uint64_t word = stamp_word(stamp, at);
        memcpy(bytes + at, &word, word_at(size, at));
    }
}

static inline void check_filled(const unsigned char *bytes, size_t size, uint64_t stamp)
{
    for (size_t at = 0; at < size; at += WORD) {
        uint64_t word = stamp_word(stamp, at);
        if (memcmp(bytes + at, &word, word_at(size, at)) != 0) {
            check_failed(__FILE__, __LINE__, "bytes at %zu of %zu are not those of stamp 0x%" PRIx64, at, size, stamp);
        }
    }
}

static inline size_t size_of(aclrtMbuf buffer)
{
    void *data;
    size_t size;
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufData(buffer, &data, &size));
    return size;
}

static inline unsigned char *data_of(aclrtMbuf buffer)
{
    void *data;
    size_t size;
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufData(buffer, &data, &size));
    CHECK(data != NULL);
    return data;
}

static inline size_t length_of(aclrtMbuf buffer)
{
    size_t length;
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufDataLen(buffer, &length));
    return length;
}

static inline uint32_t count_of(aclrtMbuf head)
{
    uint32_t count;
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufChainNum(head, &count));
    return count;
}

static inline aclrtMbuf member_of(aclrtMbuf head, uint32_t index)
{
    aclrtMbuf member;
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufFromChain(head, index, &member));
    return member;
}

static inline aclrtMbuf copy_of(aclrtMbuf buffer)
{
    aclrtMbuf copy;
    CHECK_EQUAL(ACL_SUCCESS, aclrtCopyBufRef(buffer, &copy));
    return copy;
}

static inline aclrtMbuf alloc_buffer(size_t size)
{
    aclrtMbuf buffer = NULL;
    CHECK_EQUAL(ACL_SUCCESS, aclrtAllocBuf(&buffer, size));
    return buffer;
}

static inline void free_buffer(aclrtMbuf buffer)
{
    CHECK_EQUAL(ACL_SUCCESS, aclrtFreeBuf(buffer));
}

/* Stamps the user area, which is each header's own. */
static inline void stamp_user_area(aclrtMbuf buffer, uint64_t stamp)
{
    unsigned char area[USER_AREA];
    fill_with_stamp(area, sizeof area, ~stamp);
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufUserData(buffer, area, sizeof area, 0));
}

static inline void check_user_area(aclrtMbuf buffer, uint64_t stamp)
{
    unsigned char area[USER_AREA];
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufUserData(buffer, area, sizeof area, 0));
    check_filled(area, sizeof area, ~stamp);
}

static inline void check_data(aclrtMbuf buffer, uint64_t stamp)
{
    check_filled(data_of(buffer), size_of(buffer), stamp);
}

/* Stamps all of the data, sets the data length to the size, and stamps the user area. */
static inline void stamp_buffer(aclrtMbuf buffer, uint64_t stamp)
{
    size_t size = size_of(buffer);
    fill_with_stamp(data_of(buffer), size, stamp);
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(buffer, size));
    stamp_user_area(buffer, stamp);
}

static inline void check_stamp(aclrtMbuf buffer, uint64_t stamp)
{
    CHECK_EQUAL(size_of(buffer), length_of(buffer));
    check_data(buffer, stamp);
    check_user_area(buffer, stamp);
}

static inline aclrtMbuf make_buffer(size_t size, uint64_t stamp)
{
    aclrtMbuf buffer = alloc_buffer(size);
    stamp_buffer(buffer, stamp);
    return buffer;
}

/* A chain of `count` buffers of `size` bytes with the stamps `first`, `first` + 1 and so on. */
static inline aclrtMbuf make_chain(uint32_t count, size_t size, uint64_t first)
{
    aclrtMbuf head = make_buffer(size, first);
    for (uint32_t index = 1; index < count; index++) {
        aclrtMbuf next = make_buffer(size, first + index);
        CHECK_EQUAL(ACL_SUCCESS, aclrtAppendBufChain(head, next));
    }
    return head;
}

/* Checks that a chain is one of `count` buffers with the stamps `first`, `first` + 1 and so on. */
static inline void check_chain(aclrtMbuf head, uint32_t count, uint64_t first)
{
    CHECK_EQUAL(count, count_of(head));
    for (uint32_t index = 0; index < count; index++) {
        check_stamp(member_of(head, index), first + index);
    }
}

/* A small generator (xorshift), so that runs repeat. */
static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline size_t random_below(uint64_t *state, size_t bound)
{
    return (size_t)(next_random(state) % bound);
}

#endif
