/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Handles that are none, thrown at every function: each is refused, and changes nothing.
 */
#include "pools.h"
#include "refused.h"

static const uint64_t STAMP = UINT64_C(0x0123456789abcdef);

/* A live buffer that nothing may change. */
static aclrtMbuf witness;

static void refuse(aclrtMbuf handle, const char *what)
{
    struct suspect suspect = { handle, what };
    check_refused(suspect, witness);
    check_refused_extended(suspect, witness);
}

static void refuse_number(uintptr_t number, const char *what)
{
    refuse((aclrtMbuf)number, what);
}

static void check_witness(void)
{
    check_chain(witness, 1, STAMP);
}

static void numbers(void)
{
    for (uintptr_t number = 0; number < 1000; number++) {
        refuse_number(number, "small number");
        refuse_number((uintptr_t)0 - 1 - number, "number near the end");
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        uintptr_t power = (uintptr_t)1 << bit;
        refuse_number(power - 1, "power of two less one");
        refuse_number(power, "power of two");
        refuse_number(power + 64, "power of two and 64");
        refuse_number((uintptr_t)0 - power, "negative power of two");
        refuse_number((uintptr_t)witness ^ power, "live handle with a bit flipped");
    }
    refuse_number((uintptr_t)UINT64_C(0x8000000000000000), "not canonical");
    refuse_number((uintptr_t)UINT64_C(0x0000800000000000), "not canonical");
    refuse_number((uintptr_t)UINT64_C(0xffff7fffffffffc0), "not canonical");
    check_witness();
}

static int static_memory[64] = { 1 };
static const int constant_memory[64] = { 1 };

static void memory_of_others(void)
{
    int stack_memory[64] = { 1 };
    unsigned char *heap_memory = malloc(4096);
    void (*code)(void) = memory_of_others;
    uintptr_t code_address;
    CHECK(heap_memory != NULL);
    memcpy(&code_address, &code, sizeof code_address);
    for (uintptr_t shift = 0; shift <= 64; shift++) {
        refuse_number((uintptr_t)stack_memory + shift, "stack");
        refuse_number((uintptr_t)heap_memory + shift, "heap");
        refuse_number((uintptr_t)static_memory + shift, "static memory");
        refuse_number((uintptr_t)constant_memory + shift, "constant memory");
        refuse_number(code_address + shift, "code");
    }
    /* Of all of it, only its place gives this away. */
    unsigned char *place = heap_memory + (64 - (uintptr_t)heap_memory % 64);
    plant_header(place, witness, 0);
    refuse(place, "copy of a live header on the heap");
    plant_header(place, witness, 1);
    refuse(place, "forged header on the heap");
    /* Volatile, or the compiler says that a freed pointer is used. */
    volatile uintptr_t freed_address = (uintptr_t)place;
    free(heap_memory);
    refuse_number(freed_address, "freed heap memory");
    check_witness();
}

static void every_place_inside(size_t size, size_t step)
{
    aclrtMbuf host = make_buffer(size, 5);
    unsigned char *data = data_of(host);
    unsigned char kept[192];
    for (uintptr_t shift = 1; shift < 64; shift++) {
        refuse_number((uintptr_t)host + shift, "misaligned inside the header");
        refuse_number((uintptr_t)data + shift, "misaligned inside the data");
    }
    refuse_number((uintptr_t)host + 64, "second line of a header");
    refuse_number((uintptr_t)host + 128, "third line of a header");
    CHECK_POINTER((unsigned char *)host + 192, data);
    for (size_t at = 0; at < size; at += step) {
        refuse(data + at, "data");
        if (at + sizeof kept > size) {
            continue;
        }
        memcpy(kept, data + at, sizeof kept);
        plant_header(data + at, host, 0);
        refuse(data + at, "copy of a live header in data");
        plant_header(data + at, witness, 1);
        refuse(data + at, "forged header in data");
        memcpy(data + at, kept, sizeof kept);
    }
    check_chain(host, 1, 5);
    free_buffer(host);
    check_witness();
}

