/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A program written to the eleven functions alone, for whatever library is there: a producer sends chains to a consumer
 * and keeps copies. Ends with 0 when all worked, and with 3 when the functions are not supported.
 */
#include "buffers.h"

#include <pthread.h>

enum {
    NOT_SUPPORTED = 207000,
    ENDS_UNSUPPORTED = 3,
    MESSAGES = 500,
    RING = 16
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    aclrtMbuf messages[RING];
    size_t sent;
    size_t received;
} ring = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static uint32_t parts_of(size_t number)
{
    return 1 + (uint32_t)(number % 5);
}

static void *produce(void *argument)
{
    (void)argument;
    aclrtMbuf kept = NULL;
    for (size_t number = 0; number < MESSAGES; number++) {
        aclrtMbuf message = make_chain(parts_of(number), 1 + number * 3, number * 10);
        aclrtMbuf copy = copy_of(message);
        pthread_mutex_lock(&ring.lock);
        while (ring.sent - ring.received == RING) {
            pthread_cond_wait(&ring.changed, &ring.lock);
        }
        ring.messages[ring.sent % RING] = message;
        ring.sent++;
        pthread_cond_signal(&ring.changed);
        pthread_mutex_unlock(&ring.lock);
        if (kept != NULL) {
            check_chain(kept, parts_of(number - 1), (number - 1) * 10);
            free_buffer(kept);
        }
        kept = copy;
    }
    free_buffer(kept);
    return NULL;
}

static void consume(void)
{
    for (size_t number = 0; number < MESSAGES; number++) {
        pthread_mutex_lock(&ring.lock);
        while (ring.sent == ring.received) {
            pthread_cond_wait(&ring.changed, &ring.lock);
        }
        aclrtMbuf message = ring.messages[ring.received % RING];
        ring.received++;
        pthread_cond_signal(&ring.changed);
        pthread_mutex_unlock(&ring.lock);
        check_chain(message, parts_of(number), number * 10);
        free_buffer(message);
        CHECK_EQUAL(ACL_ERROR_RT_PARAM_INVALID, aclrtFreeBuf((aclrtMbuf)(uintptr_t)64));
    }
}

int main(void)
{
    aclrtMbuf first = NULL;
    aclError code = aclrtAllocBuf(&first, 100);
    if (code == NOT_SUPPORTED) {
        printf("not supported: the library in use says %d\n", code);
        return ENDS_UNSUPPORTED;
    }
    CHECK_EQUAL(ACL_SUCCESS, code);
    free_buffer(first);
    pthread_t producer;
    CHECK_EQUAL(0, pthread_create(&producer, NULL, produce, NULL));
    consume();
    CHECK_EQUAL(0, pthread_join(producer, NULL));
    report_success("a program for the eleven functions alone");
    return 0;
}
