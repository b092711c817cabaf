/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Each of the eleven functions: what success gives, and every error, the first of several included.
 */
#include "buffers.h"

/* A handle that was freed. Of a size of its own, so that its block is not handed out again. */
static aclrtMbuf dead;

static void codes(void)
{
    CHECK_EQUAL(0, ACL_SUCCESS);
    CHECK_EQUAL(100000, ACL_ERROR_INVALID_PARAM);
    CHECK_EQUAL(107000, ACL_ERROR_RT_PARAM_INVALID);
    CHECK_EQUAL(207001, ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK_EQUAL(207012, ACL_ERROR_RT_OVER_LIMIT);
}

static void check_fresh(aclrtMbuf buffer, size_t size)
{
    static const unsigned char zeros[USER_AREA];
    unsigned char area[USER_AREA];
    memset(area, 0x5a, sizeof area);
    CHECK_EQUAL(size, size_of(buffer));
    CHECK_EQUAL(0, length_of(buffer));
    CHECK_EQUAL(1, count_of(buffer));
    CHECK_POINTER(buffer, member_of(buffer, 0));
    CHECK_EQUAL(0, (uintptr_t)data_of(buffer) % 64);
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufUserData(buffer, area, sizeof area, 0));
    CHECK_BYTES(zeros, area, sizeof area);
}

static void alloc(void)
{
    const size_t too_large = (size_t)(UINT64_C(4294967296) + 1);
    aclrtMbuf buffer = UNTOUCHED_POINTER;
    CHECK_EQUAL(100000, aclrtAllocBuf(NULL, 64));
    CHECK_EQUAL(100000, aclrtAllocBuf(NULL, 0));
    CHECK_EQUAL(100000, aclrtAllocBuf(NULL, too_large));
    CHECK_EQUAL(100000, aclrtAllocBuf(&buffer, 0));
    CHECK_EQUAL(100000, aclrtAllocBuf(&buffer, too_large));
    CHECK_POINTER(UNTOUCHED_POINTER, buffer);

    for (size_t size = 1; size < 20000; size += size / 5 + 1) {
        buffer = alloc_buffer(size);
        check_fresh(buffer, size);
        stamp_buffer(buffer, size);
        check_stamp(buffer, size);
        free_buffer(buffer);
        /* Most likely the same block again, whose length and user area were set. */
        buffer = alloc_buffer(size);
        check_fresh(buffer, size);
        free_buffer(buffer);
    }
}

/* Whatever the capacity, some number of the largest buffers is too much. */
static void alloc_without_memory(void)
{
    enum { MOST = 100 };
    const size_t size = (size_t)UINT64_C(4294967296);
    aclrtMbuf buffers[MOST];
    size_t count = 0;
    int code = ACL_SUCCESS;
    while (count < MOST && code == ACL_SUCCESS) {
        buffers[count] = UNTOUCHED_POINTER;
        code = aclrtAllocBuf(&buffers[count], size);
        count += code == ACL_SUCCESS;
    }
    CHECK_EQUAL(207001, code);
    CHECK_POINTER(UNTOUCHED_POINTER, buffers[count]);
    while (count > 0) {
        free_buffer(buffers[--count]);
    }
}

static void free_one(void)
{
    CHECK_EQUAL(100000, aclrtFreeBuf(NULL));
    CHECK_EQUAL(107000, aclrtFreeBuf(dead));

    aclrtMbuf chain = make_chain(3, 100, 7);
    CHECK_EQUAL(107000, aclrtFreeBuf(member_of(chain, 1)));
    CHECK_EQUAL(107000, aclrtFreeBuf(member_of(chain, 2)));
    check_chain(chain, 3, 7);

    aclrtMbuf members[3] = { chain, member_of(chain, 1), member_of(chain, 2) };
    free_buffer(chain);
    for (size_t index = 0; index < 3; index++) {
        CHECK_EQUAL(107000, aclrtFreeBuf(members[index]));
    }
}

