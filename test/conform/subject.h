/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_SUBJECT_H
#define WEFT_TEST_SUBJECT_H
/* A program under test: compiled for the runtime that is judged, and once more, as it was written, for the oracle. */
#include <weft/weft.h>
#include "test/conform/place.h"
#include "test/device.h"

/* weft_graph_parse with the extensions that texts here may use: einsum, and those of kernels.h. */
weft_status *weft_test_parse(const char *name, const char *text, weft_module **out_module) WEFT_MUST_USE;
/* Has an executor know those of kernels.h. */
weft_status *weft_test_register(weft_executor *executor) WEFT_MUST_USE;

enum { WEFT_TEST_INPUTS = 16, WEFT_TEST_OUTPUTS = 64, WEFT_TEST_SYMBOLS = 8 };

typedef struct weft_test_subject {
    weft_module *module;
    weft_program *program; /* by the standard passes */
    weft_program *plain;   /* by no pass */
} weft_test_subject;

/*
 * Parses and compiles `text`. On the way it is printed and parsed again, which must give the same text and the same
 * program. False with a sentence in `out_problem`.
 */
bool weft_test_subject_create(const char *name, const char *text, weft_test_subject *out_subject, char *out_problem,
                              size_t size);
void weft_test_subject_destroy(weft_test_subject *subject);

/* Values of the symbols. */
typedef struct weft_test_binding {
    size_t count;
    weft_binding items[WEFT_TEST_SYMBOLS];
} weft_test_binding;

typedef struct weft_test_inputs {
    size_t count;
    const char *names[WEFT_TEST_INPUTS]; /* of the subject */
    weft_test_place places[WEFT_TEST_INPUTS];
} weft_test_inputs;

/* Poisoned inputs of `subject`, input i in layout `rotation` + i, all contiguous for rotation 0. False with a sentence.
 */
bool weft_test_inputs_create(const weft_test_subject *subject, const weft_test_binding *binding, unsigned rotation,
                             bool at_end, weft_test_inputs *out_inputs, char *out_problem, size_t size);
void weft_test_inputs_destroy(weft_test_inputs *inputs);

/* Shape of output `output` of the program. False when the binding does not fit. */
bool weft_test_output_shape(const weft_program *program, size_t output, const weft_test_binding *binding,
                            int64_t *out_shape);

typedef struct weft_test_run {
    weft_executor *executor;
    const char *runtime;
    const weft_program *program;
    const weft_test_binding *binding;
    const weft_test_inputs *inputs;
    bool specialize;
    const bool *donated; /* NULL, or for each input of `inputs` */
    const weft_profile *profile;
    weft_test_device *device; /* that the arrays are copied to for the run and back; NULL: none */
} weft_test_run;

/* Runs; an entry of `outputs` that is not NULL is written to. */
weft_status *weft_test_run_program(const weft_test_run *run, size_t output_count, weft_array **outputs) WEFT_MUST_USE;
#endif
