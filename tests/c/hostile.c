/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Two threads throw random, stale and hostile handles at every function while two others work. All are refused, nothing
 * crashes, and nothing that the working threads have is changed.
 *
 * No handle that is thrown may be live on another thread. Stale ones are therefore of a size that only the thrower
 * uses: their blocks go back to that size, where only it takes them. Nothing runs out of memory here, so no slab
 * changes its size, and a place inside a block of the working threads stays one, whatever becomes of the block.
 */
#include "pools.h"
#include "refused.h"

#include <pthread.h>
#include <time.h>

enum {
    WORKERS = 2,
    THROWERS = 2,
    MESSAGES = 64,
    LARGEST = 3000,
    PUBLISHED = 256,
    STALE = 32
};

/* A block that a worker has or had, and how many bytes it has at least. */
struct block {
    uintptr_t address;
    size_t bytes;
};

static struct {
    pthread_mutex_t lock;
    struct block blocks[PUBLISHED];
    size_t count;
} published = { .lock = PTHREAD_MUTEX_INITIALIZER };

static double seconds_to_run = 2;
static struct timespec started;
static uintptr_t arena_base;
static uintptr_t arena_bytes;
static aclrtMbuf of_a_destroyed_pool;

static double seconds_since_start(void)
{
    struct timespec now;
    CHECK_EQUAL(0, clock_gettime(CLOCK_MONOTONIC, &now));
    return (double)(now.tv_sec - started.tv_sec) + (double)(now.tv_nsec - started.tv_nsec) / 1e9;
}

static void publish(aclrtMbuf buffer, size_t size)
{
    struct block block = { (uintptr_t)buffer, 192 + size };
    pthread_mutex_lock(&published.lock);
    published.blocks[published.count % PUBLISHED] = block;
    published.count++;
    pthread_mutex_unlock(&published.lock);
}

static struct block some_block(uint64_t *random)
{
    struct block block = { 0, 0 };
    pthread_mutex_lock(&published.lock);
    size_t count = published.count < PUBLISHED ? published.count : PUBLISHED;
    if (count > 0) {
        block = published.blocks[random_below(random, count)];
    }
    pthread_mutex_unlock(&published.lock);
    return block;
}

/* ---- Working threads ---- */

struct message {
    aclrtMbuf head;
    uint32_t count;
    uint64_t first;
};

struct worker {
    pthread_t thread;
    uint64_t random;
    uint64_t next_stamp;
    uint64_t done;
    struct message messages[MESSAGES];
};

static void make_message(struct worker *worker, struct message *message)
{
    size_t size = 1 + random_below(&worker->random, LARGEST);
    message->count = 1 + (uint32_t)random_below(&worker->random, 4);
    message->first = worker->next_stamp;
    worker->next_stamp += 1000;
    message->head = make_chain(message->count, size, message->first);
    publish(message->head, size);
    publish(member_of(message->head, message->count - 1), size);
}

static void drop_message(struct message *message)
{
    check_chain(message->head, message->count, message->first);
    free_buffer(message->head);
    message->head = NULL;
}

/* A copy takes the original's place, or goes away before it. */
static void copy_message(struct worker *worker, struct message *message)
{
    aclrtMbuf copy = copy_of(message->head);
    check_chain(copy, message->count, message->first);
    if (random_below(&worker->random, 2) == 0) {
        aclrtMbuf original = message->head;
        message->head = copy;
        copy = original;
    }
    free_buffer(copy);
}

