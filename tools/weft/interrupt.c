/* SPDX-License-Identifier: Apache-2.0 */
#include "interrupt.h"
#include <signal.h>
#include <stddef.h>
#include "../output.h"

static const int taken[] = {SIGINT, SIGTERM};

static volatile bool asked;
static volatile sig_atomic_t signal_number;

static void take(int number)
{
    if (asked) {
        weft_output_abandon();
        signal(number, SIG_DFL);
        raise(number); /* comes when this returns */
        return;
    }
    signal_number = number;
    __atomic_store_n(&asked, true, __ATOMIC_RELAXED);
}

void weft_interrupt_begin(void)
{
    const struct sigaction action = {.sa_handler = take, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        struct sigaction former;
        if (sigaction(taken[i], NULL, &former) == 0 && former.sa_handler == SIG_DFL) sigaction(taken[i], &action, NULL);
    }
}

const volatile bool *weft_interrupt_flag(void)
{
    return &asked;
}

int weft_interrupt_exit_status(void)
{
    return asked ? 128 + (int)signal_number : 0;
}
