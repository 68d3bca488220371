/* SPDX-License-Identifier: Apache-2.0 */
#include "test/random/trial.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/einsum.h>
#include "runtime/run/executor.h"
#include "test/conform/data.h"
#include "test/conform/fix.h"
#include "test/conform/number.h"
#include "test/conform/record.h"
#include "test/random/bounds.h"
#include "test/random/draw.h"
#include "test/random/memory.h"

enum { EXECUTORS = 3 };

static weft_executor *executors[EXECUTORS]; /* of 1, 2 and 3 threads, which share what they compile, as they do it */
static const weft_code_policy policies[EXECUTORS] = {WEFT_CODE_OPTIMIZED, WEFT_CODE_TIERED, WEFT_CODE_QUICK};
static weft_test_memory memory; /* theirs, whose requests may be made to fail */
static weft_test_device *device;
static weft_cache *own_kernels[EXECUTORS];
static const char *objects; /* the folder that objects and records of runs go to; NULL: none are made */
static weft_test_recorder *recorder;
enum { OBJECTS_OF_SEED = 64 };

typedef struct trial {
    uint64_t state;
    weft_test_subject subject; /* as it is given */
    weft_test_binding binding;
    weft_test_subject fixed; /* with values in place of symbols; module NULL: they do not fit */
    weft_test_inputs inputs;
    size_t output_count;
    bool is_ordered; /* has sums or products whose order another graph, of known extents, may have otherwise */
    weft_test_bound bounds[WEFT_TEST_OUTPUTS];
    weft_array *expected[WEFT_TEST_OUTPUTS];
    weft_array *first[WEFT_TEST_OUTPUTS]; /* what the first run gave */
    weft_code expected_code;
    bool sees_bits;
    bool remembers; /* has einsums with symbols, whose order may depend on the extents that an executor met before */
    bool certain;   /* whether data are bad is known */
    const weft_program *recorded, *refused; /* the last one with an object, and without */
    char *problem;
    size_t size;
} trial;

/* One run. */
typedef struct arrangement {
    const char *name;
    const weft_test_subject *subject;
    bool plain, specialize, relaid, donated, on_device, by_library, same_bits;
    bool is_short;  /* of memory */
    size_t threads; /* 0: any */
} arrangement;

static bool chance(trial *t, size_t of)
{
    return weft_test_below(&t->state, of) == 0;
}

static WEFT_FORMAT(2, 3) bool fail(trial *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t->problem, t->size, format, arguments);
    va_end(arguments);
    return false;
}

static bool fail_by(trial *t, const char *what, weft_status *status)
{
    fail(t, "%s: %s: %s", what, weft_code_name(weft_status_code(status)),
         status == NULL ? "no error" : weft_status_message(status));
    weft_status_destroy(status);
    return false;
}

static void release_all(size_t count, weft_array **arrays)
{
    for (size_t i = 0; i < count; i++) weft_array_release(arrays[i]);
    memset(arrays, 0, count * sizeof *arrays);
}

/* ---- inputs ---- */

static void bind_symbols(trial *t)
{
    const weft_formulas *formulas = &t->subject.plain->formulas;
    t->binding.count = 0;
    for (size_t i = 0; i < formulas->symbol_count && i < WEFT_TEST_SYMBOLS; i++) {
        const weft_symbol_info *symbol = &formulas->symbols[i];
        uint64_t choices = (uint64_t)(symbol->max - symbol->min) + 1;
        int64_t value = chance(t, 3) ? symbol->max : symbol->min + (int64_t)weft_test_below(&t->state, choices);
        t->binding.items[t->binding.count++] = (weft_binding){symbol->name, value};
    }
}

/* By name, so that data stay as they are when a program shrinks. */
static bool fill_inputs(const weft_test_inputs *inputs, uint64_t seed)
{
    static const char *const kinds[] = {"small",  "small",    "small",   "small", "normal",
                                        "normal", "positive", "special", "wide",  "ties"};
    uint64_t state = seed;
    const char *common = kinds[weft_test_below(&state, sizeof kinds / sizeof *kinds)];
    bool mixed = weft_test_below(&state, 4) == 0;
    for (unsigned i = 0; i < inputs->count; i++) {
        uint64_t named = state;
        for (const char *at = inputs->names[i]; *at != '\0'; at++) named = named * 31 + (unsigned char)*at;
        const char *kind = mixed ? kinds[weft_test_below(&named, sizeof kinds / sizeof *kinds)] : common;
        if (!weft_test_fill(inputs->places[i].array, kind, named, 0)) return false;
    }
    return true;
}

