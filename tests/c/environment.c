/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the environment says of the default pool. Each case is a process of its own, whose standard error is read.
 */
#include "buffers.h"
#include "pools.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct variable {
    const char *name;
    const char *value;
};

enum { TEXT = 16384 };

static char text[TEXT];

static void read_all(int from)
{
    size_t length = 0;
    for (;;) {
        ssize_t got = read(from, text + length, TEXT - 1 - length);
        CHECK(got >= 0);
        if (got == 0) {
            text[length] = '\0';
            return;
        }
        length += (size_t)got;
    }
}

/* Runs `child` with a variable set; what it writes to standard error is in `text` afterwards. */
static void run(struct variable variable, void (*child)(void))
{
    int ends[2];
    int status = -1;
    CHECK_EQUAL(0, pipe(ends));
    pid_t process = fork();
    CHECK(process >= 0);
    if (process == 0) {
        CHECK_EQUAL(0, setenv(variable.name, variable.value, 1));
        CHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        child();
        exit(0);
    }
    close(ends[1]);
    read_all(ends[0]);
    close(ends[0]);
    CHECK(waitpid(process, &status, 0) == process);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        check_failed(__FILE__, __LINE__, "with %s=%s: %s", variable.name, variable.value, text);
    }
}

static void check_lines(struct variable variable, size_t expected)
{
    size_t lines = 0;
    for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
        lines++;
    }
    if (lines != expected) {
        check_failed(__FILE__, __LINE__, "with %s=%s: %zu lines instead of %zu: %s", variable.name, variable.value,
            lines, expected, text);
    }
    CHECK(expected == 0 || strstr(text, variable.name) != NULL);
}

/* ---- Capacity ---- */

static uint64_t expected_capacity;

static void check_capacity(void)
{
    free_buffer(alloc_buffer(100));
    free_buffer(alloc_buffer(100));
    /* In whole slabs. */
    uint64_t capacity = statistics_of(MBUF_POOL_DEFAULT).capacity;
    CHECK(capacity >= expected_capacity);
    CHECK(capacity - expected_capacity < 2 << 20);
}

static void capacity_is(const char *value, uint64_t bytes, size_t lines)
{
    struct variable variable = { "MBUF_CAPACITY", value };
    expected_capacity = bytes;
    run(variable, check_capacity);
    check_lines(variable, lines);
}

static void capacities(void)
{
    const char *const malformed[] = { "nonsense", "-1", "8MB", "1KK", "M", " 8M", "0x800000", "8.5M", "300G",
        "18446744073709551616", "17179869185G" };
    /* The default takes valgrind many seconds each time. */
    const size_t count = is_slow() ? 0 : sizeof malformed / sizeof malformed[0];
    capacity_is("8388608", 8 << 20, 0);
    capacity_is("12345678", 12345678, 0);
    capacity_is("8192K", 8 << 20, 0);
    capacity_is("16M", 16 << 20, 0);
    if (!is_slow()) {
        capacity_is("2G", UINT64_C(2) << 30, 0);
    }
    for (size_t at = 0; at < count; at++) {
        capacity_is(malformed[at], UINT64_C(8) << 30, 1);
    }
}

/* ---- The others ---- */

static void use_once(void)
{
    aclrtMbuf buffer = make_buffer(100, 1);
    check_chain(buffer, 1, 1);
    free_buffer(buffer);
}

static void huge_pages(void)
{
    struct variable transparent = { "MBUF_HUGE_PAGES", "transparent" };
    struct variable malformed = { "MBUF_HUGE_PAGES", "enormous" };
    run(transparent, use_once);
    check_lines(transparent, 0);
    run(malformed, use_once);
    check_lines(malformed, 1);
}

static void check_zero(mbuf *buffer)
{
    static const unsigned char zeros[4096];
    size_t size = size_of(buffer);
    unsigned char *data = data_of(buffer);
    for (size_t at = 0; at < size; at += sizeof zeros) {
        CHECK_BYTES(zeros, data + at, size - at < sizeof zeros ? size - at : sizeof zeros);
    }
    memset(data, 0xff, size);
}

static void check_cleared(void)
{
    const size_t sizes[] = { 1, 100, 5000, 300000, 3000000 };
    for (size_t at = 0; at < sizeof sizes / sizeof sizes[0]; at++) {
        for (size_t round = 0; round < 4; round++) {
            mbuf *buffers[4];
            CHECK_EQUAL(MBUF_OK, mbuf_alloc_bulk(MBUF_POOL_DEFAULT, sizes[at], buffers, 2));
            CHECK_EQUAL(MBUF_OK, mbuf_alloc_aligned(MBUF_POOL_DEFAULT, sizes[at], 1024, &buffers[2]));
            buffers[3] = alloc_buffer(sizes[at]);
            for (size_t which = 0; which < 4; which++) {
                check_zero(buffers[which]);
            }
            CHECK_EQUAL(MBUF_OK, mbuf_free_bulk(buffers, 4));
        }
    }
}

static void leak_three(void)
{
    alloc_buffer(100);
    alloc_buffer(5000);
    copy_of(alloc_buffer(3000000));
    free_buffer(alloc_buffer(100));
}

static void statistics_at_exit(void)
{
    struct variable on = { "MBUF_STATS", "1" };
    struct variable off = { "MBUF_STATS", "0" };
    run(on, leak_three);
    CHECK(strstr(text, "leak") != NULL);
    CHECK(strstr(text, "4") != NULL);
    run(on, use_once);
    CHECK(strstr(text, "leak") != NULL);
    run(off, leak_three);
    check_lines(off, 0);
}

int main(void)
{
    CHECK_EQUAL(0, unsetenv("MBUF_CAPACITY"));
    capacities();
    CHECK_EQUAL(0, setenv("MBUF_CAPACITY", "64M", 1));
    huge_pages();
    struct variable zero = { "MBUF_ZERO", "1" };
    run(zero, check_cleared);
    check_lines(zero, 0);
    statistics_at_exit();
    report_success("the environment's say in the default pool");
    return 0;
}
