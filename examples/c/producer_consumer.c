/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A producer and a consumer on two threads, written to the eleven functions of acl_mbuf.h and to nothing else of the library.
 *
 *     producer_consumer_c [messages]
 *
 * A message is a chain: a buffer with the message's header, then one to four with payload. Each carries a label in its
 * user area. The producer hands chains over through a ring and keeps a copy-ref of some, as a sender would that has to send
 * again what got lost; half of these it does send again, when the consumer may long have freed the original. The consumer
 * walks each chain, verifies it against the labels, and frees it.
 *
 * Exits with 0 if every message arrived, was verified, and was freed; with 1 if not; with 2 if the argument is no number.
 */
#define _POSIX_C_SOURCE 200809L

#include <acl_mbuf.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_MESSAGES = 20000,
    RING_SLOTS = 64,
    MAX_PARTS = 4,
    MAX_PAYLOAD = 2048,
    KEEP_EVERY = 8,
    WINDOW = 16
};

/* ---- What travels ---- */

/* At the start of every buffer's user area. */
struct label {
    uint64_t sequence; /* of the message: 0, 1, 2 ... */
    uint64_t sending;  /* 1, or 2 when it is sent again */
    uint32_t length;   /* bytes of data in this buffer */
    uint32_t checksum; /* of these bytes */
};

/* The data of a chain's first buffer. */
struct header {
    uint32_t parts; /* buffers that follow */
    uint32_t bytes; /* of data in them */
};

/* What a thread has done. Each thread has its own; they are added up once both are done. */
struct tally {
    uint64_t sent;
    uint64_t kept;
    uint64_t resent;
    uint64_t received;
    uint64_t verified;
    uint64_t bytes;
    uint64_t made;  /* buffers: allocated or copied */
    uint64_t freed; /* buffers */
    uint64_t errors;
};

/* FNV-1a. */
static uint32_t checksum(const uint8_t *data, size_t length)
{
    uint32_t sum = UINT32_C(2166136261);
    for (size_t i = 0; i < length; i++) {
        sum = (sum ^ data[i]) * UINT32_C(16777619);
    }
    return sum;
}

static uint32_t parts_of(uint64_t sequence)
{
    return 1 + (uint32_t)(sequence % MAX_PARTS);
}

static uint32_t size_of_part(uint64_t sequence, uint32_t part)
{
    uint64_t mixed = (sequence * MAX_PARTS + part) * UINT64_C(0x9E3779B97F4A7C15);
    return 1 + (uint32_t)(mixed >> 32) % MAX_PAYLOAD;
}

/* ---- The ring ---- */

/* Between one producer and one consumer. `written` counts what was put in, and only the producer changes it; `taken` counts
 * what was taken out, and only the consumer does. Each is stored with release once the slot was used, and loaded with acquire
 * by the other side before it uses the slot. So what was done to a buffer before it was pushed happened before what is done to
 * it after it was popped: handing over a handle needs no more than this. */
struct ring {
    alignas(64) atomic_size_t written;
    alignas(64) atomic_size_t taken;
    alignas(64) aclrtMbuf slots[RING_SLOTS];
};

/* Waits while the ring is full. NULL tells the consumer that this is the end. */
static void ring_push(struct ring *ring, aclrtMbuf message)
{
    size_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
    while (written - atomic_load_explicit(&ring->taken, memory_order_acquire) == RING_SLOTS) {
        sched_yield();
    }
    ring->slots[written % RING_SLOTS] = message;
    atomic_store_explicit(&ring->written, written + 1, memory_order_release);
}

/* Waits while the ring is empty. */
static aclrtMbuf ring_pop(struct ring *ring)
{
    size_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);
    while (atomic_load_explicit(&ring->written, memory_order_acquire) == taken) {
        sched_yield();
    }
    aclrtMbuf message = ring->slots[taken % RING_SLOTS];
    atomic_store_explicit(&ring->taken, taken + 1, memory_order_release);
    return message;
}

/* ---- Calls of the library ---- */

static bool succeeded(aclError code, const char *call)
{
    if (code != ACL_SUCCESS) {
        fprintf(stderr, "%s: error %d\n", call, code);
    }
    return code == ACL_SUCCESS;
}

/* Whether the call succeeded. If it did not, it and its code are on stderr. */
#define OK(call) succeeded((call), #call)

/* Frees a whole chain, and counts its buffers. */
static void free_chain(aclrtMbuf head, struct tally *tally)
{
    uint32_t buffers = 0;
    if (OK(aclrtGetBufChainNum(head, &buffers)) && OK(aclrtFreeBuf(head))) {
        tally->freed += buffers;
    } else {
        tally->errors++;
    }
}

