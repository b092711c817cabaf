/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Threads that outlive the pools they use, and have buffers that do: nothing that a thread keeps at hand of one pool is
 * taken for another's in the same place.
 */
#include "buffers.h"
#include "pools.h"

#include <pthread.h>

enum {
    THREADS = 4,
    /* More than a thread has at hand without looking. */
    POOLS = 6,
    HELD = 5
};

static pthread_barrier_t barrier;
static mbuf_pool pools[POOLS];
static size_t pool_count;

static size_t rounds(void)
{
    return is_slow() ? 30 : 1000;
}

static void wait_for_all(void)
{
    int code = pthread_barrier_wait(&barrier);
    CHECK(code == 0 || code == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void use(mbuf_pool pool, uint64_t stamp, mbuf **held)
{
    mbuf *more[HELD];
    *held = alloc_from(pool, 700);
    stamp_buffer(*held, stamp);
    CHECK_EQUAL(MBUF_OK, mbuf_alloc_bulk(pool, 700, more, HELD));
    for (size_t at = 0; at < HELD; at++) {
        stamp_buffer(more[at], stamp + 1 + at);
    }
    mbuf *copy = copy_of(more[0]);
    check_chain(copy, 1, stamp + 1);
    for (size_t at = 0; at < HELD; at++) {
        check_chain(more[at], 1, stamp + 1 + at);
        free_mbuf(more[at]);
    }
    free_mbuf(copy);
}

/* Every other round each buffer outlives its pool, and is freed beside a new one. */
static void *run(void *argument)
{
    uint64_t stamp = (uint64_t)(1 + *(size_t *)argument) << 40;
    mbuf *held[POOLS] = { NULL };
    mbuf *kept[POOLS] = { NULL };
    for (size_t round = 0; round < rounds(); round++) {
        wait_for_all();
        for (size_t at = 0; at < pool_count; at++) {
            use(pools[at], stamp + 100 * at, &held[at]);
        }
        for (size_t at = 0; at < pool_count; at++) {
            if (kept[at] != NULL) {
                check_chain(kept[at], 1, stamp + 100 * at);
                free_mbuf(kept[at]);
                kept[at] = NULL;
            }
            check_chain(held[at], 1, stamp + 100 * at);
            if (round % 2 == 0) {
                kept[at] = held[at];
            } else {
                free_mbuf(held[at]);
            }
        }
        wait_for_all();
    }
    for (size_t at = 0; at < pool_count; at++) {
        if (kept[at] != NULL) {
            free_mbuf(kept[at]);
        }
    }
    return NULL;
}

static void come_and_go(size_t count)
{
    pthread_t threads[THREADS];
    size_t numbers[THREADS];
    pool_count = count;
    CHECK_EQUAL(0, pthread_barrier_init(&barrier, NULL, THREADS + 1));
    for (size_t at = 0; at < THREADS; at++) {
        numbers[at] = at;
        CHECK_EQUAL(0, pthread_create(&threads[at], NULL, run, &numbers[at]));
    }
    for (size_t round = 0; round < rounds(); round++) {
        for (size_t at = 0; at < count; at++) {
            pools[at] = make_pool(2 << 20);
        }
        wait_for_all();
        wait_for_all();
        for (size_t at = 0; at < count; at++) {
            uint64_t in_use = UNTOUCHED_NUMBER;
            CHECK_EQUAL(round % 2 == 0 ? THREADS : 0, in_use_of(pools[at]));
            CHECK_EQUAL(MBUF_OK, mbuf_pool_destroy(pools[at], &in_use));
            CHECK_EQUAL(round % 2 == 0 ? THREADS : 0, in_use);
        }
    }
    for (size_t at = 0; at < THREADS; at++) {
        CHECK_EQUAL(0, pthread_join(threads[at], NULL));
    }
    CHECK_EQUAL(0, pthread_barrier_destroy(&barrier));
}

int main(void)
{
    come_and_go(1);
    come_and_go(POOLS);
    report_success("threads outlive pools, and buffers do");
    return 0;
}
