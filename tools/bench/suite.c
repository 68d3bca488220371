/* SPDX-License-Identifier: Apache-2.0 */
#include "suite.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/einsum.h>

enum { ARRAYS = SUITE_INPUTS + SUITE_RESULTS, WORD = 16, HOT_RUNS = 101 };

typedef enum content { SIGNED, BELOW, POSITIVE, RISING, PARTIAL } content;

typedef struct type {
    weft_dtype dtype;
    int64_t shape[WEFT_MAX_RANK];
    size_t rank, count;
    content content;
    double number; /* of BELOW, and how far SIGNED reaches */
} type;

struct weft_suite {
    const weft_suite_program *subject;
    weft_suite_extents extents;
    type types[SUITE_INPUTS];
    size_t input_count, result_count;
    void *memory[ARRAYS]; /* that of results follows that of the inputs */
    weft_array *arrays[ARRAYS];
    weft_executor *executor;
    weft_program *program;
    weft_bench_facts facts;
};

/* ---- types ---- */

static bool read_content(type *t, const char *text)
{
    char word[WORD] = "";
    t->content = SIGNED;
    t->number = 1;
    if (sscanf(text, "%15s %lf", word, &t->number) < 1) return true;
    if (strcmp(word, "below") == 0) t->content = BELOW;
    else if (strcmp(word, "positive") == 0) t->content = POSITIVE;
    else if (strcmp(word, "rising") == 0) t->content = RISING;
    else if (strcmp(word, "partial") == 0) t->content = PARTIAL;
    else return strcmp(word, "times") == 0;
    return true;
}

/* The type that ends at `end`. */
static bool read_type(type *t, const char *text, const char *end)
{
    char copy[96], dtype[WORD];
    int at = 0;
    snprintf(copy, sizeof copy, "%.*s", (int)(end - text), text);
    if (sscanf(copy, " %15s %n", dtype, &at) < 1 || !weft_dtype_find(dtype, &t->dtype)) return false;
    char *next = copy + at;
    t->count = 1;
    for (t->rank = 0; *next >= '0' && *next <= '9' && t->rank < WEFT_MAX_RANK; next += *next == 'x') {
        t->shape[t->rank] = strtoll(next, &next, 10);
        t->count *= (size_t)t->shape[t->rank++];
    }
    return read_content(t, next);
}

static weft_status *read_types(weft_suite *s)
{
    for (const char *text = s->subject->inputs; *text != '\0'; s->input_count++) {
        const char *end = text + strcspn(text, ";");
        if (s->input_count == SUITE_INPUTS || !read_type(&s->types[s->input_count], text, end))
            return weft_status_create(NULL, WEFT_INVALID_ARGUMENT, "weft_suite_create", "types cannot be read: %s",
                                      s->subject->inputs);
        text = *end == ';' ? end + 1 : end;
    }
    return NULL;
}

/* ---- arrays ---- */

/* Of element i, of `random` from 0 to 1. */
static double value_of(const type *t, size_t i, double random)
{
    switch (t->content) {
    case BELOW: return (double)(int64_t)(random * t->number);
    case POSITIVE: return 1 - random;
    case PARTIAL: return random < 0.5 ? (double)NAN : random;
    case RISING: return ((double)i + random) / (double)t->count;
    default: return (2 * random - 1) * t->number;
    }
}

/* Towards zero, in two bytes: small numbers of f16 become zeros. */
static uint16_t narrow(weft_dtype dtype, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (dtype == WEFT_BF16) return (uint16_t)(bits >> 16);
    int exponent = (int)(bits >> 23 & 0xff) - 127 + 15;
    uint32_t sign = bits >> 16 & 0x8000, magnitude = exponent < 1 ? 0 : (uint32_t)exponent << 10 | (bits >> 13 & 0x3ff);
    return (uint16_t)(sign | magnitude);
}

