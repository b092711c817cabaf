/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Chains beyond the eleven: walk, split, length in bytes, linearize, and data of one's own.
 */
#include "buffers.h"
#include "pools.h"

enum { SIZE = 80 };

/* Walks from head to end by mbuf_next, as mbuf_chain_get has it. */
static void check_walk(mbuf *head, uint32_t count, uint64_t first)
{
    uint32_t found;
    mbuf *at = head;
    CHECK_EQUAL(MBUF_OK, mbuf_chain_count(head, &found));
    CHECK_EQUAL(count, found);
    for (uint32_t index = 0; index < count; index++) {
        mbuf *member = NULL;
        uint64_t bytes = 0;
        CHECK_EQUAL(MBUF_OK, mbuf_chain_get(head, index, &member));
        CHECK_POINTER(member, at);
        check_stamp(at, first + index);
        CHECK_EQUAL(MBUF_OK, mbuf_chain_length(at, &bytes));
        CHECK_EQUAL((count - index) * SIZE, bytes);
        CHECK_EQUAL(MBUF_OK, mbuf_next(at, &at));
    }
    CHECK_POINTER(NULL, at);
}

static void walks(void)
{
    for (uint32_t count = 1; count <= MAX_CHAIN; count = count * 2) {
        aclrtMbuf head = make_chain(count, SIZE, 5);
        check_walk(head, count, 5);
        free_buffer(head);
    }
    aclrtMbuf chain = make_chain(3, SIZE, 5);
    mbuf *found = UNTOUCHED_POINTER;
    uint64_t bytes = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_next(NULL, &found));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_next(chain, NULL));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_chain_length(NULL, &bytes));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_chain_length(chain, NULL));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_chain_get(chain, 3, &found));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_chain_get(member_of(chain, 1), 9, &found));
    CHECK_POINTER(UNTOUCHED_POINTER, found);
    CHECK_EQUAL(UNTOUCHED_NUMBER, bytes);
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(member_of(chain, 1), 0));
    CHECK_EQUAL(MBUF_OK, mbuf_chain_length(chain, &bytes));
    CHECK_EQUAL(2 * SIZE, bytes);
    free_buffer(chain);
}

static void split_at(uint32_t count, uint32_t index)
{
    aclrtMbuf head = make_chain(count, SIZE, 30);
    mbuf *rest = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_OK, mbuf_split(head, index, &rest));
    check_walk(head, index, 30);
    check_walk(rest, count - index, 30 + index);
    /* Both are whole chains: they can be appended to, joined again, and freed. */
    CHECK_EQUAL(MBUF_OK, mbuf_append(rest, make_buffer(SIZE, 30 + count)));
    CHECK_EQUAL(MBUF_OK, mbuf_append(head, rest));
    check_walk(head, count + 1, 30);
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_free(rest));
    CHECK_EQUAL(MBUF_OK, mbuf_split(head, index, &rest));
    free_buffer(head);
    check_walk(rest, count + 1 - index, 30 + index);
    free_buffer(rest);
}

static void splits(void)
{
    for (uint32_t count = 2; count <= 6; count++) {
        for (uint32_t index = 1; index < count; index++) {
            split_at(count, index);
        }
    }
    split_at(127, 64);
    split_at(127, 126);
    aclrtMbuf chain = make_chain(3, SIZE, 1);
    aclrtMbuf alone = make_buffer(SIZE, 9);
    mbuf *rest = UNTOUCHED_POINTER;
    const uint32_t wrong[] = { 0, 3, 4, 256, 257, 258, UINT32_MAX };
    for (size_t at = 0; at < sizeof wrong / sizeof wrong[0]; at++) {
        CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_split(chain, wrong[at], &rest));
        CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_split(alone, wrong[at], &rest));
    }
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_split(alone, 1, &rest));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_split(NULL, 1, &rest));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_split(chain, 1, NULL));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_split(member_of(chain, 1), 1, &rest));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_split(member_of(chain, 1), 0, &rest));
    CHECK_POINTER(UNTOUCHED_POINTER, rest);
    check_walk(chain, 3, 1);
    check_walk(alone, 1, 9);
    free_buffer(chain);
    free_buffer(alone);
}

