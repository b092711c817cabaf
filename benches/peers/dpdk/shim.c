/* DPDK's mbufs by functions that Rust can call: what its headers inline is inlined here. */
#define _GNU_SOURCE
#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define HEAP "peers"
/* Objects that a core keeps at hand: the most that there may be. */
#define CACHE 512
#define USER_AREA 96

/* Rust computes where data is itself. */
_Static_assert(offsetof(struct rte_mbuf, buf_addr) == 0, "where Rust expects it");
_Static_assert(offsetof(struct rte_mbuf, data_off) == 16, "where Rust expects it");

static int socket_id = -1;

/* Memory on transparent huge pages as a heap of its own: without huge pages DPDK would put one mbuf on each small page. */
static int add_heap(size_t bytes) {
    char *reserved = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) {
        return -1;
    }
    char *start = (char *)(((uintptr_t)reserved + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
    (void)madvise(start, bytes, MADV_HUGEPAGE);
    unsigned pages = (unsigned)(bytes / HUGE_PAGE);
    static rte_iova_t addresses[4096];
    if (pages > RTE_DIM(addresses)) {
        return -1;
    }
    for (unsigned page = 0; page < pages; page++) {
        addresses[page] = (rte_iova_t)(uintptr_t)(start + page * HUGE_PAGE);
    }
    if (rte_malloc_heap_create(HEAP) != 0 || rte_malloc_heap_memory_add(HEAP, start, bytes, addresses, pages, HUGE_PAGE) != 0) {
        return -1;
    }
    socket_id = rte_malloc_heap_get_socket(HEAP);
    return socket_id < 0 ? -1 : 0;
}

/* Starts the EAL on the calling thread, which stays free to run on every core. 0, or an error number. */
int peers_dpdk_start(size_t bytes) {
    cpu_set_t cores;
    if (pthread_getaffinity_np(pthread_self(), sizeof cores, &cores) != 0) {
        return -1;
    }
    char *arguments[] = {"peers", "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry", "--log-level=3", "-m", "64", "-l", "0"};
    int result = rte_eal_init((int)RTE_DIM(arguments), arguments);
    (void)pthread_setaffinity_np(pthread_self(), sizeof cores, &cores);
    if (result < 0) {
        return rte_errno != 0 ? rte_errno : -1;
    }
    return add_heap(bytes) == 0 ? 0 : (rte_errno != 0 ? rte_errno : -1);
}

/* Makes the calling thread one that has caches. 1 if it was none, 0 if it was, negative for an error. */
int peers_dpdk_enter(void) {
    if (rte_lcore_id() != LCORE_ID_ANY) {
        return 0;
    }
    return rte_thread_register() == 0 ? 1 : -1;
}

void peers_dpdk_leave(void) {
    rte_thread_unregister();
}

struct rte_mempool *peers_dpdk_pool(size_t size, unsigned count) {
    static unsigned number;
    char name[RTE_MEMPOOL_NAMESIZE];
    snprintf(name, sizeof name, "peers%u", number++);
    unsigned room = size == 0 ? 0 : (unsigned)size + RTE_PKTMBUF_HEADROOM;
    return rte_pktmbuf_pool_create(name, count, CACHE, USER_AREA, (uint16_t)room, socket_id);
}

void peers_dpdk_pool_free(struct rte_mempool *pool) {
    rte_mempool_free(pool);
}

struct rte_mbuf *peers_dpdk_alloc(struct rte_mempool *pool) {
    return rte_pktmbuf_alloc(pool);
}

void peers_dpdk_free(struct rte_mbuf *buf) {
    rte_pktmbuf_free(buf);
}

int peers_dpdk_alloc_bulk(struct rte_mempool *pool, struct rte_mbuf **bufs, unsigned count) {
    return rte_pktmbuf_alloc_bulk(pool, bufs, count);
}

void peers_dpdk_free_bulk(struct rte_mbuf **bufs, unsigned count) {
    rte_pktmbuf_free_bulk(bufs, count);
}

void peers_dpdk_set_user(struct rte_mbuf *buf, const void *user) {
    memcpy(rte_mbuf_to_priv(buf), user, USER_AREA);
}

void peers_dpdk_get_user(struct rte_mbuf *buf, void *user) {
    memcpy(user, rte_mbuf_to_priv(buf), USER_AREA);
}

/* A clone has a user area of its own, which DPDK leaves as it is. */
struct rte_mbuf *peers_dpdk_copy(struct rte_mbuf *buf, struct rte_mempool *clones) {
    struct rte_mbuf *clone = rte_pktmbuf_clone(buf, clones);
    if (clone != NULL) {
        memcpy(rte_mbuf_to_priv(clone), rte_mbuf_to_priv(buf), USER_AREA);
    }
    return clone;
}

void peers_dpdk_set_len(struct rte_mbuf *buf, uint16_t len) {
    buf->data_len = len;
    buf->pkt_len = len;
}

/* With the tail known: `rte_pktmbuf_chain` looks for it each time. */
void peers_dpdk_append(struct rte_mbuf *head, struct rte_mbuf *tail, struct rte_mbuf *buf, uint16_t len) {
    buf->data_len = len;
    tail->next = buf;
    head->nb_segs++;
    head->pkt_len += len;
}

uint64_t peers_dpdk_total_len(const struct rte_mbuf *buf) {
    uint64_t total = 0;
    for (; buf != NULL; buf = buf->next) {
        total += buf->data_len;
    }
    return total;
}
