/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Chains and copies: shapes, order, roles, and frees in every order with the data intact until the last.
 */
#include "buffers.h"
#include "pools.h"

/* Joins chains of the given lengths from left to right, or from right to left. */
static void join(const uint32_t *lengths, uint32_t parts, int from_the_right)
{
    aclrtMbuf heads[4];
    uint32_t total = 0;
    for (uint32_t part = 0; part < parts; part++) {
        heads[part] = make_chain(lengths[part], 80, 100 + total);
        total += lengths[part];
    }
    for (uint32_t step = 1; step < parts; step++) {
        uint32_t front = from_the_right ? parts - 1 - step : 0;
        uint32_t behind = from_the_right ? parts - step : step;
        CHECK_EQUAL(ACL_SUCCESS, aclrtAppendBufChain(heads[front], heads[behind]));
    }
    check_chain(heads[0], total, 100);
    for (uint32_t part = 1; part < parts; part++) {
        CHECK_EQUAL(107000, aclrtFreeBuf(heads[part]));
    }
    /* The tail that the head keeps is the last one's, whatever was appended. */
    CHECK_EQUAL(ACL_SUCCESS, aclrtAppendBufChain(heads[0], make_buffer(80, 100 + total)));
    check_chain(heads[0], total + 1, 100);
    free_buffer(heads[0]);
}

static void shapes(void)
{
    enum { LONGEST = 4 };
    for (uint32_t code = 0; code < LONGEST * LONGEST * LONGEST; code++) {
        const uint32_t lengths[3] = { code % LONGEST + 1, code / LONGEST % LONGEST + 1, code / LONGEST / LONGEST + 1 };
        join(lengths, 2, 0);
        join(lengths, 3, 0);
        join(lengths, 3, 1);
    }
}

/* A member is no head, in whatever role, and none of the refusals changes the chain. */
static void check_is_no_head(aclrtMbuf chain, aclrtMbuf member)
{
    aclrtMbuf other = make_buffer(80, 50);
    aclrtMbuf found = UNTOUCHED_POINTER;
    uint32_t count = UNTOUCHED_NUMBER;
    CHECK_EQUAL(107000, aclrtFreeBuf(member));
    CHECK_EQUAL(107000, aclrtAppendBufChain(member, other));
    CHECK_EQUAL(107000, aclrtAppendBufChain(other, member));
    CHECK_EQUAL(107000, aclrtAppendBufChain(chain, member));
    CHECK_EQUAL(107000, aclrtAppendBufChain(member, chain));
    CHECK_EQUAL(107000, aclrtAppendBufChain(member, member));
    CHECK_EQUAL(107000, aclrtGetBufChainNum(member, &count));
    CHECK_EQUAL(107000, aclrtGetBufFromChain(member, 0, &found));
    CHECK_POINTER(UNTOUCHED_POINTER, found);
    CHECK_EQUAL(UNTOUCHED_NUMBER, count);
    check_chain(other, 1, 50);
    free_buffer(other);
}

static void members_are_no_heads(void)
{
    aclrtMbuf chain = make_chain(2, 80, 1);
    CHECK_EQUAL(ACL_SUCCESS, aclrtAppendBufChain(chain, make_chain(3, 80, 3)));
    for (uint32_t index = 1; index < 5; index++) {
        check_is_no_head(chain, member_of(chain, index));
    }
    check_chain(chain, 5, 1);
    free_buffer(chain);
}

/* What a member may be used for: all but what needs a head. */
static void members_are_buffers(void)
{
    aclrtMbuf chain = make_chain(3, 80, 1);
    for (uint32_t index = 0; index < 3; index++) {
        aclrtMbuf member = member_of(chain, index);
        stamp_buffer(member, 40 + index);
        CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(member, index));
    }
    for (uint32_t index = 0; index < 3; index++) {
        CHECK_EQUAL(index, length_of(member_of(chain, index)));
        check_data(member_of(chain, index), 40 + index);
        check_user_area(member_of(chain, index), 40 + index);
    }
    free_buffer(chain);
}

static void copies_share_data(void)
{
    aclrtMbuf chain = make_chain(5, 80, 10);
    for (uint32_t from = 0; from < 5; from++) {
        aclrtMbuf copy = copy_of(member_of(chain, from));
        check_chain(copy, 5 - from, 10 + from);
        for (uint32_t index = 0; index < 5 - from; index++) {
            aclrtMbuf original = member_of(chain, from + index);
            aclrtMbuf own = member_of(copy, index);
            CHECK(own != original);
            CHECK_POINTER(data_of(original), data_of(own));
            CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(own, index));
            stamp_user_area(own, 90 + index);
            check_user_area(original, 10 + from + index);
            CHECK_EQUAL(80, length_of(original));
            CHECK_EQUAL(80, size_of(own));
        }
        check_chain(chain, 5, 10);
        /* The other way round. */
        stamp_user_area(chain, 77);
        CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(chain, 33));
        check_user_area(copy, 90);
        CHECK_EQUAL(0, length_of(copy));
        stamp_buffer(chain, 10);
        free_buffer(copy);
        check_chain(chain, 5, 10);
    }
    free_buffer(chain);
}