static void store(weft_dtype dtype, void *data, size_t i, double value)
{
    switch (dtype) {
    case WEFT_BOOL:
    case WEFT_U8: ((uint8_t *)data)[i] = (uint8_t)value; break;
    case WEFT_I32: ((int32_t *)data)[i] = (int32_t)value; break;
    case WEFT_I64: ((int64_t *)data)[i] = (int64_t)value; break;
    case WEFT_F64:
    case WEFT_C128: ((double *)data)[i] = value; break;
    case WEFT_F16:
    case WEFT_BF16: ((uint16_t *)data)[i] = narrow(dtype, (float)value); break;
    default: ((float *)data)[i] = (float)value; break;
    }
}

/* Numbers that depend on the number of the input alone. */
static void fill(const type *t, void *data, size_t number)
{
    bool complex = t->dtype == WEFT_C64 || t->dtype == WEFT_C128;
    size_t numbers = complex ? 2 * t->count : t->count;
    uint64_t seed = number;
    for (size_t i = 0; i < numbers; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        store(t->dtype, data, i, value_of(t, i, (double)(seed >> 40) / (1 << 24)));
    }
}

static weft_status *create_array(weft_suite *s, size_t number)
{
    const type *t = &s->types[number];
    s->memory[number] = weft_bench_allocate((t->count + 1) * weft_dtype_size(t->dtype));
    if (s->memory[number] == NULL) return weft_status_out_of_memory();
    fill(t, s->memory[number], number);
    return weft_array_wrap(NULL, t->dtype, t->rank, t->shape, NULL, s->memory[number], NULL, NULL, &s->arrays[number]);
}

/* One that lies on huge pages, in place of the one that the first run has made. */
static weft_status *replace_result(weft_suite *s, size_t number)
{
    weft_array **result = &s->arrays[number], *made = *result;
    size_t bytes = (size_t)weft_array_count(made) * weft_dtype_size(weft_array_dtype(made));
    s->memory[number] = weft_bench_allocate(bytes + 1);
    *result = NULL;
    weft_status *status = s->memory[number] == NULL
                              ? weft_status_out_of_memory()
                              : weft_array_wrap(NULL, weft_array_dtype(made), weft_array_rank(made),
                                                weft_array_shape(made), NULL, s->memory[number], NULL, NULL, result);
    weft_array_release(made);
    return status;
}

static weft_status *replace_results(weft_suite *s)
{
    for (size_t i = 0; i < s->result_count; i++) WEFT_TRY(replace_result(s, s->input_count + i));
    return NULL;
}

/* ---- the program ---- */

/* Extents of one stay known: others would not broadcast. */
static weft_extent extent_of(const weft_suite *s, weft_graph *graph, size_t input, size_t axis)
{
    int64_t extent = s->types[input].shape[axis];
    bool known = s->extents == SUITE_KNOWN || (s->extents == SUITE_OUTERMOST && axis > 0) || extent == 1;
    char name[] = {(char)('a' + input), (char)('0' + axis), '\0'};
    return known ? weft_extent_of(extent) : weft_symbol(graph, name, 1, 1 << 24);
}

/* How many results there are. */
static size_t trace(const weft_suite *s, weft_graph *graph, weft_tensor *out_results)
{
    weft_tensor inputs[SUITE_INPUTS];
    for (size_t i = 0; i < s->input_count; i++) {
        weft_extent extents[WEFT_MAX_RANK];
        char name[] = {(char)('a' + i), '\0'};
        for (size_t axis = 0; axis < s->types[i].rank; axis++) extents[axis] = extent_of(s, graph, i, axis);
        inputs[i] = weft_input(graph, name, s->types[i].dtype, (weft_shape){s->types[i].rank, extents});
    }
    if (s->subject->trace_all != NULL) return s->subject->trace_all(inputs, out_results);
    out_results[0] = s->subject->trace != NULL
                         ? s->subject->trace(inputs)
                         : weft_einsum(s->subject->name, (weft_tensors){s->input_count, inputs}, NULL);
    return 1;
}

static weft_status *create_program(weft_suite *s)
{
    weft_graph *graph;
    weft_tensor results[SUITE_RESULTS];
    WEFT_TRY(weft_graph_create(NULL, &graph));
    s->result_count = trace(s, graph, results);
    const weft_policy policy = {.size = sizeof policy, .products = s->subject->products};
    weft_status *status = weft_compile(graph, (weft_tensors){s->result_count, results}, &policy, &s->program);
    weft_graph_destroy(graph);
    return status;
}

