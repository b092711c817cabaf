/* Rounds of alloc and free through the C interface: prints nanoseconds per pair, one round a line.
 *
 * c_interface WAY SIZE ROUNDS PAIRS, where WAY is acl, for the eleven functions, or own, for a pool of its own. */
#define _POSIX_C_SOURCE 200809L
#include <acl_mbuf.h>
#include <mbuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int acl_round(size_t size, long pairs) {
    for (long i = 0; i < pairs; i++) {
        aclrtMbuf buf;
        if (aclrtAllocBuf(&buf, size) != ACL_SUCCESS || aclrtFreeBuf(buf) != ACL_SUCCESS) {
            return 1;
        }
    }
    return 0;
}

static int own_round(mbuf_pool pool, size_t size, long pairs) {
    for (long i = 0; i < pairs; i++) {
        mbuf *buf;
        if (mbuf_alloc(pool, size, &buf) != MBUF_OK || mbuf_free(buf) != MBUF_OK) {
            return 1;
        }
    }
    return 0;
}

int main(int count, char **arguments) {
    if (count != 5) {
        return 2;
    }
    int own = strcmp(arguments[1], "own") == 0;
    size_t size = strtoull(arguments[2], NULL, 10);
    long rounds = atol(arguments[3]);
    long pairs = atol(arguments[4]);
    mbuf_pool pool = MBUF_POOL_DEFAULT;
    if (own && mbuf_pool_create(NULL, &pool) != MBUF_OK) {
        return 1;
    }
    /* The first round warms up. */
    for (long round = 0; round <= rounds; round++) {
        double start = now();
        if (own ? own_round(pool, size, pairs) : acl_round(size, pairs)) {
            return 1;
        }
        if (round > 0) {
            printf("%.3f\n", (now() - start) / (double)pairs);
        }
    }
    return 0;
}