/* Lengths of all sorts; only what is valid goes over. */
static void linearize_lengths(uint32_t count, int is_shared)
{
    unsigned char expected[MAX_CHAIN * SIZE];
    size_t total = 0;
    mbuf *head = make_chain(count, SIZE, 70);
    mbuf *first = head;
    for (uint32_t index = 0; index < count; index++) {
        aclrtMbuf member = member_of(head, index);
        size_t length = index * 7 % (SIZE + 1);
        CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(member, length));
        memcpy(expected + total, data_of(member), length);
        total += length;
    }
    CHECK_EQUAL(MBUF_OK, mbuf_set_timestamp(head, 123456789));
    mbuf *copy = is_shared ? copy_of(head) : NULL;
    uint64_t timestamp = 0;
    CHECK_EQUAL(MBUF_OK, mbuf_linearize(&head));
    CHECK_EQUAL(1, count_of(head));
    CHECK_EQUAL(total, length_of(head));
    CHECK(size_of(head) >= total);
    CHECK_BYTES(expected, data_of(head), total);
    check_user_area(head, 70);
    CHECK_EQUAL(MBUF_OK, mbuf_timestamp(head, &timestamp));
    CHECK_EQUAL(123456789, timestamp);
    if (head != first) {
        CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_free(first));
    }
    if (copy != NULL) {
        memset(data_of(head), 0, total);
        for (uint32_t index = 0; index < count; index++) {
            check_data(member_of(copy, index), 70 + index);
        }
        free_mbuf(copy);
    }
    free_mbuf(head);
}

static void linearizes(void)
{
    const uint32_t counts[] = { 2, 3, 17, 128 };
    for (size_t at = 0; at < sizeof counts / sizeof counts[0]; at++) {
        linearize_lengths(counts[at], 0);
        linearize_lengths(counts[at], 1);
    }
    mbuf *alone = make_buffer(SIZE, 3);
    mbuf *copy = copy_of(alone);
    mbuf *same = copy;
    CHECK_EQUAL(MBUF_OK, mbuf_linearize(&same));
    CHECK_POINTER(copy, same);
    CHECK_POINTER(data_of(alone), data_of(copy));
    check_walk(copy, 1, 3);
    free_mbuf(copy);
    free_mbuf(alone);

    mbuf *chain = make_chain(3, SIZE, 4);
    mbuf *member = member_of(chain, 1);
    mbuf *none = NULL;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_linearize(NULL));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_linearize(&none));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_linearize(&member));
    CHECK_POINTER(member_of(chain, 1), member);
    check_walk(chain, 3, 4);
    free_mbuf(chain);
}

/* A chain of four, of which the members with a bit in `shared` are copies. */
static mbuf *partly_shared(unsigned shared, mbuf **originals)
{
    mbuf *chain = NULL;
    for (uint32_t index = 0; index < 4; index++) {
        originals[index] = make_buffer(SIZE, 20 + index);
        mbuf *next = originals[index];
        if (shared >> index & 1) {
            next = copy_of(originals[index]);
        } else {
            originals[index] = NULL;
        }
        if (chain == NULL) {
            chain = next;
        } else {
            CHECK_EQUAL(MBUF_OK, mbuf_append(chain, next));
        }
    }
    return chain;
}

static void make_unique_of(unsigned shared)
{
    mbuf *originals[4];
    mbuf *chain = partly_shared(shared, originals);
    mbuf *before[4];
    for (uint32_t index = 0; index < 4; index++) {
        before[index] = member_of(chain, index);
    }
    CHECK_EQUAL(MBUF_OK, mbuf_make_unique(&chain));
    check_walk(chain, 4, 20);
    for (uint32_t index = 0; index < 4; index++) {
        mbuf *member = member_of(chain, index);
        int is_shared = 5;
        CHECK_EQUAL(MBUF_OK, mbuf_is_shared(member, &is_shared));
        CHECK_EQUAL(0, is_shared);
        if (originals[index] == NULL) {
            CHECK_POINTER(before[index], member);
        } else {
            CHECK(data_of(member) != data_of(originals[index]));
        }
    }
    for (uint32_t index = 0; index < 4; index++) {
        stamp_buffer(member_of(chain, index), 90 + index);
    }
    for (uint32_t index = 0; index < 4; index++) {
        if (originals[index] != NULL) {
            check_walk(originals[index], 1, 20 + index);
            free_mbuf(originals[index]);
        }
    }
    CHECK_EQUAL(MBUF_OK, mbuf_append(chain, make_buffer(SIZE, 94)));
    check_walk(chain, 5, 90);
    free_mbuf(chain);
}

