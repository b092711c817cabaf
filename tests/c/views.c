/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Parts of buffers, headroom, cuts at a byte, and memory of the program's own.
 */
#include "buffers.h"
#include "pools.h"

static mbuf *text(mbuf_pool pool, const char *bytes, size_t room)
{
    mbuf *buffer = NULL;
    CHECK_EQUAL(MBUF_OK, mbuf_alloc_headroom(pool, strlen(bytes) + room, 16, 64, &buffer));
    CHECK_EQUAL(MBUF_OK, mbuf_append_bytes(buffer, bytes, strlen(bytes)));
    return buffer;
}

static void check_text(const mbuf *buffer, const char *expected)
{
    char found[256];
    uint64_t length = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_OK, mbuf_chain_length(buffer, &length));
    CHECK_EQUAL(strlen(expected), length);
    CHECK_EQUAL(MBUF_OK, mbuf_copy_out(buffer, 0, found, (size_t)length));
    CHECK_BYTES(expected, found, (size_t)length);
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_copy_out(buffer, 1, found, (size_t)length));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_copy_out(buffer, SIZE_MAX, found, 2));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_copy_out(buffer, 0, NULL, 0));
}

static mbuf *chain(mbuf_pool pool)
{
    mbuf *head = text(pool, "one ", 0);
    CHECK_EQUAL(MBUF_OK, mbuf_append(head, text(pool, "", 4)));
    CHECK_EQUAL(MBUF_OK, mbuf_append(head, text(pool, "two ", 4)));
    CHECK_EQUAL(MBUF_OK, mbuf_append(head, text(pool, "three", 4)));
    return head;
}

static void parts(mbuf_pool pool)
{
    mbuf *head = chain(pool);
    mbuf *part = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_OK, mbuf_slice(head, 2, 8, &part));
    check_text(part, "e two th");
    mbuf *inner = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_OK, mbuf_slice(part, 2, 3, &inner));
    check_text(inner, "two");
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_slice(head, 8, 6, &inner));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_slice(head, SIZE_MAX, SIZE_MAX, &inner));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_slice(head, 0, 1, NULL));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_slice(NULL, 0, 1, &inner));
    CHECK_EQUAL(MBUF_OK, mbuf_free(head));
    CHECK_EQUAL(MBUF_OK, mbuf_free(part));
    check_text(inner, "two");
    void *front = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_OK, mbuf_prepend(inner, 2, &front));
    memcpy(front, "> ", 2);
    check_text(inner, "> two");
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_slice(head, 0, 1, &inner));
    CHECK_EQUAL(MBUF_OK, mbuf_free(inner));
    CHECK_EQUAL(0, in_use_of(pool));
}

static void cuts(mbuf_pool pool)
{
    for (size_t at = 0; at <= 13; at++) {
        mbuf *head = chain(pool);
        mbuf *rest = UNTOUCHED_POINTER;
        CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_split_bytes(head, 14, &rest));
        CHECK_POINTER(UNTOUCHED_POINTER, rest);
        CHECK_EQUAL(MBUF_OK, mbuf_split_bytes(head, at, &rest));
        char front[16] = "one two three";
        char behind[16];
        strcpy(behind, front + at);
        front[at] = 0;
        check_text(head, front);
        check_text(rest, behind);
        CHECK_EQUAL(MBUF_OK, mbuf_append(head, rest));
        check_text(head, "one two three");
        CHECK_EQUAL(MBUF_OK, mbuf_advance(&head, at));
        check_text(head, behind);
        CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_advance(&head, 14 - at));
        CHECK_EQUAL(MBUF_OK, mbuf_truncate(head, (13 - at) / 2));
        behind[(13 - at) / 2] = 0;
        check_text(head, behind);
        CHECK_EQUAL(MBUF_OK, mbuf_free(head));
        CHECK_EQUAL(0, in_use_of(pool));
    }
    mbuf *none = NULL;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_advance(NULL, 0));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_advance(&none, 0));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_truncate(NULL, 0));
}

static void room(mbuf_pool pool)
{
    mbuf *buffer = text(pool, "body", 3);
    size_t headroom = UNTOUCHED_NUMBER;
    size_t tailroom = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_OK, mbuf_headroom(buffer, &headroom));
    CHECK_EQUAL(MBUF_OK, mbuf_tailroom(buffer, &tailroom));
    CHECK(headroom >= 16);
    CHECK_EQUAL(3, tailroom);
    void *front = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_prepend(buffer, headroom + 1, &front));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_prepend(buffer, SIZE_MAX, &front));
    CHECK_POINTER(UNTOUCHED_POINTER, front);
    CHECK_EQUAL(MBUF_OK, mbuf_prepend(buffer, headroom, &front));
    CHECK_BYTES("\0\0\0\0", front, 4);
    memset(front, '.', headroom);
    mbuf *copy = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_OK, mbuf_copy_ref(buffer, &copy));
    CHECK_EQUAL(MBUF_OK, mbuf_advance(&copy, headroom));
    check_text(copy, "body");
    front = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_ERROR_SHARED, mbuf_prepend(copy, 1, &front));
    CHECK_EQUAL(MBUF_OK, mbuf_free(buffer));
    CHECK_EQUAL(MBUF_OK, mbuf_prepend(copy, 1, &front));
    CHECK_EQUAL(MBUF_OK, mbuf_free(copy));
    CHECK_EQUAL(0, in_use_of(pool));
    /* What was moved about is an ordinary buffer the next time. */
    buffer = NULL;
    CHECK_EQUAL(MBUF_OK, mbuf_alloc(pool, 7 + 16, &buffer));
    CHECK_EQUAL(MBUF_OK, mbuf_headroom(buffer, &headroom));
    CHECK_EQUAL(0, headroom);
    CHECK_EQUAL(MBUF_OK, mbuf_free(buffer));
}

