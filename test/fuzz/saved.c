/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A saved program, with some of its bytes changed, and cut, is an error with a sentence, or a program that is saved as
 * one that comes back as the same bytes. Such programs run, where their extents may be small, or fail.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/einsum.h>
#include <weft/weft.h>
#include "runtime/base/map.h"
#include "runtime/program/program.h"
#include "test/fuzz/edit.h"

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WHOLE = 4, MOST_BYTES = 1 << 22, MOST_EXTENT = 64 };

static const char *const texts[WHOLE] = {
    "weft 0.1\n"
    "symbol n in [1, 64]\n"
    "symbol m in [1, 9]\n"
    "symbol idle in [2, 5]\n"
    "require n <= 8*m \"n is large\"\n"
    "graph {\n"
    "  %x = input() {name = \"x\", dtype = f32, shape = [n, 3]}\n"
    "  %w = input() {name = \"w\", dtype = f32, shape = [3, m]}\n"
    "  %c = constant() {dtype = f32, shape = [3], data = [0.5, -2, 1e-30]}\n"
    "  %0 = broadcast(%c) {shape = [n, 3], axes = [1]}\n"
    "  %1 = mul(%x, %0)\n"
    "  %2 = einsum.einsum(%1, %w) {equation = \"ij,jk->ik\", order = \"auto\", path = [], "
    "sliced = [], planner = \"\"}\n"
    "  %3 = reduce_sum(%2) {axes = [1]}\n"
    "  return y = %2, total = %3\n"
    "}\n",

    "weft 0.1\n"
    "symbol n in [1, 9]\n"
    "symbol t in [0, 5]\n"
    "graph {\n"
    "  %x = input() {name = \"x\", dtype = f32, shape = [n]}\n"
    "  %s = constant() {dtype = f32, shape = [], data = [0.5]}\n"
    "  %0, %1 = fold(%x, %s) {trips = t + 1, carried = 2} body (%i : i64[], %a : f32[n], %b : f32[]) {\n"
    "    %0 = broadcast(%b) {shape = [n], axes = []}\n"
    "    %1 = mul(%a, %0)\n"
    "    yield %1, %b\n"
    "  }\n"
    "  return %0, %1\n"
    "}\n",

    "weft 0.1\n"
    "graph {\n"
    "  %x = input() {name = \"x\", dtype = i64, shape = []}\n"
    "  %p = input() {name = \"p\", dtype = bool, shape = []}\n"
    "  %0 = while(%x) {carried = 1} condition (%a : i64[]) {\n"
    "    %0 = constant() {dtype = i64, shape = [], data = [10]}\n"
    "    %1 = lt(%a, %0)\n"
    "    yield %1\n"
    "  } body (%a : i64[]) {\n"
    "    %0 = constant() {dtype = i64, shape = [], data = [3]}\n"
    "    %1 = add(%a, %0)\n"
    "    yield %1\n"
    "  }\n"
    "  %1, %2 = cond(%p, %0) then (%b : i64[]) {\n"
    "    yield %b, %b\n"
    "  } else (%b : i64[]) {\n"
    "    %0 = neg(%b)\n"
    "    yield %0, %b\n"
    "  } as chosen\n"
    "  return %1, %2\n"
    "}\n",

    "weft 0.1\n"
    "symbol n in [2, 64]\n"
    "symbol k in [1, 8]\n"
    "graph {\n"
    "  %x = input() {name = \"x\", dtype = f64, shape = [n, 2*k]}\n"
    "  %unused = input() {name = \"i\", dtype = i64, shape = [k]}\n"
    "  %0 = slice(%x) {starts = [0, 0], sizes = [n - 1, k], steps = [1, 2]}\n"
    "  %1 = sort(%x) {axis = 0, descending = false}\n"
    "  return a = %0, b = %1\n"
    "}\n"};

static struct {
    struct {
        char *data; /* without the first line */
        size_t size;
    } whole[WHOLE];
    weft_executor *executor;
    char path[64];
} state;

static volatile bool is_late;

static void end_run(int number)
{
    (void)number;
    is_late = true;
}

/* A program can ask for any memory: it gets little. */
static void *resize(void *self, void *block, size_t old_size, size_t new_size, size_t alignment)
{
    const weft_allocator *otherwise = weft_allocator_default();
    (void)self;
    if (new_size > MOST_BYTES) return NULL;
    return otherwise->resize(otherwise->self, block, old_size, new_size, alignment);
}

static const weft_allocator little = {.resize = resize};

static weft_status *parse(const char *data, size_t size, weft_program **out_program)
{
    const weft_extension *extensions[] = {weft_einsum_extension()};
    return weft_program_parse("fuzz", data, size, &little, 1, extensions, out_program);
}

/* ---- files ---- */

static void check(weft_status *status)
{
    if (status == NULL) return;
    fprintf(stderr, "%s\n", weft_status_message(status));
    abort();
}

/* What is saved of the program, to be freed. */
static char *save(const weft_program *program, size_t *out_size)
{
    check(weft_program_save(program, state.path));
    FILE *file = fopen(state.path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) abort();
    *out_size = (size_t)ftell(file);
    char *data = malloc(*out_size + 1);
    rewind(file);
    if (data == NULL || fread(data, 1, *out_size, file) != *out_size) abort();
    data[*out_size] = '\0';
    fclose(file);
    return data;
}

static void comes_back(const weft_program *program)
{
    size_t size, same_size;
    char *data = save(program, &size);
    weft_program *again;
    check(parse(data, size, &again));
    char *same = save(again, &same_size);
    if (size != same_size || memcmp(data, same, size) != 0) abort();
    weft_program_release(again);
    free(data);
    free(same);
}