/* A buffer for `size` bytes, and where they go; NULL if there is none. */
static aclrtMbuf allocate(size_t size, uint8_t **data, struct tally *tally)
{
    aclrtMbuf buffer = NULL;
    if (!OK(aclrtAllocBuf(&buffer, size))) {
        tally->errors++;
        return NULL;
    }
    tally->made++;

    void *start = NULL;
    size_t room = 0;
    if (!OK(aclrtGetBufData(buffer, &start, &room)) || room != size) {
        tally->errors++;
        free_chain(buffer, tally);
        return NULL;
    }
    *data = start;
    return buffer;
}

/* Declares the first `length` bytes of data valid, and labels them. */
static bool seal(aclrtMbuf buffer, const uint8_t *data, uint32_t length, uint64_t sequence)
{
    struct label label = {.sequence = sequence, .sending = 1, .length = length, .checksum = checksum(data, length)};
    return OK(aclrtSetBufDataLen(buffer, length)) && OK(aclrtSetBufUserData(buffer, &label, sizeof label, 0));
}

/* ---- The producer ---- */

struct producer {
    struct ring *ring;
    uint64_t messages;
    struct tally tally;
    aclrtMbuf window[WINDOW]; /* copies of messages that may have to be sent again, the oldest first */
    size_t in_window;
};

/* The first buffer of a message, alone; NULL if there is none. */
static aclrtMbuf build_header(uint64_t sequence, struct tally *tally)
{
    struct header header = {.parts = parts_of(sequence), .bytes = 0};
    for (uint32_t part = 0; part < header.parts; part++) {
        header.bytes += size_of_part(sequence, part);
    }

    uint8_t *data = NULL;
    aclrtMbuf buffer = allocate(sizeof header, &data, tally);
    if (buffer == NULL) {
        return NULL;
    }
    memcpy(data, &header, sizeof header);
    if (!seal(buffer, data, sizeof header, sequence)) {
        tally->errors++;
        free_chain(buffer, tally);
        return NULL;
    }
    return buffer;
}

/* Puts one buffer of payload at the end of the message. */
static bool append_part(aclrtMbuf head, uint64_t sequence, uint32_t part, struct tally *tally)
{
    uint32_t size = size_of_part(sequence, part);
    uint8_t *data = NULL;
    aclrtMbuf buffer = allocate(size, &data, tally);
    if (buffer == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < size; i++) {
        data[i] = (uint8_t)(sequence + part + i * 7);
    }
    if (!seal(buffer, data, size, sequence) || !OK(aclrtAppendBufChain(head, buffer))) {
        /* Not appended, so it is still ours. */
        tally->errors++;
        free_chain(buffer, tally);
        return false;
    }
    /* From here on the chain owns it: freeing the head frees it too. */
    return true;
}

/* A whole message; NULL if there is none. */
static aclrtMbuf build_message(uint64_t sequence, struct tally *tally)
{
    aclrtMbuf head = build_header(sequence, tally);
    if (head == NULL) {
        return NULL;
    }
    for (uint32_t part = 0; part < parts_of(sequence); part++) {
        if (!append_part(head, sequence, part, tally)) {
            free_chain(head, tally);
            return NULL;
        }
    }
    return head;
}

/* Takes the oldest copy out of the window: every other one is sent again, the rest counts as acknowledged. */
static void settle_oldest(struct producer *producer)
{
    struct tally *tally = &producer->tally;
    aclrtMbuf copy = producer->window[0];
    producer->in_window--;
    memmove(&producer->window[0], &producer->window[1], producer->in_window * sizeof producer->window[0]);

    struct label label;
    if (!OK(aclrtGetBufUserData(copy, &label, sizeof label, 0))) {
        tally->errors++;
        free_chain(copy, tally);
        return;
    }
    if (label.sequence / KEEP_EVERY % 2 == 0) {
        free_chain(copy, tally);
        return;
    }
    /* The copy's user area is its own: the original's label stays what it is. */
    uint64_t again = 2;
    if (!OK(aclrtSetBufUserData(copy, &again, sizeof again, offsetof(struct label, sending)))) {
        tally->errors++;
        free_chain(copy, tally);
        return;
    }
    ring_push(producer->ring, copy);
    tally->resent++;
}

/* Keeps a second handle on every buffer of the message. No data is copied. */
static bool keep_copy(struct producer *producer, aclrtMbuf message)
{
    struct tally *tally = &producer->tally;
    if (producer->in_window == WINDOW) {
        settle_oldest(producer);
    }
    uint32_t buffers = 0;
    aclrtMbuf copy = NULL;
    if (!OK(aclrtGetBufChainNum(message, &buffers)) || !OK(aclrtCopyBufRef(message, &copy))) {
        tally->errors++;
        return false;
    }
    tally->made += buffers;
    tally->kept++;
    producer->window[producer->in_window++] = copy;
    return true;
}

static void produce(struct producer *producer)
{
    for (uint64_t sequence = 0; sequence < producer->messages; sequence++) {
        aclrtMbuf message = build_message(sequence, &producer->tally);
        if (message == NULL) {
            break;
        }
        /* Before the message is pushed: afterwards it is the consumer's, and may be freed at any moment. */
        if (sequence % KEEP_EVERY == 0 && !keep_copy(producer, message)) {
            free_chain(message, &producer->tally);
            break;
        }
        ring_push(producer->ring, message);
        producer->tally.sent++;
    }
    while (producer->in_window > 0) {
        settle_oldest(producer);
    }
    ring_push(producer->ring, NULL);
}