static void one_piece(mbuf_pool pool)
{
    mbuf *head = chain(pool);
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_linearize_prefix(&head, 14));
    CHECK_EQUAL(MBUF_OK, mbuf_linearize_prefix(&head, 6));
    CHECK_EQUAL(6, length_of(head));
    check_text(head, "one two three");
    CHECK_EQUAL(MBUF_OK, mbuf_coalesce(&head, 100));
    CHECK_EQUAL(13, length_of(head));
    size_t headroom = 0;
    CHECK_EQUAL(MBUF_OK, mbuf_headroom(head, &headroom));
    CHECK(headroom >= 100);
    CHECK_EQUAL(MBUF_OK, mbuf_free(head));

    mbuf *large = NULL;
    mbuf *small = NULL;
    CHECK_EQUAL(MBUF_OK, mbuf_alloc(pool, 100000, &large));
    CHECK_EQUAL(MBUF_OK, mbuf_append_bytes(large, "small", 5));
    CHECK_EQUAL(MBUF_OK, mbuf_slice(large, 0, 5, &small));
    CHECK_EQUAL(MBUF_OK, mbuf_free(large));
    uint64_t retained = 0;
    CHECK_EQUAL(MBUF_OK, mbuf_retained(small, &retained));
    CHECK(retained > 100000);
    CHECK_EQUAL(MBUF_OK, mbuf_compact(&small));
    CHECK_EQUAL(MBUF_OK, mbuf_retained(small, &retained));
    CHECK(retained < 1000);
    check_text(small, "small");
    CHECK_EQUAL(MBUF_OK, mbuf_free(small));
    CHECK_EQUAL(0, in_use_of(pool));
}

struct owner {
    char bytes[16];
    mbuf_pool pool;
    int released;
};

/* Uses the pool while its memory is let go. */
static void released(void *data, void *argument)
{
    struct owner *owner = argument;
    CHECK_POINTER(owner->bytes, data);
    owner->released++;
    mbuf *buffer = NULL;
    CHECK_EQUAL(MBUF_OK, mbuf_alloc(owner->pool, 100, &buffer));
    CHECK_EQUAL(MBUF_OK, mbuf_free(buffer));
}

static void foreign(mbuf_pool pool, int writable)
{
    struct owner owner = { "foreign memory", pool, 0 };
    mbuf *buffer = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_wrap(pool, NULL, 1, writable, released, &owner, &buffer));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_wrap(pool, owner.bytes, 1, writable, NULL, &owner, &buffer));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_wrap(pool, owner.bytes, SIZE_MAX, writable, released, &owner, &buffer));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_wrap(12345678, owner.bytes, 1, writable, released, &owner, &buffer));
    CHECK_POINTER(UNTOUCHED_POINTER, buffer);
    CHECK_EQUAL(MBUF_OK, mbuf_wrap(pool, owner.bytes, 14, writable, released, &owner, &buffer));
    check_text(buffer, "foreign memory");
    mbuf *part = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_OK, mbuf_slice(buffer, 8, 6, &part));
    CHECK_EQUAL(MBUF_OK, mbuf_append(part, text(pool, " and ours", 0)));
    CHECK_EQUAL(MBUF_OK, mbuf_free(buffer));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_free(buffer));
    CHECK_EQUAL(0, owner.released);
    check_text(part, "memory and ours");
    void *front = UNTOUCHED_POINTER;
    CHECK_EQUAL(writable ? MBUF_OK : MBUF_ERROR_SHARED, mbuf_prepend(part, 1, &front));
    if (writable) {
        CHECK_POINTER(owner.bytes + 7, front);
    }
    CHECK_EQUAL(MBUF_OK, mbuf_make_unique(&part));
    CHECK_EQUAL(writable ? 0 : 1, owner.released);
    CHECK_EQUAL(MBUF_OK, mbuf_free(part));
    CHECK_EQUAL(1, owner.released);
    CHECK_EQUAL(0, in_use_of(pool));
}

/* Frees what is about to be freed. */
static void frees_another(void *data, void *argument)
{
    (void)data;
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_free(argument));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_append(argument, argument));
}

static void freed_meanwhile(mbuf_pool pool)
{
    mbuf *buffers[3];
    static char byte = 'x';
    CHECK_EQUAL(MBUF_OK, mbuf_alloc(pool, 10, &buffers[2]));
    CHECK_EQUAL(MBUF_OK, mbuf_wrap(pool, &byte, 1, 0, frees_another, buffers[2], &buffers[0]));
    CHECK_EQUAL(MBUF_OK, mbuf_slice(buffers[0], 0, 1, &buffers[1]));
    CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(buffers, 3));
    CHECK_EQUAL(0, in_use_of(pool));
}

int main(void)
{
    mbuf_pool pool = make_pool(16 << 20);
    for (int round = 0; round < 3; round++) {
        parts(pool);
        cuts(pool);
        room(pool);
        one_piece(pool);
        foreign(pool, 0);
        foreign(pool, 1);
        freed_meanwhile(pool);
    }
    CHECK_EQUAL(MBUF_OK, mbuf_pool_destroy(pool, NULL));
    report_success("views, room and foreign memory");
    return 0;
}