static bool copy_array(const weft_array *from, weft_array *to)
{
    weft_status *status = weft_array_copy(to, from);
    weft_status_destroy(status);
    return status == NULL;
}

/* The same data in other memory: in another layout, or as they lie. */
static bool copy_inputs(trial *t, bool relaid, weft_test_inputs *out)
{
    static const weft_test_layout layouts[] = {WEFT_TEST_TRANSPOSED, WEFT_TEST_STEPPED, WEFT_TEST_REVERSED,
                                               WEFT_TEST_CONTIGUOUS};
    *out = (weft_test_inputs){.count = 0};
    for (size_t i = 0; i < t->inputs.count; i++) {
        const weft_array *from = t->inputs.places[i].array;
        weft_test_layout layout =
            relaid && weft_array_rank(from) > 0 ? layouts[weft_test_below(&t->state, 4)] : WEFT_TEST_CONTIGUOUS;
        out->names[i] = t->inputs.names[i];
        if (!weft_test_place_create(weft_array_dtype(from), weft_array_rank(from), weft_array_shape(from), layout,
                                    chance(t, 2), &out->places[i]))
            return false;
        out->count++;
        if (!copy_array(from, out->places[i].array)) return false;
    }
    return true;
}

/* ---- the reference ---- */

/* What nobody can tell apart: data of bad indices that an inexact value makes. */
static bool all_known(const weft_test_bounds *bounds)
{
    for (size_t i = 0; i < bounds->count; i++)
        if (!bounds->items[i].known) return false;
    return true;
}

/* Whether an axis that is known to have one element, and so is left out, may change the order of sums or products. */
static bool is_ordered(const weft_graph *graph, const weft_node *node)
{
    switch (weft_op_id_of(node->op)) {
    case WEFT_OP_dot:
    case WEFT_OP_EXTENSION: return true;
    case WEFT_OP_reduce_sum:
    case WEFT_OP_reduce_prod: return weft_test_parts(weft_value_type(graph, node->inputs[0])->dtype) > 0;
    default: return false;
    }
}

static bool is_einsum(const weft_graph *graph, const weft_node *node)
{
    (void)graph;
    return weft_op_id_of(node->op) == WEFT_OP_EXTENSION;
}

/* The bits of a NaN are nobody's promise, its sign included. */
static bool sees_bits(const weft_graph *graph, const weft_node *node)
{
    weft_op_id id = weft_op_id_of(node->op);
    if (id == WEFT_OP_copysign) return true;
    return id == WEFT_OP_bitcast && weft_test_parts(weft_value_type(graph, node->inputs[0])->dtype) > 0;
}

/* Whether a graph or a region in it has such a node. */
static bool has(const weft_graph *graph, bool (*is_such)(const weft_graph *, const weft_node *))
{
    for (size_t n = 0; n < graph->node_count; n++) {
        const weft_node *node = &graph->nodes[n];
        if (is_such(graph, node)) return true;
        for (size_t i = 0; i < node->op->attr_count; i++)
            if (node->op->attrs[i].kind == WEFT_ATTR_REGION && has(node->attrs[i].region.graph, is_such)) return true;
    }
    return false;
}

/* Everything that a graph without einsums computes, by the reference. */
static weft_status *compute_all(trial *t, weft_module *module, const weft_test_bounds *numbers, weft_array **values)
{
    weft_program *program = NULL;
    weft_tensor *all = calloc(numbers->count + 1, sizeof *all);
    if (all == NULL) abort();
    for (uint32_t n = 0; n < module->graph->node_count; n++)
        for (uint32_t k = 0; k < module->graph->nodes[n].output_count; k++)
            all[numbers->first[n] + k] = (weft_tensor){module->graph, n, k};
    const weft_policy policy = {.size = sizeof policy, .passes = ""};
    weft_status *status = weft_compile(module->graph, (weft_tensors){numbers->count, all}, &policy, &program);
    weft_test_run run = {
        .executor = executors[0], .runtime = "ref", .program = program, .binding = &t->binding, .inputs = &t->inputs};
    if (status == NULL) status = weft_test_run_program(&run, numbers->count, values);
    weft_program_release(program);
    free(all);
    return status;
}