static void copies_in_their_originals_chain(void)
{
    aclrtMbuf chain = make_chain(2, 80, 10);
    aclrtMbuf copy = copy_of(chain);
    CHECK_EQUAL(ACL_SUCCESS, aclrtAppendBufChain(chain, copy));
    CHECK_EQUAL(4, count_of(chain));
    for (uint32_t index = 0; index < 4; index++) {
        check_stamp(member_of(chain, index), 10 + index % 2);
    }
    aclrtMbuf all = copy_of(chain);
    aclrtMbuf rest = copy_of(member_of(all, 3));
    free_buffer(chain);
    free_buffer(all);
    check_chain(rest, 1, 11);
    free_buffer(rest);
}

static void chain_of_a_copy_and_an_original(void)
{
    aclrtMbuf original = make_buffer(80, 20);
    aclrtMbuf copy = copy_of(original);
    CHECK_EQUAL(ACL_SUCCESS, aclrtAppendBufChain(copy, make_buffer(80, 21)));
    CHECK_EQUAL(1, count_of(original));
    check_chain(copy, 2, 20);
    free_buffer(original);
    check_chain(copy, 2, 20);
    free_buffer(copy);
}

enum { HANDLES = 5 };

/* What refers to a chain of three: itself, copies from its head, middle and tail, and a copy of a copy. */
struct family {
    aclrtMbuf handles[HANDLES];
    int is_freed[HANDLES];
};

/* From which buffer of the original each goes on. */
static const uint32_t starts[HANDLES] = { 0, 0, 1, 2, 1 };

static struct family make_family(void)
{
    struct family family;
    memset(&family, 0, sizeof family);
    aclrtMbuf chain = make_chain(3, 200, 60);
    aclrtMbuf from_head = copy_of(chain);
    family.handles[0] = chain;
    family.handles[1] = from_head;
    family.handles[2] = copy_of(member_of(chain, 1));
    family.handles[3] = copy_of(member_of(chain, 2));
    family.handles[4] = copy_of(member_of(from_head, 1));
    for (uint32_t which = 0; which < HANDLES; which++) {
        uint32_t count = count_of(family.handles[which]);
        CHECK_EQUAL(3 - starts[which], count);
        for (uint32_t index = 0; index < count; index++) {
            aclrtMbuf member = member_of(family.handles[which], index);
            stamp_user_area(member, 1000 * which + index);
            CHECK_EQUAL(ACL_SUCCESS, aclrtSetBufDataLen(member, 10 * which + index));
        }
    }
    return family;
}

static void check_family(const struct family *family)
{
    for (uint32_t which = 0; which < HANDLES; which++) {
        aclrtMbuf head = family->handles[which];
        if (family->is_freed[which]) {
            size_t length;
            CHECK_EQUAL(107000, aclrtFreeBuf(head));
            CHECK_EQUAL(107000, aclrtGetBufDataLen(head, &length));
            continue;
        }
        for (uint32_t index = 0; index < 3 - starts[which]; index++) {
            aclrtMbuf member = member_of(head, index);
            check_data(member, 60 + starts[which] + index);
            check_user_area(member, 1000 * which + index);
            CHECK_EQUAL(10 * which + index, length_of(member));
        }
    }
}

static void free_in_order(const uint32_t *order)
{
    uint64_t in_use = in_use_of(MBUF_POOL_DEFAULT);
    struct family family = make_family();
    /* Five chains' headers, of which the first is its data's as well. */
    CHECK_EQUAL(in_use + 3 + 3 + 2 + 1 + 2, in_use_of(MBUF_POOL_DEFAULT));
    check_family(&family);
    for (uint32_t step = 0; step < HANDLES; step++) {
        free_buffer(family.handles[order[step]]);
        family.is_freed[order[step]] = 1;
        check_family(&family);
    }
    CHECK_EQUAL(in_use, in_use_of(MBUF_POOL_DEFAULT));
}

static void permute(uint32_t *order, uint32_t from)
{
    if (from == HANDLES) {
        free_in_order(order);
        return;
    }
    for (uint32_t other = from; other < HANDLES; other++) {
        uint32_t kept = order[from];
        order[from] = order[other];
        order[other] = kept;
        permute(order, from + 1);
        order[other] = order[from];
        order[from] = kept;
    }
}

int main(void)
{
    shapes();
    members_are_no_heads();
    members_are_buffers();
    copies_share_data();
    copies_in_their_originals_chain();
    chain_of_a_copy_and_an_original();
    uint32_t order[HANDLES] = { 0, 1, 2, 3, 4 };
    permute(order, 0);
    CHECK_EQUAL(0, in_use_of(MBUF_POOL_DEFAULT));
    report_success("chains and copies, freed in every order");
    return 0;
}
