/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What programs that look at pools share.
 */
#ifndef MBUF_TESTS_POOLS_H
#define MBUF_TESTS_POOLS_H

#include "check.h"
#include "mbuf.h"

static inline mbuf_pool make_pool(uint64_t capacity)
{
    mbuf_pool_options options = MBUF_POOL_OPTIONS_INIT;
    options.capacity = capacity;
    mbuf_pool pool = MBUF_POOL_DEFAULT;
    CHECK_EQUAL(MBUF_OK, mbuf_pool_create(&options, &pool));
    CHECK(pool != MBUF_POOL_DEFAULT);
    return pool;
}

/* The counts of a pool that no other thread uses, which must add up. */
static inline mbuf_pool_statistics statistics_of(mbuf_pool pool)
{
    mbuf_pool_statistics statistics;
    memset(&statistics, 0x5a, sizeof statistics);
    statistics.struct_size = sizeof statistics;
    CHECK_EQUAL(MBUF_OK, mbuf_pool_get_statistics(pool, &statistics));
    CHECK_EQUAL(sizeof statistics, statistics.struct_size);
    CHECK_EQUAL(statistics.carved, statistics.in_use + statistics.cached + statistics.in_depot);
    CHECK_EQUAL(statistics.in_use, statistics.allocs - statistics.frees);
    CHECK(statistics.reserved >= statistics.capacity);
    return statistics;
}

static inline uint64_t in_use_of(mbuf_pool pool)
{
    return statistics_of(pool).in_use;
}

/* Destroys a pool that no buffer is out of. */
static inline void destroy_empty(mbuf_pool pool)
{
    uint64_t in_use = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_OK, mbuf_pool_destroy(pool, &in_use));
    CHECK_EQUAL(0, in_use);
}

static inline mbuf *alloc_from(mbuf_pool pool, size_t size)
{
    mbuf *buffer = NULL;
    CHECK_EQUAL(MBUF_OK, mbuf_alloc(pool, size, &buffer));
    CHECK(buffer != NULL);
    return buffer;
}

static inline void free_mbuf(mbuf *buffer)
{
    CHECK_EQUAL(MBUF_OK, mbuf_free(buffer));
}

#endif