static void get_data(aclrtMbuf buffer)
{
    void *data = UNTOUCHED_POINTER;
    size_t size = UNTOUCHED_NUMBER;
    CHECK_EQUAL(100000, aclrtGetBufData(NULL, &data, &size));
    CHECK_EQUAL(100000, aclrtGetBufData(buffer, NULL, &size));
    CHECK_EQUAL(100000, aclrtGetBufData(buffer, &data, NULL));
    CHECK_EQUAL(100000, aclrtGetBufData(dead, NULL, &size));
    CHECK_EQUAL(100000, aclrtGetBufData(dead, &data, NULL));
    CHECK_EQUAL(100000, aclrtGetBufData(NULL, NULL, NULL));
    CHECK_EQUAL(107000, aclrtGetBufData(dead, &data, &size));
    CHECK_POINTER(UNTOUCHED_POINTER, data);
    CHECK_EQUAL(UNTOUCHED_NUMBER, size);

    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(buffer, 10));
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufData(buffer, &data, &size));
    CHECK_EQUAL(1000, size);
    memset(data, 1, size);
}

static void set_user_data(aclrtMbuf buffer)
{
    const unsigned char bytes[USER_AREA] = { 1, 2, 3, 4 };
    stamp_user_area(buffer, 5);
    CHECK_EQUAL(100000, aclrtSetBufUserData(NULL, bytes, 4, 0));
    CHECK_EQUAL(100000, aclrtSetBufUserData(buffer, NULL, 4, 0));
    CHECK_EQUAL(100000, aclrtSetBufUserData(buffer, NULL, 0, 0));
    CHECK_EQUAL(100000, aclrtSetBufUserData(buffer, bytes, 4, 93));
    CHECK_EQUAL(100000, aclrtSetBufUserData(NULL, bytes, 4, 93));
    CHECK_EQUAL(100000, aclrtSetBufUserData(dead, NULL, 4, 0));
    CHECK_EQUAL(100000, aclrtSetBufUserData(dead, NULL, 0, 0));
    CHECK_EQUAL(100000, aclrtSetBufUserData(dead, bytes, 4, 93));
    CHECK_EQUAL(107000, aclrtSetBufUserData(dead, bytes, 4, 0));
    CHECK_EQUAL(107000, aclrtSetBufUserData(dead, bytes, 0, 0));
    check_user_area(buffer, 5);

    unsigned char area[USER_AREA];
    fill_with_stamp(area, sizeof area, ~UINT64_C(5));
    memcpy(area + 92, bytes, 4);
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufUserData(buffer, bytes, 4, 92));
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufUserData(buffer, bytes, 0, 3));
    unsigned char read_back[USER_AREA] = { 0 };
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufUserData(buffer, read_back, sizeof read_back, 0));
    CHECK_BYTES(area, read_back, sizeof area);
}

static void get_user_data(aclrtMbuf buffer)
{
    unsigned char bytes[USER_AREA];
    unsigned char untouched[USER_AREA];
    memset(bytes, 0x5a, sizeof bytes);
    memset(untouched, 0x5a, sizeof untouched);
    stamp_user_area(buffer, 6);
    CHECK_EQUAL(100000, aclrtGetBufUserData(NULL, bytes, 4, 0));
    CHECK_EQUAL(100000, aclrtGetBufUserData(buffer, NULL, 4, 0));
    CHECK_EQUAL(100000, aclrtGetBufUserData(buffer, NULL, 0, 0));
    CHECK_EQUAL(100000, aclrtGetBufUserData(buffer, bytes, 4, 93));
    CHECK_EQUAL(100000, aclrtGetBufUserData(NULL, bytes, 4, 93));
    CHECK_EQUAL(100000, aclrtGetBufUserData(dead, NULL, 4, 0));
    CHECK_EQUAL(100000, aclrtGetBufUserData(dead, NULL, 0, 0));
    CHECK_EQUAL(100000, aclrtGetBufUserData(dead, bytes, 4, 93));
    CHECK_EQUAL(107000, aclrtGetBufUserData(dead, bytes, 4, 0));
    CHECK_EQUAL(107000, aclrtGetBufUserData(dead, bytes, 0, 0));
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufUserData(buffer, bytes, 0, 3));
    CHECK_BYTES(untouched, bytes, sizeof bytes);

    unsigned char area[USER_AREA];
    fill_with_stamp(area, sizeof area, ~UINT64_C(6));
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufUserData(buffer, bytes, 4, 90));
    CHECK_BYTES(area + 90, bytes, 4);
    CHECK_BYTES(untouched, bytes + 4, sizeof bytes - 4);
}

