/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Pools that come and go in one place while other threads throw handles, tokens and numbers of earlier ones: all are
 * refused, at whatever moment.
 */
#include "pools.h"
#include "refused.h"

#include <pthread.h>
#include <time.h>

enum {
    THROWERS = 2,
    SIZE = 700,
    /* Of which all pools here hand out the first block at the same address. */
    CAPACITY = 4 << 20
};

static double seconds_to_run = 1;
static struct timespec started;

/* What is known of pools that have ended. Set before the threads start. */
static uintptr_t first_block;
static mbuf_pool earlier_pool;
static mbuf_token earlier_token;

static int is_over(void)
{
    struct timespec now;
    CHECK_EQUAL(0, clock_gettime(CLOCK_MONOTONIC, &now));
    double seconds = (double)(now.tv_sec - started.tv_sec) + (double)(now.tv_nsec - started.tv_nsec) / 1e9;
    return seconds > seconds_to_run;
}

static void *make_and_end(void *argument)
{
    uint64_t *pools = argument;
    while (!is_over()) {
        mbuf *buffers[4];
        uint64_t in_use = UNTOUCHED_NUMBER;
        mbuf_pool pool = make_pool(CAPACITY);
        CHECK_EQUAL(MBUF_OK, mbuf_alloc_bulk(pool, SIZE, buffers, 4));
        for (size_t at = 0; at < 4; at++) {
            stamp_buffer(buffers[at], *pools + at);
        }
        mbuf_token token;
        mbuf *found = NULL;
        CHECK_EQUAL(MBUF_OK, mbuf_token_of(buffers[3], &token));
        free_mbuf(buffers[0]);
        CHECK_EQUAL(MBUF_OK, mbuf_pool_destroy(pool, &in_use));
        CHECK_EQUAL(3, in_use);
        CHECK_EQUAL(MBUF_OK, mbuf_from_token(&token, &found));
        CHECK_POINTER(buffers[3], found);
        for (size_t at = 1; at < 4; at++) {
            check_chain(buffers[at], 1, *pools + at);
            free_mbuf(buffers[at]);
        }
        CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_from_token(&token, &found));
        *pools += 1;
    }
    return NULL;
}

/* Addresses that are no header in any of the pools: they have one size of block, and all blocks start where they always
 * did. */
static struct suspect next_suspect(uint64_t *random)
{
    size_t block = 192 + 768;
    uintptr_t inside = 64 * (1 + random_below(random, block / 64 - 1));
    uintptr_t start = first_block + block * random_below(random, 4);
    struct suspect suspect = { (aclrtMbuf)(start + inside), "a line inside a block" };
    switch (random_below(random, 3)) {
    case 0:
        suspect.handle = (aclrtMbuf)(start + 1 + random_below(random, 63));
        suspect.what = "misaligned";
        break;
    case 1:
        suspect.handle = (aclrtMbuf)(first_block - 64 * (1 + random_below(random, 1 << 15)));
        suspect.what = "in the pool's tables";
        break;
    default:
        break;
    }
    return suspect;
}

static void throw_numbers(uint64_t *random)
{
    mbuf *found = UNTOUCHED_POINTER;
    mbuf_token token = earlier_token;
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_from_token(&token, &found));
    token.offset += (uint32_t)random_below(random, 1000);
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_from_token(&token, &found));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_alloc(earlier_pool, SIZE, &found));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_pool_trim(earlier_pool, NULL));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_pool_reserve(earlier_pool, SIZE, 1));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_pool_destroy(earlier_pool, NULL));
    CHECK_POINTER(UNTOUCHED_POINTER, found);
}

static void *throw_handles(void *argument)
{
    uint64_t *random = argument;
    aclrtMbuf witness = make_buffer(100, 1);
    for (size_t round = 0; round % 64 != 0 || !is_over(); round++) {
        struct suspect suspect = next_suspect(random);
        check_refused(suspect, witness);
        check_refused_extended(suspect, witness);
        throw_numbers(random);
    }
    check_chain(witness, 1, 1);
    free_buffer(witness);
    return NULL;
}

/* ---- One pool, two that destroy it ---- */

static pthread_barrier_t both;
static mbuf_pool contested;

static void *destroy_contested(void *argument)
{
    size_t *wins = argument;
    size_t rounds = is_slow() ? 50 : 2000;
    for (size_t round = 0; round < rounds; round++) {
        pthread_barrier_wait(&both);
        int code = mbuf_pool_destroy(contested, NULL);
        CHECK(code == MBUF_OK || code == MBUF_ERROR_HANDLE);
        *wins += code == MBUF_OK;
        pthread_barrier_wait(&both);
    }
    return NULL;
}

static void one_of_two_destroys(void)
{
    size_t rounds = is_slow() ? 50 : 2000;
    size_t wins[2] = { 0, 0 };
    pthread_t threads[2];
    CHECK_EQUAL(0, pthread_barrier_init(&both, NULL, 3));
    for (size_t at = 0; at < 2; at++) {
        CHECK_EQUAL(0, pthread_create(&threads[at], NULL, destroy_contested, &wins[at]));
    }
    for (size_t round = 0; round < rounds; round++) {
        contested = make_pool(1 << 20);
        pthread_barrier_wait(&both);
        pthread_barrier_wait(&both);
        CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_pool_destroy(contested, NULL));
    }
    for (size_t at = 0; at < 2; at++) {
        CHECK_EQUAL(0, pthread_join(threads[at], NULL));
    }
    CHECK_EQUAL(rounds, wins[0] + wins[1]);
    CHECK_EQUAL(0, pthread_barrier_destroy(&both));
}

static void come_and_go(void)
{
    static uint64_t randoms[THROWERS] = { 3, 4 };
    pthread_t maker;
    pthread_t throwers[THROWERS];
    uint64_t pools = 0;
    CHECK_EQUAL(0, clock_gettime(CLOCK_MONOTONIC, &started));
    CHECK_EQUAL(0, pthread_create(&maker, NULL, make_and_end, &pools));
    for (size_t at = 0; at < THROWERS; at++) {
        CHECK_EQUAL(0, pthread_create(&throwers[at], NULL, throw_handles, &randoms[at]));
    }
    CHECK_EQUAL(0, pthread_join(maker, NULL));
    for (size_t at = 0; at < THROWERS; at++) {
        CHECK_EQUAL(0, pthread_join(throwers[at], NULL));
    }
    CHECK(pools > 0);
}

int main(void)
{
    const char *seconds = getenv("MBUF_TEST_SECONDS");
    if (seconds != NULL) {
        seconds_to_run = strtod(seconds, NULL);
        CHECK(seconds_to_run > 0);
    }
    earlier_pool = make_pool(CAPACITY);
    mbuf *buffer = alloc_from(earlier_pool, SIZE);
    first_block = (uintptr_t)buffer;
    CHECK_EQUAL(MBUF_OK, mbuf_token_of(buffer, &earlier_token));
    free_mbuf(buffer);
    destroy_empty(earlier_pool);
    come_and_go();
    one_of_two_destroys();
    CHECK_EQUAL(0, in_use_of(MBUF_POOL_DEFAULT));
    report_success("pools come and go, and what is left of earlier ones is refused");
    return 0;
}
