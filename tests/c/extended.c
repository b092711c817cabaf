/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What mbuf.h says of single buffers, of both headers used on one buffer, and of codes and versions.
 */
#include "buffers.h"
#include "pools.h"

static void without_data(mbuf_pool pool)
{
    mbuf *buffer = alloc_from(pool, 0);
    size_t size = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_OK, mbuf_data(buffer, NULL, &size));
    CHECK_EQUAL(0, size);
    CHECK_EQUAL(MBUF_OK, mbuf_set_length(buffer, 0));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_set_length(buffer, 1));
    CHECK_EQUAL(MBUF_OK, mbuf_append_bytes(buffer, "", 0));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_append_bytes(buffer, "x", 1));
    mbuf *copy = copy_of(buffer);
    stamp_user_area(copy, 1);
    free_mbuf(buffer);
    check_user_area(copy, 1);
    free_mbuf(copy);
}

static void data_and_length(mbuf_pool pool)
{
    mbuf *buffer = alloc_from(pool, 100);
    void *data = UNTOUCHED_POINTER;
    size_t size = UNTOUCHED_NUMBER;
    size_t length = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_data(NULL, &data, &size));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_length(NULL, &length));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_length(buffer, NULL));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_set_length(NULL, 0));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_set_length(buffer, 101));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_set_length(buffer, SIZE_MAX));
    CHECK_POINTER(UNTOUCHED_POINTER, data);
    CHECK_EQUAL(UNTOUCHED_NUMBER, size);
    CHECK_EQUAL(UNTOUCHED_NUMBER, length);
    CHECK_EQUAL(MBUF_OK, mbuf_length(buffer, &length));
    CHECK_EQUAL(0, length);
    CHECK_EQUAL(MBUF_OK, mbuf_data(buffer, &data, NULL));
    CHECK_POINTER(data_of(buffer), data);
    CHECK_EQUAL(MBUF_OK, mbuf_data(buffer, NULL, &size));
    CHECK_EQUAL(100, size);
    CHECK_EQUAL(MBUF_OK, mbuf_set_length(buffer, 100));
    CHECK_EQUAL(100, length_of(buffer));
    free_mbuf(buffer);
}

static void append_bytes(mbuf_pool pool)
{
    mbuf *buffer = alloc_from(pool, 10);
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_append_bytes(NULL, "abc", 3));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_append_bytes(buffer, NULL, 3));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_append_bytes(buffer, "abcdefghijk", 11));
    CHECK_EQUAL(0, length_of(buffer));
    CHECK_EQUAL(MBUF_OK, mbuf_append_bytes(buffer, "abcdef", 6));
    CHECK_EQUAL(MBUF_OK, mbuf_append_bytes(buffer, "ghi", 3));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_append_bytes(buffer, "xy", 2));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_append_bytes(buffer, "xy", SIZE_MAX));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_append_bytes(buffer, "xy", SIZE_MAX - 8));
    CHECK_EQUAL(9, length_of(buffer));
    CHECK_BYTES("abcdefghi", data_of(buffer), 9);

    mbuf *copy = copy_of(buffer);
    CHECK_EQUAL(MBUF_ERROR_SHARED, mbuf_append_bytes(buffer, "x", 1));
    CHECK_EQUAL(MBUF_ERROR_SHARED, mbuf_append_bytes(copy, "x", 1));
    /* Room is looked for first. */
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_append_bytes(copy, "xy", 2));
    CHECK_EQUAL(9, length_of(buffer));
    CHECK_EQUAL(9, length_of(copy));
    free_mbuf(buffer);
    CHECK_EQUAL(MBUF_OK, mbuf_append_bytes(copy, "j", 1));
    CHECK_BYTES("abcdefghij", data_of(copy), 10);
    CHECK_EQUAL(MBUF_OK, mbuf_set_length(copy, 2));
    CHECK_EQUAL(MBUF_OK, mbuf_append_bytes(copy, data_of(copy), 2));
    CHECK_BYTES("abab", data_of(copy), 4);
    free_mbuf(copy);
}

