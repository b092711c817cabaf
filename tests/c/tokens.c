/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Tokens: they name one buffer while it lives and nothing afterwards, whatever happens to its block.
 */
#include "buffers.h"
#include "pools.h"

enum { MIB = 1 << 20 };

static mbuf_token token_of(mbuf *buffer)
{
    mbuf_token token;
    CHECK_EQUAL(MBUF_OK, mbuf_token_of(buffer, &token));
    return token;
}

static void check_names(mbuf_token token, mbuf *buffer)
{
    mbuf *found = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_OK, mbuf_from_token(&token, &found));
    CHECK_POINTER(buffer, found);
}

static void check_stale(mbuf_token token)
{
    mbuf *found = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_from_token(&token, &found));
    CHECK_POINTER(UNTOUCHED_POINTER, found);
}

static void live_and_dead(mbuf_pool pool)
{
    const size_t sizes[] = { 0, 100, 5000, 5 * MIB };
    for (size_t at = 0; at < sizeof sizes / sizeof sizes[0]; at++) {
        mbuf *buffer = alloc_from(pool, sizes[at]);
        mbuf_token token = token_of(buffer);
        check_names(token, buffer);
        mbuf_token again = token_of(buffer);
        CHECK_BYTES(&token, &again, sizeof token);
        mbuf *copy = copy_of(buffer);
        mbuf_token of_copy = token_of(copy);
        check_names(of_copy, copy);
        check_names(token, buffer);
        free_mbuf(buffer);
        /* Its block is still there for the copy. */
        check_stale(token);
        check_names(of_copy, copy);
        free_mbuf(copy);
        check_stale(of_copy);
        check_stale(token);
    }
    mbuf *buffer = alloc_from(pool, 1);
    mbuf_token token = token_of(buffer);
    mbuf_token untouched = token;
    mbuf *found = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_token_of(NULL, &token));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_token_of(buffer, NULL));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_from_token(NULL, &found));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_from_token(&token, NULL));
    CHECK_POINTER(UNTOUCHED_POINTER, found);
    CHECK_BYTES(&untouched, &token, sizeof token);
    free_mbuf(buffer);
}

static void members(mbuf_pool pool)
{
    mbuf *head = alloc_from(pool, 100);
    mbuf *behind = alloc_from(pool, 100);
    mbuf_token alone = token_of(behind);
    CHECK_EQUAL(MBUF_OK, mbuf_append(head, behind));
    check_names(alone, behind);
    mbuf_token member = token_of(behind);
    CHECK_BYTES(&alone, &member, sizeof member);
    mbuf *rest = NULL;
    CHECK_EQUAL(MBUF_OK, mbuf_split(head, 1, &rest));
    check_names(alone, rest);
    CHECK_EQUAL(MBUF_OK, mbuf_append(head, rest));
    free_mbuf(head);
    check_stale(alone);
}

/* The same block, handed out again and again: each token names one life of it. */
static void same_block_again(mbuf_pool pool, size_t size)
{
    enum { LIVES = 300 };
    mbuf_token tokens[LIVES];
    mbuf *place = NULL;
    size_t lives = 0;
    for (size_t tries = 0; lives < LIVES; tries++) {
        CHECK(tries < 100 * LIVES);
        mbuf *buffer = alloc_from(pool, size);
        place = place == NULL ? buffer : place;
        if (buffer == place) {
            tokens[lives++] = token_of(buffer);
            check_names(tokens[lives - 1], buffer);
            for (size_t earlier = 0; earlier + 1 < lives; earlier++) {
                check_stale(tokens[earlier]);
            }
        }
        free_mbuf(buffer);
    }
}

/* A trim gives the block's memory, generation included, back to the system. */
static void after_a_trim(mbuf_pool pool)
{
    enum { ROUNDS = 200 };
    mbuf_token tokens[ROUNDS];
    size_t in_the_same_place = 0;
    mbuf *place = NULL;
    for (size_t round = 0; round < ROUNDS; round++) {
        mbuf *buffer = alloc_from(pool, round % 2 == 0 ? 300 : 20000);
        in_the_same_place += buffer == place;
        place = buffer;
        tokens[round] = token_of(buffer);
        for (size_t earlier = 0; earlier < round; earlier++) {
            check_stale(tokens[earlier]);
        }
        /* Some lives more, so that generations move on from where they start. */
        for (size_t lives = 0; lives < round % 7; lives++) {
            free_mbuf(buffer);
            buffer = alloc_from(pool, round % 2 == 0 ? 300 : 20000);
        }
        free_mbuf(buffer);
        CHECK_EQUAL(MBUF_OK, mbuf_pool_trim(pool, NULL));
    }
    CHECK(in_the_same_place > ROUNDS / 2);
}

