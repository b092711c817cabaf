/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Threads that never call the library but in a late destructor, that of a pthread key. Whatever they use of a pool is
 * there for others when they have ended.
 */
#include "buffers.h"
#include "pools.h"

#include <pthread.h>

enum {
    /* More than a small pool has caches for. */
    THREADS = 200,
    MOST = 4000,
    SIZE = 1000
};

static pthread_key_t key;
static mbuf_pool pool;
static mbuf *buffers[MOST];

static void destroy_value(void *value)
{
    mbuf *own[8];
    check_chain(value, 1, 5);
    free_mbuf(value);
    CHECK_EQUAL(MBUF_OK, mbuf_alloc_bulk(pool, SIZE, own, 8));
    CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(own, 8));
}

static void *run(void *value)
{
    CHECK_EQUAL(0, pthread_setspecific(key, value));
    return NULL;
}

static size_t all_there_is(void)
{
    size_t count = 0;
    while (mbuf_alloc(pool, SIZE, &buffers[count]) == MBUF_OK) {
        count++;
        CHECK(count < MOST);
    }
    CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(buffers, count));
    return count;
}

int main(void)
{
    CHECK_EQUAL(0, pthread_key_create(&key, destroy_value));
    pool = make_pool(2 << 20);
    size_t count = all_there_is();
    CHECK(count > 100);
    for (size_t at = 0; at < THREADS; at++) {
        pthread_t thread;
        mbuf *value = alloc_from(pool, SIZE);
        stamp_buffer(value, 5);
        CHECK_EQUAL(0, pthread_create(&thread, NULL, run, value));
        CHECK_EQUAL(0, pthread_join(thread, NULL));
    }
    CHECK_EQUAL(0, in_use_of(pool));
    CHECK_EQUAL(count, all_there_is());
    destroy_empty(pool);
    report_success("threads that only call in late destructors leave nothing behind");
    return 0;
}
