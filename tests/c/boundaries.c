/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Both sides of every limit: sizes, the user area, data lengths, chains, indices.
 */
#include "buffers.h"

#define FOUR_GIB ((size_t)UINT64_C(4294967296))

static void sizes(void)
{
    const size_t refused[] = { 0, FOUR_GIB + 1, FOUR_GIB + 64, FOUR_GIB * 2, SIZE_MAX / 2, SIZE_MAX - 192,
        SIZE_MAX - 191, SIZE_MAX - 63, SIZE_MAX - 1, SIZE_MAX };
    aclrtMbuf buffer = UNTOUCHED_POINTER;
    for (size_t at = 0; at < sizeof refused / sizeof refused[0]; at++) {
        CHECK_EQUAL(100000, aclrtAllocBuf(&buffer, refused[at]));
        CHECK_POINTER(UNTOUCHED_POINTER, buffer);
    }
    const size_t allowed[] = { 1, 63, 64, 65, 4095, 4096, 4097, 65535, 65536, 1048384, 1048385, 2097152,
        UINT32_MAX, FOUR_GIB };
    for (size_t at = 0; at < sizeof allowed / sizeof allowed[0]; at++) {
        size_t size = allowed[at];
        buffer = alloc_buffer(size);
        CHECK_EQUAL(size, size_of(buffer));
        unsigned char *data = data_of(buffer);
        data[0] = 1;
        data[size / 2] = 2;
        data[size - 1] = 3;
        CHECK_EQUAL(1, count_of(buffer));
        free_buffer(buffer);
    }
}

static void lengths_of(size_t size)
{
    aclrtMbuf buffer = alloc_buffer(size);
    CHECK_EQUAL(0, length_of(buffer));
    const size_t refused[] = { size + 1, size + 64, FOUR_GIB + size, SIZE_MAX - 1, SIZE_MAX };
    const size_t allowed[] = { size, size - 1, 1, 0, size };
    for (size_t at = 0; at < sizeof allowed / sizeof allowed[0]; at++) {
        CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(buffer, allowed[at]));
        for (size_t wrong = 0; wrong < sizeof refused / sizeof refused[0]; wrong++) {
            CHECK_EQUAL(100000, aclrtSetBufDataLen(buffer, refused[wrong]));
        }
        CHECK_EQUAL(allowed[at], length_of(buffer));
    }
    aclrtMbuf copy = copy_of(buffer);
    CHECK_EQUAL(size, size_of(copy));
    CHECK_EQUAL(size, length_of(copy));
    CHECK_EQUAL(100000, aclrtSetBufDataLen(copy, size + 1));
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(copy, 0));
    CHECK_EQUAL(size, length_of(buffer));
    free_buffer(buffer);
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(copy, size));
    free_buffer(copy);
}

static void user_area_allowed(aclrtMbuf buffer, size_t size, size_t offset)
{
    unsigned char model[USER_AREA];
    unsigned char bytes[USER_AREA];
    unsigned char out[USER_AREA + 2];
    stamp_user_area(buffer, 1);
    fill_with_stamp(model, sizeof model, ~UINT64_C(1));
    fill_with_stamp(bytes, sizeof bytes, 2);
    memcpy(model + offset, bytes, size);
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufUserData(buffer, bytes, size, offset));

    memset(out, 0x5a, sizeof out);
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufUserData(buffer, out + 1, USER_AREA, 0));
    CHECK_BYTES(model, out + 1, USER_AREA);
    memset(out, 0x5a, sizeof out);
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufUserData(buffer, out + 1, size, offset));
    CHECK_BYTES(bytes, out + 1, size);
    CHECK_EQUAL(0x5a, out[0]);
    CHECK_EQUAL(0x5a, out[size + 1]);
}

static void user_area_refused(aclrtMbuf buffer, size_t size, size_t offset)
{
    unsigned char bytes[USER_AREA * 2];
    unsigned char untouched[USER_AREA * 2];
    memset(bytes, 0x5a, sizeof bytes);
    memset(untouched, 0x5a, sizeof untouched);
    stamp_user_area(buffer, 3);
    CHECK_EQUAL(100000, aclrtSetBufUserData(buffer, bytes, size, offset));
    CHECK_EQUAL(100000, aclrtGetBufUserData(buffer, bytes, size, offset));
    CHECK_BYTES(untouched, bytes, sizeof bytes);
    check_user_area(buffer, 3);
}

