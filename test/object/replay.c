/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay RECORDS...: runs the programs of the objects that it is linked with on what records say, and compares with
 * what is in them, to the bit. Beside the objects it has libweft-rt.a, or nothing, and no compiler. Arrays lie between
 * pages without access, inputs in memory that cannot be written, and what lies between elements is poison.
 *
 * Each record is run in a workspace of exactly the bytes asked for, twice, and once with three threads.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "replay.h"

enum { SYMBOLS = 16, ARRAYS = 96, AXES = 64, NAME_BYTES = 64, PAGE = 4096, POISON = 0xa5 };

typedef struct array {
    uint32_t size, rank;
    int64_t extents[AXES], strides[AXES];
    int64_t count;
    char *elements; /* row-major, of the record */
    char *mapping, *data;
    size_t mapped, guarded, bytes; /* guarded: where bytes begin */
    int64_t low;                   /* of the first element in them */
} array;

typedef struct record {
    uint32_t object, symbol_count, input_count, output_count, sentence_length;
    char names[SYMBOLS][NAME_BYTES];
    int64_t values[SYMBOLS];
    array arrays[ARRAYS]; /* inputs, then outputs */
    char *sentence;
} record;

typedef struct functions {
    replay_prepare *prepare;
    replay_run *run;
    const weft_rt_manifest *manifest;
} functions;

/* ---- reading ---- */

static bool get(FILE *file, void *data, size_t size)
{
    return size == 0 || fread(data, 1, size, file) == size;
}

static bool get_array(FILE *file, array *out)
{
    if (!get(file, &out->size, 4) || !get(file, &out->rank, 4) || out->rank > AXES) return false;
    if (!get(file, out->extents, out->rank * sizeof(int64_t)) || !get(file, out->strides, out->rank * sizeof(int64_t)))
        return false;
    out->count = 1;
    for (uint32_t i = 0; i < out->rank; i++) out->count *= out->extents[i];
    size_t bytes = (size_t)out->count * out->size;
    out->elements = malloc(bytes + 1);
    return out->elements != NULL && get(file, out->elements, bytes);
}

static bool get_record(FILE *file, record *out)
{
    memset(out, 0, sizeof *out);
    if (!get(file, &out->object, 4) || !get(file, &out->symbol_count, 4) || out->symbol_count > SYMBOLS) return false;
    for (uint32_t i = 0; i < out->symbol_count; i++)
        if (!get(file, out->names[i], NAME_BYTES) || !get(file, &out->values[i], 8)) return false;
    if (!get(file, &out->input_count, 4) || !get(file, &out->output_count, 4)) return false;
    if (out->input_count + out->output_count > ARRAYS) return false;
    for (uint32_t i = 0; i < out->input_count + out->output_count; i++)
        if (!get_array(file, &out->arrays[i])) return false;
    if (!get(file, &out->sentence_length, 4)) return false;
    out->sentence = calloc(1, out->sentence_length + 1);
    return out->sentence != NULL && get(file, out->sentence, out->sentence_length);
}

static void finish_record(record *r)
{
    for (uint32_t i = 0; i < ARRAYS; i++) {
        free(r->arrays[i].elements);
        if (r->arrays[i].mapping != NULL) munmap(r->arrays[i].mapping, r->arrays[i].mapped);
    }
    free(r->sentence);
}

/* ---- memory ---- */

/* Where element `number` lies, from the first one. */
static int64_t place_of(const array *a, int64_t number)
{
    int64_t place = 0;
    for (uint32_t i = a->rank; i-- > 0; number /= a->extents[i]) place += number % a->extents[i] * a->strides[i];
    return place * (int64_t)a->size;
}