static void garbage(mbuf_pool pool)
{
    mbuf *buffer = alloc_from(pool, 5000);
    mbuf_token token = token_of(buffer);
    uint64_t random = 17;
    for (unsigned bit = 0; bit < 160; bit++) {
        mbuf_token flipped;
        unsigned char bytes[sizeof token];
        memcpy(bytes, &token, sizeof token);
        bytes[bit / 8] = (unsigned char)(bytes[bit / 8] ^ (1U << bit % 8));
        memcpy(&flipped, bytes, sizeof flipped);
        check_stale(flipped);
    }
    for (size_t round = 0; round < 2000; round++) {
        mbuf_token wrong = { next_random(&random), (uint32_t)next_random(&random), (uint32_t)next_random(&random),
                             (uint32_t)next_random(&random), 0 };
        check_stale(wrong);
        wrong.pool = token.pool;
        check_stale(wrong);
        wrong.generation = token.generation;
        if (wrong.offset != token.offset) {
            check_stale(wrong);
        }
    }
    /* Every place near the buffer, with its generation, or with one of what the data looks like. */
    memset(data_of(buffer), 0xff, 5000);
    for (uint32_t shift = 1; shift < 20000; shift++) {
        mbuf_token wrong = token;
        wrong.offset = token.offset + shift;
        check_stale(wrong);
        wrong.generation = shift % 2 == 0 ? 0 : UINT32_MAX;
        check_stale(wrong);
        wrong.offset = token.offset - shift;
        check_stale(wrong);
        wrong.offset = shift;
        check_stale(wrong);
        wrong.offset = (uint32_t)0 - shift;
        check_stale(wrong);
    }
    const mbuf_token zeros = { 0, 0, 0, 0, 0 };
    check_stale(zeros);
    check_names(token, buffer);
    free_mbuf(buffer);
}

/* The generations of a slab's lives may meet; a token names one life. */
static void lives(void)
{
    enum { SPAN = 64000 - 192 };
    mbuf_pool pool = make_pool(1);
    mbuf *buffer = alloc_from(pool, SPAN);
    const mbuf_token old = token_of(buffer);
    free_mbuf(buffer);
    uint32_t generation = old.generation;
    /* The next life begins this much further on. */
    const uint32_t step = 0x9e3779b1;
    while (old.generation - (generation + step) >= 60000 || old.generation == generation + step) {
        buffer = alloc_from(pool, SPAN);
        generation = token_of(buffer).generation;
        free_mbuf(buffer);
    }
    for (;;) {
        buffer = alloc_from(pool, 64);
        const mbuf_token now = token_of(buffer);
        CHECK_EQUAL(old.offset, now.offset);
        check_stale(old);
        free_mbuf(buffer);
        if (now.generation == old.generation) {
            break;
        }
    }
    destroy_empty(pool);
}

static void other_pools(void)
{
    mbuf_pool first = make_pool(2 * MIB);
    mbuf_pool second = make_pool(2 * MIB);
    mbuf *of_first = alloc_from(first, 100);
    mbuf *of_second = alloc_from(second, 100);
    mbuf_token token = token_of(of_first);
    mbuf_token other = token_of(of_second);
    CHECK(token.pool != other.pool);
    CHECK_EQUAL(token.offset, other.offset);
    check_names(token, of_first);
    check_names(other, of_second);
    free_mbuf(of_first);
    check_stale(token);
    check_names(other, of_second);

    of_first = alloc_from(first, 100);
    token = token_of(of_first);
    CHECK_EQUAL(MBUF_OK, mbuf_pool_destroy(first, NULL));
    /* The buffer lives on, and so does its name. */
    check_names(token, of_first);
    free_mbuf(of_first);
    check_stale(token);
    CHECK_EQUAL(MBUF_OK, mbuf_pool_destroy(second, NULL));
    free_mbuf(of_second);
    check_stale(other);
    mbuf_pool third = make_pool(2 * MIB);
    mbuf *buffers[100];
    CHECK_EQUAL(MBUF_OK, mbuf_alloc_bulk(third, 100, buffers, 100));
    check_stale(token);
    check_stale(other);
    CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(buffers, 100));
    destroy_empty(third);
}

int main(void)
{
    mbuf_pool pool = make_pool(32 * MIB);
    live_and_dead(pool);
    live_and_dead(MBUF_POOL_DEFAULT);
    members(pool);
    same_block_again(pool, 0);
    same_block_again(pool, 300);
    same_block_again(pool, 3 * MIB);
    after_a_trim(pool);
    garbage(pool);
    lives();
    other_pools();
    destroy_empty(pool);
    CHECK_EQUAL(0, in_use_of(MBUF_POOL_DEFAULT));
    report_success("tokens name one buffer while it lives");
    return 0;
}
