/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Data that starts at a multiple of what was asked for, with exactly the size that was asked for.
 */
#include "buffers.h"
#include "pools.h"

static const size_t sizes[] = { 0, 1, 63, 64, 65, 500, 4095, 4096, 4097, 30000, 200000, 3000000 };

enum { SIZES = sizeof sizes / sizeof sizes[0] };

static mbuf *alloc_at(mbuf_pool pool, size_t size, size_t alignment)
{
    mbuf *buffer = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_OK, mbuf_alloc_aligned(pool, size, alignment, &buffer));
    void *data = NULL;
    size_t found = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_OK, mbuf_data(buffer, &data, &found));
    CHECK_EQUAL(0, (uintptr_t)data % alignment);
    CHECK_EQUAL(size, found);
    CHECK_EQUAL(0, length_of(buffer));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_set_length(buffer, size + 1));
    return buffer;
}

static void refuse(mbuf_pool pool, size_t size, size_t alignment)
{
    mbuf *buffer = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_alloc_aligned(pool, size, alignment, &buffer));
    CHECK_POINTER(UNTOUCHED_POINTER, buffer);
}

static void refused(mbuf_pool pool)
{
    refuse(pool, 100, 0);
    for (size_t alignment = 3; alignment <= 20000; alignment++) {
        if ((alignment & (alignment - 1)) != 0) {
            refuse(pool, 100, alignment);
        }
    }
    for (size_t alignment = 8192; alignment != 0; alignment <<= 1) {
        refuse(pool, 100, alignment);
        refuse(pool, 100, alignment - 1);
    }
    refuse(pool, 100, SIZE_MAX);
    refuse(pool, (size_t)MBUF_MAX_SIZE + 1, 64);
    refuse(pool, SIZE_MAX, 4096);
    refuse(pool, SIZE_MAX - 4095, 4096);
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_alloc_aligned(pool, 100, 64, NULL));
    CHECK_EQUAL(0, in_use_of(pool));
}

/* Several at once, all filled to the last byte, so that one which overlaps another is noticed. */
static void side_by_side(mbuf_pool pool, size_t alignment)
{
    mbuf *buffers[SIZES];
    for (size_t at = 0; at < SIZES; at++) {
        buffers[at] = alloc_at(pool, sizes[at], alignment);
        stamp_buffer(buffers[at], at);
    }
    for (size_t at = 0; at < SIZES; at++) {
        check_stamp(buffers[at], at);
        free_mbuf(buffers[at]);
    }
    CHECK_EQUAL(0, in_use_of(pool));
}

/* The block of an aligned buffer is an ordinary one again once it is free. */
static void over_and_over(mbuf_pool pool)
{
    uint64_t random = 3;
    size_t rounds = is_slow() ? 500 : 20000;
    for (size_t round = 0; round < rounds; round++) {
        size_t alignment = (size_t)1 << random_below(&random, 13);
        size_t size = random_below(&random, 3000);
        mbuf *aligned = alloc_at(pool, size, alignment);
        stamp_buffer(aligned, round);
        mbuf *copy = round % 2 == 0 ? copy_of(aligned) : NULL;
        mbuf *plain = alloc_from(pool, size);
        CHECK_EQUAL(0, (uintptr_t)data_of(plain) % 64);
        CHECK_POINTER((unsigned char *)(void *)plain + 192, data_of(plain));
        stamp_buffer(plain, ~(uint64_t)round);
        check_stamp(aligned, round);
        free_mbuf(aligned);
        if (copy != NULL) {
            CHECK_EQUAL(0, (uintptr_t)data_of(copy) % alignment);
            check_stamp(copy, round);
            free_mbuf(copy);
        }
        check_stamp(plain, ~(uint64_t)round);
        free_mbuf(plain);
    }
    CHECK_EQUAL(0, in_use_of(pool));
}

static void shared_chained_and_joined(mbuf_pool pool)
{
    mbuf *head = alloc_at(pool, 700, 4096);
    mbuf *behind = alloc_at(pool, 300, 1024);
    stamp_buffer(head, 40);
    stamp_buffer(behind, 41);
    CHECK_EQUAL(MBUF_OK, mbuf_append(head, behind));
    mbuf *copy = copy_of(head);
    check_chain(copy, 2, 40);
    CHECK_POINTER(data_of(head), data_of(copy));
    CHECK_EQUAL(MBUF_OK, mbuf_make_unique(&copy));
    check_chain(copy, 2, 40);
    check_chain(head, 2, 40);
    free_mbuf(head);
    check_chain(copy, 2, 40);
    CHECK_EQUAL(MBUF_OK, mbuf_linearize(&copy));
    CHECK_EQUAL(1000, length_of(copy));
    check_filled(data_of(copy), 700, 40);
    check_filled(data_of(copy) + 700, 300, 41);
    free_mbuf(copy);
    CHECK_EQUAL(0, in_use_of(pool));
}

static void largest(void)
{
    mbuf *buffer = NULL;
    int code = mbuf_alloc_aligned(MBUF_POOL_DEFAULT, (size_t)MBUF_MAX_SIZE, 4096, &buffer);
    if (statistics_of(MBUF_POOL_DEFAULT).capacity < UINT64_C(5) << 30) {
        CHECK_EQUAL(MBUF_ERROR_MEMORY, code);
        return;
    }
    CHECK_EQUAL(MBUF_OK, code);
    CHECK_EQUAL(0, (uintptr_t)data_of(buffer) % 4096);
    CHECK_EQUAL(MBUF_MAX_SIZE, size_of(buffer));
    data_of(buffer)[MBUF_MAX_SIZE - 1] = 1;
    free_mbuf(buffer);
}

int main(void)
{
    mbuf_pool pool = make_pool(64 << 20);
    refused(pool);
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        side_by_side(pool, alignment);
    }
    over_and_over(pool);
    shared_chained_and_joined(pool);
    largest();
    destroy_empty(pool);
    report_success("aligned data, exact sizes");
    return 0;
}