/* ---- The consumer ---- */

struct consumer {
    struct ring *ring;
    uint64_t expected; /* sequence number of the next message that is sent for the first time */
    struct tally tally;
};

/* Whether the data is what the label says. Gives both. */
static bool verify_buffer(aclrtMbuf buffer, struct label *label, const uint8_t **data)
{
    void *start = NULL;
    size_t size = 0;
    size_t length = 0;
    if (!OK(aclrtGetBufData(buffer, &start, &size)) || !OK(aclrtGetBufDataLen(buffer, &length)) ||
        !OK(aclrtGetBufUserData(buffer, label, sizeof *label, 0))) {
        return false;
    }
    *data = start;
    return length <= size && length == label->length && checksum(*data, length) == label->checksum;
}

/* Whether the buffers behind the head are those that the header announces. */
static bool verify_parts(aclrtMbuf head, uint64_t sequence, const struct header *header)
{
    uint32_t buffers = 0;
    if (!OK(aclrtGetBufChainNum(head, &buffers)) || buffers != header->parts + 1) {
        return false;
    }
    uint64_t bytes = 0;
    for (uint32_t index = 1; index < buffers; index++) {
        /* Borrowed: it stays the chain's, and is freed with it. */
        aclrtMbuf part = NULL;
        struct label label;
        const uint8_t *data = NULL;
        if (!OK(aclrtGetBufFromChain(head, index, &part)) || !verify_buffer(part, &label, &data) ||
            label.sequence != sequence) {
            return false;
        }
        bytes += label.length;
    }
    return bytes == header->bytes;
}

/* Whether the message is whole, and comes when it should. */
static bool verify_message(struct consumer *consumer, aclrtMbuf head)
{
    struct label label;
    struct header header;
    const uint8_t *data = NULL;
    if (!verify_buffer(head, &label, &data) || label.length != sizeof header) {
        return false;
    }
    memcpy(&header, data, sizeof header);

    bool in_order = label.sending == 2 && label.sequence < consumer->expected;
    if (label.sending == 1) {
        in_order = label.sequence == consumer->expected;
        consumer->expected = label.sequence + 1;
    }
    if (!in_order || !verify_parts(head, label.sequence, &header)) {
        return false;
    }
    consumer->tally.bytes += header.bytes;
    return true;
}

static void *consume(void *argument)
{
    struct consumer *consumer = argument;
    for (aclrtMbuf message = ring_pop(consumer->ring); message != NULL; message = ring_pop(consumer->ring)) {
        consumer->tally.received++;
        if (verify_message(consumer, message)) {
            consumer->tally.verified++;
        }
        free_chain(message, &consumer->tally);
    }
    return NULL;
}

/* ---- Both ---- */

/* Prints what was done; says whether that is what should have been. */
static bool report(uint64_t messages, const struct tally *producer, const struct tally *consumer)
{
    uint64_t made = producer->made + consumer->made;
    uint64_t freed = producer->freed + consumer->freed;
    uint64_t errors = producer->errors + consumer->errors;
    printf("sent      %" PRIu64 " messages; %" PRIu64 " kept as copy-refs, %" PRIu64 " of them sent again\n", producer->sent,
           producer->kept, producer->resent);
    printf("received  %" PRIu64 " messages, %" PRIu64 " verified, %" PRIu64 " bytes of payload\n", consumer->received,
           consumer->verified, consumer->bytes);
    printf("buffers   %" PRIu64 " made, %" PRIu64 " freed; %" PRIu64 " errors\n", made, freed, errors);
    return producer->sent == messages && consumer->received == producer->sent + producer->resent &&
           consumer->verified == consumer->received && made == freed && errors == 0;
}

static bool run(uint64_t messages)
{
    static struct ring ring;
    struct producer producer = {.ring = &ring, .messages = messages};
    struct consumer consumer = {.ring = &ring};
    pthread_t consuming;
    if (pthread_create(&consuming, NULL, consume, &consumer) != 0) {
        fputs("no thread for the consumer\n", stderr);
        return false;
    }
    produce(&producer);
    pthread_join(consuming, NULL);
    return report(messages, &producer.tally, &consumer.tally);
}

int main(int argc, char **argv)
{
    uint64_t messages = DEFAULT_MESSAGES;
    if (argc > 1) {
        char *end = NULL;
        errno = 0;
        messages = strtoull(argv[1], &end, 10);
        if (argc > 2 || argv[1][0] < '0' || argv[1][0] > '9' || *end != '\0' || errno != 0) {
            fprintf(stderr, "usage: %s [messages]\n", argv[0]);
            return 2;
        }
    }
    return run(messages) ? EXIT_SUCCESS : EXIT_FAILURE;
}