static void user_area(void)
{
    static const size_t values[] = { 0, 1, 2, 47, 48, 49, 94, 95, 96, 97, 98, 191, 192, 193, 0x80000000U, UINT32_MAX,
        SIZE_MAX / 2 + 1, SIZE_MAX - 97, SIZE_MAX - 96, SIZE_MAX - 95, SIZE_MAX - 94, SIZE_MAX - 1, SIZE_MAX };
    const size_t count = sizeof values / sizeof values[0];
    aclrtMbuf buffer = make_buffer(100, 4);
    for (size_t first = 0; first < count; first++) {
        for (size_t second = 0; second < count; second++) {
            size_t size = values[first];
            size_t offset = values[second];
            if (size <= USER_AREA && offset <= USER_AREA - size) {
                user_area_allowed(buffer, size, offset);
            } else {
                user_area_refused(buffer, size, offset);
            }
        }
    }
    CHECK_EQUAL(100000, aclrtSetBufUserData(buffer, NULL, 0, 0));
    CHECK_EQUAL(100000, aclrtGetBufUserData(buffer, NULL, 0, 0));
    CHECK_EQUAL(100000, aclrtSetBufUserData(buffer, NULL, 0, USER_AREA));
    CHECK_EQUAL(100000, aclrtGetBufUserData(buffer, NULL, SIZE_MAX, SIZE_MAX));
    /* What writes before or behind the area would have changed. */
    CHECK_EQUAL(100, size_of(buffer));
    CHECK_EQUAL(100, length_of(buffer));
    check_data(buffer, 4);
    free_buffer(buffer);
}

static void chain_by_single_appends(void)
{
    aclrtMbuf head = make_buffer(64, 1000);
    for (uint32_t count = 1; count < MAX_CHAIN; count++) {
        CHECK_EQUAL(count, count_of(head));
        aclrtMbuf next = make_buffer(64, 1000 + count);
        CHECK_EQUAL(ACL_SUCCESS, aclrtAppendBufChain(head, next));
    }
    aclrtMbuf surplus = make_buffer(64, 2000);
    CHECK_EQUAL(207012, aclrtAppendBufChain(head, surplus));
    CHECK_EQUAL(207012, aclrtAppendBufChain(surplus, head));
    check_chain(head, MAX_CHAIN, 1000);
    check_chain(surplus, 1, 2000);
    aclrtMbuf copy = copy_of(head);
    check_chain(copy, MAX_CHAIN, 1000);
    free_buffer(head);
    check_chain(copy, MAX_CHAIN, 1000);
    free_buffer(surplus);
    free_buffer(copy);
}

static void chain_to_chain(uint32_t front, uint32_t back)
{
    aclrtMbuf head = make_chain(front, 64, 5000);
    aclrtMbuf behind = make_chain(back, 64, 5000 + front);
    if (front + back <= MAX_CHAIN) {
        CHECK_EQUAL(ACL_SUCCESS, aclrtAppendBufChain(head, behind));
        check_chain(head, front + back, 5000);
        CHECK_EQUAL(107000, aclrtFreeBuf(behind));
    } else {
        CHECK_EQUAL(207012, aclrtAppendBufChain(head, behind));
        check_chain(head, front, 5000);
        check_chain(behind, back, 5000 + front);
        /* The tail is where it was, so appending to it goes on. */
        if (front < MAX_CHAIN) {
            aclrtMbuf one = make_buffer(64, 5000 + front);
            CHECK_EQUAL(ACL_SUCCESS, aclrtAppendBufChain(head, one));
            check_chain(head, front + 1, 5000);
        }
        free_buffer(behind);
    }
    free_buffer(head);
}

static void indices(void)
{
    const uint32_t counts[] = { 1, 2, 3, 127, 128 };
    for (size_t at = 0; at < sizeof counts / sizeof counts[0]; at++) {
        uint32_t count = counts[at];
        aclrtMbuf head = make_chain(count, 64, 9000);
        check_stamp(member_of(head, count - 1), 9000 + count - 1);
        const uint32_t refused[] = { count, count + 1, 256 + count - 1, 65536, UINT32_MAX / 2 + 1, UINT32_MAX - 1,
            UINT32_MAX };
        for (size_t wrong = 0; wrong < sizeof refused / sizeof refused[0]; wrong++) {
            aclrtMbuf found = UNTOUCHED_POINTER;
            CHECK_EQUAL(100000, aclrtGetBufFromChain(head, refused[wrong], &found));
            CHECK_POINTER(UNTOUCHED_POINTER, found);
        }
        free_buffer(head);
    }
}

int main(void)
{
    sizes();
    const size_t with_lengths[] = { 1, 2, 64, 65, 3000, 70000, 3000000, FOUR_GIB };
    for (size_t at = 0; at < sizeof with_lengths / sizeof with_lengths[0]; at++) {
        lengths_of(with_lengths[at]);
    }
    user_area();
    chain_by_single_appends();
    const uint32_t fronts[] = { 1, 2, 63, 64, 65, 126, 127, 128 };
    const uint32_t backs[] = { 1, 2, 63, 64, 65, 126, 127, 128 };
    for (size_t front = 0; front < sizeof fronts / sizeof fronts[0]; front++) {
        for (size_t back = 0; back < sizeof backs / sizeof backs[0]; back++) {
            chain_to_chain(fronts[front], backs[back]);
        }
    }
    indices();
    report_success("both sides of every limit");
    return 0;
}