/* Data may be written before its length is set. */
static void all_data_is_copied(void)
{
    mbuf *buffer = make_buffer(SIZE, 3);
    mbuf *copy = copy_of(buffer);
    CHECK_EQUAL(MBUF_OK, mbuf_set_length(copy, 0));
    CHECK_EQUAL(MBUF_OK, mbuf_make_unique(&copy));
    CHECK_EQUAL(0, length_of(copy));
    check_data(copy, 3);
    CHECK(data_of(copy) != data_of(buffer));
    free_mbuf(copy);
    free_mbuf(buffer);
}

static void make_uniques(void)
{
    all_data_is_copied();
    for (unsigned shared = 0; shared < 16; shared++) {
        make_unique_of(shared);
    }
    mbuf *longest = make_chain(MAX_CHAIN, SIZE, 5);
    mbuf *copy = copy_of(longest);
    CHECK_EQUAL(MBUF_OK, mbuf_make_unique(&copy));
    free_mbuf(longest);
    check_walk(copy, MAX_CHAIN, 5);
    mbuf *member = member_of(copy, 3);
    mbuf *none = NULL;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_make_unique(NULL));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_make_unique(&none));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_make_unique(&member));
    CHECK_POINTER(member_of(copy, 3), member);
    free_mbuf(copy);
}

/* Neither changes a chain that there is no memory for. */
static void without_memory(void)
{
    mbuf_pool pool = make_pool(1 << 20);
    mbuf *chain = NULL;
    for (uint64_t index = 0; index < 3; index++) {
        mbuf *next = alloc_from(pool, SIZE);
        stamp_buffer(next, 60 + index);
        if (chain == NULL) {
            chain = next;
        } else {
            CHECK_EQUAL(MBUF_OK, mbuf_append(chain, next));
        }
    }
    mbuf *copy = copy_of(chain);
    mbuf *last = NULL;
    mbuf *fill = NULL;
    const size_t sizes[] = { 60000, 5000, 1000, 500, SIZE, 0 };
    for (size_t at = 0; at < sizeof sizes / sizeof sizes[0]; at++) {
        while (mbuf_alloc(pool, sizes[at], &fill) == MBUF_OK) {
            CHECK_EQUAL(MBUF_OK, mbuf_set_user_data(fill, &last, sizeof last, 0));
            last = fill;
        }
    }
    uint64_t in_use = in_use_of(pool);
    mbuf *head = copy;
    CHECK_EQUAL(MBUF_ERROR_MEMORY, mbuf_make_unique(&head));
    CHECK_EQUAL(MBUF_ERROR_MEMORY, mbuf_linearize(&head));
    CHECK_POINTER(copy, head);
    CHECK_EQUAL(in_use, in_use_of(pool));
    check_walk(copy, 3, 60);
    check_walk(chain, 3, 60);
    while (last != NULL) {
        mbuf *before = NULL;
        CHECK_EQUAL(MBUF_OK, mbuf_get_user_data(last, &before, sizeof before, 0));
        free_mbuf(last);
        last = before;
    }
    CHECK_EQUAL(MBUF_OK, mbuf_make_unique(&head));
    free_mbuf(chain);
    check_walk(head, 3, 60);
    free_mbuf(head);
    destroy_empty(pool);
}

int main(void)
{
    walks();
    splits();
    linearizes();
    make_uniques();
    without_memory();
    CHECK_EQUAL(0, in_use_of(MBUF_POOL_DEFAULT));
    report_success("chains walked, split, linearized and made unique");
    return 0;
}
