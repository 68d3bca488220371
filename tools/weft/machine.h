/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_MACHINE_H
#define WEFT_TOOLS_MACHINE_H
/*
 * Models of machines for the planner of einsum, measured and kept in files:
 *
 *   {"version": 1, "rates": [1e9, 6e9, 25e9, 80e9], "bandwidth": 20e9, "overhead": 1e-6}
 */
#include <weft/einsum.h>
#include <weft/executor.h>

/* Contracts arrays made up on the executor's threads, for some seconds. */
weft_status *weft_machine_measure(weft_executor *executor, weft_einsum_machine *out_machine) WEFT_MUST_USE;
void weft_machine_print(const weft_einsum_machine *machine);

weft_status *weft_machine_save(const weft_einsum_machine *machine, const char *path) WEFT_MUST_USE;
/* WEFT_BAD_FILE for another version and for members that are unknown, missing or no numbers above 0. */
weft_status *weft_machine_load(const char *path, weft_einsum_machine *out_machine) WEFT_MUST_USE;
#endif
