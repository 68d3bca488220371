/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_FAKE_H
#define WEFT_TEST_FAKE_H
/* A runtime whose compiler is a C function of the test and whose kernels are written by hand, and the parts to make
 * programs without a graph. */
#include <stdatomic.h>
#include "runtime/program/variant.h"

/* Fills a variant whose formulas are a copy of the program's and whose first buffers are its inputs, then its outputs.
 */
typedef weft_status *(*weft_fake_fill)(const weft_build_request *request, weft_variant *variant);

typedef struct weft_fake {
    weft_runtime runtime;
    weft_driver driver;
    weft_compiler compiler;
    weft_fake_fill fill;
    atomic_int builds;
    atomic_int failures; /* this many builds fail first */
    unsigned delay_us;   /* of each build */
} weft_fake;

void weft_fake_init(weft_fake *fake, const char *name, weft_fake_fill fill);

/* ---- programs; a failure ends the test ---- */
weft_program *weft_fake_program(void);
uint32_t weft_fake_symbol(weft_program *program, const char *name, int64_t min, int64_t max);
uint32_t weft_fake_formula(weft_program *program, weft_formula_op op, uint32_t a, uint32_t b);
uint32_t weft_fake_constant(weft_program *program, int64_t value);
void weft_fake_input(weft_program *program, const char *name, weft_dtype dtype, uint32_t rank, const uint32_t *extents);
void weft_fake_output(weft_program *program, const char *name, weft_dtype dtype, uint32_t rank,
                      const uint32_t *extents);
void weft_fake_guard(weft_program *program, bool equal, uint32_t a, uint32_t b, const char *message);
void weft_fake_family(weft_program *program, const weft_extension *extension);

/* ---- variants ---- */
weft_status *weft_fake_temporary(weft_variant *variant, weft_dtype dtype, uint32_t rank, const uint32_t *extents,
                                 uint32_t *out_buffer);
weft_status *weft_fake_value(weft_variant *variant, int64_t value, uint32_t *out_slot);
/* Appends `step` with copies of its lists, and what it calls. */
weft_status *weft_fake_step(weft_variant *variant, weft_step step, weft_resolved resolved);
#endif
