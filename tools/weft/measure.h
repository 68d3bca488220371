/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_MEASURE_H
#define WEFT_TOOLS_MEASURE_H
/*
 * Rates of this machine, measured and kept in files:
 *
 *   {"version": 3, "threads": 2, "product_rates": [1e9, 6e9, 25e9, 80e9], "operations": 30e9, ..., "dispatch_seconds":
 * 3e-7}
 */
#include <weft/machine.h>
#include "options.h"

#define WEFT_MACHINE_OPTION                                                                                            \
    {                                                                                                                  \
        "--machine", WEFT_OPTION_FILE, "FILE.json",                                                                    \
            "the machine to schedule and plan for, as info --measure writes it"                                        \
    }

/* Runs synthetic contractions, kernels and sorts on that many threads (0: as many as processors), for some seconds. */
weft_status *weft_measure(unsigned threads, weft_machine *out_machine) WEFT_MUST_USE;
void weft_measure_print(const weft_machine *machine);

weft_status *weft_measure_save(const weft_machine *machine, const char *path) WEFT_MUST_USE;
/* The host with the rates of the file. WEFT_BAD_FILE for another version and for members that are unknown, missing or
 * out of their bounds. */
weft_status *weft_measure_load(const char *path, weft_machine *out_machine) WEFT_MUST_USE;
/* That of --machine, which is put into `memory`; NULL without it. */
weft_status *weft_measure_given(const weft_arguments *arguments, weft_machine *memory,
                                const weft_machine **out_machine) WEFT_MUST_USE;
#endif
