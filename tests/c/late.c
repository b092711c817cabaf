/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Calls at times when much is gone: in the destructors of threads, in handlers of exit, and in the child of a fork.
 */
#include "buffers.h"
#include "pools.h"

#include <pthread.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS = 40,
    ROUNDS = 3
};

static pthread_key_t early_key;
static pthread_key_t late_key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static aclrtMbuf left_behind[4 * THREADS];
static size_t left_count;
static aclrtMbuf of_main;

/* A bit of all: sizes of several classes, chains, copies. */
static void work(uint64_t stamp)
{
    for (uint64_t round = 0; round < 5; round++) {
        aclrtMbuf chain = make_chain(3, 100 + 700 * round, stamp + round);
        aclrtMbuf copy = copy_of(chain);
        check_chain(chain, 3, stamp + round);
        free_buffer(chain);
        check_chain(copy, 3, stamp + round);
        free_buffer(copy);
    }
}

/* ---- Threads ---- */

/* Makes a buffer that the main thread is to free. */
static void leave_behind(void)
{
    pthread_mutex_lock(&lock);
    CHECK(left_count < sizeof left_behind / sizeof left_behind[0]);
    left_behind[left_count] = make_buffer(400, left_count);
    left_count++;
    pthread_mutex_unlock(&lock);
}

/* Runs after the destructors of the library's own thread-local data, and in one case again. */
static void destroy_value(void *value)
{
    aclrtMbuf buffer = value;
    size_t round = length_of(buffer);
    check_data(buffer, 5);
    work(100 + round);
    leave_behind();
    if (round + 1 < ROUNDS) {
        CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(buffer, round + 1));
        CHECK_EQUAL(0, pthread_setspecific(late_key, buffer));
    } else {
        free_buffer(buffer);
    }
}

static aclrtMbuf value_for(size_t round)
{
    aclrtMbuf buffer = make_buffer(300, 5);
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(buffer, round));
    return buffer;
}

static void *run(void *argument)
{
    (void)argument;
    CHECK_EQUAL(0, pthread_setspecific(early_key, value_for(ROUNDS - 1)));
    CHECK_EQUAL(0, pthread_setspecific(late_key, value_for(0)));
    work(7);
    return NULL;
}

static void threads(void)
{
    pthread_t started[THREADS];
    for (size_t at = 0; at < THREADS; at++) {
        CHECK_EQUAL(0, pthread_create(&started[at], NULL, run, NULL));
    }
    for (size_t at = 0; at < THREADS; at++) {
        CHECK_EQUAL(0, pthread_join(started[at], NULL));
    }
    CHECK_EQUAL(4 * THREADS, left_count);
    for (size_t at = 0; at < left_count; at++) {
        check_chain(left_behind[at], 1, at);
        free_buffer(left_behind[at]);
    }
}

/* More threads than a small pool has room for, one after the other and at once. */
static void *use_pool(void *argument)
{
    mbuf_pool pool = *(mbuf_pool *)argument;
    mbuf *buffer = alloc_from(pool, 200);
    stamp_buffer(buffer, 1);
    check_chain(buffer, 1, 1);
    free_mbuf(buffer);
    return NULL;
}

static void many_threads_of_a_small_pool(void)
{
    enum { AT_ONCE = 100 };
    pthread_t started[AT_ONCE];
    mbuf_pool pool = make_pool(2 << 20);
    for (size_t round = 0; round < (is_slow() ? 1 : 3); round++) {
        for (size_t at = 0; at < AT_ONCE; at++) {
            CHECK_EQUAL(0, pthread_create(&started[at], NULL, use_pool, &pool));
        }
        for (size_t at = 0; at < AT_ONCE; at++) {
            CHECK_EQUAL(0, pthread_join(started[at], NULL));
        }
    }
    CHECK_EQUAL(0, in_use_of(pool));
    destroy_empty(pool);
}

/* ---- Fork ---- */

static void expect_success(pid_t child)
{
    int status = -1;
    CHECK(child > 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_EQUAL(0, WEXITSTATUS(status));
}

static void *work_in_child(void *argument)
{
    work(*(uint64_t *)argument);
    return NULL;
}

static void be_child(aclrtMbuf inherited)
{
    uint64_t stamp = 300;
    pthread_t thread;
    check_chain(inherited, 3, 60);
    stamp_buffer(inherited, 99);
    free_buffer(inherited);
    work(200);
    CHECK_EQUAL(0, pthread_create(&thread, NULL, work_in_child, &stamp));
    CHECK_EQUAL(0, pthread_join(thread, NULL));
    mbuf_pool pool = make_pool(4 << 20);
    use_pool(&pool);
    destroy_empty(pool);
    _exit(0);
}

static void fork_children(void)
{
    aclrtMbuf chain = make_chain(3, 500, 60);
    for (size_t round = 0; round < (is_slow() ? 2 : 5); round++) {
        uint64_t in_use = in_use_of(MBUF_POOL_DEFAULT);
        pid_t child = fork();
        if (child == 0) {
            be_child(chain);
        }
        /* At the same time as the child. */
        work(400);
        check_chain(chain, 3, 60);
        expect_success(child);
        check_chain(chain, 3, 60);
        CHECK_EQUAL(in_use, in_use_of(MBUF_POOL_DEFAULT));
    }
    free_buffer(chain);
}

/* ---- Exit ---- */

static void at_exit_first(void)
{
    work(1000);
    check_chain(of_main, 1, 77);
    free_buffer(of_main);
}

/* Registered before the first call of the library, so it runs after whatever that has registered. */
static void at_exit_last(void)
{
    work(2000);
    CHECK_EQUAL(0, in_use_of(MBUF_POOL_DEFAULT));
    report_success("calls in late destructors, handlers of exit and children of forks");
}

__attribute__((destructor)) static void after_exit(void)
{
    work(3000);
    CHECK_EQUAL(0, in_use_of(MBUF_POOL_DEFAULT));
}

int main(void)
{
    CHECK_EQUAL(0, atexit(at_exit_last));
    CHECK_EQUAL(0, pthread_key_create(&early_key, destroy_value));
    of_main = make_buffer(600, 77);
    CHECK_EQUAL(0, pthread_key_create(&late_key, destroy_value));
    CHECK_EQUAL(0, atexit(at_exit_first));
    threads();
    many_threads_of_a_small_pool();
    fork_children();
    CHECK_EQUAL(1, in_use_of(MBUF_POOL_DEFAULT));
    return 0;
}
