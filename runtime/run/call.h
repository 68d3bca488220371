/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_RUN_CALL_H
#define WEFT_RUNTIME_RUN_CALL_H
/* One call: its key, and the checks that its arrays fit the program. */
#include <weft/runtime.h>
#include "runtime/program/program.h"

typedef struct weft_call {
    const weft_runtime *runtime;
    weft_program *program;
    const weft_run *run;
    size_t axis_count; /* of all arrays, once they are checked */
    weft_event *event; /* that the run is to end with, some time after the call; NULL: it ends with the call */
} weft_call;

enum { WEFT_CALL_INLINE_WORDS = 128 };

/*
 * Everything that may affect how a call runs, except the data: two calls with equal words pass the same checks and run
 * the same way. The first `variant_count` words say which variant, the rest which binding of it.
 */
typedef struct weft_call_key {
    const weft_allocator *allocator;
    size_t variant_count, count, capacity;
    uint64_t hash; /* of all words; the high bits are the good ones */
    int64_t *words;
    int64_t room[WEFT_CALL_INLINE_WORDS];
} weft_call_key;

/* Whether counts, dtypes, ranks and devices, and explicit extents, are the program's. Everything below takes this for
 * granted. */
weft_status *weft_call_check_arrays(const weft_allocator *allocator, weft_call *call) WEFT_MUST_USE;

/* No allocation unless there are many or very high-ranked arrays. */
weft_status *weft_call_key_init(weft_call_key *key, const weft_allocator *allocator,
                                const weft_call *call) WEFT_MUST_USE;
void weft_call_key_finish(weft_call_key *key);

/*
 * Binds the program's symbols from the explicit extents and the inputs' axes, then checks ranges, every axis of every
 * array, and the guards. Arrays that are NULL are those that the program requires, if all extents are explicit. Fills
 * symbols[0 .. symbol_count-1] and the values of the program's formulas.
 */
weft_status *weft_call_bind(const weft_allocator *allocator, const weft_call *call, int64_t *out_symbols,
                            int64_t *out_values) WEFT_MUST_USE;

/* WEFT_LAYOUT_CONTIGUOUS for NULL. */
uint8_t weft_call_layout(const weft_array *array);

/* Whether its variant takes no memory only to be faster. */
static inline bool weft_call_is_limited(const weft_call *call)
{
    return call->run->memory_limit != 0 && call->program->has_limited;
}
#endif