static weft_status *run(weft_suite *s, weft_report *report)
{
    weft_run call = {.input_count = s->input_count,
                     .inputs = s->arrays,
                     .output_count = s->result_count,
                     .outputs = &s->arrays[s->input_count],
                     .runtime = "llvm",
                     .report = report};
    return weft_executor_run(s->executor, s->program, &call);
}

static weft_status *compile(weft_suite *s, unsigned threads)
{
    weft_report report;
    const weft_executor_options options = {.threads = threads,
                                           .specialize_after = s->extents == SUITE_HOT ? 0 : WEFT_SPECIALIZE_NEVER};
    WEFT_TRY(weft_executor_create_standard(&options, &s->executor));
    WEFT_TRY(weft_executor_register_extension(s->executor, weft_einsum_extension()));
    WEFT_TRY(weft_bench_load_generator(s->executor));
    int64_t begin = weft_bench_now();
    WEFT_TRY(create_program(s));
    s->facts.program_ns = weft_bench_now() - begin;
    WEFT_TRY(run(s, &report));
    s->facts.compile_ns = report.compile_ns;
    s->facts.peak_bytes = report.peak_bytes;
    s->facts.steps = report.steps;
    return NULL;
}

/* Until the executor has specialised. */
static weft_status *become_hot(weft_suite *s)
{
    for (int i = 0; i < HOT_RUNS; i++) WEFT_TRY(run(s, NULL));
    weft_executor_settle(s->executor);
    return run(s, NULL);
}

static void share_arrays(weft_suite *s, const weft_suite *from)
{
    for (size_t i = 0; i < ARRAYS && from->arrays[i] != NULL; i++) s->arrays[i] = weft_array_retain(from->arrays[i]);
}

static weft_status *make_ready(weft_suite *s, unsigned threads, const weft_suite *arrays_of)
{
    WEFT_TRY(read_types(s));
    if (arrays_of != NULL) share_arrays(s, arrays_of);
    for (size_t i = 0; i < s->input_count && arrays_of == NULL; i++) WEFT_TRY(create_array(s, i));
    WEFT_TRY(compile(s, threads));
    if (arrays_of == NULL) WEFT_TRY(replace_results(s));
    if (s->extents == SUITE_HOT) return become_hot(s);
    return run(s, NULL);
}

weft_status *weft_suite_create(size_t index, unsigned threads, weft_suite_extents extents, const weft_suite *arrays_of,
                               weft_suite **out_suite)
{
    const weft_suite_program *subject = weft_suite_at(index);
    if (subject == NULL)
        return weft_status_create(NULL, WEFT_OUT_OF_RANGE, "weft_suite_create", "there is no program %zu", index);
    weft_suite *s = calloc(1, sizeof *s);
    if (s == NULL) return weft_status_out_of_memory();
    s->subject = subject;
    s->extents = extents;
    weft_status *status = make_ready(s, threads, arrays_of);
    if (status == NULL) *out_suite = s;
    else weft_suite_destroy(s);
    return status;
}

void weft_suite_destroy(weft_suite *s)
{
    if (s == NULL) return;
    weft_executor_destroy(s->executor);
    weft_program_release(s->program);
    for (size_t i = 0; i < ARRAYS; i++) {
        weft_array_release(s->arrays[i]);
        free(s->memory[i]);
    }
    free(s);
}

const weft_bench_facts *weft_suite_facts_of(const weft_suite *s)
{
    return &s->facts;
}

size_t weft_suite_input_count(const weft_suite *s)
{
    return s->input_count;
}

weft_array *weft_suite_array(const weft_suite *s, size_t number)
{
    return number < ARRAYS ? s->arrays[number] : NULL;
}

weft_status *weft_suite_run(weft_suite *s, int64_t repeat, int64_t *out_ns)
{
    int64_t begin = weft_bench_now();
    for (int64_t i = 0; i < repeat; i++) WEFT_TRY(run(s, NULL));
    *out_ns = weft_bench_now() - begin;
    return NULL;
}

double weft_suite_peak(bool of_f64)
{
    return of_f64 ? peak_f64() : peak_f32();
}
