/* SPDX-License-Identifier: Apache-2.0 */
#include "planner.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "../interrupt.h"
#include "measure.h"

static weft_einsum_minimize find_objective(const char *text)
{
    static const char *const names[] = {[WEFT_EINSUM_TIME] = "time",
                                        [WEFT_EINSUM_FLOPS] = "flops",
                                        [WEFT_EINSUM_SIZE] = "size",
                                        [WEFT_EINSUM_WRITE] = "write",
                                        [WEFT_EINSUM_COMBO] = "combo"};
    unsigned i = 0;
    while (strcmp(names[i], text) != 0) i++;
    return (weft_einsum_minimize)i;
}

weft_ms_text weft_planner_print_ms(const weft_einsum_plan *plan, int digits)
{
    static const double most_digits = 300;
    weft_ms_text ms;
    double size = weft_einsum_plan_log10_seconds(plan) + 3, exponent = size > most_digits ? floor(size) : 0;
    double number = exponent > 0 ? pow(10, size - exponent) : 1e3 * weft_einsum_plan_seconds(plan);
    int length = snprintf(ms.text, sizeof ms.text, "%.*g", digits, number);
    if (exponent > 0) snprintf(ms.text + length, sizeof ms.text - (size_t)length, "e+%.0f", exponent);
    return ms;
}

weft_status *weft_planner_init(weft_planner *planner, const weft_arguments *arguments)
{
    *planner = (weft_planner){.options = {
                                  .size = sizeof planner->options,
                                  .minimize = find_objective(weft_arguments_text(arguments, "--objective", "time")),
                                  .seed = (uint64_t)weft_arguments_count(arguments, "--seed", 1),
                                  .moves = (uint64_t)weft_arguments_count(arguments, "--moves", 0),
                                  .time_budget = weft_arguments_number(arguments, "--time-budget", 0),
                                  .cancelled = weft_interrupt_flag(),
                                  .threads = (size_t)weft_arguments_count(arguments, "--threads", 0),
                                  .memory_limit = (size_t)weft_arguments_count(arguments, "--memory-limit", 0),
                              }};
    if (planner->options.time_budget > 0 && planner->options.moves > 0)
        return weft_misuse("--time-budget and --moves both say how long to search");
    return weft_measure_given(arguments, &planner->machine, &planner->options.machine);
}