/* ---- runs ---- */

/* NULL: it would be too large, or negative. */
static weft_array *make_input(const weft_program *program, size_t input, const int64_t *values)
{
    const weft_program_value *value = &program->inputs[input];
    int64_t shape[WEFT_MAX_RANK], count = 1;
    weft_array *array;
    for (uint32_t i = 0; i < value->rank; i++) {
        shape[i] = values[value->extents[i]];
        if (shape[i] < 0 || shape[i] > MOST_EXTENT || (count *= shape[i]) > MOST_BYTES) return NULL;
    }
    weft_status *status = weft_array_create(&little, value->dtype, value->rank, shape, &array);
    if (status != NULL) {
        weft_status_destroy(status);
        return NULL;
    }
    memset(weft_array_data(array), 0, (size_t)count * weft_dtype_size(value->dtype));
    return array;
}

static void run_on(weft_program *program, weft_array **inputs, const weft_binding *extents)
{
    weft_array **outputs = calloc(program->output_count + 1, sizeof *outputs);
    if (outputs == NULL) abort();
    is_late = false;
    alarm(1);
    weft_status *status = weft_executor_run(state.executor, program,
                                            &(weft_run){.input_count = program->input_count,
                                                        .inputs = inputs,
                                                        .output_count = program->output_count,
                                                        .outputs = outputs,
                                                        .extent_count = program->formulas.symbol_count,
                                                        .extents = extents,
                                                        .cancelled = &is_late});
    alarm(0);
    if (status != NULL && weft_status_message(status)[0] == '\0') abort();
    if (weft_status_code(status) == WEFT_INTERNAL) check(status);
    weft_status_destroy(status);
    for (size_t i = 0; i < program->output_count; i++) weft_array_release(outputs[i]);
    free(outputs);
}

/* At the least extents. */
static void run(weft_program *program)
{
    const weft_formulas *formulas = &program->formulas;
    int64_t *symbols = calloc(formulas->symbol_count + 1, sizeof *symbols);
    int64_t *values = calloc(formulas->count + 1, sizeof *values);
    weft_binding *extents = calloc(formulas->symbol_count + 1, sizeof *extents);
    weft_array **inputs = calloc(program->input_count + 1, sizeof *inputs);
    if (symbols == NULL || values == NULL || extents == NULL || inputs == NULL) abort();
    for (size_t i = 0; i < formulas->symbol_count; i++) {
        symbols[i] = formulas->symbols[i].min;
        extents[i] = (weft_binding){formulas->symbols[i].name, symbols[i]};
    }
    weft_formulas_evaluate(formulas, symbols, values);
    bool made = true;
    for (size_t i = 0; i < program->input_count && made; i++)
        made = (inputs[i] = make_input(program, i, values)) != NULL;
    if (made) run_on(program, inputs, extents);
    for (size_t i = 0; i < program->input_count; i++) weft_array_release(inputs[i]);
    free(symbols);
    free(values);
    free(extents);
    free(inputs);
}

/* ---- the fuzzer ---- */

static void finish(void)
{
    weft_executor_destroy(state.executor);
    for (size_t i = 0; i < WHOLE; i++) free(state.whole[i].data);
    remove(state.path);
}

static void make_whole(size_t number)
{
    const weft_extension *extensions[] = {weft_einsum_extension()};
    weft_module *module;
    weft_program *program;
    check(weft_graph_parse("whole", texts[number], strlen(texts[number]), NULL, 1, extensions, &module));
    const weft_policy policy = {.keep_symbolic_extensions = true};
    check(weft_compile_named(module->graph, module->outputs, module->output_names, &policy, &program));
    size_t size;
    char *data = save(program, &size), *rest = strchr(data, '\n') + 1;
    state.whole[number].size = size - (size_t)(rest - data);
    memmove(data, rest, state.whole[number].size + 1);
    state.whole[number].data = data;
    weft_module_destroy(module);
    weft_program_release(program);
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    snprintf(state.path, sizeof state.path, "/tmp/fuzz-saved-%ld", (long)getpid());
    atexit(finish);
    signal(SIGALRM, end_run);
    for (size_t i = 0; i < WHOLE; i++) make_whole(i);
    check(weft_executor_create(&(weft_executor_options){.allocator = &little, .threads = 1}, &state.executor));
    check(weft_executor_register_runtime(state.executor, weft_runtime_reference()));
    check(weft_executor_register_extension(state.executor, weft_einsum_extension()));
    return 0;
}

/* With a first line that fits, unless bit 2 of `how` says otherwise. */
static void try(const unsigned char *rest, size_t size, uint8_t how)
{
    weft_program *program;
    weft_bytes file;
    weft_bytes_init(&file, NULL);
    weft_bytes_print(&file, "weft program %d.%d %016llx %zu 0\n", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR,
                     (unsigned long long)weft_hash(rest, size), size);
    if ((how & 4) != 0) weft_bytes_clear(&file);
    weft_bytes_append(&file, rest, size);
    weft_status *status = parse(file.data == NULL ? "" : file.data, file.size, &program);
    if (status == NULL) {
        comes_back(program);
        run(program);
        weft_program_release(program);
    } else if (weft_status_message(status)[0] == '\0') {
        abort();
    }
    weft_executor_clear(state.executor);
    weft_status_destroy(status);
    weft_bytes_finish(&file);
}

/* The first byte says which program, and whether its first line fits. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    size_t number = data[0] & 3, rest_size;
    unsigned char *rest =
        weft_fuzz_edit(state.whole[number].data, state.whole[number].size, data + 1, size - 1, &rest_size);
    if (rest != NULL) try(rest, rest_size, data[0]);
    free(rest);
    return 0;
}
