/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * One chain, read and copied by all threads at once; and copies of one buffer, freed by all threads at once.
 */
#include "buffers.h"
#include "pools.h"

#include <pthread.h>

enum {
    THREADS = 6,
    LENGTH = 3
};

static pthread_barrier_t barrier;
static aclrtMbuf common;
static aclrtMbuf parts[THREADS];

static size_t rounds(void)
{
    return is_slow() ? 60 : 4000;
}

static void wait_for_all(void)
{
    int code = pthread_barrier_wait(&barrier);
    CHECK(code == 0 || code == PTHREAD_BARRIER_SERIAL_THREAD);
}

/* The common chain stays as it is; what each makes of it is its own. */
static void *copy_common(void *argument)
{
    uint64_t stamp = 1000 * (1 + *(size_t *)argument);
    wait_for_all();
    for (size_t round = 0; round < rounds(); round++) {
        check_chain(common, LENGTH, 5);
        uint32_t from = (uint32_t)(round % LENGTH);
        aclrtMbuf copy = copy_of(member_of(common, from));
        check_chain(copy, LENGTH - from, 5 + from);
        for (uint32_t index = 0; index < LENGTH - from; index++) {
            stamp_user_area(member_of(copy, index), stamp + index);
            CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(member_of(copy, index), index));
        }
        aclrtMbuf other = copy_of(copy);
        free_buffer(copy);
        for (uint32_t index = 0; index < LENGTH - from; index++) {
            check_user_area(member_of(other, index), stamp + index);
            CHECK_EQUAL(index, length_of(member_of(other, index)));
        }
        free_buffer(other);
    }
    return NULL;
}

/* All free their copies at the same moment; one of them is the last. */
static void *free_part(void *argument)
{
    size_t number = *(size_t *)argument;
    for (size_t round = 0; round < rounds(); round++) {
        wait_for_all();
        check_data(parts[number], round);
        free_buffer(parts[number]);
        CHECK_EQUAL(ACL_ERROR_RT_PARAM_INVALID, aclrtFreeBuf(parts[number]));
        wait_for_all();
    }
    return NULL;
}

static void hand_out_parts(void)
{
    uint64_t in_use = in_use_of(MBUF_POOL_DEFAULT);
    for (size_t round = 0; round < rounds(); round++) {
        parts[0] = make_buffer(300, round);
        for (size_t at = 1; at < THREADS; at++) {
            parts[at] = copy_of(parts[at - 1]);
        }
        wait_for_all();
        wait_for_all();
        CHECK_EQUAL(in_use, in_use_of(MBUF_POOL_DEFAULT));
    }
}

static void with_threads(void *(*run)(void *), void (*meanwhile)(void))
{
    pthread_t threads[THREADS];
    size_t numbers[THREADS];
    CHECK_EQUAL(0, pthread_barrier_init(&barrier, NULL, THREADS + 1));
    for (size_t at = 0; at < THREADS; at++) {
        numbers[at] = at;
        CHECK_EQUAL(0, pthread_create(&threads[at], NULL, run, &numbers[at]));
    }
    meanwhile();
    for (size_t at = 0; at < THREADS; at++) {
        CHECK_EQUAL(0, pthread_join(threads[at], NULL));
    }
    CHECK_EQUAL(0, pthread_barrier_destroy(&barrier));
}

int main(void)
{
    common = make_chain(LENGTH, 500, 5);
    with_threads(copy_common, wait_for_all);
    check_chain(common, LENGTH, 5);
    CHECK_EQUAL(LENGTH, in_use_of(MBUF_POOL_DEFAULT));
    with_threads(free_part, hand_out_parts);
    free_buffer(common);
    CHECK_EQUAL(0, in_use_of(MBUF_POOL_DEFAULT));
    report_success("one chain copied and copies freed by all threads at once");
    return 0;
}
