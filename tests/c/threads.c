/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Eight threads in a circle. Each allocates, stamps, chains and copies messages and hands them to the next, which
 * verifies and frees them, while the sender frees what it copied from.
 */
#include "buffers.h"
#include "pools.h"

#include <pthread.h>
#include <sched.h>

enum {
    THREADS = 8,
    RING = 32,
    LONGEST = 6,
    LARGEST = 2500
};

struct message {
    aclrtMbuf head;
    uint32_t count;
    uint64_t first;
};

struct ring {
    pthread_mutex_t lock;
    struct message messages[RING];
    size_t sent;
    size_t received;
};

struct station {
    pthread_t thread;
    struct ring ring;
    struct station *next;
    size_t to_send;
    size_t to_receive;
    uint64_t random;
    uint64_t stamp;
    /* The original of the message sent last, which this thread frees while the receiver may be reading the copy. */
    struct message original;
};

static int put(struct ring *ring, const struct message *message)
{
    pthread_mutex_lock(&ring->lock);
    int has_room = ring->sent - ring->received < RING;
    if (has_room) {
        ring->messages[ring->sent % RING] = *message;
        ring->sent++;
    }
    pthread_mutex_unlock(&ring->lock);
    return has_room;
}

static int take(struct ring *ring, struct message *message)
{
    pthread_mutex_lock(&ring->lock);
    int has_one = ring->sent != ring->received;
    if (has_one) {
        *message = ring->messages[ring->received % RING];
        ring->received++;
    }
    pthread_mutex_unlock(&ring->lock);
    return has_one;
}

static void verify_and_free(struct message *message)
{
    check_chain(message->head, message->count, message->first);
    free_buffer(message->head);
    message->head = NULL;
}

static struct message make_message(struct station *station)
{
    struct message message;
    size_t size = 1 + random_below(&station->random, LARGEST);
    uint32_t front = 1 + (uint32_t)random_below(&station->random, LONGEST);
    uint32_t behind = (uint32_t)random_below(&station->random, LONGEST);
    message.first = station->stamp;
    message.count = front + behind;
    station->stamp += message.count;
    message.head = make_chain(front, size, message.first);
    if (behind > 0) {
        aclrtMbuf rest = make_chain(behind, size / 2 + 1, message.first + front);
        CHECK_EQUAL(ACL_SUCCESS, aclrtAppendBufChain(message.head, rest));
    }
    return message;
}

/* Sends a message, or a copy of it, whose original stays until the next send. */
static int send_one(struct station *station)
{
    struct message message = make_message(station);
    struct message original = message;
    int is_copied = random_below(&station->random, 2) == 0;
    if (is_copied) {
        message.head = copy_of(original.head);
    }
    if (!put(&station->next->ring, &message)) {
        verify_and_free(&message);
        if (is_copied) {
            verify_and_free(&original);
        }
        return 0;
    }
    if (is_copied) {
        if (station->original.head != NULL) {
            verify_and_free(&station->original);
        }
        station->original = original;
    }
    return 1;
}

static int receive_one(struct station *station)
{
    struct message message;
    if (!take(&station->ring, &message)) {
        return 0;
    }
    if (random_below(&station->random, 4) == 0) {
        struct message copy = message;
        copy.head = copy_of(message.head);
        verify_and_free(&message);
        message = copy;
    }
    verify_and_free(&message);
    return 1;
}

static void *run(void *argument)
{
    struct station *station = argument;
    while (station->to_send > 0 || station->to_receive > 0) {
        size_t sent = station->to_send > 0 && send_one(station);
        size_t received = station->to_receive > 0 && receive_one(station);
        station->to_send -= sent;
        station->to_receive -= received;
        if (sent + received == 0) {
            sched_yield();
        }
    }
    if (station->original.head != NULL) {
        verify_and_free(&station->original);
    }
    return NULL;
}

int main(void)
{
    static struct station stations[THREADS];
    size_t messages = is_slow() ? 150 : 10000;
    for (size_t at = 0; at < THREADS; at++) {
        struct station *station = &stations[at];
        CHECK_EQUAL(0, pthread_mutex_init(&station->ring.lock, NULL));
        station->next = &stations[(at + 1) % THREADS];
        station->to_send = messages;
        station->to_receive = messages;
        station->random = 11 + at;
        station->stamp = (uint64_t)(at + 1) << 48;
    }
    for (size_t at = 0; at < THREADS; at++) {
        CHECK_EQUAL(0, pthread_create(&stations[at].thread, NULL, run, &stations[at]));
    }
    for (size_t at = 0; at < THREADS; at++) {
        CHECK_EQUAL(0, pthread_join(stations[at].thread, NULL));
        CHECK_EQUAL(stations[at].ring.sent, stations[at].ring.received);
    }
    mbuf_pool_statistics statistics = statistics_of(MBUF_POOL_DEFAULT);
    CHECK_EQUAL(0, statistics.in_use);
    CHECK_EQUAL(0, statistics.failed);
    report_success("eight threads in a circle leave nothing behind");
    return 0;
}