static void user_data(mbuf_pool pool)
{
    mbuf *buffer = alloc_from(pool, 10);
    unsigned char bytes[USER_AREA];
    memset(bytes, 7, sizeof bytes);
    CHECK_EQUAL(MBUF_USER_AREA, USER_AREA);
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_set_user_data(NULL, bytes, 1, 0));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_set_user_data(buffer, NULL, 1, 0));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_set_user_data(buffer, bytes, 96, 1));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_set_user_data(buffer, bytes, 2, SIZE_MAX));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_get_user_data(NULL, bytes, 1, 0));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_get_user_data(buffer, NULL, 1, 0));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_get_user_data(buffer, bytes, 97, 0));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_get_user_data(buffer, bytes, SIZE_MAX, 96));
    CHECK_EQUAL(7, bytes[0]);
    CHECK_EQUAL(MBUF_OK, mbuf_get_user_data(buffer, bytes, 1, 95));
    CHECK_EQUAL(0, bytes[0]);
    CHECK_EQUAL(MBUF_OK, mbuf_set_user_data(buffer, bytes + 1, 1, 95));
    CHECK_EQUAL(MBUF_OK, mbuf_get_user_data(buffer, bytes, 96, 0));
    CHECK_EQUAL(0, bytes[94]);
    CHECK_EQUAL(7, bytes[95]);
    free_mbuf(buffer);
}

static uint64_t timestamp_of(mbuf *buffer)
{
    uint64_t timestamp = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_OK, mbuf_timestamp(buffer, &timestamp));
    return timestamp;
}

static void timestamps(mbuf_pool pool)
{
    mbuf *buffer = alloc_from(pool, 10);
    uint64_t timestamp = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_set_timestamp(NULL, 1));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_timestamp(NULL, &timestamp));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_timestamp(buffer, NULL));
    CHECK_EQUAL(UNTOUCHED_NUMBER, timestamp);
    CHECK_EQUAL(0, timestamp_of(buffer));
    CHECK_EQUAL(MBUF_OK, mbuf_set_timestamp(buffer, UINT64_MAX));
    mbuf *copy = copy_of(buffer);
    CHECK_EQUAL(UINT64_MAX, timestamp_of(copy));
    CHECK_EQUAL(MBUF_OK, mbuf_set_timestamp(copy, 5));
    CHECK_EQUAL(UINT64_MAX, timestamp_of(buffer));
    free_mbuf(buffer);
    CHECK_EQUAL(5, timestamp_of(copy));
    free_mbuf(copy);
    /* Most likely the same blocks again. */
    buffer = alloc_from(pool, 10);
    CHECK_EQUAL(0, timestamp_of(buffer));
    free_mbuf(buffer);
    buffer = alloc_from(pool, 0);
    CHECK_EQUAL(0, timestamp_of(buffer));
    free_mbuf(buffer);
}

static int is_shared(mbuf *buffer)
{
    int shared = 55;
    CHECK_EQUAL(MBUF_OK, mbuf_is_shared(buffer, &shared));
    return shared;
}

static void sharing(mbuf_pool pool)
{
    mbuf *buffer = alloc_from(pool, 10);
    int shared = 55;
    mbuf *copy = UNTOUCHED_POINTER;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_is_shared(NULL, &shared));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_is_shared(buffer, NULL));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_copy_ref(NULL, &copy));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_copy_ref(buffer, NULL));
    CHECK_EQUAL(55, shared);
    CHECK_POINTER(UNTOUCHED_POINTER, copy);
    CHECK_EQUAL(0, is_shared(buffer));
    copy = copy_of(buffer);
    mbuf *other = copy_of(copy);
    CHECK_EQUAL(1, is_shared(buffer));
    CHECK_EQUAL(1, is_shared(copy));
    free_mbuf(buffer);
    CHECK_EQUAL(1, is_shared(copy));
    free_mbuf(other);
    CHECK_EQUAL(0, is_shared(copy));
    free_mbuf(copy);
}

static void pools_of(mbuf_pool pool)
{
    mbuf *buffer = alloc_from(pool, 10);
    mbuf *copy = copy_of(buffer);
    mbuf_pool found = UNTOUCHED_NUMBER;
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_pool_of(NULL, &found));
    CHECK_EQUAL(MBUF_ERROR_ARGUMENT, mbuf_pool_of(buffer, NULL));
    CHECK_EQUAL(UNTOUCHED_NUMBER, found);
    CHECK_EQUAL(MBUF_OK, mbuf_pool_of(buffer, &found));
    CHECK_EQUAL(pool, found);
    CHECK_EQUAL(MBUF_OK, mbuf_pool_of(copy, &found));
    CHECK_EQUAL(pool, found);
    free_mbuf(buffer);
    free_mbuf(copy);
}