static void lengthen_message(struct worker *worker, struct message *message)
{
    if (message->count < 20) {
        size_t size = 1 + random_below(&worker->random, LARGEST);
        aclrtMbuf more = make_chain(2, size, message->first + message->count);
        CHECK_EQUAL(ACL_SUCCESS, aclrtAppendBufChain(message->head, more));
        message->count += 2;
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    while (worker->done % 64 != 0 || seconds_since_start() < seconds_to_run) {
        struct message *message = &worker->messages[random_below(&worker->random, MESSAGES)];
        size_t choice = random_below(&worker->random, 4);
        if (message->head == NULL) {
            make_message(worker, message);
        } else if (choice == 0) {
            copy_message(worker, message);
        } else if (choice == 1) {
            lengthen_message(worker, message);
        } else {
            drop_message(message);
        }
        worker->done++;
    }
    for (size_t at = 0; at < MESSAGES; at++) {
        if (worker->messages[at].head != NULL) {
            drop_message(&worker->messages[at]);
        }
    }
    return NULL;
}

/* ---- Throwing threads ---- */

struct thrower {
    pthread_t thread;
    uint64_t random;
    size_t own_size;
    uint64_t thrown;
    aclrtMbuf own;
    aclrtMbuf stale[STALE];
};

/* Frees buffers whose handles are stale from then on, some of them with a copy that keeps the data for a while. */
static void renew_stale(struct thrower *thrower)
{
    for (size_t at = 0; at < STALE; at++) {
        thrower->stale[at] = make_buffer(thrower->own_size, at);
    }
    aclrtMbuf copy = copy_of(thrower->stale[0]);
    for (size_t at = 0; at < STALE; at++) {
        free_buffer(thrower->stale[at]);
    }
    struct suspect suspect = { thrower->stale[0], "freed, with a copy that lives" };
    check_refused(suspect, thrower->own);
    check_chain(copy, 1, 0);
    free_buffer(copy);
}

/* Puts a copy of a header into the thrower's own data, and returns where. */
static aclrtMbuf planted(struct thrower *thrower)
{
    size_t places = (thrower->own_size - 192) / 64;
    unsigned char *place = data_of(thrower->own) + 64 * random_below(&thrower->random, places);
    plant_header(place, thrower->own, (int)random_below(&thrower->random, 2));
    return place;
}

static struct suspect suspect_near_workers(struct thrower *thrower, int is_aligned)
{
    struct block block = some_block(&thrower->random);
    struct suspect suspect = { (aclrtMbuf)(uintptr_t)1, "nothing was published yet" };
    if (block.address != 0 && is_aligned) {
        size_t line = 1 + random_below(&thrower->random, (block.bytes - 1) / 64);
        suspect.handle = (aclrtMbuf)(block.address + 64 * line);
        suspect.what = "a line inside a worker's block";
    } else if (block.address != 0) {
        size_t shift = 1 + random_below(&thrower->random, 63);
        suspect.handle = (aclrtMbuf)(block.address + 64 * random_below(&thrower->random, 4) + shift);
        suspect.what = "misaligned inside a worker's block";
    }
    return suspect;
}

static struct suspect suspect_near_arena(struct thrower *thrower)
{
    uintptr_t distance = 64 * (uintptr_t)random_below(&thrower->random, 4096);
    switch (random_below(&thrower->random, 4)) {
    case 0: {
        struct suspect before = { (aclrtMbuf)(arena_base - 64 - distance), "before the arena" };
        return before;
    }
    case 1: {
        struct suspect behind = { (aclrtMbuf)(arena_base + arena_bytes + distance), "behind the arena" };
        return behind;
    }
    case 2: {
        struct suspect table = { (aclrtMbuf)(arena_base + distance), "in the pool's tables" };
        return table;
    }
    default: {
        uintptr_t inside = (uintptr_t)next_random(&thrower->random) % arena_bytes;
        uintptr_t odd = 1 + (uintptr_t)random_below(&thrower->random, 63);
        struct suspect misaligned = { (aclrtMbuf)(arena_base + inside / 64 * 64 + odd), "misaligned in the arena" };
        return misaligned;
    }
    }
}

static struct suspect suspect_number(struct thrower *thrower)
{
    uintptr_t number = (uintptr_t)next_random(&thrower->random);
    /* Random numbers of every magnitude. Those in the arena are another function's, which knows what is safe there. */
    number >>= random_below(&thrower->random, 64);
    if (number - arena_base < arena_bytes) {
        number |= 1;
    }
    struct suspect suspect = { (aclrtMbuf)number, "random number" };
    return suspect;
}

static struct suspect next_suspect(struct thrower *thrower)
{
    struct suspect suspect = { &suspect, "on the stack" };
    switch (random_below(&thrower->random, 8)) {
    case 0:
        return suspect_number(thrower);
    case 1:
        return suspect_near_arena(thrower);
    case 2:
        return suspect_near_workers(thrower, 0);
    case 3:
        return suspect_near_workers(thrower, 1);
    case 4:
        suspect.handle = thrower->stale[random_below(&thrower->random, STALE)];
        suspect.what = "stale";
        return suspect;
    case 5:
        suspect.handle = planted(thrower);
        suspect.what = "header planted in data";
        return suspect;
    case 6:
        suspect.handle = of_a_destroyed_pool;
        suspect.what = "of a destroyed pool";
        return suspect;
    default:
        return suspect;
    }
}

static void *throw_handles(void *argument)
{
    struct thrower *thrower = argument;
    thrower->own = alloc_buffer(thrower->own_size);
    stamp_user_area(thrower->own, 1);
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(thrower->own, 11));
    renew_stale(thrower);
    while (thrower->thrown % 64 != 0 || seconds_since_start() < seconds_to_run) {
        struct suspect suspect = next_suspect(thrower);
        check_refused(suspect, thrower->own);
        if (thrower->thrown % 8 == 0) {
            check_refused_extended(suspect, thrower->own);
        }
        if (thrower->thrown % 1024 == 0) {
            renew_stale(thrower);
        }
        thrower->thrown++;
    }
    CHECK_EQUAL(1, count_of(thrower->own));
    CHECK_EQUAL(11, length_of(thrower->own));
    check_user_area(thrower->own, 1);
    free_buffer(thrower->own);
    return NULL;
}

