/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Pools: options, numbers, statistics, and the end of a pool before and after that of its buffers.
 */
#include "pools.h"
#include "refused.h"

enum { MIB = 1 << 20 };

/* A live buffer of the default pool. */
static mbuf *witness;

static void refuse_options(const mbuf_pool_options *options)
{
    mbuf_pool pool = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_pool_create(options, &pool));
    CHECK_EQUAL(UNTOUCHED_NUMBER, pool);
}

static void options_refused(void)
{
    const mbuf_pool_options initial = MBUF_POOL_OPTIONS_INIT;
    mbuf_pool_options options = initial;
    const size_t sizes[] = { 0, 1, sizeof(size_t), sizeof options - 1, SIZE_MAX };
    for (size_t at = 0; at < sizeof sizes / sizeof sizes[0]; at++) {
        options.struct_size = sizes[at];
        refuse_options(&options);
    }
    options = initial;
    const uint64_t most = UINT64_C(256) << 30;
    const uint64_t capacities[] = { most + 1, most * 2, UINT64_MAX / 2, UINT64_MAX };
    for (size_t at = 0; at < sizeof capacities / sizeof capacities[0]; at++) {
        options.capacity = capacities[at];
        refuse_options(&options);
    }
    options = initial;
    options.magazine_size = 129;
    refuse_options(&options);
    options.magazine_size = UINT32_MAX;
    refuse_options(&options);
    options = initial;
    options.huge_pages = 3;
    refuse_options(&options);
    options.huge_pages = UINT32_MAX;
    refuse_options(&options);
    options = initial;
    options.reserved = 1;
    refuse_options(&options);
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_pool_create(&initial, NULL));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_pool_create(NULL, NULL));
}

static void check_works(const mbuf_pool_options *options)
{
    mbuf_pool pool = MBUF_POOL_DEFAULT;
    CHECK_EQUAL(MBUF_OK, mbuf_pool_create(options, &pool));
    CHECK(statistics_of(pool).capacity > 0);
    mbuf *buffer = alloc_from(pool, 1000);
    mbuf_pool found = UNTOUCHED_NUMBER;
    stamp_buffer(buffer, 3);
    check_chain(buffer, 1, 3);
    CHECK_EQUAL(MBUF_OK, mbuf_pool_of(buffer, &found));
    CHECK_EQUAL(pool, found);
    CHECK_EQUAL(1, in_use_of(pool));
    free_mbuf(buffer);
    destroy_empty(pool);
}

static void options_allowed(void)
{
    const mbuf_pool_options initial = MBUF_POOL_OPTIONS_INIT;
    CHECK_EQUAL(sizeof(mbuf_pool_options), initial.struct_size);
    if (!is_slow()) {
        check_works(NULL);
        check_works(&initial);
    }
    mbuf_pool_options options = initial;
    options.capacity = 4 * MIB;
    options.magazine_size = 1;
    check_works(&options);
    options.magazine_size = 128;
    check_works(&options);
    options.capacity = 1;
    check_works(&options);
    options.capacity = 4 * MIB;
    options.magazine_size = 0;
    options.huge_pages = MBUF_HUGE_PAGES_TRANSPARENT;
    check_works(&options);
    options.huge_pages = MBUF_HUGE_PAGES_NEVER;
    options.prefault = UINT32_MAX;
    check_works(&options);
}

/* Explicit huge pages are there or not; if not, nothing is left behind. */
static void explicit_huge_pages(void)
{
    mbuf_pool_options options = MBUF_POOL_OPTIONS_INIT;
    mbuf_pool pool = UNTOUCHED_NUMBER;
    options.capacity = 4 * MIB;
    options.huge_pages = MBUF_HUGE_PAGES_EXPLICIT;
    int code = mbuf_pool_create(&options, &pool);
    if (code == MBUF_OK) {
        destroy_empty(pool);
    } else {
        CHECK_EQUAL(MBUF_ERROR_MEMORY, code);
        CHECK_EQUAL(UNTOUCHED_NUMBER, pool);
    }
}