static bool ask_reference(trial *t, weft_module *module)
{
    weft_test_bounds numbers = {.first = NULL}, bounds = {.first = NULL};
    if (!weft_test_bounds_start(module->graph, &numbers)) abort();
    weft_array **values = calloc(numbers.count + 1, sizeof(weft_array *));
    if (values == NULL) abort();
    weft_status *status = compute_all(t, module, &numbers, values);
    t->expected_code = weft_status_code(status);
    if (status == NULL) {
        if (!weft_test_bounds_create(module->graph, values, &bounds)) abort();
        t->certain = all_known(&bounds);
        for (size_t i = 0; i < t->output_count; i++) {
            weft_tensor output = module->outputs.items[i];
            size_t value = bounds.first[output.node] + output.output;
            t->bounds[i] = bounds.items[value];
            t->expected[i] = weft_array_retain(values[value]);
        }
        weft_test_bounds_finish(&bounds);
    }
    release_all(numbers.count, values);
    free(values);
    weft_test_bounds_finish(&numbers);
    if (t->expected_code == WEFT_OK || t->expected_code == WEFT_DATA_ERROR) {
        weft_status_destroy(status);
        return true;
    }
    return fail_by(t, "the reference", status);
}

/* The reference's graph has no einsum that can be lowered. */
static bool expect(trial *t)
{
    weft_program *lowered = NULL;
    weft_module *module = NULL;
    const weft_policy policy = {.size = sizeof policy, .passes = "lower"};
    weft_status *status = weft_compile_named(t->fixed.module->graph, t->fixed.module->outputs,
                                             t->fixed.module->output_names, &policy, &lowered);
    if (status == NULL) status = weft_test_parse("lowered", weft_program_text(lowered), &module);
    bool good = status == NULL ? ask_reference(t, module) : fail_by(t, "lowering", status);
    if (module != NULL) t->is_ordered = has(module->graph, is_ordered) || has(t->subject.module->graph, is_einsum);
    if (module != NULL) t->sees_bits = has(module->graph, sees_bits);
    t->remembers = t->binding.count > 0 && has(t->subject.module->graph, is_einsum);
    weft_module_destroy(module);
    weft_program_release(lowered);
    return good;
}

/* ---- runs of generated code ---- */

static bool compare(trial *t, const char *what, size_t i, const weft_array *found)
{
    char difference[256];
    const weft_test_bound *bound = &t->bounds[i];
    weft_dtype dtype = weft_array_dtype(found);
    if (!bound->known) return true;
    weft_test_tolerance tolerance = {
        WEFT_TEST_WITHIN,
        weft_test_parts(dtype) == 0 ? 0 : bound->error / weft_test_epsilon(weft_dtype_component(dtype))};
    if (weft_test_compare(t->expected[i], found, NULL, tolerance, difference, sizeof difference) < 0) return true;
    return fail(t, "%s: output %zu, %s (at most %g apart)", what, i, difference, bound->error);
}

static bool compare_bits(trial *t, const char *what, size_t i, const weft_array *found)
{
    char difference[256];
    weft_test_tolerance tolerance = {WEFT_TEST_EXACT, 0};
    if (weft_test_compare(t->first[i], found, NULL, tolerance, difference, sizeof difference) < 0) return true;
    return fail(t, "%s: output %zu, other bits than the first run: %s", what, i, difference);
}

/* Whether a run may end so. */
static bool may_end(const trial *t, weft_code code)
{
    if (code == t->expected_code) return true;
    /* Bad data that nothing depends on may go unnoticed. */
    if (t->expected_code == WEFT_DATA_ERROR && code == WEFT_OK) return true;
    return code == WEFT_DATA_ERROR && !t->certain;
}

