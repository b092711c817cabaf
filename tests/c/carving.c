/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Places where buffers are just being made, where old data lies that looks like live headers: while it is nobody's, a
 * place is refused at every moment.
 */
#include "buffers.h"
#include "pools.h"
#include "stop.h"

enum {
    SIZE = 700,
    /* A block of that size, header included. */
    BLOCK = 192 + 768,
    SLAB = 65536,
    SPANS = 32,
    TAKEN = 5,
    MADE = 17
};

static mbuf_pool pool;

/* Starts of blocks that are made, and never handed out. */
static mbuf *places[MADE];
static size_t place_count;

static void *probe(void *argument)
{
    (void)argument;
    while (!over()) {
        for (size_t round = 0; round < 1000; round++) {
            for (size_t at = 0; at < place_count; at++) {
                size_t length;
                CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_length(places[at], &length));
            }
        }
    }
    return NULL;
}

/* Fills all memory with what looks like live headers, and gives it back. */
static void leave_old_data(void)
{
    mbuf *spans[SPANS];
    size_t count = 0;
    while (mbuf_alloc(pool, SLAB - 192, &spans[count]) == MBUF_OK) {
        memset(data_of(spans[count]), 1, MADE * BLOCK);
        count++;
        CHECK(count < SPANS);
    }
    CHECK(count > 0);
    CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(spans, count));
}

/* Takes some buffers, for which more blocks are made than are taken, and has their slab given back. */
static void take_some(mbuf **taken)
{
    leave_old_data();
    for (size_t at = 0; at < TAKEN; at++) {
        taken[at] = alloc_from(pool, SIZE);
    }
    CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(taken, TAKEN));
    CHECK_EQUAL(MBUF_OK, mbuf_pool_trim(pool, NULL));
}

static int is_taken(const mbuf *place, mbuf *const *taken)
{
    for (size_t at = 0; at < TAKEN; at++) {
        if (taken[at] == place) {
            return 1;
        }
    }
    return 0;
}

static void find_places(mbuf *const *taken)
{
    uintptr_t slab = (uintptr_t)taken[0] / SLAB * SLAB;
    /* Not the first, where a buffer of a whole slab begins as well. */
    for (uintptr_t number = 1; number < MADE; number++) {
        mbuf *place = (mbuf *)(slab + number * BLOCK);
        if (!is_taken(place, taken)) {
            places[place_count++] = place;
        }
    }
    CHECK(place_count > 0);
}

int main(void)
{
    mbuf *expected[TAKEN];
    mbuf *taken[TAKEN];
    pthread_t prober;
    mbuf_pool_options options = MBUF_POOL_OPTIONS_INIT;
    options.capacity = 1 << 20;
    options.magazine_size = 128;
    CHECK_EQUAL(MBUF_OK, mbuf_pool_create(&options, &pool));
    /* After some rounds as many blocks are made at a time as ever will be, and the same are taken each time. */
    for (size_t round = 0; round < 100; round++) {
        take_some(expected);
    }
    find_places(expected);
    CHECK_EQUAL(0, pthread_create(&prober, NULL, probe, NULL));
    for (size_t round = 0; round < (is_slow() ? 200 : 20000); round++) {
        take_some(taken);
        CHECK_BYTES(expected, taken, sizeof taken);
    }
    stop();
    CHECK_EQUAL(0, pthread_join(prober, NULL));
    destroy_empty(pool);
    report_success("places where buffers are being made are refused");
    return 0;
}