static bool map(array *a)
{
    const size_t page = PAGE;
    int64_t low = 0, high = 0;
    for (uint32_t i = 0; i < a->rank && a->count > 0; i++) {
        int64_t reach = (a->extents[i] - 1) * a->strides[i] * (int64_t)a->size;
        *(reach < 0 ? &low : &high) += reach;
    }
    a->bytes = a->count == 0 ? 0 : (size_t)(high - low) + a->size;
    size_t whole = (a->bytes + page - 1) / page * page;
    a->mapped = whole + 2 * page;
    a->mapping = mmap(NULL, a->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (a->mapping == MAP_FAILED) return false;
    if (whole > 0 && mprotect(a->mapping + page, whole, PROT_READ | PROT_WRITE) != 0) return false;
    a->guarded = page + whole - a->bytes; /* ends at a page without access */
    a->low = low;
    a->data = a->mapping + a->guarded - low;
    memset(a->mapping + page, POISON, whole);
    return true;
}

static bool map_input(array *a)
{
    if (!map(a)) return false;
    for (int64_t i = 0; i < a->count; i++) memcpy(a->data + place_of(a, i), a->elements + i * a->size, a->size);
    return a->bytes == 0 || mprotect(a->mapping + PAGE, a->mapped - 2 * PAGE, PROT_READ) == 0;
}

static void poison(array *a)
{
    memset(a->mapping + PAGE, POISON, a->mapped - 2 * PAGE);
}

/* Whether a number of a float format is NaN: `size` bytes with so many bits of fraction. */
static bool is_nan(const char *at, size_t size, unsigned fraction)
{
    uint64_t bits = 0;
    memcpy(&bits, at, size);
    bits &= UINT64_MAX >> (65 - 8 * size); /* without the sign */
    uint64_t infinity = ((UINT64_C(1) << (8 * size - 1 - fraction)) - 1) << fraction;
    return bits > infinity;
}

/* The same bytes, or NaNs of any sign and payload, which may differ from one instruction set to another. */
static bool is_same(const char *dtype, const char *x, const char *y, size_t size)
{
    static const struct {
        const char *dtype;
        size_t size;
        unsigned fraction;
    } floats[] = {{"f16", 2, 10}, {"bf16", 2, 7}, {"f32", 4, 23}, {"f64", 8, 52}, {"c64", 4, 23}, {"c128", 8, 52}};
    size_t i = 0;
    if (memcmp(x, y, size) == 0) return true;
    while (i < sizeof floats / sizeof *floats && strcmp(floats[i].dtype, dtype) != 0) i++;
    if (i == sizeof floats / sizeof *floats) return false;
    for (size_t at = 0; at < size; at += floats[i].size) {
        bool nan = is_nan(x + at, floats[i].size, floats[i].fraction);
        bool both = nan && is_nan(y + at, floats[i].size, floats[i].fraction);
        if (!both && memcmp(x + at, y + at, floats[i].size) != 0) return false;
    }
    return true;
}

/* The first element that is not that of the record, or, past all of them, the first byte between that is not poison;
 * -1: there is none. */
static int64_t find_difference(const array *a, const char *dtype)
{
    static unsigned char *belongs;
    static size_t room;
    size_t all = a->mapped - 2 * PAGE;
    if (belongs == NULL || room < all) belongs = realloc(belongs, (room = all) + 1);
    if (belongs == NULL) return 0;
    memset(belongs, 0, all);
    for (int64_t i = 0; i < a->count; i++) {
        const char *at = a->data + place_of(a, i);
        if (!is_same(dtype, at, a->elements + i * a->size, a->size)) return i;
        memset(belongs + (at - a->mapping - PAGE), 1, a->size);
    }
    for (size_t i = 0; i < all; i++)
        if (!belongs[i] && (unsigned char)a->mapping[PAGE + i] != POISON) return a->count + (int64_t)i;
    return -1;
}

/* ---- runs ---- */

typedef struct call {
    int64_t words[SYMBOLS + 2 * ARRAYS];
    weft_rt_layout layouts[ARRAYS];
} call;

static bool is_row_major(const array *a)
{
    int64_t stride = 1;
    for (uint32_t i = a->rank; i-- > 0; stride *= a->extents[i])
        if (a->extents[i] != 1 && a->strides[i] != stride) return false;
    return true;
}

static bool fill_call(const functions *f, const record *r, call *out)
{
    int64_t *word = out->words;
    uint32_t arrays = f->manifest->input_count + f->manifest->output_count;
    for (uint32_t i = 0; i < f->manifest->symbol_count; i++) {
        uint32_t at = 0;
        while (at < r->symbol_count && strcmp(r->names[at], f->manifest->symbols[i].name) != 0) at++;
        if (at == r->symbol_count) return false;
        *word++ = r->values[at];
    }
    for (uint32_t i = 0; i < arrays; i++) *word++ = (int64_t)(intptr_t)r->arrays[i].data;
    for (uint32_t i = 0; i < arrays; i++) {
        const array *a = &r->arrays[i];
        out->layouts[i] = (weft_rt_layout){a->extents, a->strides};
        *word++ = is_row_major(a) || a->count == 0 ? 0 : (int64_t)(intptr_t)&out->layouts[i];
    }
    return true;
}

static bool fail(const record *r, const char *what, const char *detail)
{
    printf("FAILED c%u: %s: %s\n", (unsigned)r->object, what, detail);
    return false;
}

static bool run_once(const functions *f, record *r, const call *c, weft_rt_workspace *workspace, const char *what)
{
    weft_rt_error error = {WEFT_RT_OK, ""};
    for (uint32_t i = 0; i < r->output_count; i++) poison(&r->arrays[r->input_count + i]);
    weft_rt_code code = f->run(c->words, workspace, &error);
    if (r->sentence_length > 0) {
        if (code == WEFT_RT_DATA_ERROR && strcmp(error.message, r->sentence) == 0) return true;
        return fail(r, what, code == WEFT_RT_OK ? "it does not fail" : error.message);
    }
    if (code != WEFT_RT_OK) return fail(r, what, error.message);
    for (uint32_t i = 0; i < r->output_count; i++) {
        const array *a = &r->arrays[r->input_count + i];
        int64_t different = find_difference(a, f->manifest->outputs[i].dtype);
        if (different < 0) continue;
        int used = snprintf(error.message, sizeof error.message, "output %u of %lld elements, %lld:", (unsigned)i,
                            (long long)a->count, (long long)different);
        for (uint32_t k = 0; k < a->size && different < a->count; k++)
            used += snprintf(error.message + used, sizeof error.message - (size_t)used, " %02x/%02x",
                             (unsigned char)a->data[place_of(a, different) + k],
                             (unsigned char)a->elements[different * a->size + k]);
        return fail(r, what, error.message);
    }
    return true;
}

/* Without a library, in memory that is given for it. Memory that suffices afterwards is not used. */
static bool prepare(const functions *f, const record *r, const call *c, weft_rt_workspace *workspace)
{
    weft_rt_error error;
    int64_t shapes[ARRAYS * 8];
    void *given = NULL;
    weft_rt_code code;
    while ((code = f->prepare(c->words, workspace, shapes, &error)) == WEFT_RT_OUT_OF_MEMORY) {
        free(given);
        given = workspace->memory = malloc(workspace->size);
        if (replay_pool_create != NULL || given == NULL) break;
    }
    free(given);
    return code == WEFT_RT_OK || fail(r, "prepare", error.message);
}

/* In memory that ends at a page without access. */
static bool run_in(const functions *f, record *r, const call *c, weft_rt_pool *pool, int times, const char *what)
{
    weft_rt_workspace workspace = {.pool = pool};
    if (!prepare(f, r, c, &workspace)) return false;
    array memory = {.size = 1, .rank = 1, .extents = {(int64_t)workspace.size}, .strides = {1}};
    memory.count = memory.extents[0];
    if (!map(&memory)) return fail(r, what, "no memory");
    workspace.memory = memory.data;
    bool good = true;
    for (int i = 0; i < times && good; i++) good = run_once(f, r, c, &workspace, what);
    munmap(memory.mapping, memory.mapped);
    return good;
}

static bool find_functions(const record *r, functions *out)
{
    size_t i = 0;
    while (i < replay_object_count && replay_objects[i].number != r->object) i++;
    if (i == replay_object_count) return false;
    *out = (functions){replay_objects[i].prepare, replay_objects[i].run, replay_objects[i].manifest()};
    return true;
}

/* A run that fails has outputs of any shape: those that the program says. */
static bool make_outputs(const functions *f, record *r)
{
    for (uint32_t i = r->output_count; i < f->manifest->output_count && r->sentence_length > 0; i++) {
        enum { ENOUGH = 1 << 16 };
        array *a = &r->arrays[r->input_count + i];
        *a = (array){.size = 16, .rank = 1, .extents = {ENOUGH}, .strides = {1}, .count = ENOUGH};
        if (!map(a)) return false;
        a->data = a->mapping + PAGE;
    }
    for (uint32_t i = 0; i < r->input_count + r->output_count; i++)
        if (!(i < r->input_count ? map_input : map)(&r->arrays[i])) return false;
    return true;
}

static bool replay(record *r, weft_rt_pool *pool)
{
    functions f;
    static call c;
    if (!find_functions(r, &f)) return fail(r, "objects", "it is not there");
    if (r->input_count != f.manifest->input_count) return fail(r, "inputs", "not as many");
    if (!make_outputs(&f, r)) return fail(r, "arrays", "no memory");
    if (!fill_call(&f, r, &c)) return fail(r, "symbols", "one is missing");
    if (r->sentence_length > 0)
        for (uint32_t i = 0; i < f.manifest->output_count; i++)
            c.words[f.manifest->symbol_count + f.manifest->input_count + f.manifest->output_count + r->input_count +
                    i] = 0;
    return run_in(&f, r, &c, NULL, 2, "one thread") && (pool == NULL || run_in(&f, r, &c, pool, 1, "three threads"));
}

static bool replay_file(const char *path, weft_rt_pool *pool, size_t *passed, size_t *failed)
{
    static record r;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return perror(path), false;
    int next;
    while ((next = fgetc(file)) != EOF && ungetc(next, file) != EOF) {
        if (!get_record(file, &r)) return printf("%s: not a record\n", path), false;
        ++*(replay(&r, pool) ? passed : failed);
        finish_record(&r);
    }
    fclose(file);
    return true;
}

int main(int argc, char **argv)
{
    size_t passed = 0, failed = 0;
    weft_rt_pool *pool = replay_pool_create == NULL ? NULL : replay_pool_create(3);
    bool good = pool != NULL || replay_pool_create == NULL;
    for (int i = 1; i < argc && good; i++) good &= replay_file(argv[i], pool, &passed, &failed);
    if (pool != NULL) replay_pool_destroy(pool);
    printf("%zu records as they should be, %zu not\n", passed, failed);
    return good && failed == 0 && passed > 0 ? 0 : 1;
}