/* Outputs of the caller's between guard pages, or none. */
static void place_outputs(trial *t, const weft_program *program, weft_test_place *places, weft_array **outputs)
{
    for (size_t i = 0; i < t->output_count; i++) {
        int64_t shape[WEFT_MAX_RANK];
        weft_test_layout layout = (weft_test_layout)weft_test_below(&t->state, WEFT_TEST_BROADCAST_FIRST);
        if (chance(t, 2) && weft_test_output_shape(program, i, &t->binding, shape) &&
            weft_test_place_create(weft_program_output_dtype(program, i), weft_program_output_rank(program, i), shape,
                                   layout, i % 2 == 0, &places[i]))
            outputs[i] = weft_array_retain(places[i].array);
    }
}

/* Whether the output has the type of an array. */
static bool has_type(const trial *t, const weft_program *program, size_t output, const weft_array *array)
{
    int64_t shape[WEFT_MAX_RANK];
    size_t rank = weft_array_rank(array);
    return weft_program_output_dtype(program, output) == weft_array_dtype(array) &&
           weft_program_output_rank(program, output) == rank &&
           weft_test_output_shape(program, output, &t->binding, shape) &&
           memcmp(shape, weft_array_shape(array), rank * sizeof *shape) == 0;
}

/* Gives donated inputs as outputs too. */
static void place_on_inputs(trial *t, const weft_program *program, const weft_test_inputs *inputs, const bool *donated,
                            weft_array **outputs)
{
    bool taken[WEFT_TEST_INPUTS] = {false};
    for (size_t i = 0; i < t->output_count; i++) {
        size_t first = weft_test_below(&t->state, inputs->count + 1);
        for (size_t k = 0; k < inputs->count && outputs[i] == NULL && !chance(t, 8); k++) {
            size_t input = (first + k) % inputs->count;
            weft_array *array = inputs->places[input].array;
            if (!donated[input] || taken[input] || !has_type(t, program, i, array)) continue;
            outputs[i] = weft_array_retain(array);
            taken[input] = true;
        }
    }
}

/* A symbolic extent that happens to be one does not broadcast: a guard says so, which the same extent, known, is not
 * asked. */
static bool may_refuse(const trial *t, const arrangement *a, const weft_status *status)
{
    return a->subject == &t->subject && weft_status_code(status) == WEFT_SHAPE_MISMATCH &&
           strstr(weft_status_message(status), " must equal ") != NULL &&
           strstr(weft_status_message(status), " = 1 ") != NULL;
}

static bool judge(trial *t, const arrangement *a, weft_status *status, weft_array **outputs)
{
    if (may_refuse(t, a, status)) t->expected_code = WEFT_SHAPE_MISMATCH;
    if (!may_end(t, weft_status_code(status))) return fail_by(t, a->name, status);
    bool ran = status == NULL && t->expected_code == WEFT_OK;
    weft_status_destroy(status);
    for (size_t i = 0; i < t->output_count && ran; i++) {
        if (!compare(t, a->name, i, outputs[i])) return false;
        bool same_bits = a->same_bits && !t->sees_bits && !t->remembers;
        if (same_bits && t->first[i] != NULL && !compare_bits(t, a->name, i, outputs[i])) return false;
        if (t->first[i] == NULL) t->first[i] = weft_array_retain(outputs[i]);
    }
    return true;
}

/* One request fails, often one while code is generated: the run is out of memory, or goes on without. */
static bool run_short(trial *t, const arrangement *a, const weft_test_run *how, weft_array **outputs)
{
    size_t most = (size_t)1 << weft_test_below(&t->state, 12), request = weft_test_below(&t->state, most);
    atomic_store(&memory.left, request);
    weft_status *status = weft_test_run_program(how, t->output_count, outputs);
    bool failed = atomic_exchange(&memory.left, SIZE_MAX) == SIZE_MAX;
    weft_code code = weft_status_code(status);
    if (may_refuse(t, a, status)) t->expected_code = WEFT_SHAPE_MISMATCH;
    if (code == WEFT_OUT_OF_MEMORY ? !failed : !may_end(t, code)) return fail_by(t, a->name, status);
    weft_status_destroy(status);
    for (size_t i = 0; i < t->output_count; i++) {
        if (code != WEFT_OK && outputs[i] != NULL) return fail(t, "%s: output %zu of a run that failed", a->name, i);
        if (code == WEFT_OK && t->expected_code == WEFT_OK && !compare(t, a->name, i, outputs[i])) return false;
    }
    return true;
}

