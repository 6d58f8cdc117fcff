/* SPDX-License-Identifier: Apache-2.0 */
/* For the processes that preload it, the clock of this machine is off by the seconds in the file that SET_CLOCK names.
   The steady clock, and what waits on either, stays as it is. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long *file;

__attribute__((constructor)) static void look(void)
{
    const char *name = getenv("SET_CLOCK");
    int number = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    void *found = number < 0 ? MAP_FAILED : mmap(NULL, sizeof(long), PROT_READ, MAP_SHARED, number, 0);
    if (found != MAP_FAILED)
        file = found;
    if (number >= 0)
        close(number);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (!result && file && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += *file;
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now)
        *now = precise.tv_sec;
    return precise.tv_sec;
}
