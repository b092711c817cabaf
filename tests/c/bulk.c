/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Alloc and free in bulk: all or nothing.
 */
#include "buffers.h"
#include "pools.h"

enum { MOST = 3000 };

static const uint64_t CAPACITY = 2 << 20;
static mbuf *buffers[MOST];
static mbuf *untouched[MOST];

static void forget_all(void)
{
    for (size_t at = 0; at < MOST; at++) {
        buffers[at] = UNTOUCHED_POINTER;
    }
}

static void check_untouched(size_t from)
{
    CHECK_BYTES(untouched, buffers + from, (MOST - from) * sizeof buffers[0]);
}

static void there_and_back(mbuf_pool pool, size_t size, size_t count)
{
    forget_all();
    CHECK_EQUAL(MBUF_OK, mbuf_alloc_bulk(pool, size, buffers, count));
    check_untouched(count);
    CHECK_EQUAL(count, in_use_of(pool));
    for (size_t at = 0; at < count; at++) {
        CHECK_EQUAL(size, size_of(buffers[at]));
        CHECK_EQUAL(0, length_of(buffers[at]));
        CHECK_EQUAL(1, count_of(buffers[at]));
        stamp_buffer(buffers[at], at);
    }
    for (size_t at = 0; at < count; at++) {
        check_stamp(buffers[at], at);
    }
    mbuf *kept[1] = { count > 0 ? buffers[0] : NULL };
    CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(buffers, count));
    CHECK_EQUAL(0, in_use_of(pool));
    if (count > 0) {
        CHECK_POINTER(kept[0], buffers[0]);
        CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_free_bulk(buffers, count));
        CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_free(buffers[count - 1]));
    }
}

static void counts_and_sizes(mbuf_pool pool)
{
    const size_t sizes[] = { 0, 1, 64, 500, 5000, 60000 };
    const size_t counts[] = { 0, 1, 2, 15, 16, 17, 25 };
    for (size_t size = 0; size < sizeof sizes / sizeof sizes[0]; size++) {
        for (size_t count = 0; count < sizeof counts / sizeof counts[0]; count++) {
            there_and_back(pool, sizes[size], counts[count]);
        }
    }
    there_and_back(pool, 100, 1000);
}

static void exhaustion(mbuf_pool pool)
{
    const size_t sizes[] = { 800, 100000 };
    for (size_t which = 0; which < sizeof sizes / sizeof sizes[0]; which++) {
        size_t size = sizes[which];
        size_t count = 0;
        while (mbuf_alloc(pool, size, &buffers[count]) == MBUF_OK) {
            count++;
        }
        CHECK(count > 8 && count < MOST);
        CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(buffers, count));
        for (size_t more = 1; more < 1000; more *= 10) {
            forget_all();
            CHECK_EQUAL(MBUF_ERROR_MEMORY, mbuf_alloc_bulk(pool, size, buffers, count + more));
            check_untouched(0);
            CHECK_EQUAL(0, in_use_of(pool));
        }
        there_and_back(pool, size, count);
    }
}

/* None is freed if one of them is not to be freed, wherever it stands. */
static void refuse_to_free(mbuf *const *some, size_t count, int code)
{
    CHECK_EQUAL(code, mbuf_free_bulk(some, count));
}