/* Whether there is an object of the program: those of extensions may have none. */
static bool has_object(trial *t, const weft_program *program)
{
    char problem[256];
    if (t->recorded == program || t->refused == program) return t->recorded == program;
    const weft_object_options options = {.isa = "x86-64-v3"};
    bool made = weft_test_record_program(recorder, program, &options, problem, sizeof problem);
    *(made ? &t->recorded : &t->refused) = program;
    return made;
}

/* A run that an object has to repeat. */
static void record(trial *t, const arrangement *a, const weft_test_run *how, weft_array *const *outputs,
                   const weft_status *status)
{
    bool failed = weft_status_code(status) == WEFT_DATA_ERROR;
    if (recorder == NULL || a->donated || a->on_device || a->by_library || a->plain) return;
    if ((status != NULL && !failed) || t->expected_code != (failed ? WEFT_DATA_ERROR : WEFT_OK)) return;
    if (has_object(t, how->program))
        weft_test_record_run(recorder, how, t->output_count, outputs, failed ? weft_status_message(status) : NULL);
}

static bool run_program(trial *t, const arrangement *a, const weft_program *program)
{
    weft_array *outputs[WEFT_TEST_OUTPUTS] = {NULL};
    weft_test_place places[WEFT_TEST_OUTPUTS] = {{.array = NULL}};
    weft_test_inputs copies = {.count = 0};
    bool donated[WEFT_TEST_INPUTS], copied = a->relaid || a->donated,
                                    good = !copied || copy_inputs(t, a->relaid, &copies);
    size_t threads = a->threads > 0 ? a->threads : 1 + weft_test_below(&t->state, EXECUTORS);
    for (size_t i = 0; i < WEFT_TEST_INPUTS; i++) donated[i] = a->donated && chance(t, 2);
    if (a->relaid) place_outputs(t, program, places, outputs);
    if (a->donated && good && chance(t, 2)) place_on_inputs(t, program, &copies, donated, outputs);
    weft_test_run how = {.executor = executors[threads - 1],
                         .runtime = a->on_device ? "device" : "llvm",
                         .device = a->on_device ? device : NULL,
                         .program = program,
                         .binding = &t->binding,
                         .inputs = copied ? &copies : &t->inputs,
                         .specialize = a->specialize,
                         .donated = donated};
    if (good && a->is_short) good = run_short(t, a, &how, outputs);
    else if (good) {
        weft_status *status = weft_test_run_program(&how, t->output_count, outputs);
        record(t, a, &how, outputs, status);
        good = judge(t, a, status, outputs);
    }
    for (size_t i = 0; i < t->output_count; i++) {
        if (good && places[i].array != NULL && !weft_test_place_is_clean(&places[i]))
            good = fail(t, "%s: output %zu: written between its elements", a->name, i);
        weft_array_release(outputs[i]);
        weft_test_place_destroy(&places[i]);
    }
    weft_test_inputs_destroy(&copies);
    return good;
}

/* With all products the library's. */
static bool run_by_library(trial *t, const arrangement *a)
{
    weft_program *program = NULL;
    const weft_module *module = a->subject->module;
    const weft_policy policy = {.size = sizeof policy, .products = WEFT_PRODUCTS_LIBRARY};
    weft_status *status = weft_compile_named(module->graph, module->outputs, module->output_names, &policy, &program);
    bool good = status == NULL ? run_program(t, a, program) : fail_by(t, a->name, status);
    weft_program_release(program);
    return good;
}

static bool run(trial *t, const arrangement *a)
{
    if (a->by_library) return run_by_library(t, a);
    return run_program(t, a, a->plain ? a->subject->plain : a->subject->program);
}