static void inside_live_buffers(void)
{
    every_place_inside(64, 64);
    every_place_inside(700, 64);
    every_place_inside(5000, 64);
    every_place_inside(100000, is_slow() ? 4096 : 64);
    /* Spans, of whole slabs: a slab's start may lie in the middle of one. */
    every_place_inside(3000000, is_slow() ? 65536 : 4096);
    aclrtMbuf span = alloc_buffer(9000000);
    uintptr_t slab = (uintptr_t)2 << 20;
    uintptr_t end = (uintptr_t)data_of(span) + 9000000;
    for (uintptr_t at = ((uintptr_t)span / slab + 1) * slab; at + 192 < end; at += slab) {
        unsigned char *place = (unsigned char *)span + (at - (uintptr_t)span);
        plant_header(place, span, 0);
        refuse(place, "copy of a live header at a slab's start");
        plant_header(place, span, 1);
        refuse(place, "forged header at a slab's start");
    }
    free_buffer(span);
    check_witness();
}

static void freed(size_t size)
{
    aclrtMbuf buffer = make_buffer(size, 1);
    free_buffer(buffer);
    refuse(buffer, "freed");
    refuse(buffer, "freed, and refused once");

    aclrtMbuf original = make_buffer(size, 2);
    aclrtMbuf copy = copy_of(original);
    aclrtMbuf other = copy_of(original);
    free_buffer(copy);
    refuse(copy, "freed copy");
    free_buffer(original);
    refuse(original, "original freed while a copy lives");
    refuse(data_of(other), "data that only a copy keeps");
    check_chain(other, 1, 2);
    free_buffer(other);
    refuse(other, "last copy, freed");
    refuse(original, "original freed, and its copies as well");
    check_witness();
}

static void freed_chains(void)
{
    aclrtMbuf chain = make_chain(4, 300, 1);
    aclrtMbuf copy = copy_of(chain);
    aclrtMbuf buffers[4];
    aclrtMbuf copies[4];
    for (uint32_t index = 0; index < 4; index++) {
        buffers[index] = member_of(chain, index);
        copies[index] = member_of(copy, index);
    }
    free_buffer(chain);
    for (uint32_t index = 0; index < 4; index++) {
        refuse(buffers[index], "of a freed chain whose copy lives");
    }
    check_chain(copy, 4, 1);
    free_buffer(copy);
    for (uint32_t index = 0; index < 4; index++) {
        refuse(buffers[index], "of a freed chain");
        refuse(copies[index], "of a freed copy");
    }
    check_witness();
}

static void around_the_arena(void)
{
    uintptr_t base = arena_of(witness);
    uintptr_t bytes = (uintptr_t)statistics_of(MBUF_POOL_DEFAULT).reserved;
    CHECK_EQUAL(0, base % 4096);
    for (uintptr_t shift = 1; shift <= 512; shift++) {
        refuse_number(base - shift, "before the arena");
        refuse_number(base + bytes + shift - 1, "behind the arena");
        refuse_number(base + bytes - shift, "at the arena's end");
        refuse_number(base + shift - 1, "at the arena's start");
    }
    for (uintptr_t shift = 64; shift < bytes; shift *= 2) {
        refuse_number(base - shift, "far before the arena");
        refuse_number(base + bytes + shift, "far behind the arena");
        refuse_number(base + bytes - shift + 1, "somewhere in the arena, misaligned");
    }
    /* The pool's tables. */
    for (uintptr_t shift = 0; shift < 256 * 1024; shift += 64) {
        refuse_number(base + shift, "the pool's tables");
    }
    check_witness();
}

static int is_one_of(aclrtMbuf handle, const aclrtMbuf *handles, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        if (handles[at] == handle) {
            return 1;
        }
    }
    return 0;
}

/* Of all places from `low` to `high`, exactly the live buffers are handles. */
static void sweep_range(uintptr_t low, uintptr_t high, const aclrtMbuf *live, size_t count)
{
    size_t found = 0;
    for (uintptr_t address = low; address < high; address += 64) {
        size_t length;
        if (aclrtGetBufDataLen((aclrtMbuf)address, &length) == ACL_SUCCESS) {
            CHECK(is_one_of((aclrtMbuf)address, live, count));
            found++;
        }
    }
    CHECK_EQUAL(count, found);
}