static void one_that_is_not_to_be_freed(mbuf_pool pool)
{
    enum { COUNT = 40 };
    mbuf *bulk[COUNT];
    mbuf *with_wrong[COUNT + 1];
    mbuf *chain = NULL;
    CHECK_EQUAL(MBUF_OK, mbuf_alloc_bulk(pool, 300, bulk, COUNT));
    for (size_t at = 0; at < COUNT; at++) {
        stamp_buffer(bulk[at], at);
    }
    chain = alloc_from(pool, 300);
    mbuf *member = alloc_from(pool, 300);
    CHECK_EQUAL(MBUF_OK, mbuf_append(chain, member));
    mbuf *dead = alloc_from(pool, 50000);
    free_mbuf(dead);
    mbuf *const wrong[] = { bulk[0], bulk[COUNT / 2], bulk[COUNT - 1], member, dead, (mbuf *)(uintptr_t)64, NULL };
    for (size_t which = 0; which < sizeof wrong / sizeof wrong[0]; which++) {
        for (size_t place = 0; place <= COUNT; place++) {
            memcpy(with_wrong, bulk, place * sizeof bulk[0]);
            with_wrong[place] = wrong[which];
            memcpy(with_wrong + place + 1, bulk + place, (COUNT - place) * sizeof bulk[0]);
            refuse_to_free(with_wrong, COUNT + 1, wrong[which] == NULL ? MBUF_ERROR_ARGUMENT : MBUF_ERROR_HANDLE);
        }
    }
    /* A null is found before what is no buffer. */
    mbuf *const both[2] = { dead, NULL };
    refuse_to_free(both, 2, MBUF_ERROR_ARGUMENT);
    /* A chain's head beside its own member. */
    mbuf *const family[3] = { bulk[0], chain, member };
    refuse_to_free(family, 3, MBUF_ERROR_HANDLE);
    CHECK_EQUAL(COUNT + 2, in_use_of(pool));
    for (size_t at = 0; at < COUNT; at++) {
        check_chain(bulk[at], 1, at);
    }
    /* What was refused before is whole: it can be appended and freed. */
    CHECK_EQUAL(MBUF_OK, mbuf_append(bulk[1], bulk[2]));
    CHECK_EQUAL(MBUF_OK, mbuf_free(bulk[1]));
    CHECK_EQUAL(MBUF_OK, mbuf_free(chain));
    CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(bulk + 3, COUNT - 3));
    CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(bulk, 1));
    CHECK_EQUAL(0, in_use_of(pool));
}

static void chains_and_copies(mbuf_pool pool, mbuf_pool other)
{
    mbuf *mixed[5];
    mixed[0] = alloc_from(pool, 300);
    stamp_buffer(mixed[0], 7);
    mixed[1] = copy_of(mixed[0]);
    CHECK_EQUAL(MBUF_OK, mbuf_append(mixed[1], alloc_from(pool, 20)));
    mixed[2] = alloc_from(pool, 300000);
    mixed[3] = alloc_from(other, 300);
    mixed[4] = copy_of(mixed[0]);
    CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(mixed, 4));
    CHECK_EQUAL(0, in_use_of(other));
    CHECK_EQUAL(2, in_use_of(pool));
    check_chain(mixed[4], 1, 7);
    CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(mixed + 4, 1));
    CHECK_EQUAL(0, in_use_of(pool));
}

static void arguments(mbuf_pool pool)
{
    forget_all();
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_alloc_bulk(pool, 100, NULL, 1));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_alloc_bulk(pool, (size_t)MBUF_MAX_SIZE + 1, buffers, 1));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_alloc_bulk(pool, SIZE_MAX, buffers, 1));
    /* More than the pool could ever hold is refused at once, and nothing is taken for it. */
    CHECK_EQUAL(MBUF_ERROR_MEMORY, mbuf_alloc_bulk(pool, 64, buffers, SIZE_MAX));
    CHECK_EQUAL(MBUF_ERROR_MEMORY, mbuf_pool_reserve(pool, 64, SIZE_MAX));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_free_bulk(NULL, 1));
    check_untouched(0);
    CHECK_EQUAL(0, in_use_of(pool));
}

int main(void)
{
    forget_all();
    memcpy(untouched, buffers, sizeof untouched);
    mbuf_pool pool = make_pool(CAPACITY);
    mbuf_pool other = make_pool(CAPACITY);
    arguments(pool);
    counts_and_sizes(pool);
    exhaustion(pool);
    one_that_is_not_to_be_freed(pool);
    chains_and_copies(pool, other);
    destroy_empty(pool);
    destroy_empty(other);
    report_success("alloc and free in bulk, all or nothing");
    return 0;
}
