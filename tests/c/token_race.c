/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The token of a buffer that was freed, looked up all the time while its place is in turn a buffer and somebody's data that
 * looks like the buffer's live header.
 */
#include "buffers.h"
#include "pools.h"
#include "stop.h"

enum {
    SLAB = 65536,
    SIZE = 64,
    BUFFERS = 4
};

static mbuf_token old;
static void *look_up(void *argument)
{
    (void)argument;
    while (!over()) {
        for (size_t round = 0; round < 1000; round++) {
            mbuf *found = UNTOUCHED_POINTER;
            CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_from_token(&old, &found));
            CHECK_POINTER(UNTOUCHED_POINTER, found);
        }
    }
    return NULL;
}

static void alloc_all(mbuf_pool pool, mbuf **buffers)
{
    for (size_t at = 0; at < BUFFERS; at++) {
        buffers[at] = alloc_from(pool, SIZE);
    }
}

/* A live header with the old token's generation, as docs/layout.md has it. */
static void forge(unsigned char *place)
{
    const uint32_t refcount = 1;
    const uint16_t live = 1;
    memcpy(place, &refcount, sizeof refcount);
    memcpy(place + 4, &old.offset, sizeof old.offset);
    memcpy(place + 8, &old.offset, sizeof old.offset);
    memset(place + 12, 0, 4);
    memcpy(place + 22, &live, sizeof live);
    memcpy(place + 48, &old.generation, sizeof old.generation);
}

int main(void)
{
    mbuf *buffers[BUFFERS];
    pthread_t threads[2];
    mbuf_pool pool = make_pool(1);
    alloc_all(pool, buffers);
    mbuf *place = buffers[0];
    for (size_t at = 1; at < BUFFERS; at++) {
        place = buffers[at] > place ? buffers[at] : place;
    }
    CHECK_EQUAL(MBUF_OK, mbuf_token_of(place, &old));
    CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(buffers, BUFFERS));
    for (size_t at = 0; at < 2; at++) {
        CHECK_EQUAL(0, pthread_create(&threads[at], NULL, look_up, NULL));
    }
    for (size_t round = 0; round < (is_slow() ? 200u : 20000u); round++) {
        alloc_all(pool, buffers);
        CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(buffers, BUFFERS));
        mbuf *span = alloc_from(pool, SLAB - 192);
        CHECK((unsigned char *)place < (unsigned char *)data_of(span) + SLAB - 192);
        forge((unsigned char *)place);
        free_mbuf(span);
    }
    stop();
    for (size_t at = 0; at < 2; at++) {
        CHECK_EQUAL(0, pthread_join(threads[at], NULL));
    }
    destroy_empty(pool);
    report_success("an old token names nothing, whatever lies at its place");
    return 0;
}