/* Which runs there are after the first one is drawn, so that they are few. */
static bool run_all(trial *t)
{
    size_t first = 1 + weft_test_below(&t->state, EXECUTORS), other = 1 + first % EXECUTORS;
    const arrangement runs[] = {
        {"without memory", &t->subject, .threads = first, .is_short = true},
        {"generated code", &t->subject, .threads = first},
        {"another number of threads", &t->subject, .threads = other, .same_bits = true},
        {"specialised", &t->subject, .specialize = true, .same_bits = true},
        {"with static extents", &t->fixed, .same_bits = !t->is_ordered},
        {"in other layouts", &t->subject, .relaid = true, .same_bits = true},
        {"specialised, in other layouts", &t->subject, .specialize = true, .relaid = true, .same_bits = true},
        {"donated", &t->subject, .donated = true, .same_bits = true},
        {"donated, in other layouts", &t->subject, .specialize = chance(t, 3), .relaid = true, .donated = true,
         .same_bits = true},
        {"without passes", &t->subject, .plain = true},
        {"on a device", &t->subject, .relaid = chance(t, 2), .donated = chance(t, 2), .on_device = true},
        {"products by the library", &t->subject, .by_library = true, .same_bits = true},
    };
    static const size_t chances[] = {4, 1, 3, 5, 3, 4, 4, 3, 5, 8, 4, 5};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        bool symbolic = t->binding.count > 0, wanted = chance(t, chances[i]);
        if (!symbolic && (runs[i].subject == &t->fixed || (runs[i].specialize && !runs[i].relaid))) continue;
        if (wanted && !run(t, &runs[i])) return false;
        if (t->expected_code != WEFT_OK) break;
    }
    return true;
}

static bool is_region(const weft_graph *graph, const weft_node *node)
{
    (void)graph;
    for (size_t i = 0; i < node->op->attr_count; i++)
        if (node->op->attrs[i].kind == WEFT_ATTR_REGION) return true;
    return false;
}

/* Extents that do not fit each other: a run says so, unless they are of a body that runs for no iteration. */
static bool run_unfit(trial *t)
{
    weft_array *outputs[WEFT_TEST_OUTPUTS] = {NULL};
    weft_test_run how = {.executor = executors[0],
                         .runtime = "llvm",
                         .program = t->subject.program,
                         .binding = &t->binding,
                         .inputs = &t->inputs};
    weft_status *status = weft_test_run_program(&how, t->output_count, outputs);
    weft_code code = weft_status_code(status);
    release_all(t->output_count, outputs);
    bool may_fit = code == WEFT_OK && has(t->subject.module->graph, is_region);
    if ((code == WEFT_OK && !may_fit) || code == WEFT_INTERNAL || code == WEFT_OUT_OF_MEMORY)
        return fail_by(t, "extents that do not fit", status);
    weft_status_destroy(status);
    return true;
}

/* ---- one binding ---- */

/* An order that suits extents of zero adds nothing up before it multiplies by an infinity, another one does. */
static bool is_undecided(const trial *t)
{
    bool has_empty = false;
    for (size_t i = 0; i < t->inputs.count; i++) has_empty |= weft_array_count(t->inputs.places[i].array) == 0;
    return has_empty && t->binding.count > 0 && has(t->subject.module->graph, is_einsum);
}

static bool try_binding(trial *t)
{
    char unfit[512];
    bind_symbols(t);
    uint64_t data = t->state;
    unsigned rotation = chance(t, 2) ? 0 : 1 + (unsigned)weft_test_below(&t->state, WEFT_TEST_LAYOUT_COUNT);
    if (!weft_test_inputs_create(&t->subject, &t->binding, rotation, rotation % 2 == 0, &t->inputs, unfit,
                                 sizeof unfit))
        return true;
    char *fixed = weft_test_fix_symbols(weft_program_text(t->subject.plain), &t->binding);
    weft_module *module = NULL;
    weft_status *status = weft_test_parse("fixed", fixed, &module);
    weft_module_destroy(module);
    bool good = fill_inputs(&t->inputs, data);
    if (status != NULL) good = good && run_unfit(t);
    else if (!is_undecided(t))
        good =
            good && weft_test_subject_create("fixed", fixed, &t->fixed, t->problem, t->size) && expect(t) && run_all(t);
    weft_status_destroy(status);
    free(fixed);
    release_all(t->output_count, t->expected);
    release_all(t->output_count, t->first);
    weft_test_subject_destroy(&t->fixed);
    t->recorded = t->refused = NULL;
    weft_test_inputs_destroy(&t->inputs);
    return good;
}