static void data_length(aclrtMbuf buffer)
{
    size_t length = UNTOUCHED_NUMBER;
    CHECK_EQUAL(100000, aclrtGetBufDataLen(NULL, &length));
    CHECK_EQUAL(100000, aclrtGetBufDataLen(buffer, NULL));
    CHECK_EQUAL(100000, aclrtGetBufDataLen(dead, NULL));
    CHECK_EQUAL(107000, aclrtGetBufDataLen(dead, &length));
    CHECK_EQUAL(UNTOUCHED_NUMBER, length);

    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(buffer, 77));
    CHECK_EQUAL(100000, aclrtSetBufDataLen(NULL, 1));
    CHECK_EQUAL(100000, aclrtSetBufDataLen(NULL, SIZE_MAX));
    CHECK_EQUAL(107000, aclrtSetBufDataLen(dead, 1));
    CHECK_EQUAL(107000, aclrtSetBufDataLen(dead, SIZE_MAX));
    CHECK_EQUAL(100000, aclrtSetBufDataLen(buffer, 1001));
    CHECK_EQUAL(77, length_of(buffer));
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(buffer, 1000));
    CHECK_EQUAL(1000, length_of(buffer));
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(buffer, 0));
    CHECK_EQUAL(0, length_of(buffer));
    CHECK_EQUAL(1000, size_of(buffer));
}

static void copy_ref(aclrtMbuf buffer)
{
    aclrtMbuf copy = UNTOUCHED_POINTER;
    CHECK_EQUAL(100000, aclrtCopyBufRef(NULL, &copy));
    CHECK_EQUAL(100000, aclrtCopyBufRef(buffer, NULL));
    CHECK_EQUAL(100000, aclrtCopyBufRef(dead, NULL));
    CHECK_EQUAL(107000, aclrtCopyBufRef(dead, &copy));
    CHECK_POINTER(UNTOUCHED_POINTER, copy);

    stamp_buffer(buffer, 8);
    CHECK_EQUAL(ACL_SUCCESS, aclrtCopyBufRef(buffer, &copy));
    CHECK(copy != buffer);
    CHECK_POINTER(data_of(buffer), data_of(copy));
    check_stamp(copy, 8);
    stamp_user_area(copy, 9);
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(copy, 3));
    check_stamp(buffer, 8);
    /* Growing again is allowed though the data is shared. */
    CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(copy, 1000));
    free_buffer(buffer);
    check_data(copy, 8);
    check_user_area(copy, 9);
    CHECK_EQUAL(107000, aclrtCopyBufRef(buffer, &copy));
    free_buffer(copy);
}