static void refuse_number(mbuf_pool pool)
{
    mbuf *buffers[2] = { UNTOUCHED_POINTER, UNTOUCHED_POINTER };
    uint64_t number = UNTOUCHED_NUMBER;
    mbuf_pool_statistics statistics;
    mbuf_pool_statistics untouched;
    memset(&statistics, 0x5a, sizeof statistics);
    statistics.struct_size = sizeof statistics;
    untouched = statistics;
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_pool_destroy(pool, &number));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_pool_destroy(pool, NULL));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_pool_reserve(pool, 100, 1));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_pool_trim(pool, &number));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_pool_trim(pool, NULL));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_pool_get_statistics(pool, &statistics));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_alloc(pool, 100, &buffers[0]));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_alloc_aligned(pool, 100, 64, &buffers[0]));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_alloc_bulk(pool, 100, buffers, 2));
    CHECK_EQUAL(UNTOUCHED_NUMBER, number);
    CHECK_POINTER(UNTOUCHED_POINTER, buffers[0]);
    CHECK_BYTES(&untouched, &statistics, sizeof statistics);

    const size_t too_large = (size_t)MBUF_MAX_SIZE + 1;
    statistics.struct_size = 0;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_pool_reserve(pool, too_large, 1));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_pool_get_statistics(pool, NULL));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_pool_get_statistics(pool, &statistics));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_alloc(pool, too_large, &buffers[0]));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_alloc(pool, 100, NULL));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_alloc_aligned(pool, 100, 3, &buffers[0]));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_alloc_aligned(pool, 100, 64, NULL));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_alloc_bulk(pool, 100, NULL, 2));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_alloc_bulk(pool, too_large, buffers, 2));
}

static void numbers(void)
{
    mbuf_pool live = make_pool(4 * MIB);
    mbuf_token token;
    CHECK_EQUAL(MBUF_OK, mbuf_token_of(witness, &token));
    uint64_t random = 5;
    for (mbuf_pool number = 1; number < 300; number++) {
        refuse_number(number);
        refuse_number(~number);
        /* Tokens have a number for the default pool as well, which is not the one of its name. */
        if (number << 32 != token.pool) {
            refuse_number(number << 32);
        }
        if (number < 64) {
            refuse_number(live ^ (UINT64_C(1) << number));
        }
        refuse_number(next_random(&random));
    }
    CHECK_EQUAL(0, in_use_of(live));
    destroy_empty(live);
    refuse_number(live);
    uint64_t in_use = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_pool_destroy(MBUF_POOL_DEFAULT, &in_use));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_pool_destroy(token.pool, &in_use));
    CHECK_EQUAL(UNTOUCHED_NUMBER, in_use);
    check_chain(witness, 1, 1);
}

static void statistics(void)
{
    mbuf_pool pool = make_pool(16 * MIB);
    mbuf_pool_statistics before = statistics_of(pool);
    CHECK_EQUAL(16 * MIB, before.capacity);
    CHECK_EQUAL(0, before.carved);
    CHECK_EQUAL(0, before.allocs);
    mbuf_pool_statistics wrong = before;
    wrong.struct_size = sizeof wrong - 1;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_pool_get_statistics(pool, &wrong));

    mbuf *buffers[100];
    for (size_t at = 0; at < 100; at++) {
        buffers[at] = alloc_from(pool, at * at);
        CHECK_EQUAL(at + 1, statistics_of(pool).allocs);
        CHECK_EQUAL(at + 1, in_use_of(pool));
    }
    mbuf *copy = copy_of(buffers[50]);
    mbuf *span = alloc_from(pool, 3 * MIB);
    CHECK_EQUAL(102, in_use_of(pool));
    mbuf *refused = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_ERROR_MEMORY, mbuf_alloc(pool, 17 * MIB, &refused));
    CHECK_POINTER(UNTOUCHED_POINTER, refused);
    CHECK_EQUAL(1, statistics_of(pool).failed);
    /* Its data stays in use as long as the copy. */
    free_mbuf(buffers[50]);
    CHECK_EQUAL(102, in_use_of(pool));
    free_mbuf(copy);
    CHECK_EQUAL(100, in_use_of(pool));
    free_mbuf(span);
    for (size_t at = 0; at < 100; at++) {
        if (at != 50) {
            free_mbuf(buffers[at]);
        }
    }
    mbuf_pool_statistics after = statistics_of(pool);
    CHECK_EQUAL(0, after.in_use);
    CHECK_EQUAL(102, after.allocs);
    CHECK_EQUAL(102, after.frees);
    destroy_empty(pool);
}

static void reserve_and_trim(void)
{
    mbuf_pool pool = make_pool(16 * MIB);
    CHECK_EQUAL(MBUF_OK, mbuf_pool_reserve(pool, 2000, 100));
    CHECK_EQUAL(MBUF_OK, mbuf_pool_reserve(pool, 0, 1));
    CHECK_EQUAL(MBUF_OK, mbuf_pool_reserve(pool, 100, 0));
    CHECK_EQUAL(0, in_use_of(pool));
    CHECK(statistics_of(pool).carved >= 100);
    CHECK_EQUAL(MBUF_ERROR_MEMORY, mbuf_pool_reserve(pool, 2000, 20000));
    CHECK_EQUAL(MBUF_ERROR_MEMORY, mbuf_pool_reserve(pool, 2000, SIZE_MAX));
    CHECK_EQUAL(0, in_use_of(pool));
    uint64_t bytes = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_OK, mbuf_pool_trim(pool, &bytes));
    CHECK(bytes > 0 && bytes != UNTOUCHED_NUMBER);
    CHECK_EQUAL(MBUF_OK, mbuf_pool_trim(pool, &bytes));
    CHECK_EQUAL(0, bytes);
    CHECK_EQUAL(MBUF_OK, mbuf_pool_trim(pool, NULL));
    mbuf *buffer = alloc_from(pool, 2000);
    stamp_buffer(buffer, 1);
    CHECK_EQUAL(MBUF_OK, mbuf_pool_trim(pool, NULL));
    check_chain(buffer, 1, 1);
    free_mbuf(buffer);
    destroy_empty(pool);
}

