/* SPDX-License-Identifier: Apache-2.0 */
#include "interrupt.h"
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static const int taken[] = {SIGINT, SIGTERM, SIGHUP};

static volatile bool asked;
static volatile sig_atomic_t signal_number;
static const char *volatile unfinished;

static void take(int number)
{
    if (__atomic_exchange_n(&asked, true, __ATOMIC_RELAXED)) {
        const char *path = unfinished;
        if (path != NULL) unlink(path);
        signal(number, SIG_DFL);
        raise(number); /* comes when this returns */
        return;
    }
    signal_number = number;
}

/* Puts `action` in place of `former` for each signal that has that. */
static void replace(void (*former)(int), void (*action)(int))
{
    const struct sigaction next = {.sa_handler = action, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        struct sigaction found;
        if (sigaction(taken[i], NULL, &found) == 0 && found.sa_handler == former) sigaction(taken[i], &next, NULL);
    }
}

void weft_interrupt_begin(void)
{
    replace(SIG_DFL, take);
}

bool weft_interrupt_end(void)
{
    replace(take, SIG_DFL);
    return __atomic_exchange_n(&asked, false, __ATOMIC_RELAXED);
}

const volatile bool *weft_interrupt_flag(void)
{
    return &asked;
}

int weft_interrupt_exit_status(void)
{
    return signal_number == 0 ? 0 : 128 + (int)signal_number;
}

void weft_interrupt_remove(const char *path)
{
    unfinished = path;
}