static void append_order(void)
{
    aclrtMbuf full = make_chain(MAX_CHAIN, 64, 100);
    aclrtMbuf pair = make_chain(2, 64, 300);
    aclrtMbuf alone = make_buffer(64, 400);
    aclrtMbuf of_full = member_of(full, 5);
    aclrtMbuf of_pair = member_of(pair, 1);
    CHECK_EQUAL(100000, aclrtAppendBufChain(NULL, alone));
    CHECK_EQUAL(100000, aclrtAppendBufChain(alone, NULL));
    CHECK_EQUAL(100000, aclrtAppendBufChain(NULL, NULL));
    CHECK_EQUAL(100000, aclrtAppendBufChain(dead, NULL));
    CHECK_EQUAL(100000, aclrtAppendBufChain(NULL, dead));
    CHECK_EQUAL(100000, aclrtAppendBufChain(of_pair, NULL));
    CHECK_EQUAL(107000, aclrtAppendBufChain(alone, alone));
    CHECK_EQUAL(107000, aclrtAppendBufChain(full, full));
    CHECK_EQUAL(107000, aclrtAppendBufChain(dead, dead));
    CHECK_EQUAL(107000, aclrtAppendBufChain(dead, alone));
    CHECK_EQUAL(107000, aclrtAppendBufChain(alone, dead));
    CHECK_EQUAL(107000, aclrtAppendBufChain(full, dead));
    CHECK_EQUAL(107000, aclrtAppendBufChain(of_pair, alone));
    CHECK_EQUAL(107000, aclrtAppendBufChain(alone, of_pair));
    CHECK_EQUAL(107000, aclrtAppendBufChain(pair, of_pair));
    CHECK_EQUAL(107000, aclrtAppendBufChain(of_pair, pair));
    CHECK_EQUAL(107000, aclrtAppendBufChain(of_pair, of_pair));
    CHECK_EQUAL(107000, aclrtAppendBufChain(full, of_pair));
    CHECK_EQUAL(107000, aclrtAppendBufChain(of_full, pair));
    CHECK_EQUAL(107000, aclrtAppendBufChain(of_pair, full));
    CHECK_EQUAL(207012, aclrtAppendBufChain(full, alone));
    CHECK_EQUAL(207012, aclrtAppendBufChain(alone, full));
    check_chain(full, MAX_CHAIN, 100);
    check_chain(pair, 2, 300);
    check_chain(alone, 1, 400);

    CHECK_EQUAL(ACL_SUCCESS, aclrtAppendBufChain(pair, alone));
    CHECK_EQUAL(3, count_of(pair));
    CHECK_POINTER(alone, member_of(pair, 2));
    free_buffer(full);
    free_buffer(pair);
    CHECK_EQUAL(107000, aclrtFreeBuf(alone));
}

static void chain_readers(void)
{
    aclrtMbuf chain = make_chain(3, 64, 500);
    aclrtMbuf member = member_of(chain, 1);
    aclrtMbuf found = UNTOUCHED_POINTER;
    CHECK_EQUAL(100000, aclrtGetBufFromChain(NULL, 0, &found));
    CHECK_EQUAL(100000, aclrtGetBufFromChain(chain, 0, NULL));
    CHECK_EQUAL(100000, aclrtGetBufFromChain(dead, 0, NULL));
    CHECK_EQUAL(100000, aclrtGetBufFromChain(NULL, 9, &found));
    CHECK_EQUAL(107000, aclrtGetBufFromChain(dead, 0, &found));
    CHECK_EQUAL(107000, aclrtGetBufFromChain(dead, UINT32_MAX, &found));
    CHECK_EQUAL(107000, aclrtGetBufFromChain(member, 0, &found));
    CHECK_EQUAL(107000, aclrtGetBufFromChain(member, UINT32_MAX, &found));
    CHECK_EQUAL(100000, aclrtGetBufFromChain(chain, 3, &found));
    CHECK_POINTER(UNTOUCHED_POINTER, found);
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufFromChain(chain, 0, &found));
    CHECK_POINTER(chain, found);

    uint32_t count = UNTOUCHED_NUMBER;
    CHECK_EQUAL(100000, aclrtGetBufChainNum(NULL, &count));
    CHECK_EQUAL(100000, aclrtGetBufChainNum(chain, NULL));
    CHECK_EQUAL(100000, aclrtGetBufChainNum(dead, NULL));
    CHECK_EQUAL(100000, aclrtGetBufChainNum(member, NULL));
    CHECK_EQUAL(107000, aclrtGetBufChainNum(dead, &count));
    CHECK_EQUAL(107000, aclrtGetBufChainNum(member, &count));
    CHECK_EQUAL(UNTOUCHED_NUMBER, count);
    CHECK_EQUAL(ACL_SUCCESS, aclrtGetBufChainNum(chain, &count));
    CHECK_EQUAL(3, count);
    free_buffer(chain);
}

int main(void)
{
    codes();
    dead = alloc_buffer(500000);
    free_buffer(dead);
    alloc();
    free_one();
    aclrtMbuf buffer = alloc_buffer(1000);
    get_data(buffer);
    set_user_data(buffer);
    get_user_data(buffer);
    data_length(buffer);
    copy_ref(buffer);
    append_order();
    chain_readers();
    CHECK_EQUAL(107000, aclrtFreeBuf(dead));
    /* Last, since the memory of what is free may serve other sizes from then on. */
    alloc_without_memory();
    report_success("each function's results and errors, in order");
    return 0;
}
