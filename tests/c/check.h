/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Checks. The first that fails prints where it stands, what it says and the values, and ends the program with status 1.
 */
#ifndef MBUF_TESTS_CHECK_H
#define MBUF_TESTS_CHECK_H

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without the handlers of exit: other threads may still run, and handlers may check something as well. */
__attribute__((format(printf, 3, 4), noreturn)) static inline void check_failed(
    const char *file, int line, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, values);
    va_end(values);
    fprintf(stderr, "\n");
    fflush(stderr);
    _Exit(1);
}

static inline void check_true(int holds, const char *text, const char *file, int line)
{
    if (!holds) {
        check_failed(file, line, "%s is false", text);
    }
}

static inline void check_equal(
    uintmax_t expected, uintmax_t actual, const char *text, const char *file, int line)
{
    if (expected != actual) {
        check_failed(file, line, "%s: expected %" PRIuMAX " (0x%" PRIxMAX "), got %" PRIuMAX " (0x%" PRIxMAX ")", text,
            expected, expected, actual, actual);
    }
}

static inline void check_pointer(
    const void *expected, const void *actual, const char *text, const char *file, int line)
{
    if (expected != actual) {
        check_failed(file, line, "%s: expected %p, got %p", text, expected, actual);
    }
}

static inline void check_bytes(
    const void *expected, const void *actual, size_t size, const char *text, const char *file, int line)
{
    const unsigned char *left = expected;
    const unsigned char *right = actual;
    for (size_t at = 0; at < size; at++) {
        if (left[at] != right[at]) {
            check_failed(file, line, "%s: byte %zu of %zu: expected 0x%02x, got 0x%02x", text, at, size,
                (unsigned)left[at], (unsigned)right[at]);
        }
    }
}

#define CHECK(condition) check_true((condition) ? 1 : 0, #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(expected, actual) \
    check_equal((uintmax_t)(expected), (uintmax_t)(actual), #actual, __FILE__, __LINE__)
#define CHECK_POINTER(expected, actual) check_pointer((expected), (actual), #actual, __FILE__, __LINE__)
#define CHECK_BYTES(expected, actual, size) \
    check_bytes((expected), (actual), (size), #actual, __FILE__, __LINE__)

/* What outputs hold before a call that is to leave them alone. */
#define UNTOUCHED_POINTER ((void *)(uintptr_t)UINT64_C(0x5a5a5a5a5a5a5a5a))
#define UNTOUCHED_NUMBER UINT32_C(0x5a5a5a5a)

/* Whether to do with fewer rounds, as under valgrind. */
static inline int is_slow(void)
{
    const char *slow = getenv("MBUF_TEST_SLOW");
    return slow != NULL && strcmp(slow, "1") == 0;
}

/* The line that a program prints when all held. */
static inline void report_success(const char *what)
{
    printf("ok: %s\n", what);
    fflush(stdout);
}

#endif