static void sweep(void)
{
    enum { COUNT = 120 };
    aclrtMbuf live[COUNT + 1];
    uintptr_t slab = (uintptr_t)2 << 20;
    uintptr_t low = UINTPTR_MAX;
    uintptr_t high = 0;
    live[COUNT] = witness;
    for (size_t at = 0; at < COUNT; at++) {
        aclrtMbuf dropped = alloc_buffer(700);
        live[at] = at % 3 == 0 ? copy_of(live[COUNT]) : make_buffer(700 + 3000 * (at % 2), at);
        free_buffer(dropped);
    }
    for (size_t at = 0; at <= COUNT; at++) {
        uintptr_t address = (uintptr_t)live[at];
        low = address < low ? address : low;
        high = address > high ? address : high;
    }
    sweep_range((low / slab - 1) * slab, (high / slab + 2) * slab, live, COUNT + 1);
    for (size_t at = 0; at < COUNT; at++) {
        free_buffer(live[at]);
    }
    check_witness();
}

static void before_there_is_a_pool(void)
{
    size_t length;
    CHECK_EQUAL(107000, aclrtFreeBuf(static_memory));
    CHECK_EQUAL(107000, aclrtGetBufDataLen(static_memory, &length));
    CHECK_EQUAL(107000, aclrtAppendBufChain(static_memory, &length));
    CHECK_EQUAL(107000, mbuf_free((mbuf *)(void *)static_memory));
}

/* Where new buffers will be lies what others wrote, and it may look like anything. */
static void old_data_where_headers_will_be(int byte)
{
    enum { SPANS = 20 };
    mbuf_pool pool = make_pool(1 << 20);
    mbuf *spans[SPANS];
    size_t count = 0;
    while (mbuf_alloc(pool, 60000, &spans[count]) == MBUF_OK) {
        memset(data_of(spans[count]), byte, 60000);
        count++;
        CHECK(count < SPANS);
    }
    CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(spans, count));
    aclrtMbuf live[6];
    const size_t sizes[6] = { 0, 1, 500, 5000, 20000, 100000 };
    for (size_t at = 0; at < 6; at++) {
        live[at] = alloc_from(pool, sizes[at]);
    }
    uintptr_t base = arena_of(live[0]);
    sweep_range(base, base + (uintptr_t)statistics_of(pool).reserved, live, 6);
    for (size_t at = 0; at < 6; at++) {
        free_buffer(live[at]);
    }
    destroy_empty(pool);
}

/* Memory that went from one size to another: of the old handles those are good that are new ones as well. */
static void slabs_that_changed_size(void)
{
    enum { MOST = 4000 };
    static mbuf *old[MOST];
    static aclrtMbuf live[MOST];
    size_t old_count = 0;
    size_t live_count = 0;
    mbuf_pool pool = make_pool(1 << 20);
    while (mbuf_alloc(pool, 700, &old[old_count]) == MBUF_OK) {
        old_count++;
        CHECK(old_count < MOST);
    }
    CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(old, old_count));
    for (size_t size = 300000; size > 100; size /= 3) {
        mbuf *buffer;
        while (mbuf_alloc(pool, size, &buffer) == MBUF_OK) {
            stamp_buffer(buffer, live_count);
            live[live_count++] = buffer;
            CHECK(live_count < MOST);
        }
    }
    for (size_t at = 0; at < old_count; at++) {
        if (!is_one_of(old[at], live, live_count)) {
            refuse(old[at], "of a slab that has another size now");
        }
    }
    for (size_t at = 0; at < live_count; at++) {
        check_chain(live[at], 1, at);
        free_buffer(live[at]);
    }
    for (size_t at = 0; at < old_count; at++) {
        refuse(old[at], "of a slab that has had another size since");
    }
    destroy_empty(pool);
}

int main(void)
{
    before_there_is_a_pool();
    witness = make_buffer(3000, STAMP);
    numbers();
    memory_of_others();
    inside_live_buffers();
    freed(1);
    freed(700);
    freed(1000000);
    freed(5000000);
    freed_chains();
    around_the_arena();
    sweep();
    old_data_where_headers_will_be(0x01);
    old_data_where_headers_will_be(0xff);
    slabs_that_changed_size();
    CHECK_EQUAL(1, in_use_of(MBUF_POOL_DEFAULT));
    check_witness();
    free_buffer(witness);
    CHECK_EQUAL(0, in_use_of(MBUF_POOL_DEFAULT));
    report_success("handles that are none are refused and change nothing");
    return 0;
}
