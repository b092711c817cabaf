/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A pool that is full: of 8 MiB, by MBUF_CAPACITY, unless the caller has set that.
 */
#include "buffers.h"
#include "pools.h"

enum {
    MOST = 60000,
    SPAN = 500000
};

static aclrtMbuf buffers[MOST];
static size_t count;
static uint64_t random_state = 9;

/* Takes buffers of a size until there are no more. */
static size_t fill(size_t size)
{
    size_t before = count;
    for (;;) {
        aclrtMbuf buffer = UNTOUCHED_POINTER;
        int code = aclrtAllocBuf(&buffer, size);
        if (code != ACL_SUCCESS) {
            CHECK_EQUAL(ACL_ERROR_RT_MEMORY_ALLOCATION, code);
            CHECK_POINTER(UNTOUCHED_POINTER, buffer);
            return count - before;
        }
        CHECK(count < MOST);
        buffers[count++] = buffer;
    }
}

/* Takes copies of a buffer until there are no headers left. */
static size_t fill_with_copies(aclrtMbuf original)
{
    size_t before = count;
    for (;;) {
        aclrtMbuf copy = UNTOUCHED_POINTER;
        int code = aclrtCopyBufRef(original, &copy);
        if (code != ACL_SUCCESS) {
            CHECK_EQUAL(ACL_ERROR_RT_MEMORY_ALLOCATION, code);
            CHECK_POINTER(UNTOUCHED_POINTER, copy);
            return count - before;
        }
        CHECK(count < MOST);
        buffers[count++] = copy;
    }
}

static void free_random(size_t how_many)
{
    for (size_t at = 0; at < how_many; at++) {
        size_t which = random_below(&random_state, count);
        free_buffer(buffers[which]);
        buffers[which] = buffers[--count];
    }
}

static void as_many_as_were_freed(size_t size)
{
    size_t all = fill(size);
    CHECK(all >= 4);
    const size_t some[] = { 1, 2, all / 3 + 1, all / 2, all - 1, all };
    for (size_t at = 0; at < sizeof some / sizeof some[0]; at++) {
        uint64_t in_use = in_use_of(MBUF_POOL_DEFAULT);
        free_random(some[at]);
        CHECK_EQUAL(in_use - some[at], in_use_of(MBUF_POOL_DEFAULT));
        CHECK_EQUAL(some[at], fill(size));
        CHECK_EQUAL(0, fill(size));
        CHECK_EQUAL(in_use, in_use_of(MBUF_POOL_DEFAULT));
    }
    free_random(count);
    CHECK_EQUAL(0, in_use_of(MBUF_POOL_DEFAULT));
}

static void any_size_after_any_other(const size_t *sizes, size_t how_many)
{
    size_t fresh[8];
    CHECK(how_many <= 8);
    for (size_t at = 0; at < how_many; at++) {
        fresh[at] = fill(sizes[at]);
        free_random(count);
    }
    for (size_t earlier = 0; earlier < how_many; earlier++) {
        for (size_t later = 0; later < how_many; later++) {
            CHECK_EQUAL(fresh[earlier], fill(sizes[earlier]));
            free_random(count);
            CHECK_EQUAL(fresh[later], fill(sizes[later]));
            free_random(count);
        }
    }
    /* With one buffer left of the earlier size, all but its slab. */
    for (size_t later = 0; later < how_many; later++) {
        aclrtMbuf kept = make_buffer(700, 3);
        fill(700);
        free_random(count);
        size_t found = fill(sizes[later]);
        CHECK(found + fresh[later] / 8 + 1 >= fresh[later]);
        check_chain(kept, 1, 3);
        free_buffer(kept);
        free_random(count);
    }
}

static void failing_changes_nothing(void)
{
    size_t all = fill(700);
    for (size_t at = 0; at < all; at++) {
        stamp_buffer(buffers[at], at);
    }
    aclrtMbuf refused = UNTOUCHED_POINTER;
    for (size_t size = 1; size < 20000000; size = size * 3) {
        CHECK_EQUAL(ACL_ERROR_RT_MEMORY_ALLOCATION, aclrtAllocBuf(&refused, size));
    }
    CHECK_EQUAL(ACL_ERROR_RT_MEMORY_ALLOCATION, aclrtAllocBuf(&refused, (size_t)MBUF_MAX_SIZE));
    CHECK_EQUAL(ACL_ERROR_RT_MEMORY_ALLOCATION, aclrtCopyBufRef(buffers[0], &refused));
    CHECK_EQUAL(MBUF_ERROR_MEMORY, mbuf_alloc(MBUF_POOL_DEFAULT, 0, (mbuf **)(void *)&refused));
    CHECK_POINTER(UNTOUCHED_POINTER, refused);
    for (size_t at = 0; at < all; at++) {
        check_chain(buffers[at], 1, at);
    }
    free_random(count);
}

/* A copy of a chain for which headers do not suffice leaves nothing half copied, whichever header was the last. */
static void copies_of_chains(void)
{
    enum { LENGTH = 8 };
    aclrtMbuf chain = make_chain(LENGTH, 100, 50);
    fill(SPAN);
    fill(5000);
    fill(700);
    fill(1);
    aclrtMbuf tail = member_of(chain, LENGTH - 1);
    CHECK(fill_with_copies(tail) < LENGTH);
    /* Only headers are to be free, so what is freed is to be copies: a slab of them, in place of larger blocks. */
    free_buffer(buffers[0]);
    buffers[0] = buffers[--count];
    CHECK(fill_with_copies(tail) > LENGTH);
    size_t all = count;
    for (size_t headers = 0; headers < LENGTH; headers++) {
        uint64_t in_use = in_use_of(MBUF_POOL_DEFAULT);
        aclrtMbuf copy = UNTOUCHED_POINTER;
        CHECK_EQUAL(ACL_ERROR_RT_MEMORY_ALLOCATION, aclrtCopyBufRef(chain, &copy));
        CHECK_POINTER(UNTOUCHED_POINTER, copy);
        CHECK_EQUAL(in_use, in_use_of(MBUF_POOL_DEFAULT));
        CHECK_EQUAL(headers, fill_with_copies(tail));
        check_chain(chain, LENGTH, 50);
        for (size_t at = 0; at <= headers; at++) {
            free_buffer(buffers[--count]);
        }
    }
    CHECK_EQUAL(all - LENGTH, count);
    aclrtMbuf copy = copy_of(chain);
    free_buffer(chain);
    check_chain(copy, LENGTH, 50);
    free_buffer(copy);
    free_random(count);
    CHECK_EQUAL(0, in_use_of(MBUF_POOL_DEFAULT));
}

int main(void)
{
    const size_t sizes[] = { 1, 700, 5000, 32000, 40000, SPAN };
    const size_t how_many = sizeof sizes / sizeof sizes[0];
    CHECK_EQUAL(0, setenv("MBUF_CAPACITY", "8M", 0));
    CHECK(statistics_of(MBUF_POOL_DEFAULT).capacity <= 8 << 20);
    for (size_t at = 0; at < how_many; at++) {
        as_many_as_were_freed(sizes[at]);
    }
    any_size_after_any_other(is_slow() ? sizes + 1 : sizes, is_slow() ? how_many - 1 : how_many);
    failing_changes_nothing();
    copies_of_chains();
    CHECK_EQUAL(0, in_use_of(MBUF_POOL_DEFAULT));
    report_success("a full pool refuses, loses nothing, and serves again");
    return 0;
}