static void append_across_pools(mbuf_pool pool)
{
    mbuf *own = alloc_from(pool, 50);
    mbuf *other = alloc_from(MBUF_POOL_DEFAULT, 50);
    stamp_buffer(own, 1);
    stamp_buffer(other, 2);
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_append(own, other));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_append(other, own));
    CHECK_EQUAL(ACL_ERROR_RT_PARAM_INVALID, aclrtAppendBufChain(own, other));
    check_chain(own, 1, 1);
    check_chain(other, 1, 2);
    free_mbuf(own);
    free_mbuf(other);
}

static void both_headers(mbuf_pool pool)
{
    aclrtMbuf head = alloc_buffer(50);
    mbuf *behind = alloc_from(MBUF_POOL_DEFAULT, 50);
    CHECK_EQUAL(MBUF_OK, mbuf_append_bytes(head, "head", 4));
    CHECK_EQUAL(4, length_of(head));
    CHECK_EQUAL(ACL_SUCCESS, aclrtAppendBufChain(head, behind));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_free(behind));
    CHECK_EQUAL(MBUF_OK, mbuf_free(head));
    mbuf *own = alloc_from(pool, 50);
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(own, 5));
    CHECK_EQUAL(ACL_SUCCESS, aclrtFreeBuf(own));
    CHECK_EQUAL(MBUF_ERROR_HANDLE, mbuf_free(own));
}

static void codes_and_texts(void)
{
    const int codes[] = { MBUF_OK, MBUF_ERROR_ARGUMENT, MBUF_ERROR_HANDLE, MBUF_ERROR_MEMORY,
        MBUF_ERROR_CHAIN_TOO_LONG, MBUF_ERROR_SHARED };
    const size_t count = sizeof codes / sizeof codes[0];
    CHECK_EQUAL(ACL_SUCCESS, MBUF_OK);
    CHECK_EQUAL(ACL_ERROR_INVALID_PARAM, MBUF_ERROR_ARGUMENT);
    CHECK_EQUAL(ACL_ERROR_RT_PARAM_INVALID, MBUF_ERROR_HANDLE);
    CHECK_EQUAL(ACL_ERROR_RT_MEMORY_ALLOCATION, MBUF_ERROR_MEMORY);
    CHECK_EQUAL(ACL_ERROR_RT_OVER_LIMIT, MBUF_ERROR_CHAIN_TOO_LONG);
    const char *unknown = mbuf_error_text(1);
    for (size_t at = 0; at < count; at++) {
        const char *text = mbuf_error_text(codes[at]);
        CHECK(text != NULL && strlen(text) > 3);
        CHECK(strcmp(text, unknown) != 0);
        CHECK_POINTER(text, mbuf_error_text(codes[at]));
        for (size_t other = 0; other < at; other++) {
            CHECK(strcmp(text, mbuf_error_text(codes[other])) != 0);
        }
    }
    const int others[] = { -1, 1, 99999, 100001, 207000, 900000, 900002, INT32_MAX, INT32_MIN };
    for (size_t at = 0; at < sizeof others / sizeof others[0]; at++) {
        CHECK_EQUAL(0, strcmp(unknown, mbuf_error_text(others[at])));
    }
}

static void version(void)
{
    char expected[64];
    snprintf(expected, sizeof expected, "%d.%d.%d", MBUF_VERSION_MAJOR, MBUF_VERSION_MINOR, MBUF_VERSION_PATCH);
    CHECK_EQUAL(0, strcmp(expected, mbuf_version()));
    CHECK_EQUAL(128, MBUF_MAX_CHAIN);
    CHECK_EQUAL(UINT64_C(4294967296), MBUF_MAX_SIZE);
}

static void all_for(mbuf_pool pool)
{
    without_data(pool);
    data_and_length(pool);
    append_bytes(pool);
    user_data(pool);
    timestamps(pool);
    sharing(pool);
    pools_of(pool);
    both_headers(pool);
    CHECK_EQUAL(0, in_use_of(pool));
}

int main(void)
{
    mbuf_pool pool = make_pool(4 << 20);
    all_for(pool);
    all_for(MBUF_POOL_DEFAULT);
    append_across_pools(pool);
    codes_and_texts();
    version();
    destroy_empty(pool);
    report_success("single buffers, both headers, codes and versions");
    return 0;
}