/* ---- All together ---- */

static void set_up(int count, char **arguments)
{
    const char *seconds = count > 1 ? arguments[1] : getenv("MBUF_TEST_SECONDS");
    if (seconds != NULL) {
        seconds_to_run = strtod(seconds, NULL);
        CHECK(seconds_to_run > 0);
    }
    mbuf_pool pool = make_pool(4 << 20);
    of_a_destroyed_pool = alloc_from(pool, 100);
    free_mbuf(of_a_destroyed_pool);
    destroy_empty(pool);
    aclrtMbuf first = alloc_buffer(64);
    arena_base = arena_of(first);
    arena_bytes = (uintptr_t)statistics_of(MBUF_POOL_DEFAULT).reserved;
    free_buffer(first);
    CHECK_EQUAL(0, clock_gettime(CLOCK_MONOTONIC, &started));
}

int main(int argument_count, char **arguments)
{
    static struct worker workers[WORKERS];
    static struct thrower throwers[THROWERS];
    set_up(argument_count, arguments);
    for (uint64_t at = 0; at < WORKERS; at++) {
        workers[at].random = 77 + at;
        workers[at].next_stamp = (at + 1) << 48;
        CHECK_EQUAL(0, pthread_create(&workers[at].thread, NULL, work, &workers[at]));
    }
    for (uint64_t at = 0; at < THROWERS; at++) {
        throwers[at].random = 99 + at;
        throwers[at].own_size = 30000 + 30000 * at;
        CHECK_EQUAL(0, pthread_create(&throwers[at].thread, NULL, throw_handles, &throwers[at]));
    }
    uint64_t done = 0;
    uint64_t thrown = 0;
    for (size_t at = 0; at < WORKERS; at++) {
        CHECK_EQUAL(0, pthread_join(workers[at].thread, NULL));
        done += workers[at].done;
    }
    for (size_t at = 0; at < THROWERS; at++) {
        CHECK_EQUAL(0, pthread_join(throwers[at].thread, NULL));
        thrown += throwers[at].thrown;
    }
    CHECK(is_slow() || (double)thrown >= 10000 * seconds_to_run);
    CHECK(done > 0);
    CHECK_EQUAL(0, in_use_of(MBUF_POOL_DEFAULT));
    printf("ok: %" PRIu64 " hostile handles refused beside %" PRIu64 " steps of work in %.1f s\n", thrown, done,
        seconds_to_run);
    return 0;
}