/* Buffers of a destroyed pool are as good as ever, but for what needs the pool. */
static void buffers_outlive_their_pool(void)
{
    mbuf_pool pool = make_pool(4 * MIB);
    mbuf *chain = alloc_from(pool, 500);
    mbuf *behind = alloc_from(pool, 500);
    mbuf *copy = copy_of(chain);
    stamp_buffer(chain, 10);
    stamp_buffer(behind, 11);
    uint64_t in_use = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_OK, mbuf_pool_destroy(pool, &in_use));
    CHECK_EQUAL(3, in_use);
    refuse_number(pool);
    mbuf_pool found = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_pool_of(chain, &found));
    CHECK_EQUAL(UNTOUCHED_NUMBER, found);

    CHECK_EQUAL(MBUF_OK, mbuf_append(chain, behind));
    check_chain(chain, 2, 10);
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_free(behind));
    free_mbuf(copy);
    mbuf *rest = NULL;
    CHECK_EQUAL(MBUF_OK, mbuf_split(chain, 1, &rest));
    CHECK_POINTER(behind, rest);
    free_mbuf(chain);
    check_chain(behind, 1, 11);
    struct suspect of_closed = { chain, "freed, of a destroyed pool with another buffer out" };
    check_refused(of_closed, witness);
    free_mbuf(behind);
    struct suspect last = { behind, "last buffer of a destroyed pool, freed" };
    check_refused(last, witness);
    check_refused_extended(last, witness);
    check_refused(of_closed, witness);
}

/* A later pool may be in an earlier one's place, but knows nothing of it. */
static void pools_in_one_place(void)
{
    mbuf *old = NULL;
    mbuf_pool old_pool = UNTOUCHED_NUMBER;
    size_t in_the_same_place = 0;
    for (size_t round = 0; round < 50; round++) {
        mbuf_pool pool = make_pool(8 * MIB);
        CHECK(pool != old_pool);
        if (old != NULL) {
            struct suspect suspect = { old, "of an earlier pool" };
            check_refused(suspect, witness);
            check_refused_extended(suspect, witness);
            refuse_number(old_pool);
        }
        mbuf *buffer = alloc_from(pool, 500);
        in_the_same_place += buffer == old;
        CHECK_EQUAL(0, length_of(buffer));
        stamp_buffer(buffer, round);
        CHECK_EQUAL(MBUF_OK, mbuf_pool_destroy(pool, NULL));
        check_chain(buffer, 1, round);
        free_mbuf(buffer);
        old = buffer;
        old_pool = pool;
    }
    CHECK_EQUAL(49, in_the_same_place);
}

static void many_pools(void)
{
    enum { COUNT = 150 };
    mbuf_pool pools[COUNT];
    mbuf *buffers[COUNT];
    for (size_t at = 0; at < COUNT; at++) {
        pools[at] = make_pool(MIB);
        buffers[at] = alloc_from(pools[at], 300);
        stamp_buffer(buffers[at], at);
    }
    for (size_t at = 0; at < COUNT; at++) {
        mbuf_pool found;
        CHECK_EQUAL(MBUF_OK, mbuf_pool_of(buffers[at], &found));
        CHECK_EQUAL(pools[at], found);
        CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_append(buffers[at], buffers[(at + 1) % COUNT]));
    }
    for (size_t at = 0; at < COUNT; at++) {
        CHECK_EQUAL(MBUF_OK, mbuf_pool_destroy(pools[at], NULL));
        check_chain(buffers[at], 1, at);
    }
    for (size_t at = 0; at < COUNT; at++) {
        free_mbuf(buffers[at]);
        CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_free(buffers[at]));
    }
}

int main(void)
{
    witness = alloc_from(MBUF_POOL_DEFAULT, 1000);
    stamp_buffer(witness, 1);
    options_refused();
    options_allowed();
    explicit_huge_pages();
    numbers();
    statistics();
    reserve_and_trim();
    buffers_outlive_their_pool();
    pools_in_one_place();
    many_pools();
    check_chain(witness, 1, 1);
    free_mbuf(witness);
    CHECK_EQUAL(0, in_use_of(MBUF_POOL_DEFAULT));
    report_success("pools, their options, numbers, statistics and ends");
    return 0;
}
