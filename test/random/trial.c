/* SPDX-License-Identifier: Apache-2.0 */
#include "test/random/trial.h"
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "runtime/program.h"
#include "test/conform/data.h"
#include "test/conform/number.h"
#include "test/conform/subject.h"
#include "test/random/bounds.h"
#include "test/random/generate.h"

static weft_executor *executor;

typedef struct trial {
    weft_test_subject subject;
    weft_test_binding binding;
    weft_test_bound *bounds;
    weft_array *expected[WEFT_TEST_OUTPUTS];
    weft_code expected_code;
    uint64_t state;
    char *problem;
    size_t size;
} trial;

static size_t output_count(const trial *tried)
{
    return tried->subject.module->outputs.count;
}

static bool fail(trial *tried, const char *what, weft_status *status)
{
    snprintf(tried->problem, tried->size, "%s: %s: %s", what, weft_code_name(weft_status_code(status)),
             status == NULL ? "no error" : weft_status_message(status));
    weft_status_destroy(status);
    return false;
}

static void bind_symbols(trial *tried)
{
    const weft_formulas *formulas = &tried->subject.plain->formulas;
    for (size_t i = 0; i < formulas->symbol_count && i < WEFT_TEST_SYMBOLS; i++) {
        const weft_symbol_info *symbol = &formulas->symbols[i];
        int64_t value =
            symbol->min + (int64_t)weft_test_below(&tried->state, (uint64_t)(symbol->max - symbol->min + 1));
        tried->binding.items[tried->binding.count++] = (weft_binding){symbol->name, value};
    }
}

static void release_all(size_t count, weft_array **arrays)
{
    for (size_t i = 0; i < count; i++) weft_array_release(arrays[i]);
}

static bool fill_inputs(const trial *tried, const weft_test_inputs *inputs, uint64_t seed)
{
    (void)tried;
    for (unsigned i = 0; i < inputs->count; i++)
        if (!weft_test_fill(inputs->places[i].array, "small", seed, i)) return false;
    return true;
}

/* ---- one run ---- */

static bool compare(trial *tried, const char *what, weft_array **found)
{
    char difference[256];
    for (size_t i = 0; i < output_count(tried); i++) {
        const weft_test_bound *bound = &tried->bounds[tried->subject.module->outputs.items[i].node];
        weft_dtype dtype = weft_array_dtype(found[i]);
        if (!bound->known) continue;
        weft_test_tolerance tolerance = {
            WEFT_TEST_WITHIN,
            weft_test_parts(dtype) == 0 ? 0 : bound->error / weft_test_epsilon(weft_dtype_component(dtype))};
        if (weft_test_compare(tried->expected[i], found[i], NULL, tolerance, difference, sizeof difference) < 0)
            continue;
        snprintf(tried->problem, tried->size, "%s: output %zu, %s (at most %g apart)", what, i, difference,
                 bound->error);
        return false;
    }
    return true;
}

static bool run_judged(trial *tried, const char *what, weft_program *program, const weft_test_inputs *inputs,
                       bool specialize, weft_array **outputs)
{
    weft_test_run run = {executor, "llvm", program, &tried->binding, inputs, specialize};
    weft_status *status = weft_test_run_program(&run, output_count(tried), outputs);
    if (weft_status_code(status) != tried->expected_code) return fail(tried, what, status);
    bool ran = status == NULL;
    weft_status_destroy(status);
    return !ran || compare(tried, what, outputs);
}

/* Into the executor's outputs, then into strided ones between guard pages. */
static bool run_layouts(trial *tried, const char *what, const weft_test_inputs *inputs, bool specialize,
                        weft_test_layout layout)
{
    weft_array *outputs[WEFT_TEST_OUTPUTS] = {NULL};
    weft_test_place places[WEFT_TEST_OUTPUTS] = {{.array = NULL}};
    size_t count = output_count(tried);
    for (size_t i = 0; i < count && layout != WEFT_TEST_CONTIGUOUS; i++) {
        int64_t shape[WEFT_MAX_RANK];
        const weft_program *program = tried->subject.program;
        if (weft_test_output_shape(program, i, &tried->binding, shape) &&
            weft_test_place_create(weft_program_output_dtype(program, i), weft_program_output_rank(program, i), shape,
                                   layout, i % 2 == 0, &places[i]))
            outputs[i] = weft_array_retain(places[i].array);
    }
    bool good = run_judged(tried, what, tried->subject.program, inputs, specialize, outputs);
    for (size_t i = 0; i < count; i++) {
        if (good && places[i].array != NULL && !weft_test_place_is_clean(&places[i])) {
            snprintf(tried->problem, tried->size, "%s: output %zu: written between its elements", what, i);
            good = false;
        }
        weft_test_place_destroy(&places[i]);
    }
    release_all(count, outputs);
    return good;
}

