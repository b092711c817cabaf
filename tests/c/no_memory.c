/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * No address space at the first call: an error, and another try at the next.
 */
#include "buffers.h"
#include "pools.h"

#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static void limit_address_space(rlim_t bytes)
{
    struct rlimit limit;
    CHECK_EQUAL(0, getrlimit(RLIMIT_AS, &limit));
    limit.rlim_cur = bytes;
    CHECK_EQUAL(0, setrlimit(RLIMIT_AS, &limit));
}

static void check_refused(void)
{
    aclrtMbuf buffer = UNTOUCHED_POINTER;
    mbuf *other = UNTOUCHED_POINTER;
    mbuf_pool_statistics statistics;
    statistics.struct_size = sizeof statistics;
    CHECK_EQUAL(ACL_ERROR_INVALID_PARAM, aclrtAllocBuf(&buffer, 0));
    CHECK_EQUAL(ACL_ERROR_RT_MEMORY_ALLOCATION, aclrtAllocBuf(&buffer, 100));
    CHECK_EQUAL(MBUF_ERROR_MEMORY, mbuf_alloc(MBUF_POOL_DEFAULT, 0, &other));
    CHECK_EQUAL(MBUF_ERROR_MEMORY, mbuf_alloc_bulk(MBUF_POOL_DEFAULT, 100, &other, 1));
    CHECK_EQUAL(MBUF_ERROR_MEMORY, mbuf_alloc_aligned(MBUF_POOL_DEFAULT, 100, 64, &other));
    CHECK_EQUAL(MBUF_ERROR_MEMORY, mbuf_pool_create(NULL, &(mbuf_pool){ 0 }));
    CHECK_EQUAL(MBUF_ERROR_MEMORY, mbuf_pool_get_statistics(MBUF_POOL_DEFAULT, &statistics));
    CHECK_POINTER(UNTOUCHED_POINTER, buffer);
    CHECK_POINTER(UNTOUCHED_POINTER, other);
    CHECK_EQUAL(ACL_ERROR_RT_PARAM_INVALID, aclrtFreeBuf(&buffer));
}

int main(void)
{
    /* Both reserve address space of their own. */
    if (IS_SANITIZED || is_slow()) {
        report_success("nothing was tried: no limit of address space under a sanitizer or valgrind");
        return 0;
    }
    CHECK_EQUAL(0, unsetenv("MBUF_CAPACITY"));
    limit_address_space((rlim_t)1 << 30);
    check_refused();
    check_refused();
    mbuf_pool small = make_pool(16 << 20);
    mbuf *buffer = alloc_from(small, 1000);
    stamp_buffer(buffer, 1);
    check_refused();
    limit_address_space(RLIM_INFINITY);
    aclrtMbuf now = make_buffer(1000, 2);
    check_chain(now, 1, 2);
    check_chain(buffer, 1, 1);
    free_buffer(now);
    free_mbuf(buffer);
    destroy_empty(small);
    report_success("no address space is an error until there is some");
    return 0;
}