bool weft_test_try(uint64_t seed, const char *text, char *out_problem, size_t size)
{
    trial t = {.state = seed, .problem = out_problem, .size = size};
    if (recorder != NULL) weft_test_recorder_number(recorder, (unsigned)seed * OBJECTS_OF_SEED);
    snprintf(out_problem, size, "no problem was named");
    if (!weft_test_subject_create("random", text, &t.subject, out_problem, size)) return false;
    t.output_count = t.subject.module->outputs.count;
    bool good = !chance(&t, 4) || weft_test_compile_short(&t.state, text, out_problem, size);
    good = good &&
           (t.output_count > WEFT_TEST_OUTPUTS || t.subject.plain->input_count > WEFT_TEST_INPUTS || try_binding(&t));
    if (good && t.binding.count > 0 && chance(&t, 3)) good = try_binding(&t);
    weft_test_subject_destroy(&t.subject);
    return good;
}

/* ---- executors ---- */

/* Machines for which code is scheduled, and work cut, as for no other: one that cuts all there is, with small caches
 * and long vectors, and one with large caches and short vectors. */
static weft_machine machine_of(unsigned number)
{
    weft_machine machine = *weft_machine_host();
    if (number == 1) {
        machine.cache_bytes[0] = machine.cache_bytes[1] = 4096;
        machine.vector_bytes = 64;
        machine.line_bytes = 1024;
        machine.fork_join_seconds = 0;
    } else if (number == 2) {
        machine.cache_bytes[0] = machine.cache_bytes[1] = 1 << 24;
        machine.vector_bytes = 16;
        machine.line_bytes = 128;
        machine.registers = 8;
    }
    return machine;
}

void weft_test_trials_record(const char *folder)
{
    objects = folder;
}

bool weft_test_trials_begin(void)
{
    if (objects != NULL && (recorder = weft_test_recorder_create(objects)) == NULL) return false;
    weft_test_memory_init(&memory, weft_test_guarded_allocator());
    device = weft_test_device_create("device", weft_runtime_llvm());
    if (device == NULL) return false;
    for (unsigned i = 0; i < EXECUTORS; i++) {
        const weft_machine machine = machine_of(i);
        const weft_executor_options options = {.allocator = &memory.allocator,
                                               .threads = i + 1,
                                               .buffer_capacity = 1,
                                               .machine = &machine,
                                               .code = policies[i],
                                               .specialize_after = i == 1};
        weft_status *status = weft_executor_create_standard(&options, &executors[i]);
        if (status == NULL) status = weft_executor_register_extension(executors[i], weft_einsum_extension());
        if (status == NULL) status = weft_executor_register_runtime(executors[i], weft_test_device_runtime(device));
        if (status != NULL) {
            printf("%s\n", weft_status_message(status));
            weft_status_destroy(status);
            return false;
        }
        own_kernels[i] = executors[i]->kernels;
        executors[i]->kernels = own_kernels[0];
    }
    return true;
}

bool weft_test_trials_end(void)
{
    /* What one has compiled, or is compiling, may be kept by the cache of another. */
    for (unsigned i = 0; i < EXECUTORS; i++) {
        weft_executor_clear(executors[i]);
        weft_executor_settle(executors[i]);
    }
    for (unsigned i = 0; i < EXECUTORS; i++) {
        executors[i]->kernels = own_kernels[i];
        weft_executor_destroy(executors[i]);
        executors[i] = NULL;
    }
    weft_test_device_destroy(device);
    device = NULL;
    bool written = recorder == NULL || weft_test_recorder_finish(recorder);
    recorder = NULL;
    return written && atomic_load(&memory.blocks) == 0;
}