/* No pass is needed for a program to run. */
static bool run_without_passes(trial *tried, const weft_test_inputs *inputs)
{
    weft_array *outputs[WEFT_TEST_OUTPUTS] = {NULL};
    bool good = run_judged(tried, "without passes", tried->subject.plain, inputs, false, outputs);
    release_all(output_count(tried), outputs);
    return good;
}

static bool ask_oracle(trial *tried, const weft_test_inputs *inputs)
{
    weft_test_run run = {executor, "ref", tried->subject.plain, &tried->binding, inputs, false};
    memset(tried->expected, 0, sizeof tried->expected);
    weft_status *status = weft_test_run_program(&run, output_count(tried), tried->expected);
    tried->expected_code = weft_status_code(status);
    /* Shapes that the binding forbids, indices out of range after shrinking: the other runtime has to say so too. */
    weft_status_destroy(status);
    return tried->expected_code == WEFT_OK || tried->expected_code == WEFT_DATA_ERROR ||
           tried->expected_code == WEFT_SHAPE_MISMATCH;
}

static bool run_rotated(trial *tried, unsigned rotation)
{
    weft_test_inputs inputs;
    weft_test_layout layout =
        rotation == 0 ? WEFT_TEST_CONTIGUOUS : (weft_test_layout)(1 + rotation % WEFT_TEST_REVERSED);
    if (!weft_test_inputs_create(&tried->subject, &tried->binding, rotation, rotation % 2 == 0, &inputs, tried->problem,
                                 tried->size))
        return false;
    bool good = fill_inputs(tried, &inputs, tried->state);
    if (good && ask_oracle(tried, &inputs)) {
        good = run_layouts(tried, rotation == 0 ? "contiguous" : "in other layouts", &inputs, false, layout);
        if (good && rotation == 0) good = run_layouts(tried, "specialised", &inputs, true, layout);
        if (good && rotation == 0 && tried->state % 4 == 0) good = run_without_passes(tried, &inputs);
    }
    release_all(output_count(tried), tried->expected);
    weft_test_inputs_destroy(&inputs);
    return good;
}

static bool is_program(const char *text)
{
    weft_module *module = NULL;
    weft_status *status = weft_graph_parse("random", text, strlen(text), NULL, 0, NULL, &module);
    bool good = status == NULL;
    weft_status_destroy(status);
    weft_module_destroy(module);
    return good;
}

static bool run_trial(uint64_t seed, const char *text, char *out_problem, size_t size)
{
    trial tried = {.state = seed, .problem = out_problem, .size = size};
    if (!is_program(text)) return true;
    if (!weft_test_subject_create("random", text, &tried.subject, out_problem, size)) return false;
    tried.bounds = weft_test_bounds_create(tried.subject.module->graph);
    bind_symbols(&tried);
    bool good = run_rotated(&tried, 0) &&
                run_rotated(&tried, 1 + (unsigned)weft_test_below(&tried.state, WEFT_TEST_LAYOUT_COUNT));
    free(tried.bounds);
    weft_test_subject_destroy(&tried.subject);
    return good;
}

/* ---- apart ---- */

/* Runs in the child: says what is wrong through the pipe. */
static void run_child(int out, uint64_t seed, const char *text)
{
    char problem[512] = "";
    bool good = run_trial(seed, text, problem, sizeof problem);
    if (!good && write(out, problem, strlen(problem)) < 0) _exit(2);
    _exit(good ? 0 : 1);
}

bool weft_test_try_apart(uint64_t seed, const char *text, char *out_problem, size_t size)
{
    int ends[2], outcome = -1;
    fflush(stdout);
    if (pipe(ends) != 0) return false;
    pid_t child = fork();
    if (child == 0) run_child(ends[1], seed, text);
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got = 1; got > 0 && used + 1 < size; used += got > 0 ? (size_t)got : 0)
        got = read(ends[0], out_problem + used, size - 1 - used);
    out_problem[used] = '\0';
    close(ends[0]);
    waitpid(child, &outcome, 0);
    if (WIFSIGNALED(outcome)) snprintf(out_problem, size, "signal %d", WTERMSIG(outcome));
    return WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0;
}

bool weft_test_trials_begin(void)
{
    static const char text[] =
        "weft 0.1\ngraph {\n  %x = input() {name = \"x\", dtype = f32, shape = [3]}\n  %0 = neg(%x)\n  return %0\n}\n";
    const weft_executor_options options = {
        .allocator = weft_test_guarded_allocator(), .threads = 1, .buffer_capacity = 1};
    char problem[512];
    weft_status *status = weft_executor_create_standard(&options, &executor);
    if (status == NULL && run_trial(0, text, problem, sizeof problem)) return true;
    printf("%s\n", status == NULL ? problem : weft_status_message(status));
    weft_status_destroy(status);
    return false;
}

void weft_test_trials_end(void)
{
    weft_executor_destroy(executor);
}
