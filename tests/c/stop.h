/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How a program's main thread tells the others that it is over.
 */
#ifndef MBUF_TESTS_STOP_H
#define MBUF_TESTS_STOP_H

#include <pthread.h>

static pthread_mutex_t stop_lock = PTHREAD_MUTEX_INITIALIZER;
static int is_stopped;

static inline int over(void)
{
    pthread_mutex_lock(&stop_lock);
    int now = is_stopped;
    pthread_mutex_unlock(&stop_lock);
    return now;
}

static inline void stop(void)
{
    pthread_mutex_lock(&stop_lock);
    is_stopped = 1;
    pthread_mutex_unlock(&stop_lock);
}

#endif
