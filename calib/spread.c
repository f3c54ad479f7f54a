/* SPDX-License-Identifier: MIT */
/* Independent pieces of work over threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "fit_internal.h"

enum { THREADS_MAX = 16 };

typedef struct pieces {
    fit_piece *work;
    void *context;
    int count;
    atomic_int next;
} pieces;

static void *take_pieces(void *argument)
{
    pieces *p = argument;
    for (int i = atomic_fetch_add(&p->next, 1); i < p->count; i = atomic_fetch_add(&p->next, 1))
        p->work(p->context, i);
    return NULL;
}

void fit_spread(int jobs, int count, fit_piece *work, void *context)
{
    pieces p = {.work = work, .context = context, .count = count};
    pthread_t thread[THREADS_MAX];
    int started = 0;
    if (jobs <= 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        jobs = online > 0 && online < THREADS_MAX ? (int)online : THREADS_MAX;
    }
    atomic_init(&p.next, 0);
    /* this thread takes part; where no other is to be had it does everything */
    while (started < THREADS_MAX && started + 1 < jobs && started + 1 < count &&
           pthread_create(&thread[started], NULL, take_pieces, &p) == 0)
        started++;
    take_pieces(&p);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
}
